//! The request and its options.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tagq_run::BinWidth;

use crate::requests::{
    division::BY,
    histogram::Reach,
    options::{self, ChannelArgument, RequestOption, RequestType, ValueType},
    selection::{self, Selection},
};

/// Histograms of the micro times of channels (docs/queries.md, section "Micro times").
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MicroTimes {
    /// Bin width; by default one unit of the micro times.
    pub bin: Option<BinWidth>,
    /// Refuse bins that are no whole number of ticks.
    pub exact_bins: bool,
    /// Range of micro times; by default from 0 to the largest one.
    pub range: Option<Reach>,
    /// Return a trace: the bins of each interval of this width.
    pub trace: Option<BinWidth>,
    /// Return the bins of each interval of this gate, or from each tag of this channel to the next.
    pub by: Option<String>,
    /// The tags that are used; those of each channel are counted separately.
    pub selection: Selection,
}

/// The request as a user states it.
pub const MICRO: RequestType = RequestType {
    name: "micro",
    summary: "Count the micro times of channels, in bins",
    details: "A micro time is the time of a photon after the sync pulse before it, as recorded in mode T3. \
              Bin k holds LO + k·W ≤ micro time < LO + (k+1)·W, in units of the recorded micro times.",
    channels: Some(ChannelArgument {
        value_name: "A,B…",
        options: &["channels"],
        help: "The channels, each counted by itself [default: all but markers and sync inputs]",
    }),
    options: &[&OPTIONS, &[options::EXACT_BINS]],
    selection: &[&selection::COMMON],
    preset: &[],
    unlisted: None,
    examples: &[
        &[("channels", "1")],
        &[("channels", "1,2"), ("bin", "100ps"), ("range", "0ns..12ns"), ("trace", "10ms")],
    ],
    cases,
};

/// See [`RequestType::cases`].
fn cases() -> Vec<Value> {
    vec![
        json!({"channels": ["1", "2"]}),
        json!({"channels": ["2", "1"], "bin": "5t", "range": "0t..40t"}),
        json!({"channels": ["1", "3"], "range": "0t..30t", "bin": "3t", "trace": "700t"}),
        json!({"channels": ["1", "3"], "range": "0t..30t", "bin": "3t", "by": "2 .. 4"}),
    ]
}

const OPTIONS: [RequestOption; 4] = [
    RequestOption::new(
        "bin",
        ValueType::Text("W"),
        "Width of a bin, rounded to units of the micro times [default: one unit]",
    ),
    RequestOption::new(
        "range",
        ValueType::Text("R"),
        "Micro times to count, LO..HI [default: 0 to the largest]",
    )
    .signed(),
    RequestOption::new(
        "trace",
        ValueType::Text("D"),
        "Trace: these bins for each interval D of the run",
    ),
    BY.excludes(&["trace", "last"]),
];
