//! Which columns of a text or a table hold the tags.
//!
//! A source keeps its columns as text in the manifest: `time=t_ns:ns,channel=det` is the column `t_ns` in nanoseconds.
//! What `Display` writes must therefore be read by `of_stored` in all later versions.

use std::{fmt, str::FromStr};

use tagq_store::{Tick, TimeUnit, UnitError, quoted as store_quoted};

use super::{
    naming::{Meaning, Name, Quantity, UnitOfName},
    text::columns::TextColumns,
};

/// The columns that hold the tags, and the unit of their times.
///
/// ```
/// use tagq_ingest::{ChosenColumns, ColumnNames, Columns, text::TextColumns};
/// use tagq_store::TimeUnit;
///
/// let columns: Columns = "time:ns,channel".parse()?;
/// assert_eq!(columns.chosen, ChosenColumns::Order(TextColumns::TimeChannel));
/// assert_eq!(columns.time_unit, Some(TimeUnit::Ns));
/// let names = ColumnNames { time: Some("start".into()), ..ColumnNames::default() };
/// let chosen = ChosenColumns::Named(names);
/// assert_eq!("time=start".parse(), Ok(Columns { chosen, ..Columns::default() }));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// The columns.
    pub chosen: ChosenColumns,
    /// The unit of the times; `None` if they are whole ticks.
    pub time_unit: Option<TimeUnit>,
    /// Lines of a text before its header and its tags.
    pub skip_lines: u64,
    /// The unit of the micro times of a file that does not say it.
    pub micro_tick: Option<Tick>,
    /// The channel of all tags, of a text without a column of channels.
    pub channel: Option<u16>,
}

/// The columns that hold the tags: an order of two, or names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ChosenColumns {
    /// Those that have usual names; without names, the channel and then the time.
    #[default]
    Usual,
    /// The order of two columns without names.
    Order(TextColumns),
    /// Names of columns.
    Named(ColumnNames),
    /// So many columns without names, each with the times of one channel.
    Times(usize),
    /// The names of columns, each with the times of one channel.
    NamedTimes(Vec<String>),
}

/// The names of the columns of tags. A column without a name here has one of its usual names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// The column of times; else `time`, `timestamp` or `t`, or else one that means times.
    pub time: Option<String>,
    /// The column of channels; else `channel`, `ch` or `detector`, or else one that means channels.
    pub channel: Option<String>,
    /// The column of micro times; else `micro`, if there is one.
    pub micro: Option<String>,
}

const TIMES: [&str; 3] = ["time", "timestamp", "t"];
const CHANNELS: [&str; 3] = ["channel", "ch", "detector"];
const MICROS: [&str; 1] = ["micro"];
/// Keys of what is stated besides columns.
const SKIP: &str = "skip=";
const MICRO_TICK: &str = "micro-tick=";
/// The channel of a text without a column of channels, in the text that chooses columns.
const CHANNEL: &str = "channel:";

/// Names that a message shows.
const SHOWN_NAMES: usize = 12;

/// The places of the columns of tags among all columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ColumnPlaces {
    pub time: usize,
    pub channel: usize,
    pub micro: Option<usize>,
    /// The unit that the name of the column of times states.
    pub time_unit: Option<TimeUnit>,
}

/// Why the columns of tags are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoColumns {
    /// In words.
    pub what: String,
    /// Whether the names are those of a header all the same: a column of tags is among them.
    pub is_header: bool,
    /// Whether a column of tags was not found by a usual name.
    pub is_missing: bool,
}

impl NoColumns {
    fn missing(what: String) -> Self {
        Self { what, is_header: false, is_missing: true }
    }

    fn several(what: &str, key: &str, places: &[usize], names: &[String]) -> Self {
        let found: Vec<String> = places.iter().filter_map(|&at| names.get(at).cloned()).collect();
        let is_one_name = found.windows(2).all(|pair| pair[0] == pair[1]);
        let fix = if is_one_name {
            "write the file with one of them".to_owned()
        } else {
            format!("name the right one by --columns {key}=NAME")
        };
        let found = quoted(&found).join(" and ");
        Self {
            what: format!("the {what} could be {found}; {fix}"),
            is_header: true,
            is_missing: false,
        }
    }
}

