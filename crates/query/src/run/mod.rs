//! The input and state of a query: the recording, the scope of the query in it, and the progress of the scan.

mod checks;
pub(crate) mod counts;
mod damage;
pub(crate) mod facts;
pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod pulses;
pub(crate) mod recording;
pub(crate) mod scope;
pub(crate) mod time_range;

pub use counts::Counts;
pub use facts::{Facts, SourceFacts};
pub use live::LiveTime;
pub use progress::{Pass, Pieces, ProgressSnapshot, ScanProgress};
pub use recording::{Recording, Source};
pub use scope::{Delay, Scope};
pub use time_range::TimeRange;
