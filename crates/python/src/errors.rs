//! Conversion of library errors to exceptions of the package, and of notes to warnings.
//!
//! `--force` in a message becomes `replace=True`; a whole command in backticks stays as it is, because it is typed in a
//! shell. Exit codes of the command line decide the class: 2 is a QuestionError, 3 a DamageError, 4 a BusyError.

use arrow_schema::ArrowError;
use pyo3::{prelude::*, types::PyType};
use tagq::RunError;

/// The Python module that defines the exceptions.
const HOME: &str = "tagq._errors";

/// Creates an exception of this class.
fn exception(name: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let class = py.import(HOME).and_then(|home| home.getattr(name));
        match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
            Ok(class) => {
                PyErr::from_type(class, tagq::escaped(&with_keywords(message)).into_owned())
            }
            Err(error) => error,
        }
    })
}

/// Arguments of the command line whose keywords are written otherwise.
const KEYWORDS: [(&str, &str); 8] = [
    ("--force", "replace=True"),
    ("--no-ingest out", "ingest=False out"),
    ("--ylim LO..HI", "limits=(LO, HI)"),
    ("--ylim", "limits"),
    ("--log-y", "log_y=True"),
    ("--store DIR", "store=\"DIR\""),
    ("--setup FILE", "setup=\"FILE\""),
    ("--tick 1ps", "tick=\"1ps\""),
];

/// Returns a message with keywords in place of arguments of the command line. Whole commands stay as they are.
fn with_keywords(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    // Every second piece is in backticks.
    for (at, piece) in message.split('`').enumerate() {
        let quote = if at % 2 == 1 { "`" } else { "" };
        if piece.starts_with("tagq ") || !piece.contains("--") {
            out += &[quote, piece, quote].concat();
            continue;
        }
        let mut piece = piece.to_owned();
        let mut quote = quote;
        for (argument, keyword) in KEYWORDS {
            if piece.contains(argument) {
                piece = piece.replace(argument, keyword);
                quote = "";
            }
        }
        out += &[quote, &piece, quote].concat();
    }
    out
}

/// Converts an error of the library.
pub(crate) fn of_run(error: impl Into<tagq::Error>) -> PyErr {
    let error = error.into();
    if error.is_cancelled() {
        let message = tagq::escaped(&error.to_string()).into_owned();
        return pyo3::exceptions::PyKeyboardInterrupt::new_err(message);
    }
    let class = match (error.run(), error.exit_code()) {
        (
            Some(
                RunError::NoSuchPath { .. }
                | RunError::NoSources { .. }
                | RunError::NothingIngested { .. },
            ),
            _,
        ) => "NotFoundError",
        (Some(RunError::Files(tagq::files::Error::Line { .. })), _) => "TextError",
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
        tagq_export::Error::Run(error) => of_run(error),
        tagq_export::Error::Arrow(ArrowError::ExternalError(error)) => {
            match error.downcast::<tagq_export::Error>() {
                Ok(error) => of_export(*error),
                Err(error) => exception("TagqError", &error.to_string()),
            }
        }
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
