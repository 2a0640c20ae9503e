//! The query of `tagq fit`, as a command.

use std::ffi::OsString;

use clap::{Parser as _, error::ErrorKind};

use super::{
    command::{Args, Command, end, program},
    fit::FitCommand,
    nested::named,
    plots::argv,
    questions::QuestionCommand,
    scan::ScanArgs,
};

/// The query whose answer is fitted.
#[derive(Debug)]
pub(crate) enum FittedQuery {
    Request(Box<QuestionCommand>),
    Scan(Box<QuestionCommand<ScanArgs>>),
}

impl FitCommand {
    /// Parses the query as if it were called alone. Exits with the same error if it is invalid.
    pub(crate) fn query(&self) -> FittedQuery {
        let program = program();
        let called = self.words.first().and_then(|word| named(&program, word));
        let words = [OsString::from("tagq")].into_iter().chain(self.words.iter().cloned());
        let words = argv(words, called);
        let parsed = Args::try_parse_from(words).unwrap_or_else(|error| end(&error));
        match parsed.command {
            Command::Ask(command) => FittedQuery::Request(command),
            Command::Scan(command) => FittedQuery::Scan(Box::new(command.query)),
            _ => end(&clap::Error::raw(
                ErrorKind::InvalidSubcommand,
                "a fit is of the answer of a query: micro, histogram, g2, rates, coincidences, image with a mask, or scan of one\n",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use tagq::FIT_TYPES;

    use super::*;

    #[test]
    fn every_example_is_a_fit_of_a_query() {
        for of in &FIT_TYPES {
            for example in of.examples {
                let words = format!("tagq fit {} {example}", of.name);
                let args = Args::try_parse_from(words.split_whitespace()).unwrap();
                let Command::Fit(args) = args.command else { panic!("{words}") };
                assert_eq!(args.fit.fit.of.name, of.name);
                let FittedQuery::Request(query) = args.fit.query() else { panic!("{words}") };
                assert!(!query.answer.query.runs.is_empty(), "{words}");
            }
        }
    }
}
