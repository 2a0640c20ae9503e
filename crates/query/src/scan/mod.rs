//! The scan of tags, common to all queries: morsels, the selection of channels, singles, and the plan of the
//! scan.

pub(crate) mod chains;
mod lookup;
pub(crate) mod morsels;
pub(crate) mod plan;
pub(crate) mod ranks;
pub(crate) mod selection;
pub(crate) mod singles;
pub(crate) mod threads;
pub(crate) mod time_bins;

pub use lookup::Lookup;
pub use morsels::Execution;
pub use plan::Plan;
pub use time_bins::{TimeBin, TimeBins};
