//! The request and its options.

use serde::Deserialize;

use crate::{
    requests::{
        histogram::Reach,
        options::{self, Position, RequestOption, RequestType, ValueType},
        selection::{self, Selection},
    },
    setup::arguments::{BinWidth, Channel},
};

/// Histogram of the micro times of one channel (docs/queries.md, section "Micro times").
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MicroTimes {
    /// The channel.
    pub channel: Channel,
    /// Bin width; by default one unit of the micro times.
    #[serde(default)]
    pub bin: Option<BinWidth>,
    /// Range of micro times; by default from 0 to the largest one.
    #[serde(default)]
    pub range: Option<Reach>,
    /// The tags that are used.
    #[serde(default)]
    pub selection: Selection,
}

/// The request as a user states it.
pub const MICRO: RequestType = RequestType {
    name: "micro",
    summary: "Count the micro times of a channel, in bins",
    details: "A micro time is the time of a photon after the sync pulse before it, as recorded in mode T3. \
              Bin k holds LO + k·W ≤ micro time < LO + (k+1)·W, in units of the recorded micro times.",
    positions: &[Position { value_name: "CH", options: &["channel"], help: "The channel" }],
    options: &[&OPTIONS],
    selection: &[&selection::COMMON],
    preset: &[],
    can_list: false,
    examples: &[
        &[("channel", "1")],
        &[("channel", "1"), ("bin", "~100ps"), ("range", "0ns..12ns")],
    ],
};

const OPTIONS: [RequestOption; 3] = [
    RequestOption::new("channel", ValueType::Channel("CH"), "The channel"),
    RequestOption::new(
        "bin",
        ValueType::Text("W", options::check::<BinWidth>),
        "Width of a bin, a whole number of units of the micro times; ~W takes the nearest [default: one \
         unit]",
    ),
    RequestOption::new(
        "range",
        ValueType::Text("R", options::check::<Reach>),
        "Micro times to count, LO..HI [default: 0 to the largest]",
    )
    .signed(),
];
