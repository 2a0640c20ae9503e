//! Questions in a person's words, and what they mean in a run.
//!
//! A question holds durations, names and moments; asked of a [`crate::Run`], these become ticks and labels, a
//! query of [`crate::query`] is counted, and an [`crate::Answer`] says what was asked, what was done and
//! what came out. The command line and other programs fill in a question and show its answer.

mod beside;
mod coarse;
mod coincidences;
mod histogram;
mod limits;
mod listing;
mod question;
mod rates;

mod blocks;
mod explain;
mod shifted;
mod sum;
mod tallied;
mod trace;

mod select;
mod setup;
mod setup_file;
mod words;

pub use blocks::Errors;
pub use coincidences::{Accidentals, Coincidences};
pub use explain::{Explained, PlanFacts, Reading, ScanFacts};
pub use histogram::{Histogram, Reach};
pub use listing::Listing;
pub use question::Question;
pub use rates::Rates;
pub use select::Selection;
pub use setup::Setup;
pub use setup_file::SetupFile;
pub use words::{BinWidth, Channel, Moment, Window};

use std::fmt::Write as _;

use serde::Serialize;
use tagq_query::{Recording, TimeRange};
use tagq_store::Tick;

use crate::{Progress, Run, RunFacts};

/// What a question is asked with.
pub struct Asking<'a> {
    /// Tick, names, delays and groups of the experiment.
    pub setup: &'a Setup,
    /// The threads that count.
    pub pool: &'a rayon::ThreadPool,
    /// Who is told what a person should know.
    pub progress: &'a dyn Progress,
}

impl std::fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking").field("setup", self.setup).finish_non_exhaustive()
    }
}

/// Why bins go without a live time of somebody's own.
const LIVE_TIME_OF_BINS: &str =
    "--live-time is that of the whole; each bin has its own, leave one of the two out";

/// Why a question is counted anew each time.
const MOVES: &str = "its range of time counts back from the end of the run, and moves with it";

impl Asking<'_> {
    /// What is known of a run, with the names of its channels.
    fn facts(&self, run: &Run) -> RunFacts {
        RunFacts::named(run, self.setup)
    }

    /// Says which of these channels have no tags: a dark channel is a row of zeros, and the person may
    /// have meant another one. Those that have some are named, the nearest first.
    pub(crate) fn note_dark(&self, run: &Run, mut channels: Vec<u16>) {
        let present: Vec<u16> = run.store().manifest().channels.iter().map(|c| c.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        for channel in channels.into_iter().filter(|channel| !present.contains(channel)) {
            let near = self.setup.nearest_first(channel, &present);
            let near: Vec<String> = near.into_iter().map(|c| self.setup.name_of(c)).collect();
            self.progress.note(&format!(
                "channel {} has no tags in {}; {}",
                self.setup.name_of(channel),
                run.path().display(),
                match &near[..] {
                    [] => "no channel has".to_owned(),
                    [only] => format!("the only one that has is {only}"),
                    near => format!("those that have, the nearest first: {}", near.join(", ")),
                }
            ));
        }
    }
}

/// A delay that was used.
#[derive(Debug, Serialize)]
struct DelayUsed {
    channel: u16,
    ticks: i64,
    seconds: f64,
}

/// The selection that was used.
#[derive(Debug, Serialize)]
struct SelectionUsed {
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
    /// How many runs were added up; a selection in time is then one of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_summed: Option<usize>,
    /// How much of the end of the run was asked for, where it was widened to whole bins.
    #[serde(skip)]
    widened: Option<String>,
    delays: Vec<DelayUsed>,
}

impl SelectionUsed {
    fn of(selected: &select::Selected, joined: bool, tick: Tick) -> Self {
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

    /// So many runs were added up: times as recorded are those of none of them.
    fn sums_up(&mut self, runs: usize) {
        if runs > 1 {
            self.runs_summed = Some(runs);
            (self.from_ticks, self.to_ticks) = (None, None);
        }
    }

    /// What a header says of it, each part with a semicolon before it.
    fn words(&self, setup: &Setup, tick: Tick) -> String {
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
            let _ = write!(words, "; sum of {runs} runs");
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

/// Live ticks of all sources in a range.
fn live_of(recording: &Recording<'_>, range: TimeRange) -> i128 {
    recording.sources.iter().map(|source| i128::from(range.live_of(source))).sum()
}

/// The end of a header: live time and tick.
fn header_end(run: &Run, live: &str) -> String {
    let manifest = run.store().manifest();
    let assumed = if manifest.tick_assumed { " (assumed)" } else { "" };
    format!("T = {live}; tick {}{assumed}", manifest.tick)
}

/// So many ticks, and how long they are: `12 ticks = 1.875 ns`.
fn in_ticks(ticks: i128, tick: Tick) -> String {
    let plural = if ticks == 1 { "" } else { "s" };
    format!("{ticks} tick{plural} = {}", tick.format(ticks))
}

/// `2ns` as `2 ns`.
fn spaced(duration: &str) -> String {
    match duration.find(|c: char| c.is_alphabetic()) {
        Some(at) => format!("{} {}", duration[..at].trim_end(), &duration[at..]),
        None => duration.to_owned(),
    }
}
