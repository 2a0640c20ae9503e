//! The selection of tags as the user states it, and its resolution in one run.
//!
//! In a run with tags from tick 0 to tick 1,000, `last` of 100 ticks selects the times from 900 up to, not including,
//! 1,001; in a trace with bins of 64 ticks it begins at 896, so that no bin is cut. A delay of the request replaces
//! that of the setup for its channel; the other delays of the setup stay. A delay that is rounded to whole ticks has a
//! note.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use tagq_query::{Delay, Scope, TimeRange};
use tagq_run::{Channel, Definition, Moment, RequestError, Run, Setup, definitions};
use tagq_store::{Duration, Tick, UnitError};

use super::{
    options::{self, OptionValues, RequestOption, Section, ValueType},
    unlikely,
};

use crate::error::Error;

/// The tags that a request uses (docs/queries.md, section "Selection").
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Only these channels; all channels if empty.
    pub channels: Vec<Channel>,
    /// Definitions of channels made from channels, with those of the setup.
    #[serde(with = "definitions")]
    pub derive: Vec<Definition>,
    /// Gates that must be open: names of gates of the setup, or gates as a definition states them.
    pub gates: Vec<String>,
    /// Delays added to the times of channels; they override those of the setup.
    pub delays: Vec<DelayAsked>,
    /// Start of the selection.
    pub from: Option<Moment>,
    /// End of the selection, excluded.
    pub to: Option<Moment>,
    /// Only this long before the newest tag, which is included.
    pub last: Option<Duration>,
    /// Live time that replaces the one of the run.
    pub live_time: Option<Duration>,
    /// Whether sources follow each other without a gap, so that tuples may span two sources.
    pub join: bool,
}

/// A delay as the user states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelayAsked {
    /// That of a channel.
    Of(Channel, Duration),
    /// Those that move the peaks between the channels to zero, for all channels without another one
    /// ([`crate::Question::settled`] finds them).
    Auto,
}

/// The error for delays that are to be found, where there are no pairs to find them from.
pub(super) const NO_PAIRS: &str = "delays are found from the peaks between channels that belong together: of coincidences, \
     histograms and g2; write a delay as CH=D";

/// The text of [`DelayAsked::Auto`].
const AUTO: &str = "auto";

