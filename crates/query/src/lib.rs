//! Fast, exact queries over photon time tags.
//!
//! A query is a struct of plain numbers ([`Coincidences`]); `run` counts it over the sources of a
//! [`Recording`] with the threads of the rayon pool it is called in. The definition of each query is stated
//! in docs/queries.md and, as code, in [`oracle`]; every fast path equals the oracle bit for bit.
//!
//! ```
//! use tagq_query::{Coincidences, Execution, Groups, Kind as _, Recording, Rule, Scope};
//! use tagq_store::{Channels, Tags};
//!
//! let tags = Tags { time: (&[0, 5, 17, 19]).into(), channels: Channels::U8((&[3, 15, 3, 15]).into()) };
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

mod kinds;

mod estimate;

mod rules;

mod scan;

mod partial;

mod counters;

mod run;

mod kernels;

mod error;

pub mod oracle;

pub use counters::{
    CountQuestion, Countable, Counter, Dry, Ledger, Needs, Pairs, PartCounts, Rank, Record, Scan,
    Sum, TimeBin, TimeBins, TimeDivision, TimeInterval,
};
pub use error::Error;
pub use estimate::{
    Estimate, Heralded, Heralding, Measured, Shifted, SourceSingles, Tally, Terms, covariance,
    jackknife, limit_of_none,
};
pub use kernels::Simd;
pub use kinds::{
    Binned, Binned2d, Bins, ClusterTag, Coincidences, Counted, Fold, GroupCount, Histogram,
    Histogram2d, IMAGE_SIDE_MAX, Image, ImageReport, Imaged, Kind, ListedTag, Markers, MicroTimes,
    Mode, OverWindows, Period, PixelCounts, PixelMicro, REGIONS_MAX, Raster, Rated, Rates, Regions,
    ShortestInterval, Sine, SinglesInScope, SourceRates, Trace, TraceBin, Tuple, Tuples,
    WindowPlan, Windows, mean_spacing, normalised, shortest_intervals,
};
pub use partial::Partial;
pub use rules::{Groups, Matching, Rule, Timed, Veto};
pub use run::{
    Counts, Delay, Facts, LiveTime, Pass, Pieces, ProgressSnapshot, Recording, ScanProgress, Scope,
    Source, SourceFacts, TimeRange,
};
pub use scan::{Execution, Lookup, ReadPlan};
