//! Masks: an image of labels, which programs for the segmentation of cells write. The label of a pixel is the number of its
//! region, and 0 is outside of all regions.
//!
//! A mask of 512 x 512 pixels is an array of NumPy of the shape (512, 512), or a TIFF of one page. The size of the image is
//! known before, and a mask of another size is refused before memory is taken for it.

mod tiff;

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use crate::{
    error::{Error, io_error},
    formats::tables::{bytes::Bytes, fault::TableFault, mask_size::MaskSize, numpy},
};

/// Reads the labels of the pixels of a mask, line by line, for an image of this many pixels a line and lines.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::DamagedTable`] for a damaged one, [`Error::Table`] for one that is no
/// mask of this size.
pub fn read_mask(path: &Path, [pixels, lines]: [u32; 2]) -> Result<Vec<u32>, Error> {
    let io = |error| io_error(path, "read")(error);
    // To open a pipe would wait for its writer.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(TableFault::Refused(KINDS.into()).at(path));
    }
    let file = File::open(path).map_err(io)?;
    let bytes = Bytes::of_file(&file, file.metadata().map_err(io)?.len());
    let size = MaskSize { pixels, lines };
    labels(bytes, size).map_err(|fault| fault.at(path))
}

/// The files that are masks.
const KINDS: &str = "it is no mask; a mask is an array of NumPy (.npy) or a TIFF of one page";

fn labels(file: Bytes<'_>, size: MaskSize) -> Result<Vec<u32>, TableFault> {
    let mut start = Vec::new();
    file.all().take(numpy::MAGIC.len() as u64).read_to_end(&mut start)?;
    if start.starts_with(numpy::MAGIC) {
        numpy::labels(file, size)
    } else if tiff::is_start(&start) {
        tiff::labels(file, size)
    } else {
        Err(TableFault::Refused(KINDS.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of an array of NumPy.
    fn npy(of: &str, order: &str, shape: &str) -> Vec<u8> {
        let text = format!("{{'descr': '{of}', 'fortran_order': {order}, 'shape': {shape}, }}");
        let head = format!("{text:<117}\n");
        [b"\x93NUMPY\x01\x00\x76\x00".as_slice(), head.as_bytes()].concat()
    }

    fn read(bytes: &[u8], size: [u32; 2]) -> Result<Vec<u32>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mask");
        fs::write(&path, bytes).unwrap();
        let read = read_mask(&path, size);
        read.map_err(|error| error.to_string().replace(&path.display().to_string(), "mask"))
    }

    #[test]
    fn arrays_of_all_integers_are_masks() {
        let labels = [0_u32, 1, 2, 200, 100, 0];
        let of = |of: &str, bytes: Vec<u8>| [npy(of, "False", "(2, 3)"), bytes].concat();
        let bytes = |width: usize| {
            labels
                .iter()
                .flat_map(|of| {
                    of.to_le_bytes()[..width.min(4)].to_vec().into_iter().chain(vec![
                        0;
                        width.max(4)
                            - 4
                    ])
                })
                .collect::<Vec<u8>>()
        };
        for (name, width) in
            [("|u1", 1), ("<u2", 2), ("<i2", 2), ("<u4", 4), ("<i4", 4), ("<u8", 8), ("<i8", 8)]
        {
            assert_eq!(read(&of(name, bytes(width)), [3, 2]), Ok(labels.to_vec()), "{name}");
        }
        assert_eq!(read(&of("|b1", vec![0, 1, 1, 0, 0, 1]), [3, 2]), Ok(vec![0, 1, 1, 0, 0, 1]));
        // Column by column.
        let turned = [npy("|u1", "True", "(2, 3)"), vec![0, 200, 1, 100, 2, 0]].concat();
        assert_eq!(read(&turned, [3, 2]), Ok(labels.to_vec()));
        let most = [npy("<u4", "False", "(1, 1)"), u32::MAX.to_le_bytes().to_vec()].concat();
        assert_eq!(read(&most, [1, 1]), Ok(vec![u32::MAX]));
        // More items than are read at a time.
        let many: Vec<u8> = (0..300 * 300).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let all = read(&[npy("|u1", "False", "(300, 300)"), many.clone()].concat(), [300, 300]);
        assert_eq!(all, Ok(many.into_iter().map(u32::from).collect()));
    }

    #[test]
    fn arrays_that_are_no_mask_are_refused_by_name() {
        let of = |of: &str, shape: &str, bytes: &[u8]| [&npy(of, "False", shape), bytes].concat();
        let six = [0; 6];
        let float = f64::NAN.to_le_bytes();
        for (bytes, reason) in [
            (
                of("|u1", "(3, 2)", &six),
                "it has 3 lines of 2 pixels, and the image has 2 lines of 3 pixels; its lines and pixels are interchanged",
            ),
            (of("|u1", "(6,)", &six), "its array has the shape (6); a mask has lines and pixels"),
            (of("|u1", "(1, 2, 3)", &six), "its array has the shape (1, 2, 3)"),
            (of("|i1", "(2, 3)", &[0, 255, 0, 0, 0, 0]), "-1 is no label"),
            (
                of("<i8", "(2, 3)", &[[0; 44].as_slice(), &[1, 0, 0, 0]].concat()),
                "4294967296 is no label",
            ),
            (of("<u8", "(2, 3)", &[255; 48]), "18446744073709551615 is no label"),
            (of("<f8", "(2, 3)", &float.repeat(6)), "its items are floats; labels are integers"),
            (of(">u2", "(2, 3)", &[0; 12]), "its items are big-endian"),
            (of("<c8", "(2, 3)", &[0; 48]), "its items are of the type"),
            (of("<U1", "(2, 3)", &[0; 24]), "its items are of the type"),
            (of("|O", "(2, 3)", &[0; 24]), "it holds Python objects"),
            (of("|u1", "(2, 3)", &[0; 5]), "damaged: its data end"),
            (of("|u1", "(2, 3)", &[0; 7]), "bytes follow its array"),
            // A description that lies about its size, and about everything.
            (of("|u1", "(65535, 65535)", &six), "damaged: its data end"),
            (of("<u8", "(4294967296, 4294967296)", &six), "damaged: its data end"),
            (of("|u1", "(2, -3)", &six), "damaged"),
            (
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
                "damaged: an array has a description of 4294967295 bytes",
            ),
            (b"\x93NUMPY".to_vec(), "damaged"),
            (
                b"line,pixel\n".to_vec(),
                "it is no mask; a mask is an array of NumPy (.npy) or a TIFF",
            ),
            (Vec::new(), "it is no mask"),
        ] {
            let said = read(&bytes, [3, 2]).unwrap_err();
            assert!(said.contains(reason), "{reason}: {said}");
        }
        let folder = tempfile::tempdir().unwrap();
        let said = read_mask(folder.path(), [3, 2]).unwrap_err().to_string();
        assert!(said.contains("it is no mask"), "{said}");
        let said = read_mask(&folder.path().join("none"), [3, 2]).unwrap_err().to_string();
        assert!(said.contains("cannot read"), "{said}");
    }

    /// A TIFF of 65,535 x 65,535 pixels is refused by its size, whatever it claims to hold.
    #[test]
    fn the_size_of_an_array_is_compared_before_its_data() {
        let large = [npy("|u1", "False", "(2, 1000)"), vec![0; 2_000]].concat();
        let said = read(&large, [65_535, 65_535]).unwrap_err();
        assert!(said.contains("2 lines of 1000 pixels, and the image has 65535 lines"), "{said}");
    }
}
