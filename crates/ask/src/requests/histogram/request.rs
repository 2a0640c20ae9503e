//! The request and its range of differences.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tagq_query::Mode;
use tagq_run::{BinWidth, Channel, serde_as_text};
use tagq_store::Duration;

use super::kept::KeptBins;
use crate::requests::{
    blocks::Errors,
    division::BY,
    options::{self, ChannelArgument, RequestOption, RequestType, ValueType},
    selection::{self, Selection},
};

/// Histogram of the time differences of two channels (docs/queries.md, section "Histogram").
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// Differences from the tags of this channel …
    #[serde(default)]
    pub start: Option<Channel>,
    /// … to the tags of this channel. Without both: the two detectors of a run that has two.
    #[serde(default)]
    pub stop: Option<Channel>,
    /// Bin width; by default chosen from the tags of the channels.
    #[serde(default)]
    pub bin: Option<BinWidth>,
    /// Refuse bins that are no whole number of ticks.
    #[serde(default)]
    pub exact_bins: bool,
    /// Range of differences; by default chosen.
    #[serde(default)]
    pub range: Option<Reach>,
    /// Bins per decade, in place of bins of equal width.
    #[serde(default)]
    pub log: Option<u32>,
    /// The pairs that are counted.
    #[serde(default = "all", deserialize_with = "mode", serialize_with = "serialize_mode")]
    pub mode: Mode,
    /// Return the bins of each interval of this gate, or from each tag of this channel to the next.
    #[serde(default)]
    pub by: Option<String>,
    /// Fold into this period.
    #[serde(default)]
    pub period: Option<Duration>,
    /// Fold into the period of a sync, if only each n-th pulse of it was recorded.
    #[serde(default)]
    pub sync_divider: Option<u32>,
    /// Normalise by the expectation for uncorrelated light.
    #[serde(default)]
    pub g2: bool,
    /// Take the light as pulsed with this period, and return the g2 of each pulse.
    #[serde(default)]
    pub pulsed: Option<PulsePeriod>,
    /// The full width of a peak; half of the period by default.
    #[serde(default)]
    pub peak: Option<Duration>,
    /// Peaks on each side that the one at zero is compared with.
    #[serde(default)]
    pub sides: Option<u32>,
    /// Peaks next to zero, on each side, that it is not compared with.
    #[serde(default)]
    pub skip: Option<u32>,
    /// Method for errors; by default from blocks for pulsed light, and by formula otherwise.
    #[serde(default)]
    pub errors: Option<Errors>,
    /// Also compute the covariance of the g2 of all bins, from blocks.
    #[serde(default)]
    pub covariance: bool,
    /// The tags that are used.
    #[serde(default)]
    pub selection: Selection,
    /// The bins that were chosen.
    #[serde(skip)]
    pub kept: KeptBins,
}

/// Histogram as a user states it.
pub const HISTOGRAM: RequestType = RequestType {
    name: "histogram",
    summary: "Count differences of the times of two channels, in bins",
    details: "Bin k holds LO + k·W ≤ Δ < LO + (k+1)·W with Δ the delayed time of the stop minus that \
              of the start. All pairs count, however many; a tag is never paired with itself.",
    channels: Some(ENDS_ARGUMENT),
    options: &[&PAIRS, &BINS, &[options::EXACT_BINS, ERRORS]],
    selection: &[&selection::COMMON],
    preset: &[],
    unlisted: None,
    examples: &[
        &[("start", "3"), ("stop", "15"), ("range", "-64t..65t")],
        &[("start", "1"), ("stop", "2"), ("mode", "last"), ("bin", "16t"), ("range", "0t..640t")],
    ],
    cases: super::cases::of_histograms,
};

/// Histogram with g2.
pub const G2: RequestType = RequestType {
    name: "g2",
    summary: "The correlation g2 of two channels: a histogram with g2",
    details: "",
    channels: Some(ENDS_ARGUMENT),
    options: &[&ENDS, &[BY_INTERVAL], &BINS, &PULSED, &[options::EXACT_BINS, ERRORS]],
    selection: &[&selection::COMMON],
    preset: &["g2"],
    unlisted: None,
    examples: &[
        &[("start", "1"), ("stop", "2")],
        &[("start", "3"), ("stop", "15"), ("log", "20"), ("range", "1ns..1ms")],
        &[("start", "1"), ("stop", "2"), ("pulsed", "12.5ns"), ("peak", "4ns")],
    ],
    cases: super::cases::of_g2,
};

const ENDS_ARGUMENT: ChannelArgument = ChannelArgument {
    value_name: "A,B",
    options: &["start", "stop"],
    help: "From the tags of channel A to those of channel B, which may be the same [default: both detectors, if the \
           run has two]",
};

const START: RequestOption = RequestOption::new(
    "start",
    ValueType::Channel("A"),
    "Differences from the tags of this channel",
)
.requires("stop");
const STOP: RequestOption = RequestOption::new(
    "stop",
    ValueType::Channel("B"),
    "Differences to the tags of this channel, which may be the same",
)
.requires("start");

const ENDS: [RequestOption; 2] = [START, STOP];

