//! Runs: recordings as columns that queries read.
//!
//! [`open`] finds the store and the sources of a run and brings the store up to date. A [`Run`] counts over its rows,
//! with results of its own that are kept from question to question. The [`Setup`] has what a recording does not say:
//! names of channels, delays, definitions. Other functions write runs and files: [`convert()`], [`merge`],
//! [`derive()`], [`SimulationOptions`].
//!
//! Functions that write files or stores write beside the target first, and replace it in one step.

mod counted;
mod error;
mod escape;
mod notes;
mod progress;
mod remarks;
mod unfinished;
pub mod work;

mod location;
mod memo;
mod options;

mod cache;
mod input;

mod follow;
mod held;
mod left_out;
mod open;
mod room;
mod update;
mod writer;

mod destination;
mod new_file;
mod new_store;
mod recorded;
mod recorder;

mod details;
mod fluorescence;
mod setup;
mod simulate;

mod convert;
mod derive;
mod merge;
mod verify;

pub use cache::{CacheSettings, Cached, NewResults};
pub use convert::{
    Converted, OutForm, Projection, RowsDone, Stretch, TagOrigin, TagSelection, TagsOfRun, Wrote,
    convert, stretches, write,
};
pub use counted::{are, counted, grouped, thousands};
pub use derive::{Derivation, KeptView, Lane, Lanes, View, derive, intervals_by, view_of};
pub use destination::Destination;
pub use details::LeftFile;
pub use error::{Error, RequestError};
pub use escape::{escaped, is_shown};
pub use fluorescence::{FluorescenceOptions, LifetimePart, ScanSize};
pub use follow::{FollowChange, FollowLoop, Follower, HOLD_BACK, Waiter};
pub use input::Input;
pub use left_out::LeftOut;
pub use location::{RunLocation, is_source_name, may_have_sources};
pub use memo::Memo;
pub use merge::{Alignment, Drift, Merged, merge};
pub use new_file::NewFile;
pub use new_store::NewStore;
pub use notes::{ChannelSettings, Notes, Singles};
pub use open::{
    Run, StoreChanges, StoreSizes, change_store, ingest, ingest_sources, open, open_input,
};
pub use options::{Bounds, Caching, OpenOptions, Treatment};
pub use progress::{Progress, Silent};
pub use recorded::{Recorded, write_run_file};
pub use recorder::Recorder;
pub use remarks::{recorded_remarks, remarks};
pub use setup::{
    arguments::{BinWidth, Channel, Moment, Window},
    definitions::{self, Definition, definition},
    experiment::Setup,
    file::SetupFile,
    stated::StatedSetup,
};
pub use simulate::{ForChannel, SimulationOptions};
pub use verify::Verified;
pub use work::Work;
