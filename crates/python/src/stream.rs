//! Arrow streams in and out by the PyCapsule interface.
#![expect(unsafe_code, reason = "a stream of another library comes as a pointer in a capsule")]

use std::ffi::CStr;

use arrow_array::{
    RecordBatchReader,
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use pyo3::{prelude::*, types::PyCapsule};

use crate::errors::wrong_type;

const NAME: &CStr = c"arrow_array_stream";

/// Batches as a capsule that whoever takes it reads from once.
pub(crate) fn export(
    py: Python<'_>,
    batches: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), NAME)
}

/// The batches of any object that speaks Arrow.
pub(crate) fn import(table: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let refused = || {
        let name = table.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
        wrong_type(format!(
            "{name} is no table: it has no __arrow_c_stream__; a Polars or pandas DataFrame, a pyarrow \
             Table and a DuckDB relation have"
        ))
    };
    if !table.hasattr("__arrow_c_stream__")? {
        return Err(refused());
    }
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|_| refused())?;
    let pointer = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: a capsule of this name holds a stream by the Arrow PyCapsule interface, which lives as long
    // as the capsule does. The stream is moved out, and an empty one left in its place, as the
    // interface asks of whoever takes it.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr().cast()) };
    reader.map_err(|error| wrong_type(format!("this table cannot be read: {error}")))
}
