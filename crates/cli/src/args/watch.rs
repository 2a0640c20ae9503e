//! `tagq watch`: its own options, then queries.

use std::ffi::OsString;

use tagq::{
    HOLD_BACK,
    store::{Duration, UnitError},
};

/// The keys on a terminal.
pub(crate) const KEYS: &str = include_str!("topics/keys.txt");

const EXAMPLES: &str = "Examples:
  tagq watch rates --last 1s run/
  tagq watch coincidences --window 2ns --last 1s run/ --and g2 3,15 --every 1s";

/// Answer queries again whenever new data is recorded
///
/// New files and new parts of files are ingested as by `tagq ingest --follow`, and each query is answered
/// from the new commit. A terminal shows the answers in place, and keys change the query; elsewhere each update
/// is one line of JSON. With --last D a query counts the whole run and, separately, its last D. Ctrl-C stops the
/// watch; --updates N ends it by itself.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tagq watch [OPTIONS] QUERY [--and QUERY]…",
    after_help = EXAMPLES,
    after_long_help = format!("{KEYS}\n{EXAMPLES}")
)]
pub(crate) struct WatchArgs {
    /// Shortest time between two answers [default: answer each commit]
    #[arg(long, value_name = "D")]
    every: Option<Duration>,
    /// End after N updates [default: at Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub updates: Option<u64>,
    /// Hold back the newest D of a growing file, because recorders may hand over tags late [default: 10ms]
    #[arg(long, value_name = "D")]
    hold_back: Option<Duration>,
    /// A query as without watch: coincidences, g2, delays and others with their options. More queries
    /// follow, each after --and; a query without a RUN uses the RUN of the first one that has one
    #[arg(
        value_name = "QUERY",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

impl WatchArgs {
    /// Returns the shortest time between two answers.
    pub(crate) fn interval(&self) -> Result<std::time::Duration, UnitError> {
        let every = self.every.as_ref();
        every.map_or(Ok(std::time::Duration::ZERO), Duration::on_the_clock)
    }

    /// Returns the hold-back of a growing file.
    pub(crate) fn hold_back(&self) -> Result<Duration, UnitError> {
        self.hold_back.clone().map_or_else(|| HOLD_BACK.parse(), Ok)
    }

    /// Returns the words of each query.
    pub(super) fn parts(&self) -> Vec<Vec<OsString>> {
        self.words.split(|word| word == "--and").map(<[_]>::to_vec).collect()
    }
}
