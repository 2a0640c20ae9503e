//! The counts of an image, and the table made from them.
//!
//! A pixel with two photons of the micro times 10 and 14 has the mean 12, and 2·(100 + 196) − 24² = 16 gives the
//! variance 16/2 = 8. The sums are whole numbers, so that nothing is lost before this difference.

use std::{ops::Range, sync::Arc};

use tagq_query::{Image as Query, ImageReport, Imaged, PixelCounts, Raster};
use tagq_store::Tick;

use super::lifetime::PixelLifetimes;
use crate::{
    cell::CountsPart,
    cells::Cells,
    table::{Column, Table, Unit},
};

/// The standard deviation of fewer photons of a pixel is not known well enough for an error.
const FEW: u64 = 100;

/// Frames with another number of lines that an answer lists.
const LISTED_MAX: usize = 100;

/// What a table has beside counts.
#[derive(Default)]
pub(super) struct PixelsShown {
    /// The unit of mean micro times, and the fewest photons of a pixel that has one.
    pub means: Option<(Tick, u64)>,
    pub lifetimes: Option<PixelLifetimes>,
    /// Whether each pixel has its counts of micro times.
    pub has_bins: bool,
}

/// The counts of one run or of several.
#[derive(Debug, Default)]
pub(crate) struct ImageCounts {
    /// The numbers of each pixel, frame by frame.
    pub counts: Vec<u64>,
    /// How many numbers a pixel has.
    pub stride: usize,
    /// The ticks that lines spent in each region, frame by frame; empty without regions, and if lines are not known.
    pub dwell: Vec<u64>,
    pub report: ImageReport,
    pub frames: FramesSeen,
    /// The lines that begin in each frame, added up over the runs.
    lines: Vec<u64>,
}

/// The frames that were found.
#[derive(Debug, Default)]
pub(crate) struct FramesSeen {
    /// Frames with a line.
    pub count: u64,
    /// Frames with fewer lines than were asked for, and with more.
    pub fewer: u64,
    pub more: u64,
    /// The number of a frame with another number of lines, and these: the first ones.
    pub other: Vec<(usize, u64)>,
}

impl ImageCounts {
    pub(super) fn of(imaged: Imaged, raster: Raster) -> Self {
        let Imaged { counts, stride, dwell, lines, report } = imaged;
        let expected = raster.all_lines();
        let mut frames = FramesSeen::default();
        for (frame, &lines) in lines.iter().enumerate().filter(|(_, lines)| **lines > 0) {
            frames.count += 1;
            frames.fewer += u64::from(lines < expected);
            frames.more += u64::from(lines > expected);
            if lines != expected && frames.other.len() < LISTED_MAX {
                frames.other.push((frame, lines));
            }
        }
        Self { counts, stride, dwell, report, frames, lines }
    }

