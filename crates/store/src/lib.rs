//! The store of a run: its times and channels as column files that are mapped, never parsed.
//!
//! A run is a table of photon detections in order of time, each with a time and a channel. On disk it is a folder
//! with column files, index files, and a manifest whose replacement is the only commit point (docs/format.md is the
//! law, [`mod@format`] its mirror). [`Writer`] appends to it, [`Store`] opens the committed rows, [`units`] turns
//! durations into ticks.
//!
//! ```
//! use tagq_store::{Access, Creation, SourceFacts, Store, Tick, Writer};
//!
//! let folder = tempfile::tempdir()?;
//! let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
//! let mut writer = Writer::open(&folder.path().join("run.tagq"), &creation)?;
//! writer.begin_source();
//! writer.append(&[5, 17, 17], &[3, 15, 3])?;
//! writer.finish_source(SourceFacts::named("by hand"));
//! writer.commit()?;
//!
//! let store = Store::open(&folder.path().join("run.tagq"), Access::Mapped)?;
//! assert_eq!(store.tags().time, [5, 17, 17]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("the columns are little-endian and mapped as they are: no big-endian machine");

pub mod checksum;
pub mod sealed;
pub mod simd;
pub mod units;

mod error;
mod files;
mod folder;
pub mod format;
pub mod kept;
mod manifest;
mod names;
mod run_id;

mod checked;
mod decode;
mod disk;
mod encode;
mod growing;
mod leftovers;
mod row_values;
mod rows;
mod snapshot;
mod writer;

pub mod os;
mod shell_words;
mod threads;
mod times;

#[cfg(test)]
mod faults;

pub use error::Error;
pub use folder::{Entry, Folder, read_side_file};
pub use kept::{KeptEntry, KeptFolder, KeptLimits, RunRows};
pub use leftovers::Leftover;
pub use manifest::{
    MANIFEST_NAME, Manifest,
    identity::{Crc, RowsId},
    scan_facts::ScanFacts,
    source::{ChannelRows, Recording, ResumePoint, Source, SourceFacts, Stated, SyncPulses},
};
pub use names::VIEWS_NAME;
pub use row_values::RowValues;
pub use rows::{RowColumns, Rows, SpareColumns};
pub use run_id::RunId;
pub use shell_words::{pasted, quoted, run_word};
pub use snapshot::{
    Store,
    columns::Access,
    extract::FileBytes,
    index::{Block, Mark},
    tags::{Channels, LabelReader, MicroColumn, Tags},
};
pub use threads::threads;
pub use times::{COLUMN_PIECE_ROWS, TimeReader, Times};
pub use units::{Duration, Tick, TimeUnit, UnitError, of_single};
pub use writer::{Creation, Writer, remove::remove_store};

/// One detection: 16 bytes, as it stands in a `.tags` message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Tag {
    /// When, in ticks of the run.
    pub time: i64,
    /// Which input of the instrument.
    pub channel: u64,
}

/// The largest channel label that a store can hold.
pub const CHANNEL_MAX: u64 = u16::MAX as u64;
