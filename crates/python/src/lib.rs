//! The Python package `tagq`: what stands between the library and Python.
//!
//! The package itself, with its words and docstrings, is Python (`python/tagq/`); this module is
//! `tagq._tagq` below it. Results and tags leave as Arrow streams, columns as arrays that lie in the
//! mapping of the store; while a query counts, other threads of Python run.

mod answer;
mod errors;
mod following;
mod making;
mod origin;
mod process;
mod run;
mod stream;
mod tags;
mod tuples;
mod waiting;
mod words;

use pyo3::prelude::*;

/// The part of the package `tagq` that is not Python.
#[pymodule]
mod _tagq {
    #[pymodule_export]
    use crate::{
        answer::Answer,
        following::Follower,
        making::NewStore,
        run::{Run, ask_sum, ingest, open},
        tags::{Batch, Column, Scan, Tags},
        tuples::Tuples,
    };

    use pyo3::prelude::*;

    /// A text without what a terminal would obey or turn, on one line.
    #[pyfunction]
    fn escaped(text: &str) -> String {
        tagq::escaped(text).into_owned()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
