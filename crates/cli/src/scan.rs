//! `tagq scan`: the query is asked for each value, and the answers are printed as one.

use tagq::{Answer, Error, Run, SettingScan, requests::QueryContext};

use crate::{
    Usage,
    args::{AnswerArgs, QuestionCommand, ScanArgs},
};

/// Asks and prints.
pub(crate) fn run(command: &QuestionCommand<ScanArgs>) -> anyhow::Result<()> {
    check(&command.answer.answer, "a scan")?;
    command.answer.answer.ask_all(&command.question, is_of_all(command), |runs| ask(command, runs))
}

/// Whether all runs together have one answer: they differ in a setting.
pub(crate) fn is_of_all(command: &QuestionCommand<ScanArgs>) -> bool {
    command.answer.x.is_some()
}

/// Answers the scan of these runs.
pub(crate) fn ask(
    command: &QuestionCommand<ScanArgs>,
    runs: &[(&Run, &QueryContext<'_>)],
) -> Result<Answer, Error> {
    let setting = command.answer.x.as_ref();
    let setting = setting.map(|x| x.of(runs.iter().map(|(run, _)| run.path()))).transpose()?;
    SettingScan::of_options(command.question.of().name, command.options.clone(), setting)?.ask(runs)
}

/// Refuses options that say what else than an answer is printed.
pub(crate) fn check(answer: &AnswerArgs, what: &str) -> anyhow::Result<()> {
    for (is_given, option) in [(answer.list, "--list"), (answer.explain, "--explain")] {
        if is_given {
            return Err(Usage(format!("{option}: {what} is of counts; leave it out")).into());
        }
    }
    Ok(())
}
