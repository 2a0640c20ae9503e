//! A coarse scan of the correlation of two channels.
//!
//! Differences are counted in octaves: bins that double in width, up to an eighth of the scanned time. A structure is
//! where the correlation up to some difference differs from that beyond it. Of several, the one with the largest ratio
//! of both correlations is taken, because there the structure is as wide as the octave; the most significant one would
//! be the widest, which has the most pairs.

use tagq_query::{
    Bins, Delay, Error, Execution, Histogram, Kind as _, Ledger, Mode, Recording, Scan, Scope,
    TimeRange,
};

use super::super::used::live_of;
use crate::peaks::{Grid, sigmas_above};

/// Number of tags of the run that are scanned.
pub(super) const LOOK_ROWS: usize = 1 << 20;
/// Differences are scanned up to this part of the scanned time: longer ones show how the rates drift.
pub(super) const LONGEST_PART: u64 = 8;
/// A structure differs from its surroundings by this many standard deviations …
const SIGMAS: f64 = 7.0;
/// … and the logarithm of the ratio of both by this many times √(w/T), for differences up to w in a time of T: light that changes
/// over times as long as w has T/w different values there, which scatter.
const SCATTER: f64 = 2.0;
/// A part of a structure that may be noise, in its standard deviations.
const NOISE: f64 = 3.0;
/// A dip is beside a peak, and not a structure of its own, unless it is deeper by this factor.
const DEEPER: f64 = 2.0;
/// Desired counts per bin.
const COUNTS: f64 = 100.0;

/// Differences of two channels, of both signs together, in bins that double in width.
pub(super) struct Coarse {
    /// The binary order of the first bin, |Δ| < 2^order. The next ones hold 2^(order + k) ≤ |Δ| < 2^(order + k + 1).
    pub lowest: u32,
    pub octaves: Vec<Octave>,
    /// Tags per tick of both channels together.
    pub rate: f64,
    /// Scanned ticks.
    pub length: f64,
    /// Expected pairs by chance per tick of Δ, over the whole selection.
    pub by_chance: f64,
}

/// Pairs, and those that are expected by chance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Octave {
    count: f64,
    chance: f64,
}

/// A difference up to which the correlation is not as beyond it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    /// Ticks.
    pub extent: i64,
    /// The logarithm of the ratio of both correlations, without what may be noise.
    pub contrast: f64,
    pub sigmas: f64,
    /// Pairs up to it that are more than by chance.
    pub excess: f64,
}

impl std::iter::Sum for Octave {
    fn sum<I: Iterator<Item = Self>>(octaves: I) -> Self {
        octaves.fold(Self::default(), |sum, of| Self {
            count: sum.count + of.count,
            chance: sum.chance + of.chance,
        })
    }
}

impl Coarse {
    /// Scans the first tags of the selection.
    pub(super) fn look(
        recording: &Recording<'_>,
        [start, stop]: [u16; 2],
        delays: &[Delay],
        range: TimeRange,
        grid: &Grid,
    ) -> Result<Self, Error> {
        let part = part(recording, range);
        let length = longest(recording, part);
        // The first bin holds several steps of the recorded times.
        let lowest = libm::log2(4.0 * grid.step).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an order")]
        let lowest = if grid.step > 1.0 { lowest as u32 } else { 0 };
        let orders = (length / LONGEST_PART).max(2).ilog2().clamp(lowest + 1, 61);
        let above: Vec<i64> = (lowest..=orders).map(|order| 1 << order).collect();
        let mut edges: Vec<i64> = above.iter().rev().map(|edge| -edge).collect();
        edges.extend(&above);
        let scope = Scope { channels: None, delays: delays.to_vec(), range: part };
        let bins = Bins::Edges(edges);
        let query = Histogram { start, stop, bins, mode: Mode::All, fold: None, scope };
        let execution = Execution::best();
        let binned = query.run(recording, &execution)?;
        let expected = query.expected(&Ledger::of(&Scan::new(recording, &execution)));
        let expected = match expected {
            // Pulses that are not tags are no channel of light.
            Err(Error::Pulses) => vec![None; binned.counts.len()],
            expected => expected?,
        };
        let bin = |at: usize| Octave {
            count: binned.counts[at] as f64,
            chance: expected[at].unwrap_or(0.0),
        };
        let middle = above.len() - 1;
        let octaves = (0..above.len()).map(|order| {
            let sides =
                if order == 0 { vec![middle] } else { vec![middle - order, middle + order] };
            sides.into_iter().map(bin).sum()
        });
        let live: i128 = binned.sources.iter().map(|source| i128::from(source.live)).sum();
        let singles: u64 = binned.singles().iter().sum();
        let of_all = live_of(&recording.facts(), range) as f64 / (live as f64).max(1.0);
        let by_chance: f64 = binned
            .sources
            .iter()
            .filter(|source| source.live > 0)
            .map(|source| source.singles[0] as f64 * source.singles[1] as f64 / source.live as f64)
            .sum();
        Ok(Self {
            lowest,
            octaves: octaves.collect(),
            rate: singles as f64 / (live as f64).max(1.0),
            length: length as f64,
            by_chance: by_chance * of_all,
        })
    }

