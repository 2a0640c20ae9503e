//! Growing runs: updating and following them.
//!
//! A wait for a commit checks for Ctrl-C, for a close in another thread and for its timeout between two polls. It holds
//! the lock of the interpreter only for that, so that other threads of Python run meanwhile.

use std::{
    cell::RefCell,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use tagq::{FollowChange, FollowLoop, HOLD_BACK, Progress, Waiter};

use crate::{
    errors::{self, question},
    options,
    origin::Origin,
    process::OwnMutex,
    run::Run,
};

/// Name of a follower in error messages.
const WHAT: &str = "what follows this run";

/// Waits for new data of a run.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Follower {
    runs: OwnMutex<FollowLoop>,
    timeout: Option<Duration>,
    /// Ends a wait in another thread.
    is_closed: AtomicBool,
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
        let follower = follower.map_err(errors::of_run)?;
        let runs = FollowLoop::new(vec![follower], Some(every.unwrap_or_default()));
        Ok(Self { runs: OwnMutex::new(runs), timeout, is_closed: AtomicBool::new(false) })
    }

    /// Waits for a commit that was not returned yet and updates `run` to it; returns true. Returns
    /// false if there is no new commit before the timeout.
    fn next(&self, py: Python<'_>, run: &Run) -> PyResult<bool> {
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut call = Call { deadline, is_closed: &self.is_closed, notes: RefCell::default() };
        let newer = py.detach(|| {
            self.runs.with(WHAT, |runs| {
                let runs = runs.as_mut().ok_or_else(errors::closed)?;
                match runs.wait(&mut call) {
                    ControlFlow::Continue(()) => Ok(runs.run(0).cloned()),
                    ControlFlow::Break(end) => end.map(|()| None),
                }
            })
        })?;
        errors::warn(py, &call.notes.take())?;
        let is_newer = newer.is_some();
        newer.map_or(Ok(()), |newer| run.replace(newer))?;
        Ok(is_newer)
    }

    /// Releases the store.
    fn close(&self, py: Python<'_>) {
        self.is_closed.store(true, Ordering::Relaxed);
        // A forked child has no follower to release.
        let _ = py.detach(|| {
            self.runs.with(WHAT, |runs| {
                *runs = None;
                Ok(())
            })
        });
    }
}

/// One call from Python that waits for a commit.
struct Call<'a> {
    deadline: Option<Instant>,
    is_closed: &'a AtomicBool,
    notes: RefCell<Vec<String>>,
}

impl Progress for Call<'_> {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, note: &str) {
        self.notes.borrow_mut().push(note.into());
    }
}

impl Waiter for Call<'_> {
    type End = PyResult<()>;

    fn changed(&self, _: usize, change: &FollowChange) {
        if let FollowChange::Stopped(_) | FollowChange::Removed(_) = change {
            self.note(&change.to_string());
        }
    }

    fn pause(&mut self, pause: Duration, _: u64) -> ControlFlow<PyResult<()>> {
        let raised = Python::attach(|py| {
            py.check_signals()?;
            errors::warn(py, &self.notes.take())
        });
        if raised.is_err() {
            return ControlFlow::Break(raised);
        }
        if self.is_closed.load(Ordering::Relaxed) {
            return ControlFlow::Break(Err(errors::closed()));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return ControlFlow::Break(Ok(()));
        }
        thread::sleep(pause);
        ControlFlow::Continue(())
    }
}

/// Parses the time to wait.
fn seconds(name: &str, text: &str) -> PyResult<Duration> {
    let duration: tagq::store::Duration = options::parse(name, text)?;
    duration.on_the_clock().map_err(|error| question(format!("{name}: {error}")))
}
