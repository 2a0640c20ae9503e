//! The tags of a run: columns, streams of batches, and scans with counters. A column is checked before NumPy sees its
//! memory, and keeps its store open as long as it exists.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyDict},
};
use tagq::TagSelection;
use tagq::store::{Channels, MicroColumn, Store};
use tagq_export::{Batches, Touched};

use crate::{
    errors::{self, question},
    process::OwnMutex,
    stream,
};

/// One column of the memory-mapped store, for `numpy.asarray`. The store stays open as long as the
/// column exists.
#[pyclass(frozen, module = "tagq._tagq", name = "Column")]
pub(crate) struct PyColumn {
    store: Arc<Store>,
    kind: ColumnKind,
}

/// The values of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Time,
    Channel,
    /// As stored: a value with all bits set is none.
    Micro,
}

impl PyColumn {
    pub fn new(store: Arc<Store>, kind: ColumnKind) -> Self {
        Self { store, kind }
    }
}

#[pymethods]
impl PyColumn {
    /// Returns the location of the data by NumPy's array interface: read-only.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tags = self.store.unguarded_tags();
        let rows = 0..tags.len();
        let check = || match self.kind {
            // `whole_times` checks them.
            ColumnKind::Time => Ok(()),
            ColumnKind::Channel => self.store.check_tags(rows.clone()),
            ColumnKind::Micro => self.store.check_micro(rows.clone()),
        };
        py.detach(check).map_err(errors::of_run)?;
        let (address, kind) = match self.kind {
            ColumnKind::Time => {
                let times = py.detach(|| self.store.whole_times()).map_err(errors::of_run)?;
                (times.as_ptr().expose_provenance(), "<i8")
            }
            ColumnKind::Channel => match tags.channels {
                Channels::U8(labels) => (labels.all().as_ptr().expose_provenance(), "|u1"),
                Channels::U16(labels) => (labels.all().as_ptr().expose_provenance(), "<u2"),
            },
            ColumnKind::Micro => match self.store.unguarded_micro() {
                Some(MicroColumn::U16(values)) => {
                    (values.all().as_ptr().expose_provenance(), "<u2")
                }
                Some(MicroColumn::U32(values)) => {
                    (values.all().as_ptr().expose_provenance(), "<u4")
                }
                None => return Err(question("this run has no micro times")),
            },
        };
        interface(py, (tags.len(),), kind, address)
    }

    fn __len__(&self) -> usize {
        self.store.unguarded_tags().len()
    }
}

/// Returns the location of data by NumPy's array interface: read-only.
pub(crate) fn interface<'py>(
    py: Python<'py>,
    shape: impl IntoPyObject<'py>,
    kind: &str,
    address: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let interface = PyDict::new(py);
    interface.set_item("version", 3)?;
    interface.set_item("shape", shape)?;
    interface.set_item("typestr", kind)?;
    interface.set_item("data", (address, true))?;
    Ok(interface)
}

/// The selected tags of a run. Each stream requested from it starts at the first tag.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct SelectedTags {
    run: Arc<tagq::Run>,
    selection: TagSelection,
}

impl SelectedTags {
    pub fn new(run: Arc<tagq::Run>, selection: TagSelection) -> Self {
        Self { run, selection }
    }

    fn batches(&self) -> PyResult<Batches> {
        Batches::of(&self.run, &self.selection).map_err(errors::of_export)
    }
}

#[pymethods]
impl SelectedTags {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = py.detach(|| self.batches())?;
        stream::export(py, Reader(batches))
    }

    /// Returns the names of the columns and the metadata of the schema.
    fn schema(&self) -> PyResult<(Vec<String>, std::collections::HashMap<String, String>)> {
        let schema = self.batches()?.schema();
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok((names, schema.metadata().clone()))
    }
}

/// Batches with their schema, as Arrow requires them.
struct Reader(Batches);

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

/// One batch, as a stream of one batch.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let schema = self.0.schema();
        stream::export(py, RecordBatchIterator::new([Ok(self.0.clone())], schema))
    }
}

/// A scan that proceeds in batches and counts the blocks it touches.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Scan {
    batches: OwnMutex<Batches>,
    touched: Arc<Touched>,
    blocks: u64,
}

impl Scan {
    pub fn new(run: &tagq::Run, selection: &TagSelection) -> Result<Self, tagq_export::Error> {
        let batches = Batches::of(run, selection)?;
        let (touched, blocks) = (batches.touched(), batches.blocks());
        Ok(Self { batches: OwnMutex::new(batches), touched, blocks })
    }
}

#[pymethods]
impl Scan {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = |batches: &mut Option<Batches>| Ok(batches.as_mut().and_then(Iterator::next));
        let batch = py.detach(|| self.batches.with("this scan", next))?.transpose();
        Ok(batch.map_err(|error| errors::of_export(error.into()))?.map(Batch))
    }

    /// Returns the number of blocks with at least one row that was returned or read.
    #[getter]
    fn blocks_read(&self) -> u64 {
        self.touched.blocks()
    }

    /// Returns the number of all blocks of the run.
    #[getter]
    fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the number of tags whose float does not identify their tick.
    #[getter]
    fn lost(&self) -> u64 {
        self.touched.lost()
    }
}
