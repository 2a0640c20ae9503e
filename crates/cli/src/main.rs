//! The command `tagq`: parses argv into typed arguments, builds a query, and reports its answer.
//!
//! Errors are one line on stderr with the names of options as arguments: `live_time` of the library is printed as
//! `--live-time`. The exit code is 2 for mistakes of the caller, 75 if a part may succeed when it is tried again, and
//! else that of the error of the library. A reader that closes the pipe has what it needs: that is no error.

mod args;
mod cat;
mod convert;
mod demo;
mod derive;
mod doctor;
mod export;
mod fit;
mod follow;
mod formats;
mod info;
mod ingest;
mod init;
mod input;
mod merge;
mod name;
mod parts;
mod progress;
mod queries;
mod report;
mod reproduce;
mod runs;
mod scan;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod simulate;
mod time_left;
mod verify;
mod watch;
mod wrapped;
mod written;

use std::{io::Write as _, panic, process::ExitCode};

use args::Command;
use tagq::{AskError, RunError, escaped};

fn main() -> ExitCode {
    signals::outlive_file_limits();
    hush_guarded_panics();
    let args = args::parse();
    let result = match &args.command {
        Command::Watch(args) => return watch::run(args).unwrap_or_else(|error| end(&error)),
        #[cfg(feature = "serve")]
        Command::Serve(args) => return serve::run(args).unwrap_or_else(|error| end(&error)),
        Command::Ask(command) => queries::run(command),
        Command::Plan(command) => parts::plan(&command.query),
        Command::Partial(args) => parts::partial(args),
        Command::Runs(args) => runs::run(args),
        Command::Search(command) => search::run(command),
        Command::Fit(args) => fit::run(args),
        Command::Scan(command) => scan::run(&command.query),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Init(args) => init::run(args),
        Command::Name(args) => name::run(args),
        Command::Ingest(args) => ingest::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Derive(args) => derive::run(args),
        Command::Info(args) => info::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Formats(args) => formats::run(args),
        Command::Export(args) => export::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Set(args) => ingest::set(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => args.print(args::program()).map_err(Into::into),
        Command::Man(args) => args.write(args::program()),
        Command::Help(args) => args.answer(args::program()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => end(&error),
    }
}

/// Silences panics that are caught and reported as damage of a file: the error says all.
fn hush_guarded_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !tagq::files::is_guarded() {
            print(panic);
        }
    }));
}

/// Prints the error and returns its exit code.
fn end(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        // The reader closed the pipe, because it needs no more output.
        return ExitCode::SUCCESS;
    }
    let style = anstyle::AnsiColor::Red.on_default().bold();
    // Ignored if stderr cannot be written: the exit code also reports the failure.
    let message = wrapped::for_stderr(&escaped(&message(error)), "error: ".len());
    let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {message}");
    ExitCode::from(exit_code(error))
}

/// Returns the error and its causes, without repetition.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(text_of) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Returns the text of an error, with the options that it names as arguments.
fn text_of(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    if run_error(error).is_some_and(RunError::names_options) {
        args::with_flags(&text)
    } else {
        text
    }
}

/// Returns the error of the library, if it is one of its upper layers.
fn library_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a tagq::Error> {
    match error.downcast_ref::<tagq_export::Error>() {
        Some(tagq_export::Error::Run(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// Returns the error of the run or of the request that it is, if it is one.
fn run_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a RunError> {
    library_error(error)
        .and_then(tagq::Error::run)
        .or_else(|| error.downcast_ref().and_then(AskError::run))
        .or_else(|| error.downcast_ref())
}

/// Returns the exit code of an error of the library.
fn library_code(error: &(dyn std::error::Error + 'static)) -> Option<u8> {
    let code = library_error(error).map(tagq::Error::exit_code);
    code.or_else(|| error.downcast_ref().map(AskError::exit_code))
        .or_else(|| error.downcast_ref().map(RunError::exit_code))
}

/// A mistake in the command line that only appears while the command runs.
#[derive(Debug)]
struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of a part that may not occur when it is tried again.
#[derive(Debug)]
struct Retry(anyhow::Error);

impl Retry {
    /// The exit code that tells a scheduler to try again (`EX_TEMPFAIL` of sysexits.h).
    const CODE: u8 = 75;

    /// Marks errors of reading and writing, and of a folder that is not there.
    fn if_it_may_help(error: anyhow::Error) -> anyhow::Error {
        let is_io = error.chain().any(<dyn std::error::Error>::is::<std::io::Error>);
        let has_no_folder = error
            .chain()
            .filter_map(run_error)
            .any(|error| matches!(error, RunError::NoFolder { .. }));
        if is_io || has_no_folder { Self(error).into() } else { error }
    }
}

impl std::fmt::Display for Retry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&message(&self.0))
    }
}

impl std::error::Error for Retry {}

fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() {
        return 2;
    }
    if error.is::<Retry>() {
        return Retry::CODE;
    }
    if error.downcast_ref().is_some_and(tagq_plot::Error::is_of_options) {
        return 2;
    }
    error.chain().find_map(library_code).unwrap_or(1)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let is_closed = cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe);
        let export = cause.downcast_ref::<tagq_export::Error>();
        is_closed || export.is_some_and(tagq_export::Error::is_closed_pipe)
    })
}
