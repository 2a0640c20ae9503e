//! A coarse scan of the correlation of two channels, used to choose bins and windows.

use std::collections::BTreeSet;

use tagq_query::{
    Bins, Delay, Error, Execution, Histogram, Kind as _, Mode, Recording, Scope, TimeRange,
};
use tagq_store::Tick;

use super::used::live_of;

/// Number of tags of the run that are scanned.
const LOOK_ROWS: usize = 1 << 20;
/// A structure deviates from chance by this many standard deviations of the count, and by this fraction
/// of it.
const SIGMAS: f64 = 7.0;
const SHARE: f64 = 0.5;
/// Bins on either side of zero.
const ASIDE: i64 = 64;
/// Desired counts per bin.
const COUNTS: f64 = 100.0;
/// Bins in which a peak is located.
const PEAK_BINS: i64 = 1 << 12;
/// Maximum number of channel pairs that are scanned for a window.
const PAIRS_MAX: usize = 64;

/// Differences of two channels in bins that double in width.
pub(super) struct Coarse {
    /// By binary order k: counts and expected counts by chance, at about −2^(k+1) < Δ ≤ −2^k, and at
    /// 2^k ≤ Δ < 2^(k+1).
    octaves: Vec<[Octave; 2]>,
    /// Expected pairs by chance per tick of Δ, over the whole selection.
    by_chance: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Octave {
    count: f64,
    chance: f64,
}

impl Octave {
    fn sigmas(self) -> f64 {
        (self.count - self.chance) / self.chance.max(1.0).sqrt()
    }

    fn is_structure(self) -> bool {
        let apart = (self.count - self.chance).abs();
        self.sigmas().abs() > SIGMAS && apart > SHARE * self.chance
    }
}

impl Coarse {
    /// Scans the first tags of the selection.
    pub(super) fn look(
        recording: &Recording<'_>,
        [start, stop]: [u16; 2],
        delays: &[Delay],
        range: TimeRange,
    ) -> Result<Self, Error> {
        let part = part(recording, range);
        let longest = longest(recording);
        let orders = longest.max(2).ilog2().saturating_sub(2).clamp(1, 60);
        let above: Vec<i64> = (0..=orders).map(|order| 1 << order).collect();
        let mut edges: Vec<i64> = above.iter().rev().map(|edge| -edge).collect();
        edges.push(0);
        edges.extend(&above);
        let scope = Scope { channels: None, delays: delays.to_vec(), range: part };
        let bins = Bins::Edges(edges);
        let query = Histogram { start, stop, bins, mode: Mode::All, fold: None, scope };
        let binned = query.run(recording, &Execution::best())?;
        let by_chance: f64 = binned
            .sources
            .iter()
            .filter(|source| source.live > 0)
            .map(|source| source.singles[0] as f64 * source.singles[1] as f64 / source.live as f64)
            .sum();
        let live: i128 = binned.sources.iter().map(|source| i128::from(source.live)).sum();
        let orders = above.len() - 1;
        let octave = |order: usize| {
            let chance = by_chance * (above[order] as f64);
            let [below, above] =
                [orders - 1 - order, orders + 2 + order].map(|bin| binned.counts[bin] as f64);
            [Octave { count: below, chance }, Octave { count: above, chance }]
        };
        let octaves = (0..orders).map(octave).collect();
        let of_all = live_of(&recording.facts(), range) as f64 / (live as f64).max(1.0);
        Ok(Self { octaves, by_chance: by_chance * of_all })
    }

    /// Returns the bin width in ticks, a power of two; 64 bins on either side of zero show the
    /// structure.
    ///
    /// The bins reach to four times the farthest octave that differs from chance; they are twice as
    /// wide if a bin would have fewer than 100 pairs by chance. Without such an octave they have 100
    /// pairs by chance.
    pub(super) fn width(&self) -> i64 {
        let is_far = |octave: &[Octave; 2]| octave.iter().any(|side| side.is_structure());
        let filled = if self.by_chance > 0.0 { (COUNTS / self.by_chance).max(1.0) } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let filled = libm::log2(filled).ceil().clamp(0.0, 62.0) as usize;
        let most = self.octaves.len().saturating_sub(ASIDE.ilog2() as usize);
        let order = match self.octaves.iter().rposition(is_far) {
            Some(far) => {
                let least = far.saturating_sub(3);
                filled.clamp(least, least + 1)
            }
            None => filled,
        };
        1 << order.min(most).min(50)
    }

