//! The runs in a folder.

use std::{ffi::OsString, path::PathBuf, sync::atomic::AtomicBool};

use arrow_array::RecordBatchIterator;
use pyo3::{prelude::*, types::PyCapsule};
use tagq::{FoundRun, RunFilter};

use crate::{errors, options, stream, waiting::wait};

/// A list of runs.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Catalogue {
    runs: Vec<FoundRun>,
}

#[pymethods]
impl Catalogue {
    /// Finds the runs in a folder that ended in a span of time and whose names fit a pattern.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        since: Option<&str>,
        until: Option<&str>,
        name: Option<&str>,
    ) -> PyResult<Self> {
        let wanted = RunFilter {
            since: since.map(|text| options::parse("since", text)).transpose()?,
            until: until.map(|text| options::parse("until", text)).transpose()?,
            name: name.map(|text| options::parse("name", text)).transpose()?,
        };
        let runs =
            wait(py, None, &AtomicBool::default(), |told| tagq::runs(&folder, &wanted, told));
        Ok(Self { runs: runs? })
    }

    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// Returns the paths of the runs; bytes that are not UTF-8 as the operating system module of Python has them.
    fn paths(&self) -> Vec<OsString> {
        self.runs.iter().map(|run| run.path.clone().into_os_string()).collect()
    }

    /// Returns the runs as the JSON of the command line has them.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.runs).map_err(errors::of_run)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a requested schema, but the types of the list leave no choice.
        drop(requested_schema);
        let batch = tagq_export::batch_of_runs(&self.runs).map_err(errors::of_export)?;
        let schema = batch.schema();
        stream::export(py, RecordBatchIterator::new([Ok(batch)], schema))
    }
}
