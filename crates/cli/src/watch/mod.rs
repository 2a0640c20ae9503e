//! `tagq watch`: new data is ingested as it arrives, and each query is answered again.

mod parts;
mod screen;
mod status;

use std::{
    cell::RefCell,
    collections::HashSet,
    io::Write as _,
    ops::ControlFlow,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tagq::{
    Answer, Error, FollowChange, FollowLoop, Follower, Progress, Run, Waiter,
    requests::QueryContext,
};
use tagq_export::report::json;

use crate::{
    args::{PlotArgs, WatchArgs, with_flags},
    progress::Reporter,
    report,
    signals::{Stop, remove_at_end},
};
use parts::{Parts, Question, WatchedQuery};
use screen::Screen;
use status::Status;

/// Time without an answer after which a note says why.
const PATIENCE: Duration = Duration::from_millis(500);

/// Answers until a signal ends the program; returns its exit code.
pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let parts = Parts::of(args)?;
    let (mut followers, mut notes) = (Vec::new(), Vec::new());
    for watched in &parts.runs {
        let hold_back = parts.hold_back.clone();
        let mut follower = Follower::new(&watched.path, &watched.options, hold_back)?;
        // Ingest of the existing data may take long. Its errors were there before, and waiting does
        // not help.
        match follower.advance(&Reporter::new(watched.quiet)) {
            Some(FollowChange::Stopped(error)) => return Err(error.into()),
            change => notes.extend(change.map(|change| change.to_string())),
        }
        followers.push(follower);
    }
    let mut runs = FollowLoop::new(followers, Some(parts.every));
    let mut host = Host {
        parts: &parts,
        screen: Screen::new(parts.format),
        stop: Stop::on_signals()?,
        shown: None,
        age: None,
        waiting: Some(Instant::now()),
        new: RefCell::new(notes),
        said: RefCell::default(),
    };
    let mut updates = Updates::default();
    loop {
        if let ControlFlow::Break(end) = runs.wait(&mut host) {
            return end;
        }
        let begun = Instant::now();
        if let Some((answers, plots)) = updates.answers(&parts, &runs, &host)? {
            let took = begun.elapsed();
            let status = updates.count(&answers, took, &runs);
            host.waiting = None;
            if host.screen.is_lines() {
                let text =
                    json::update(status.number, seconds_now(), took.as_secs_f64(), &answers)?;
                host.show_notes()?;
                host.screen.show(&text)?;
            } else {
                host.shown = Some((report::shown(&answers, &plots), status));
                host.show_notes()?;
                host.draw(Instant::now())?;
            }
        }
        if let Some(code) = host.stop.exit_code() {
            return Ok(code.into());
        }
    }
}

/// Returns the seconds since 1970.
fn seconds_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Answers, and how each is drawn if it is.
type DrawnAnswers<'a> = (Vec<Answer>, Vec<Option<&'a PlotArgs>>);

/// The updates so far.
#[derive(Default)]
struct Updates {
    number: u64,
    /// A time in the past, and the number of tags then.
    before: Option<(Instant, u64)>,
    rate: Option<f64>,
}

impl Updates {
    /// Returns the answers to all queries, and how they are drawn; `None` while a run has no commit.
    fn answers<'a>(
        &mut self,
        parts: &'a Parts,
        runs: &FollowLoop,
        host: &Host<'_>,
    ) -> anyhow::Result<Option<DrawnAnswers<'a>>> {
        let (mut answers, mut plots) = (Vec::new(), Vec::new());
        for part in &parts.questions {
            match ask(part, parts, runs, host) {
                Ok(Some(of)) => {
                    answers.extend(of);
                    plots.resize(answers.len(), part.plot.as_ref());
                }
                Ok(None) => return Ok(None),
                // It worked before, so the error may be temporary, such as a file that cannot be read.
                Err(error) if self.number > 0 => {
                    host.say(crate::text_of(&error));
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some((answers, plots)))
    }

    /// Counts this update; returns the state of the runs.
    fn count(&mut self, answers: &[Answer], took: Duration, runs: &FollowLoop) -> Status {
        const SPAN: f64 = 2.0;
        let now = Instant::now();
        // Data of the first update may be old.
        let age = if self.number == 0 { newest_age(runs) } else { Duration::ZERO };
        let newest = now.checked_sub(age).unwrap_or(now);
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
        Status { number: self.number, took, tags, rate: self.rate, newest }
    }
}

/// Returns the time since the last change of a source of any run.
fn newest_age(runs: &FollowLoop) -> Duration {
    runs.runs().map(Run::data_age).min().unwrap_or_default()
}

