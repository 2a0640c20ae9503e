//! g2: counts over what light without correlation would give.

use std::ops::Range;

use super::{Binned, Channel, Histogram, Mode};
use crate::{
    Acquisition, Error, Execution, Measured, Recording, Simd,
    singles::{add_rows, row_at},
};

/// Counts over what is expected, with the error of the count; absent where nothing is expected.
pub fn normalised(counts: &[u64], expected: &[Option<f64>]) -> Vec<Option<Measured>> {
    let g2 = |(&count, &expected): (&u64, &Option<f64>)| {
        let expected = expected.filter(|&expected| expected > 0.0)?;
        let err = (count.max(1) as f64).sqrt() / expected;
        Some(Measured { value: count as f64 / expected, err })
    };
    counts.iter().zip(expected).map(g2).collect()
}

impl Histogram {
    /// The normalised correlation g2 of each bin (docs/queries.md, section "g2"): its count over
    /// [`Histogram::expected`]. Absent where nothing is expected.
    ///
    /// # Errors
    /// As [`Histogram::expected`].
    pub fn g2(
        &self,
        recording: &Recording<'_>,
        binned: &Binned,
        execution: &Execution,
    ) -> Result<Vec<Option<Measured>>, Error> {
        Ok(normalised(&binned.counts, &self.expected(recording, execution)?))
    }

    /// What light without correlation would give in each bin: Σ n_A·n_B·width / (T − |τ|) of the sources,
    /// τ the undelayed lag of the bin's middle and n_A, n_B the starts and stops that can have a partner
    /// at that lag (Laurence, Fore and Huser 2006). Absent where no source is longer than the lag.
    ///
    /// # Errors
    /// Unless all pairs are counted: neighbours and cells have no such expectation.
    pub fn expected(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Vec<Option<f64>>, Error> {
        if self.mode != Mode::All {
            return Err(Error::NoG2);
        }
        let mut expected = vec![None; self.bins.count()];
        for source in &recording.sources {
            self.expect(source, execution.simd, &mut expected);
        }
        Ok(expected)
    }

    /// Adds what one source is expected to give.
    fn expect(&self, source: &Acquisition<'_>, simd: Simd, expected: &mut [Option<f64>]) {
        let Some((first, last)) = source.span() else { return };
        let (first, last) = (i128::from(first), i128::from(last));
        let [start, stop] = self.ends();
        let range = self.scope.range;
        let mut counters = [start, stop].map(|channel| Counter::new(source, channel, simd));
        for (k, expected) in expected.iter_mut().enumerate() {
            let (low, high) = (i128::from(self.bins.edge(k)), i128::from(self.bins.edge(k + 1)));
            // All in half ticks, since the middle of an even number of ticks is between two.
            let middle = low + high - 1;
            let lag = middle + 2 * (i128::from(start.delay) - i128::from(stop.delay));
            if lag.abs() >= 2 * (last - first) {
                continue;
            }
            // Where the stops can be; starts are a lag before. The pair's later tag is in the range.
            let (own, shift) = if middle >= 0 { (stop.delay, 0) } else { (start.delay, lag) };
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
                continue;
            }
            let starts = counters[0].within(begin - lag, behind - lag);
            let stops = counters[1].within(begin, behind);
            // Half ticks again: twice as many of them as ticks.
            let more = starts as f64 * stops as f64 * (high - low) as f64 / (overlap as f64 / 2.0);
            *expected = Some(expected.unwrap_or(0.0) + more);
        }
    }
}

/// Counts the tags of a channel between two times, undelayed, in half ticks. The times asked for move
/// little from one bin to the next, and so does what is read.
struct Counter<'a> {
    source: &'a Acquisition<'a>,
    channel: u16,
    simd: Simd,
    /// The rows that were counted last, and what was found.
    rows: Range<usize>,
    count: u64,
}

impl<'a> Counter<'a> {
    fn new(source: &'a Acquisition<'a>, channel: Channel, simd: Simd) -> Self {
        let (rows, count) = (0..source.tags.len(), source.singles_of(channel.label));
        Self { source, channel: channel.label, simd, rows, count }
    }

    /// Tags from `begin` up to, not including, `end`.
    fn within(&mut self, begin: i128, end: i128) -> u64 {
        // The first whole tick that is not before a half one.
        let row = |half: i128| match i64::try_from(half.div_euclid(2) + half.rem_euclid(2)) {
            Ok(tick) => row_at(self.source, tick, 0),
            Err(_) if half < 0 => 0,
            Err(_) => self.source.tags.len(),
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
            // Of these four pieces two at most have rows.
            self.count += among(rows.start..old.start) + among(old.end..rows.end);
            self.count -= among(old.start..rows.start) + among(rows.end..old.end);
        }
        self.rows = rows;
        self.count
    }
}
