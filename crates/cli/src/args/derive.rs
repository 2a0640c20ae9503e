//! `tagq derive`: a new store with channels made from channels.

use std::path::PathBuf;

use tagq::requests::definition;

use super::{
    options::{DerivedArgs, SetupArgs},
    plots::PlotTo,
};

/// Make a store with channels made from channels, and with the tags inside of gates; or show them
///
/// Definitions are those of `[derived]` and `[gates]` in tagq.toml, and those given here. The new store has the channels of
/// the run and the derived channels, and is a run like any other.
///
/// Channels: `A | B` (all tags), `A & B within 2ns` (coincidences, one to one), `A / 1000` (every 1000th tag),
/// `A dead 40ns`, `A if B in 0ns..100ns`, `A unless B within 10ns`, `A micro 0ns..3ns`. Gates: `A .. B` (from a tag of A to
/// the next of B), `A for 500ns`, `not g`, `g and h`, `g or h`.
#[derive(Debug, clap::Args)]
///
/// `--plot` makes no store: it shows the tags and gates of a stretch of time.
#[command(after_help = "Examples:
  tagq derive run/ -o pairs.tagq 'Pair = 1 & 2 within 2ns'
  tagq derive run/ -o on.tagq --gate '1 for 1us'
  tagq derive run/ --gate '1 for 1us' --plot
  tagq derive run/ -o clean.tagq 'A = 1 dead 40ns' --channels A,2")]
pub(crate) struct DeriveArgs {
    /// A folder of recordings, a file, or a store
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Definitions of channels: NAME = DEFINITION
    #[arg(value_name = "DEFINITION", value_parser = definition)]
    pub derived: Vec<(String, String)>,
    /// The store to make
    #[arg(
        long,
        short,
        value_name = "STORE",
        required_unless_present = "plot",
        conflicts_with_all = ["plot", "from", "to"]
    )]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub selection: DerivedArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Make no store, but show tags and gates from --from to --to [default: around the first intervals of a gate, or the
    /// first derived tags]: in the terminal, or in FILE, which ends with .svg, .pdf, .png or .html
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub plot: Option<PlotTo>,
    /// Replace FILE if it is there
    #[arg(long, requires = "plot")]
    pub force: bool,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}
