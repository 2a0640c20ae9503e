//! `tagq fit`: the query is answered, and a model is fitted to each answer.

use crate::{Usage, args::FitArgs};

/// Asks, fits and prints.
pub(crate) fn run(args: &FitArgs) -> anyhow::Result<()> {
    let command = args.fit.query();
    let answer = &command.answer;
    for (is_given, option) in [(answer.list, "--list"), (answer.explain, "--explain")] {
        if is_given {
            return Err(Usage(format!("{option}: a fit is of counts; leave it out")).into());
        }
    }
    let fit = &args.fit.fit;
    answer.ask_all(&command.request, |runs| fit.ask(command.name, &command.options, runs))
}
