//! Stores that Python writes while it records.
//!
//! With `every` 1s, the first append that comes one second or more after the last commit commits. Tags that were
//! appended are lost if the process ends before a commit; closing commits them.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use pyo3::{prelude::*, types::PyBytes};

use crate::{
    errors,
    making::{self, tags_of},
    options,
    process::OwnMutex,
};

/// Name of a recorder in error messages.
const WHAT: &str = "this recorder";

/// Writes a store in commits.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Recorder {
    recording: OwnMutex<Recording>,
    every: Duration,
}

struct Recording {
    recorder: tagq::Recorder,
    committed: Instant,
}

impl Recording {
    fn commit(&mut self) -> PyResult<()> {
        self.recorder.commit().map_err(errors::of_run)?;
        self.committed = Instant::now();
        Ok(())
    }
}

#[pymethods]
impl Recorder {
    #[new]
    #[pyo3(signature = (store, tick, micro_tick, every))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn new(
        py: Python<'_>,
        store: PathBuf,
        tick: &str,
        micro_tick: Option<&str>,
        every: &str,
    ) -> PyResult<Self> {
        let tick = options::parse("tick", tick)?;
        let micro_tick = micro_tick.map(|tick| options::parse("micro_tick", tick)).transpose()?;
        let every: tagq::store::Duration = options::parse("every", every)?;
        let every = every.on_the_clock().map_err(errors::of_run)?;
        let recorder = py.detach(|| tagq::Recorder::open(&store, tick, micro_tick));
        let recorder = recorder.map_err(errors::of_run)?;
        let recording = Recording { recorder, committed: Instant::now() };
        Ok(Self { recording: OwnMutex::new(recording), every })
    }

    /// Appends tags as [`NewStore::append`](crate::making::NewStore) takes them, and commits if it is time.
    #[pyo3(signature = (times, channels, micro = None))]
    fn append(
        &self,
        py: Python<'_>,
        times: &Bound<'_, PyBytes>,
        channels: &Bound<'_, PyBytes>,
        micro: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<()> {
        let (times, channels, micro) = tags_of(times, channels, micro);
        self.with(py, |recording| {
            let appended = recording.recorder.append(&times, &channels, &micro);
            appended.map_err(making::of_append)?;
            if recording.committed.elapsed() >= self.every { recording.commit() } else { Ok(()) }
        })
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Recording::commit)
    }

    /// Returns the number of tags since the last commit.
    fn uncommitted(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |recording| Ok(recording.recorder.uncommitted()))
    }

    fn is_closed(&self) -> PyResult<bool> {
        self.recording.with(WHAT, |recording| Ok(recording.is_none()))
    }

    /// Commits, and gives the store back.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.recording.with(WHAT, |recording| match recording.take() {
                Some(mut last) if last.recorder.uncommitted() > 0 => last.commit(),
                _ => Ok(()),
            })
        })
    }
}

impl Recorder {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Recording) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            self.recording.with(WHAT, |recording| {
                work(recording.as_mut().ok_or_else(errors::recorder_closed)?)
            })
        })
    }
}
