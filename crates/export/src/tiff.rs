//! Images as TIFF: pages of 32-bit counts, one for each frame, or for each frame and bin of micro times.
//!
//! The pages are not compressed, so their places are known before the first byte is written, and a pipe will do.
//! Files of 4 GiB and more have the offsets of BigTIFF.
//!
//! Two frames of 3 by 2 pixels: two pages of 24 bytes of counts. Counts of 2^32 and more are an error.

use std::{io::Write, ops::Range};

use serde_json::json;
use tagq::{Answer, Cell, Column, FigureKind};

use crate::Error;

/// The types of fields.
const SHORT: u16 = 3;
const LONG: u16 = 4;
const ASCII: u16 = 2;
const RATIONAL: u16 = 5;
const LONG8: u16 = 16;

/// A field of a page: its tag, its type, how many values, and their bytes.
struct Field {
    tag: u16,
    of: u16,
    count: u64,
    bytes: Vec<u8>,
}

impl Field {
    fn short(tag: u16, value: u16) -> Self {
        Self { tag, of: SHORT, count: 1, bytes: value.to_le_bytes().into() }
    }

    fn long(tag: u16, value: u32) -> Self {
        Self { tag, of: LONG, count: 1, bytes: value.to_le_bytes().into() }
    }

    fn text(tag: u16, text: &str) -> Self {
        let bytes: Vec<u8> = text.bytes().chain([0]).collect();
        Self { tag, of: ASCII, count: bytes.len() as u64, bytes }
    }
}

/// The sizes of the parts of a file.
#[derive(Clone, Copy)]
struct TiffSizes {
    is_big: bool,
}

impl TiffSizes {
    fn header(self) -> u64 {
        if self.is_big { 16 } else { 8 }
    }

    /// Returns the bytes of an offset: values of fields up to this length are in the field itself.
    fn word(self) -> usize {
        if self.is_big { 8 } else { 4 }
    }

    /// Returns the bytes of the fields of a page, with those of their values that follow them.
    fn fields(self, fields: &[Field]) -> u64 {
        let counts = if self.is_big { 8 } else { 2 };
        let each = 4 + 2 * self.word();
        let values = fields.iter().map(|field| field.bytes.len()).filter(|&len| len > self.word());
        let values: usize = values.map(|len| len.next_multiple_of(2)).sum();
        (counts + fields.len() * each + self.word() + values) as u64
    }

    fn put(self, out: &mut Vec<u8>, value: u64) {
        out.extend(&value.to_le_bytes()[..self.word()]);
    }
}

/// Writes the image of an answer.
///
/// # Errors
/// [`Error::NoImage`] for other answers and for several, [`Error::Pixel`] for counts of 2³² and more; errors of `out`.
pub fn write_tiff<W: Write + ?Sized>(answers: &[Answer], out: &mut W) -> Result<(), Error> {
    let [answer] = answers else { return Err(Error::NoImage) };
    let Some(FigureKind::Image { pixels, lines, pixel_um, .. }) = answer.figure else {
        return Err(Error::NoImage);
    };
    let of_frame = pixels as usize * lines as usize;
    let rows = &answer.rows;
    let counts = rows.get("micro_counts").or_else(|| rows.get("count")).ok_or(Error::NoImage)?;
    let bins = match counts.cells.iter().next() {
        Some(Cell::List(bins)) => Some(bins.len()),
        _ => None,
    };
    let frames = rows.len() / of_frame.max(1);
    let pages = frames * bins.unwrap_or(1);
    // Not `shape`: readers take that for pages whose values follow each other without a gap.
    let sides: Vec<usize> = [Some(frames), bins, Some(lines as usize), Some(pixels as usize)]
        .into_iter()
        .flatten()
        .collect();
    let page_bytes = 4 * of_frame as u64;
    let description = json!({"sides": sides, "header": answer.header}).to_string();
    let fields =
        |page: usize| fields((pixels, lines), pixel_um, (page == 0).then_some(&*description));
    let small = TiffSizes { is_big: false };
    let of_page = |page: usize| small.fields(&with_strip(fields(page), small, 0, page_bytes));
    let bytes = of_page(0) + of_page(1) * pages as u64 + page_bytes * pages as u64;
    let layout = TiffSizes { is_big: bytes >= 0xffff_0000 };
    out.write_all(&header(layout))?;
    let mut at = layout.header();
    let mut values = Vec::new();
    for page in 0..pages {
        let own = fields(page);
        let all = with_strip(own, layout, 0, page_bytes);
        let data = at + layout.fields(&all);
        let next = data + page_bytes;
        let all = with_strip(fields(page), layout, data, page_bytes);
        out.write_all(&directory(layout, &all, at, if page + 1 < pages { next } else { 0 }))?;
        let bin = page % bins.unwrap_or(1);
        if bin == 0 {
            let frame = page / bins.unwrap_or(1);
            values = pages_of(counts, frame * of_frame..(frame + 1) * of_frame, bins)?;
        }
        out.write_all(&values[bin * 4 * of_frame..(bin + 1) * 4 * of_frame])?;
        at = next;
    }
    Ok(())
}