impl Columns {
    /// Whether a source that was read by the columns `before` cannot be read by these.
    pub fn contradict(&self, before: &Self) -> bool {
        let is_of = |name: &Option<String>, word: &str| {
            name.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(word))
        };
        if self.states_times() && self.time_unit != before.time_unit {
            return true;
        }
        if self.skip_lines > 0 && self.skip_lines != before.skip_lines {
            return true;
        }
        if self.micro_tick.is_some() && self.micro_tick != before.micro_tick {
            return true;
        }
        if self.channel.is_some() && self.channel != before.channel {
            return true;
        }
        match (&self.chosen, &before.chosen) {
            (ChosenColumns::Order(order), ChosenColumns::Order(before)) => order != before,
            (ChosenColumns::Usual, _)
            | (_, ChosenColumns::Usual)
            | (ChosenColumns::Order(_), ChosenColumns::Named(_)) => false,
            (ChosenColumns::Times(count), ChosenColumns::Times(before)) => count != before,
            // A header named the column of times.
            (ChosenColumns::Times(1), ChosenColumns::Named(_)) => before.channel.is_none(),
            (ChosenColumns::NamedTimes(names), ChosenColumns::NamedTimes(before)) => {
                names != before
            }
            (ChosenColumns::Times(_) | ChosenColumns::NamedTimes(_), _)
            | (_, ChosenColumns::Times(_) | ChosenColumns::NamedTimes(_)) => true,
            (ChosenColumns::Named(names), ChosenColumns::Order(_)) => {
                !is_of(&names.time, TIMES[0]) || !is_of(&names.channel, CHANNELS[0])
            }
            (ChosenColumns::Named(names), ChosenColumns::Named(before)) => {
                [&names.time, &names.channel, &names.micro]
                    .into_iter()
                    .zip([&before.time, &before.channel, &before.micro])
                    .any(|(name, before)| name.is_some() && name != before)
            }
        }
    }

    /// The order of two columns without names.
    pub(crate) fn order(&self) -> Option<TextColumns> {
        match &self.chosen {
            ChosenColumns::Order(order) => Some(*order),
            ChosenColumns::Usual
            | ChosenColumns::Named(_)
            | ChosenColumns::Times(_)
            | ChosenColumns::NamedTimes(_) => None,
        }
    }

    /// The names, if columns are chosen by names.
    pub(crate) fn named(&self) -> Option<&ColumnNames> {
        match &self.chosen {
            ChosenColumns::Usual
            | ChosenColumns::Order(_)
            | ChosenColumns::Times(_)
            | ChosenColumns::NamedTimes(_) => None,
            ChosenColumns::Named(names) => Some(names),
        }
    }

    /// The names; the usual ones if none are given.
    pub(crate) fn names(given: Option<&Self>, before: Option<&Self>) -> ColumnNames {
        [given, before].into_iter().flatten().find_map(Self::named).cloned().unwrap_or_default()
    }

    /// Whether they say which column has the times, and so in which unit.
    fn states_times(&self) -> bool {
        let is_chosen = match &self.chosen {
            ChosenColumns::Usual => false,
            ChosenColumns::Order(_) | ChosenColumns::Times(_) | ChosenColumns::NamedTimes(_) => {
                true
            }
            ChosenColumns::Named(names) => names.time.is_some(),
        };
        is_chosen || self.time_unit.is_some()
    }

    /// The unit of times by the columns that are given, or else by those of an earlier reading, or else by the name
    /// of their column.
    pub(crate) fn unit(
        given: Option<&Self>,
        before: Option<&Self>,
        of_name: Option<TimeUnit>,
    ) -> Option<TimeUnit> {
        let stating = [given, before].into_iter().flatten().find(|columns| columns.states_times());
        stating.map_or(of_name, |columns| columns.time_unit)
    }

    /// The channel of a text without a column of channels, if it is given.
    pub(crate) fn channel(given: Option<&Self>, before: Option<&Self>) -> Option<u16> {
        [given, before].into_iter().flatten().find_map(|columns| columns.channel)
    }

    /// The columns of which each has the times of one channel, if they are chosen.
    pub(crate) fn times<'c>(
        given: Option<&'c Self>,
        before: Option<&'c Self>,
    ) -> Option<&'c ChosenColumns> {
        let is_times = |chosen: &&ChosenColumns| {
            matches!(chosen, ChosenColumns::Times(_) | ChosenColumns::NamedTimes(_))
        };
        let chosen = [given, before].into_iter().flatten().map(|columns| &columns.chosen);
        chosen.into_iter().find(|chosen| **chosen != ChosenColumns::Usual).filter(is_times)
    }

    /// The lines of a text before its header and its tags.
    pub(crate) fn skipped(given: Option<&Self>, before: Option<&Self>) -> u64 {
        let lines = [given, before].into_iter().flatten().map(|columns| columns.skip_lines);
        lines.into_iter().find(|&lines| lines > 0).unwrap_or(0)
    }

    /// The unit of micro times that is given for a file that does not say it.
    pub(crate) fn micro_unit(given: Option<&Self>, before: Option<&Self>) -> Option<Tick> {
        [given, before].into_iter().flatten().find_map(|columns| columns.micro_tick)
    }

    /// Parses the columns by which a source was read, as [`fmt::Display`] wrote them: the name of a column states no
    /// unit there.
    pub fn of_stored(text: &str) -> Option<Self> {
        Self::parse(text, name_and_unit).ok()
    }

    /// Parses columns; `unit_of` takes the unit off the name of the column of times.
    fn parse(
        text: &str,
        unit_of: impl Fn(&str) -> (&str, Option<TimeUnit>),
    ) -> Result<Self, String> {
        let (stated, parts) = Self::split_off_stated(text)?;
        let of = |chosen: ChosenColumns, time_unit: Option<TimeUnit>| Self {
            chosen,
            time_unit,
            ..stated.clone()
        };
        if parts.is_empty() {
            return Ok(stated);
        }
        let rest = parts.join(",");
        let is_time = |part: &&str| part.trim() == "time" || part.trim().starts_with("time:");
        if parts.iter().all(is_time) {
            let units = parts.iter().map(|part| part.trim().strip_prefix("time:"));
            let mut units = units.map(|unit| unit.map(str::parse).transpose());
            let unit = units.next().transpose()?.flatten();
            if units.any(|other| other != Ok(unit)) {
                return Err(format!("`{text}` has times in several units; write it in one"));
            }
            return Ok(of(ChosenColumns::Times(parts.len()), unit));
        }
        if !rest.contains('=') {
            let Some((before, after)) = rest.split_once("time:") else {
                return Ok(of(ChosenColumns::Order(rest.parse()?), None));
            };
            let (unit, after) = after.split_at(after.find(',').unwrap_or(after.len()));
            let order = format!("{before}time{after}").parse()?;
            return Ok(of(ChosenColumns::Order(order), Some(unit.parse()?)));
        }
        let keyed = parts.iter().filter_map(|part| part.split_once('='));
        let times: Vec<&str> =
            keyed.filter(|(key, _)| key.trim() == "time").map(|(_, name)| name).collect();
        if times.len() > 1 && times.len() == parts.len() {
            let times = times.iter().map(|name| unit_of(name));
            let (names, units): (Vec<&str>, Vec<Option<TimeUnit>>) = times.unzip();
            if units.iter().any(|unit| *unit != units[0]) {
                return Err(format!("`{text}` has times in several units; write it in one"));
            }
            let is_twice = |at: usize| names[..at].contains(&names[at]);
            if (0..names.len()).any(|at| names[at].is_empty() || is_twice(at)) {
                return Err(format!("`{text}` needs another name for each column of times"));
            }
            let names = names.into_iter().map(Into::into).collect();
            return Ok(of(ChosenColumns::NamedTimes(names), units[0]));
        }
        let mut names = ColumnNames::default();
        let mut time_unit = None;
        for part in parts {
            let named = part.split_once('=').filter(|(_, name)| !name.is_empty());
            let column = named.and_then(|(key, name)| match key.trim() {
                "time" if time_unit.is_none() => {
                    let (name, unit) = unit_of(name);
                    time_unit = unit;
                    Some((&mut names.time, name))
                }
                "channel" => Some((&mut names.channel, name)),
                "micro" => Some((&mut names.micro, name)),
                _ => None,
            });
            match column {
                Some((column @ None, name)) => {
                    *column = Some(name).filter(|name| !name.is_empty()).map(Into::into);
                }
                _ => {
                    return Err(format!(
                        "`{text}` names no columns; they are time=NAME,channel=NAME, and micro=NAME \
                         if there is one, or time=NAME,time=NAME if each has the times of a channel; a unit of \
                         times follows their name, as in time=NAME:ns"
                    ));
                }
            }
        }
        Ok(of(ChosenColumns::Named(names), time_unit))
    }

    /// Splits a text into what it states besides columns, and the parts that choose columns.
    fn split_off_stated(text: &str) -> Result<(Self, Vec<&str>), String> {
        let (mut skip_lines, mut micro_tick, mut channel) = (None, None, None);
        let mut parts = Vec::new();
        for part in text.split(',') {
            let of = |key: &str| part.trim().strip_prefix(key);
            let twice = |what: &str| Err(format!("`{text}` says twice {what}"));
            if let Some(lines) = of(SKIP) {
                let lines =
                    lines.parse().map_err(|_| format!("`{lines}` is no number of lines"))?;
                if skip_lines.replace(lines).is_some() {
                    return twice("how many lines are skipped");
                }
            } else if let Some(tick) = of(MICRO_TICK) {
                let tick = tick.parse().map_err(|fault: UnitError| fault.to_string())?;
                if micro_tick.replace(tick).is_some() {
                    return twice("what the unit of micro times is");
                }
            } else if let Some(of_tags) = of(CHANNEL) {
                let of_tags = of_tags.parse().map_err(|_| {
                    format!("`{of_tags}` is no channel; channels are numbers of 0 to 65535")
                })?;
                if channel.replace(of_tags).is_some() {
                    return twice("which channel its tags have");
                }
            } else {
                parts.push(part);
            }
        }
        let skip_lines = skip_lines.unwrap_or(0);
        Ok((Self { skip_lines, micro_tick, channel, ..Self::default() }, parts))
    }
}

