//! `tagq fit`: the query is answered, and a model is fitted to each answer.

use crate::{
    args::{FitArgs, FittedQuery},
    scan,
};

/// Asks, fits and prints.
pub(crate) fn run(args: &FitArgs) -> anyhow::Result<()> {
    let fit = &args.fit.fit;
    match args.fit.query() {
        FittedQuery::Request(command) => {
            scan::check(&command.answer, "a fit")?;
            let question = &command.question;
            command.answer.ask_all(question, false, |runs| fit.ask(question, runs))
        }
        FittedQuery::Scan(command) => {
            let answer = &command.answer.answer;
            scan::check(answer, "a fit")?;
            answer.ask_all(&command.question, scan::is_of_all(&command), |runs| {
                fit.answer(&scan::ask(&command, runs)?, runs[0].1.progress)
            })
        }
    }
}
