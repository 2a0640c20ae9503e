//! How to open a run.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use tagq_ingest::text::TextColumns;
use tagq_store::{Access, RunId, Tick};

/// How to open a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the store is, when not in its usual place.
    pub store: Option<PathBuf>,
    /// The tick of the run; the instrument's 156.25 ps is assumed without it.
    pub tick: Option<Tick>,
    /// Whether new sources are taken into the store first.
    pub ingest: bool,
    /// What is done with sources that are not just new.
    pub treatment: Treatment,
    /// How the columns come into memory.
    pub access: Access,
    /// The id of a store that is made; random without it.
    pub run_id: Option<RunId>,
    /// The order of the columns of text without a header; what was taken before keeps its own.
    pub columns: Option<TextColumns>,
    /// Set by another thread to end an ingest; what was committed stays.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Whether answers are kept for the next time.
    pub caching: Caching,
}

/// What is done with sources that are not just new.
#[derive(Debug, Clone, Copy, Default)]
pub struct Treatment {
    /// Take everything anew, in one commit. Only where every source is still there.
    pub rebuild: bool,
    /// Put a source that begins before the run's end 1 s behind it.
    pub rebase: bool,
    /// Take what can be read of torn ends, too. Such a source is closed.
    pub salvage: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            store: None,
            tick: None,
            ingest: true,
            treatment: Treatment::default(),
            access: Access::Mapped,
            run_id: None,
            columns: None,
            cancelled: None,
            caching: Caching::default(),
        }
    }
}

/// Whether answers are kept for the next time the question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// Nothing that was kept is used, and nothing is kept.
    Off,
    /// What is final is kept where it took a scan of at least so many rows.
    Rows(u64),
}

impl Default for Caching {
    fn default() -> Self {
        // A scan of fewer takes about as long as looking for the file.
        Self::Rows(1 << 20)
    }
}
