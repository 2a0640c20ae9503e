//! What is found and written for the setup.

use std::path::PathBuf;

use tagq::{requests::Channel, store::Duration};

use super::{
    options::{JoinedSpanArgs, OutputArgs, SetupArgs, StoreArgs},
    values::ChannelName,
};

/// Find the delays between channels: the peaks of their differences, from coarse to fine
///
/// Each pair of the channels is searched, in the times as recorded. Below the table stand the --delay
/// options that put the peaks at zero. A peak is said to be one when chance would put nothing as high
/// into the whole range (7 sigmas).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq delays --channels 3,15 run/
  tagq delays --channels 1,2,3,4 --range 10us --write run/tagq.toml run/")]
pub(crate) struct DelaysArgs {
    /// Two channels and more, by number or name
    #[arg(long, value_name = "A,B…", value_delimiter = ',', required = true)]
    pub channels: Vec<Channel>,
    /// How far to search on both sides of zero [default: 1ms]
    #[arg(long, value_name = "R")]
    pub range: Option<Duration>,
    /// Write the delays into this tagq.toml; what else stands there stays
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub span: JoinedSpanArgs,
    /// The run, as for any query
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Answer from what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
    /// Threads to scan with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Name the channels of a run, in the tagq.toml of its folder
///
/// A name stands wherever a channel does, in every command. Without names those that there are are
/// listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq name run/ 3=Alice-H 15=Bob-H
  tagq name run/ 3=")]
pub(crate) struct NameArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// A channel and its name; without a name it has only its number
    #[arg(value_name = "CH=NAME")]
    pub names: Vec<ChannelName>,
}
