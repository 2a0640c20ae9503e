//! Tags in other forms.

use std::path::PathBuf;

use tagq_export::{Form, TimeUnit};

use super::options::{SetupArgs, StoreArgs, TagsArgs};

/// Print the tags as text: a channel, a tab, a time in ticks
///
/// A line a tag. A file is printed as it stands, without a store; a folder or a store in order of time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq cat run/ | head
  tagq cat run.tags.zst | cut -f1 | sort -n | uniq -c")]
pub(crate) struct CatArgs {
    /// A file, a folder of files, a store, or - for standard input
    #[arg(value_name = "RUN|FILE")]
    pub run: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
}

/// Write tags in another form, as OUT is named
///
/// OUT ends with .tags.zst, .tags, .tsv, .tsv.zst, .csv or .csv.zst. A file is converted as it stands, whatever its name; a folder or a store in order of time. Text has
/// the channel first, with tabs in .tsv, and commas and a header in .csv. What is compressed has
/// frames that can be read one by one, with checksums. OUT is there whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq convert run.tags.zst run.csv
  tagq convert --columns time,channel measured.txt measured.tags.zst
  zcat old.txt.gz | tagq convert - old.tags.zst")]
pub(crate) struct ConvertArgs {
    /// A file, a folder of files, a store, or - for standard input
    #[arg(value_name = "IN")]
    pub from: PathBuf,
    /// The file to write, or - for text to standard output
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Replace OUT if it is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Write the tags of a run for other programs
///
/// FILE is named .arrow, .parquet, .csv or .tsv. The columns are time, in ticks as recorded, and channel, in order of time; the tick stands in the
/// metadata of .arrow and .parquet. Without --output an Arrow stream goes to standard output. FILE is
/// there whole or not at all, and memory does not grow with the run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq export run/ -o run.parquet
  tagq export run/ --channels 3,15 --last 1s --time-unit ns -o second.csv
  tagq export --channels 3 run/ > three.arrows")]
pub(crate) struct ExportArgs {
    /// A folder of tag files, one such file, a store, or - for standard input
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to write: arrow, parquet, csv or tsv [default: as FILE is named, else an Arrow stream]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Form>,
    /// Replace FILE if it is there
    #[arg(long, requires = "output")]
    pub force: bool,
    /// A column of floats beside the ticks, since the run's first tag: ps, ns, us or s
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    #[command(flatten)]
    pub tags: TagsArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Write what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
}
