//! Questions.

use clap::ArgAction;
use tagq::{
    requests::{BinWidth, Channel, Reach},
    store::Duration,
};

use super::{
    options::{ErrorsArgs, OUTPUT, OutputArgs, QueryArgs, SelectionArgs},
    plots::PlotArgs,
    values::{AccidentalsName, ChannelPair, Group, ModeName, RuleName},
};

/// Over the options of accidentals.
const ACCIDENTALS: &str = "Accidentals";
/// Over the options of what counts.
const COUNTS: &str = "What counts";

macro_rules! g2_examples {
    () => {
        "Examples:
  tagq g2 1,2 run/
  tagq g2 3,15 --log 20 --range 1ns..1ms run/
  tagq g2 1,2 --plot g2.svg run/"
    };
}

/// Count coincidences of channels within a window
///
/// Every pair of channels is counted, or the groups named. `tagq help rules` and `tagq help windows` draw
/// what counts.
///
/// By rule `all` a pair counts when its times differ by at most the window W: |Δt| ≤ W, half the full
/// width. Every answer names the rule, the window in ticks and the live time.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = COUNTS)]
#[command(after_help = "Examples:
  tagq coincidences --window 2ns run/
  tagq coincidences --window 2ns --group 3,15 --delay 15=-4.0625ns run.tags.zst
  tagq coincidences --window 1us --group 3,15,16 --rule once run/")]
pub(crate) struct CoincidencesArgs {
    /// Largest time difference allowed: a duration (2ns, 156.25ps) or whole ticks (13t)
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    pub window: Option<Duration>,
    /// The window as its full width: 2w + 1 ticks of a pair; of larger groups, clusters and cells from the
    /// earliest tag to the latest
    #[arg(long, value_name = "F", allow_hyphen_values = true, conflicts_with = "window")]
    pub full_width: Option<Duration>,
    /// 2 to 16 channels, for example 3,15; may be repeated [default: every pair]
    #[arg(long = "group", value_name = "A,B[,C…]", action = ArgAction::Append)]
    pub groups: Vec<Group>,
    /// Every choice of N of the channels in use
    #[arg(long, value_name = "N", conflicts_with = "groups")]
    pub choose: Option<usize>,
    /// Which combinations of tags count
    #[arg(long, value_enum, default_value_t = RuleName::All)]
    pub rule: RuleName,
    /// Reject coincidences that have a tag of these channels nearby
    #[arg(long, value_name = "C[,D…]", value_delimiter = ',')]
    pub veto: Vec<Channel>,
    /// How far a veto reaches beyond the earliest and latest tag [default: the window]
    #[arg(long, value_name = "G", requires = "veto")]
    pub guard: Option<Duration>,
    #[arg(
        long,
        value_name = "HOW",
        default_value = "formula",
        help_heading = ACCIDENTALS,
        help = "How accidentals are found: formula, or shifted[:K] by K counts with a channel moved"
    )]
    pub accidentals: AccidentalsName,
    /// Move channels by multiples of P, the period of a pulsed source
    #[arg(long, value_name = "P", help_heading = ACCIDENTALS)]
    pub shift: Option<Duration>,
    /// A trace: a row for each bin of this width and group; ~B takes the nearest number of ticks
    #[arg(long, value_name = "B")]
    pub bin: Option<BinWidth>,
    #[command(flatten)]
    pub errors: ErrorsArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// The tuples themselves, in order of time: rows, recorded times, differences
    #[arg(long, conflicts_with_all = ["bin", "plot"], help_heading = OUTPUT)]
    pub list: bool,
    /// Say what would be read, and do not count
    #[arg(long, conflicts_with_all = ["list", "plot"], help_heading = OUTPUT)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
}

/// Count differences of the times of two channels, in bins
///
/// Bin k holds LO + k·W ≤ Δ < LO + (k+1)·W with Δ the delayed time of the stop minus that of the
/// start. All pairs count, however many; a tag is never paired with itself.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = COUNTS)]
#[command(after_help = "Examples:
  tagq histogram --start 3 --stop 15 --range -64t..65t run/
  tagq histogram --start 1 --stop 2 --mode last --bin 16t --range 0t..640t run/")]
pub(crate) struct HistogramArgs {
    /// From the tags of this channel
    #[arg(long, value_name = "A")]
    pub start: Channel,
    /// To the tags of this channel, which may be the same
    #[arg(long, value_name = "B")]
    pub stop: Channel,
    /// Which pairs
    #[arg(long, value_enum, default_value_t = ModeName::All)]
    pub mode: ModeName,
    /// Normalised by what light without correlation would give
    #[arg(long)]
    pub g2: bool,
    /// Fold differences into [0, P), with mode next or last
    #[arg(long, value_name = "P")]
    pub period: Option<Duration>,
    /// The same by the recorded sync, which is each N-th pulse
    #[arg(long, value_name = "N", conflicts_with = "period")]
    pub sync_divider: Option<u32>,
    #[command(flatten)]
    pub bins: BinsArgs,
    #[command(flatten)]
    pub errors: ErrorsArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Say what would be read, and do not count
    #[arg(long, conflicts_with = "plot", help_heading = OUTPUT)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
}

/// The correlation g2 of two channels: `histogram --g2`
#[derive(Debug, clap::Args)]
#[command(next_help_heading = COUNTS)]
#[command(
    after_help = g2_examples!(),
    after_long_help = concat!(include_str!("topics/g2.txt"), "\n", g2_examples!())
)]
pub(crate) struct G2Args {
    /// The two channels, or one twice
    #[arg(value_name = "A,B")]
    pub pair: ChannelPair,
    #[command(flatten)]
    pub bins: BinsArgs,
    #[command(flatten)]
    pub errors: ErrorsArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Say what would be read, and do not count
    #[arg(long, conflicts_with = "plot", help_heading = OUTPUT)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
}

/// The bins of a histogram.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BinsArgs {
    /// Width of a bin, a whole number of ticks; ~W takes the nearest [default: chosen by what the channels
    /// hold, or about 100 bins of the range]
    #[arg(long, value_name = "W")]
    pub bin: Option<BinWidth>,
    /// Differences to count: D for both sides of zero, or LO..HI [default: chosen from the data; with --bin,
    /// 64 bins on either side of zero]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub range: Option<Reach>,
    /// N bins a decade from LO to HI of the range, both above zero
    #[arg(long, value_name = "N", conflicts_with = "bin")]
    pub log: Option<u32>,
    /// With g2 and --errors blocks: the covariance of each bin with every bin
    #[arg(long)]
    pub covariance: bool,
}

/// Count the tags of each channel, and their rates
#[derive(Debug, clap::Args)]
#[command(next_help_heading = COUNTS)]
#[command(after_help = "Examples:
  tagq rates run/
  tagq rates --bin 100ms --channels 3,15 run/
  tagq rates --bin 100ms --plot run/")]
pub(crate) struct RatesArgs {
    /// A trace: a row for each bin of this width and channel; ~W takes the nearest number of ticks
    #[arg(long, value_name = "W")]
    pub bin: Option<BinWidth>,
    #[command(flatten)]
    pub errors: ErrorsArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Say what would be read, and do not count
    #[arg(long, conflicts_with = "plot", help_heading = OUTPUT)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
}
