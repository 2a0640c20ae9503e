//! The question "rates".

use serde::Serialize;
use tagq_query::{Execution, Rates as Query};
use tagq_store::{Duration, Tick};

use super::{Asking, Explained, Selection, SelectionUsed, explain, header_end, select::Selected};
use crate::{Answer, Columns, Error, Run, Values};

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
        let tick = run.store().manifest().tick;
        let (query, selected) = self.query(run, asking)?;
        let bin = query.bin;
        let rated = run.count_as(self.selection.join, |tags| {
            asking.pool.install(|| query.run(tags, &Execution::best()))
        })?;
        let live_s = selected.live_s.unwrap_or_else(|| tick.seconds_of(rated.live()));
        let used = self.used(bin, &selected, tick);
        let mut rows = Rows::default();
        match &rated.trace {
            None => rows.add(&rated.channels, &rated.counts(), live_s),
            Some(trace) => {
                let of_bins = trace.counts.chunks(rated.channels.len().max(1));
                for (bin, counts) in trace.bins.iter().zip(of_bins) {
                    rows.add(&rated.channels, counts, tick.seconds_of(bin.live.into()));
                    let start = bin.number.saturating_mul(trace.width);
                    rows.start_ticks.resize(rows.count.len(), start);
                    rows.start_s.resize(rows.count.len(), Some(tick.seconds_of(start.into())));
                    rows.partial.resize(rows.count.len(), bin.is_partial);
                }
            }
        }
        let binned = bin.map_or(String::new(), |bin| {
            format!("; bins of {bin} ticks = {}", tick.format(bin.into()))
        });
        let live = match selected.live_s {
            Some(seconds) => format!("{seconds} s (given)"),
            None => tick.format(rated.live()),
        };
        let header = format!(
            "rates{binned}{}; {}",
            used.selection.words(asking.setup, tick),
            header_end(run, &live)
        );
        let query = serde_json::to_value(used)?;
        Ok(Answer { header, query, run: asking.facts(run), rows: rows.columns(bin.is_some()) })
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
