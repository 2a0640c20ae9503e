//! Steps of a check: each is run to its end, and a table at the end has their seconds. A step that fails does not end
//! the others, but the exit code; one that is skipped says why.

use std::{
    io::{self, Write as _},
    process::{Command, ExitCode},
    time::Instant,
};

/// A step that has ended.
pub(crate) struct Step {
    name: &'static str,
    seconds: f64,
    ended: Ended,
}

enum Ended {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Step {
    /// Runs a step.
    pub(crate) fn run(name: &'static str, work: impl FnOnce() -> io::Result<()>) -> Self {
        let start = Instant::now();
        let ended =
            work().map_or_else(|error| Ended::Failed(error.to_string()), |()| Ended::Passed);
        Self { name, seconds: start.elapsed().as_secs_f64(), ended }
    }
}

/// The steps of a check, in the order in which they ended.
#[derive(Default)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    pub(crate) fn run(&mut self, name: &'static str, work: impl FnOnce() -> io::Result<()>) {
        eprintln!("== {name}");
        self.add(Step::run(name, work));
    }

    /// Notes that a step was left out, and why.
    pub(crate) fn skip(&mut self, name: &'static str, why: &str) {
        eprintln!("== {name}: skipped: {why}");
        self.0.push(Step { name, ended: Ended::Skipped(why.to_owned()), seconds: 0.0 });
    }

    pub(crate) fn add(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Whether no step has failed.
    pub(crate) fn has_passed(&self) -> bool {
        !self.0.iter().any(|step| matches!(step.ended, Ended::Failed(_)))
    }

    /// Prints the seconds of each step, why steps failed, and why they were left out.
    pub(crate) fn finish(self) -> ExitCode {
        for Step { name, seconds, ended } in &self.0 {
            match ended {
                Ended::Passed => eprintln!("{seconds:7.1} s  {name}"),
                Ended::Failed(why) => eprintln!("{seconds:7.1} s  {name}: FAILED: {why}"),
                Ended::Skipped(why) => eprintln!("      –    {name}: skipped: {why}"),
            }
        }
        if self.has_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Runs commands that must succeed while others print, and prints what each said when it has ended.
pub(crate) fn aside(commands: impl IntoIterator<Item = Command>) -> io::Result<()> {
    let mut failed = Vec::new();
    for mut command in commands {
        let shown = command.get_program().display().to_string();
        let args: Vec<_> = command.get_args().map(|arg| arg.display().to_string()).collect();
        let shown = format!("{shown} {}", args.join(" "));
        let output = command.output()?;
        let mut out = io::stdout().lock();
        writeln!(out, "== {shown}")?;
        out.write_all(&output.stdout)?;
        out.write_all(&output.stderr)?;
        if !output.status.success() {
            failed.push(shown);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(failed.join("; "))) }
}
