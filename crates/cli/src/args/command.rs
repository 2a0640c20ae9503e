//! The program and its commands.

use std::{ffi::OsString, io::Write as _};

use clap::{
    CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::styling::{Style, Styles},
};
use console::strip_ansi_codes;
use tagq::{QUERY_TYPES, escaped, is_shown};

#[cfg(feature = "serve")]
use super::serve::ServeArgs;
use super::{
    derive::DeriveArgs,
    files::{CatArgs, ConvertArgs, ExportArgs},
    fit::FitArgs,
    help::{HelpArgs, in_families, with_synonyms},
    mistakes::one_line,
    nested::{SCAN, example_of, in_order, named},
    pages::{CompletionsArgs, ManArgs},
    parts::{MergeArgs, PartialArgs, PlanCommand, RunsArgs},
    questions::QuestionCommand,
    reproduce::ReproduceArgs,
    scan::ScanCommand,
    search::SearchArgs,
    setup::{InitArgs, NameArgs},
    simulate::{DemoArgs, SimulateArgs},
    stores::{DoctorArgs, FormatsArgs, InfoArgs, IngestArgs, SetArgs, VerifyArgs},
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
    Ask(Box<QuestionCommand>),
    #[command(flatten)]
    Search(Box<QuestionCommand<SearchArgs>>),
    Fit(Box<FitArgs>),
    Scan(Box<ScanCommand>),
    Reproduce(ReproduceArgs),
    Plan(Box<PlanCommand>),
    Partial(PartialArgs),
    Runs(RunsArgs),
    Watch(WatchArgs),
    #[cfg(feature = "serve")]
    Serve(Box<ServeArgs>),
    Ingest(IngestArgs),
    Merge(MergeArgs),
    Derive(Box<DeriveArgs>),
    Info(InfoArgs),
    Cat(CatArgs),
    Convert(ConvertArgs),
    Formats(FormatsArgs),
    Export(Box<ExportArgs>),
    Verify(VerifyArgs),
    Init(InitArgs),
    Name(NameArgs),
    Set(SetArgs),
    Simulate(Box<SimulateArgs>),
    Demo(DemoArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    Help(HelpArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

/// Invalid arguments keep the colour of the text, because yellow cannot be read on white.
const STYLES: Styles = Styles::styled().invalid(Style::new().bold());

/// Parses the command line of this process. Exits the program if it is invalid.
pub(crate) fn parse() -> Args {
    if let Some(command) = question() {
        return Args { command };
    }
    let program = program();
    let called = words().nth(1).and_then(|word| named(&program, &word));
    let mut argv = super::plots::argv(words(), called);
    let words = argv.split_off(1.min(argv.len()));
    argv.extend(in_order(&program, words));
    let matches = program.try_get_matches_from(argv).unwrap_or_else(|error| end(&error));
    Args::from_arg_matches(&matches).unwrap_or_else(|error| end(&error))
}

/// Returns the question of the command line of this process, if it begins with the whole name of a query and has no mistake.
/// The program has thirty times the options of a query, and to make them takes as long as to open a run.
fn question() -> Option<Command> {
    let name = words().nth(1)?;
    let of = QUERY_TYPES.into_iter().find(|of| name == of.name)?;
    let asked = || QuestionCommand::alone(of, words()).map(Box::new).map(Command::Ask);
    asked().or_else(|| QuestionCommand::alone(of, words()).map(Box::new).map(Command::Search))
}

/// Returns the words of this process. On Windows patterns like `*.ptu` are replaced by the names of files, but not beside
/// a word with `[`: that is a name, which [`wild`] takes for a pattern, too.
fn words() -> Box<dyn Iterator<Item = OsString>> {
    let mut words = std::env::args_os();
    let has_bracket = words.any(|word| word.as_encoded_bytes().contains(&b'['));
    if has_bracket { Box::new(std::env::args_os()) } else { Box::new(wild::args_os()) }
}

/// Beginning of the last line of an error of the arguments, which an example replaces.
const MORE: &str = "For more information, try";

/// Prints a help, or an error with an example of its command. Control characters are escaped, because an argument may be
/// the name of a file.
pub(super) fn end(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let is_plain = |argument: OsString| argument.to_string_lossy().chars().all(is_shown);
    let mut text = if std::env::args_os().all(is_plain) {
        error.render().ansi().to_string()
    } else {
        let text = error.render().to_string();
        text.lines().map(|line| escaped(line) + "\n").collect()
    };
    let program = program();
    if let Some(problem) = one_line(&program, error) {
        let red = STYLES.get_error();
        // The usage names the options that go together.
        let is_used = error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
        let usage = text.lines().skip_while(|line| !strip_ansi_codes(line).starts_with("Usage:"));
        let usage = usage.filter(|_| is_used).collect::<Vec<_>>().join("\n");
        text = format!("{red}error:{red:#} {}\n\n{usage}\n", escaped(&problem));
    }
    if let Some((name, example)) = example(&program) {
        let lines = text.lines().filter(|line| !strip_ansi_codes(line).starts_with(MORE));
        text = lines.collect::<Vec<_>>().join("\n");
        text.truncate(text.trim_end().len());
        let more = ["\n\nExample: ", &example, "\nAll options: tagq ", &name, " --help\n"];
        text += &more.concat();
    }
    // Ignored if stderr cannot be written: the exit code also reports the failure.
    let _ = anstream::stderr().write_all(text.as_bytes());
    std::process::exit(error.exit_code())
}

/// Returns the name of the command that the words of this process call, also one of a command, and the first example of its
/// help.
fn example(program: &clap::Command) -> Option<(String, String)> {
    let mut words = std::env::args_os().skip(1);
    let of = named(program, &words.next()?)?;
    // A scan of a query has several values of an option, which the examples of its query have not.
    let inner = words.next().filter(|_| of.get_name() != SCAN);
    let inner = inner.and_then(|word| named(of, &word));
    let [outer, inner] = [Some(of), inner].map(|of| Some((of?.get_name(), example_of(of?)?)));
    match (outer, inner) {
        (Some((outer, _)), Some((inner, example))) => Some((format!("{outer} {inner}"), example)),
        (outer, _) => outer.map(|(name, example)| (name.to_owned(), example)),
    }
}

/// Returns the program as a clap command.
pub(crate) fn program() -> clap::Command {
    // Its name on Windows has an end.
    with_synonyms(in_families(Args::command().bin_name("tagq")))
}
