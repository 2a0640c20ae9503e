//! The checks of a mask: its size, before memory is taken for it, and its labels.

use crate::formats::tables::fault::TableFault;

/// The size of the image that a mask is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaskSize {
    pub pixels: u32,
    pub lines: u32,
}

impl MaskSize {
    /// Refuses a mask of another size.
    pub fn check(self, lines: u64, pixels: u64) -> Result<(), TableFault> {
        let Self { pixels: of_line, lines: of_frame } = self;
        if (lines, pixels) == (of_frame.into(), of_line.into()) {
            return Ok(());
        }
        let turned = if (pixels, lines) == (of_frame.into(), of_line.into()) {
            "; its lines and pixels are interchanged"
        } else {
            ""
        };
        Err(TableFault::Refused(format!(
            "it has {lines} lines of {pixels} pixels, and the image has {of_frame} lines of {of_line} pixels{turned}"
        )))
    }

    /// Returns the number of labels.
    pub fn len(self) -> Result<usize, TableFault> {
        let len = (self.pixels as usize).checked_mul(self.lines as usize);
        len.ok_or_else(|| TableFault::Refused("it has more pixels than memory has bytes".into()))
    }

    /// Returns the place, line by line, of the item at this place, column by column.
    pub fn transposed(self, item: usize) -> usize {
        let lines = self.lines as usize;
        item % lines * self.pixels as usize + item / lines
    }
}

/// Returns the label that a number is.
pub(crate) fn label(value: i128) -> Result<u32, TableFault> {
    u32::try_from(value).map_err(|_| {
        TableFault::Refused(format!(
            "{value} is no label; labels are 0 (outside of all regions) to {}",
            u32::MAX
        ))
    })
}
