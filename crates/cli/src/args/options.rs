//! Options that several commands take.

use std::path::PathBuf;

use tagq::{
    Options,
    files::text::TextColumns,
    requests::{Channel, Errors, Moment, Selection},
    store::{Duration, Tick},
};

use super::values::{Format, Io, NamedDelay};

/// Over the options of plots and output.
pub(crate) const OUTPUT: &str = "Plots and output";

/// Which tags a query is about.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// Only these channels, by number or name
    #[arg(long, value_name = "A,B…", value_delimiter = ',')]
    pub channels: Vec<Channel>,
    /// Add D to the times of channel CH, rounded to whole ticks; may be repeated
    #[arg(long = "delay", value_name = "CH=D", allow_hyphen_values = true)]
    pub delays: Vec<NamedDelay>,
    #[command(flatten)]
    pub span: SpanArgs,
    /// The live time, in place of last minus first tag of each file
    #[arg(long, value_name = "T")]
    pub live_time: Option<Duration>,
    /// Files follow each other without a gap: coincidences may span them
    #[arg(long)]
    pub join: bool,
    /// Several runs as one answer: what they hold is added up
    #[arg(long)]
    pub sum: bool,
    #[command(flatten)]
    pub setup: SetupArgs,
}

/// How errors are found.
#[derive(Debug, clap::Args)]
pub(crate) struct ErrorsArgs {
    #[arg(
        long,
        value_name = "HOW",
        default_value = "formula",
        help = "How standard errors are found: formula, for steady light, or blocks[:N], from N blocks of time"
    )]
    pub errors: Errors,
}

/// Which part of a run, by time.
#[derive(Debug, clap::Args)]
pub(crate) struct SpanArgs {
    /// From so long after the run's first tag; negative: before its last; @T: ticks as recorded
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// Up to, not including, this time
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Only the last D of the run; of a trace in whole bins
    #[arg(long, value_name = "D", conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
}

/// What is known of the experiment.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// Tick, channel names, delays and groups of the experiment [default: tagq.toml in the run's
    /// folder]
    #[arg(long, value_name = "FILE", conflicts_with = "no_setup")]
    pub setup: Option<PathBuf>,
    /// Use no tagq.toml
    #[arg(long)]
    pub no_setup: bool,
}

/// What every query takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files and threads")]
pub(crate) struct QueryArgs {
    /// A folder of .tags.zst, .tags, .tsv[.zst] or .csv[.zst] files, one such file, a store, or - for
    /// standard input
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Answer from what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
    /// How the columns are read: `read` copies them into memory first, for network file systems on
    /// which files may be cut short while they are mapped
    #[arg(long, value_enum, default_value_t = Io::Map)]
    pub io: Io,
    /// Count everything from scratch, and cache nothing
    #[arg(long)]
    pub no_cache: bool,
    /// Threads to scan with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// Where the store is and what its times mean.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The unit of the recorded times: 156.25ps, 1/3ps, 1/12.288GHz [default: 156.25ps, assumed; text
    /// has none]
    #[arg(long, value_name = "TICK")]
    pub tick: Option<Tick>,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// The order of the columns of text without a header: channel,time or time,channel [default:
    /// channel,time, or as it was taken before]
    #[arg(long, value_name = "NAMES")]
    pub columns: Option<TextColumns>,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl StoreArgs {
    /// How they say to open a run.
    pub(crate) fn options(&self) -> Options {
        Options {
            store: self.store.clone(),
            tick: self.tick,
            columns: self.columns,
            ..Options::default()
        }
    }
}

impl SpanArgs {
    /// This part, of all channels.
    pub(crate) fn selection(&self) -> Selection {
        let Self { from, to, last } = self;
        Selection { from: from.clone(), to: to.clone(), last: last.clone(), ..Selection::default() }
    }
}

/// How an answer is given.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = OUTPUT)]
#[command(group = clap::ArgGroup::new("files").multiple(true))]
pub(crate) struct OutputArgs {
    /// How to give the answer [default: as FILE is named; table on a terminal, else json]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// In tables: all digits, plain seconds and hertz
    #[arg(long)]
    pub exact: bool,
    /// Write the answer to FILE, named .txt (a table), .json, .csv, .arrow or .parquet
    #[arg(long, short, value_name = "FILE", group = "files")]
    pub output: Option<PathBuf>,
    /// Replace FILE if it is there
    #[arg(long, requires = "files")]
    pub force: bool,
}