impl Serialize for DelayAsked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Of(channel, delay) => (channel, delay).serialize(serializer),
            Self::Auto => serializer.serialize_str(AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for DelayAsked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AskedFields;

        impl<'de> Visitor<'de> for AskedFields {
            type Value = DelayAsked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a channel and its delay, or `{AUTO}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<DelayAsked, E> {
                let unknown = || E::custom(format!("`{text}` is no delay; write CH=D or {AUTO}"));
                (text == AUTO).then_some(DelayAsked::Auto).ok_or_else(unknown)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<DelayAsked, A::Error> {
                let pair = Deserialize::deserialize(SeqAccessDeserializer::new(seq));
                pair.map(|(channel, delay)| DelayAsked::Of(channel, delay))
            }
        }

        deserializer.deserialize_any(AskedFields)
    }
}

/// The options of the times that are used.
pub(crate) const SPAN: [RequestOption; 4] = [
    option(
        "from",
        ValueType::Text("T"),
        "Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks",
    )
    .signed(),
    option("to", ValueType::Text("T"), "End, excluded; stated as the start").signed(),
    option("last", ValueType::Text("D"), "Only the last D of the run; of a trace in whole bins")
        .excludes(&["from", "to"]),
    option(
        "join",
        ValueType::Flag,
        "Files follow each other without a gap: coincidences may span two",
    ),
];

/// The options of a selection that every kind of request supports.
pub(super) const COMMON: [RequestOption; 8] = {
    let [from, to, last, join] = SPAN;
    let channels =
        option("channels", ValueType::Channels("A,B…"), "Only these channels, by number or name");
    let delays = option(
        "delays",
        ValueType::Delays("CH=D"),
        "Add D to the times of channel CH, rounded to whole ticks; may be repeated. `auto` adds what moves the peaks \
         to zero, as `tagq delays` finds them",
    )
    .signed();
    let derive = option(
        "derive",
        ValueType::Texts("NAME=DEF"),
        "Make a channel from others: `X = 1 | 2`, `X = 1 & 2 within 2ns`, and as `tagq help derive` says; may be repeated",
    );
    let gates = option(
        "gates",
        ValueType::Texts("G"),
        "Only tags inside of gate G: the name of one in tagq.toml, `A .. B` from tag to tag, or `A for D`; may be repeated",
    );
    [channels, derive, gates, delays, from, to, last, join]
};

/// The option that replaces the recorded live time.
pub(super) const LIVE_TIME: RequestOption = option(
    "live_time",
    ValueType::Text("T"),
    "Live time, in place of last minus first tag of each file",
);

const fn option(name: &'static str, value: ValueType, help: &'static str) -> RequestOption {
    RequestOption::new(name, value, help).section(Section::Selection)
}

/// A selection resolved in one run.
#[derive(Debug, Clone)]
pub(crate) struct Selected {
    pub scope: Scope,
    /// Live time in seconds, if given.
    pub live_s: Option<f64>,
    /// The requested length at the end of the run, if it was widened to whole bins.
    pub widened: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Selection {
    /// Returns the options of a selection.
    pub fn options() -> impl Iterator<Item = &'static RequestOption> {
        COMMON.iter().chain(&[LIVE_TIME])
    }

    /// Creates the selection with these options.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for invalid values.
    pub fn of_options(options: OptionValues) -> Result<Self, Error> {
        options::deserialize(options)
    }

    /// Iterates over all channels that it names.
    pub fn named(&self) -> impl Iterator<Item = &Channel> {
        let delays = self.delays.iter().filter_map(|delay| match delay {
            DelayAsked::Of(channel, _) => Some(channel),
            DelayAsked::Auto => None,
        });
        self.channels.iter().chain(delays)
    }

    /// Returns the channels for which it has a delay.
    pub(crate) fn delayed(&self, setup: &Setup) -> Result<Vec<u16>, Error> {
        let of = |delay: &DelayAsked| match delay {
            DelayAsked::Of(channel, _) => Some(setup.channel(channel).map_err(Error::from)),
            DelayAsked::Auto => None,
        };
        self.delays.iter().filter_map(of).collect()
    }

    /// Resolves it in `run`, to ticks and labels.
    ///
    /// # Errors
    /// Unknown names, and durations that are invalid for the run.
    pub fn scope(&self, run: &Run, setup: &Setup) -> Result<Scope, Error> {
        Ok(self.of(run, setup)?.scope)
    }

    /// Whether the range of time changes when the run grows.
    pub(crate) fn moves(&self) -> bool {
        self.last.is_some() || self.from.iter().chain(&self.to).any(Moment::moves)
    }

    pub(crate) fn of(&self, run: &Run, setup: &Setup) -> Result<Selected, Error> {
        self.of_bins(run, setup, None)
    }

    /// Resolves it for a trace in bins of this many ticks; `last` then does not cut a bin.
    pub(crate) fn of_bins(
        &self,
        run: &Run,
        setup: &Setup,
        bin: Option<i64>,
    ) -> Result<Selected, Error> {
        let manifest = run.store().manifest();
        let tick = manifest.tick;
        let mut notes = Vec::new();
        let channels = match &self.channels[..] {
            [] => None,
            channels => {
                let mut numbers = Vec::new();
                for channel in channels {
                    let number = setup.channel(channel)?;
                    if !numbers.contains(&number) {
                        numbers.push(number);
                    }
                }
                Some(numbers)
            }
        };
        let mut delays: Vec<(u16, &Duration)> = Vec::new();
        for delay in &self.delays {
            match delay {
                DelayAsked::Of(channel, delay) => delays.push((setup.channel(channel)?, delay)),
                DelayAsked::Auto => {
                    return Err(RequestError::options(&["delays"], NO_PAIRS.into()).into());
                }
            }
        }
        for (channel, delay) in &setup.delays {
            if delays.iter().all(|(other, _)| other != channel) {
                delays.push((*channel, delay));
            }
        }
        let mut used = Vec::new();
        for (channel, delay) in delays {
            let ticks = delay.nearest(tick)?;
            if !delay.is_whole(tick)? {
                notes.push(format!(
                    "the delay of channel {}, {}, is rounded to {}",
                    setup.name_of(channel),
                    delay.asked(),
                    super::header::in_ticks(ticks.into(), tick)
                ));
            }
            used.push(Delay { channel, ticks });
        }
        let span = manifest.span();
        let range = span.map_or(Ok(TimeRange::default()), |span| self.range(span, bin, tick))?;
        notes.extend(unlikely::delays(run, self.join, &used, setup));
        notes.extend(span.and_then(|span| unlikely::range(range, span, &used, tick)));
        let live_s = self.live_time.as_ref().map(|live| live.ticks(tick)).transpose()?;
        Ok(Selected {
            scope: Scope { channels, delays: used, range },
            live_s: live_s.map(|ticks| ticks * tick.seconds()),
            widened: self.last.as_ref().filter(|_| bin.is_some()).map(|last| last.asked().into()),
            notes,
        })
    }

    fn range(
        &self,
        (first, last): (i64, i64),
        bin: Option<i64>,
        tick: Tick,
    ) -> Result<TimeRange, UnitError> {
        if let Some(length) = &self.last {
            let ticks = length.floor(tick)?;
            if ticks < 0 {
                return Err(UnitError::Negative { text: length.asked().into() });
            }
            let from = last.saturating_sub(ticks);
            // Back to the edge of its bin: a cut bin would show a rate of few tags.
            let inside =
                bin.map_or(0, |bin| (i128::from(from) - i128::from(first)).rem_euclid(bin.into()));
            let from = i64::try_from(i128::from(from) - inside).unwrap_or(i64::MIN);
            return Ok(TimeRange { from: Some(from), to: last.checked_add(1) });
        }
        let tick_of = |moment: &Option<Moment>| {
            moment.as_ref().map(|moment| moment.tick_in((first, last), tick)).transpose()
        };
        Ok(TimeRange { from: tick_of(&self.from)?, to: tick_of(&self.to)? })
    }
}