    /// Adds the counts of another run, frame by frame.
    pub(super) fn added(mut self, more: Self) -> Self {
        let add = |sum: &mut Vec<u64>, more: Vec<u64>| {
            sum.resize(sum.len().max(more.len()), 0);
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        add(&mut self.counts, more.counts);
        add(&mut self.dwell, more.dwell);
        add(&mut self.lines, more.lines);
        self.report = self.report.and(&more.report);
        let FramesSeen { count, fewer, more, other } = more.frames;
        self.frames.count += count;
        self.frames.fewer += fewer;
        self.frames.more += more;
        self.frames.other.extend(other);
        self.frames.other.truncate(LISTED_MAX);
        self
    }

    /// Returns the frames of so many pixels that have rows: those from the first to the last with a line or a photon.
    pub(super) fn frames_shown(&self, of_frame: usize) -> Range<usize> {
        let has = |frame: &usize| {
            let at = frame * of_frame * self.stride;
            let counts = self.counts.get(at..at + of_frame * self.stride).unwrap_or_default();
            self.lines.get(*frame).is_some_and(|&lines| lines > 0)
                || counts.iter().step_by(self.stride).any(|&count| count > 0)
        };
        let all = 0..self.counts.len() / (of_frame * self.stride).max(1);
        let (first, last) = (all.clone().find(has), all.rev().find(has));
        first.zip(last).map_or(0..0, |(first, last)| first..last + 1)
    }

    /// Returns the counts of blocks of `side` × `side` pixels, and how many of them there are. Blocks at an end have fewer.
    pub(super) fn in_blocks(self, side: u32, raster: Raster) -> (Self, Raster) {
        let [wide, high] = [raster.pixels, raster.lines].map(|of| of.div_ceil(side));
        let blocks = Raster { pixels: wide, lines: high, ..raster };
        let (of_frame, stride) = (raster.pixels as usize * raster.lines as usize, self.stride);
        let frames = self.counts.len() / (of_frame * stride).max(1);
        let mut counts = vec![0; frames * wide as usize * high as usize * stride];
        for (at, pixel) in self.counts.chunks_exact(stride).enumerate() {
            let (frame, at) = (at / of_frame, at % of_frame);
            let (line, pixel_of) = (at / raster.pixels as usize, at % raster.pixels as usize);
            let (line, column) = (line / side as usize, pixel_of / side as usize);
            let block = (frame * high as usize + line) * wide as usize + column;
            let sums = &mut counts[block * stride..(block + 1) * stride];
            sums.iter_mut().zip(pixel).for_each(|(sum, more)| *sum += more);
        }
        (Self { counts, ..self }, blocks)
    }

    /// Returns the rows of an answer: those of the pixels or regions of all frames that are shown, or of their sum, with so
    /// many rows of a frame and a channel.
    pub(super) fn rows(self, query: &Query, of_plane: usize) -> ImageRows {
        let of_frame = of_plane * query.planes();
        let frames = if query.is_apart { self.frames_shown(of_frame) } else { 0..1 };
        ImageRows {
            counts: Arc::new(self.counts),
            stride: self.stride,
            of_frame,
            of_plane,
            first: frames.start * of_frame,
            len: frames.len() * of_frame,
        }
    }

    /// Returns one row for each pixel: frame by frame and channel by channel if these are apart, line by line.
    pub(super) fn table(self, query: &Query, raster: Raster, shown: &PixelsShown) -> Table {
        let side = raster.pixels as usize;
        let rows = self.rows(query, side * raster.lines as usize);
        let of_plane = rows.of_plane;
        let line = rows.cells(move |row| number(row % of_plane / side));
        let pixel = rows.cells(move |row| number(row % side));
        let table = rows
            .places(query)
            .with(Column::integers("line", line).key())
            .with(Column::integers("pixel", pixel).key());
        rows.with_micro(rows.with_count(table), shown)
    }
}

/// The rows of an answer, each a pixel or a region.
#[derive(Clone)]
pub(super) struct ImageRows {
    counts: Arc<Vec<u64>>,
    stride: usize,
    /// Rows of a frame, and of a channel in a frame.
    pub of_frame: usize,
    pub of_plane: usize,
    /// The first one among those that were counted.
    pub first: usize,
    pub len: usize,
}

impl ImageRows {
    /// Returns the cells that are computed of the numbers of rows.
    pub(super) fn cells<T: Clone>(
        &self,
        make: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Cells<T> {
        Cells::made(self.len, make)
    }

    /// Returns the photons of a row.
    pub(super) fn count(&self, row: usize) -> u64 {
        self.pixel(row).count()
    }

    fn pixel(&self, row: usize) -> PixelCounts<'_> {
        PixelCounts(&self.counts[self.numbers(row)])
    }

    /// Returns the places of the numbers of a row.
    fn numbers(&self, row: usize) -> Range<usize> {
        let at = (self.first + row) * self.stride;
        at..at + self.stride
    }

    /// Returns the counts of micro times of a row.
    fn bins(&self, row: usize) -> CountsPart {
        let numbers = self.numbers(row);
        let bins = self.pixel(row).bins().len();
        CountsPart { counts: Arc::clone(&self.counts), range: numbers.end - bins..numbers.end }
    }

    /// Returns a table with the frames and channels of the rows, if these are apart.
    pub(super) fn places(&self, query: &Query) -> Table {
        let Self { first, of_frame, of_plane, .. } = *self;
        let mut table = Table::default();
        if query.is_apart {
            let frame = self.cells(move |row| number((first + row) / of_frame));
            table = table.with(Column::integers("frame", frame).key());
        }
        if query.is_by_channel {
            let photons = query.photons.clone();
            let channel = move |row: usize| photons.get(row % of_frame / of_plane).copied();
            table = table.with(Column::channels("channel", self.cells(channel)).key());
        }
        table
    }

    /// Adds the counts. Their errors are √max(C, 1).
    pub(super) fn with_count(&self, table: Table) -> Table {
        let rows = self.clone();
        let count = self.cells(move |row| rows.count(row));
        let err = count.clone().map(|count| Some((count.max(1) as f64).sqrt()));
        table
            .with(Column::counts("count", count).err("count_err").compared())
            .with(Column::floats("count_err", err).hidden())
    }

