//! Counts the photons of each pixel: rows in order of time, line by line.
//!
//! Each photon of the range is counted once: in a pixel, outside of all lines, or in a line after the last one of its
//! frame. Lines run from 0 to 100 and from 120: photons at 50 and 110 are in the first line and in none.
//!
//! Counts that fit into a cache are counted by rows, in a copy of each thread, and so are more of them if frames have few
//! rows. Others are counted by bands of lines: the rows of these lines in all frames, by one thread, so that a band stays
//! in the cache and nothing is copied. The regions of a frame are one line: frames apart are bands.

use std::ops::Range;

use rayon::prelude::*;
use tagq_store::{Channels, TimeReader};

use super::{
    Image, ImageReport, PixelMicro,
    lines::{Line, SourceLines},
    walk::{FirstLine, PhotonRows, Photons, PixelWalk, Thread},
};
use crate::{
    kinds::micro_bins::BinTable,
    run::{
        progress::Pass,
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, route::COLUMN_ROWS, singles::rows_in, threads::add_up},
};

/// Counts of all pixels that each thread has a copy of, and those of a band: half a megabyte.
const CACHED: usize = 1 << 16;
/// A band has so many rows of a frame, on average: it takes a search to find them.
const BAND_ROWS: usize = 1 << 11;
/// More counts are never copied, 8 MiB; they have so many bands, if lines suffice, however few rows these have.
pub(super) const COPIED_MAX: usize = 1 << 20;
const BANDS: usize = 16;

/// The places of photons: in pixels, in no line, in lines beyond the last one, in lines that are left out, and in pixels
/// of no region.
pub(super) const PLACES: usize = 5;

/// Returns the counts of the pixels, and the photons of the report.
pub(super) fn count(
    image: &Image,
    recording: &Recording<'_>,
    range: TimeRange,
    execution: &Execution,
    scans: &[SourceLines],
) -> (Vec<u64>, ImageReport) {
    let photons = photons(image, recording);
    let table = match &image.micro {
        PixelMicro::Bins(bins) => Some(BinTable::new(bins)),
        PixelMicro::None | PixelMicro::Mean => None,
    };
    let step = execution.morsel_rows.unwrap_or(COLUMN_ROWS).max(1);
    let sources = || recording.sources.iter().zip(scans);
    let parts =
        || sources().flat_map(|(source, scan)| photons.iter().map(move |of| (source, scan, of)));
    let pass = recording.pass(range);
    let walk = PixelWalk::new(image, table.as_ref());
    let count = |morsel: &PhotonRows<'_>,
                 first: FirstLine,
                 thread: &mut Thread,
                 counts: &mut [u64],
                 places: &mut [u64]| {
        // Times out of order would be in no pixel; the query then fails after the pass.
        if morsel.source.is_in_order(execution.simd, morsel.rows.clone()) {
            walk.walk(morsel, first, thread, counts, places);
        }
    };
    let finish = |counts: &mut [u64]| walk.finish(counts);
    let (counts, places) = if let Some(bands) = Bands::of(image, execution, scans, recording) {
        let mut all: Vec<Vec<PhotonRows<'_>>> = Vec::new();
        all.resize_with(bands.len(), Vec::new);
        for (source, scan, of) in parts() {
            let rows = rows_in(source, of.delay, range);
            for (band, rows) in bands.cut(source, &scan.lines, of, rows) {
                let Some(all) = all.get_mut(band) else { continue };
                all.extend(pieces(rows, step).map(|rows| PhotonRows {
                    source,
                    lines: &scan.lines,
                    photons: of,
                    rows,
                }));
            }
        }
        bands.count(&pass, all, count, finish)
    } else {
        let mut morsels = Vec::new();
        for (source, scan, of) in parts() {
            let rows = pieces(rows_in(source, of.delay, range), step);
            morsels.extend(rows.map(|rows| PhotonRows {
                source,
                lines: &scan.lines,
                photons: of,
                rows,
            }));
        }
        let numbers = image.size().0 * image.stride();
        let of_morsel = |morsel: &PhotonRows<'_>, thread: &mut Thread, counts: &mut [u64]| {
            let (counts, places) = counts.split_at_mut(numbers);
            count(morsel, FirstLine(0), thread, counts, places);
            0
        };
        let (mut counts, _) =
            add_up(&pass, &morsels, numbers + PLACES, Thread::default, of_morsel, |_, _| {});
        let places = counts.split_off(numbers);
        finish(&mut counts);
        (counts, <[u64; PLACES]>::try_from(places).unwrap_or_default())
    };
    let [photons, photons_outside, photons_beyond, photons_skipped, photons_outside_regions] =
        places;
    let report = ImageReport {
        photons,
        photons_outside,
        photons_beyond,
        photons_skipped,
        photons_outside_regions,
        ..ImageReport::default()
    };
    (counts, report)
}

