//! The question "rates".

use std::collections::BTreeMap;

use serde::Serialize;
use tagq_query::{Execution, Rated, Rates as Query};
use tagq_store::{Duration, Tick};

use super::{
    Asking, Explained, Selection, SelectionUsed, explain, header_end, select::Selected, sum,
};
use crate::{Answer, Columns, Error, Run, RunFacts, Values};

/// How many tags, channel by channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// Of which tags.
    pub selection: Selection,
    /// In bins of this width.
    pub bin: Option<Duration>,
}

/// The query as it was counted.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The rows as they grow: of each channel, and of all.
#[derive(Default)]
struct Rows {
    start_ticks: Vec<i64>,
    start_s: Vec<Option<f64>>,
    channel: Vec<Option<u16>>,
    count: Vec<u64>,
    rate_hz: Vec<Option<f64>>,
    rate_err_hz: Vec<Option<f64>>,
    partial: Vec<bool>,
}

impl Rates {
    /// Asks `run`.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn ask(&self, run: &Run, asking: &Asking<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, asking)])
    }

    /// Asks several runs, and adds up what they hold. Bins of a trace are added that begin as long after
    /// the first tag of their run.
    ///
    /// # Errors
    /// As [`Rates::ask`]; unless there is a run, and the words mean the same in all of them.
    pub fn sum(&self, runs: &[(&Run, &Asking<'_>)]) -> Result<Answer, Error> {
        let &[(run, asking), ..] = runs else { return Err(sum::nothing()) };
        let tick = run.store().manifest().tick;
        let mut queries = Vec::new();
        for &(run, asking) in runs {
            queries.push(self.query(run, asking)?);
        }
        let tick_of = |run: &Run| run.store().manifest().tick;
        sum::check_alike(
            runs.iter()
                .zip(&queries)
                .map(|((run, _), (query, _))| (*run, (tick_of(run), query.scope.delays.clone()))),
        )?;
        let mut tallied = Tallied::default();
        for (&(run, asking), (query, _)) in runs.iter().zip(&queries) {
            let rated = run.count_as(self.selection.join, None, |tags| {
                asking.pool.install(|| query.run(tags, &Execution::best()))
            })?;
            tallied.add(&rated);
        }
        let (Query { bin, .. }, selected) = &queries[0];
        let bin = *bin;
        let live_s = selected.live_s.unwrap_or_else(|| tick.seconds_of(tallied.live));
        let mut used = self.used(bin, selected, tick);
        used.selection.sums_up(runs.len());
        let mut rows = Rows::default();
        match bin {
            None => rows.add(&tallied.channels, &tallied.counts, live_s),
            Some(width) => {
                for (number, bin) in &tallied.bins {
                    let mut counts = bin.counts.clone();
                    counts.resize(tallied.channels.len(), 0);
                    rows.add(&tallied.channels, &counts, tick.seconds_of(bin.live));
                    let start = number.saturating_mul(width);
                    rows.start_ticks.resize(rows.count.len(), start);
                    rows.start_s.resize(rows.count.len(), Some(tick.seconds_of(start.into())));
                    rows.partial.resize(rows.count.len(), bin.is_partial);
                }
            }
        }
        let binned = bin.map_or(String::new(), |bin| {
            format!("; bins of {}", super::in_ticks(bin.into(), tick))
        });
        let live = match selected.live_s {
            Some(seconds) => format!("{seconds} s (given)"),
            None => tick.format(tallied.live),
        };
        let header = format!(
            "rates{binned}{}; {}",
            used.selection.words(asking.setup, tick),
            header_end(run, &live)
        );
        let query = serde_json::to_value(used)?;
        let facts = RunFacts::sum(runs.iter().map(|(run, asking)| asking.facts(run)));
        Ok(Answer { header, query, run: facts, rows: rows.columns(bin.is_some()) })
    }

    /// What [`Rates::ask`] would read, without counting.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn explain(&self, run: &Run, asking: &Asking<'_>) -> Result<Explained, Error> {
        let tick = run.store().manifest().tick;
        let (query, selected) = self.query(run, asking)?;
        let plan = explain::planned(run, asking, self.selection.join, |tags| {
            query.plan(tags, &Execution::best())
        })?;
        let used = self.used(query.bin, &selected, tick);
        let words = used.selection.words(asking.setup, tick);
        let header = format!("rates{words}; tick {tick}");
        let query = serde_json::to_value(used)?;
        Ok(Explained { header, query, run: asking.facts(run), plan })
    }

    /// The query in ticks and labels.
    fn query(&self, run: &Run, asking: &Asking<'_>) -> Result<(Query, Selected), Error> {
        if self.bin.is_some() && self.selection.live_time.is_some() {
            return Err(Error::Question(super::LIVE_TIME_OF_BINS.into()));
        }
        let selected = self.selection.of(run, asking.setup)?;
        let tick = run.store().manifest().tick;
        let bin = self.bin.as_ref().map(|bin| bin.bin(tick)).transpose()?;
        selected.notes.iter().for_each(|note| asking.progress.note(note));
        let scope = selected.scope.clone();
        asking.note_dark(run, scope.channels.clone().unwrap_or_default());
        Ok((Query { scope, bin }, selected))
    }

    fn used(&self, bin: Option<i64>, selected: &Selected, tick: Tick) -> Used {
        Used {
            kind: "rates",
            bin_ticks: bin,
            bin_s: bin.map(|bin| tick.seconds_of(bin.into())),
            selection: SelectionUsed::of(selected, self.selection.join, tick),
        }
    }
}