    /// Adds the columns of micro times and lifetimes.
    pub(super) fn with_micro(&self, mut table: Table, shown: &PixelsShown) -> Table {
        if let Some(lifetimes) = &shown.lifetimes {
            table = lifetimes.add_to(table, (self.first, self.len));
        }
        if let Some((unit, least)) = shown.means {
            let spread = spread(self.counts.chunks_exact(self.stride).map(PixelCounts));
            let rows = self.clone();
            let mean = self.cells(move |row| {
                let pixel = rows.pixel(row);
                mean_of(pixel, spread, unit).filter(|_| pixel.count() >= least)
            });
            table = table
                .with(
                    Column::floats("micro_mean_s", mean.clone().map(|mean| Some(mean?.0)))
                        .heading("mean micro time")
                        .unit(Unit::Seconds)
                        .err("micro_mean_s_err"),
                )
                .with(Column::floats("micro_mean_s_err", mean.map(|mean| mean?.1)).hidden());
        }
        if shown.has_bins {
            let rows = self.clone();
            let bins = self.cells(move |row| rows.bins(row).into());
            table = table.with(Column::count_lists("micro_counts", bins).hidden());
        }
        table
    }
}

fn number(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// Returns the area of each block of `side` × `side` pixels as a part of that of a whole block: those at an end are smaller.
pub(super) fn block_areas(side: u32, raster: Raster) -> Vec<f64> {
    let parts = |len: u32| {
        let of = move |at: u32| f64::from(side.min(len - at * side)) / f64::from(side);
        (0..len.div_ceil(side)).map(of)
    };
    parts(raster.lines).flat_map(|high| parts(raster.pixels).map(move |wide| wide * high)).collect()
}

/// Returns n·Σm² − (Σm)² of n micro times, which is exact in whole numbers.
fn squares_about_mean(n: u64, sum: u64, squares: u128) -> Option<f64> {
    let all = u128::from(n).checked_mul(squares)?;
    Some(all.checked_sub(u128::from(sum) * u128::from(sum))? as f64)
}

/// Returns the standard deviation of micro times about the means of their pixels, of all pixels together.
fn spread<'a>(pixels: impl Iterator<Item = PixelCounts<'a>>) -> Option<f64> {
    let (mut squares_sum, mut free) = (0.0, 0.0);
    for (n, sum, squares) in pixels.filter_map(|pixel| pixel.micro()).filter(|&(n, ..)| n > 1) {
        squares_sum += squares_about_mean(n, sum, squares)? / n as f64;
        free += (n - 1) as f64;
    }
    (free > 0.0).then(|| (squares_sum / free).sqrt())
}

/// Returns the mean micro time of a pixel in seconds with its standard error: s/√n, where s is the standard deviation of its own
/// photons, or of all pixels if it has few.
fn mean_of(pixel: PixelCounts<'_>, of_all: Option<f64>, unit: Tick) -> Option<(f64, Option<f64>)> {
    let (n, sum, squares) = pixel.micro().filter(|&(n, ..)| n > 0)?;
    let tick = unit.seconds_of(1);
    let mean = sum as f64 / n as f64;
    let own = || Some((squares_about_mean(n, sum, squares)? / (n - 1) as f64 / n as f64).sqrt());
    let spread = if n < FEW { of_all } else { own() };
    let err = spread.map(|spread| spread / (n as f64).sqrt() * tick);
    Some((mean * tick, err))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RASTER: Raster = Raster {
        pixels: 5,
        lines: 3,
        first_line: 0,
        first_frame: 0,
        is_two_way: false,
        sine: None,
    };

    #[test]
    fn blocks_at_an_end_are_smaller() {
        assert_eq!(block_areas(2, RASTER), [1.0, 1.0, 0.5, 0.5, 0.5, 0.25]);
        assert_eq!(block_areas(1, RASTER), [1.0; 15]);
    }

    /// Six frames: nothing, a line, nothing, a photon of a line that began before, and nothing twice.
    #[test]
    fn frames_from_the_first_to_the_last_that_has_something_are_shown() {
        let of_frame = 15;
        let mut counts = vec![0; 6 * of_frame];
        counts[3 * of_frame + 7] = 1;
        let of = ImageCounts {
            counts,
            stride: 1,
            lines: vec![0, 1, 0, 0, 0, 0],
            ..ImageCounts::default()
        };
        assert_eq!(of.frames_shown(of_frame), 1..4);
        assert!(ImageCounts::default().frames_shown(of_frame).is_empty());
    }
}
