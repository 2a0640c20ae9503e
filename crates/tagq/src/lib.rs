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

mod counted;
mod error;
mod escape;
mod progress;
mod work;

mod destination;
mod merge;
mod new_file;

mod run;

mod recorded;
mod remarks;

mod convert;
mod derive;
mod details;
mod input;
mod new_store;
mod notes;
mod recorder;

mod setup;

pub mod requests;

mod cells;
mod figure;
mod table;

mod answer;
mod provenance;

mod cache;

mod catalogue;

mod delays;
mod peaks;
mod pulses;
mod search;
mod unfinished;
mod unsteady;
mod verify;

mod question;

mod fits;
mod scans;

mod plan;
mod reproduce;

mod simulate;

pub use answer::{Answer, ChannelFacts, RunFacts, SCHEMA_VERSION};
pub use catalogue::{FoundRun, Moment, RunState, Wanted, runs};
pub use cells::Cells;
pub use convert::{
    Converted, OutForm, Projection, RowsDone, Stretch, TagSelection, Tags, TagsOfRun, Wrote,
    convert, stretches, write,
};
pub use counted::{are, counted, grouped, thousands};
pub use delays::Delays;
pub use derive::{Derivation, KeptView, derive, lanes};
pub use destination::Destination;
pub use details::LeftFile;
pub use error::Error;
pub use escape::{escaped, is_shown};
pub use figure::{FigureKind, FittedSeries};
pub use fits::{FIT_TYPES, Fit, FitType, OwnModel};
pub use input::Input;
pub use merge::{Alignment, Drift, Merged, merge};
pub use new_file::NewFile;
pub use new_store::NewStore;
pub use notes::{ChannelSettings, Notes, Singles};
pub use plan::{Division, Part, PartOptions, Parts, Plan, PlannedRun, verify_kept};
pub use progress::{Progress, Silent};
pub use provenance::{CountedRun, Provenance, Together};
pub use question::{Asked, QUERY_TYPES, Question, SEARCH_TYPES, cases, is_search};
pub use recorded::{Recorded, write_run_file};
pub use recorder::Recorder;
pub use remarks::{recorded_remarks, remarks};
pub use reproduce::{Difference, RELATIVE_TOLERANCE, ReproduceOptions, Reproduced, SavedAnswer};
pub use run::{
    follow::{FollowChange, FollowLoop, Follower, HOLD_BACK, Waiter},
    left_out::LeftOut,
    open::{Run, StoreChanges, StoreSizes, change_store, ingest, ingest_sources, open, open_input},
    options::{Bounds, Caching, OpenOptions, Treatment},
};
pub use scans::{RunSetting, SettingOf, SettingScan};
pub use search::{Search, Searched};
pub use simulate::{ForChannel, SimulationOptions};
pub use table::{Cell, CellType, Column, Priority, Row, Shown, Table, Unit};
pub use verify::Verified;

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
