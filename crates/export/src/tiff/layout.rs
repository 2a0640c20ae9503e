//! Where everything is in a file: the directories of all pages, then the strips of the pages.
//!
//! A frame of 1,000 bins is 1,000 pages. Its counts come pixel by pixel, and each page needs one of each pixel. So a page
//! is cut into strips of as many lines as fit into memory for all pages of a frame; the first strips of all pages come
//! first, then the second ones.

use std::ops::Range;

use super::directory::{Field, TiffSizes};

/// Offsets above are those of BigTIFF.
const SMALL_BYTES: u64 = 1 << 32;

/// The size of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSize {
    pub pixels: u32,
    pub lines: u32,
    /// The side of a pixel in micrometres.
    pub pixel_um: Option<f64>,
}

impl PageSize {
    /// Returns the bytes of so many lines of a page.
    fn bytes(self, lines: u32) -> u64 {
        4 * u64::from(self.pixels) * u64::from(lines)
    }
}

/// How many pages there are of one kind of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackShape {
    pub frames: usize,
    /// Pages of a frame.
    pub planes: usize,
    /// Lines of a strip; the last strip of a page may have fewer.
    pub strip_lines: u32,
    pub is_float: bool,
}

impl StackShape {
    /// Returns the lines of each strip of a page.
    pub fn groups(self, page_size: PageSize) -> impl Iterator<Item = Range<u32>> {
        let step = self.strip_lines.max(1);
        (0..page_size.lines.div_ceil(step))
            .map(move |strip| strip * step..page_size.lines.min((strip + 1) * step))
    }

    fn frame_bytes(self, page_size: PageSize) -> u64 {
        page_size.bytes(page_size.lines) * self.planes as u64
    }

    /// Returns the places of the strips of a page after the first byte of its frame, with their sizes.
    fn strips(self, page_size: PageSize, plane: usize) -> impl Iterator<Item = (u64, u64)> {
        self.groups(page_size).map(move |lines| {
            let size = page_size.bytes(lines.end - lines.start);
            let before = page_size.bytes(lines.start) * self.planes as u64;
            (before + size * plane as u64, size)
        })
    }
}

/// The places of a file.
pub(super) struct TiffLayout {
    pub page_size: PageSize,
    description: String,
    pub shapes: Vec<StackShape>,
    pub sizes: TiffSizes,
}

impl TiffLayout {
    /// Chooses the layout; a file that would have 4 GiB or more is a BigTIFF.
    pub fn new(page_size: PageSize, description: String, shapes: Vec<StackShape>) -> Self {
        let sizes = TiffSizes { is_big: false };
        let small = Self { page_size, description, shapes, sizes };
        let is_big = small.bytes() >= SMALL_BYTES;
        Self { sizes: TiffSizes { is_big }, ..small }
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> u64 {
        let strips = |shape: &StackShape| shape.frame_bytes(self.page_size) * shape.frames as u64;
        self.strips_start() + self.shapes.iter().map(strips).sum::<u64>()
    }

    fn strips_start(&self) -> u64 {
        let of_stack = |shape: &StackShape| {
            let pages = (shape.frames * shape.planes) as u64;
            pages * self.sizes.directory(&self.fields(*shape, 0, 0))
        };
        let text = |text: &str| self.sizes.directory(&[Field::text(270, text)]);
        // The first page has this field in addition.
        let description = text(&self.description) - self.sizes.directory(&[]);
        self.sizes.header() + description + self.shapes.iter().map(of_stack).sum::<u64>()
    }

    /// Passes the directories to `take`, one after the other, as they are in the file.
    pub fn directories<E>(&self, mut take: impl FnMut(Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let mut at = self.sizes.header();
        let mut frame_start = self.strips_start();
        let mut left: usize = self.shapes.iter().map(|shape| shape.frames * shape.planes).sum();
        let mut description = Some(Field::text(270, &self.description));
        for shape in &self.shapes {
            for _ in 0..shape.frames {
                for plane in 0..shape.planes {
                    let mut fields = self.fields(*shape, plane, frame_start);
                    fields.extend(description.take());
                    let end = at + self.sizes.directory(&fields);
                    left -= 1;
                    take(self.sizes.encoded(fields, at, if left > 0 { end } else { 0 }))?;
                    at = end;
                }
                frame_start += shape.frame_bytes(self.page_size);
            }
        }
        Ok(())
    }

    /// Returns the fields of a page of the frame whose strips begin at a place.
    fn fields(&self, shape: StackShape, plane: usize, frame_start: u64) -> Vec<Field> {
        let PageSize { pixels, lines, pixel_um } = self.page_size;
        let strips = || shape.strips(self.page_size, plane);
        let mut fields = vec![
            Field::long(256, pixels),
            Field::long(257, lines),
            // 32 bits, not compressed, zero is black.
            Field::short(258, 32),
            Field::short(259, 1),
            Field::short(262, 1),
            self.sizes.offsets(273, strips().map(|(at, _)| frame_start + at)),
            Field::short(277, 1),
            Field::long(278, shape.strip_lines),
            self.sizes.offsets(279, strips().map(|(_, size)| size)),
            Field::text(305, concat!("tagq ", env!("CARGO_PKG_VERSION"))),
            // Floats, or without a sign.
            Field::short(339, if shape.is_float { 3 } else { 1 }),
        ];
        if let Some(size) = pixel_um {
            // Pixels per centimetre, in millionths.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "floats saturate"
            )]
            let per_cm = (1e10 / size).round() as u32;
            fields.push(Field::short(296, 3));
            fields.extend([282, 283].map(|tag| Field::rational(tag, [per_cm, 1_000_000])));
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 1,024 x 1,024 numbers has 4 MiB.
    #[test]
    fn a_file_of_4_gib_is_a_big_tiff() {
        let page_size = PageSize { pixels: 1024, lines: 1024, pixel_um: None };
        let layout = |frames, planes| {
            let shape = StackShape { frames, planes, strip_lines: 16, is_float: false };
            TiffLayout::new(page_size, String::new(), vec![shape])
        };
        for (frames, planes, is_big) in
            [(1023, 1, false), (1024, 1, true), (3, 341, false), (2, 512, true)]
        {
            let layout = layout(frames, planes);
            assert_eq!(layout.sizes.is_big, is_big, "{frames} x {planes}");
            let mut directories = 0;
            layout
                .directories(|directory| {
                    directories += directory.len() as u64;
                    Ok::<_, ()>(())
                })
                .unwrap();
            let pages = 4 * 1024 * 1024 * (frames * planes) as u64;
            assert_eq!(layout.sizes.header() + directories + pages, layout.bytes());
        }
    }
}
