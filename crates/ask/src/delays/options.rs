//! The search as a user states it, in the form of the requests.

use serde_json::{Value, json};

use crate::requests::{
    ChannelArgument, RequestType, ValueType, options::RequestOption, selection::SPAN,
};

/// The name of the query.
pub(super) const NAME: &str = "delays";

/// The search as a user states it.
pub(super) const DELAYS: RequestType = RequestType {
    name: NAME,
    summary: "Find the delays between channels: the peaks of their differences, from coarse to fine",
    details: "Searches each pair of the channels, in the recorded times without delays. A peak is reported if chance \
              would give no peak as high in the whole range (7 sigmas). The delays that put the peaks at zero are part of \
              the answer.",
    channels: Some(ChannelArgument {
        value_name: "A,B…",
        options: &["channels"],
        help: "Two or more channels, by number or name",
    }),
    options: &[&[
        RequestOption::new(
            "channels",
            ValueType::Channels("A,B…"),
            "Two or more channels, by number or name [default: all detectors]",
        ),
        RequestOption::new(
            "range",
            ValueType::Text("R"),
            "Search this far on both sides of zero [default: 1ms]",
        ),
    ]],
    selection: &[&SPAN],
    preset: &[],
    unlisted: None,
    examples: &[&[], &[("channels", "3,15")]],
    cases,
};

/// See [`RequestType::cases`].
fn cases() -> Vec<Value> {
    vec![json!({}), json!({"channels": [1, 2], "range": "200t"}), json!({"last": "300t"})]
}