/// Answers one query; returns `None` while one of its runs has no commit.
fn ask(
    part: &WatchedQuery,
    parts: &Parts,
    runs: &FollowLoop,
    host: &Host<'_>,
) -> Result<Option<Vec<Answer>>, Error> {
    let opened: Option<Vec<&Run>> = part.runs.iter().map(|&at| runs.run(at)).collect();
    let Some(opened) = opened else { return Ok(None) };
    let setups = part.runs.iter().map(|&at| &parts.runs[at].setup);
    let contexts = setups.map(|setup| QueryContext { setup, pool: &parts.pool, progress: host });
    let contexts: Vec<QueryContext<'_>> = contexts.collect();
    let runs: Vec<(&Run, &QueryContext<'_>)> = opened.into_iter().zip(&contexts).collect();
    let of_runs = |runs: &[(&Run, &QueryContext<'_>)]| match &part.question {
        Question::Request { name, options, settled } => {
            // Delays that are to be found stay as they were found first.
            let request = if let Some(request) = settled.get() {
                request
            } else {
                let found = tagq::settled(name, options, runs)?;
                settled.get_or_init(|| Box::new(found))
            };
            request.sum_beside_last(runs)
        }
        Question::Delays(delays) => Ok(delays.ask(runs[0].0, runs[0].1)?.answer),
    };
    if part.is_sum {
        return Ok(Some(vec![of_runs(&runs)?]));
    }
    runs.chunks(1).map(of_runs).collect::<Result<_, _>>().map(Some)
}

/// The terminal or file to which answers and notes are written.
struct Host<'a> {
    parts: &'a Parts,
    screen: Screen,
    stop: Stop,
    /// The answers, and the state of the runs that stands below them.
    shown: Option<(String, Status)>,
    /// The age of the data that was drawn last.
    age: Option<u64>,
    /// The time at which waiting for the first answer began.
    waiting: Option<Instant>,
    /// Notes that are not shown yet.
    new: RefCell<Vec<String>>,
    /// Notes that are not repeated.
    said: RefCell<HashSet<String>>,
}

impl Host<'_> {
    /// Shows a note at the next chance, once.
    fn say(&self, note: String) {
        if self.said.borrow_mut().insert(note.clone()) {
            self.new.borrow_mut().push(note);
        }
    }

    /// Draws the answers and the state of the runs.
    fn draw(&mut self, now: Instant) -> std::io::Result<()> {
        let Some((answers, status)) = &self.shown else { return Ok(()) };
        self.age = status.age(now);
        self.screen.show(&format!("{answers}\n{}\n", status.line(now)))
    }

    /// Draws on a terminal that no new data come.
    fn draw_age(&mut self) -> std::io::Result<()> {
        let now = Instant::now();
        let age = self.shown.as_ref().and_then(|(_, status)| status.age(now));
        if age == self.age || !self.screen.is_terminal() {
            return Ok(());
        }
        self.draw(now)
    }

    /// Writes new notes to stderr, above the answers.
    fn show_notes(&mut self) -> std::io::Result<()> {
        let new = std::mem::take(self.new.get_mut());
        let is_quiet = self.parts.runs.iter().all(|run| run.quiet);
        if new.is_empty() || is_quiet {
            return Ok(());
        }
        self.screen.clear()?;
        let reporter = Reporter::new(false);
        for note in &new {
            reporter.say(note);
        }
        anstream::stderr().flush()?;
        // The answers are drawn again even if no others come.
        self.age = None;
        Ok(())
    }
}

impl Progress for Host<'_> {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        self.say(with_flags(note));
    }

    fn temporary(&self, path: &Path) {
        remove_at_end(path);
    }
}

impl Waiter for Host<'_> {
    type End = anyhow::Result<ExitCode>;

    fn changed(&self, change: &FollowChange) {
        // The same change may come again.
        self.new.borrow_mut().push(change.to_string());
    }

    fn pause(&mut self, pause: Duration, _: u64) -> ControlFlow<Self::End> {
        if let Some(code) = self.stop.exit_code() {
            return ControlFlow::Break(Ok(code.into()));
        }
        if self.waiting.is_some_and(|since| since.elapsed() >= PATIENCE) {
            for watched in &self.parts.runs {
                self.note(&format!("{}: waiting for the first tags", watched.path.display()));
            }
        }
        if let Err(error) = self.show_notes().and_then(|()| self.draw_age()) {
            return ControlFlow::Break(Err(error.into()));
        }
        thread::sleep(pause);
        ControlFlow::Continue(())
    }
}
