//! The served runs at their last commits, which one thread follows.
//!
//! An answer holds its runs at one commit: a commit that comes while it is counted changes nothing in it. If a run
//! cannot be ingested, its last commit is still served, and its state says why nothing new comes. Clients are not told
//! of files outside of the run.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use axum::http::StatusCode;
use serde::Serialize;
use tagq::{FollowChange, FollowLoop, Follower, Progress, Run, RunFacts, Waiter, requests::Setup};
use tokio::sync::watch;

use crate::error::Refusal;

/// Shortest time between two commits that are answered.
const INTERVAL: Duration = Duration::from_millis(50);

/// A run to serve.
#[derive(Debug)]
pub struct ServedRun {
    /// The name by which clients ask for it: the path as the user gave it.
    pub name: String,
    /// Names, delays and groups of the experiment.
    pub setup: Setup,
    /// Ingests what is new.
    pub follower: Follower,
}

/// The runs at one commit of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commits {
    /// Number of changes so far.
    pub number: u64,
    /// `None` before the first commit of a run.
    pub runs: Vec<Option<Run>>,
}

/// The runs that clients can ask for.
pub(crate) struct Runs {
    named: Vec<(String, Setup)>,
    problems: Problems,
    pub commits: watch::Receiver<Commits>,
}

/// For each run, the reason why nothing new is ingested; `None` while all is well.
type Problems = Arc<Mutex<Vec<Option<String>>>>;

/// The state of a run, as `/api/run` tells it.
#[derive(Serialize)]
pub(crate) struct RunState<'a> {
    index: usize,
    name: &'a str,
    /// Time since the last change of a source.
    age_s: Option<f64>,
    facts: Option<RunFacts>,
    /// Why nothing new is ingested, while that is so.
    problem: Option<String>,
}

impl Runs {
    /// Follows the runs on a thread of their own until `stop` is set; `progress` receives notes.
    pub fn follow(
        runs: Vec<ServedRun>,
        stop: &Arc<AtomicBool>,
        progress: Arc<dyn Progress + Send + Sync>,
    ) -> std::io::Result<(Self, thread::JoinHandle<()>)> {
        let (mut named, mut followers) = (Vec::new(), Vec::new());
        for ServedRun { name, setup, follower } in runs {
            named.push((name, setup));
            followers.push(follower);
        }
        let count = named.len();
        let mut followed = FollowLoop::new(followers, Some(INTERVAL));
        let problems = Problems::new(Mutex::new(vec![None; count]));
        let names = named.iter().map(|(name, _)| name.clone()).collect();
        let stop = Arc::clone(stop);
        let mut host = Host { stop, progress, names, problems: Arc::clone(&problems) };
        // Rows that were ingested before are there from the first request on.
        followed.refresh(&host);
        let opened = move |followed: &FollowLoop| -> Vec<Option<Run>> {
            (0..count).map(|at| followed.run(at).cloned()).collect()
        };
        let (sender, commits) = watch::channel(Commits { number: 0, runs: opened(&followed) });
        let follow = move || {
            while followed.wait(&mut host).is_continue() {
                let runs = opened(&followed);
                sender.send_modify(|commits| {
                    *commits = Commits { number: commits.number + 1, runs };
                });
            }
        };
        let thread = thread::Builder::new().name("follow".into()).spawn(follow)?;
        Ok((Self { named, problems, commits }, thread))
    }

    /// Returns the number of the run with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.named.iter().position(|(own, _)| own == name)
    }

    pub fn len(&self) -> usize {
        self.named.len()
    }

    /// Returns runs at their last commits.
    pub fn open(&self, numbers: impl Iterator<Item = usize>) -> Result<Vec<Run>, Refusal> {
        self.at(&self.commits.borrow(), numbers)
    }

    /// Returns runs at these commits.
    pub fn at(
        &self,
        commits: &Commits,
        numbers: impl Iterator<Item = usize>,
    ) -> Result<Vec<Run>, Refusal> {
        let run = |at: usize| {
            commits.runs[at].clone().ok_or_else(|| {
                let reason = format!("{}: has no tags yet", self.named[at].0);
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, reason)
            })
        };
        numbers.map(run).collect()
    }

    pub fn name(&self, at: usize) -> &str {
        &self.named[at].0
    }

    pub fn setup(&self, at: usize) -> &Setup {
        &self.named[at].1
    }

    /// Returns the facts about all runs.
    pub fn states(&self) -> Vec<RunState<'_>> {
        let opened = self.commits.borrow().runs.clone();
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let named = self.named.iter().zip(opened).zip(problems).enumerate();
        let states = named.map(|(index, (((name, setup), run), problem))| RunState {
            index,
            name,
            age_s: run.as_ref().map(|run| run.data_age().as_secs_f64()),
            facts: run.as_ref().map(|run| RunFacts::named(run, setup)),
            problem,
        });
        states.collect()
    }
}

/// The surroundings of the loop that follows.
struct Host {
    stop: Arc<AtomicBool>,
    progress: Arc<dyn Progress + Send + Sync>,
    names: Vec<String>,
    problems: Problems,
}

impl Progress for Host {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        self.progress.note(note);
    }

    fn temporary(&self, path: &Path) {
        self.progress.temporary(path);
    }
}

impl Waiter for Host {
    type End = ();

    fn changed(&self, run: usize, change: &FollowChange) {
        let text = change.to_string();
        self.note(&text);
        let problem = match change {
            FollowChange::Stopped(_) if text.starts_with(&self.names[run]) => Some(text),
            // It may name files that clients do not know.
            FollowChange::Stopped(_) => {
                Some("the run cannot be ingested; the server has written why".into())
            }
            FollowChange::Removed(_) => {
                Some("the store was removed; the answers are of its last commit".into())
            }
            FollowChange::Busy(_) | FollowChange::Resumed => None,
        };
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)[run] = problem;
    }

    fn pause(&mut self, pause: Duration, _: u64) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        thread::sleep(pause);
        ControlFlow::Continue(())
    }
}
