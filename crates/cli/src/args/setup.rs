//! Commands that write the setup.

use std::path::PathBuf;

use super::{options::StoreArgs, values::ChannelName};

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
