//! A mask in a TIFF of one page: gray values of 8, 16 or 32 bits are labels. Two lines of three pixels of 16 bits have 12 bytes.
//!
//! The crate `tiff` decodes it; its buffers are limited to the size of the image. Source: TIFF, revision 6.0.

use std::io::{BufReader, ErrorKind};

use tiff::{
    ColorType, TiffError,
    decoder::{Decoder, DecodingResult, Limits},
    tags::Tag,
};

use crate::{
    formats::tables::{
        bytes::Bytes,
        fault::{TableFault, guarded},
        mask_size::{MaskSize, label},
    },
    payload::input::is_shrunk,
};

/// The longest value of a field: the places of 65,535 strips have half of it.
const FIELD_BYTES_MAX: usize = 1 << 20;
/// The value of the field `SampleFormat` for floats, and of `PhotometricInterpretation` if 0 is white.
const FLOATS: u16 = 3;
const WHITE_IS_ZERO: u16 = 0;

/// Whether a file with these first bytes is a TIFF or a BigTIFF.
pub(super) fn is_start(start: &[u8]) -> bool {
    let starts = [b"II\x2a\0", b"MM\0\x2a", b"II\x2b\0", b"MM\0\x2b"];
    starts.into_iter().any(|of| start.starts_with(of))
}

/// Reads the labels of a mask, line by line.
pub(super) fn labels(file: Bytes<'_>, size: MaskSize) -> Result<Vec<u32>, TableFault> {
    guarded(|| decoded(file, size))
}

fn decoded(file: Bytes<'_>, size: MaskSize) -> Result<Vec<u32>, TableFault> {
    let len = size.len()?;
    let mut limits = Limits::default();
    limits.decoding_buffer_size = len.saturating_mul(8);
    limits.intermediate_buffer_size = len.saturating_mul(8).saturating_add(FIELD_BYTES_MAX);
    limits.ifd_value_size = FIELD_BYTES_MAX;
    let mut decoder = Decoder::new(BufReader::new(file.all())).map_err(fault)?.with_limits(limits);
    let (pixels, lines) = decoder.dimensions().map_err(fault)?;
    size.check(lines.into(), pixels.into())?;
    if decoder.more_images() {
        return Err(TableFault::Refused("it has several pages; a mask has one".into()));
    }
    let refused = |what: &str| {
        Err(TableFault::Refused(format!(
            "its pixels are {what}; labels are gray values of 8, 16 or 32 bits without a sign"
        )))
    };
    match decoder.colortype().map_err(fault)? {
        ColorType::Gray(8 | 16 | 32 | 64) | ColorType::Palette(8 | 16) => {}
        ColorType::Gray(bits) | ColorType::Palette(bits) => {
            return refused(&format!("of {bits} bits"));
        }
        _ => return refused("colours"),
    }
    let formats = decoder.find_tag_unsigned_vec::<u16>(Tag::SampleFormat).map_err(fault)?;
    if formats.is_some_and(|formats| formats.contains(&FLOATS)) {
        return refused("floats");
    }
    let zero = decoder.find_tag_unsigned::<u16>(Tag::PhotometricInterpretation).map_err(fault)?;
    if zero == Some(WHITE_IS_ZERO) {
        return refused("white where they are 0");
    }
    let labels = of_numbers(decoder.read_image().map_err(fault)?)?;
    if labels.len() != len {
        return Err(TableFault::Damaged("its strips are not those of its size".into()));
    }
    Ok(labels)
}

fn of_numbers(numbers: DecodingResult) -> Result<Vec<u32>, TableFault> {
    fn all<N: Into<i128>>(numbers: Vec<N>) -> Result<Vec<u32>, TableFault> {
        numbers.into_iter().map(|number| label(number.into())).collect()
    }
    match numbers {
        DecodingResult::U8(numbers) => all(numbers),
        DecodingResult::U16(numbers) => all(numbers),
        DecodingResult::U32(numbers) => Ok(numbers),
        DecodingResult::U64(numbers) => all(numbers),
        DecodingResult::I8(numbers) => all(numbers),
        DecodingResult::I16(numbers) => all(numbers),
        DecodingResult::I32(numbers) => all(numbers),
        DecodingResult::I64(numbers) => all(numbers),
        DecodingResult::F16(_) | DecodingResult::F32(_) | DecodingResult::F64(_) => {
            Err(TableFault::Refused("its pixels are floats".into()))
        }
    }
}

