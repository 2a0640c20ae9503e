//! Long-running work: it runs on another thread, while this thread reports progress and handles Ctrl-C.
//!
//! A question runs on one of the threads that count: starting a thread, and handing each scan from it to these, would take
//! longer than a scan of 500,000 tags. Other work, which may wait for a disk, has a thread of its own.
//!
//! Every 50 ms Python may call its handlers of signals and the callback; an exception in one of them cancels the work,
//! and is raised after the work has ended. The lock of the interpreter is free in between.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use pyo3::prelude::*;
use rayon::ThreadPool;
use tagq::{Progress, query::ScanProgress};

use crate::errors;

/// Interval for checking Python signals and reporting progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The messages of the work.
#[derive(Default)]
pub(crate) struct PythonProgress {
    source: Mutex<Option<Source>>,
    notes: Mutex<Vec<String>>,
    progress: ScanProgress,
}

/// The source that is being read.
#[derive(Clone)]
struct Source {
    name: String,
    bytes: u64,
    read: Arc<AtomicU64>,
}

impl PythonProgress {
    /// Returns the notes so far, each once.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn source_now(&self) -> Option<Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for PythonProgress {
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        let source = Source { name: name.into(), bytes, read: Arc::clone(read) };
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
    }

    fn done(&self) {}

    fn scan(&self) -> Option<&ScanProgress> {
        Some(&self.progress)
    }

    fn note(&self, note: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note.into());
    }
}

/// Runs `work` on a thread of its own, without the lock of the interpreter. `callback` is called with the name of the source,
/// the bytes read and its length; an exception in it, or Ctrl-C, sets `cancelled`, cancels queries and
/// so ends the work.
pub(crate) fn wait<T: Send, E: Into<tagq::Error> + Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    cancelled: &AtomicBool,
    work: impl FnOnce(&PythonProgress) -> Result<T, E> + Send,
) -> PyResult<T> {
    wait_for(py, None, callback, cancelled, work)
}

/// Runs `work` in a pool, without the lock of the interpreter. Ctrl-C cancels queries and so ends the work.
pub(crate) fn wait_in<T: Send, E: Into<tagq::Error> + Send>(
    py: Python<'_>,
    pool: &ThreadPool,
    work: impl FnOnce(&PythonProgress) -> Result<T, E> + Send,
) -> PyResult<T> {
    wait_for(py, Some(pool), None, &AtomicBool::default(), work)
}

fn wait_for<T: Send, E: Into<tagq::Error> + Send>(
    py: Python<'_>,
    pool: Option<&ThreadPool>,
    callback: Option<&Py<PyAny>>,
    cancelled: &AtomicBool,
    work: impl FnOnce(&PythonProgress) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (told, is_done) = (PythonProgress::default(), AtomicBool::new(false));
    let mut result = None;
    py.detach(|| {
        let (told, is_done, result) = (&told, &is_done, &mut result);
        let waiting = thread::current();
        let work = move || {
            let _done = Done { is_done, waiting };
            *result = Some(work(told));
        };
        let watch = || {
            let mut raised = Ok(());
            while !is_done.load(Ordering::Acquire) {
                thread::park_timeout(INTERVAL);
                if raised.is_ok() && !is_done.load(Ordering::Acquire) {
                    raised = Python::attach(|py| report(py, told, callback));
                    if raised.is_err() {
                        cancelled.store(true, Ordering::Relaxed);
                        told.progress.cancel();
                    }
                }
            }
            raised
        };
        // A panic of the work is resumed in this thread.
        match pool {
            Some(pool) => pool.in_place_scope(|scope| {
                scope.spawn(|_| work());
                watch()
            }),
            None => thread::scope(|scope| {
                let worker = scope.spawn(work);
                let raised = watch();
                worker.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault));
                raised
            }),
        }
    })?;
    let result = result.expect("the work ended without a panic");
    if let (Some(source), Some(callback)) = (told.source_now(), callback)
        && result.is_ok()
    {
        callback.call1(py, (&source.name, source.bytes, source.bytes))?;
    }
    errors::warn(py, &told.take_notes())?;
    result.map_err(errors::of_run)
}

/// Wakes the waiting thread when the work is done, also by a panic.
struct Done<'a> {
    is_done: &'a AtomicBool,
    waiting: thread::Thread,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        // Before the thread is woken: it would wait for another interval if it woke first.
        self.is_done.store(true, Ordering::Release);
        self.waiting.unpark();
    }
}

fn report(py: Python<'_>, told: &PythonProgress, callback: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let (Some(source), Some(callback)) = (told.source_now(), callback) {
        let read = source.read.load(Ordering::Relaxed).min(source.bytes);
        callback.call1(py, (&source.name, read, source.bytes))?;
    }
    Ok(())
}
