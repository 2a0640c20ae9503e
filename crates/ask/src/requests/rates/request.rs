//! The request and its options.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tagq_run::BinWidth;

use crate::requests::{
    blocks::{self, Errors},
    division::BY,
    options::{self, ChannelArgument, RequestOption, RequestType, ValueType},
    selection::{self, Selection},
};

/// Counts the tags of each channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// The tags that are used.
    pub selection: Selection,
    /// Return a trace with bins of this width.
    pub bin: Option<BinWidth>,
    /// Return a row for each interval of this gate, or from each tag of this channel to the next.
    pub by: Option<String>,
    /// Refuse bins that are no whole number of ticks.
    pub exact_bins: bool,
    /// Method for errors.
    pub errors: Errors,
}

/// The request as a user states it.
pub const RATES: RequestType = RequestType {
    name: "rates",
    summary: "Count the tags of each channel, and their rates",
    details: "",
    channels: Some(ChannelArgument {
        value_name: "A,B…",
        options: &["channels"],
        help: "Only these channels",
    }),
    options: &[&[BIN, BY.excludes(&["bin", "last"]), options::EXACT_BINS, blocks::OPTION]],
    selection: &[&selection::COMMON, &[selection::LIVE_TIME]],
    preset: &[],
    unlisted: None,
    examples: &[&[], &[("bin", "100ms"), ("channels", "3,15")], &[("by", "16")]],
    cases,
};

/// See [`RequestType::cases`].
fn cases() -> Vec<Value> {
    vec![
        json!({}),
        json!({"channels": ["2", "1"]}),
        json!({"bin": "300t"}),
        json!({"by": "3", "channels": ["1", "2"]}),
        json!({"bin": "900t", "errors": "blocks:3"}),
        json!({"errors": "blocks:6", "channels": ["1", "4"]}),
    ]
}

const BIN: RequestOption = RequestOption::new(
    "bin",
    ValueType::Text("W"),
    "Trace: a row for each bin of this width and channel",
);