fn pieces(rows: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    rows.clone().step_by(step).map(move |start| start..rows.end.min(start + step))
}

/// Returns the photons that are counted together: those with the same delay, or those of a channel.
fn photons(image: &Image, recording: &Recording<'_>) -> Vec<Photons> {
    let labels = if recording.sources.iter().all(|of| matches!(of.tags.channels, Channels::U8(_))) {
        1 << 8
    } else {
        1 << 16
    };
    let of = |delay: i64, plane: usize, channels: &[usize]| {
        let mut is_one = vec![false; labels];
        for &channel in channels {
            if let Some(is_one) = is_one.get_mut(usize::from(image.photons[channel])) {
                *is_one = true;
            }
        }
        Photons { delay, plane, is_one }
    };
    let mut all = Vec::new();
    for (delay, channels) in image.scope.by_delay(&image.photons) {
        if image.is_by_channel {
            all.extend(channels.iter().map(|&channel| of(delay, channel, &[channel])));
        } else {
            all.push(of(delay, 0, &channels));
        }
    }
    all
}

/// Lines that are counted together, of each frame or of all.
struct Bands {
    /// Lines of a frame, those before them that are left out, and the lines of a band.
    lines: usize,
    first_line: u64,
    lines_of_band: usize,
    /// Frames that have pixels of their own; 1 if they are added up. Likewise for channels.
    frames: usize,
    planes: usize,
    is_apart: bool,
    /// Counts of a line.
    of_line: usize,
}

impl Bands {
    /// Returns how lines are divided; `None` if they are counted together.
    fn of(
        image: &Image,
        execution: &Execution,
        scans: &[SourceLines],
        recording: &Recording<'_>,
    ) -> Option<Self> {
        // With a number of rows for morsels, tests cut images of a few pixels.
        let cached = execution.morsel_rows.unwrap_or(CACHED);
        let least = execution.morsel_rows.map_or(BAND_ROWS, |_| 1);
        let (lines, side) = image.grid();
        let of_line = side * image.stride();
        let frames = if image.is_apart { image.frames } else { 1 };
        if frames * image.planes() * lines * of_line <= cached {
            return None;
        }
        let rows: usize = recording.sources.iter().map(|source| source.tags.len()).sum();
        let scanned = scans.iter().map(|scan| scan.counts.lines.len()).sum::<usize>().max(1);
        let is_copied = image.is_copied();
        let bands = (rows / scanned / least).max(if is_copied { 1 } else { BANDS });
        let lines_of_band = (cached / of_line.max(1)).max(lines.div_ceil(bands)).max(1);
        let bands = Self {
            lines,
            first_line: image.raster.first_line.into(),
            lines_of_band,
            frames,
            planes: image.planes(),
            is_apart: image.is_apart,
            of_line,
        };
        (bands.len() > 1 || !is_copied).then_some(bands)
    }

    fn of_plane(&self) -> usize {
        self.lines.div_ceil(self.lines_of_band)
    }

    fn len(&self) -> usize {
        self.frames * self.planes * self.of_plane()
    }

    /// Returns the band of a line for photons; lines that are left out are in the first band of a frame or in the last.
    fn band(&self, line: &Line, photons: &Photons) -> usize {
        let number = line.number.saturating_sub(self.first_line);
        let number = usize::try_from(number).unwrap_or(usize::MAX).min(self.lines - 1);
        let frame = if self.is_apart { line.frame } else { 0 };
        (frame * self.planes + photons.plane) * self.of_plane() + number / self.lines_of_band
    }

