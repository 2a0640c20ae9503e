//! `tagq watch`: queries behind words of its own.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use tagq::{
    HOLD_BACK,
    store::{Duration, UnitError},
};

/// Answer queries again whenever something new was recorded
///
/// New files and what files have grown by are taken into the store as by `tagq ingest --follow`, and
/// each query is answered from the new commit. On a terminal the answers are drawn in place; elsewhere
/// each update is one line of JSON. With --last D a query counts the whole run and the last D beside
/// it. Ctrl-C ends it.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tagq watch [OPTIONS] QUERY [--and QUERY]…",
    after_help = "Examples:
  tagq watch rates --last 1s run/
  tagq watch coincidences --window 2ns --last 1s run/ --and g2 3,15 --every 1s"
)]
pub(crate) struct WatchArgs {
    /// Answer not more often than this [default: each commit]
    #[arg(long, value_name = "D")]
    every: Option<Duration>,
    /// Keep back tags of a file that grows, up to D before its newest: recorders hand over late ones
    /// [default: 10ms]
    #[arg(long, value_name = "D")]
    hold_back: Option<Duration>,
    /// A query as on its own: coincidences, histogram, g2 or rates with their options. Others follow
    /// behind --and; those without a RUN ask that of the first that has one
    #[arg(
        value_name = "QUERY",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

impl WatchArgs {
    /// The least time between two answers.
    pub(crate) fn interval(&self) -> Result<std::time::Duration, UnitError> {
        let every = self.split().1.or_else(|| self.every.clone());
        every.map_or(Ok(std::time::Duration::ZERO), |every| every.on_the_clock())
    }

    /// How much of a growing file is kept back.
    pub(crate) fn hold_back(&self) -> Result<Duration, UnitError> {
        match self.split().2.or_else(|| self.hold_back.clone()) {
            Some(hold_back) => Ok(hold_back),
            None => HOLD_BACK.parse(),
        }
    }

    /// The words of each query, without the options of watching, which may stand anywhere.
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

/// The duration of an option, written `NAME D` or `NAME=D`, when `word` begins it. What is no duration
/// ends the program as a mistake of the command line.
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
