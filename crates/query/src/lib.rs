//! Counts coincidences in tags, exactly, at the speed of memory.
//!
//! A query is a struct of plain numbers ([`Coincidences`]); `run` counts it over the sources of a
//! [`Recording`] with the threads of the rayon pool it is called in. What each query means is stated
//! in docs/queries.md and, as code, in [`oracle`]; every fast path equals the oracle bit for bit.
//!
//! ```
//! use tagq_query::{Coincidences, Execution, Groups, Recording, Rule, Scope};
//! use tagq_store::{Channels, Tags};
//!
//! let tags = Tags { time: &[0, 5, 17, 19], channels: Channels::U8(&[3, 15, 3, 15]) };
//! let query = Coincidences {
//!     groups: Groups::Listed(vec![vec![3, 15]]),
//!     rule: Rule::All,
//!     window: 5,
//!     veto: None,
//!     scope: Scope::default(),
//! };
//! let counted = query.run(&Recording::from_tags(tags), &Execution::best())?;
//! assert_eq!(counted.rows[0].count, 2);
//! # Ok::<(), tagq_query::Error>(())
//! ```

mod coincidences;
mod histogram;
mod nearest_tags;
mod rates;

mod partial;

mod estimate;
mod plan;
mod recording;
mod scope;
mod singles;

pub mod oracle;

mod count;
mod course;
mod folds;
mod grid;
mod groups;
mod heralds;
mod listing;
mod scan;
mod select;
mod sequential;
mod simd;
mod sliding;
mod veto;

mod level;

mod error;

pub use coincidences::{Coincidences, Counted, GroupCount, Groups, Rule};
pub use course::{Course, Pass, Pieces, Progressed};
pub use error::Error;
pub use estimate::{
    Estimate, Measured, Shifted, SourceSingles, Tally, Terms, covariance, g2_heralded, jackknife,
};
pub use histogram::{Binned, Bins, Fold, Histogram, Mode, Period, normalised};
pub use listing::{ClusterTag, ListedTag, Tuple, Tuples};
pub use nearest_tags::{ShortestInterval, shortest_intervals};
pub use partial::{Additive, Partial};
pub use plan::{Plan, PlannedScan};
pub use rates::{Rated, Rates, SourceRates, Trace, TraceBin};
pub use recording::{Acquisition, Recording};
pub use scan::Execution;
pub use scope::{Delay, Scope, TimeRange};
pub use simd::Simd;
pub use veto::Veto;
