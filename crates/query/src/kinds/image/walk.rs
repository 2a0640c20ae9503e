//! The walk through rows: which of them are in a line, and in which pixel of it.
//!
//! A line from 0 to 100 has two pixels. Of the rows at 10, 60, 70 and 120, two photons and a marker are in pixels 0, 1
//! and none, and the last row is in no line.

use std::ops::Range;

use tagq_store::{Channels, MicroColumn};

use super::{
    Image, PixelCounts, PixelMicro,
    lines::{Line, LinePlace},
    pixels::{LinePixels, SineEdges, by_division, by_reciprocal},
    regions::NO_PIXEL,
    sums::{NarrowMicro, PhotonCount, ROWS_MAX, RunningSums, WideMicro, sums_of_one},
};
use crate::{
    kinds::micro_bins::{BinTable, Micro},
    run::recording::Source,
};

/// Rows that are decoded together, which stay in the fastest cache.
const DECODED: usize = 1 << 11;
const _: () = assert!(DECODED <= ROWS_MAX, "the sums of a walk fit");
/// A line with this many pixels for each row is counted row by row.
const SPARSE: usize = 4;

/// A range of rows of a source, for photons that are counted together.
pub(super) struct PhotonRows<'a> {
    pub source: &'a Source<'a>,
    pub lines: &'a [Line],
    pub photons: &'a Photons,
    pub rows: Range<usize>,
}

/// Photons that are counted together.
pub(super) struct Photons {
    pub delay: i64,
    /// The number of their channel if each channel has pixels of its own, else 0.
    pub plane: usize,
    /// For each label, whether its tags are photons with this delay.
    pub is_one: Vec<bool>,
}

/// The number of lines of the image before those that are counted, those of earlier frames with them.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstLine(pub usize);

/// The buffers and pixels that a thread keeps from line to line.
#[derive(Default)]
pub(super) struct Thread {
    times: Vec<i64>,
    /// The pixels of lines of this length.
    pixels: Option<(u64, LinePixels)>,
    /// The pixel of each row of a line, or [`NO_PIXEL`].
    places: Vec<u32>,
    sums: PixelSums,
}

/// For each pixel of a line, what is counted up to its last photon.
#[derive(Default)]
struct PixelSums {
    photons: Vec<PhotonCount>,
    narrow: Vec<NarrowMicro>,
    wide: Vec<WideMicro>,
}

/// Walks through rows and counts photons.
pub(super) struct PixelWalk<'a> {
    image: &'a Image,
    sine: Option<SineEdges>,
    bins: Option<&'a BinTable<'a>>,
}

impl<'a> PixelWalk<'a> {
    pub fn new(image: &'a Image, bins: Option<&'a BinTable<'a>>) -> Self {
        Self { image, sine: SineEdges::of(&image.raster), bins }
    }

    /// Adds to the numbers of each pixel what follows from its bins. They are the only ones that know the photons in bins of
    /// one micro time each.
    pub fn finish(&self, counts: &mut [u64]) {
        let Some(first) = self.bins.and_then(BinTable::single) else { return };
        for numbers in counts.chunks_exact_mut(self.image.stride()) {
            let (sums, bins) = numbers.split_at_mut(PixelCounts::WITH_MEAN);
            let mut of_bins = [0; PixelCounts::WITH_MEAN];
            for (micro, &count) in (first..).zip(&*bins) {
                let each = sums_of_one(micro);
                of_bins.iter_mut().zip(each).for_each(|(sum, each)| *sum += count * each);
            }
            sums.iter_mut().zip(of_bins).for_each(|(sum, more)| *sum += more);
        }
    }

    /// Adds photons to the counts of the lines from the first one on, and to those of their places.
    pub fn walk(
        &self,
        morsel: &PhotonRows<'_>,
        first: FirstLine,
        thread: &mut Thread,
        counts: &mut [u64],
        places: &mut [u64],
    ) {
        let PhotonRows { source, lines, photons, ref rows } = *morsel;
        let mut buffer = std::mem::take(&mut thread.times);
        for start in rows.clone().step_by(DECODED) {
            let rows = start..rows.end.min(start + DECODED);
            let times = source.tags.time.read(rows.clone(), &mut buffer);
            // Lines before the first of these times have ended.
            let begun = times.first().map_or(0, |&first| {
                lines.partition_point(|line| line.end.saturating_sub(photons.delay) <= first)
            });
            let mut done = 0;
            for line in &lines[begun..] {
                if done == times.len() {
                    break;
                }
                let until = |from: usize, time: i64| {
                    let time = time.saturating_sub(photons.delay);
                    from + times[from..].partition_point(|&of| of < time)
                };
                let begin = until(done, line.start);
                places[1] += morsel.photons_in(rows.start + done..rows.start + begin);
                let end = until(begin, line.end);
                let of_line = rows.start + begin..rows.start + end;
                done = end;
                if of_line.is_empty() {
                    continue;
                }
                match line.place(&self.image.raster) {
                    LinePlace::Row(row) => {
                        let times = &times[begin..end];
                        let of_line = LineRows { line, row, rows: of_line, times };
                        let [inside, outside] =
                            self.count_line(morsel, &of_line, first, thread, counts);
                        places[0] += inside;
                        places[4] += outside;
                    }
                    LinePlace::Beyond => places[2] += morsel.photons_in(of_line),
                    LinePlace::Skipped => places[3] += morsel.photons_in(of_line),
                }
            }
            places[1] += morsel.photons_in(rows.start + done..rows.end);
        }
        thread.times = buffer;
    }

