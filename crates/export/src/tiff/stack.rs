//! The pages of an answer: counts, one page for each frame or for each bin of micro times, and lifetimes with all that
//! belongs to them, one page for each column.
//!
//! A lifetime of 2.5 ns is the number 2.5 in the channel `lifetime_ns`: viewers show few digits of 2.5e-9.

use std::ops::Range;

use tagq::{Answer, Cell, CellType, Column, CountsPart, Table};

use super::layout::{PageSize, StackShape};
use crate::Error;

/// The begin of the keys of lifetimes in seconds.
const LIFETIME: &str = "lifetime_s";
/// Whole numbers below 2^24 are floats of 32 bits.
const FLOAT_BITS: u32 = 24;
/// Pixels and bins whose counts are turned together: the numbers of the pixels in a page are a line of a cache.
const TOGETHER: usize = 16;

/// The bins of micro times, which have equal widths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MicroBins {
    pub count: usize,
    pub start_ps: f64,
    pub width_ps: f64,
}

/// Pages of one kind of numbers.
pub(super) struct Stack<'a> {
    pub frames: usize,
    pub detector: Detector,
    pub planes: Planes<'a>,
}

/// The detector of the pages, if each has pages of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Detector {
    /// Its channel.
    pub channel: Option<u16>,
    /// Its place among all detectors, whose rows follow each other in a frame.
    pub place: usize,
    /// The other detectors.
    pub others: usize,
}

impl Detector {
    /// Returns all detectors of a table with so many rows a page.
    fn all(rows: &Table, of_page: usize) -> Vec<Self> {
        let Some(column) = rows.get("channel") else { return vec![Self::default()] };
        let mut channels = Vec::new();
        for row in (0..rows.len()).step_by(of_page.max(1)) {
            match column.cells.at(row) {
                Cell::Channel(channel) if !channels.contains(&channel) => channels.push(channel),
                _ => break,
            }
        }
        let others = channels.len().saturating_sub(1);
        let detector = |(place, channel)| Self { channel: Some(channel), place, others };
        channels.into_iter().enumerate().map(detector).collect()
    }
}

