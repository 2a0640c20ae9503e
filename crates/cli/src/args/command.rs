//! The program and its commands.

use std::io::{self, Write as _};

use clap::{
    CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::styling::{Style, Styles},
};
use tagq::{escaped, is_shown};

use super::{
    files::{CatArgs, ConvertArgs, ExportArgs},
    help::{HelpArgs, in_families, with_synonyms},
    pages::{CompletionsArgs, ManArgs},
    parts::{MergeArgs, PartialArgs, PlanCommand, RunsArgs},
    requests::RequestCommand,
    setup::{DelaysArgs, NameArgs},
    simulate::SimulateArgs,
    stores::{FormatsArgs, InfoArgs, IngestArgs, SetArgs, VerifyArgs},
    watch::WatchArgs,
};

/// Fast, exact queries over photon time tags.
#[derive(Debug, Parser)]
#[command(name = "tagq", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(styles = STYLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Request(Box<RequestCommand>),
    Delays(DelaysArgs),
    Plan(Box<PlanCommand>),
    Partial(PartialArgs),
    Runs(RunsArgs),
    Watch(WatchArgs),
    Ingest(IngestArgs),
    Merge(MergeArgs),
    Info(InfoArgs),
    Cat(CatArgs),
    Convert(ConvertArgs),
    Formats(FormatsArgs),
    Export(ExportArgs),
    Verify(VerifyArgs),
    Name(NameArgs),
    Set(SetArgs),
    Simulate(Box<SimulateArgs>),
    Completions(CompletionsArgs),
    Help(HelpArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

/// Invalid arguments keep the colour of the text, because yellow cannot be read on white.
const STYLES: Styles = Styles::styled().invalid(Style::new().bold());

/// Parses the command line of this process. Exits the program if it is invalid.
pub(crate) fn parse() -> Args {
    let argv = super::plots::argv(std::env::args_os());
    let matches = program().try_get_matches_from(argv).unwrap_or_else(|error| end(&error));
    Args::from_arg_matches(&matches).unwrap_or_else(|error| end(&error))
}

/// Prints an error with its control characters escaped, because an argument may be the name of a file.
fn end(error: &clap::Error) -> ! {
    let is_plain = |argument: std::ffi::OsString| argument.to_string_lossy().chars().all(is_shown);
    if std::env::args_os().all(is_plain) {
        error.exit();
    }
    let text = error.render().to_string();
    // Ignored if stderr cannot be written: the exit code also reports the failure.
    let _ = text.lines().try_for_each(|line| writeln!(io::stderr(), "{}", escaped(line)));
    std::process::exit(error.exit_code())
}

/// Returns the program as a clap command.
pub(crate) fn program() -> clap::Command {
    with_synonyms(in_families(Args::command()))
}
