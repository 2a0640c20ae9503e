//! Options for opening a run.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use tagq_ingest::{Columns, FormatName};
use tagq_store::{Access, RunId, Tick, os};

/// Options for opening a run.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
pub struct OpenOptions {
    /// Location of the store, if not the default one.
    pub store: Option<PathBuf>,
    /// Whether a folder is searched for sources in nested folders, too. The store does not keep this.
    pub recursive: bool,
    /// The tick of the run, which the store keeps; default is the 156.25 ps of the instrument, marked as assumed.
    pub tick: Option<Tick>,
    /// The tick of the opened run, in place of that of its store. The store keeps it only if its sources are text,
    /// whose tick nothing else says.
    pub tick_here: Option<Tick>,
    /// Whether new sources are ingested first.
    pub ingest: bool,
    /// How to treat sources that are not simply new.
    pub treatment: Treatment,
    /// How the columns are loaded into memory.
    pub access: Access,
    /// The id of a new store; random by default.
    pub run_id: Option<RunId>,
    /// Whether a new store gets a column of gaps: two bytes more a tag, and faster queries.
    pub gaps: bool,
    /// Whether a new store gets a column of times: eight bytes more a tag. Without it they are decoded from gaps and
    /// far distances. A store without gaps has one in any case.
    pub times: bool,
    /// The format of the sources, whatever their content says; ingested sources keep theirs.
    pub format: Option<FormatName>,
    /// The columns of tags in texts and tables; ingested sources keep theirs.
    pub columns: Option<Columns>,
    /// Set by another thread to stop an ingest; committed data stays.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Whether results are cached.
    pub caching: Caching,
    /// Threads that ingest; one for each core when 0. Any number gives the same store.
    pub threads: usize,
    /// Bounds of its queries.
    pub bounds: Bounds,
}

/// Bounds of queries, which the user may raise.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// A view of derived channels has at most so many times the tags of the run.
    pub view_factor: u32,
    /// Whether a query is counted that takes longer than a day.
    pub is_long: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { view_factor: 16, is_long: false }
    }
}

impl OpenOptions {
    /// Returns the options to open a store whose files are removed while the run lives: they are copied into memory
    /// where a mapped file cannot be removed.
    pub(crate) fn of_removed_store(&self) -> Self {
        let access = if os::REMOVES_MAPPED { self.access } else { Access::Copied };
        Self { access, ..self.clone() }
    }

    /// Returns the options to ingest text with the tick of this opening, which the store then keeps.
    pub(crate) fn keeping_tick_here(&self) -> Option<Self> {
        self.tick_here.map(|tick| Self { tick: Some(tick), ..self.clone() })
    }
}

/// How to treat sources that are not simply new.
#[derive(Debug, Clone, Copy, Default)]
pub struct Treatment {
    /// Ingest everything from scratch, in one commit. Requires that every source still exists.
    pub rebuild: bool,
    /// Move a source that starts before the end of the run to 1 s after the end.
    pub rebase: bool,
    /// Ingest the readable part of torn ends, too. Such a source is closed.
    pub salvage: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            store: None,
            recursive: false,
            tick: None,
            tick_here: None,
            ingest: true,
            treatment: Treatment::default(),
            access: Access::Mapped,
            run_id: None,
            gaps: true,
            times: false,
            format: None,
            columns: None,
            cancelled: None,
            caching: Caching::default(),
            threads: 0,
            bounds: Bounds::default(),
        }
    }
}

/// Whether results are cached for the next time the query is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// Nothing is read from the cache, and nothing is written to it.
    Off,
    /// Final results are cached if they took a scan of at least this many rows.
    Rows(u64),
}

impl Default for Caching {
    fn default() -> Self {
        // A scan of fewer rows takes about as long as opening the cache file.
        Self::Rows(1 << 20)
    }
}
