//! Images as OME-TIFF: pages of 32-bit numbers, described by OME-XML in the first page.
//!
//! The pages are not compressed, so their places are known before the first byte is written, and a pipe will do.
//! Files of 4 GiB and more have the offsets of BigTIFF. Of the counts of micro times, some lines are turned into strips of
//! pages at a time, and never the whole image.
//!
//! Two frames of 3 by 2 pixels: two pages of 24 bytes of counts. Counts of 2^32 and more are an error.

mod directory;
mod layout;
mod ome;
mod stack;

use std::io::Write;

use tagq::{Answer, FigureKind};

use self::{
    layout::{PageSize, TiffLayout},
    stack::Stack,
};
use crate::Error;

/// Bytes of strips that are made at a time, unless one line has more: they stay in a cache.
const STRIPS_BYTES: u64 = 4 << 20;

/// Writes the image of an answer.
///
/// # Errors
/// [`Error::NoImage`] for other answers and for several, [`Error::NoFrame`] for an image without frames, [`Error::Pixel`]
/// for counts that a pixel cannot hold; errors of `out`.
pub fn write_tiff<W: Write + ?Sized>(answers: &[Answer], out: &mut W) -> Result<(), Error> {
    let [answer] = answers else { return Err(Error::NoImage) };
    let Some(FigureKind::Image { pixels, lines, pixel_um, .. }) = answer.figure else {
        return Err(Error::NoImage);
    };
    let page_size = PageSize { pixels, lines, pixel_um };
    let stacks = Stack::of_answer(answer, page_size)?;
    let description = ome::xml(&answer.header, page_size, &stacks);
    let shapes = stacks.iter().map(|stack| stack.shape(page_size, STRIPS_BYTES)).collect();
    write(&TiffLayout::new(page_size, description, shapes), &stacks, out)
}

/// Writes the directories of all pages, then their strips.
fn write<W: Write + ?Sized>(
    layout: &TiffLayout,
    stacks: &[Stack<'_>],
    out: &mut W,
) -> Result<(), Error> {
    out.write_all(&layout.sizes.file_header())?;
    layout.directories(|directory| out.write_all(&directory))?;
    let mut strips = Vec::new();
    for (stack, shape) in stacks.iter().zip(&layout.shapes) {
        for frame in 0..shape.frames {
            for lines in shape.groups(layout.page_size) {
                stack.put_strips(layout.page_size, frame, lines, &mut strips)?;
                out.write_all(&strips)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        directory::TiffSizes,
        stack::{Detector, MicroBins, Planes},
        *,
    };
    use tagq::{Cells, Column};

    /// The pages of a file, by the text of the formats TIFF and BigTIFF: the numbers of their strips.
    fn pages(bytes: &[u8]) -> Vec<Vec<u64>> {
        let at = |at: u64, len: u64| {
            let of = &bytes[usize::try_from(at).unwrap()..usize::try_from(at + len).unwrap()];
            of.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let is_big = match at(0, 4) {
            0x2a_4949 => false,
            0x2b_4949 => true,
            other => panic!("{other:x}"),
        };
        let (first, count_len, word) = if is_big { (8, 8, 8) } else { (4, 2, 4) };
        let mut pages = Vec::new();
        let mut page = at(first, word);
        while page != 0 {
            let (fields, each) = (at(page, count_len), 4 + 2 * word);
            let list = |tag: u64| -> Vec<u64> {
                let place = (0..fields).map(|n| page + count_len + each * n);
                let field = place.into_iter().find(|&field| at(field, 2) == tag).unwrap();
                assert_eq!(at(field + 2, 2), if is_big { 16 } else { 4 });
                let count = at(field + 4, word);
                let value = field + 4 + word;
                let value = if count > 1 { at(value, word) } else { value };
                (0..count).map(|n| at(value + n * word, word)).collect()
            };
            let strips = list(273).into_iter().zip(list(279));
            let numbers = strips.flat_map(|(start, len)| (start..start + len).step_by(4));
            pages.push(numbers.map(|place| at(place, 4)).collect());
            page = at(page + count_len + each * fields, word);
        }
        pages
    }

    /// Three frames of 5 lines of 3 pixels with 4 bins, whose counts are their places in the table.
    #[test]
    fn pages_are_the_bins_of_frames_in_strips_of_any_height() {
        let page_size = PageSize { pixels: 3, lines: 5, pixel_um: Some(0.5) };
        let of_row = |row| (0..4).map(|bin| row as u64 * 4 + bin).collect::<Vec<u64>>().into();
        let counts = Cells::made(45, of_row);
        let column = Column::count_lists("micro_counts", counts);
        let bins = MicroBins { count: 4, start_ps: 0.0, width_ps: 1.0 };
        let stack = |place, others| Stack {
            frames: 3 / (1 + others),
            detector: Detector { channel: None, place, others },
            planes: Planes::Counts(&column, Some(bins)),
        };
        let page = |page: u64| -> Vec<u64> {
            (0..15).map(|pixel| (page / 4 * 15 + pixel) * 4 + page % 4).collect()
        };
        let expected: Vec<Vec<u64>> = (0..12).map(page).collect();
        // A line of all bins has 48 bytes: strips of one line, of two, and of all.
        for (bytes, strip_lines) in [(1, 1), (100, 2), (STRIPS_BYTES, 5)] {
            for is_big in [false, true] {
                let shape = stack(0, 0).shape(page_size, bytes);
                assert_eq!(shape.strip_lines, strip_lines);
                let mut layout = TiffLayout::new(page_size, "long enough".into(), vec![shape]);
                layout.sizes = TiffSizes { is_big };
                let mut file = Vec::new();
                write(&layout, &[stack(0, 0)], &mut file).unwrap();
                assert_eq!(file.len() as u64, layout.bytes());
                assert_eq!(pages(&file), expected, "{strip_lines} lines, {is_big}");
            }
        }
        // The second of three detectors in one frame.
        let one = stack(1, 2);
        let layout = TiffLayout::new(page_size, String::new(), vec![one.shape(page_size, 100)]);
        let mut file = Vec::new();
        write(&layout, &[one], &mut file).unwrap();
        assert_eq!(pages(&file), expected[4..8]);
    }
}
