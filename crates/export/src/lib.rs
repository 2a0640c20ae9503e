//! Export of tags and answers to Arrow and to files that other programs can read.
//!
//! [`Batches::of`] returns the tags of a run as record batches that are views of the
//! memory-mapped store: nothing is copied, and the mapping lives as long as a batch. [`write_tags`]
//! writes tags to a file or a pipe with bounded memory, [`write_answers`] writes answers. Times stay in
//! ticks, and the tick is in the metadata of schema and field (docs/outputs.md, section "Arrow").
//!
//! ```no_run
//! use tagq::{OpenOptions, Silent, TagSelection, open};
//! use tagq_export::Batches;
//!
//! let run = open("run/".as_ref(), &OpenOptions::default(), &Silent)?;
//! for batch in Batches::of(&run, &TagSelection::default())? {
//!     println!("{} tags", batch?.num_rows());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod batches;
mod catalogue;
mod form;
mod schema;
mod tag_forms;
mod text;
mod tiff;
mod unit;
mod view;
mod write;

mod error;

pub mod report;

pub use answers::{batches_of, schema_of_answers};
pub use batches::{Batches, Touched, blurs_ticks};
pub use catalogue::{batch_of_runs, write_runs};
pub use error::Error;
pub use form::{BatchWriter, TableForm};
pub use tag_forms::{PreferredForm, TagFormat, suffixes};
pub use tagq::store::TimeUnit;
pub use write::{
    Written, schema_of_listings, stream_listing, write_answers, write_listings, write_tags,
    write_tags_telling,
};
