//! From the files that a recorder writes to the rows of a store, and back.
//!
//! A `.tags` file is a stream of Cap'n Proto messages, each a `List(List(Tag))`; `.tags.zst` is that stream in
//! Zstandard frames; text has a line for each tag. All of these may be compressed by gzip, xz or bzip2, too. The
//! content of a file says its format, never its name. [`ingest`] reads one into a store, [`read_tags`] hands its tags
//! to anyone, [`write::TagWriter`] writes one. All of them run in bounded memory whatever the size of the file, and
//! trust no length that a file claims.
//!
//! ```
//! use tagq_ingest::{Settings, encode::Encoder, read_tags};
//! use tagq_store::Tag;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("two.tags.zst");
//! let mut encoder = Encoder::new(std::fs::File::create(&path)?);
//! encoder.frame(2, [&[Tag { time: 5, channel: 3 }, Tag { time: 17, channel: 15 }][..]])?;
//!
//! let mut times = Vec::new();
//! read_tags(&path, &Settings::default(), |tags| {
//!     times.extend(tags.iter().map(|tag| tag.time));
//!     Ok(())
//! })?;
//! assert_eq!(times, [5, 17]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod settings;

mod read;
mod run_file;
mod source_file;

mod arrays;
mod foreign;
mod formats;
mod mask;
mod payload;
mod pipeline;
mod source;

pub mod write;

/// The schema as compiled by the reference implementation: the independent reader in tests.
#[cfg(test)]
#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
#[path = "../tests/schema/tags_capnp.rs"]
mod tags_capnp;

pub use error::Error;
pub use foreign::{ForeignFile, foreign_files};
pub use formats::{
    FormatFacts,
    becker::{late_settings, sdt::HeldCounts},
    columns::{ChosenColumns, ColumnNames, Columns},
    described,
    format::{EARLY, Header, ROUNDED, Summary},
    name::FormatName,
    needs_header, source_stem,
    tables::fault::is_guarded,
    tags::encode,
    text,
};
pub use mask::read_mask;
pub use pipeline::files::ReadAhead;
pub use read::{Recorded, read_recorded, read_tags};
pub use run_file::RunFile;
pub use settings::Settings;
pub use source::{
    change::{Change, is_intact, is_unchanged},
    held::Held,
    ingest, ingest_ahead, ingest_holding,
    intake::SourcePart,
};
pub use source_file::{ClosedFile, SourceFile};
