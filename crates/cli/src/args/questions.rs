//! The commands that ask a run, one for each type of query. Their options come from the table of [`tagq::requests`].
//!
//! An option that is added to the table is an argument of its command, with its help; nothing is written here. The
//! first arguments of a command may be channels: they become options of the question, as if they were given by
//! `--group` or `--start` and `--stop`.

use std::ffi::OsString;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand, error::ErrorKind};
use tagq::{
    Error, QUERY_TYPES, Question, is_search,
    requests::{ChannelArgument, OptionValues, RequestOption, RequestType},
};

use super::{
    answer::AnswerArgs,
    channels::{take_channels, usage_template},
    options::QueryArgs,
    plots::argv,
    table::{arg, invalid, usage, values, with_flags},
};

/// A question and the other arguments of its command.
#[derive(Debug)]
pub(crate) struct QuestionCommand<A = AnswerArgs> {
    pub question: Question,
    /// The options as they were given: one of a scan has several values.
    pub options: OptionValues,
    pub answer: A,
}

/// The arguments of a command besides those of its question.
pub(crate) trait QuestionArgs: Args + FromArgMatches {
    /// The words before the name of the query.
    const COMMAND: &'static str = "tagq";
    /// The words after the run in an example.
    const EXAMPLE: &'static str = "";

    /// The arguments of every query; the first of their runs may be channels.
    fn query(&mut self) -> &mut QueryArgs;

    /// Whether the command takes queries of this type.
    fn takes(of: &RequestType) -> bool {
        !is_search(of)
    }

    /// Creates the question with this name, or the first of several.
    fn question(name: &str, options: &OptionValues) -> Result<Question, Error> {
        Ok(Question::of_options(name, options.clone())?)
    }
}

impl QuestionArgs for AnswerArgs {
    fn query(&mut self) -> &mut QueryArgs {
        &mut self.query
    }
}

/// Additions to the help of queries that need more than a table.
const LONG_HELP: [(&str, &str); 2] = [
    (
        "coincidences",
        "CAR is (C - A)/A, with C the coincidences and A the accidentals: the true coincidences for each\n\
         accidental one. It is below zero if there are fewer coincidences than by chance: because of dead\n\
         time, a wrong delay, or accidentals that are estimated too high.\n\n\
         `tagq help rules` and `tagq help windows` show with pictures which tags count.",
    ),
    ("g2", include_str!("topics/g2.txt")),
];

impl<A: QuestionArgs> QuestionCommand<A> {
    /// Parses the words of a command line whose command is the query of this type, without the other commands. Returns
    /// `None` if it is not a command of this kind, or if they ask for its help or have a mistake.
    pub(super) fn alone(
        of: &'static RequestType,
        words: impl IntoIterator<Item = OsString>,
    ) -> Option<Self> {
        if !A::takes(of) {
            return None;
        }
        let command = command::<A>(of);
        let argv = argv(words, Some(&command));
        let program = Command::new("tagq").subcommand(command);
        Self::from_arg_matches(&program.try_get_matches_from(argv).ok()?).ok()
    }
}

impl<A: QuestionArgs> Subcommand for QuestionCommand<A> {
    fn augment_subcommands(program: Command) -> Command {
        QUERY_TYPES
            .iter()
            .filter(|of| A::takes(of))
            .fold(program, |program, of| program.subcommand(command::<A>(of)))
    }

    fn augment_subcommands_for_update(program: Command) -> Command {
        Self::augment_subcommands(program)
    }

    fn has_subcommand(name: &str) -> bool {
        QUERY_TYPES.iter().any(|of| of.name == name && A::takes(of))
    }
}

