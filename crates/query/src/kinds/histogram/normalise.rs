//! g2: counts divided by the counts expected for uncorrelated light.

use std::ops::Range;

use super::{
    bins::Bins,
    query::{Binned, Channel, Histogram, Mode},
};
use crate::{
    error::Error,
    estimate::Measured,
    kernels::simd::Simd,
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        singles::{add_rows, row_at},
    },
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
        let expected = self.expected(recording, execution)?;
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
    pub fn check_g2(&self, recording: &Recording<'_>) -> Result<(), Error> {
        if self.mode != Mode::All {
            return Err(Error::NoG2);
        }
        if recording.sources.iter().any(|source| source.pulses_of(self.start).is_some()) {
            return Err(Error::Pulses);
        }
        Ok(())
    }

    /// Returns the expected count of each bin for uncorrelated light: Σ n_A·n_B·δ / (T − |τ|) over the
    /// sources and over steps δ of the bin, where τ is the undelayed lag of the step's middle and n_A, n_B
    /// are the starts and stops that can have a partner at that lag (Laurence, Fore and Huser 2006). `None`
    /// if no source is longer than the lag.
    ///
    /// # Errors
    /// See [`Histogram::check_g2`].
    pub fn expected(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Vec<Option<f64>>, Error> {
        let nothing_left_out = vec![vec![None; recording.sources.len()]];
        Ok(self.expected_without(recording, &nothing_left_out, execution)?.swap_remove(0))
    }

    /// Returns the same with blocks of time left out: `blocks[i][s]` is the part that block i leaves out of
    /// source s, in the delayed time of the later tag of a pair. Returns one list of bins per block.
    ///
    /// # Errors
    /// See [`Histogram::expected`].
    pub fn expected_without(
        &self,
        recording: &Recording<'_>,
        blocks: &[Vec<Option<TimeRange>>],
        execution: &Execution,
    ) -> Result<Vec<Vec<Option<f64>>>, Error> {
        self.check_g2(recording)?;
        let mut expected = vec![vec![None; self.bins.count()]; blocks.len()];
        for (s, source) in recording.sources.iter().enumerate() {
            let left_out: Vec<Option<TimeRange>> = blocks.iter().map(|block| block[s]).collect();
            self.expect(source, &left_out, execution.simd, &mut expected);
        }
        Ok(expected)
    }

    /// Adds the expectation of one source with each of the given ranges left out in turn.
    fn expect(
        &self,
        source: &Source<'_>,
        left_out: &[Option<TimeRange>],
        simd: Simd,
        expected: &mut [Vec<Option<f64>>],
    ) {
        let Some((first, last)) = source.span() else { return };
        let longest = i128::from(last) - i128::from(first);
        let mut whole = Lags::new(self, source, self.scope.range, simd);
        let mut parts: Vec<Option<Lags<'_>>> = left_out
            .iter()
            .map(|range| {
                range.map(|range| Lags::new(self, source, self.scope.range.and(&range), simd))
            })
            .collect();
        let [start, stop] = self.ends();
        let moved = i128::from(start.delay) - i128::from(stop.delay);
        let tags = source.singles_of(start.label).max(source.singles_of(stop.label)) as f64;
        for k in 0..self.bins.count() {
            // The distance of a pair is at most the length of the source.
            let low = i128::from(self.bins.edge(k)).max(-longest - moved);
            let high = i128::from(self.bins.edge(k + 1)).min(longest - moved + 1);
            for (low, high) in steps(low, high, longest, tags) {
                let Some(all) = whole.at(low + high - 1) else { continue };
                for (part, expected) in parts.iter_mut().zip(&mut *expected) {
                    let part = part.as_mut().and_then(|part| part.at(low + high - 1));
                    let Some(density) = all.density_without(part) else { continue };
                    let more = density * (high - low) as f64;
                    expected[k] = Some(expected[k].unwrap_or(0.0) + more);
                }
            }
        }
    }
}

/// Divides a bin from `low` to `high` into steps. They are short enough that the number of tags with a
/// possible partner is well approximated at their middles: a step of T/(10·√N) misses √(N·δ/T) tags at the
/// ends, a tenth of the amount that would matter next to the Poisson error of all N·δ/T·N pairs.
fn steps(low: i128, high: i128, longest: i128, tags: f64) -> impl Iterator<Item = (i128, i128)> {
    let width = (high - low).max(0);
    let wanted = 10.0 * width as f64 / longest.max(1) as f64 * tags.sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "between 1 and 2^16")]
    let steps = (wanted.clamp(1.0, STEPS_MAX).ceil() as i128).min(width);
    (0..steps).map(move |step| (low + width * step / steps, low + width * (step + 1) / steps))
}

