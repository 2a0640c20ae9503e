//! What can be asked: a folder for each kind of query, with its struct, its counts and its answer.
//!
//! A kind is a plain struct that implements [`Additive`]. What the kinds share lies in the rooms below: the
//! rules, the scan, the estimates.

mod coincidences;
mod histogram;
pub(crate) mod kind;
mod rates;
mod shortest;
mod tuples;

pub use coincidences::{Coincidences, Counted, GroupCount};
pub use histogram::{Binned, Bins, Fold, Histogram, Mode, Period, normalised};
pub use kind::Additive;
pub use rates::{Rated, Rates, SourceRates, Trace, TraceBin};
pub use shortest::{ShortestInterval, shortest_intervals};
pub use tuples::{ClusterTag, ListedTag, Tuple, Tuples};
