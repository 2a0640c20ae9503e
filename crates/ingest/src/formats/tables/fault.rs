//! Why a table is not read: damage, or a content that is not supported.

use std::{
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use crate::{
    error::{Error, io_error},
    formats::columns::NoColumns,
    payload::{Payload, input::is_shrunk},
};

/// Why a table is not read.
#[derive(Debug)]
pub(crate) enum TableFault {
    Io(io::Error),
    /// The file is not as its format says; where and how.
    Damaged(String),
    /// The file is intact, but holds no tags that can be read; why, and the fix.
    Refused(String),
}

impl TableFault {
    /// The error for the file of `payload`.
    pub(crate) fn name(self, payload: &Payload<'_>) -> Error {
        self.at(payload.path)
    }

    /// The error for the file at `path`.
    pub(crate) fn at(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Io(error) if is_shrunk(&error) => Error::Shrunk { path },
            Self::Io(error) => io_error(&path, "read")(error),
            Self::Damaged(what) => Error::DamagedTable { path, what },
            Self::Refused(what) => Error::Table { path, what },
        }
    }
}

impl From<io::Error> for TableFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<NoColumns> for TableFault {
    fn from(no: NoColumns) -> Self {
        Self::Refused(no.what)
    }
}

pub(crate) fn damaged<T>(what: impl Into<String>) -> Result<T, TableFault> {
    Err(TableFault::Damaged(what.into()))
}

/// The fault of a column of this name that holds `kind` and no numbers.
pub(crate) fn no_numbers(name: &str, kind: &str) -> TableFault {
    let name = name.escape_debug();
    TableFault::Refused(format!(
        "the column `{name}` holds {kind}; tags are integers: write times as whole ticks, and name their unit by \
         --tick"
    ))
}

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is reported as damage of the file that it reads. A program's panic hook should print
/// nothing then.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// Calls a library that panics on some impossible files: such a panic is damage.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T, TableFault>) -> Result<T, TableFault> {
    let before = IS_GUARDED.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(before);
    called.unwrap_or_else(|_| damaged("the reader of its format stopped at an impossible value"))
}