/// The largest number of steps per bin.
const STEPS_MAX: f64 = 65_536.0;

/// Starts and stops that can have a partner at a lag, and the time in half ticks in which they can.
#[derive(Debug, Clone, Copy, Default)]
struct AtLag {
    starts: u64,
    stops: u64,
    overlap: i128,
}

impl AtLag {
    /// Returns the expected pairs per tick of lag without a part of the time; `None` if no time is left.
    fn density_without(self, part: Option<Self>) -> Option<f64> {
        let part = part.unwrap_or_default();
        let overlap = self.overlap - part.overlap;
        let starts = self.starts.saturating_sub(part.starts) as f64;
        let stops = self.stops.saturating_sub(part.stops) as f64;
        // The overlap is in half ticks: there are twice as many of them as ticks.
        (overlap > 0).then(|| starts * stops / (overlap as f64 / 2.0))
    }
}

/// Computes [`AtLag`] in one source, for pairs whose later tag lies in a range.
struct Lags<'a> {
    counters: [Counter<'a>; 2],
    delays: [i64; 2],
    range: TimeRange,
    first: i128,
    last: i128,
}

impl<'a> Lags<'a> {
    fn new(query: &Histogram, source: &'a Source<'a>, range: TimeRange, simd: Simd) -> Self {
        let ends = query.ends();
        let (first, last) = source.span().unwrap_or_default();
        Self {
            counters: ends.map(|channel| Counter::new(source, channel, simd)),
            delays: ends.map(|channel| channel.delay),
            range,
            first: first.into(),
            last: last.into(),
        }
    }

    /// Evaluates at a delayed lag in half ticks, because the middle of an even number of ticks lies between
    /// two.
    fn at(&mut self, middle: i128) -> Option<AtLag> {
        let (first, last, range) = (self.first, self.last, self.range);
        let [start, stop] = self.delays;
        let lag = middle + 2 * (i128::from(start) - i128::from(stop));
        if lag.abs() >= 2 * (last - first) {
            return None;
        }
        // The range of the stops; starts are one lag earlier. The later tag of the pair is in the range.
        let (own, shift) = if middle >= 0 { (stop, 0) } else { (start, lag) };
        let cut = |limit: i64| 2 * (i128::from(limit) - i128::from(own)) + shift;
        let mut begin = 2 * first + lag.max(0);
        let mut end = 2 * last + lag.min(0);
        let mut behind = end + 1;
        if let Some(from) = range.from {
            begin = begin.max(cut(from));
        }
        if let Some(to) = range.to {
            behind = behind.min(cut(to));
            end = end.min(cut(to));
        }
        let overlap = end - begin;
        if overlap <= 0 {
            return None;
        }
        let starts = self.counters[0].within(begin - lag, behind - lag);
        let stops = self.counters[1].within(begin, behind);
        Some(AtLag { starts, stops, overlap })
    }
}

/// Counts the tags of a channel between two undelayed times in half ticks. The requested times change little
/// from one bin to the next, so few rows are read each time.
struct Counter<'a> {
    source: &'a Source<'a>,
    channel: u16,
    simd: Simd,
    /// The rows that were counted last, and their count.
    rows: Range<usize>,
    count: u64,
}

impl<'a> Counter<'a> {
    fn new(source: &'a Source<'a>, channel: Channel, simd: Simd) -> Self {
        let (rows, count) = (0..source.rows(), source.singles_of(channel.label));
        Self { source, channel: channel.label, simd, rows, count }
    }

    /// Counts the tags from `begin` up to, not including, `end`.
    fn within(&mut self, begin: i128, end: i128) -> u64 {
        // The first whole tick at or after a half tick.
        let row = |half: i128| match i64::try_from(half.div_euclid(2) + half.rem_euclid(2)) {
            Ok(tick) => row_at(self.source, tick, 0),
            Err(_) if half < 0 => 0,
            Err(_) => self.source.rows(),
        };
        let (start, end) = (row(begin), row(end));
        let rows = start..end.max(start);
        let among = |rows: Range<usize>| {
            let mut count = [0];
            add_rows(self.source, &[self.channel], rows, self.simd, &mut count);
            count[0]
        };
        let old = self.rows.clone();
        if rows.start >= old.end || rows.end <= old.start {
            self.count = among(rows.clone());
        } else {
            // At most two of these four pieces have rows. A damaged index may contradict itself.
            let more = among(rows.start..old.start).wrapping_add(among(old.end..rows.end));
            let less = among(old.start..rows.start).wrapping_add(among(rows.end..old.end));
            self.count = self.count.wrapping_add(more).wrapping_sub(less);
        }
        self.rows = rows;
        self.count
    }
}
