//! The Python package `tagq`: the layer between the library and Python.
//!
//! The package itself, with its arguments and docstrings, is written in Python (`python/tagq/`); this
//! module is `tagq._tagq` below it. Results and tags are exported as Arrow streams, columns as views of
//! the memory-mapped store; other Python threads run while a query counts.

mod answer;
mod catalogue;
mod errors;
mod following;
mod lists;
mod making;
mod options;
mod origin;
mod parts;
mod process;
mod recording;
mod run;
mod saving;
mod simulating;
mod stream;
mod tags;
mod tools;
mod tuples;
mod waiting;

use pyo3::prelude::*;

/// The part of the package `tagq` that is not Python. A free-threaded interpreter turns its lock on when it imports this
/// module: mutexes here rely on it when a process is forked.
#[pymodule(gil_used = true)]
mod _tagq {
    #[pymodule_export]
    use crate::{
        answer::Answer,
        catalogue::Catalogue,
        following::Follower,
        lists::PyLists,
        making::NewStore,
        options::{fit_options, query_types},
        parts::PyPlan,
        recording::Recorder,
        run::{Repeated, Run, ask_sum, fit_sum, ingest, open, scan_sum},
        simulating::simulate,
        tags::{Batch, PyColumn, Scan, SelectedTags},
        tools::{convert, derive, export, info, merge, name, reproduce, set, verify},
        tuples::Tuples,
    };

    use pyo3::prelude::*;

    /// Escapes terminal control and bidirectional characters of a text, and puts it on one line.
    #[pyfunction]
    fn escaped(text: &str) -> String {
        tagq::escaped(text).into_owned()
    }

    /// Returns each way in which each query is asked, as its name and its options in JSON, for tests.
    #[pyfunction]
    fn cases() -> Vec<(&'static str, String)> {
        let text = |options| serde_json::Value::Object(options).to_string();
        tagq::cases().into_iter().map(|(name, options)| (name, text(options))).collect()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