/// What was counted, of one run or of several.
#[derive(Default)]
struct Tallied {
    /// In the order of the rows: as asked for, or as they were found, ascending.
    channels: Vec<u16>,
    counts: Vec<u64>,
    live: i128,
    bins: BTreeMap<i64, TalliedBin>,
}

/// What was counted in a bin.
#[derive(Default)]
struct TalliedBin {
    /// Of each channel; those of later runs may be more.
    counts: Vec<u64>,
    live: i128,
    is_partial: bool,
}

impl Tallied {
    fn add(&mut self, rated: &Rated) {
        let is_first = self.channels.is_empty();
        let mut channels = self.channels.clone();
        channels.extend(rated.channels.iter().filter(|channel| !self.channels.contains(channel)));
        if !is_first && channels.len() > self.channels.len() {
            // Found, not asked for: in ascending order again.
            channels.sort_unstable();
        }
        self.put_in_order(channels);
        let place = |channel: &u16| self.channels.iter().position(|known| known == channel);
        let places: Vec<usize> = rated.channels.iter().filter_map(place).collect();
        for (&place, count) in places.iter().zip(rated.counts()) {
            self.counts[place] += count;
        }
        self.live += rated.live();
        let Some(trace) = &rated.trace else { return };
        let of_bins = trace.counts.chunks(rated.channels.len().max(1));
        for (bin, counts) in trace.bins.iter().zip(of_bins) {
            let tallied = self.bins.entry(bin.number).or_default();
            tallied.counts.resize(self.channels.len(), 0);
            for (&place, count) in places.iter().zip(counts) {
                tallied.counts[place] += count;
            }
            tallied.live += i128::from(bin.live);
            tallied.is_partial |= bin.is_partial;
        }
    }

    /// Puts what is known in the order of these channels, some of which may be new.
    fn put_in_order(&mut self, channels: Vec<u16>) {
        let place = |channel: &u16| self.channels.iter().position(|known| known == channel);
        let places: Vec<Option<usize>> = channels.iter().map(place).collect();
        let moved = |counts: &[u64]| -> Vec<u64> {
            let of = |place: &Option<usize>| place.and_then(|at| counts.get(at).copied());
            places.iter().map(|place| of(place).unwrap_or(0)).collect()
        };
        self.counts = moved(&self.counts);
        for bin in self.bins.values_mut() {
            bin.counts = moved(&bin.counts);
        }
        self.channels = channels;
    }
}

impl Rows {
    /// The counts of channels over `live_s` seconds, and their sum.
    fn add(&mut self, channels: &[u16], counts: &[u64], live_s: f64) {
        let each = channels.iter().map(|&channel| Some(channel)).zip(counts.iter().copied());
        for (channel, count) in each.chain([(None, counts.iter().sum())]) {
            let is_live = live_s > 0.0;
            self.channel.push(channel);
            self.count.push(count);
            self.rate_hz.push(is_live.then(|| count as f64 / live_s));
            self.rate_err_hz.push(is_live.then(|| (count.max(1) as f64).sqrt() / live_s));
        }
    }

    fn columns(self, has_bins: bool) -> Columns {
        let columns = if has_bins {
            Columns::default()
                .with("start_s", Values::Floats(self.start_s))
                .with("start_ticks", Values::Integers(self.start_ticks))
        } else {
            Columns::default()
        };
        let columns = columns
            .with("channel", Values::Channels(self.channel))
            .with("count", Values::Counts(self.count))
            .with("rate_hz", Values::Floats(self.rate_hz))
            .with("rate_err_hz", Values::Floats(self.rate_err_hz));
        if has_bins { columns.with("partial", Values::Flags(self.partial)) } else { columns }
    }
}
