//! The list of the coincidences, computed while it is read.
//!
//! At most one batch waits for its reader, so that a list of any length needs little memory. A list has threads of its
//! own, because they wait for the reader, and other requests to the run must not. A reader that is gone ends the list.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{prelude::*, types::PyCapsule};
use tagq::{
    Progress, Question, Run, Silent,
    requests::{Listing, QueryContext, Setup},
};
use tagq_export::{schema_of_listings, stream_listing};

use crate::{
    errors,
    process::Own,
    saving::{self, Content},
    stream,
    waiting::PythonProgress,
};

/// Name of the thread that computes a list.
const THREAD: &str = "tagq-list";
/// Maximum number of batches that wait to be read.
const AHEAD: usize = 1;

/// A list that is still to be computed. Each stream requested from it starts at the first row.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Tuples {
    of: Arc<Of>,
    header: String,
    schema: SchemaRef,
}

/// The request of the list.
struct Of {
    run: Arc<Run>,
    setup: Arc<Setup>,
    threads: usize,
    question: Question,
}

impl Of {
    /// Computes the list with its own threads: they wait for the reader, and other requests to the run
    /// must not.
    fn with<T>(
        &self,
        progress: &dyn Progress,
        job: impl FnOnce(&Listing<'_>) -> Result<T, tagq_export::Error>,
    ) -> Result<T, tagq_export::Error> {
        let threads = tagq::store::threads(self.threads);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| tagq::RequestError::Invalid(format!("threads: {e}")))?;
        let context = QueryContext::new(&self.setup, &pool, progress);
        let question = self.question.settled(&[(&self.run, &context)])?;
        job(&question.request()?.listing(&self.run, &context)?)
    }
}

impl Tuples {
    pub fn new(
        py: Python<'_>,
        run: Arc<Run>,
        setup: Arc<Setup>,
        threads: usize,
        question: Question,
    ) -> PyResult<Self> {
        let of = Of { run, setup, threads, question };
        let told = PythonProgress::default();
        let head = |listing: &Listing<'_>| {
            let schema = schema_of_listings(std::slice::from_ref(listing))?;
            Ok((listing.head().header.clone(), schema))
        };
        let head = py.detach(|| of.with(&told, head));
        errors::warn(py, &told.take_notes())?;
        let (header, schema) = head.map_err(errors::of_export)?;
        Ok(Self { of: Arc::new(of), header, schema })
    }
}

#[pymethods]
impl Tuples {
    #[getter]
    fn header(&self) -> &str {
        &self.header
    }

    /// Returns the names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Writes the list to a file while it is found, in the format that its name selects.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        let content = Content::of_name(&path)?;
        let told = PythonProgress::default();
        py.detach(|| {
            saving::save(&path, replace, |out| {
                let written = self.of.with(&told, |listing| content.write_list(listing, out));
                written.map_err(errors::of_export)
            })
        })
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let (of, schema) = (Arc::clone(&self.of), Arc::clone(&self.schema));
        let (sender, batches) = sync_channel(AHEAD);
        let list = move || {
            let listed = of.with(&Silent, |listing| {
                stream_listing(listing, &schema, &mut |batch| {
                    // The reader is gone: this ends the list.
                    let gone = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
                    Ok(sender.send(Ok(batch)).map_err(gone)?)
                })
            });
            if let Err(error) = listed {
                let _ = sender.send(Err(ArrowError::ExternalError(Box::new(error))));
            }
        };
        thread::Builder::new().name(THREAD.into()).spawn(list)?;
        stream::export(py, Reader { schema: Arc::clone(&self.schema), batches: Own::new(batches) })
    }
}

/// Batches in order of arrival, with their schema.
struct Reader {
    schema: SchemaRef,
    /// Sent by a thread of this process.
    batches: Own<Receiver<Result<RecordBatch, ArrowError>>>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.batches.get() {
            Some(batches) => batches.recv().ok(),
            None => Some(Err(ArrowError::ExternalError(errors::forked("this list").into()))),
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