    /// Cuts rows at the beginnings of lines of another band. Rows before the first line are those of its band.
    fn cut(
        &self,
        source: &Source<'_>,
        lines: &[Line],
        photons: &Photons,
        rows: Range<usize>,
    ) -> Vec<(usize, Range<usize>)> {
        let mut cut = Vec::new();
        let band_of = |line| self.band(line, photons);
        let (mut begin, mut band) = (rows.start, lines.first().map_or(0, band_of));
        let mut times = TimeReader::new(source.tags.time);
        for line in lines {
            let next = band_of(line);
            if next != band {
                let time = line.start.saturating_sub(photons.delay);
                let row = row_near(&mut times, source.tags.len(), time, line.row);
                let row = row.clamp(begin, rows.end.max(begin));
                cut.push((band, begin..row));
                (begin, band) = (row, next);
            }
        }
        cut.push((band, begin..rows.end));
        cut.retain(|(_, rows)| !rows.is_empty());
        cut
    }

    /// Counts the rows of each band, on several threads.
    fn count(
        &self,
        pass: &Pass<'_>,
        rows: Vec<Vec<PhotonRows<'_>>>,
        count: impl Fn(&PhotonRows<'_>, FirstLine, &mut Thread, &mut [u64], &mut [u64]) + Sync,
        finish: impl Fn(&mut [u64]) + Sync,
    ) -> (Vec<u64>, [u64; PLACES]) {
        let mut counts = vec![0; self.frames * self.planes * self.lines * self.of_line];
        let pieces = pass.in_pieces(rows.iter().map(Vec::len).sum());
        let planes = counts.chunks_mut(self.lines * self.of_line);
        let of_band = self.lines_of_band * self.of_line;
        let bands: Vec<&mut [u64]> = planes.flat_map(|plane| plane.chunks_mut(of_band)).collect();
        let one =
            |thread: &mut Thread,
             (band, (rows, counts)): (usize, (Vec<PhotonRows<'_>>, &mut [u64]))| {
                let (plane, band) = (band / self.of_plane(), band % self.of_plane());
                let first = FirstLine(plane * self.lines + band * self.lines_of_band);
                let mut places = [0; PLACES];
                for rows in &rows {
                    if pieces.begin().is_err() {
                        break;
                    }
                    count(rows, first, thread, counts, &mut places);
                }
                finish(counts);
                places
            };
        let added = |mut sum: [u64; PLACES], more: [u64; PLACES]| {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            sum
        };
        let all = rows.into_par_iter().zip(bands).enumerate().with_max_len(1);
        let places = all.map_init(Thread::default, one).reduce(Default::default, added);
        (counts, places)
    }
}

/// Returns the first row whose time is at least `time`: searched from row `near` on, in steps that double.
fn row_near(times: &mut TimeReader<'_>, len: usize, time: i64, near: usize) -> usize {
    let (mut low, mut high) = (near.min(len), near.min(len));
    let mut step = 1;
    while low > 0 && times.at(low - 1) >= time {
        low = low.saturating_sub(step);
        step *= 2;
    }
    step = 1;
    while high < len && times.at(high) < time {
        high = len.min(high + step);
        step *= 2;
    }
    while low < high {
        let middle = usize::midpoint(low, high);
        if times.at(middle) < time { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use tagq_store::Times;

    use super::*;

    #[test]
    fn a_row_is_found_from_anywhere() {
        let of: Vec<i64> = (0..100).map(|row| row / 3 * 10).collect();
        let mut times = TimeReader::new(Times::from(&of[..]));
        for time in -5..350 {
            let expected = of.partition_point(|of| *of < time);
            for near in [0, 1, 50, 98, 99, 100, 1_000] {
                assert_eq!(
                    row_near(&mut times, of.len(), time, near),
                    expected,
                    "{time} from {near}"
                );
            }
        }
        assert_eq!(row_near(&mut TimeReader::new(Times::from(&[][..])), 0, 3, 7), 0);
    }
}
