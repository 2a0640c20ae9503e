//! Questions in a person's words, and what they mean in a run.
//!
//! A question holds durations, names and moments; asked of a [`crate::Run`], these become ticks and labels, a
//! query of [`crate::query`] is counted, and an [`crate::Answer`] says what was asked, what was done and
//! what came out. The command line and other programs fill in a question and show its answer.

mod beside;
mod coarse;
mod coincidences;
mod context;
mod histogram;
mod kind;
mod limits;
mod listing;
mod planned;
mod question;
mod rates;

mod blocks;
mod explain;
mod shifted;
mod sum;
mod tallied;
mod trace;
mod used;

mod select;
mod setup;
mod setup_file;
mod words;

pub use blocks::Errors;
pub use coincidences::{Accidentals, Coincidences};
pub use context::QueryContext;
pub use explain::{Explained, PlanFacts, Reading, ScanFacts};
pub use histogram::{Histogram, Reach};
pub use listing::Listing;
pub use question::Question;
pub use rates::Rates;
pub use select::Selection;
pub use setup::Setup;
pub use setup_file::SetupFile;
pub use words::{BinWidth, Channel, Moment, Window};
