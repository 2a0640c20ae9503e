//! The commands that ask a run, one for each type of request. Their options come from the table of
//! [`tagq::requests`].

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, error::ErrorKind};
use tagq::requests::{OptionValues, REQUEST_TYPES, Request, RequestType};

use super::{
    answer::AnswerArgs,
    table::{arg, flag, invalid, usage, values},
};

/// A request, and what is to be done with it.
#[derive(Debug)]
pub(crate) struct RequestCommand<A = AnswerArgs> {
    pub request: Request,
    /// The name of its type, and its options.
    pub name: &'static str,
    pub options: OptionValues,
    pub answer: A,
}

/// The arguments of a command besides those of its request.
pub(crate) trait RequestArgs: Args + FromArgMatches {
    /// The words before the name of the request.
    const COMMAND: &'static str;
    /// The words after the run in an example.
    const EXAMPLE: &'static str;
}

impl RequestArgs for AnswerArgs {
    const COMMAND: &'static str = "tagq";
    const EXAMPLE: &'static str = "";
}

/// Additions to the help of requests that need more than a table.
const LONG_HELP: [(&str, &str); 2] = [
    (
        "coincidences",
        "`tagq help rules` and `tagq help windows` show with pictures which tags count.",
    ),
    ("g2", include_str!("topics/g2.txt")),
];

impl<A: RequestArgs> Subcommand for RequestCommand<A> {
    fn augment_subcommands(program: Command) -> Command {
        REQUEST_TYPES.iter().fold(program, |program, of| program.subcommand(command::<A>(of)))
    }

    fn augment_subcommands_for_update(program: Command) -> Command {
        Self::augment_subcommands(program)
    }

    fn has_subcommand(name: &str) -> bool {
        REQUEST_TYPES.iter().any(|of| of.name == name)
    }
}

impl<A: RequestArgs> FromArgMatches for RequestCommand<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            let of = REQUEST_TYPES.into_iter().find(|of| of.name == name)?;
            Some((of, matches))
        });
        let (of, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let mut options = values(of.options(), matches);
        for position in of.positions {
            let text = matches.get_one::<String>(position.value_name).map_or("", String::as_str);
            let values: Vec<&str> = text.split(',').collect();
            if let [option] = position.options
                && of.is_list(option)
            {
                options.insert((*option).to_owned(), values.into());
                continue;
            }
            if values.len() != position.options.len() {
                let (asked, name) = (position.options.len(), position.value_name);
                return Err(usage(&format!(
                    "`{text}` is not {asked} channels; write them as {name}"
                )));
            }
            for (option, value) in position.options.iter().zip(values) {
                options.insert((*option).to_owned(), value.into());
            }
        }
        let request = Request::of_options(of.name, options.clone())
            .map_err(|error| invalid(&error, of.options(), &options))?;
        Ok(Self { request, name: of.name, options, answer: A::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the command of a type of request.
fn command<A: RequestArgs>(of: &'static RequestType) -> Command {
    let mut command = Command::new(of.name);
    for position in of.positions {
        let arg = Arg::new(position.value_name).value_name(position.value_name);
        command = command.arg(arg.help(position.help).required(true));
    }
    command = command.args(of.options().filter(|option| !of.is_positional(option.name)).map(arg));
    // The arguments bring a description of their own, which is replaced.
    command = A::augment_args(command).about(of.summary).long_about(None);
    if !of.details.is_empty() {
        command = command.long_about(format!("{}\n\n{}", of.summary, of.details));
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
fn examples<A: RequestArgs>(of: &RequestType) -> String {
    let line = |given: &&[(&str, &str)]| {
        let mut line = format!("\n  {} {}", A::COMMAND, of.name);
        for position in of.positions {
            let value =
                |name: &&str| given.iter().find(|(of, _)| of == name).map_or("", |(_, v)| *v);
            let values: Vec<&str> = position.options.iter().map(value).collect();
            line = format!("{line} {}", values.join(","));
        }
        for (name, value) in given.iter().filter(|(name, _)| !of.is_positional(name)) {
            let option = of.options().find(|option| option.name == *name);
            let flag = option.map_or_else(String::new, flag);
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
    use crate::args::parts::PlanArgs;

    #[test]
    fn every_example_is_a_request() {
        for of in REQUEST_TYPES {
            for examples in [examples::<AnswerArgs>(of), examples::<PlanArgs>(of)] {
                for line in examples.lines().skip(1) {
                    let words = line.split_whitespace();
                    let args = crate::args::command::Args::try_parse_from(words);
                    assert!(args.is_ok(), "{line}: {args:?}");
                }
            }
        }
    }
}
