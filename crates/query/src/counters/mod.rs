//! Where the counts of a range of time come from.
//!
//! A question about a run asks a [`Ledger`] for two kinds of numbers: the counts of queries in ranges of delayed time,
//! and the tags of channels between two times. What it asks follows from the question and from the facts about the run,
//! never from a count. A [`Counter`] answers:
//!
//! - [`Scan`] counts the rows.
//! - [`Record`] counts those of one interval of time and keeps what it counted: a part.
//! - [`Sum`] reads no row, and takes the numbers that the parts of all times kept.
//! - [`Dry`] counts nothing, and lists the questions.
//!
//! The crate `run` has one more, which caches results.

mod bytes;
mod countable;
mod counter;
mod dry;
mod ledger;
mod part_counts;
mod ranks;
mod record;
mod scan;
mod sum;
pub(crate) mod time_bins;

pub(crate) use countable::frontier;
pub use countable::{Countable, Needs, Pairs};
pub use counter::{CountQuestion, Counter, Rank};
pub use dry::Dry;
pub use ledger::Ledger;
pub use part_counts::PartCounts;
pub(crate) use ranks::Ranks;
pub use record::Record;
pub use scan::Scan;
pub use sum::Sum;
pub use time_bins::{TimeBin, TimeBins, TimeDivision, TimeInterval};