/// The pages of a frame.
pub(super) enum Planes<'a> {
    /// Counts, of all micro times or of each bin.
    Counts(&'a Column, Option<MicroBins>),
    /// Columns as floats.
    Channels(Vec<&'a Column>),
}

impl<'a> Stack<'a> {
    /// Returns the counts of an image, of each detector if they are apart, or its lifetimes with its counts; counts of bins
    /// and lifetimes are apart.
    pub fn of_answer(answer: &'a Answer, page_size: PageSize) -> Result<Vec<Self>, Error> {
        let rows = &answer.rows;
        let of_page = page_size.pixels as usize * page_size.lines as usize;
        let detectors = Detector::all(rows, of_page);
        let frames = rows.len() / (of_page * detectors.len()).max(1);
        if frames == 0 {
            return Err(Error::NoFrame);
        }
        let each = |planes: &dyn Fn() -> Result<Planes<'a>, Error>| {
            let of = |&detector: &Detector| Ok(Self { frames, detector, planes: planes()? });
            detectors.iter().map(of).collect::<Result<Vec<_>, Error>>()
        };
        let count = rows.get("count").ok_or(Error::NoImage)?;
        let mut stacks = Vec::new();
        if let Some(bins) = rows.get("micro_counts") {
            stacks.extend(each(&|| Ok(Planes::Counts(bins, Some(micro_bins(answer, bins)?))))?);
        }
        if rows.get(LIFETIME).is_some() {
            let is_shown = |column: &&Column| {
                column.of == CellType::Float && !column.is_list && column.key != "count_err"
            };
            let floats = || rows.columns().iter().filter(is_shown);
            let planes = || Planes::Channels([count].into_iter().chain(floats()).collect());
            stacks.extend(each(&|| Ok(planes()))?);
        }
        if stacks.is_empty() {
            stacks.extend(each(&|| Ok(Planes::Counts(count, None)))?);
        }
        Ok(stacks)
    }

    /// Returns the number of pages, with strips of at most so many bytes for all pages of a frame.
    pub fn shape(&self, page_size: PageSize, strips_bytes: u64) -> StackShape {
        let (planes, is_float) = match &self.planes {
            Planes::Counts(_, bins) => (bins.map_or(1, |bins| bins.count), false),
            Planes::Channels(columns) => (columns.len(), true),
        };
        let of_line = 4 * u64::from(page_size.pixels) * planes as u64;
        let lines = strips_bytes / of_line.max(1);
        let strip_lines = u32::try_from(lines)
            .map_or(page_size.lines, |lines| lines.clamp(1, page_size.lines.max(1)));
        StackShape { frames: self.frames, planes, strip_lines, is_float }
    }

    /// Puts the strips with these lines of all pages of a frame, page by page, in place of what a buffer has.
    pub fn put_strips(
        &self,
        page_size: PageSize,
        frame: usize,
        lines: Range<u32>,
        to: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Detector { place, others, .. } = self.detector;
        let page = frame * (1 + others) + place;
        let row = |line: u32| {
            (page * page_size.lines as usize + line as usize) * page_size.pixels as usize
        };
        let rows = row(lines.start)..row(lines.end);
        match &self.planes {
            Planes::Counts(column, bins) => {
                put_counts(column, rows, bins.map_or(1, |of| of.count), to)
            }
            Planes::Channels(columns) => {
                to.clear();
                for column in columns {
                    let factor = channel(column).1;
                    for row in rows.clone() {
                        let value = float(&column.cells.at(row))? * factor;
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "pages have floats of 32 bits"
                        )]
                        let value = value as f32;
                        to.extend(value.to_le_bytes());
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns the name of the page of a column, and the factor of its values.
pub(super) fn channel(column: &Column) -> (String, f64) {
    match column.key.strip_prefix(LIFETIME) {
        Some(rest) => (format!("lifetime_ns{rest}"), 1e9),
        None => (column.key.clone().into_owned(), 1.0),
    }
}

/// Returns the value of a cell; a count is a whole number.
fn float(cell: &Cell) -> Result<f64, Error> {
    match *cell {
        Cell::Count(count) => match u32::try_from(count) {
            Ok(small) if small < 1 << FLOAT_BITS => Ok(f64::from(small)),
            _ => Err(Error::Pixel { count, bits: FLOAT_BITS }),
        },
        Cell::Float(value) => Ok(value),
        _ => Ok(f64::NAN),
    }
}

/// Writes the counts of rows: those of each bin one after the other.
fn put_counts(
    column: &Column,
    rows: Range<usize>,
    bins: usize,
    to: &mut Vec<u8>,
) -> Result<(), Error> {
    to.clear();
    if !column.is_list {
        for row in rows {
            let Cell::Count(count) = column.cells.at(row) else { return Err(Error::NoImage) };
            let small = u32::try_from(count).map_err(|_| Error::Pixel { count, bits: 32 })?;
            to.extend(small.to_le_bytes());
        }
        return Ok(());
    }
    let pixels = rows.len();
    to.resize(4 * pixels * bins, 0);
    for start in (0..pixels).step_by(TOGETHER) {
        let some = rows.start + start..rows.end.min(rows.start + start + TOGETHER);
        let len = some.len();
        let lists = some.map(|row| match column.cells.at(row) {
            Cell::List(list) => list.counts().filter(|of| of.range.len() == bins).cloned(),
            _ => None,
        });
        let lists: Vec<CountsPart> = lists.collect::<Option<_>>().ok_or(Error::NoImage)?;
        let lists: Vec<&[u64]> = lists.iter().map(CountsPart::as_slice).collect();
        let mut all = 0;
        for first in (0..bins).step_by(TOGETHER) {
            let of_bins = first..bins.min(first + TOGETHER);
            let mut turned = [[0_u32; TOGETHER]; TOGETHER];
            for (pixel, list) in lists.iter().enumerate() {
                for (turned, &count) in turned.iter_mut().zip(&list[of_bins.clone()]) {
                    all |= count;
                    #[expect(clippy::cast_possible_truncation, reason = "an error below")]
                    let small = count as u32;
                    turned[pixel] = small.to_le();
                }
            }
            for (bin, turned) in of_bins.zip(&turned) {
                let at = 4 * (bin * pixels + start);
                to[at..at + 4 * len].copy_from_slice(bytemuck::cast_slice(&turned[..len]));
            }
        }
        if u32::try_from(all).is_err() {
            let most = lists.iter().flat_map(|list| list.iter().copied()).max();
            return Err(Error::Pixel { count: most.unwrap_or(all), bits: 32 });
        }
    }
    Ok(())
}

/// Returns the bins as the query of an answer states them.
fn micro_bins(answer: &Answer, column: &Column) -> Result<MicroBins, Error> {
    let Some(Cell::List(first)) = column.cells.iter().next() else { return Err(Error::NoImage) };
    let number = |value: &serde_json::Value| value.as_f64().ok_or(Error::NoImage);
    let query = &answer.query;
    let width_ps = number(&query["bin_s"])? * 1e12;
    let unit_ps = width_ps / number(&query["bin_ticks"])?;
    let start_ps = number(&query["range_ticks"][0])? * unit_ps;
    Ok(MicroBins { count: first.len(), start_ps, width_ps })
}