const PAIRS: [RequestOption; 7] = [
    START,
    STOP,
    RequestOption::new("mode", ValueType::Choice(modes), "Pairs that are counted").default("all"),
    RequestOption::new(
        "g2",
        ValueType::Flag,
        "Normalise by the expectation for uncorrelated light",
    ),
    RequestOption::new(
        "period",
        ValueType::Text("P"),
        "Fold differences into [0, P), with mode next or last",
    )
    .excludes(&["sync_divider"]),
    RequestOption::new(
        "sync_divider",
        ValueType::Number("N"),
        "Fold by the period of the recorded sync, which is each N-th pulse",
    ),
    BY_INTERVAL,
];

const BY_INTERVAL: RequestOption = BY.excludes(&["last"]);

const BINS: [RequestOption; 4] = [
    RequestOption::new(
        "bin",
        ValueType::Text("W"),
        "Width of a bin, rounded to ticks [default: chosen from the tags of the channels, or about 100 \
         bins of the range]",
    ),
    RequestOption::new(
        "range",
        ValueType::Text("R"),
        "Differences to count: D for both sides of zero, or LO..HI [default: chosen from the data; with \
         a bin, 64 bins on either side of zero]",
    )
    .signed(),
    RequestOption::new(
        "log",
        ValueType::Number("N"),
        "N bins a decade from LO to HI of the range, both above zero",
    )
    .excludes(&["bin"]),
    RequestOption::new(
        "covariance",
        ValueType::Flag,
        "With g2 and errors from blocks: the covariance of each bin with every bin",
    ),
];

const PULSED: [RequestOption; 4] = [
    RequestOption::new(
        "pulsed",
        ValueType::Text("P"),
        "Light in pulses of period P, `auto`, or sync=CH: g2 of each pulse, from the counts around multiples of P",
    )
    .excludes(&["bin", "range", "log", "by"]),
    RequestOption::new(
        "peak",
        ValueType::Text("W"),
        "With pulsed: the full width in which pairs belong to a peak [default: half of the period]",
    )
    .requires("pulsed"),
    RequestOption::new(
        "sides",
        ValueType::Number("K"),
        "With pulsed: peaks on each side of zero that are the reference [default: 10]",
    )
    .requires("pulsed"),
    RequestOption::new(
        "skip",
        ValueType::Number("N"),
        "With pulsed: peaks next to zero, on each side, that are no reference [default: 0]",
    )
    .requires("pulsed"),
];

const ERRORS: RequestOption = RequestOption::new(
    "errors",
    ValueType::Text("HOW"),
    "Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time [default: formula; \
     with pulsed, blocks]",
);

const MODES: [(Mode, [&str; 2]); 4] = [
    (Mode::All, ["all", "Every start with every stop"]),
    (Mode::Next, ["next", "Each start with its first stop at or after it"]),
    (Mode::Last, ["last", "Each stop with its latest start at or before it"]),
    (
        Mode::Grid,
        [
            "grid",
            "Every pair, with times in cells of a bin's width and both ends of the range included",
        ],
    ),
];

fn modes() -> Vec<[&'static str; 2]> {
    MODES.map(|(_, named)| named).to_vec()
}

/// Returns the name of a mode.
pub(super) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::All => "all",
        Mode::Next => "next",
        Mode::Last => "last",
        Mode::Grid => "grid",
    }
}

fn all() -> Mode {
    Mode::All
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn serialize_mode<S: Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(mode_name(*mode))
}

fn mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
    options::choice(deserializer, &MODES)
}

/// The range of differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Symmetric around zero, with the middle bin centred on zero.
    Around(Duration),
    /// From one difference to another, the latter excluded.
    Between(Duration, Duration),
}

serde_as_text!(Reach);

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Around(reach) => f.write_str(reach.asked()),
            Self::Between(low, high) => write!(f, "{}..{}", low.asked(), high.asked()),
        }
    }
}

impl std::str::FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |text: &str| text.parse::<Duration>().map_err(|e| e.to_string());
        match text.split_once("..") {
            Some((low, high)) => Ok(Self::Between(parse(low)?, parse(high)?)),
            None => parse(text).map(Self::Around),
        }
    }
}

/// The period of pulsed light.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PulsePeriod {
    /// As the file states it, or as the tags show it.
    Auto,
    /// The mean distance of the tags of a channel, each of which is of every so many pulses.
    Sync(Channel, u32),
    /// This one.
    Stated(Duration),
}

serde_as_text!(PulsePeriod);

impl std::fmt::Display for PulsePeriod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Sync(channel, divider) => {
                let channel = match channel {
                    Channel::Number(number) => number.to_string(),
                    Channel::Name(name) => name.clone(),
                };
                match divider {
                    1 => write!(f, "sync={channel}"),
                    divider => write!(f, "sync={channel}/{divider}"),
                }
            }
            Self::Stated(period) => f.write_str(period.asked()),
        }
    }
}

impl std::str::FromStr for PulsePeriod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(sync) = text.strip_prefix("sync=") {
            let (channel, divider) = sync.rsplit_once('/').unwrap_or((sync, "1"));
            let divider = divider.parse().ok().filter(|divider| *divider > 0);
            let divider =
                divider.ok_or_else(|| format!("`{text}` has no divider; write sync=CH/16"))?;
            return Ok(Self::Sync(channel.parse()?, divider));
        }
        text.parse::<Duration>()
            .map(Self::Stated)
            .map_err(|e| format!("{e}; or `auto`, or sync=CH"))
    }
}
