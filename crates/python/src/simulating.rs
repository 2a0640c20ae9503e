//! Files of simulated detections.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use pyo3::prelude::*;
use tagq::SimulationOptions;
use tagq_export::{PreferredForm, TagFormat};

use crate::{errors, waiting::wait};

/// Writes simulated detections, with options as names and texts. Returns the number of tags.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    out: PathBuf,
    options: Vec<(String, String)>,
) -> PyResult<u64> {
    let options = SimulationOptions::of_texts(&options).map_err(errors::of_run)?;
    let format = TagFormat::of_name(&out, PreferredForm::Files);
    let form = format.as_ref().map(TagFormat::as_tag_form);
    wait(py, None, &AtomicBool::default(), |told| {
        options.write((&out, form), told, &mut |_, _| (), &mut |_| ())
    })
}
