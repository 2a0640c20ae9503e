//! `tagq watch`: what is recorded is taken as it comes, and each question answered again.

mod parts;
mod screen;

use std::{
    cell::RefCell,
    collections::HashSet,
    io::Write as _,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tagq::{
    Answer, Error, FollowChange, Follower, Progress, Run,
    requests::{QueryContext, Request},
};

use crate::{
    args::WatchArgs,
    follow::told,
    progress::Reporter,
    report::{self, hertz, thousands},
    signals::{Stop, remove_at_end},
};
use parts::{Part, Parts};
use screen::Screen;

/// Answers until a signal says stop; its exit code.
pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let parts = Parts::of(args)?;
    let mut followed = Vec::new();
    let notes = Notes::default();
    for watched in &parts.runs {
        let hold_back = parts.hold_back.clone();
        let mut follower = Follower::new(&watched.path, &watched.options, hold_back)?;
        // What is there already may take long, and what stops it now is no matter of waiting.
        match follower.advance(&Reporter::new(watched.quiet)) {
            Some(FollowChange::Stopped(error)) => return Err(error.into()),
            Some(FollowChange::Busy(_)) => notes.add(BUSY),
            Some(FollowChange::Resumed) | None => {}
        }
        followed.push(Followed { follower, run: None });
    }
    let stop = Stop::on_signals()?;
    let mut screen = Screen::new(parts.format);
    let mut updates = Updates::default();
    let begun = Instant::now();
    loop {
        if let Some(code) = stop.exit_code() {
            return Ok(ExitCode::from(code));
        }
        for of in &mut followed {
            match of.follower.advance(&notes) {
                Some(FollowChange::Busy(_)) => notes.add(BUSY),
                Some(change) => notes.add(&told(&change)),
                None => {}
            }
        }
        let before = updates.number;
        if updates.is_due(&parts, &followed) {
            let since = Instant::now();
            for of in &mut followed {
                of.refresh(&notes);
            }
            if let Some((answers, are_plots)) = updates.answers(&parts, &followed, &notes)? {
                let took = since.elapsed();
                let status = updates.count(&answers, took);
                let text = if screen.is_lines() {
                    report::update(updates.number, seconds_now(), took, &answers)?
                } else {
                    format!("{}\n{status}\n", report::shown(&answers, &are_plots))
                };
                notes.tell(&mut screen, &parts)?;
                screen.show(&text)?;
            }
        }
        if updates.number == 0 && begun.elapsed() >= PATIENCE {
            for watched in &parts.runs {
                notes.note(&format!("{}: waiting for the first tags", watched.path.display()));
            }
        }
        notes.tell(&mut screen, &parts)?;
        // More may have come while this was counted.
        if updates.number == before {
            let pause = followed.iter().map(|of| of.follower.pause()).max();
            thread::sleep(pause.unwrap_or_default());
        }
    }
}

/// Note while another process holds the lock of the store.
const BUSY: &str = "another process takes what is recorded; its commits are followed";
/// After so long without anything to show a person wants to know why.
const PATIENCE: Duration = Duration::from_millis(500);

/// Seconds since 1970.
fn seconds_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// A run that is followed.
struct Followed {
    follower: Follower,
    /// As of the last commit that was asked.
    run: Option<Run>,
}

impl Followed {
    fn refresh(&mut self, notes: &Notes) {
        match self.follower.newer() {
            Ok(Some(run)) => self.run = Some(run),
            Ok(None) => {}
            Err(error) => notes.note(&error.to_string()),
        }
    }
}

/// Answers that were given.
#[derive(Default)]
struct Updates {
    number: u64,
    at: Option<Instant>,
    /// When there were how many tags, a while ago.
    before: Option<(Instant, u64)>,
    rate: Option<f64>,
}

impl Updates {
    fn is_due(&self, parts: &Parts, followed: &[Followed]) -> bool {
        let is_time = self.at.is_none_or(|at| at.elapsed() >= parts.every);
        is_time && followed.iter().any(|of| of.follower.is_newer())
    }

