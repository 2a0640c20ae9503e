//! Counts the photons of each pixel: rows in order of time, line by line.
//!
//! Each photon of the range is counted once: in a pixel, outside of all lines, or in a line after the last one of its
//! frame. Lines run from 0 to 100 and from 120: photons at 50 and 110 are in the first line and in none.

use std::ops::Range;

use tagq_store::{Channels, MicroColumn};

use super::{
    Image, ImageReport, PixelMicro,
    lines::{Line, SourceLines},
    pixels::{LinePixels, SineEdges, by_division, by_reciprocal},
};
use crate::{
    kinds::histogram::Bins,
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, route::COLUMN_ROWS, singles::rows_in, threads::add_up},
};

/// Rows that are decoded together, which stay in the fastest cache.
const DECODED: usize = 1 << 11;

/// A range of rows of a source, for the photons with one delay.
struct PhotonMorsel<'a> {
    source: &'a Source<'a>,
    lines: &'a [Line],
    photons: &'a Photons,
    rows: Range<usize>,
}

/// The photons with one delay.
struct Photons {
    delay: i64,
    /// For each label, whether its tags are photons with this delay.
    is_one: Vec<bool>,
}

/// The buffers and pixels that a thread keeps from line to line.
#[derive(Default)]
struct Thread {
    times: Vec<i64>,
    /// The pixels of lines of this length.
    pixels: Option<(u64, LinePixels)>,
}

/// Returns the counts of the pixels, and the photons of the report.
pub(super) fn count(
    image: &Image,
    recording: &Recording<'_>,
    range: TimeRange,
    execution: &Execution,
    scans: &[SourceLines],
) -> (Vec<u64>, ImageReport) {
    let labels = if recording.sources.iter().all(|of| matches!(of.tags.channels, Channels::U8(_))) {
        1 << 8
    } else {
        1 << 16
    };
    let photons: Vec<Photons> = image
        .scope
        .by_delay(&image.photons)
        .into_iter()
        .map(|(delay, places)| {
            let mut is_one = vec![false; labels];
            for place in places {
                if let Some(is_one) = is_one.get_mut(usize::from(image.photons[place])) {
                    *is_one = true;
                }
            }
            Photons { delay, is_one }
        })
        .collect();
    let step = execution.morsel_rows.unwrap_or(COLUMN_ROWS).max(1);
    let mut morsels = Vec::new();
    for (source, scan) in recording.sources.iter().zip(scans) {
        for photons in &photons {
            let rows = rows_in(source, photons.delay, range);
            morsels.extend(rows.clone().step_by(step).map(|start| PhotonMorsel {
                source,
                lines: &scan.lines,
                photons,
                rows: start..rows.end.min(start + step),
            }));
        }
    }
    let sine = SineEdges::of(&image.raster);
    let (pixels, _) = image.size();
    let numbers = pixels * image.stride();
    let pass = recording.pass(range);
    let of_morsel = |morsel: &PhotonMorsel<'_>, thread: &mut Thread, counts: &mut [u64]| {
        // Times out of order would be in no pixel; the query then fails after the pass.
        if !morsel.source.is_in_order(execution.simd, morsel.rows.clone()) {
            return 0;
        }
        let (counts, places) = counts.split_at_mut(numbers);
        PixelWalk { image, sine: sine.as_ref(), morsel, counts, places }.walk(thread);
        0
    };
    let (mut counts, _) =
        add_up(&pass, &morsels, numbers + 3, Thread::default, of_morsel, |_, _| {});
    let report = ImageReport {
        photons: counts[numbers],
        photons_outside: counts[numbers + 1],
        photons_beyond: counts[numbers + 2],
        ..ImageReport::default()
    };
    counts.truncate(numbers);
    (counts, report)
}