    /// Returns the differences at which the correlation changes.
    fn edges(&self) -> impl Iterator<Item = Edge> {
        (0..self.octaves.len().saturating_sub(2)).filter_map(|at| {
            let inner: Octave = self.octaves[..=at].iter().copied().sum();
            let outer: Octave = self.octaves[at + 1..at + 3].iter().copied().sum();
            if inner.chance <= 0.0 || outer.chance <= 0.0 {
                return None;
            }
            let extent = 1_i64 << (self.lowest as usize + at);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pairs")]
            let [on, off] = [inner, outer].map(|of| of.count as u64);
            // Where windows hold many tags, each tag is in many pairs.
            let shared = (1.0 + self.rate * 2.0 * extent as f64).sqrt();
            let sigmas = sigmas_above(on, off, inner.chance / outer.chance) / shared;
            let ratio =
                (inner.count.max(1.0) / inner.chance) / (outer.count.max(1.0) / outer.chance);
            let contrast = libm::log(ratio) * (1.0 - NOISE / sigmas);
            let scatter = SCATTER * (extent as f64 / self.length).sqrt();
            let excess = inner.count - inner.chance;
            (sigmas > SIGMAS && contrast.abs() > scatter).then_some(Edge {
                extent,
                contrast,
                sigmas,
                excess,
            })
        })
    }

    /// Returns the edge of the structure, and whether more pairs than by chance are within it.
    pub(super) fn edge(&self) -> Option<Edge> {
        let highest = |of: &dyn Fn(&Edge) -> f64| {
            let edges = self.edges().filter(|edge| of(edge) > 0.0);
            edges.max_by(|a, b| of(a).total_cmp(&of(b)))
        };
        let [peak, dip] = [highest(&|edge| edge.contrast), highest(&|edge| -edge.contrast)];
        match (peak, dip) {
            (Some(peak), Some(dip)) if -dip.contrast > peak.contrast + libm::log(DEEPER) => {
                Some(dip)
            }
            (peak, dip) => peak.or(dip),
        }
    }

    /// Returns the width of bins without a structure, a power of two: they have about 100 pairs by chance, and `aside` of
    /// them on each side of zero are within the scan.
    pub(super) fn filled(&self, aside: i64) -> i64 {
        let filled = if self.by_chance > 0.0 { (COUNTS / self.by_chance).max(1.0) } else { 1.0 };
        let most = (self.length / LONGEST_PART as f64 / aside as f64).max(1.0);
        power_of_two(filled.min(most))
    }

    /// Returns the farthest difference up to which there are more pairs than beyond it, and its significance in
    /// standard deviations.
    pub(super) fn reach(&self) -> Option<(f64, i64)> {
        let edge = self.edge().filter(|edge| edge.contrast > 0.0)?;
        Some((edge.sigmas, edge.extent))
    }
}

/// Returns the smallest power of two that is not smaller.
pub(super) fn power_of_two(least: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let order = libm::log2(least.max(1.0)).ceil().clamp(0.0, 50.0) as u32;
    1 << order
}

/// Returns the start of a selection.
pub(super) fn part(recording: &Recording<'_>, range: TimeRange) -> TimeRange {
    let mut left = LOOK_ROWS;
    for source in &recording.sources {
        let time = source.tags.time;
        let begin = range.from.map_or(0, |from| time.partition_point(|time| time < from));
        if time.len() - begin > left {
            let end = TimeRange { from: None, to: Some(time.at(begin + left)) };
            return range.and(&end);
        }
        left -= time.len() - begin;
    }
    range
}

/// Returns the length of the longest source in ticks, within a range of times.
pub(super) fn longest(recording: &Recording<'_>, range: TimeRange) -> u64 {
    let length = |(first, last): (i64, i64)| {
        let first = range.from.map_or(first, |from| from.max(first));
        let last = range.to.map_or(last, |to| to.min(last));
        if last > first { last.abs_diff(first) } else { 0 }
    };
    let spans = recording.sources.iter().filter_map(|source| source.span());
    spans.map(length).max().unwrap_or(0)
}
