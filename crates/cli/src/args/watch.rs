//! `tagq watch`: its own options, then queries.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
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
/// watch.
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
        let every = self.split().1.or_else(|| self.every.clone());
        every.map_or(Ok(std::time::Duration::ZERO), |every| every.on_the_clock())
    }

    /// Returns the hold-back of a growing file.
    pub(crate) fn hold_back(&self) -> Result<Duration, UnitError> {
        match self.split().2.or_else(|| self.hold_back.clone()) {
            Some(hold_back) => Ok(hold_back),
            None => HOLD_BACK.parse(),
        }
    }

    /// Returns the arguments of each query, without the options of `watch`, which may appear anywhere.
    pub(super) fn split(&self) -> (Vec<Vec<OsString>>, Option<Duration>, Option<Duration>) {
        let mut parts = vec![Vec::new()];
        let (mut every, mut hold_back) = (None, None);
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if word == OsStr::new("--and") {
                parts.push(Vec::new());
            } else if let Some(value) = option("--every", word, &mut words) {
                every = Some(value);
            } else if let Some(value) = option("--hold-back", word, &mut words) {
                hold_back = Some(value);
            } else if let Some(part) = parts.last_mut() {
                part.push(word.clone());
            }
        }
        (parts, every, hold_back)
    }
}

/// Returns the duration of an option, written `NAME D` or `NAME=D`, if `word` begins it. Exits with a usage
/// error if the value is not a duration.
fn option<'a>(
    name: &str,
    word: &OsStr,
    words: &mut impl Iterator<Item = &'a OsString>,
) -> Option<Duration> {
    let word = word.to_str()?;
    let value = if word == name {
        words.next().map_or(String::new(), |value| value.to_string_lossy().into_owned())
    } else {
        word.strip_prefix(name)?.strip_prefix('=')?.to_owned()
    };
    let read = value.parse::<Duration>().map_err(|error| {
        clap::Error::raw(ErrorKind::ValueValidation, format!("{name}: {error}\n"))
    });
    Some(read.unwrap_or_else(|error| error.exit()))
}
