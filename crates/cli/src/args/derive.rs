//! `tagq derive`: a new store with channels made from channels.

use std::path::PathBuf;

use tagq::requests::definition;

use super::options::{DerivedArgs, SetupArgs};

/// Make a store with channels made from channels, and with the tags inside of gates
///
/// Definitions are those of `[derived]` and `[gates]` in tagq.toml, and those given here. The new store has the channels of
/// the run and the derived channels, and is a run like any other.
///
/// Channels: `A | B` (all tags), `A & B within 2ns` (coincidences, one to one), `A / 1000` (every 1000th tag),
/// `A dead 40ns`, `A if B in 0ns..100ns`, `A unless B within 10ns`, `A micro 0ns..3ns`. Gates: `A .. B` (from a tag of A to
/// the next of B), `A for 500ns`, `not g`, `g and h`, `g or h`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq derive run/ -o pairs.tagq 'Pair = 1 & 2 within 2ns'
  tagq derive run/ -o on.tagq --gate '1 for 1us'
  tagq derive run/ -o clean.tagq 'A = 1 dead 40ns' --channels A,2")]
pub(crate) struct DeriveArgs {
    /// A folder of recordings, a file, or a store
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Definitions of channels: NAME = DEFINITION
    #[arg(value_name = "DEFINITION", value_parser = definition)]
    pub derived: Vec<(String, String)>,
    /// The store to make
    #[arg(long, short, value_name = "STORE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub selection: DerivedArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}
