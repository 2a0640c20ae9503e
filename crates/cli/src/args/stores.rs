//! Commands that build, check and correct stores.

use std::path::PathBuf;

use tagq::store::{Duration, Tick};

use super::options::{OutputArgs, QueryArgs, SetupArgs, StoreArgs};

/// Ingest new files into the store
///
/// Queries ingest new files, too. The store of a folder is .tagq/ inside it; the store of a file x is x.tagq/
/// in the same folder. With --store all sources become one run in that store.
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
    /// Ingest every source again, in one commit; every source must still exist
    #[arg(long)]
    pub rebuild: bool,
    /// Move a file that begins before the run's end to 1 s after it, because its counter started again
    #[arg(long)]
    pub rebase: bool,
    /// Ingest also the readable part of a torn end; such a file cannot grow later
    #[arg(long)]
    pub salvage: bool,
    /// Make a column of times in a new store: 11 bytes a tag in place of 3 to 7
    #[arg(long)]
    pub times: bool,
    /// Make a new store of times alone, without gaps: 9 bytes a tag, and slower queries
    #[arg(long, conflicts_with = "times")]
    pub no_gaps: bool,
    /// Continue while files grow and new ones appear, until Ctrl-C; takes one file or folder
    #[arg(long, conflicts_with_all = ["rebuild", "rebase", "salvage"])]
    pub follow: bool,
    /// Hold back the newest D of a growing file, so that late tags can still be put in order [default: 10ms]
    #[arg(long, value_name = "D", requires = "follow")]
    pub hold_back: Option<Duration>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// Show what a run contains: tick, rates, gaps, sources, disk
///
/// Shows whether the tick was assumed, the rates of the channels, the shortest interval between two tags of
/// each channel (an upper limit of its dead time), gaps between sources, tags that were put in order, and the
/// size of the store. Only the shortest intervals need every tag to be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq info run/
  tagq info run/ | jq '.channels[] | {channel, rate_hz, shortest_s}'")]
pub(crate) struct InfoArgs {
    /// Skip the shortest intervals, for which every tag is read
    #[arg(long)]
    pub fast: bool,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// List the formats of files: how they are recognised, what is written
///
/// NAME is for --source-format, which other commands take for files that cannot be recognised.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq formats
  tagq formats --format json | jq '.formats[].names'")]
pub(crate) struct FormatsArgs {
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Show this computer as an issue needs it, and what is wrong with it
///
/// Shows the version, the processor, memory, file systems and the terminal. Writes nothing, and shows neither the name of the
/// computer nor that of the user. A line with ! is a problem.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq doctor
  tagq doctor run/")]
pub(crate) struct DoctorArgs {
    /// Folder whose file system is shown
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,
}

/// Verify the checksums of every block
///
/// Looks at all blocks of the store, its views and its cached results. RUN can also be a folder of partial results, as tagq partial
/// --cache keeps them. Exits with code 3 and names the block or file if one is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq verify run/
  tagq verify --sources run/")]
pub(crate) struct VerifyArgs {
    /// Runs, stores, or folders of partial results
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Verify also the hashes of the source files
    #[arg(long)]
    pub sources: bool,
    /// Folder of the store [default: in or beside the source]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Find sources in nested folders, too
    #[arg(long)]
    pub recursive: bool,
    /// Print only errors, no progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
}

/// Correct the tick of a store, or make or drop its columns of times and gaps
///
/// Times are stored in ticks, so another tick changes no tag. A tick in `tagq.toml` is replaced, too. A new store has no
/// column of times: times are sums of gaps, two bytes a tag, and of far distances, four bytes for each gap above 65534
/// ticks. A column of times takes eight bytes a tag more; other programs can map it. It is compared with the gaps before
/// it is dropped, and dropped last. Later ingests extend the columns that a store has.
#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("change").required(true).multiple(true)),
    after_help = "Examples:
  tagq set --tick 4ps run/
  tagq set --times off run/"
)]
pub(crate) struct SetArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Unit of the recorded times; replaces the earlier one
    #[arg(long, value_name = "TICK", group = "change")]
    pub tick: Option<Tick>,
    /// Make the column of times, or drop it
    #[arg(long, value_enum, value_name = "ON|OFF", group = "change")]
    pub times: Option<Switch>,
    /// Make the column of gaps beside that of times, or drop it
    #[arg(long, value_enum, value_name = "ON|OFF", group = "change")]
    pub gaps: Option<Switch>,
    /// Folder of the store [default: in or beside the source]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Whether a store has a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    /// The store has the column
    On,
    /// The store has no such column
    Off,
}
