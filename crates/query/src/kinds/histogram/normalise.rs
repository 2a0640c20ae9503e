//! g2: counts divided by the counts expected for uncorrelated light.
//!
//! 1,000 starts and 1,000 stops in 10^9 live ticks: a bin of 10 ticks expects 1,000·1,000·10/10^9 = 0.01 pairs at
//! short lags. At longer lags only the time in which both tags can be recorded counts, so that g2 of uncorrelated
//! light is 1 at every lag.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    bins::Bins,
    query::{Binned, Channel, Histogram, Mode},
};
use crate::{
    counters::{Ledger, Ranks, Scan},
    error::Error,
    estimate::Measured,
    run::{
        LiveTime,
        facts::{Facts, SourceFacts},
        recording::Recording,
        time_range::TimeRange,
    },
    scan::morsels::Execution,
};

/// Divides a count by its expectation, with the error of the count. Returns `None` if nothing is expected.
pub fn normalised(count: u64, count_err: f64, expected: Option<f64>) -> Option<Measured> {
    let expected = expected.filter(|&expected| expected > 0.0)?;
    Some(Measured { value: count as f64 / expected, err: count_err / expected })
}

impl Histogram {
    /// Returns the standard error of the count of bin `k` of `bins`: √max(count, 1). With one channel as both
    /// ends, two tags give the pairs Δ and −Δ; where both lie in the same bin, the error is √2 times as
    /// large.
    pub fn count_error(&self, bins: &Bins, k: usize, count: u64) -> f64 {
        let doubles = self.start == self.stop && matches!(self.mode, Mode::All | Mode::Grid);
        let (low, high) = (i128::from(bins.edge(k)), i128::from(bins.edge(k + 1)));
        // The ticks t of the bin for which −t is in the bin, too.
        let mirrored = (high.min(1 - low) - low.max(1 - high)).max(0);
        let share = if doubles { mirrored as f64 / (high - low) as f64 } else { 0.0 };
        (count.max(1) as f64 * (1.0 + share)).sqrt()
    }

    /// Returns the normalised correlation g2 of each bin (docs/queries.md, section "g2"): its count divided
    /// by [`Histogram::expected`]. `None` for bins in which nothing is expected.
    ///
    /// # Errors
    /// See [`Histogram::expected`].
    pub fn g2(
        &self,
        recording: &Recording<'_>,
        binned: &Binned,
        execution: &Execution,
    ) -> Result<Vec<Option<Measured>>, Error> {
        let expected = self.expected(&Ledger::of(&Scan::new(recording, execution)))?;
        let of = |(k, (&count, expected)): (usize, (&u64, Option<f64>))| {
            normalised(count, self.count_error(&binned.bins, k, count), expected)
        };
        Ok(binned.counts.iter().zip(expected).enumerate().map(of).collect())
    }

    /// Rejects a query that has no expectation, without counting.
    ///
    /// # Errors
    /// Fails unless all pairs are counted, because neighbours and cells have no such expectation, and if the starts
    /// are sync pulses that are not tags.
    pub fn check_g2(&self, facts: &Facts) -> Result<(), Error> {
        if self.mode != Mode::All {
            return Err(Error::NoG2);
        }
        if facts.iter().any(|source| source.pulses_of(self.start).is_some()) {
            return Err(Error::Pulses);
        }
        Ok(())
    }

    /// Returns the expected count of each bin for uncorrelated light: Σ n_A·n_B·δ / L(τ) over the
    /// sources and over steps δ of the bin, where τ is the undelayed lag of the step's middle, L(τ) the time in
    /// which both tags of a pair at this lag can be recorded, and n_A, n_B are the starts and stops that can have
    /// a partner at that lag (Laurence, Fore and Huser 2006, whose L is T − |τ|). `None` if no source is longer
    /// than the lag.
    ///
    /// # Errors
    /// See [`Histogram::check_g2`].
    pub fn expected(&self, ledger: &Ledger<'_>) -> Result<Vec<Option<f64>>, Error> {
        let nothing_left_out = vec![vec![None; ledger.facts().len()]];
        Ok(self.expected_without(ledger, &nothing_left_out)?.swap_remove(0))
    }

    /// Works like [`Histogram::expected`], with blocks of time left out: `blocks[i][s]` is the part that block i
    /// leaves out of source s, in the delayed time of the later tag of a pair. Returns one list of bins per block.
    ///
    /// # Errors
    /// See [`Histogram::expected`].
    pub fn expected_without(
        &self,
        ledger: &Ledger<'_>,
        blocks: &[Vec<Option<TimeRange>>],
    ) -> Result<Vec<Vec<Option<f64>>>, Error> {
        self.check_g2(ledger.facts())?;
        let mut expected = vec![vec![None; self.bins.count()]; blocks.len()];
        for source in 0..ledger.facts().len() {
            let left_out: Vec<Option<TimeRange>> =
                blocks.iter().map(|block| block[source]).collect();
            self.expect(ledger, source, &left_out, &mut expected);
        }
        ledger.check()?;
        Ok(expected)
    }

