//! Commands for many runs and many computers: a list of runs, a plan, its partial results, and what they add up to.

use std::{num::NonZeroUsize, path::PathBuf};

use tagq::{Drift, Moment, store::Duration};

use super::{
    options::{OutputArgs, QueryArgs, SetupArgs, StoreArgs},
    questions::{QuestionArgs, QuestionCommand},
    values::Io,
};

/// Divide a query over runs into parts that are counted anywhere
///
/// `tagq partial` counts a part of the plan, on any machine that sees the store of its run, and `tagq merge` answers
/// from all of them. The plan names the rows of each run: parts read exactly these, however the runs grow.
#[derive(Debug, clap::Args)]
#[command(subcommand_value_name = "QUERY", subcommand_help_heading = "Queries")]
#[command(after_help = "Examples:
  tagq plan coincidences --window 2ns run/ --parts 8 -o plan.json
  tagq plan g2 3,15 monday/ tuesday/ --parts 100 -o g2.json")]
pub(crate) struct PlanCommand {
    #[command(subcommand)]
    pub query: QuestionCommand<PlanArgs>,
}

/// List the runs in a folder and in nested folders: dates, channels, rates
///
/// A run is a store, a folder of sources, or a source with a store of its own. Reads manifests, but no tags, and writes
/// nothing. The date is that of the last change of its sources, in UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq runs .
  tagq runs . --since 2026-11-01 --name 'run*' --format json
  tagq plan rates $(tagq runs . --name 'run*' --paths) --parts 9 -o month.json")]
pub(crate) struct RunsArgs {
    /// The folder
    pub folder: PathBuf,
    /// Only runs that ended at T or later: 2026-11-24, 2026-11-24T18:30, in UTC
    #[arg(long, value_name = "T")]
    pub since: Option<Moment>,
    /// Only runs that ended before T
    #[arg(long, value_name = "T")]
    pub until: Option<Moment>,
    /// Only runs whose path in the folder fits the pattern, with * and ?
    #[arg(long, value_name = "PATTERN")]
    pub name: Option<glob::Pattern>,
    /// Print the paths alone, one on a line
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub paths: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a plan takes besides its query.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Divide into about N parts with equally many tags, at least one a run
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = PLAN)]
    pub parts: usize,
    /// Divide each run after every N tags instead: parts stay the same when runs grow (see `tagq partial --cache`)
    #[arg(long, value_name = "N", conflicts_with = "parts", help_heading = PLAN)]
    pub part_tags: Option<NonZeroUsize>,
    /// The plan to write
    #[arg(long, short, value_name = "FILE", required = true, help_heading = PLAN)]
    pub output: PathBuf,
    /// Replace FILE if it is there
    #[arg(long, help_heading = PLAN)]
    pub force: bool,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub query: QueryArgs,
}

/// Over the options of a plan.
const PLAN: &str = "Plan";

impl QuestionArgs for PlanArgs {
    const COMMAND: &'static str = "tagq plan";
    const EXAMPLE: &'static str = " --parts 8 -o plan.json";

    fn query(&mut self) -> &mut QueryArgs {
        &mut self.query
    }
}

/// Count one part of a plan
///
/// The partial result is written whole or not at all. It replaces FILE if that is the partial result of the same part:
/// a job that runs twice changes nothing.
/// Exit codes: 75 when it may succeed if it is tried again (reading or writing failed), any other when it will not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq partial plan.json --index 2 -o p.2
  tagq partial plan.json --index 2 --io read --threads 4 -o p.2")]
pub(crate) struct PartialArgs {
    /// A plan made by `tagq plan`
    pub plan: PathBuf,
    /// The number of the part, from 0 [default: $SLURM_ARRAY_TASK_ID]
    #[arg(long, value_name = "I")]
    pub index: Option<u32>,
    /// The partial result to write
    #[arg(long, short, value_name = "FILE", required = true)]
    pub output: PathBuf,
    /// Replace FILE if it is there, whatever it is
    #[arg(long)]
    pub force: bool,
    /// How the columns are read: `read` copies them into memory first, for network file systems on
    /// which files may be cut short while they are mapped
    #[arg(long, value_enum, default_value_t = Io::Map)]
    pub io: Io,
    /// Keep the partial result in DIR, too, and take it from there if an earlier plan counted the same part: a plan that
    /// is made again after a run has grown costs only the new parts (see `tagq plan --part-tags`)
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// The store of the run lies in DIR here, and not where the plan says
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Threads to count with [default: $SLURM_CPUS_PER_TASK, else one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Merge recordings of the same time, or the partial results of a plan
///
/// Of runs, as of two instruments, or of files with one channel each: the new store has the tags of all in order of time,
/// in the tick of the first. Tags of equal times: those of the run that is named first come first. With two runs, a time t of
/// the second becomes t · (1 + drift) + offset, rounded down to a tick.
///
/// Of a plan: the answer of the query, which needs all of its partial results and no run. With --partial the sum of
/// some of them is written in place of the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq merge alice.ptu bob.ptu -o both.tagq --offset 3.2us --channels-b +100
  tagq merge alice.ptu bob.ptu -o slow.tagq --drift=-0.35 --channels-b +100
  tagq merge --tick 1ps ch1.csv ch2.csv ch3.csv -o all.tagq
  tagq merge plan.json p.0 p.1 p.2
  tagq merge plan.json p.0 p.1 --partial p.0-1")]
pub(crate) struct MergeArgs {
    /// Two or more runs, or a plan and its partial results
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Of two runs: add D to the times of the second
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub offset: Option<Duration>,
    /// Of two runs: multiply the times of the second by 1 + PPM / 10^6, for a clock that runs slow by so much
    #[arg(long, value_name = "PPM", allow_negative_numbers = true)]
    pub drift: Option<Drift>,
    /// Of two runs: add N to the channels of the second
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub channels_b: Option<i32>,
    /// Of a plan: answer for each run by itself
    #[arg(long, conflicts_with = "partial")]
    pub each: bool,
    /// Of a plan: write the sum of the partial results to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "output", group = "files")]
    pub partial: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Threads to compute with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub store: StoreArgs,
}
