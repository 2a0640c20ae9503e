//! The request and its options.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tagq_query::Rule;
use tagq_run::{BinWidth, Channel, Window, serde_as_text};
use tagq_store::Duration;

use crate::requests::{
    blocks::{self, Errors},
    division::BY,
    options::{self, ChannelArgument, RequestOption, RequestType, Section, ValueType},
    selection::{self, Selection},
};

/// Counts how often tags of several channels fall within a window (docs/queries.md, section
/// "Coincidences").
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coincidences {
    /// The window; if it is missing, the error suggests one.
    #[serde(default)]
    pub window: Option<Duration>,
    /// The window as its full width, in place of `window`.
    #[serde(default)]
    pub full_width: Option<Duration>,
    /// The groups of channels; by default those of the setup, otherwise every pair.
    #[serde(default)]
    pub groups: Vec<Vec<Channel>>,
    /// All combinations of this many channels, in place of groups.
    #[serde(default)]
    pub choose: Option<usize>,
    /// The rule that makes tags a coincidence.
    #[serde(default = "all", deserialize_with = "rule", serialize_with = "rule_name")]
    pub rule: Rule,
    /// Channels whose tags veto coincidences nearby, each with its delay.
    #[serde(default)]
    pub veto: Vec<Channel>,
    /// Reach of a veto; default is the window.
    #[serde(default)]
    pub guard: Option<Duration>,
    /// Method for accidentals.
    #[serde(default)]
    pub accidentals: Accidentals,
    /// The shift of shifted counts; its multiples are used, too. Default is max(1 µs, 10 full widths).
    #[serde(default)]
    pub shift: Option<Duration>,
    /// Method for errors.
    #[serde(default)]
    pub errors: Errors,
    /// Return a trace with bins of this width.
    #[serde(default)]
    pub bin: Option<BinWidth>,
    /// Return a row for each group and interval of this gate, or from each tag of this channel to the next.
    #[serde(default)]
    pub by: Option<String>,
    /// Refuse bins that are no whole number of ticks.
    #[serde(default)]
    pub exact_bins: bool,
    /// The tags that are used.
    #[serde(default)]
    pub selection: Selection,
}

/// Methods for accidentals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accidentals {
    /// The formula for a steady source.
    #[default]
    Formula,
    /// Counts with channels moved, this many times.
    Shifted(u32),
}

impl Coincidences {
    /// Returns the window as the user gave it.
    pub(super) fn window(&self) -> Option<Window> {
        let half = || self.window.clone().map(Window::Half);
        self.full_width.clone().map(Window::Full).or_else(half)
    }
}

/// The request as a user states it.
pub const COINCIDENCES: RequestType = RequestType {
    name: "coincidences",
    summary: "Count coincidences of channels within a window",
    details: "Every pair of channels is counted, without markers and syncs, or the given groups. By rule \
              `all` a pair counts if its times differ by at most the window W: |Δt| ≤ W, half the full \
              width. Every answer states the rule, the window in ticks and the live time.",
    channels: Some(ChannelArgument {
        value_name: "A,B[,C…]",
        options: &["groups"],
        help: "A group of 2 to 16 channels; several groups may follow each other [default: every pair]",
    }),
    options: &[&COUNTS, &[options::EXACT_BINS, blocks::OPTION], &ACCIDENTALS],
    selection: &[&selection::COMMON, &[selection::LIVE_TIME]],
    preset: &[],
    unlisted: Some(&["bin", "by", "exact_bins", "accidentals", "shift", "errors", "live_time"]),
    examples: &[
        &[("window", "2ns")],
        &[("window", "2ns"), ("groups", "3,15"), ("delays", "15=-4.0625ns")],
        &[("window", "1us"), ("groups", "3,15,16"), ("rule", "once")],
        &[("window", "2ns"), ("by", "16")],
    ],
    cases: super::cases::cases,
};

const COUNTS: [RequestOption; 9] = [
    RequestOption::new(
        "window",
        ValueType::Text("W"),
        "Largest time difference allowed: a duration (2ns, 156.25ps) or whole ticks (13t)",
    )
    .signed(),
    RequestOption::new(
        "full_width",
        ValueType::Text("F"),
        "The window as its full width: 2w + 1 ticks of a pair; of larger groups, clusters and cells \
         from the earliest tag to the latest",
    )
    .signed()
    .excludes(&["window"]),
    RequestOption::new(
        "groups",
        ValueType::Groups("A,B[,C…]"),
        "2 to 16 channels, for example 3,15; may be repeated [default: every pair]",
    ),
    RequestOption::new("choose", ValueType::Number("N"), "Every choice of N of the channels in use")
        .excludes(&["groups"]),
    RequestOption::new("rule", ValueType::Choice(rules), "Combinations of tags that count")
        .default("all"),
    RequestOption::new(
        "veto",
        ValueType::Channels("C[,D…]"),
        "Reject coincidences that have a tag of these channels nearby",
    ),
    RequestOption::new(
        "guard",
        ValueType::Text("G"),
        "Reach of a veto before the earliest and after the latest tag [default: the window]",
    )
    .requires("veto"),
    RequestOption::new(
        "bin",
        ValueType::Text("B"),
        "Trace: a row for each bin of this width and group",
    ),
    BY.excludes(&["bin", "last"]),
];

const ACCIDENTALS: [RequestOption; 2] = [
    RequestOption::new(
        "accidentals",
        ValueType::Text("HOW"),
        "Method for accidentals: formula, or shifted[:K] by K counts with a channel moved",
    )
    .default("formula")
    .section(Section::Accidentals),
    RequestOption::new(
        "shift",
        ValueType::Text("P"),
        "Move channels by multiples of P, the period of a pulsed source",
    )
    .section(Section::Accidentals),
];

fn rules() -> Vec<[&'static str; 2]> {
    named().map(|(_, named)| named).to_vec()
}

/// Returns the rules with their names and summaries.
fn named() -> [(Rule, [&'static str; 2]); Rule::ALL.len()] {
    Rule::ALL.map(|rule| (rule, [rule.name(), rule.summary()]))
}

fn all() -> Rule {
    Rule::All
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn rule_name<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.name())
}

fn rule<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
    options::choice(deserializer, &named())
}

serde_as_text!(Accidentals);

impl std::fmt::Display for Accidentals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Formula => f.write_str("formula"),
            Self::Shifted(counts) => write!(f, "shifted:{counts}"),
        }
    }
}

impl std::str::FromStr for Accidentals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const COUNTS: u32 = 10;
        match text.split_once(':') {
            None if text == "formula" => Ok(Self::Formula),
            None if text == "shifted" => Ok(Self::Shifted(COUNTS)),
            Some(("shifted", counts)) => counts
                .parse()
                // A number above 32 bits is rejected as too large later.
                .map(|counts: u128| Self::Shifted(u32::try_from(counts).unwrap_or(u32::MAX)))
                .map_err(|_| format!("`{counts}` is no number of counts; write shifted:{COUNTS}")),
            _ => Err(format!("`{text}` is neither formula nor shifted nor shifted:{COUNTS}")),
        }
    }
}
