//! The selection as it was used, in JSON and as text of headers. A sum of runs has no times in ticks, because each run
//! has its own.

use std::fmt::Write as _;

use serde::Serialize;
use tagq_query::{Facts, TimeRange};
use tagq_run::{Setup, counted};
use tagq_store::Tick;

use super::header::{in_ticks, spaced};
use super::selection::Selected;

/// Reason why a request is counted from scratch each time.
pub(super) const MOVES: &str =
    "its range of time counts back from the end of the run, and moves with it";

/// Reason why bins cannot have a live time given by the user.
pub(super) const LIVE_TIME_OF_BINS: &str =
    "`live_time` is that of the whole; each bin has its own, leave one of the two out";

/// A delay that was applied.
#[derive(Debug, Serialize)]
pub(super) struct DelayUsed {
    channel: u16,
    ticks: i64,
    seconds: f64,
}

/// The selection that was used.
#[derive(Debug, Serialize)]
pub(super) struct SelectionUsed {
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Option<Vec<u16>>,
    /// Sources follow each other without a gap.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    joined: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live_time_s: Option<f64>,
    /// Number of runs that were added; a time range then applies to each run.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_summed: Option<usize>,
    /// The requested length at the end of the run, if it was widened to whole bins.
    #[serde(skip)]
    widened: Option<String>,
    delays: Vec<DelayUsed>,
}

impl SelectionUsed {
    pub(super) fn of(selected: &Selected, joined: bool, tick: Tick) -> Self {
        let scope = &selected.scope;
        let delays = scope.delays.iter().map(|delay| DelayUsed {
            channel: delay.channel,
            ticks: delay.ticks,
            seconds: tick.seconds_of(delay.ticks.into()),
        });
        Self {
            channels: scope.channels.clone(),
            joined,
            from_ticks: scope.range.from,
            to_ticks: scope.range.to,
            live_time_s: selected.live_s,
            runs_summed: None,
            widened: selected.widened.clone(),
            delays: delays.collect(),
        }
    }

    /// Returns the selection of a sum of this many runs: recorded times then belong to no single run.
    pub(super) fn of_runs(self, runs: usize) -> Self {
        if runs > 1 {
            Self { runs_summed: Some(runs), from_ticks: None, to_ticks: None, ..self }
        } else {
            self
        }
    }

    /// Returns the text for the header, each part preceded by a semicolon.
    pub(super) fn words(&self, setup: &Setup, tick: Tick) -> String {
        let mut words = String::new();
        for DelayUsed { channel, ticks, .. } in &self.delays {
            let (name, time) = (setup.name_of(*channel), in_ticks((*ticks).into(), tick));
            let _ = write!(words, "; delay of channel {name}: {time}");
        }
        if let Some(channels) = &self.channels {
            let names: Vec<String> = channels.iter().map(|&c| setup.name_of(c)).collect();
            let _ = write!(words, "; channels {}", names.join(","));
        }
        if self.joined {
            words.push_str("; sources joined");
        }
        if let Some(runs) = self.runs_summed {
            let _ = write!(words, "; sum of {}", counted(runs as u64, "run"));
        }
        if let Some(last) = &self.widened {
            let _ = write!(words, "; last {} widened to whole bins", spaced(last));
        }
        match (self.from_ticks, self.to_ticks) {
            (None, None) => {}
            (from, to) => {
                let side =
                    |side: Option<i64>| side.map_or(String::new(), |ticks| format!("{ticks}t"));
                let _ = write!(words, "; times {}..{}", side(from), side(to));
            }
        }
        words
    }
}

/// Returns the live ticks of all sources in a range.
pub(super) fn live_of(facts: &Facts, range: TimeRange) -> i128 {
    facts.iter().map(|source| i128::from(source.live().ticks_in(range))).sum()
}
