//! Tags of a detector that follow its own tags more often than those of the other detector do, as afterpulses.
//!
//! If 1,000,000 tags have 5,000 pairs with their own channel, where the pairs of both channels let 3,000 be expected,
//! the excess is 0.20 % of the tags.

use tagq_query::{
    Bins, Error as QueryError, Execution, Histogram as Query, Kind as _, Recording, TimeRange,
};
use tagq_run::Run;

use super::{Peaks, in_seconds};
use crate::requests::context::QueryContext;

/// About so many tags of all channels are read, from the beginning of the selected time.
const ROWS: f64 = 4e6;
/// An excess of so many standard errors is shown.
const CLEAR: f64 = 5.0;

/// So many more tags of a channel follow each of its tags than by chance.
#[derive(Debug, Clone, Copy)]
struct Excess {
    channel: u16,
    value: f64,
    err: f64,
}

/// The pairs at a bin of delays, those of uncorrelated light, and the tags of the start.
struct Pairs {
    count: f64,
    expected: f64,
    starts: f64,
}

impl Peaks {
    /// Notes the tags of each channel that follow its tags, from half a period to the last peak, more often than those of the other
    /// channel do, both relative to uncorrelated light: light that is correlated over several pulses has the same excess in both. One
    /// channel with itself is compared with uncorrelated light.
    pub(in super::super) fn note_afterpulses(
        &self,
        run: &Run,
        query: &Query,
        is_joined: bool,
        context: &QueryContext<'_>,
    ) {
        // Parts that were counted elsewhere are merged without rows.
        if !run.store().has_rows() {
            return;
        }
        let count = || {
            run.count_as(is_joined, None, |recording| {
                context.pool.install(|| self.excesses(recording, query))
            })
        };
        let at = (query.start, query.stop, self.period.to_bits(), self.aside());
        let key = ("afterpulses", at, &query.scope, is_joined);
        let tick = run.store().manifest().tick;
        let reach = in_seconds(self.reach()[1], self.period, tick);
        let cause = if self.is_same {
            "as afterpulses do, or light that is correlated over several pulses"
        } else {
            "and not those of the other channel, as afterpulses do"
        };
        for Excess { channel, value, err } in run.memo().get(&key, count).unwrap_or_default() {
            context.progress.note(&format!(
                "{:.2} \u{b1} {:.2} % of the tags of {} are followed by another one within {reach} beyond chance, {cause}",
                100.0 * value,
                100.0 * err,
                context.setup.name_of(channel),
            ));
        }
    }

    /// Returns from where to where tags follow each other, in ticks.
    fn reach(&self) -> [f64; 2] {
        [0.5, self.aside() as f64 + 0.5].map(|periods| periods * self.period)
    }

    /// Returns the excesses that are clear.
    fn excesses(
        &self,
        recording: &Recording<'_>,
        query: &Query,
    ) -> Result<Vec<Excess>, QueryError> {
        let rows = recording.rows() as f64;
        let spans = recording.sources.iter().filter_map(|source| source.span());
        let Some((first, last)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            return Ok(Vec::new());
        };
        let range = query.scope.range;
        let first = range.from.unwrap_or(first);
        let length = range.to.unwrap_or(last).saturating_sub(first) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "within the run")]
        let to = first.saturating_add((length * (ROWS / rows).min(1.0)) as i64).saturating_add(1);
        let range = range.and(&TimeRange { from: None, to: Some(to) });
        #[expect(clippy::cast_possible_truncation, reason = "a bin edge saturates")]
        let [low, high] = self.reach().map(|ticks| ticks.round() as i64);
        if high <= low {
            return Ok(Vec::new());
        }
        let pairs = |start: u16, stop: u16| -> Result<Option<Pairs>, QueryError> {
            let bins = Bins::Edges(vec![-high, 1 - low, low, high]);
            let query = Query { start, stop, bins, ..query.over(range) };
            let execution = Execution::best();
            let binned = query.run(recording, &execution)?;
            let g2 = query.g2(recording, &binned, &execution)?;
            // Those of a channel with itself are the same at both signs.
            let of = |bin: usize| {
                let g2 = g2[bin].filter(|g2| g2.value > 0.0)?;
                Some((binned.counts[bin] as f64, binned.counts[bin] as f64 / g2.value))
            };
            let [before, after] = [of(0), of(2)];
            let Some((mut count, mut expected)) = after else { return Ok(None) };
            if start != stop {
                let Some((more, more_expected)) = before else { return Ok(None) };
                (count, expected) = (count + more, expected + more_expected);
            }
            Ok(Some(Pairs { count, expected, starts: binned.singles()[0] as f64 }))
        };
        let both = if self.is_same {
            Pairs { count: 1.0, expected: 1.0, starts: 1.0 }
        } else {
            match pairs(query.start, query.stop)? {
                Some(pairs) => pairs,
                None => return Ok(Vec::new()),
            }
        };
        let variance = if self.is_same { 0.0 } else { both.count };
        let mut channels = vec![query.start, query.stop];
        channels.dedup();
        let excess = |channel: u16| -> Result<Option<Excess>, QueryError> {
            let Some(own) = pairs(channel, channel)? else { return Ok(None) };
            let ratio = own.expected / both.expected;
            let value = (own.count - ratio * both.count) / own.starts;
            let err = (own.count + ratio * ratio * variance).sqrt() / own.starts;
            Ok((value > CLEAR * err).then_some(Excess { channel, value, err }))
        };
        let all: Vec<Option<Excess>> =
            channels.into_iter().map(excess).collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }
}