impl<A: QuestionArgs> FromArgMatches for QuestionCommand<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            let of = QUERY_TYPES.into_iter().find(|of| of.name == name)?;
            Some((of, matches))
        });
        let (of, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let mut options = values(of.options(), matches);
        let mut answer = A::from_arg_matches(matches)?;
        for channels in take_channels(&mut answer.query().runs, of.channels)? {
            let added = of.add_channels(&channels, &mut options);
            added.map_err(|error| usage(&with_flags(&error.to_string())))?;
        }
        let question = A::question(of.name, &options)
            .map_err(|error| invalid(&error, of.options(), &options))?;
        Ok(Self { question, options, answer })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the command of a type of query.
fn command<A: QuestionArgs>(of: &'static RequestType) -> Command {
    let command = Command::new(of.name).args(of.options().map(arg));
    // The arguments bring a description of their own, which is replaced.
    let mut command = A::augment_args(command).about(of.summary).long_about(None);
    let mut paragraphs = vec![of.summary.to_owned()];
    paragraphs.extend(Some(of.details.to_owned()).filter(|details| !details.is_empty()));
    if let Some(ChannelArgument { value_name, help, .. }) = of.channels {
        paragraphs.push(format!("Channels may stand in front of the run, as {value_name}. {help}"));
        let name = A::COMMAND;
        let usage = format!("{name} {} [OPTIONS] [{value_name}] <RUN>...", of.name);
        command = command.help_template(usage_template(&usage));
    }
    if paragraphs.len() > 1 {
        command = command.long_about(paragraphs.join("\n\n"));
    }
    if of.unlisted.is_none() && command.get_arguments().any(|arg| arg.get_id() == "list") {
        command = command.mut_arg("list", |arg| arg.hide(true));
    }
    let examples = examples::<A>(of);
    let long = LONG_HELP.iter().find(|(name, _)| *name == of.name);
    if let Some((_, text)) = long {
        command = command.after_long_help(format!("{}\n\n{examples}", text.trim_end()));
    }
    command.after_help(examples)
}

/// Returns the examples as command lines.
fn examples<A: QuestionArgs>(of: &RequestType) -> String {
    let line = |given: &&[(&str, &str)]| {
        let mut line = format!("\n  {} {}", A::COMMAND, of.name);
        let channels = given.iter().filter(|(name, _)| of.is_channel(name));
        let channels: Vec<&str> = channels.map(|(_, channel)| *channel).collect();
        if !channels.is_empty() {
            line = format!("{line} {}", channels.join(","));
        }
        for (name, value) in given.iter().filter(|(name, _)| !of.is_channel(name)) {
            let option = of.options().find(|option| option.name == *name);
            let flag = option.map_or_else(String::new, RequestOption::flag);
            line = format!("{line} --{flag} {value}");
        }
        format!("{line} run/{}", A::EXAMPLE)
    };
    format!("Examples:{}", of.examples.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{
        command::{Args, Command},
        parts::PlanArgs,
    };

    /// Returns the words of a command line of one query, parsed without the other commands.
    fn alone(of: &'static RequestType, words: &[&str]) -> Option<Args> {
        let words = || words.iter().map(OsString::from);
        let asked = || QuestionCommand::alone(of, words()).map(Box::new).map(Command::Ask);
        let command = asked()
            .or_else(|| QuestionCommand::alone(of, words()).map(Box::new).map(Command::Search));
        command.map(|command| Args { command })
    }

    #[test]
    fn every_example_is_a_request() {
        for of in QUERY_TYPES {
            let plans = if is_search(of) { String::new() } else { examples::<PlanArgs>(of) };
            for examples in [examples::<AnswerArgs>(of), plans] {
                for line in examples.lines().skip(1) {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    let args = Args::try_parse_from(&words);
                    assert!(args.is_ok(), "{line}: {args:?}");
                    if words[1] == of.name {
                        let alone = alone(of, &words);
                        assert_eq!(format!("{alone:?}"), format!("{:?}", args.ok()), "{line}");
                    }
                }
            }
        }
    }

    #[test]
    fn help_and_mistakes_are_for_the_whole_program() {
        for of in QUERY_TYPES {
            for word in ["--help", "-h", "--no-such-option", "--delays"] {
                let words = ["tagq", of.name, word, "run/"];
                assert!(alone(of, &words).is_none(), "{words:?}");
            }
        }
    }
}