/// The walk through a morsel.
struct PixelWalk<'a, 'c> {
    image: &'a Image,
    sine: Option<&'a SineEdges>,
    morsel: &'a PhotonMorsel<'a>,
    counts: &'c mut [u64],
    /// Photons in pixels, in no line, and in lines beyond the last one.
    places: &'c mut [u64],
}

impl PixelWalk<'_, '_> {
    fn walk(&mut self, thread: &mut Thread) {
        let PhotonMorsel { source, lines, photons, ref rows } = *self.morsel;
        let Thread { times, pixels } = thread;
        for start in rows.clone().step_by(DECODED) {
            let rows = start..rows.end.min(start + DECODED);
            let times = source.tags.time.read(rows.clone(), times);
            // Lines before the first of these times have ended.
            let first = times.first().map_or(0, |&first| {
                lines.partition_point(|line| line.end.saturating_sub(photons.delay) <= first)
            });
            let mut done = 0;
            for line in &lines[first..] {
                if done == times.len() {
                    break;
                }
                let until = |time: i64| {
                    let time = time.saturating_sub(photons.delay);
                    done + times[done..].partition_point(|&of| of < time)
                };
                let begin = until(line.start);
                self.places[1] += self.photons_in(rows.start + done..rows.start + begin);
                done = begin;
                if done == times.len() {
                    break;
                }
                let end = done
                    + times[done..]
                        .partition_point(|&of| of < line.end.saturating_sub(photons.delay));
                let of_line = rows.start + done..rows.start + end;
                if line.number >= u64::from(self.image.raster.lines) {
                    self.places[2] += self.photons_in(of_line);
                } else {
                    self.count_line(line, of_line, &times[done..end], pixels);
                }
                done = end;
            }
            self.places[1] += self.photons_in(rows.start + done..rows.end);
        }
    }

    /// Returns how many photons are among these rows.
    fn photons_in(&self, rows: Range<usize>) -> u64 {
        let is_one = &self.morsel.photons.is_one;
        let photons = match self.morsel.source.tags.channels {
            Channels::U8(labels) => {
                labels.read(rows).iter().filter(|&&label| is_one[usize::from(label)]).count()
            }
            Channels::U16(labels) => {
                labels.read(rows).iter().filter(|&&label| is_one[usize::from(label)]).count()
            }
        };
        photons as u64
    }

    /// Counts the photons among rows that are all in a line.
    fn count_line(
        &mut self,
        line: &Line,
        rows: Range<usize>,
        times: &[i64],
        known: &mut Option<(u64, LinePixels)>,
    ) {
        if rows.is_empty() {
            return;
        }
        let raster = &self.image.raster;
        let length = line.start.abs_diff(line.end);
        if known.as_ref().is_none_or(|&(of, _)| of != length) {
            *known = Some((length, LinePixels::of(raster, self.sine, length)));
        }
        let Some((_, pixels)) = known else { return };
        let (frames, lines, side) =
            (usize::from(self.image.is_apart), raster.lines as usize, raster.pixels as usize);
        #[expect(clippy::cast_possible_truncation, reason = "below the lines of the raster")]
        let row = line.frame * frames * lines + line.number as usize;
        let stride = self.image.stride();
        let of_line = row * side * stride..(row + 1) * side * stride;
        // Frames are no more than the facts allow, unless the rows are damaged.
        let Some(of_line) = self.counts.get_mut(of_line) else { return };
        let is_backward = raster.is_two_way && line.number % 2 == 1;
        let photons = LinePhotons {
            source: self.morsel.source,
            is_one: &self.morsel.photons.is_one,
            rows,
            times,
            start: line.start.wrapping_sub(self.morsel.photons.delay),
        };
        let of_raster = OfRaster { last: side - 1, is_backward, stride, micro: &self.image.micro };
        self.places[0] += match pixels {
            &mut LinePixels::Reciprocal { m, k } => {
                photons.count(of_line, of_raster, |tick| by_reciprocal(tick, m, k))
            }
            &mut LinePixels::Division { pixels, length } => {
                photons.count(of_line, of_raster, |tick| by_division(tick, pixels, length))
            }
            LinePixels::Edges(edges) => {
                let mut pixel = 0;
                photons.count(of_line, of_raster, |tick| {
                    while edges.get(pixel + 1).is_some_and(|&next| next <= tick) {
                        pixel += 1;
                    }
                    pixel as u64
                })
            }
        };
    }
}

