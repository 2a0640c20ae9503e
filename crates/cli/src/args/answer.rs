//! Arguments that every request takes besides its own: output, files and threads.

use super::{
    options::{OUTPUT, OutputArgs, QueryArgs, SELECTION, SetupArgs},
    plots::PlotArgs,
};

/// How a request is answered.
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Several runs as one answer: their counts are added up
    #[arg(long, help_heading = SELECTION)]
    pub sum: bool,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// List the tuples themselves, in order of time: rows, recorded times, differences
    #[arg(long, conflicts_with_all = ["plot", "explain"], help_heading = OUTPUT)]
    pub list: bool,
    /// State what would be read, and do not count
    #[arg(long, conflicts_with = "plot", help_heading = OUTPUT)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
}
