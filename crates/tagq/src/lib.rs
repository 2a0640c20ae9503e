//! tagq: fast, exact queries over photon time tags.
//!
//! [`open`] takes a run (a store, a folder of tag files, or one such file), updates its store and
//! returns a [`Run`]; the queries of [`query`] count over it.
//!
//! ```no_run
//! use tagq::{OpenOptions, Silent, open, query::{Coincidences, Execution, Groups, Kind as _, Rule, Scope}};
//!
//! let run = open("run/".as_ref(), &OpenOptions::default(), &Silent)?;
//! let window = "2ns".parse::<tagq::store::Duration>()?.window(run.store().manifest().tick)?;
//! let (groups, scope) = (Groups::EveryPair, Scope::default());
//! let query = Coincidences { groups, rule: Rule::All, window, veto: None, scope };
//! for row in run.count(|tags| query.run(tags, &Execution::best()))?.rows {
//!     println!("{:?}: {}", row.channels, row.count);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use tagq_ask::{
    Answer, Asked, Cell, CellList, CellType, Cells, ChannelFacts, Column, CountedRun, CountsPart,
    Delays, Error as AskError, FigureKind, FittedSeries, FoundRun, Moment, Priority, Provenance,
    QUERY_TYPES, Question, Row, RunFacts, RunFilter, RunState, SCHEMA_VERSION, SEARCH_TYPES,
    Search, Searched, SeriesOf, Shown, Table, Together, Unit, cases, is_search, lanes, requests,
    runs,
};
pub use tagq_run::{
    Alignment, Bounds, Caching, ChannelSettings, Converted, Derivation, Destination, Drift,
    Error as RunError, FluorescenceOptions, FollowChange, FollowLoop, Follower, ForChannel,
    HOLD_BACK, Input, KeptView, LeftFile, LeftOut, LifetimePart, Merged, NewFile, NewStore, Notes,
    OpenOptions, OutForm, Progress, Projection, Recorded, Recorder, RequestError, RowsDone, Run,
    ScanSize, Silent, SimulationOptions, Singles, StoreChanges, StoreSizes, Stretch, TagOrigin,
    TagSelection, TagsOfRun, Treatment, Verified, Waiter, Wrote, are, change_store, convert,
    counted, derive, escaped, grouped, ingest, ingest_sources, is_shown, merge, open, open_input,
    recorded_remarks, remarks, stretches, thousands, write, write_run_file,
};
pub use tagq_study::{
    Difference, Division, Error, FIT_TYPES, Fit, FitType, OwnModel, Part, PartOptions, Parts, Plan,
    PlannedRun, RELATIVE_TOLERANCE, ReproduceOptions, Reproduced, RunSetting, SavedAnswer,
    SettingOf, SettingScan, verify_kept,
};

#[doc(hidden)]
pub use tagq_run::from_lower_errors;

/// Events of a simulated recorder.
pub use tagq_simulate::live::{Appended, Event};

/// Words of a command to paste.
pub use tagq_store::{pasted, quoted};

/// Models, and fits of them to counts.
pub use tagq_fit as fit;
/// Reading and writing tag files.
pub use tagq_ingest as files;
/// The queries.
pub use tagq_query as query;
/// The store and its basic types: ticks, durations.
pub use tagq_store as store;
