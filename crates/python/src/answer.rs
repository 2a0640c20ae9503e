//! What came out of a question.

use std::sync::Arc;

use arrow_array::RecordBatchIterator;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyCapsule, PyList},
};
use serde::Serialize;
use serde_json::Value;
use tagq::{Cells, Columns, RunFacts, Values};

use crate::{errors, stream};

/// An answer: a header, the query as it was counted, the run, and columns of rows.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Answer {
    answer: tagq::Answer,
    schema: SchemaRef,
}

/// As the command line writes it.
#[derive(Serialize)]
struct Written<'a> {
    schema_version: u32,
    query: &'a Value,
    run: &'a RunFacts,
    rows: &'a Columns,
}

impl Answer {
    pub fn new(answer: tagq::Answer) -> PyResult<Self> {
        let schema = tagq_export::schema_of_answers(std::slice::from_ref(&answer));
        let schema = schema.map_err(errors::of_export)?;
        Ok(Self { answer, schema })
    }
}

#[pymethods]
impl Answer {
    #[getter]
    fn header(&self) -> &str {
        &self.answer.header
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.answer.rows.columns().iter().map(|column| &*column.name).collect()
    }

    fn __len__(&self) -> usize {
        self.answer.rows.len()
    }

    /// The answer as the command line gives it with `--format json`.
    fn to_json(&self) -> PyResult<String> {
        let tagq::Answer { query, run, rows, .. } = &self.answer;
        let written = Written { schema_version: 2, query, run, rows };
        serde_json::to_string(&written).map_err(|e| errors::of_run(&e.into()))
    }

    /// A column: what NumPy calls its type and its bytes, or a list of lists. What is not defined is NaN
    /// among floats; the channel of all channels together is -1.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(values) = self.answer.rows.get(name) else {
            return Err(pyo3::exceptions::PyKeyError::new_err(format!(
                "no column is called {name}; they are {}",
                self.columns().join(", ")
            )));
        };
        let flat = |of: &str, bytes: &[u8]| {
            (of, PyBytes::new(py, bytes)).into_pyobject(py).map(Bound::into_any)
        };
        match values {
            Values::Counts(cells) => flat("<u8", bytemuck::cast_slice(&held(cells))),
            Values::Integers(cells) => flat("<i8", bytemuck::cast_slice(&held(cells))),
            Values::Floats(cells) => {
                let floats: Vec<f64> =
                    cells.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
                flat("<f8", bytemuck::cast_slice(&floats))
            }
            Values::SomeIntegers(cells) => Ok(PyList::new(py, cells.iter())?.into_any()),
            Values::Flags(cells) => {
                let bytes: Vec<u8> = cells.iter().map(u8::from).collect();
                flat("|b1", &bytes)
            }
            Values::Channels(cells) => {
                let labels: Vec<i32> =
                    cells.iter().map(|channel| channel.map_or(-1, i32::from)).collect();
                flat("<i4", bytemuck::cast_slice(&labels))
            }
            Values::Groups(cells) => Ok(PyList::new(py, cells.iter())?.into_any()),
            Values::CountLists(cells) => Ok(PyList::new(py, cells.iter())?.into_any()),
            Values::FloatLists(cells) => Ok(PyList::new(py, cells.iter())?.into_any()),
        }
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish, by the interface, which the types of an answer leave no room for.
        drop(requested_schema);
        let batches = tagq_export::batches_of(&self.schema, &self.answer);
        let batches =
            batches.map(|batch| batch.map_err(|e| ArrowError::ExternalError(Box::new(e))));
        stream::export(py, RecordBatchIterator::new(batches, Arc::clone(&self.schema)))
    }
}

fn held<T: Clone>(cells: &Cells<T>) -> Vec<T> {
    cells.iter().collect()
}
