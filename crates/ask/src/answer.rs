//! Answers: the query, the run, and a table of results.
//!
//! The bin of the ticks −3 to 2 has the edges −3.5 and 2.5 ticks, around its middle at −0.5. A sum of runs adds their
//! tags, sources and times, and has the tick and the names of the first one.

use serde::{Deserialize, Serialize};
use tagq_run::{Run, remarks};
use tagq_store::{Source, Tick};

use crate::{cell::Cell, figure::FigureKind, provenance::Provenance, table::Table};

/// Version of the keys of answers, in JSON and in Arrow. Within one version, keys are only added.
pub const SCHEMA_VERSION: u32 = 4;

/// A query, its run and its results.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The query and how it was counted, on one line.
    pub header: String,
    /// The query as it was counted, key by key (docs/outputs.md, section "Output").
    pub query: serde_json::Value,
    /// The run that was counted.
    pub run: RunFacts,
    /// The tags of each counted channel, if the rows do not have them.
    pub singles: Option<Table>,
    /// The results.
    pub rows: Table,
    /// The sums of rows, which are no rows of the table: of all of them, or of those of each bin of time. `None` if the
    /// rows of the kind have no sum.
    pub total: Option<Table>,
    /// The question and the rows that were asked.
    pub provenance: Provenance,
    /// How the rows are drawn; `None` if there is no figure for them.
    pub figure: Option<FigureKind>,
}

impl Answer {
    /// Returns the rows as a person reads them, with their totals among them.
    pub fn rows_with_totals(&self) -> Table {
        self.total.as_ref().map_or_else(|| self.rows.clone(), |total| self.rows.with_totals(total))
    }
}

impl Answer {
    /// Returns the start and end of each bin in seconds: half a tick before the first tick of a bin to half a tick after
    /// its last one, so that bins are centred on `delay_s`. Empty if the rows are no bins of a time difference.
    pub fn bin_edges(&self, unit: Tick) -> Vec<(f64, f64)> {
        let rows = &self.rows;
        let (Some(lows), Some(widths)) = (rows.get("first_tick"), rows.get("width_ticks")) else {
            return Vec::new();
        };
        let half = |twice: i128| unit.seconds_of(twice) / 2.0;
        let of = |cells: (Cell, Cell)| {
            let (Cell::Integer(low), Cell::Integer(width)) = cells else { return (0.0, 0.0) };
            let first = 2 * i128::from(low) - 1;
            (half(first), half(first + 2 * i128::from(width)))
        };
        lows.cells.iter().zip(widths.cells.iter()).map(of).collect()
    }
}

/// Facts about the run that was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunFacts {
    /// The path that the user gave.
    pub path: String,
    /// The tick as a fraction of attoseconds.
    pub tick: String,
    /// Whether the tick is assumed, not confirmed by the user.
    pub tick_assumed: bool,
    /// The commit of the store.
    pub commit: u64,
    /// Number of tags of all channels.
    pub tags: u64,
    /// Number of sources.
    pub sources: usize,
    /// Live time of the whole run in seconds.
    pub live_s: f64,
    /// Last time minus first time of the run, in seconds.
    pub elapsed_s: f64,
    /// The period of the light pulses in seconds, if all files state one and the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulse_period_s: Option<f64>,
    /// Remarks about its sources: files that were cut, and headers that contradict the tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Tags per channel.
    pub channels: Vec<ChannelFacts>,
    /// Channel names from the setup, including channels without tags.
    #[serde(skip)]
    pub names: Vec<(u16, String)>,
}

/// Periods of pulses that differ by no more than this part are one: their rates are measured.
pub(crate) const SAME_PERIOD: f64 = 1e-3;

/// The tags of one channel of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChannelFacts {
    /// The channel.
    pub channel: u16,
    /// Its name, if the setup has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its number of tags.
    pub count: u64,
}

impl RunFacts {
    /// Returns the facts about a run, with the channel names of a setup.
    pub fn named(run: &Run, setup: &tagq_run::Setup) -> Self {
        let mut facts = Self::of(run);
        facts.names.clone_from(&setup.names);
        for of in &mut facts.channels {
            of.name = setup.named(of.channel).map(str::to_owned);
        }
        facts
    }

    /// Returns the tags of all channels per second of live time; `None` without live time.
    pub fn rate_hz(&self) -> Option<f64> {
        (self.live_s > 0.0).then(|| self.tags as f64 / self.live_s)
    }

    /// Returns the facts about a run.
    pub fn of(run: &Run) -> Self {
        let manifest = run.store().manifest();
        let tick: Tick = manifest.tick;
        let channels = manifest.channels.iter().map(|of| ChannelFacts {
            channel: of.channel,
            name: None,
            count: of.rows,
        });
        Self {
            path: run.path().display().to_string(),
            tick: tick.fraction(),
            tick_assumed: run.is_tick_assumed(),
            commit: run.recorded_rows().1,
            tags: manifest.rows,
            sources: manifest.sources.len(),
            live_s: tick.seconds_of(run.live_ticks()),
            elapsed_s: tick.seconds_of(run.elapsed_ticks()),
            pulse_period_s: run.pulse_period_s(),
            remarks: manifest.sources.iter().flat_map(|source| of_source(source, tick)).collect(),
            channels: channels.collect(),
            names: Vec::new(),
        }
    }
}

/// Returns the remarks about a source, with its name.
fn of_source(source: &Source, tick: Tick) -> Vec<String> {
    let named = |remark| format!("{}: {remark}", source.facts.name);
    remarks(source, tick).into_iter().map(named).collect()
}

impl RunFacts {
    /// Combines several runs: adds tags, sources and times; takes tick and names from the first run.
    pub fn sum(all: impl Iterator<Item = Self>) -> Self {
        let mut all = all.collect::<Vec<_>>().into_iter();
        let Some(mut sum) = all.next() else { unreachable!("a sum is of at least one run") };
        for more in all {
            sum.path = format!("{} + {}", sum.path, more.path);
            sum.tick_assumed |= more.tick_assumed;
            sum.tags += more.tags;
            sum.sources += more.sources;
            sum.live_s += more.live_s;
            sum.elapsed_s += more.elapsed_s;
            let is_same = |period: &f64| {
                let other = more.pulse_period_s.unwrap_or(0.0);
                (other - period).abs() <= SAME_PERIOD * period
            };
            sum.pulse_period_s = sum.pulse_period_s.filter(is_same);
            sum.remarks.extend(more.remarks);
            for ChannelFacts { channel, name, count } in more.channels {
                match sum.channels.iter_mut().find(|of| of.channel == channel) {
                    Some(of) => of.count += count,
                    None => sum.channels.push(ChannelFacts { channel, name, count }),
                }
            }
        }
        sum.channels.sort_by_key(|of| of.channel);
        sum
    }
}
