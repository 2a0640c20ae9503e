//! The queries of `tagq watch`, as commands.

use std::{ffi::OsString, path::PathBuf};

use clap::{Parser as _, error::ErrorKind};

use super::{
    command::{Args, Command, end},
    watch::WatchArgs,
};

impl WatchArgs {
    /// Parses each query as if it were called alone. Exits with the same error if one is invalid.
    pub(crate) fn queries(&self) -> Vec<Command> {
        let parts = self.parts();
        if parts.iter().any(Vec::is_empty) {
            let text = "a query is missing after --and; write one as --and g2 1,2\n";
            end(&clap::Error::raw(ErrorKind::MissingRequiredArgument, text));
        }
        let read = |words: &[OsString], runs: &[PathBuf]| {
            let runs = runs.iter().map(|run| run.clone().into_os_string());
            let program = [OsString::from("tagq")].into_iter();
            Args::try_parse_from(program.chain(words.iter().cloned()).chain(runs))
        };
        let asked: Vec<_> = parts.iter().map(|words| read(words, &[])).collect();
        let runs = asked.iter().flatten().find_map(|args| match &args.command {
            Command::Ask(of) => Some(of.answer.query.runs.clone()),
            Command::Search(of) => Some(of.answer.query.runs.clone()),
            _ => None,
        });
        let completed = asked.into_iter().zip(&parts).map(|(args, words)| {
            args.or_else(|error| match &runs {
                Some(runs) if error.kind() == ErrorKind::MissingRequiredArgument => {
                    read(words, runs).map_err(|_| error)
                }
                _ => Err(error),
            })
        });
        completed.map(|args| args.unwrap_or_else(|error| end(&error)).command).collect()
    }
}