impl ChosenColumns {
    /// The unit that the name of the column of times states.
    pub(crate) fn unit_of_name(&self) -> Option<TimeUnit> {
        match self {
            Self::Named(ColumnNames { time: Some(name), .. }) => match Name::of(name).unit {
                UnitOfName::Known(unit) => Some(unit),
                UnitOfName::Unknown(_) | UnitOfName::None => None,
            },
            Self::Usual
            | Self::Order(_)
            | Self::Named(_)
            | Self::Times(_)
            | Self::NamedTimes(_) => None,
        }
    }
}

impl ColumnNames {
    /// Finds the columns of tags among `names`: by the names given here, else by usual names, else by their meaning.
    pub(crate) fn find(&self, names: &[String]) -> Result<ColumnPlaces, NoColumns> {
        let found = [
            self.sought_time(),
            Sought {
                what: "channel",
                of: Quantity::Channel,
                name: self.channel.as_ref(),
                usual: &CHANNELS,
            },
        ]
        .map(|sought| sought.place(names));
        let is_header = found.iter().any(|found| matches!(found, Ok(Some(_))));
        let [time, channel] = found;
        let must = |place: Option<usize>, what: &str, usual: &[&str]| {
            place.ok_or_else(|| {
                let usual = usual.join("`, `");
                let what = format!(
                    "no column is named `{usual}`, or like one of these; name the column of the {what} by \
                     --columns {what}=NAME; {}",
                    shown(names)
                );
                NoColumns { what, is_header, is_missing: true }
            })
        };
        let (time, channel) = (must(time?, "time", &TIMES)?, must(channel?, "channel", &CHANNELS)?);
        let micro = Sought {
            what: "micro",
            of: Quantity::Micro,
            name: self.micro.as_ref(),
            usual: &MICROS,
        };
        let time_unit = self.unit_of_time(&names[time])?;
        Ok(ColumnPlaces { time, channel, micro: micro.place(names)?, time_unit })
    }

