//! Compares formats for time tags: their sizes, latencies, and how fast tags are found and counted in them.
//!
//! All formats get the same tags and must give the same answers. Each measurement runs in a child process of its own,
//! so that its peak memory is its own, and all formats take turns in each round.

mod columns;
mod compression;
pub mod format;
pub mod formats;
mod framed;
mod generated;
mod map;
pub mod measure;
mod report;
mod source;
mod suspend;
mod walk;

/// Cap'n Proto, by capnpc: the code and the schema of the ingest. The code expects to be at the root of a crate.
#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
#[path = "../../../crates/ingest/tests/schema/tags_capnp.rs"]
mod tags_capnp;

pub use compression::Compression;
pub use report::docs;
pub use source::Source;

/// Any error: it is reported, and never acted on.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
/// The result of a step.
pub type Result<T> = std::result::Result<T, Failure>;
