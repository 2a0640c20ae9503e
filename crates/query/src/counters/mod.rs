//! The sources of the counts in a range of time.
//!
//! A query asks a [`Ledger`] for its counts in ranges of delayed time, and for the tags of channels between two
//! times. Its questions follow from the query and from the facts about the run, never from a count. A [`Counter`]
//! answers: [`Scan`] counts the rows; [`Record`] counts the rows of one interval and keeps the counts, as a part;
//! [`Sum`] adds up the parts of all times without reading a row; [`Dry`] only lists the questions. The crate `run`
//! has one more, which caches results.

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
