//! The request and its options.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tagq_run::{BinWidth, Channel};

use crate::requests::{
    histogram::Reach,
    options::{self, ChannelArgument, RequestOption, RequestType, ValueType},
    selection::{self, Selection},
};

/// Histogram of two time differences at once: of two channels to a herald (docs/queries.md, section
/// "Histogram in two dimensions").
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Histogram2d {
    /// The channel of the heralds.
    #[serde(default)]
    pub herald: Option<Channel>,
    /// Channel A.
    #[serde(default)]
    pub a: Option<Channel>,
    /// Channel B.
    #[serde(default)]
    pub b: Option<Channel>,
    /// Bin width of both differences; by default a part of the range.
    #[serde(default)]
    pub bin: Option<BinWidth>,
    /// Refuse bins that are no whole number of ticks.
    #[serde(default)]
    pub exact_bins: bool,
    /// Range of both differences; by default 32 bins on either side of zero, if a bin width is given.
    #[serde(default)]
    pub range: Option<Reach>,
    /// Normalise by the expectation for uncorrelated light.
    #[serde(default)]
    pub g3: bool,
    /// The tags that are used.
    #[serde(default)]
    pub selection: Selection,
}

/// The request as a user states it.
pub const HISTOGRAM2D: RequestType = RequestType {
    name: "histogram2d",
    summary: "Count differences of the times of two channels to a herald, in a grid of cells",
    details: "Every combination of a herald H, a tag of A and a tag of B counts once, in the cell of \
              both differences: the delayed times of A and of B minus that of H.",
    channels: Some(ChannelArgument {
        value_name: "H,A,B",
        options: &["herald", "a", "b"],
        help: "The channel of the heralds, and two others [default: the three detectors, if the run has three]",
    }),
    options: &[&OPTIONS, &[options::EXACT_BINS]],
    selection: &[&selection::COMMON],
    preset: &[],
    unlisted: None,
    examples: &[
        &[("herald", "1"), ("a", "2"), ("b", "3"), ("range", "20ns")],
        &[("herald", "1"), ("a", "2"), ("b", "3"), ("range", "-50ns..50ns"), ("bin", "1ns")],
    ],
    cases,
};

/// See [`RequestType::cases`].
fn cases() -> Vec<Value> {
    vec![
        json!({"herald": "1", "a": "2", "b": "3", "bin": "20t", "range": "-60t..100t"}),
        json!({"herald": "2", "a": "1", "b": "3", "bin": "20t", "range": "-60t..60t", "g3": true}),
    ]
}

const OPTIONS: [RequestOption; 6] = [
    RequestOption::new("herald", ValueType::Channel("H"), "The channel of the heralds")
        .requires("a"),
    RequestOption::new("a", ValueType::Channel("A"), "A second channel").requires("b"),
    RequestOption::new("b", ValueType::Channel("B"), "A third channel").requires("herald"),
    RequestOption::new(
        "bin",
        ValueType::Text("W"),
        "Width of a bin, rounded to ticks [default: about 64 bins of the range]",
    ),
    RequestOption::new(
        "range",
        ValueType::Text("R"),
        "Differences to count: D for both sides of zero, or LO..HI [default: with a \
         bin, 32 bins on either side of zero]",
    )
    .signed(),
    RequestOption::new(
        "g3",
        ValueType::Flag,
        "Normalise by the expectation for uncorrelated light and short differences",
    ),
];