/// Returns the values of the pages of a frame, which has these rows: those of each bin one after the other.
fn pages_of(counts: &Column, rows: Range<usize>, bins: Option<usize>) -> Result<Vec<u8>, Error> {
    let of_frame = rows.len();
    let mut values = vec![0; 4 * of_frame * bins.unwrap_or(1)];
    let mut put = |at: usize, count: &Cell| {
        let &Cell::Count(count) = count else { return Ok(()) };
        let count = u32::try_from(count).map_err(|_| Error::Pixel(count))?;
        values[4 * at..4 * at + 4].copy_from_slice(&count.to_le_bytes());
        Ok::<_, Error>(())
    };
    for (pixel, row) in rows.enumerate() {
        match counts.cells.at(row) {
            Cell::List(of_bins) => {
                for (bin, count) in of_bins.iter().enumerate() {
                    put(bin * of_frame + pixel, count)?;
                }
            }
            count => put(pixel, &count)?,
        }
    }
    Ok(values)
}

/// Returns the fields of a page, apart from the place of its values.
fn fields(
    (pixels, lines): (u32, u32),
    pixel_um: Option<f64>,
    description: Option<&str>,
) -> Vec<Field> {
    let mut fields = vec![
        Field::long(256, pixels),
        Field::long(257, lines),
        // 32 bits, not compressed, zero is black, unsigned.
        Field::short(258, 32),
        Field::short(259, 1),
        Field::short(262, 1),
        Field::short(277, 1),
        Field::long(278, lines),
        Field::text(305, concat!("tagq ", env!("CARGO_PKG_VERSION"))),
        Field::short(339, 1),
    ];
    fields.extend(description.map(|text| Field::text(270, text)));
    if let Some(size) = pixel_um {
        // Pixels per centimetre, in millionths.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "floats saturate"
        )]
        let per_cm = (1e10 / size).round() as u32;
        let bytes: Vec<u8> = [per_cm, 1_000_000].into_iter().flat_map(u32::to_le_bytes).collect();
        fields.push(Field::short(296, 3));
        for tag in [282, 283] {
            fields.push(Field { tag, of: RATIONAL, count: 1, bytes: bytes.clone() });
        }
    }
    fields
}

/// Adds the place of the values of a page.
fn with_strip(mut fields: Vec<Field>, layout: TiffSizes, at: u64, bytes: u64) -> Vec<Field> {
    for (tag, value) in [(273, at), (279, bytes)] {
        let mut word = Vec::new();
        layout.put(&mut word, value);
        let of = if layout.is_big { LONG8 } else { LONG };
        fields.push(Field { tag, of, count: 1, bytes: word });
    }
    fields.sort_by_key(|field| field.tag);
    fields
}

fn header(layout: TiffSizes) -> Vec<u8> {
    let mut out = b"II".to_vec();
    if layout.is_big {
        out.extend([43, 0, 8, 0, 0, 0]);
    } else {
        out.extend([42, 0]);
    }
    layout.put(&mut out, layout.header());
    out
}

/// Returns the fields of a page at a place of the file, and their values.
fn directory(layout: TiffSizes, fields: &[Field], at: u64, next: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let count = fields.len() as u64;
    out.extend(&count.to_le_bytes()[..if layout.is_big { 8 } else { 2 }]);
    let end = out.len() + fields.len() * (4 + 2 * layout.word()) + layout.word();
    let mut values = Vec::new();
    for field in fields {
        out.extend(field.tag.to_le_bytes());
        out.extend(field.of.to_le_bytes());
        layout.put(&mut out, field.count);
        if field.bytes.len() > layout.word() {
            layout.put(&mut out, at + (end + values.len()) as u64);
            values.extend(&field.bytes);
            values.resize(values.len().next_multiple_of(2), 0);
        } else {
            let mut word = field.bytes.clone();
            word.resize(layout.word(), 0);
            out.extend(word);
        }
    }
    layout.put(&mut out, next);
    out.extend(values);
    out
}
