//! The parameters with which a run was opened.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use pyo3::prelude::*;
use tagq::OpenOptions;

use crate::waiting::wait;

/// The parameters with which a run was opened, used to open it again.
#[derive(Clone)]
pub(crate) struct Origin {
    pub path: PathBuf,
    pub options: OpenOptions,
}

impl Origin {
    /// Returns the origin of a store that only changes by its own commits.
    pub fn of_store(run: &tagq::Run) -> Self {
        let options = OpenOptions { ingest: false, ..OpenOptions::default() };
        Self { path: run.store().folder().into(), options }
    }

    /// Opens the run in its current state, including new data of its sources.
    pub fn open_again(&self, py: Python<'_>) -> PyResult<tagq::Run> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let options =
            OpenOptions { cancelled: Some(Arc::clone(&cancelled)), ..self.options.clone() };
        wait(py, None, &cancelled, |told| tagq::open(&self.path, &options, told))
    }
}
