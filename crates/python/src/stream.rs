//! Import and export of Arrow streams through the PyCapsule interface.
#![expect(unsafe_code, reason = "a stream of another library comes as a pointer in a capsule")]

use std::ffi::CStr;

use arrow_array::{
    RecordBatchReader,
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use pyo3::{prelude::*, types::PyCapsule};

use crate::errors::wrong_type;

const NAME: &CStr = c"arrow_array_stream";

/// Exports batches as a capsule that its consumer can read once.
pub(crate) fn export(
    py: Python<'_>,
    batches: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), NAME)
}

/// Imports the batches of any object that supports Arrow.
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
    // SAFETY: by the Arrow PyCapsule interface, a capsule with this name holds a stream that lives as
    // long as the capsule. The stream is moved out and replaced by an empty one, as the interface
    // requires of the consumer.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr().cast()) };
    reader.map_err(|error| wrong_type(format!("this table cannot be read: {error}")))
}
