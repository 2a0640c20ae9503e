//! `tagq derive`: a new store with channels made from channels.

use std::path::PathBuf;

use clap::ArgAction;
use tagq::requests::Channel;

use super::options::SetupArgs;

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
    /// Keep only tags inside of G: the name of a gate in tagq.toml, or a gate; may be repeated, and all are open then
    #[arg(long = "gate", value_name = "G", action = ArgAction::Append)]
    pub gates: Vec<String>,
    /// Only these channels, of the run or derived [default: all]
    #[arg(long, value_name = "A,B…", value_delimiter = ',')]
    pub channels: Vec<Channel>,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Reads NAME = DEFINITION.
fn definition(text: &str) -> Result<(String, String), String> {
    let (name, definition) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is no definition; write NAME = DEFINITION"))?;
    Ok((name.trim().into(), definition.trim().into()))
}
