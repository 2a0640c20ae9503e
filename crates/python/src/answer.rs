//! What came out of a question.

use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyCapsule, PyList},
};
use serde::Serialize;
use serde_json::Value;
use tagq::{Columns, RunFacts, Values};

use crate::{errors, stream};

/// An answer: a header, the query as it was counted, the run, and columns of rows.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Answer {
    answer: tagq::Answer,
    batch: RecordBatch,
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
        let batch =
            tagq_export::answers(std::slice::from_ref(&answer)).map_err(errors::of_export)?;
        Ok(Self { answer, batch })
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
        let written = Written { schema_version: 1, query, run, rows };
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
            Values::Counts(values) => flat("<u8", bytemuck::cast_slice(values)),
            Values::Integers(values) => flat("<i8", bytemuck::cast_slice(values)),
            Values::Floats(values) => {
                let floats: Vec<f64> =
                    values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
                flat("<f8", bytemuck::cast_slice(&floats))
            }
            Values::SomeIntegers(values) => Ok(PyList::new(py, values)?.into_any()),
            Values::Flags(values) => {
                let bytes: Vec<u8> = values.iter().map(|&flag| flag.into()).collect();
                flat("|b1", &bytes)
            }
            Values::Channels(values) => {
                let labels: Vec<i32> =
                    values.iter().map(|channel| channel.map_or(-1, i32::from)).collect();
                flat("<i4", bytemuck::cast_slice(&labels))
            }
            Values::Groups(lists) => Ok(PyList::new(py, lists)?.into_any()),
            Values::CountLists(lists) => Ok(PyList::new(py, lists)?.into_any()),
            Values::FloatLists(lists) => Ok(PyList::new(py, lists)?.into_any()),
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
        let schema = self.batch.schema();
        stream::export(py, RecordBatchIterator::new([Ok(self.batch.clone())], schema))
    }
}
