//! Columns of lists as arrays of two dimensions.
//!
//! Counts that lie in one array at equal distances stay there: a cube of an image is not copied.

use std::sync::Arc;

use pyo3::{prelude::*, types::PyDict};
use tagq::{Cell, CellList, CellType, Column, CountsPart};

use crate::{errors, tags::interface};

/// A column of lists of one length, for `numpy.asarray`: a row for each list. Undefined measures are NaN.
#[pyclass(frozen, module = "tagq._tagq", name = "Lists")]
pub(crate) struct PyLists {
    values: Values,
    /// The first value of the first list.
    start: usize,
    rows: usize,
    entries: usize,
    /// Values from a list to the next one.
    step: usize,
}

enum Values {
    Counts(Arc<Vec<u64>>),
    Measures(Vec<f64>),
}

impl PyLists {
    /// Returns the lists of a column; `None` if they are no numbers or differ in length.
    pub fn of(column: &Column) -> PyResult<Option<Self>> {
        let lists = column.cells.iter().map(|cell| match cell {
            Cell::List(list) => Some(list),
            _ => None,
        });
        let Some(lists) = lists.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let entries = lists.first().map_or(0, CellList::len);
        if entries == 0 || lists.iter().any(|list| list.len() != entries) {
            return Ok(None);
        }
        let of = |values, start, step| Self { values, start, rows: lists.len(), entries, step };
        let items = || lists.iter().flat_map(CellList::iter);
        let lists = match column.of {
            CellType::Float => {
                let measures = items().map(|item| item.number().unwrap_or(f64::NAN));
                of(Values::Measures(measures.collect()), 0, entries)
            }
            CellType::Count => {
                let all = in_one_array(&lists).unwrap_or_else(|| {
                    let count = |item| if let Cell::Count(count) = item { count } else { 0 };
                    (Arc::new(items().map(count).collect()), 0, entries)
                });
                let (counts, start, step) = all;
                if let Some(&count) = counts.iter().find(|count| i64::try_from(**count).is_err()) {
                    return Err(errors::of_export(tagq_export::Error::Count(count)));
                }
                of(Values::Counts(counts), start, step)
            }
            _ => return Ok(None),
        };
        Ok(Some(lists))
    }
}

/// Returns the array that has all lists, the place of the first one and their distance; `None` if there is none.
fn in_one_array(lists: &[CellList]) -> Option<(Arc<Vec<u64>>, usize, usize)> {
    let first = lists.first()?.counts()?;
    let start = first.range.start;
    let step = match lists.get(1) {
        Some(second) => second.counts()?.range.start.checked_sub(start)?,
        None => first.range.len(),
    };
    let is_at = |(row, list): (usize, &CellList)| {
        list.counts().is_some_and(|CountsPart { counts, range }| {
            Arc::ptr_eq(counts, &first.counts) && range.start == start + row * step
        })
    };
    lists.iter().enumerate().all(is_at).then(|| (Arc::clone(&first.counts), start, step))
}

#[pymethods]
impl PyLists {
    /// Returns the location of the data by NumPy's array interface: read-only.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Self { start, rows, entries, step, .. } = *self;
        let (address, kind) = match &self.values {
            Values::Counts(counts) => (counts[start..].as_ptr().expose_provenance(), "<i8"),
            Values::Measures(measures) => (measures[start..].as_ptr().expose_provenance(), "<f8"),
        };
        let interface = interface(py, (rows, entries), kind, address)?;
        interface.set_item("strides", (8 * step, 8))?;
        Ok(interface)
    }
}
