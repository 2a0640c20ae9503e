//! Commands that find and write the setup.

use std::path::PathBuf;

use tagq::{DELAYS, requests::Channel, store::Duration};

use super::{
    channels::{take_channels, usage_template},
    options::{JoinedSpanArgs, OutputArgs, SetupArgs, StoreArgs},
    plots::PlotArgs,
    table::usage,
    values::ChannelName,
};

/// Find the delays between channels: the peaks of their differences, from coarse to fine
///
/// Searches each pair of the channels, in the recorded times without delays. The --delay options that put the
/// peaks at zero are printed below the table. A peak is reported if chance would give no peak as high in the
/// whole range (7 sigmas).
#[derive(Debug, clap::Args)]
#[command(help_template = usage_template("tagq delays [OPTIONS] [A,B…] <RUN>"))]
#[command(after_help = "Examples:
  tagq delays run/
  tagq delays 3,15 run/
  tagq delays 3,15 --plot run/
  tagq delays 1,2,3,4 --range 10us --write run/tagq.toml run/")]
pub(crate) struct DelaysArgs {
    /// Two or more channels, by number or name, which can also stand in front of the run [default: all detectors]
    #[arg(long, value_name = "A,B…", value_delimiter = ',')]
    channels: Vec<Channel>,
    /// Search this far on both sides of zero [default: 1ms]
    #[arg(long, value_name = "R")]
    pub range: Option<Duration>,
    /// Write the delays into this tagq.toml and keep its other content
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub span: JoinedSpanArgs,
    /// The run, as for any query
    #[arg(value_name = "RUN", required = true, num_args = 1..)]
    words: Vec<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Read only what is in the store; do not ingest new files
    #[arg(long)]
    pub no_ingest: bool,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
}

impl DelaysArgs {
    /// Returns the channels and the run. Exits with a usage error if there is not one run.
    pub(crate) fn channels_and_run(&self) -> (Vec<Channel>, PathBuf) {
        let mut runs = self.words.clone();
        let taken = take_channels(&mut runs, DELAYS.channels).unwrap_or_else(|error| error.exit());
        let parse = |text: &str| text.parse::<Channel>().ok();
        let taken = taken.iter().flat_map(|list| list.split(',').filter_map(parse));
        let channels = self.channels.iter().cloned().chain(taken).collect();
        match <[PathBuf; 1]>::try_from(runs) {
            Ok([run]) => (channels, run),
            Err(runs) => {
                let count = runs.len();
                let text = format!(
                    "delays are those of one run, and {count} are named; ask once for each"
                );
                usage(&text).exit()
            }
        }
    }
}

/// Write a first tagq.toml for a run, with its channels and rates
///
/// The file has every line that a setup can have: tick, names, delays, groups and the options of queries. What
/// the run does not say is a comment to be edited.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq init run/
  tagq init run/ --output lab.toml")]
pub(crate) struct InitArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Write to FILE [default: tagq.toml in the folder of the run]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Read only what is in the store; do not ingest new files
    #[arg(long)]
    pub no_ingest: bool,
}

/// Name the channels of a run, in the tagq.toml of its folder
///
/// Every command accepts a name in place of a channel. Without CH=NAME the command lists the names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq name run/ 3=Alice-H 15=Bob-H
  tagq name run/ 3=")]
pub(crate) struct NameArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// A channel and its name; CH= removes the name
    #[arg(value_name = "CH=NAME")]
    pub names: Vec<ChannelName>,
}