    /// Finds the column of times alone, of a text without a column of channels. Its place stands for both.
    pub(crate) fn find_time(&self, names: &[String]) -> Result<ColumnPlaces, NoColumns> {
        let time = self.sought_time().place(names)?.ok_or_else(|| {
            NoColumns::missing(format!(
                "no column is named `{}`, or like one of these; {}",
                TIMES.join("`, `"),
                shown(names)
            ))
        })?;
        let time_unit = self.unit_of_time(&names[time])?;
        Ok(ColumnPlaces { time, channel: time, micro: None, time_unit })
    }

    fn sought_time(&self) -> Sought<'_> {
        Sought { what: "time", of: Quantity::Time, name: self.time.as_ref(), usual: &TIMES }
    }

    /// The unit that the name of the column of times states.
    fn unit_of_time(&self, name: &str) -> Result<Option<TimeUnit>, NoColumns> {
        match Name::of(name).unit {
            UnitOfName::Known(unit) => Ok(Some(unit)),
            UnitOfName::Unknown(unit) if self.time.is_none() => {
                let [in_unit, ticks] = ["ns", ""].map(|of| format!("time={name}:{of}"));
                let (in_unit, ticks) = (store_quoted(&in_unit), store_quoted(&ticks));
                Err(NoColumns {
                    what: format!(
                        "the unit {unit} of the column `{name}` is not known; say the unit of its times as in \
                         --columns {in_unit}, or that they are ticks by --columns {ticks} and --tick"
                    ),
                    is_header: true,
                    is_missing: false,
                })
            }
            UnitOfName::Unknown(_) | UnitOfName::None => Ok(None),
        }
    }

    /// The names at these places.
    pub(crate) fn at(places: ColumnPlaces, names: &[String]) -> Self {
        let name = |place: usize| names.get(place).cloned();
        Self {
            time: name(places.time),
            channel: name(places.channel),
            micro: places.micro.and_then(name),
        }
    }
}

