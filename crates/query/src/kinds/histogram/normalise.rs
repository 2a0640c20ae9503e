//! g2: counts divided by the counts expected for uncorrelated light.

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

    /// Returns the same with blocks of time left out: `blocks[i][s]` is the part that block i leaves out of
    /// source s, in the delayed time of the later tag of a pair. Returns one list of bins per block.
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
        let mut lags = Lags::new(self, (ledger, number), parts.len() + 1);
        let [start, stop] = self.ends();
        let moved = i128::from(start.delay) - i128::from(stop.delay);
        let steps = Steps::of(source, [start, stop], longest);
        for k in 0..self.bins.count() {
            // The distance of a pair is at most the length of the source.
            let low = i128::from(self.bins.edge(k)).max(-longest - moved);
            let high = i128::from(self.bins.edge(k + 1)).min(longest - moved + 1);
            for (low, high) in steps.between(low, high) {
                let Some(all) = lags.at(low + high - 1, (0, whole)) else { continue };
                for (number, (part, expected)) in (1..).zip(parts.iter().zip(&mut *expected)) {
                    let part = part.and_then(|part| lags.at(low + high - 1, (number, part)));
                    let Some(density) = all.density_without(part) else { continue };
                    let more = density * (high - low) as f64;
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

impl Steps {
    fn of(source: &SourceFacts, ends: [Channel; 2], longest: i128) -> Self {
        let tags = ends.map(|end| source.singles_of(end.label) as f64);
        let live = source.live();
        let (ticks, intervals) = (live.ticks_in(TimeRange::default()), live.len() as f64);
        Self { tags, longest: longest.max(1) as f64, live: ticks.max(1) as f64, intervals }
    }

    /// Divides a bin from `low` to `high`.
    fn between(&self, low: i128, high: i128) -> impl Iterator<Item = (i128, i128)> + use<> {
        let width = (high - low).max(0);
        let wanted = self.of_tags(width as f64).max(self.of_intervals(width as f64));
        #[expect(clippy::cast_possible_truncation, reason = "between 1 and 2^17")]
        let steps = (wanted.ceil() as i128).min(width);
        (0..steps).map(move |step| (low + width * step / steps, low + width * (step + 1) / steps))
    }

    /// Steps are short enough that the number of tags with a possible partner is well approximated at their middles: a
    /// step of T/(10·√N) misses √(N·δ/T) tags at the ends, a tenth of the amount that would matter next to the Poisson
    /// error of all N·δ/T·N pairs.
    fn of_tags(&self, width: f64) -> f64 {
        let tags = self.tags[0].max(self.tags[1]);
        (10.0 * tags.sqrt() * width / self.longest).clamp(1.0, STEPS_MAX)
    }

    /// With n live intervals the time at a lag is a line with kinks, where its slope changes by about n: at lag 0, and
    /// four times for each interval within a bin. At a kink the middle of a step of δ misses the share n·δ/8T of its
    /// pairs. This is a tenth of the Poisson error of all pairs E of the bin, or less.
    fn of_intervals(&self, width: f64) -> f64 {
        if self.intervals <= 1.0 {
            return 1.0;
        }
        let within = self.intervals * width / self.live;
        let pairs = self.tags[0] * self.tags[1] * width / self.live;
        let steps = (1.25 * within * (4.0 * within).max(1.0) * pairs.sqrt()).sqrt();
        steps.min((STEPS_OF_INTERVALS / self.intervals).max(256.0))
    }
}

/// The largest number of steps per bin.
const STEPS_MAX: f64 = 65_536.0;
/// The largest number of live intervals of all steps of a bin, from 256 steps on.
const STEPS_OF_INTERVALS: f64 = 131_072.0;

/// Starts and stops that can have a partner at a lag, and the time in half ticks in which they can.
#[derive(Debug, Clone, Copy, Default)]
struct AtLag {
    tags: [u64; 2],
    overlap: i128,
}

impl AtLag {
    /// Returns the expected pairs per tick of lag without a part of the time; `None` if no time is left.
    fn density_without(self, part: Option<Self>) -> Option<f64> {
        let part = part.unwrap_or_default();
        let overlap = self.overlap - part.overlap;
        let [starts, stops] = [0, 1].map(|i| self.tags[i].saturating_sub(part.tags[i]) as f64);
        // The overlap is in half ticks: there are twice as many of them as ticks.
        (overlap > 0).then(|| starts * stops / (overlap as f64 / 2.0))
    }
}

/// Computes [`AtLag`] in one source, for pairs whose later tag lies in a range.
struct Lags<'a> {
    live: &'a LiveTime,
    delays: [i128; 2],
    ranks: [Ranks<'a>; 2],
}

impl<'a> Lags<'a> {
    fn new(query: &Histogram, (ledger, source): (&'a Ledger<'a>, usize), ranges: usize) -> Self {
        let ends = query.ends();
        Self {
            live: ledger.facts()[source].live(),
            delays: ends.map(|channel| 2 * i128::from(channel.delay)),
            ranks: ends.map(|channel| Ranks::new((ledger, source), channel.label, 2, ranges)),
        }
    }

    /// Evaluates at a delayed lag in half ticks, because the middle of an even number of ticks lies between two; for
    /// pairs whose later tag lies in a range, which has a number.
    fn at(&mut self, middle: i128, (number, range): (usize, TimeRange)) -> Option<AtLag> {
        let [start, stop] = self.delays;
        // The times of the later tag; the other one is earlier by the lag.
        let moves = [start + middle.max(0), stop + (-middle).max(0)];
        let mut all = AtLag::default();
        for common in self.live.joint_of_halves(moves, range) {
            all.overlap += common.length();
            for ((tags, ranks), moved) in all.tags.iter_mut().zip(&mut self.ranks).zip(moves) {
                *tags += ranks.within(&common, moved, number);
            }
        }
        (all.overlap > 0).then_some(all)
    }
}