fn fault(error: TiffError) -> TableFault {
    match error {
        // Offsets above 63 bits are no places of files.
        TiffError::IoError(error)
            if is_shrunk(&error)
                || error.raw_os_error().is_some() && error.kind() != ErrorKind::InvalidInput =>
        {
            TableFault::Io(error)
        }
        TiffError::UnsupportedError(error) => TableFault::Refused(format!(
            "{error}; write it as a TIFF without compression, or by deflate or LZW"
        )),
        error => TableFault::Damaged(format!("as a TIFF: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    /// A field: its tag, type (3 for 16 bits, 4 for 32), number of values and value.
    type Field = (u16, u16, u32, u32);

    /// A file by the text of the format: a page with these fields, in the order of their tags, then its strip.
    fn file(is_big_endian: bool, fields: &[Field], next: u32, strip: &[u8]) -> Vec<u8> {
        let short = |of: u16| if is_big_endian { of.to_be_bytes() } else { of.to_le_bytes() };
        let long = |of: u32| if is_big_endian { of.to_be_bytes() } else { of.to_le_bytes() };
        let mut bytes = if is_big_endian { b"MM".to_vec() } else { b"II".to_vec() };
        bytes.extend(short(42));
        bytes.extend(long(8));
        bytes.extend(short(u16::try_from(fields.len()).unwrap()));
        for &(tag, of, count, value) in fields {
            bytes.extend([short(tag), short(of)].concat());
            bytes.extend(long(count));
            let narrow = u16::try_from(value).unwrap_or_default();
            bytes.extend(if of == 3 {
                [short(narrow), [0; 2]].concat()
            } else {
                long(value).to_vec()
            });
        }
        bytes.extend(long(next));
        bytes.extend(strip);
        bytes
    }

    /// The fields of a page of 3 x 2 gray values.
    fn fields(bits: u32) -> Vec<Field> {
        let place = 8 + 2 + 12 * 10 + 4;
        vec![
            (256, 3, 1, 3),
            (257, 3, 1, 2),
            (258, 3, 1, bits),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, 1, place),
            (277, 3, 1, 1),
            (278, 3, 1, 2),
            (279, 4, 1, 6 * bits / 8),
            (339, 3, 1, 1),
        ]
    }

    fn with(changes: &[(u16, u32)]) -> Vec<Field> {
        let mut fields = fields(8);
        for &(tag, value) in changes {
            fields.iter_mut().find(|field| field.0 == tag).unwrap().3 = value;
        }
        fields
    }

    fn read(bytes: &[u8], size: [u32; 2]) -> Result<Vec<u32>, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let size = MaskSize { pixels: size[0], lines: size[1] };
        let read = labels(Bytes::of_file(&file, bytes.len() as u64), size);
        read.map_err(|fault| fault.at("mask".as_ref()).to_string())
    }

    #[test]
    fn gray_values_of_both_orders_of_bytes_are_labels() {
        let labels = [0_u32, 1, 2, 200, 100, 0];
        for bits in [8, 16, 32] {
            for is_big in [false, true] {
                let width = bits as usize / 8;
                let bytes = |of: u32| {
                    if is_big {
                        of.to_be_bytes()[4 - width..].to_vec()
                    } else {
                        of.to_le_bytes()[..width].to_vec()
                    }
                };
                let strip: Vec<u8> = labels.into_iter().flat_map(bytes).collect();
                let file = file(is_big, &fields(bits), 0, &strip);
                assert!(is_start(&file));
                assert_eq!(read(&file, [3, 2]), Ok(labels.to_vec()), "{bits} {is_big}");
            }
        }
        let two = file(false, &fields(8), 140, &[0; 300]);
        assert!(read(&two, [3, 2]).unwrap_err().contains("several pages"));
        // Without a sign in front of it, a number with one is a label.
        let signed = file(false, &with(&[(339, 2)]), 0, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(read(&signed, [3, 2]), Ok(vec![0, 1, 2, 3, 4, 5]));
        let below = file(false, &with(&[(339, 2)]), 0, &[255; 6]);
        assert!(read(&below, [3, 2]).unwrap_err().contains("-1 is no label"));
    }

    #[test]
    fn files_that_lie_are_refused() {
        let six = [1; 6];
        let strip_of = |changes: &[(u16, u32)]| file(false, &with(changes), 0, &six);
        let mut floats = fields(32);
        floats[9].3 = 3;
        for (bytes, reason) in [
            (
                strip_of(&[(256, 65_535), (257, 65_535), (278, 65_535)]),
                "it has 65535 lines of 65535 pixels, and the image has 2 lines of 3 pixels",
            ),
            (strip_of(&[(256, 2), (257, 3), (278, 3)]), "its lines and pixels are interchanged"),
            (strip_of(&[(256, 0)]), "mask"),
            (strip_of(&[(258, 1)]), "of 1 bits"),
            (strip_of(&[(262, 2), (277, 3)]), "mask"),
            (strip_of(&[(262, 0)]), "white where they are 0"),
            (file(false, &floats, 0, &[0; 24]), "its pixels are floats"),
            // The strip ends after the file, begins after it, and is said to be longer than anything.
            (file(false, &with(&[]), 0, &[1; 5]), "damaged"),
            (strip_of(&[(273, u32::MAX)]), "damaged"),
            (strip_of(&[(279, u32::MAX)]), "damaged"),
            // Compressed by deflate and by LZW, and neither of it; a kind of compression that does not exist.
            (strip_of(&[(259, 8)]), "damaged"),
            (strip_of(&[(259, 5)]), "damaged"),
            (strip_of(&[(259, 7)]), "mask"),
            (strip_of(&[(259, 9_999)]), "mask"),
            (b"II\x2a\0".to_vec(), "damaged"),
            (b"II\x2a\0\xff\xff\xff\xff".to_vec(), "damaged"),
            (b"II\x2b\0\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), "damaged"),
        ] {
            let said = read(&bytes, [3, 2]).unwrap_err();
            assert!(said.contains(reason), "{reason}: {said}");
        }
        // Every prefix of a file, and every byte changed, is an answer or an error.
        let whole = strip_of(&[]);
        for end in 0..whole.len() {
            assert!(read(&whole[..end], [3, 2]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                drop(read(&changed, [3, 2]));
            }
        }
    }
}
