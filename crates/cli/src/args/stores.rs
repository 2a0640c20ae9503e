//! Stores: made, looked at, corrected.

use std::path::PathBuf;

use tagq::store::{Duration, Tick};

use super::options::{OutputArgs, QueryArgs, SetupArgs, StoreArgs};

/// Take new files into the store
///
/// A query does this by itself. The store of a folder is .tagq/ inside it, the store of one file x is
/// x.tagq/ beside it; with --store all sources become one run there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq ingest run/
  tagq ingest --follow run/
  tagq ingest --tick 4ps --store night.tagq a.tags.zst b.tags.zst
  ssh lab cat run.tags.zst | tagq ingest - --store lab.tagq")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct IngestArgs {
    /// Files, or folders of files; - for standard input, with --store
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Take everything anew, in one commit; every source must still be there
    #[arg(long)]
    pub rebuild: bool,
    /// Put a file that begins before the run's end 1 s behind it: its counter started anew
    #[arg(long)]
    pub rebase: bool,
    /// Take what can be read of a torn end, too; nothing can be added to such a file later
    #[arg(long)]
    pub salvage: bool,
    /// Go on while files grow and new ones appear, until Ctrl-C; one file or folder
    #[arg(long, conflicts_with_all = ["rebuild", "rebase", "salvage"])]
    pub follow: bool,
    /// Of a file that still grows, keep back the newest D: tags that come late can then still be put in
    /// order [default: 10ms]
    #[arg(long, value_name = "D", requires = "follow")]
    pub hold_back: Option<Duration>,
}

/// Say what a run holds: tick, rates, gaps, sources, disk
///
/// What to look at first: whether the tick was assumed, rates of the channels, the shortest interval
/// between two tags of each (a bound on its dead time), gaps between sources, tags that had to be put in
/// order, and what the store takes. The shortest intervals take a look at every tag.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq info run/
  tagq info run/ | jq '.channels[] | {channel, rate_hz, shortest_s}'")]
pub(crate) struct InfoArgs {
    /// Leave out the shortest intervals, for which every tag is read
    #[arg(long)]
    pub fast: bool,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Hold every block of a store against its checksums
///
/// Exit code 3 and the block's number when something is not as it was committed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq verify run/
  tagq verify --sources run/")]
pub(crate) struct VerifyArgs {
    /// Runs or stores
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Hold the source files against their hashes, too
    #[arg(long)]
    pub sources: bool,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Correct what a store says of its run
///
/// Times are stored in ticks, so that another tick changes no tag.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq set --tick 4ps run/
  tagq set --tick 1/12.288GHz run.tags.zst")]
pub(crate) struct SetArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The unit of the recorded times, whatever was said before
    #[arg(long, value_name = "TICK")]
    pub tick: Tick,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}