    /// Counts the photons among rows that are all in a line. Returns how many are counted, and how many are in no region.
    fn count_line(
        &self,
        morsel: &PhotonRows<'_>,
        of: &LineRows<'_>,
        first: FirstLine,
        thread: &mut Thread,
        counts: &mut [u64],
    ) -> [u64; 2] {
        let Image { raster, regions, is_apart, .. } = self.image;
        let length = of.line.start.abs_diff(of.line.end);
        if thread.pixels.as_ref().is_none_or(|&(known, _)| known != length) {
            thread.pixels = Some((length, LinePixels::of(raster, self.sine.as_ref(), length)));
        }
        let (lines, side) = self.image.grid();
        let frame = if *is_apart { of.line.frame } else { 0 };
        let plane = frame * self.image.planes() + morsel.photons.plane;
        let row = plane * lines + regions.as_ref().map_or(of.row, |_| 0);
        let of_line = side * self.image.stride();
        // Frames are no more than the facts allow, unless the rows are damaged.
        let Some(counts) = row
            .checked_sub(first.0)
            .and_then(|row| counts.get_mut(row * of_line..(row + 1) * of_line))
        else {
            return [0; 2];
        };
        let Thread { pixels: Some((_, pixels)), places, sums, .. } = thread else { return [0; 2] };
        let is_backward = raster.is_two_way && of.line.number % 2 == 1;
        let last = raster.pixels - 1;
        places.clear();
        morsel.add_places(of, pixels, is_backward.then_some(last), places);
        let mut outside = 0;
        if let Some(regions) = regions {
            outside = to_regions(places, regions.line(of.row, raster.pixels as usize));
        }
        let line = CountedLine {
            places,
            is_backward,
            has_regions: regions.is_some(),
            stride: self.image.stride(),
        };
        let micro = match &self.image.micro {
            PixelMicro::None => None,
            PixelMicro::Mean | PixelMicro::Bins(_) => morsel.source.micro,
        };
        let inside = match micro {
            None => line.count(&mut sums.photons, std::iter::repeat(()), side, counts),
            Some(MicroColumn::U16(micro)) => line.count_micro(
                self.bins,
                &mut sums.narrow,
                micro.read(of.rows.clone()),
                side,
                counts,
            ),
            Some(MicroColumn::U32(micro)) => line.count_micro(
                self.bins,
                &mut sums.wide,
                micro.read(of.rows.clone()),
                side,
                counts,
            ),
        };
        [inside, outside]
    }
}

/// Puts regions in place of the pixels of rows. Returns how many photons are in no region.
fn to_regions(places: &mut [u32], of_line: &[u32]) -> u64 {
    let mut outside = 0;
    for place in places.iter_mut().filter(|place| **place != NO_PIXEL) {
        *place = of_line.get(*place as usize).copied().unwrap_or(NO_PIXEL);
        outside += u64::from(*place == NO_PIXEL);
    }
    outside
}

/// Rows that are all in a line.
struct LineRows<'a> {
    line: &'a Line,
    /// The row of the image.
    row: usize,
    rows: Range<usize>,
    times: &'a [i64],
}