/// A column of tags that is sought among names.
struct Sought<'a> {
    /// Its key in `--columns`.
    what: &'static str,
    of: Quantity,
    /// The name that it was given.
    name: Option<&'a String>,
    usual: &'static [&'static str],
}

impl Sought<'_> {
    /// Returns its place; `None` if no name was given and no column has a usual one.
    fn place(&self, names: &[String]) -> Result<Option<usize>, NoColumns> {
        let Self { what, of, name, usual } = *self;
        let places = |is_it: &dyn Fn(&String) -> bool| -> Vec<usize> {
            (0..names.len()).filter(|&at| is_it(&names[at])).collect()
        };
        let found = if let Some(name) = name {
            places(&|other| other == name)
        } else {
            let usual = places(&|other| usual.iter().any(|word| other.eq_ignore_ascii_case(word)));
            let means = |other: &String| Name::of(other).meaning == Meaning::Of(of);
            if usual.is_empty() { places(&means) } else { usual }
        };
        match (&found[..], name) {
            (&[place], _) => Ok(Some(place)),
            ([], None) => Ok(None),
            ([], Some(name)) => Err(NoColumns::missing(format!(
                "it has no column `{name}` for the {}; {}",
                of.words(),
                shown(names)
            ))),
            (several, _) => Err(NoColumns::several(of.words(), what, several, names)),
        }
    }
}

/// Describes the columns of a file for a reader.
fn shown(names: &[String]) -> String {
    let some = quoted(names);
    match names.len() {
        0 => "it has no columns".into(),
        len if len > some.len() => format!("its columns are {} and others", some.join(", ")),
        _ => format!("its columns are {}", some.join(", ")),
    }
}

/// Returns the first names for a reader.
fn quoted(names: &[String]) -> Vec<String> {
    let shown = |name: &String| format!("`{}`", name.escape_debug().take(80).collect::<String>());
    names.iter().take(SHOWN_NAMES).map(shown).collect()
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.time_unit.map(|unit| format!(":{}", unit.name())).unwrap_or_default();
        let time_of = |name: &str| {
            // The name itself ends like a unit.
            let is_like_unit = unit.is_empty() && stated_unit(name) != (name, None);
            let end = if is_like_unit { ":" } else { &*unit };
            format!("time={name}{end}")
        };
        let mut parts: Vec<String> = match &self.chosen {
            ChosenColumns::Usual => Vec::new(),
            ChosenColumns::Order(TextColumns::TimeChannel) => vec![format!("time{unit},channel")],
            ChosenColumns::Order(TextColumns::ChannelTime) => vec![format!("channel,time{unit}")],
            ChosenColumns::Times(count) => vec![format!("time{unit}"); *count],
            ChosenColumns::NamedTimes(names) => names.iter().map(|name| time_of(name)).collect(),
            ChosenColumns::Named(ColumnNames { time, channel, micro }) => {
                let time = match time {
                    Some(name) => Some(time_of(name)),
                    None if unit.is_empty() => None,
                    None => Some(format!("time={unit}")),
                };
                let others = [("channel", channel), ("micro", micro)].into_iter();
                let others =
                    others.filter_map(|(key, name)| Some(format!("{key}={}", name.as_ref()?)));
                time.into_iter().chain(others).collect()
            }
        };
        parts.extend(self.channel.map(|channel| format!("{CHANNEL}{channel}")));
        parts.extend((self.skip_lines > 0).then(|| format!("{SKIP}{}", self.skip_lines)));
        parts.extend(self.micro_tick.map(|tick| format!("{MICRO_TICK}{}", tick.paste())));
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Columns {
    type Err = String;

    /// Parses `time,channel`, `channel,time`, or `time=NAME,channel=NAME,micro=NAME` with some of these, and
    /// `skip=LINES` and `micro-tick=TICK`. If each column has the times of a channel, it is `time,time` or
    /// `time=NAME,time=NAME`; `channel:N` is the channel of the first one, or of all tags of a text without a column of
    /// channels. Times may have a unit, as in `time:ns,channel`, `time=NAME:ns` or `time=:ns`, or by their name, as in
    /// `time=start_ns`; `time=start_ns:` are ticks.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, stated_unit)
    }
}