    /// Returns the reach of the farthest octave with more pairs than by chance, and its significance in
    /// standard deviations.
    fn reach(&self) -> Option<(f64, i64)> {
        let sides = || {
            let octaves = self.octaves.iter().enumerate();
            octaves.flat_map(|(order, sides)| sides.iter().map(move |side| (order, side)))
        };
        let high = sides().filter(|(_, side)| side.is_structure() && side.sigmas() > 0.0);
        let most = high.clone().map(|(_, side)| side.sigmas()).fold(0.0, f64::max);
        let far = high.map(|(order, _)| order).max()?;
        Some((most, 1 << (far + 1)))
    }
}

/// Returns bins on both sides of zero.
pub(super) fn around(width: i64) -> Result<Bins, Error> {
    Bins::centred(ASIDE.saturating_mul(width), width)
}

/// Returns bins for one partner per tag, from zero to a reach that includes at least 95 % of the
/// differences.
pub(super) fn of_neighbours(
    recording: &Recording<'_>,
    query: &Histogram,
    range: TimeRange,
) -> Result<Bins, Error> {
    let edges: Vec<i64> = (0..=longest(recording).max(2).ilog2().min(60)).map(|k| 1 << k).collect();
    let scope = Scope { range: part(recording, range), ..query.scope.clone() };
    let bins = Bins::Edges([&[0], &edges[..]].concat());
    let binned = Histogram { bins, scope, ..query.clone() }.run(recording, &Execution::best())?;
    let all: u64 = binned.counts.iter().sum();
    // With a period all differences are below it, and all are included.
    let wanted = if query.fold.is_some() { all } else { all - all / 20 };
    let mut sum = 0;
    let end = binned.counts.iter().position(|count| {
        sum += count;
        sum >= wanted
    });
    let end = if all > 0 { end.map_or(2 * ASIDE, |at| edges[at]) } else { 2 * ASIDE };
    Bins::linear(0, end, (end / (2 * ASIDE)).max(1))
}

/// Returns the error for a missing window, with a suggested window.
pub(super) fn window_missing(
    recording: &Recording<'_>,
    pairs: &BTreeSet<[u16; 2]>,
    scope: &Scope,
    tick: Tick,
    name_of: &dyn Fn(u16) -> String,
) -> Result<String, Error> {
    let mut best: Option<(f64, i64, [u16; 2])> = None;
    for &pair in pairs.iter().take(PAIRS_MAX) {
        let found = Coarse::look(recording, pair, &scope.delays, scope.range)?.reach();
        if let Some((sigmas, reach)) = found
            && best.is_none_or(|(most, ..)| sigmas > most)
        {
            best = Some((sigmas, reach, pair));
        }
    }
    let missing = "`window` is missing: the largest difference of times that makes a coincidence";
    Ok(match best {
        Some((_, reach, [a, b])) => format!(
            "{missing}. Tags of {} and {} are correlated up to about {}: try `window` {}; `tagq delays` \
             finds the delays that allow a shorter one",
            name_of(a),
            name_of(b),
            tick.format(reach.into()),
            tick.format_paste(reach)
        ),
        None => format!(
            "{missing}. No pair of channels stands out; give a few times the jitter of the detectors, as \
             `window` 1ns"
        ),
    })
}

/// Returns the difference of the delayed times of two channels at which they are most correlated, if it lies outside of
/// a window of so many ticks.
pub(super) fn peak_beyond(
    recording: &Recording<'_>,
    [start, stop]: [u16; 2],
    scope: &Scope,
    window: i64,
) -> Result<Option<i64>, Error> {
    let coarse = Coarse::look(recording, [start, stop], &scope.delays, scope.range)?;
    let sides = coarse.octaves.iter().enumerate().flat_map(|(order, sides)| {
        let lowest = 1_i64 << order;
        [(-2 * lowest, -lowest, sides[0]), (lowest, 2 * lowest, sides[1])]
    });
    let is_beyond = |&(low, high, octave): &(i64, i64, Octave)| {
        octave.is_structure() && octave.sigmas() > 0.0 && (low < -window || high > window + 1)
    };
    let highest = sides.filter(is_beyond).max_by(|a, b| a.2.sigmas().total_cmp(&b.2.sigmas()));
    let Some((low, high, _)) = highest else { return Ok(None) };
    let width = (window / 8).clamp((high - low) / PEAK_BINS, high - low).max(1);
    let bins = Bins::linear(low, high, width)?;
    let scope = Scope { channels: None, range: part(recording, scope.range), ..scope.clone() };
    let query = Histogram { start, stop, bins, mode: Mode::All, fold: None, scope };
    let binned = query.run(recording, &Execution::best())?;
    let most = binned.counts.iter().enumerate().max_by_key(|(_, count)| **count);
    let middle = most.map(|(at, _)| binned.bins.edge(at).midpoint(binned.bins.edge(at + 1) - 1));
    Ok(middle.filter(|middle| middle.abs() > window))
}

/// Returns the start of a selection.
fn part(recording: &Recording<'_>, range: TimeRange) -> TimeRange {
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

/// Returns the length of the longest source in ticks.
fn longest(recording: &Recording<'_>) -> u64 {
    let spans = recording.sources.iter().filter_map(|source| source.span());
    spans.map(|(first, last)| last.abs_diff(first)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coarse(by_chance: f64, peaks: &[(usize, f64)]) -> Coarse {
        let mut octaves = vec![[Octave::default(); 2]; 40];
        for (order, sides) in octaves.iter_mut().enumerate() {
            let chance = by_chance * 2_f64.powi(i32::try_from(order).unwrap());
            *sides = [Octave { count: chance, chance }; 2];
        }
        for &(order, more) in peaks {
            octaves[order][0].count += more;
        }
        Coarse { octaves, by_chance }
    }

    #[test]
    fn bins_hold_a_hundred_pairs_or_show_the_structure() {
        // 100 pairs by chance in 1 tick, in 25.6 and in 64 ticks.
        assert_eq!(coarse(100.0, &[]).width(), 1);
        assert_eq!(coarse(3.9, &[]).width(), 32);
        assert_eq!(coarse(1.5625, &[]).width(), 64);
        // A peak of 370 at 16 to 31 ticks: 64 bins of 2 ticks reach to four times 32, bins of 4 ticks
        // to eight times.
        assert_eq!(coarse(100.0, &[(4, 5_000.0)]).width(), 2);
        assert_eq!(coarse(3.9, &[(4, 370.0)]).width(), 4);
        // Too few to be significant: 61 are expected by chance, 7 standard deviations are 55.
        assert_eq!(coarse(3.9, &[(4, 50.0)]).width(), 32);
        // No pairs at all.
        assert_eq!(coarse(0.0, &[]).width(), 1);
        assert_eq!(coarse(3.9, &[(4, 370.0), (2, 30.0)]).reach().map(|(_, reach)| reach), Some(32));
        assert_eq!(coarse(3.9, &[]).reach(), None);
    }
}
