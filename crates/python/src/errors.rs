//! Conversion of library errors to exceptions of the package, and of notes to warnings.

use pyo3::{prelude::*, types::PyType};

/// The Python module that defines the exceptions.
const HOME: &str = "tagq._errors";

/// Creates an exception of this class.
fn exception(name: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let class = py.import(HOME).and_then(|home| home.getattr(name));
        match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, tagq::escaped(message).into_owned()),
            Err(error) => error,
        }
    })
}

/// Converts an error of the library.
pub(crate) fn of_run(error: &tagq::Error) -> PyErr {
    let class = match (error, error.exit_code()) {
        (
            tagq::Error::Files(tagq::files::Error::Cancelled)
            | tagq::Error::Query(tagq::query::Error::Cancelled),
            _,
        ) => {
            let message = tagq::escaped(&error.to_string()).into_owned();
            return pyo3::exceptions::PyKeyboardInterrupt::new_err(message);
        }
        (
            tagq::Error::NoSuchPath { .. }
            | tagq::Error::NoSources { .. }
            | tagq::Error::NothingIngested { .. },
            _,
        ) => "NotFoundError",
        (tagq::Error::Files(tagq::files::Error::Line { .. }), _) => "TextError",
        (_, 2) => "QuestionError",
        (_, 3) => "DamageError",
        (_, 4) => "BusyError",
        _ => "TagqError",
    };
    exception(class, &error.to_string())
}

/// Converts an error from creating Arrow.
pub(crate) fn of_export(error: tagq_export::Error) -> PyErr {
    match error {
        tagq_export::Error::Run(error) => of_run(&error),
        tagq_export::Error::Store(error) => of_run(&error.into()),
        error => exception("TagqError", &error.to_string()),
    }
}

/// Creates the exception for an invalid request.
pub(crate) fn question(message: impl Into<String>) -> PyErr {
    exception("QuestionError", &message.into())
}

/// Creates the exception for a value of a wrong type.
pub(crate) fn wrong_type(message: impl Into<String>) -> PyErr {
    exception("WrongTypeError", &message.into())
}

/// Creates the exception for a run that was closed.
pub(crate) fn closed() -> PyErr {
    exception("ClosedError", "this run was closed; open it again with tagq.open")
}

/// Creates the exception for a recorder that was closed.
pub(crate) fn recorder_closed() -> PyErr {
    exception(
        "ClosedError",
        "this recorder was closed; make another one of the same path to continue",
    )
}

/// Creates the exception for an object that belongs to the parent of a forked process.
pub(crate) fn forked(what: &str) -> PyErr {
    exception(
        "ForkedError",
        &format!(
            "{what} belongs to the process that this one was forked from; make one of its own here"
        ),
    )
}

/// Emits notes for the user as warnings.
pub(crate) fn warn(py: Python<'_>, notes: &[String]) -> PyResult<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let category = py.import(HOME)?.getattr("TagqWarning")?;
    let warnings = py.import("warnings")?;
    for note in notes {
        // The caller is two frames above the method of the package that was called.
        warnings.call_method1("warn", (&*tagq::escaped(note), &category, 2))?;
    }
    Ok(())
}