/// Splits a text as [`name_and_unit`] does. Without a colon the name may state the unit.
fn stated_unit(text: &str) -> (&str, Option<TimeUnit>) {
    let (name, unit) = name_and_unit(text);
    match Name::of(name).unit {
        UnitOfName::Known(of_name) if name == text => (name, Some(of_name)),
        UnitOfName::Known(_) | UnitOfName::Unknown(_) | UnitOfName::None => (name, unit),
    }
}

/// Splits a text into the name of the column of times and its unit. An empty unit means none: `:ns:` is the name `:ns`.
fn name_and_unit(text: &str) -> (&str, Option<TimeUnit>) {
    match text.rsplit_once(':') {
        Some((name, "")) => (name, None),
        Some((name, unit)) => match unit.parse() {
            Ok(unit) => (name, Some(unit)),
            Err(_) => (text, None),
        },
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.into()).collect()
    }

    #[test]
    fn columns_are_parsed_and_shown_alike() {
        for text in [
            "channel,time",
            "time=a,channel=b c",
            "channel=x",
            "time=t,channel=c,micro=m",
            "micro-tick=4.07ps",
            "time:ns,channel,skip=3,micro-tick=1/3ps",
            "micro=m,micro-tick=9696969697/100as",
            "time",
            "time:ns,channel:3",
            "time,time,time",
            "time=det1:ns,time=det2:ns,channel:5,skip=2",
            "channel:0",
        ] {
            assert_eq!(text.parse::<Columns>().unwrap().to_string(), text);
        }
        for text in [
            "time=",
            "time=a,time=a",
            "time=a:ns,time=b:ps",
            "time=a,time=b,channel=c",
            "time,time:ns",
            "time,channel:x",
            "time,channel:65536",
            "channel:1,channel:2",
            "time=:ns,time=:ns",
            "speed=a",
            "time=a,channel",
            "a=b=c",
            "=",
            "time:min,channel",
            "channel:ns,time",
            "micro-tick=4",
            "micro-tick=4ps,micro-tick=4ps",
        ] {
            assert!(text.parse::<Columns>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_unit_follows_the_time() {
        for (text, name, unit) in [
            ("time=t:ns,channel=c", Some("t"), Some(TimeUnit::Ns)),
            ("time=:s", None, Some(TimeUnit::S)),
            ("time=t:ns:,channel=c", Some("t:ns"), None),
            ("time=t::", Some("t:"), None),
            ("time=t:us:ms", Some("t:us"), Some(TimeUnit::Ms)),
            ("time=t:min", Some("t:min"), None),
            ("channel=c:ns", None, None),
        ] {
            let columns: Columns = text.parse().unwrap();
            assert_eq!(columns.named().unwrap().time.as_deref(), name, "{text}");
            assert_eq!(columns.time_unit, unit, "{text}");
            assert_eq!(columns.to_string(), text);
        }
        for text in ["time:ps,channel", "channel,time:s"] {
            let columns: Columns = text.parse().unwrap();
            assert!(columns.order().is_some() && columns.time_unit.is_some(), "{text}");
            assert_eq!(columns.to_string(), text);
        }
        for (given, before, unit) in [
            ("time,channel", "time:ns,channel", None),
            ("channel=c", "time=t:ns,channel=c", Some(TimeUnit::Ns)),
            ("time=t", "time=t:ns", None),
            ("time=:ps", "time=t:ns", Some(TimeUnit::Ps)),
        ] {
            let [given, before] = [given, before].map(|text| text.parse::<Columns>().unwrap());
            assert_eq!(Columns::unit(Some(&given), Some(&before), None), unit, "{given} {before}");
            assert_eq!(Columns::unit(None, Some(&before), None), Some(TimeUnit::Ns));
        }
    }

    #[test]
    fn usual_names_are_found_in_any_case() {
        let usual = ColumnNames::default();
        let find = |of: &[&str]| usual.find(&names(of)).map(|at| (at.time, at.channel, at.micro));
        assert_eq!(find(&["x", "T", "CH"]), Ok((1, 2, None)));
        assert_eq!(find(&["x", "detector", "Timestamp", "Micro"]), Ok((2, 1, Some(3))));
        assert!(find(&["start", "channel"]).unwrap_err().what.contains("time=NAME"));
        assert_eq!(find(&["x", "Times [ps]", "Detectors"]), Ok((1, 2, None)));
        assert!(find(&["time"]).unwrap_err().what.contains("its columns are `time`"));
        let named = ColumnNames { time: Some("a".into()), ..ColumnNames::default() };
        assert_eq!(named.find(&names(&["time", "ch", "a"])).unwrap().time, 2);
        let no_column = named.find(&names(&["time", "ch", "A"])).unwrap_err();
        assert!(no_column.what.contains("no column `a`"));
    }

    /// A column that is taken in silence instead of another one gives other tags.
    #[test]
    fn two_columns_for_one_thing_are_refused() {
        let usual = ColumnNames::default();
        for (header, words) in [
            (
                &["time", "channel", "time"][..],
                "the time could be `time` and `time`; write the file",
            ),
            (
                &["TIME", "channel", "time"],
                "the time could be `TIME` and `time`; name the right one",
            ),
            (
                &["t", "channel", "time"],
                "`t` and `time`; name the right one by --columns time=NAME",
            ),
            (&["t", "detector", "channel"], "the channel could be `detector` and `channel`"),
            (&["t", "ch", "micro", "Micro"], "the micro time could be `micro` and `Micro`"),
        ] {
            let refused = usual.find(&names(header)).unwrap_err();
            assert!(refused.is_header && refused.what.contains(words), "{}", refused.what);
        }
        let named = ColumnNames { time: Some("time".into()), ..ColumnNames::default() };
        assert!(named.find(&names(&["t", "time", "ch"])).is_ok());
        assert!(named.find(&names(&["time", "time", "ch"])).unwrap_err().is_header);
    }

    #[test]
    fn columns_contradict_others_only_where_both_say_something() {
        for (given, before, expected) in [
            ("time,channel", "channel,time", true),
            ("time,channel", "time=a,channel=b", false),
            ("time=a", "time=a,channel=b", false),
            ("time=c", "time=a,channel=b", true),
            ("time=Time,channel=channel", "time,channel", false),
            ("time=a", "time,channel", true),
            ("time:ns,channel", "time,channel", true),
            ("time,channel", "time:ns,channel", true),
            ("time=a", "time=a:ns,channel=b", true),
            ("time=:ns", "time=a:ns,channel=b", false),
            ("time=:ps", "time=a:ns,channel=b", true),
            ("channel=b", "time=a:ns,channel=b", false),
            ("time=time:ns", "time:ns,channel", false),
            ("micro-tick=4ps", "channel,time,micro-tick=4ps", false),
            ("micro-tick=4ps", "channel,time", true),
            ("channel,time", "channel,time,micro-tick=4ps", false),
            ("channel:3", "time,channel:3", false),
            ("channel:4", "time,channel:3", true),
            ("channel:3", "time,channel", true),
            ("time,channel:3", "time=Time,channel:3", false),
            ("time,time", "time,time", false),
            ("time,time", "time,time,time", true),
            ("time=a,time=b", "time=a,time=b", false),
            ("time=a,time=b", "time=b,time=a", true),
            ("time,time", "channel,time", true),
            ("channel,time", "time,time", true),
        ] {
            let [given, before] = [given, before].map(|text| text.parse::<Columns>().unwrap());
            assert_eq!(given.contradict(&before), expected, "{given} {before}");
        }
    }
}
