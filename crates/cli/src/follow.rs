//! `tagq ingest --follow`: new data of the sources is ingested as it arrives.
//!
//! An error of the first poll ends the command, because waiting does not help; a later one is printed, and polling goes
//! on. A signal ends it with its exit code, after the last commit was reported.

use std::{
    io::{IsTerminal as _, stderr},
    ops::ControlFlow,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use tagq::{FollowChange, FollowLoop, Follower, HOLD_BACK, OpenOptions, Progress, Run, Waiter};
use tagq_export::report::table::quantities::{counted, hertz};

use crate::{args::IngestArgs, progress::Reporter, signals::Stop};

/// Ingests new data until a signal ends the program.
pub(crate) fn run(
    source: &Path,
    options: &OpenOptions,
    args: &IngestArgs,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let hold_back = match &args.hold_back {
        Some(hold_back) => hold_back.clone(),
        None => HOLD_BACK.parse().map_err(tagq::Error::from)?,
    };
    let mut follower = Follower::new(source, options, hold_back)?;
    let stop = Stop::on_signals()?;
    let mut waiter = Foreground { reporter, stop, line: Line::new(args.store.quiet) };
    // An error of the first poll was there before, and waiting does not help.
    if let Some(FollowChange::Busy(error) | FollowChange::Stopped(error)) =
        follower.advance(&waiter)
    {
        return Err(error.into());
    }
    let mut runs = FollowLoop::new(vec![follower], None);
    let code = loop {
        if let ControlFlow::Break(code) = runs.wait(&mut waiter) {
            break code;
        }
    };
    waiter.line.clear();
    runs.refresh(&waiter);
    if let Some(run) = runs.run(0) {
        tell(run, reporter);
    }
    drop(runs);
    std::process::exit(code.into());
}

/// Shows notes and the number of tags, without a bar for each small piece of new data.
struct Foreground<'a> {
    reporter: &'a Reporter,
    stop: Stop,
    line: Line,
}

impl Progress for Foreground<'_> {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, note: &str) {
        self.reporter.note(note);
    }
}

impl Waiter for Foreground<'_> {
    /// The exit code of the signal.
    type End = u8;

    fn changed(&self, _: usize, change: &FollowChange) {
        self.reporter.say(&change.to_string());
    }

    fn pause(&mut self, pause: Duration, rows: u64) -> ControlFlow<u8> {
        if let Some(code) = self.stop.exit_code() {
            return ControlFlow::Break(code);
        }
        self.line.show(rows);
        thread::sleep(pause);
        ControlFlow::Continue(())
    }
}

/// A line on a terminal with the number of tags and their rate.
struct Line {
    bar: Option<ProgressBar>,
    /// The time and number of tags when the line was last drawn.
    before: Option<(Instant, u64)>,
}

impl Line {
    fn new(is_quiet: bool) -> Self {
        let is_shown = !is_quiet && stderr().is_terminal();
        Self { bar: is_shown.then(ProgressBar::new_spinner), before: None }
    }

    /// Draws the line again, at most once a second.
    fn show(&mut self, rows: u64) {
        let Some(bar) = &self.bar else { return };
        let (at, before) = *self.before.get_or_insert_with(|| (Instant::now(), rows));
        let seconds = at.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            let rate = hertz(rows.saturating_sub(before) as f64 / seconds);
            bar.set_message(format!("{}, {rate}", counted(rows, "tag")));
            bar.tick();
            self.before = Some((Instant::now(), rows));
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Notes the contents of the store of a run.
pub(crate) fn tell(run: &Run, reporter: &Reporter) {
    let manifest = run.store().manifest();
    reporter.note(&format!(
        "{}: {} of {} in {} (commit {})",
        run.path().display(),
        counted(manifest.rows, "tag"),
        counted(manifest.sources.len() as u64, "source"),
        run.store().folder().display(),
        manifest.commit
    ));
}