/// Rows that are all in a line.
struct LinePhotons<'a> {
    source: &'a Source<'a>,
    is_one: &'a [bool],
    rows: Range<usize>,
    times: &'a [i64],
    start: i64,
}

/// How pixels are numbered and what is counted in them.
#[derive(Clone, Copy)]
struct OfRaster<'a> {
    last: usize,
    is_backward: bool,
    stride: usize,
    micro: &'a PixelMicro,
}

impl LinePhotons<'_> {
    /// Counts in the pixels of the line. Returns how many photons there are.
    fn count(&self, counts: &mut [u64], of: OfRaster<'_>, pixel: impl FnMut(u64) -> u64) -> u64 {
        match self.source.tags.channels {
            Channels::U8(labels) => {
                self.count_labels(labels.read(self.rows.clone()), counts, of, pixel)
            }
            Channels::U16(labels) => {
                self.count_labels(labels.read(self.rows.clone()), counts, of, pixel)
            }
        }
    }

    fn count_labels<L: Copy + Into<usize>>(
        &self,
        labels: &[L],
        counts: &mut [u64],
        of: OfRaster<'_>,
        mut pixel: impl FnMut(u64) -> u64,
    ) -> u64 {
        let micro =
            |row: usize| self.source.micro.and_then(|micro: MicroColumn<'_>| micro.get(row));
        let mut photons = 0;
        match of.micro {
            PixelMicro::None => self.walk(labels, of, &mut pixel, |at, _| {
                counts[at] += 1;
                photons += 1;
            }),
            PixelMicro::Mean => self.walk(labels, of, &mut pixel, |at, row| {
                add_micro(&mut counts[at..at + 5], micro(row));
                photons += 1;
            }),
            PixelMicro::Bins(bins) => self.walk(labels, of, &mut pixel, |at, row| {
                let counts = &mut counts[at..at + of.stride];
                let micro = micro(row);
                add_micro(counts, micro);
                add_bin(counts, bins, micro);
                photons += 1;
            }),
        }
        photons
    }

    /// Passes each photon to `take`: the place of its pixel, and its row.
    fn walk<L: Copy + Into<usize>>(
        &self,
        labels: &[L],
        of: OfRaster<'_>,
        pixel: &mut impl FnMut(u64) -> u64,
        mut take: impl FnMut(usize, usize),
    ) {
        for (at, (&time, &label)) in self.times.iter().zip(labels).enumerate() {
            if self.is_one[label.into()] {
                let tick = time.wrapping_sub(self.start).cast_unsigned();
                #[expect(clippy::cast_possible_truncation, reason = "below 65,535")]
                let pixel = pixel(tick) as usize;
                let pixel = if of.is_backward { of.last - pixel } else { pixel };
                take(pixel * of.stride, self.rows.start + at);
            }
        }
    }
}

/// Adds a photon and its micro time to the first numbers of a pixel.
fn add_micro(counts: &mut [u64], micro: Option<u32>) {
    counts[0] += 1;
    if let Some(micro) = micro {
        let micro = u64::from(micro);
        let square = micro * micro;
        counts[1] += 1;
        counts[2] += micro;
        counts[3] += square & u64::from(u32::MAX);
        counts[4] += square >> 32;
    }
}

fn add_bin(counts: &mut [u64], bins: &Bins, micro: Option<u32>) {
    if let Some(bin) = micro.and_then(|micro| bins.holding(micro.into())) {
        counts[super::PixelCounts::WITH_MEAN + bin] += 1;
    }
}
