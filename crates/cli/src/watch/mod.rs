//! `tagq watch`: new data is ingested as it arrives, and each query is answered again.
//!
//! `host` is the screen with its keys: `keys` reads them, `state` has their choices, `change` makes other options of
//! them, and `view` with `rows`, `recent` and `big` makes the text that is drawn. An error after a change of a key
//! takes the change back; an error of a query that was answered before is shown, and the watch goes on, because it may
//! be temporary.

mod big;
mod change;
mod host;
mod keys;
mod parts;
mod recent;
mod rows;
mod screen;
mod state;
mod status;
mod view;

use std::{
    collections::HashSet,
    ops::ControlFlow,
    process::ExitCode,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tagq::{
    Answer, Error, FollowChange, FollowLoop, Follower, Progress, Run, Silent,
    requests::QueryContext,
};
use tagq_export::report::json;

use crate::{args::WatchArgs, progress::Reporter};
use host::{Host, Wake};
use parts::{Parts, WatchedQuery};
use screen::Screen;
use status::Status;

/// Answers until a signal or a key ends the program; returns its exit code.
pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let mut parts = Parts::of(args)?;
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
    let queries = std::mem::take(&mut parts.queries);
    let mut host = Host::new(&parts, queries, notes)?;
    let mut updates = Updates::default();
    loop {
        if let ControlFlow::Break(Wake::End(end)) = runs.wait(&mut host) {
            return end;
        }
        if !host.state.paused || host.has_changes() {
            updates.answer(&parts, &runs, &mut host)?;
        }
        if args.updates.is_some_and(|last| updates.number >= last) {
            return Ok(ExitCode::SUCCESS);
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

/// Answers, each with the number of its query.
type Answers = (Vec<Answer>, Vec<usize>);

/// Returns the answers to all queries; `None` while a run has no commit.
fn answers(parts: &Parts, runs: &FollowLoop, host: &Host<'_>) -> Result<Option<Answers>, Error> {
    let (mut answers, mut queries) = (Vec::new(), Vec::new());
    for (at, query) in host.queries.iter().enumerate() {
        let Some(of) = ask(query, parts, runs, host)? else { return Ok(None) };
        answers.extend(of);
        queries.resize(answers.len(), at);
    }
    Ok(Some((answers, queries)))
}

/// The updates so far.
#[derive(Default)]
struct Updates {
    number: u64,
    /// A time in the past, and the number of tags then.
    before: Option<(Instant, u64)>,
    rate: Option<f64>,
}

impl Updates {
    /// Answers all queries, after the changes that keys asked for, and shows the answers.
    fn answer(
        &mut self,
        parts: &Parts,
        runs: &FollowLoop,
        host: &mut Host<'_>,
    ) -> anyhow::Result<()> {
        let before = host.change(|query| match query.runs[..] {
            [run] => runs.run(run).and_then(time_last),
            _ => None,
        });
        let begun = Instant::now();
        let (answers, queries) = match answers(parts, runs, host) {
            Ok(Some(answers)) => answers,
            Ok(None) => return Ok(()),
            Err(error) if !before.is_empty() => {
                return Ok(host.undo(before, crate::text_of(&error))?);
            }
            // It worked before, so the error may be temporary, such as a file that cannot be read.
            Err(error) if self.number > 0 => {
                host.say(crate::text_of(&error));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let took = begun.elapsed();
        let status = self.count(&answers, took, runs);
        host.answered();
        if !host.screen.is_lines() {
            return Ok(host.show(answers, queries, status)?);
        }
        let mut line = Vec::new();
        json::update(status.number, [seconds_now(), took.as_secs_f64()], &answers, &mut line)?;
        host.show_notes()?;
        Ok(Screen::append(&line)?)
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

/// Returns the last time of a run; `None` if it has no tags.
fn time_last(run: &Run) -> Option<i64> {
    run.store().manifest().time_last
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
    // Right after a reset nothing is selected, and no note has to say so.
    let is_reset = part.is_reset_at(opened.first().and_then(|run| time_last(run)));
    let progress: &dyn Progress = if is_reset { &Silent } else { host };
    let setups = part.runs.iter().map(|&at| &parts.runs[at].setup);
    let contexts = setups.map(|setup| QueryContext::new(setup, &parts.pool, progress));
    let contexts: Vec<QueryContext<'_>> = contexts.collect();
    let runs: Vec<(&Run, &QueryContext<'_>)> = opened.into_iter().zip(&contexts).collect();
    let of_runs = |runs: &[(&Run, &QueryContext<'_>)]| part.question.ask(runs);
    if part.is_sum {
        return Ok(Some(vec![of_runs(&runs)?]));
    }
    runs.chunks(1).map(of_runs).collect::<Result<_, _>>().map(Some)
}
