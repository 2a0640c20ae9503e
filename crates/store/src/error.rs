//! Errors of a store: the problem, the place and the fix.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::shell_words::pasted;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// The file or folder in question.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A name in a store leads to something else than a store has there. It is left alone.
    #[error(
        "{path}: {found}, where a store has {expected}, and links are not followed there; move it away, or \
         name another store with --store DIR",
        path = path.display()
    )]
    NotPlain {
        /// The name.
        path: PathBuf,
        /// The content found there.
        found: &'static str,
        /// The content expected there.
        expected: &'static str,
    },
    /// The folder has no manifest.
    #[error("{path}: no tagq store (no manifest.json in it)", path = path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
    },
    /// Not enough memory for all times of a store without their column.
    #[error(
        "{path}: its times need {bytes} bytes of memory, which is more than half of the {available} that are available; \
         read them in batches, or make their column with `tagq set {run} --times on`",
        path = path.display(), run = pasted(path)
    )]
    Memory {
        /// The folder of the store.
        path: PathBuf,
        /// Bytes of the times.
        bytes: u64,
        /// Bytes of memory that are available.
        available: u64,
    },
    /// The manifest belongs to something else, or to another version of tagq.
    #[error("{path}: {reason}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its real content, and the fix.
        reason: String,
    },
    /// A file does not say what it must say.
    #[error(
        "{path}: damaged: {what} should be {expected} and is {found}; restore the file from a \
         copy, or remove the store and ingest its sources again",
        path = path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The field or block.
        what: String,
        /// The content expected there.
        expected: String,
        /// The content found there.
        found: String,
    },
    /// Gaps that can be made again from times do not have their checksum.
    #[error(
        "{path}: damaged: the gaps of block {block} do not have their checksum; make them again from the times with \
         `tagq set --gaps off {store}` and `tagq set --gaps on {store}`; `tagq verify {store}` looks at all other columns",
        path = path.display(), store = pasted(path.parent().unwrap_or(path))
    )]
    DamagedGaps {
        /// The column of gaps.
        path: PathBuf,
        /// The block of 65,536 rows.
        block: u64,
    },
    /// A file is shorter than the manifest promises.
    #[error(
        "{path}: damaged: the manifest promises {expected} bytes, the file holds {found}; restore \
         the file from a copy, or remove the store and ingest its sources again",
        path = path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes promised.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// The first rows of a store are not those that are asked for.
    #[error("{path}: its first {rows} rows are not those that are asked for: {what}", path = path.display())]
    OtherRows {
        /// The folder of the store.
        path: PathBuf,
        /// The number of rows that are asked for.
        rows: u64,
        /// The difference.
        what: &'static str,
    },
    /// Another process writes this store.
    #[error(
        "{path}: another tagq is writing this store{named}; wait until it is done, or end it",
        path = path.display(),
        named = holder.as_ref().map_or_else(String::new, |holder| format!(": {holder} holds it"))
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// The process that holds the lock, as `process 1234 on HOST`, if the lock file says so.
        holder: Option<String>,
    },
    /// The folder for a new store holds other things.
    #[error(
        "{path}: not empty and no tagq store (it holds `{name}`); name a new or an empty folder",
        path = path.display()
    )]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// One of the strangers.
        name: String,
    },
    /// Rows came out of order.
    #[error(
        "row {row}: time {time} ticks comes after {after} ticks; a store holds rows in order of time"
    )]
    Unsorted {
        /// The row that would have been written.
        row: u64,
        /// Its time in ticks.
        time: i64,
        /// The time before it in ticks.
        after: i64,
    },
    /// First and last time are further apart than a difference can hold.
    #[error(
        "a run from {first} to {last} ticks spans 2^63 ticks or more, and no time difference could \
         be counted; is one of its sources not a tag file, or its clock restarted?"
    )]
    Span {
        /// First time in ticks.
        first: i64,
        /// Last time in ticks.
        last: i64,
    },
    /// The tick of a run was given once, and is now another.
    #[error(
        "{path}: the tick of this run was set to {set}, and {asked} was asked for; leave --tick \
         out, or correct it for good with `tagq set {run} --tick {paste}`",
        path = path.display(), run = pasted(path)
    )]
    TickGiven {
        /// The store.
        path: PathBuf,
        /// The tick that it has.
        set: String,
        /// The other one.
        asked: String,
        /// The other one as it can be pasted.
        paste: String,
    },
    /// The unit of micro times of a run was set, and is now another.
    #[error(
        "{path}: the micro times of this run are in units of {set}, and these in units of {asked}; put the \
         file in a run of its own",
        path = path.display()
    )]
    MicroTick {
        /// The store.
        path: PathBuf,
        /// The unit that it has.
        set: String,
        /// The other one.
        asked: String,
    },
    /// A store without a column of times needs its gaps.
    #[error(
        "{path}: gaps cannot be dropped: this store has no column of times, and computes times from gaps; make the \
         column first with `tagq set {run} --times on`",
        path = path.display(), run = pasted(path)
    )]
    GapsNeeded {
        /// The store.
        path: PathBuf,
    },
    /// An earlier write failed, and what is on disk is not known any more.
    #[error("{path}: not written, because an earlier write to this store failed", path = path.display())]
    Poisoned {
        /// The store.
        path: PathBuf,
    },
}

impl Error {
    /// Whether the bytes of the store are damaged (as against absent or out of reach).
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::DamagedGaps { .. } | Self::Length { .. })
    }
}

/// The error for a refused `action` on `path`.
pub(crate) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}
