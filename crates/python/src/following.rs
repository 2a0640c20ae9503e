//! Growing runs: updating and following them.

use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use tagq::{FollowChange, HOLD_BACK};

use crate::{
    errors::{self, question},
    options,
    origin::Origin,
    process::OwnMutex,
    run::Run,
    waiting::Told,
};

/// Name of a follower in error messages.
const WHAT: &str = "what follows this run";

/// Waits for new data of a run.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Follower {
    following: OwnMutex<Following>,
}

struct Following {
    follower: tagq::Follower,
    every: Duration,
    timeout: Option<Duration>,
    /// Time of the last new data.
    answered: Option<Instant>,
    said: HashSet<String>,
}

#[pymethods]
impl Follower {
    /// Follows a run until it is closed. Times are durations with a unit.
    #[new]
    #[pyo3(signature = (run, every = None, hold_back = None, timeout = None))]
    fn new(
        run: &Run,
        every: Option<&str>,
        hold_back: Option<&str>,
        timeout: Option<&str>,
    ) -> PyResult<Self> {
        let Origin { path, options } = run.origin()?;
        let hold_back = options::parse("hold_back", hold_back.unwrap_or(HOLD_BACK))?;
        let every = every.map(|every| seconds("every", every)).transpose()?;
        let timeout = timeout.map(|timeout| seconds("timeout", timeout)).transpose()?;
        let follower = tagq::Follower::new(&path, &options, hold_back);
        let following = Following {
            follower: follower.map_err(|e| errors::of_run(&e))?,
            every: every.unwrap_or_default(),
            timeout,
            answered: None,
            said: HashSet::new(),
        };
        Ok(Self { following: OwnMutex::new(following) })
    }

    /// Waits for a commit that was not returned yet and updates `run` to it; returns true. Returns
    /// false if there is no new commit before the timeout.
    fn next(&self, py: Python<'_>, run: &Run) -> PyResult<bool> {
        let begun = Instant::now();
        loop {
            py.check_signals()?;
            let told = Told::default();
            let step = py.detach(|| self.with(|following| Ok(following.step(&told))));
            let (newer, mut notes) = step?;
            notes.extend(told.take_notes());
            errors::warn(py, &self.with(|following| Ok(following.unsaid(notes)))?)?;
            if let Some(newer) = newer {
                run.replace(newer)?;
                return Ok(true);
            }
            if self.with(|following| Ok(following.is_over(begun)))? {
                return Ok(false);
            }
            let pause = self.with(|following| Ok(following.follower.pause()))?;
            py.detach(|| thread::sleep(pause));
        }
    }

    /// Releases the store.
    fn close(&self) {
        // A forked child has no follower to release.
        let _ = self.following.with(WHAT, |following| {
            *following = None;
            Ok(())
        });
    }
}

impl Follower {
    fn with<T>(&self, what: impl FnOnce(&mut Following) -> PyResult<T>) -> PyResult<T> {
        self.following.with(WHAT, |following| what(following.as_mut().ok_or_else(errors::closed)?))
    }
}

impl Following {
    /// Ingests new data. Returns the run if it has a commit that was not returned yet, and notes for
    /// the user.
    fn step(&mut self, told: &Told) -> (Option<tagq::Run>, Vec<String>) {
        let mut notes = Vec::new();
        if let Some(FollowChange::Stopped(error)) = self.follower.advance(told) {
            notes.push(format!("{error}; trying again"));
        }
        if self.answered.is_some_and(|at| at.elapsed() < self.every) {
            return (None, notes);
        }
        match self.follower.newer() {
            Ok(Some(run)) => {
                self.answered = Some(Instant::now());
                (Some(run), notes)
            }
            Ok(None) => (None, notes),
            Err(error) => {
                notes.push(error.to_string());
                (None, notes)
            }
        }
    }

    /// Returns the notes that were not emitted before.
    fn unsaid(&mut self, notes: Vec<String>) -> Vec<String> {
        notes.into_iter().filter(|note| self.said.insert(note.clone())).collect()
    }

    fn is_over(&self, begun: Instant) -> bool {
        self.timeout.is_some_and(|timeout| begun.elapsed() >= timeout)
    }
}

/// Parses the time to wait.
fn seconds(name: &str, text: &str) -> PyResult<Duration> {
    let duration: tagq::store::Duration = options::parse(name, text)?;
    duration.on_the_clock().map_err(|error| question(format!("{name}: {error}")))
}