impl PhotonRows<'_> {
    /// Returns how many photons are among these rows.
    fn photons_in(&self, rows: Range<usize>) -> u64 {
        fn among<L: Copy + Into<usize>>(labels: &[L], is_one: &[bool]) -> u64 {
            labels.iter().filter(|&&label| is_one[label.into()]).count() as u64
        }
        match self.source.tags.channels {
            Channels::U8(labels) => among(labels.read(rows), &self.photons.is_one),
            Channels::U16(labels) => among(labels.read(rows), &self.photons.is_one),
        }
    }

    /// Appends the pixel of each row of a line, or [`NO_PIXEL`]; from the last one on if it is given.
    fn add_places(
        &self,
        of: &LineRows<'_>,
        pixels: &LinePixels,
        last: Option<u32>,
        places: &mut Vec<u32>,
    ) {
        let rows = of.rows.clone();
        match self.source.tags.channels {
            Channels::U8(labels) => self.add_labels(of, labels.read(rows), pixels, last, places),
            Channels::U16(labels) => self.add_labels(of, labels.read(rows), pixels, last, places),
        }
    }

    // A function of its own, like those that count, has the registers for its loop.
    #[inline(never)]
    fn add_labels<L: Copy + Into<usize>>(
        &self,
        of: &LineRows<'_>,
        labels: &[L],
        pixels: &LinePixels,
        last: Option<u32>,
        places: &mut Vec<u32>,
    ) {
        let start = of.line.start.wrapping_sub(self.photons.delay);
        let is_one = &*self.photons.is_one;
        let rows =
            of.times.iter().zip(labels).map(|(time, &label)| {
                (time.wrapping_sub(start).cast_unsigned(), is_one[label.into()])
            });
        // A number that is taken from 0 is the distance from the last pixel.
        let (from, is_back) = last.map_or((0, false), |last| (last, true));
        let place = |pixel: u64, is_one: bool| {
            #[expect(clippy::cast_possible_truncation, reason = "below 65,535")]
            let pixel = pixel as u32;
            let pixel = if is_back { from - pixel } else { pixel };
            if is_one { pixel } else { NO_PIXEL }
        };
        match *pixels {
            LinePixels::Reciprocal { m, shift } => {
                places.extend(
                    rows.map(|(tick, is_one)| place(by_reciprocal(tick, m, shift), is_one)),
                );
            }
            LinePixels::Division { pixels, length } => {
                places.extend(
                    rows.map(|(tick, is_one)| place(by_division(tick, pixels, length), is_one)),
                );
            }
            LinePixels::Edges(ref edges) => {
                let mut pixel = 0;
                places.extend(rows.map(|(tick, is_one)| {
                    while edges.get(pixel + 1).is_some_and(|&next| next <= tick) {
                        pixel += 1;
                    }
                    place(pixel as u64, is_one)
                }));
            }
        }
    }
}

/// The rows of a line with their pixels.
struct CountedLine<'a> {
    places: &'a [u32],
    is_backward: bool,
    /// Whether places are regions, which do not follow each other in time.
    has_regions: bool,
    stride: usize,
}

impl CountedLine<'_> {
    /// Adds the photons and the sums of their micro times to the pixels. Returns how many there are.
    ///
    /// Pixels follow each other in time. So each row overwrites what is counted up to its pixel's last photon, and the
    /// difference of two pixels is what the later one has: no row waits for a count that the row before changed.
    #[inline(never)]
    fn count<S: RunningSums<M>, M>(
        &self,
        sums: &mut Vec<S>,
        micro: impl Iterator<Item = M>,
        side: usize,
        counts: &mut [u64],
    ) -> u64 {
        let rows = self.places.iter().zip(micro);
        let mut sum = S::default();
        if self.has_regions || side > SPARSE * self.places.len() {
            for (&place, micro) in rows {
                if place != NO_PIXEL {
                    let (before, at) = (sum, place as usize * self.stride);
                    sum.add(micro);
                    sum.add_since(&before, &mut counts[at..at + self.stride]);
                }
            }
            return sum.photons();
        }
        sums.resize(side, S::default());
        for (&place, micro) in rows {
            if let Some(last) = sums.get_mut(place as usize) {
                sum.add(micro);
                *last = sum;
            }
        }
        let mut before = S::default();
        let mut take = |(last, counts): (&mut S, &mut [u64])| {
            if last.photons() > 0 {
                last.add_since(&before, counts);
                before = std::mem::take(last);
            }
        };
        let pixels = sums.iter_mut().zip(counts.chunks_exact_mut(self.stride));
        if self.is_backward {
            pixels.rev().for_each(&mut take);
        } else {
            pixels.for_each(&mut take);
        }
        sum.photons()
    }

    /// Adds the photons and their micro times to the pixels, and to their bins if there are bins. Returns how many there are.
    #[inline(never)]
    fn count_micro<S: RunningSums<M>, M: Micro>(
        &self,
        bins: Option<&BinTable<'_>>,
        sums: &mut Vec<S>,
        micro: &[M],
        side: usize,
        counts: &mut [u64],
    ) -> u64 {
        let Some(bins) = bins else { return self.count(sums, micro.iter().copied(), side, counts) };
        let rows = || self.places.iter().zip(micro).filter(|(place, _)| **place != NO_PIXEL);
        let at = |place: u32| place as usize * self.stride;
        if bins.single().is_none() {
            for (&place, &micro) in rows() {
                if let Some(bin) = bins.holding(micro) {
                    counts[at(place) + PixelCounts::WITH_MEAN + bin] += 1;
                }
            }
            return self.count(sums, micro.iter().copied(), side, counts);
        }
        let mut photons = 0;
        for (&place, &micro) in rows() {
            photons += 1;
            let counts = &mut counts[at(place)..at(place) + self.stride];
            if let Some(bin) = bins.holding(micro) {
                counts[PixelCounts::WITH_MEAN + bin] += 1;
            } else {
                let mut one = S::default();
                one.add(micro);
                one.add_since(&S::default(), counts);
            }
        }
        photons
    }
}
