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
    directory::TiffSizes,
    layout::{Layout, Raster},
    stack::Stack,
};
use crate::Error;

/// Bytes of strips that are made at a time, unless one line has more.
const STRIPS_BYTES: u64 = 64 << 20;

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
    let raster = Raster { pixels, lines, pixel_um };
    let stacks = Stack::of_answer(answer, raster)?;
    let description = ome::xml(&answer.header, raster, &stacks);
    let shapes = stacks.iter().map(|stack| stack.shape(raster, STRIPS_BYTES)).collect();
    write(&Layout::new(raster, description, shapes), &stacks, out)
}

/// Writes the directories of all pages, then their strips.
fn write<W: Write + ?Sized>(
    layout: &Layout,
    stacks: &[Stack<'_>],
    out: &mut W,
) -> Result<(), Error> {
    out.write_all(&layout.sizes.file_header())?;
    layout.directories(|directory| out.write_all(&directory))?;
    for (stack, shape) in stacks.iter().zip(&layout.shapes) {
        for frame in 0..shape.frames {
            for lines in shape.groups(layout.raster) {
                out.write_all(&stack.strips(layout.raster, frame, lines)?)?;
            }
        }
    }
    Ok(())
}
