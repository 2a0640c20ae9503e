//! `tagq fit`: a model, its options, and a query as a command of its own.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand, error::ErrorKind};
use tagq::{FIT_TYPES, Fit, FitType};

use super::table::{arg, invalid, values};

/// Fit a model to the answer of a query: a decay, g2, a dip, a fringe, a peak
///
/// The query is any query as it is typed after `tagq`, with its own options, runs, output and figure. Options of the fit stand
/// before the query or after it. Parameters have the largest likelihood of the counts (Poisson), with errors from the Fisher information. The
/// figure shows the curve and the residuals.
#[derive(Debug, clap::Args)]
#[command(subcommand_value_name = "MODEL", subcommand_help_heading = "Models")]
#[command(after_help = "Examples:
  tagq fit g2 g2 3,15 --bin 1ns --range 200ns run/
  tagq fit peak histogram 3,15 --bin 100ps --range 10ns run/")]
pub(crate) struct FitArgs {
    #[command(subcommand)]
    pub fit: FitCommand,
}

/// A fit, and the words of the query.
#[derive(Debug)]
pub(crate) struct FitCommand {
    pub fit: Fit,
    pub words: Vec<OsString>,
}

/// Returns the command of a model.
fn command(of: &'static FitType) -> Command {
    let query = Arg::new("query")
        .value_name("QUERY")
        .help("The query, as it is typed after `tagq`: micro 1 run/")
        .num_args(1..)
        .action(ArgAction::Append)
        .value_parser(clap::value_parser!(OsString))
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .required(true);
    let lines = of.examples.iter().map(|words| format!("\n  tagq fit {} {words}", of.name));
    Command::new(of.name)
        .aliases(of.others)
        .about(of.summary)
        .long_about(format!("{}\n\n{}", of.summary, of.details))
        .args(of.options().map(|option| arg(option).help_heading("Fit")))
        .arg(query)
        .after_help(format!("Examples:{}", lines.collect::<String>()))
}

impl Subcommand for FitCommand {
    fn augment_subcommands(program: Command) -> Command {
        FIT_TYPES
            .iter()
            .fold(program, |program, of| program.subcommand(command(of)))
            .subcommand_required(true)
            .arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(program: Command) -> Command {
        Self::augment_subcommands(program)
    }

    fn has_subcommand(name: &str) -> bool {
        FitType::named(name).is_some()
    }
}

impl FromArgMatches for FitCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            let of = FIT_TYPES.iter().find(|of| of.name == name)?;
            Some((of, matches))
        });
        let (of, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let options = values(of.options(), matches);
        let fit = Fit::of_options(of.name, options.clone())
            .map_err(|error| invalid(&error, of.options(), &options))?;
        let words = matches.get_many::<OsString>("query").into_iter().flatten().cloned();
        Ok(Self { fit, words: words.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
