//! Commands that print, convert and export tags.

use std::path::PathBuf;

use tagq::requests::Moment;
use tagq_export::{TagFormat, TimeUnit};

use super::options::{SetupArgs, StoreArgs, TagsArgs};

/// Print the tags as text: channel, tab, time in ticks
///
/// Prints one line per tag. The tags of a file keep their order and need no store; those of a folder or a
/// store are in order of time. With --at the index of the store finds them, in a run of any length. If a run has micro times, they are the third column, empty for a tag without.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq cat run/ | head
  tagq cat run/ --at 1.5s,-200ms --tags 3
  tagq cat run.tags.zst | cut -f1 | sort -n | uniq -c")]
pub(crate) struct CatArgs {
    /// A file, a folder of files, a store, or - for standard input
    #[arg(value_name = "RUN|FILE")]
    pub run: PathBuf,
    /// Print only the first tag at T or later, for each T: "1s" is after the first tag of the run, "-1s" before the last,
    /// "@123t" as recorded
    #[arg(long, value_name = "T", value_delimiter = ',', allow_hyphen_values = true)]
    pub at: Vec<Moment>,
    /// Print N tags from each T on
    #[arg(long, value_name = "N", default_value_t = 1, requires = "at")]
    pub tags: usize,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print only what is in the store; do not ingest new files
    #[arg(long)]
    pub no_ingest: bool,
}

/// Write tags in another format, given by the name of OUT
///
/// OUT ends with .tags, .tsv, .csv, .ptu or .swabian, or with one of these and .zst or .gz, or with .h5, .hdf5
/// (Photon-HDF5), .npz (NumPy), .arrow or .parquet. The content of a file
/// decides how it is read, not its name, and its tags keep their order. The tags of a folder or a store are
/// written in order of time. Text has the channel first: .tsv is separated by tabs, .csv by commas and has a
/// header. Compressed output consists of members that can be read one by one, with checksums. Micro times are
/// written to .h5, .npz, .arrow and .parquet, and to a .ptu if they are those of a PicoQuant file of mode T3; other formats leave them
/// out. What else OUT has no place for goes to a run file beside it (night.json of night.tags.zst): tick, names,
/// facts and dead time. OUT appears only when it is complete.
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
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
    /// Leave out damaged blocks of a store, as dead time, and what is damaged in a file
    #[arg(long)]
    pub salvage: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Write the tags of a run for other programs
///
/// FILE ends with .arrow, .parquet, .csv or .tsv: a table with the columns time, in ticks as recorded, channel, and micro
/// if the run has micro times, in order of time. Or it has one of the other names that `tagq convert` writes, as .h5, .npz, .ptu
/// or .tags.zst. What it has no place for goes to a run file beside it. Without
/// --output an Arrow stream goes to standard output. FILE appears only when it is complete, and memory does not grow with the run.
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
    /// Write this format: arrow, parquet, csv, tsv, h5, npz, ptu, … [default: by the name of FILE, else an Arrow stream]
    #[arg(long, value_name = "FORM")]
    pub format: Option<TagFormat>,
    /// Replace FILE if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Add a column of times as floats, since the run's first tag, in this unit: ps, ns, us or s
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    #[command(flatten)]
    pub tags: TagsArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Write only what is in the store; do not ingest new files
    #[arg(long)]
    pub no_ingest: bool,
    /// Leave out damaged blocks of the store
    #[arg(long)]
    pub salvage: bool,
}