    /// Adds the expectation of one source with each of the given ranges left out in turn.
    fn expect(
        &self,
        ledger: &Ledger<'_>,
        number: usize,
        left_out: &[Option<TimeRange>],
        expected: &mut [Vec<Option<f64>>],
    ) {
        let source = &ledger.facts()[number];
        let Some((first, last)) = source.span() else { return };
        let longest = i128::from(last) - i128::from(first);
        let whole = self.scope.range;
        let parts: Vec<Option<TimeRange>> =
            left_out.iter().map(|range| range.map(|range| whole.and(&range))).collect();
        let [start, stop] = self.ends();
        let moved = i128::from(start.delay) - i128::from(stop.delay);
        let steps = Steps::of(source, [start, stop], longest);
        // Returns the expectation of a bin without each part.
        let of_bin = |lags: &mut Lags<'_>, k: usize| {
            // The distance of a pair is at most the length of the source.
            let low = i128::from(self.bins.edge(k)).max(-longest - moved);
            let high = i128::from(self.bins.edge(k + 1)).min(longest - moved + 1);
            let (steps, tags) = steps.between(low, high);
            let mut sums = vec![None; parts.len()];
            // A cancelled query ends with an error, and these numbers are discarded.
            if ledger.check().is_err() {
                return sums;
            }
            for step in steps {
                let (mut tags, mut all) = (tags, lags.at(&step, tags, (0, whole)));
                if all.times[0] == 0 && all.pairs > 0.0 {
                    tags = CountedTags::Within;
                    all = lags.at(&step, tags, (0, whole));
                }
                for (number, (part, sum)) in (1..).zip(parts.iter().zip(&mut sums)) {
                    let part = part.map(|part| lags.at(&step, tags, (number, part)));
                    if let Some(more) = all.expected_without(part) {
                        *sum = Some(sum.unwrap_or(0.0) + more);
                    }
                }
            }
            sums
        };
        // With many intervals each bin takes long.
        let is_split = source.live().len() > 1 && ledger.recording().is_some();
        let pieces = if is_split { rayon::current_num_threads() } else { 1 };
        let bins: Vec<usize> = (0..self.bins.count()).collect();
        let of_piece = |bins: &[usize]| {
            let mut lags = Lags::new(self, (ledger, number), parts.len() + 1);
            bins.iter().map(|&k| of_bin(&mut lags, k)).collect::<Vec<_>>()
        };
        let sums: Vec<_> =
            bins.par_chunks(bins.len().div_ceil(pieces).max(1)).map(of_piece).collect();
        for (k, sums) in sums.into_iter().flatten().enumerate() {
            for (expected, more) in expected.iter_mut().zip(sums) {
                if let Some(more) = more {
                    expected[k] = Some(expected[k].unwrap_or(0.0) + more);
                }
            }
        }
    }
}

/// How finely the bins of one source are divided.
struct Steps {
    /// Starts and stops.
    tags: [f64; 2],
    /// The length of the source, its live time, and its live intervals.
    longest: f64,
    live: f64,
    intervals: f64,
}

/// Which tags are counted for the rates of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedTags {
    /// Those whose partner's time is live.
    Live,
    /// Those whose partner's time is within the source.
    Within,
}

impl Steps {
    fn of(source: &SourceFacts, ends: [Channel; 2], longest: i128) -> Self {
        let tags = ends.map(|end| source.singles_of(end.label) as f64);
        let live = source.live();
        let (ticks, intervals) = (live.ticks_in(TimeRange::default()), live.len() as f64);
        Self { tags, longest: longest.max(1) as f64, live: ticks.max(1) as f64, intervals }
    }

    /// Divides a bin from `low` to `high`, and returns which tags are counted in its steps.
    fn between(
        &self,
        low: i128,
        high: i128,
    ) -> (impl Iterator<Item = Range<i128>> + use<>, CountedTags) {
        let width = (high - low).max(0);
        let (wanted, counted) = self.wanted(width as f64);
        #[expect(clippy::cast_possible_truncation, reason = "between 1 and 2^16")]
        let steps = (wanted.ceil() as i128).min(width);
        let at = move |step: i128| low + width * step / steps;
        ((0..steps).map(move |step| at(step)..at(step + 1)), counted)
    }

