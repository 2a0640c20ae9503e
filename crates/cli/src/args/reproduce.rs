//! Counting an answer again.

use std::path::PathBuf;

use super::values::Io;

/// Count an answer again, from the same tags, and compare
///
/// The answer is JSON that a query wrote, or the lines of a watch. It names its request, its runs and exactly the tags
/// that were counted. The runs may have grown: only these tags are counted again, by this version of tagq. Whole numbers
/// must be the same, measures within 1e-12. Nothing is written, and no file is ingested, unless RUN is named. Exit code
/// 1 if something differs, or if the tags are not there any more.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq reproduce answer.json
  tagq reproduce answer.json run/")]
pub(crate) struct ReproduceArgs {
    /// The answer
    pub answer: PathBuf,
    /// The runs, in place of those that the answer names, in the same order [default: their paths in the answer]
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// How the columns are read: `read` copies them into memory first, for network file systems on
    /// which files may be cut short while they are mapped
    #[arg(long, value_enum, default_value_t = Io::Map)]
    pub io: Io,
    /// Threads to count with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// No progress and no notes, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,
}