    /// The answers to all questions, and which of them are drawn; nothing while a run has nothing.
    fn answers(
        &mut self,
        parts: &Parts,
        followed: &[Followed],
        notes: &Notes,
    ) -> anyhow::Result<Option<(Vec<Answer>, Vec<bool>)>> {
        let (mut answers, mut are_plots) = (Vec::new(), Vec::new());
        for part in &parts.questions {
            match ask(part, parts, followed, notes) {
                Ok(Some(of)) => {
                    answers.extend(of);
                    are_plots.resize(answers.len(), part.is_plot);
                }
                Ok(None) => return Ok(None),
                // It worked before: this is of the moment, as a file that cannot be read.
                Err(error) if self.number > 0 => {
                    notes.note(&error.to_string());
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.at = Some(Instant::now());
        Ok(Some((answers, are_plots)))
    }

    /// Counts this update, and says on a line where the runs are.
    fn count(&mut self, answers: &[Answer], took: Duration) -> String {
        const SPAN: f64 = 2.0;
        self.number += 1;
        let mut paths = HashSet::new();
        let tags = answers.iter().filter(|answer| paths.insert(&answer.run.path));
        let tags: u64 = tags.map(|answer| answer.run.tags).sum();
        let (at, before) = *self.before.get_or_insert_with(|| (Instant::now(), tags));
        let seconds = at.elapsed().as_secs_f64();
        if seconds >= SPAN {
            self.rate = Some(tags.saturating_sub(before) as f64 / seconds);
            self.before = Some((Instant::now(), tags));
        }
        let rate = self.rate.map_or(String::new(), |rate| format!(", {} recorded", hertz(rate)));
        let (tags, number, took) = (thousands(tags), self.number, took.as_millis());
        format!("{tags} tags{rate}; update {number} in {took} ms; Ctrl-C ends")
    }
}

/// One question to its runs; nothing while one of them has nothing.
fn ask(
    part: &Part,
    parts: &Parts,
    followed: &[Followed],
    notes: &Notes,
) -> Result<Option<Vec<Answer>>, Error> {
    let mut runs = Vec::new();
    let mut contexts = Vec::new();
    for &at in &part.runs {
        let Some(run) = &followed[at].run else { return Ok(None) };
        runs.push(run);
        contexts.push(QueryContext {
            setup: &parts.runs[at].setup,
            pool: &parts.pool,
            progress: notes,
        });
    }
    let runs: Vec<(&Run, &QueryContext<'_>)> = runs.into_iter().zip(&contexts).collect();
    if part.is_sum {
        return Ok(Some(vec![answer(&part.question, &runs)?]));
    }
    runs.chunks(1).map(|run| answer(&part.question, run)).collect::<Result<_, _>>().map(Some)
}

fn answer(question: &Request, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
    match &question.selection().last {
        Some(last) if !question.is_trace() => question.sum_beside_last(runs, last),
        _ => question.sum(runs),
    }
}

/// Notes between two answers, each said once.
#[derive(Default)]
struct Notes {
    new: RefCell<Vec<String>>,
    said: RefCell<HashSet<String>>,
}

impl Notes {
    /// Says it even if it was said before.
    fn add(&self, note: &str) {
        self.new.borrow_mut().push(note.into());
    }

    /// Writes what is new to stderr, above what is shown.
    fn tell(&self, screen: &mut Screen, parts: &Parts) -> std::io::Result<()> {
        let new = std::mem::take(&mut *self.new.borrow_mut());
        let is_quiet = parts.runs.iter().all(|run| run.quiet);
        if new.is_empty() || is_quiet {
            return Ok(());
        }
        screen.clear()?;
        let reporter = Reporter::new(false);
        for note in &new {
            reporter.note(note);
        }
        anstream::stderr().flush()
    }
}

impl Progress for Notes {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        if self.said.borrow_mut().insert(note.into()) {
            self.add(note);
        }
    }

    fn temporary(&self, path: &Path) {
        remove_at_end(path);
    }
}