    /// Steps are short enough that the number of tags with a possible partner is well approximated at their middles:
    /// a step of T/(10·√N) misses √(N·δ/T) tags at the ends, a tenth of the amount that would matter next to the
    /// Poisson error of all N·δ/T·N pairs. In a bin with x live intervals a tag gains or loses its partner at about
    /// 4x lags; s equal steps miss a variance of 4x/12s² there. Next to the variance of the pairs of a bin that holds
    /// R·W tags this is R·W times as large; the steps keep it below a twentieth. Mean rates serve where the steps are
    /// too many, and in bins with few tags, whose Poisson error is larger anyway.
    fn wanted(&self, width: f64) -> (f64, CountedTags) {
        let tags = self.tags[0].max(self.tags[1]);
        let of_tags = (10.0 * tags.sqrt() * width / self.longest).clamp(1.0, STEPS_MAX);
        if self.intervals <= 1.0 {
            return (of_tags, CountedTags::Live);
        }
        let (x, held) = (self.intervals * width / self.live, tags * width / self.live);
        let wanted = of_tags.max(4.0 * x).max((7.0 * x * held).sqrt());
        let is_full = held >= 1.0 / 16.0;
        let most = if is_full { INTERVALS_OF_FULL } else { INTERVALS };
        if wanted * self.intervals <= most {
            (wanted, CountedTags::Live)
        } else {
            (of_tags.min((most / self.intervals).max(1.0)), CountedTags::Within)
        }
    }
}

/// The largest number of steps per bin.
const STEPS_MAX: f64 = 65_536.0;
/// The largest number of live intervals of all steps of a bin, and of one with many tags.
const INTERVALS: f64 = 1_024.0;
const INTERVALS_OF_FULL: f64 = 65_536.0;

/// The expectation of a step of lags: the starts and stops that are counted at its middle, the half ticks in which
/// they can lie, and the pairs of live ticks, a quarter for each pair of half ticks.
#[derive(Debug, Clone, Copy, Default)]
struct AtLags {
    tags: [u64; 2],
    times: [i128; 2],
    pairs: f64,
}

impl AtLags {
    /// Returns the expected pairs without a part of the time; `None` if no time is left.
    fn expected_without(self, part: Option<Self>) -> Option<f64> {
        let part = part.unwrap_or_default();
        let [starts, stops] = [0, 1].map(|i| self.tags[i].saturating_sub(part.tags[i]) as f64);
        let [of_starts, of_stops] = [0, 1].map(|i| self.times[i] - part.times[i]);
        let pairs = self.pairs - part.pairs;
        (of_starts > 0 && of_stops > 0 && pairs > 0.0)
            .then(|| (starts * stops / of_starts as f64) * (pairs / of_stops as f64))
    }
}

/// Computes [`AtLags`] in one source, for pairs whose later tag lies in a range.
struct Lags<'a> {
    live: &'a LiveTime,
    /// The whole source, with its dead spans.
    whole: LiveTime,
    delays: [i64; 2],
    ranks: [Ranks<'a>; 2],
}

impl<'a> Lags<'a> {
    fn new(query: &Histogram, (ledger, source): (&'a Ledger<'a>, usize), ranges: usize) -> Self {
        let (ends, facts) = (query.ends(), &ledger.facts()[source]);
        Self {
            live: facts.live(),
            whole: LiveTime::new(facts.span(), &[]),
            delays: ends.map(|channel| channel.delay),
            ranks: ends.map(|channel| Ranks::new((ledger, source), channel.label, 2, ranges)),
        }
    }

    /// Evaluates a step of delayed lags in a range, which has a number. Its middle is in half ticks, because that of an
    /// even number of ticks lies between two.
    fn at(
        &mut self,
        step: &Range<i128>,
        counted: CountedTags,
        (number, range): (usize, TimeRange),
    ) -> AtLags {
        let middle = step.start + step.end - 1;
        let [start, stop] = self.delays.map(|delay| 2 * i128::from(delay));
        // The times of the later tag; the other one is earlier by the lag.
        let moves = [start + middle.max(0), stop + (-middle).max(0)];
        let mut all = AtLags::default();
        let mut overlap = 0;
        let live = if counted == CountedTags::Live { self.live } else { &self.whole };
        for common in live.joint_of_halves(moves, range) {
            overlap += common.length();
            for ((tags, ranks), moved) in all.tags.iter_mut().zip(&mut self.ranks).zip(moves) {
                *tags += ranks.within(&common, moved, number);
            }
            if counted == CountedTags::Within {
                let before = |half: i128| self.live.halves_before(half);
                all.times = moves
                    .map(|moved| before(common.end - moved) - before(common.begin.half - moved));
            }
        }
        if counted == CountedTags::Live {
            all.times = [overlap; 2];
        }
        let width = step.end - step.start;
        all.pairs = if self.live.len() > 1 {
            4.0 * self.live.pairs_of_ticks(self.delays, step.clone(), range) as f64
        } else {
            2.0 * overlap as f64 * width as f64
        };
        all
    }
}
