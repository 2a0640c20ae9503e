//! `tagq ingest --follow`: what is recorded is taken as it comes.

use std::{
    io::{IsTerminal as _, stderr},
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::Instant,
};

use indicatif::ProgressBar;
use tagq::{FollowChange, Follower, HOLD_BACK, Options, Progress, Run};

use crate::{
    args::IngestArgs,
    progress::Reporter,
    report::{hertz, thousands},
    signals::Stop,
};

/// Takes what comes until a signal says stop.
pub(crate) fn run(
    source: &Path,
    options: &Options,
    args: &IngestArgs,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let hold_back = match &args.hold_back {
        Some(hold_back) => hold_back.clone(),
        None => HOLD_BACK.parse().map_err(tagq::Error::from)?,
    };
    let mut follower = Follower::new(source, options, hold_back)?;
    let stop = Stop::on_signals()?;
    // What stops the first step was there before, and is no matter of waiting.
    if let Some(FollowChange::Busy(error) | FollowChange::Stopped(error)) =
        follower.advance(&NotesOnly(reporter))
    {
        return Err(error.into());
    }
    let mut line = Line::new(args.store.quiet);
    loop {
        if let Some(code) = stop.exit_code() {
            line.clear();
            if let Ok(run) = follower.run() {
                tell(&run, reporter);
            }
            drop(follower);
            std::process::exit(code.into());
        }
        if let Some(change) = follower.advance(&NotesOnly(reporter)) {
            reporter.note(&told(&change));
        }
        line.show(follower.rows());
        thread::sleep(follower.pause());
    }
}

/// What a person is told of it.
pub(crate) fn told(change: &FollowChange) -> String {
    match change {
        FollowChange::Busy(_) => "another process takes what is recorded; trying again".to_owned(),
        FollowChange::Stopped(error) => format!("{error}; trying again"),
        FollowChange::Resumed => "it goes on".to_owned(),
    }
}

/// Passes on notes alone: what is new is small each time, and has no bar.
pub(crate) struct NotesOnly<'a>(pub &'a Reporter);

impl Progress for NotesOnly<'_> {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, note: &str) {
        self.0.note(note);
    }
}

/// A line on a terminal that says how many tags are there.
struct Line {
    bar: Option<ProgressBar>,
    /// When there were how many, last.
    before: Option<(Instant, u64)>,
}

impl Line {
    fn new(is_quiet: bool) -> Self {
        let is_shown = !is_quiet && stderr().is_terminal();
        Self { bar: is_shown.then(ProgressBar::new_spinner), before: None }
    }

    /// Once a second.
    fn show(&mut self, rows: u64) {
        let Some(bar) = &self.bar else { return };
        let (at, before) = *self.before.get_or_insert_with(|| (Instant::now(), rows));
        let seconds = at.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            let rate = hertz(rows.saturating_sub(before) as f64 / seconds);
            bar.set_message(format!("{} tags, {rate}", thousands(rows)));
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

/// Notes what the store of a run holds now.
pub(crate) fn tell(run: &Run, reporter: &Reporter) {
    let manifest = run.store().manifest();
    reporter.note(&format!(
        "{}: {} tags of {} sources in {} (commit {})",
        run.path().display(),
        thousands(manifest.rows),
        manifest.sources.len(),
        run.store().folder().display(),
        manifest.commit
    ));
}
