//! How a run was opened.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use pyo3::prelude::*;
use tagq::Options;

use crate::waiting::wait;

/// How a run was opened, and is opened again.
#[derive(Clone)]
pub(crate) struct Origin {
    pub path: PathBuf,
    pub options: Options,
}

impl Origin {
    /// A store from which only its own commits can come.
    pub fn of_store(run: &tagq::Run) -> Self {
        let options = Options { ingest: false, ..Options::default() };
        Self { path: run.store().folder().into(), options }
    }

    /// The run as it is now, with what its sources have grown by.
    pub fn open_again(&self, py: Python<'_>) -> PyResult<tagq::Run> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let options = Options { cancelled: Some(Arc::clone(&cancelled)), ..self.options.clone() };
        wait(py, None, &cancelled, |told| tagq::open(&self.path, &options, told))
    }
}
