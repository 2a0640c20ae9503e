//! The scan of tags, common to all queries: routes, morsels, the selection of channels, singles, and the plan of the
//! scan.

pub(crate) mod chains;
pub(crate) mod column;
mod lookup;
pub(crate) mod morsels;
pub(crate) mod plan;
pub(crate) mod route;
pub(crate) mod selection;
pub(crate) mod singles;
pub(crate) mod threads;

pub use lookup::Lookup;
pub use morsels::Execution;
pub use plan::ReadPlan;
