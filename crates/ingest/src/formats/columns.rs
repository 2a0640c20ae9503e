//! Which columns of a text or a table hold the tags.

use std::{fmt, str::FromStr};

use super::text::columns::TextColumns;

/// The columns that hold the tags: an order of two, or names.
///
/// ```
/// use tagq_ingest::{ColumnNames, Columns, text::TextColumns};
///
/// assert_eq!("time,channel".parse(), Ok(Columns::Order(TextColumns::TimeChannel)));
/// let names = ColumnNames { time: Some("t_ps".into()), ..ColumnNames::default() };
/// assert_eq!("time=t_ps".parse(), Ok(Columns::Named(names)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// The order of two columns without names.
    Order(TextColumns),
    /// Names of columns.
    Named(ColumnNames),
}

/// The names of the columns of tags. A column without a name here has one of its usual names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// The column of times in ticks; else `time`, `timestamp` or `t`.
    pub time: Option<String>,
    /// The column of channels; else `channel`, `ch` or `detector`.
    pub channel: Option<String>,
    /// The column of micro times; else `micro`, if there is one.
    pub micro: Option<String>,
}

const TIMES: [&str; 3] = ["time", "timestamp", "t"];
const CHANNELS: [&str; 3] = ["channel", "ch", "detector"];
const MICROS: [&str; 1] = ["micro"];

/// Names that a message shows.
const SHOWN_NAMES: usize = 12;

/// The places of the columns of tags among all columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    pub time: usize,
    pub channel: usize,
    pub micro: Option<usize>,
}

impl Columns {
    /// Whether a source that was read by the columns `before` cannot be read by these.
    pub fn contradict(&self, before: &Self) -> bool {
        let is_of = |name: &Option<String>, word: &str| {
            name.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(word))
        };
        match (self, before) {
            (Self::Order(order), Self::Order(before)) => order != before,
            (Self::Order(_), Self::Named(_)) => false,
            (Self::Named(names), Self::Order(_)) => {
                !is_of(&names.time, TIMES[0]) || !is_of(&names.channel, CHANNELS[0])
            }
            (Self::Named(names), Self::Named(before)) => {
                [&names.time, &names.channel, &names.micro]
                    .into_iter()
                    .zip([&before.time, &before.channel, &before.micro])
                    .any(|(name, before)| name.is_some() && name != before)
            }
        }
    }

    /// The order of two columns without names.
    pub(crate) fn order(&self) -> Option<TextColumns> {
        match self {
            Self::Order(order) => Some(*order),
            Self::Named(_) => None,
        }
    }

    /// The names; the usual ones if none are given.
    pub(crate) fn names(given: Option<&Self>, before: Option<&Self>) -> ColumnNames {
        let names = [given, before].into_iter().flatten().find_map(|columns| match columns {
            Self::Named(names) => Some(names.clone()),
            Self::Order(_) => None,
        });
        names.unwrap_or_default()
    }
}

impl ColumnNames {
    /// Finds the columns of tags among `names`; says in words which one is missing.
    pub(crate) fn find(&self, names: &[String]) -> Result<Places, String> {
        let named = |what: &str, name: Option<&String>, usual: &[&str]| match name {
            Some(name) => match names.iter().position(|other| other == name) {
                Some(place) => Ok(Some(place)),
                None => Err(format!("it has no column `{name}` for the {what}; {}", shown(names))),
            },
            None => Ok(usual.iter().find_map(|word| {
                let exact = names.iter().position(|name| name == word);
                exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(word)))
            })),
        };
        let must = |what: &str, key: &str, name: Option<&String>, usual: &[&str]| {
            named(what, name, usual)?.ok_or_else(|| {
                let usual = usual.join("`, `");
                format!(
                    "no column is named `{usual}`; name the column of the {what} by --columns \
                     {key}=NAME; {}",
                    shown(names)
                )
            })
        };
        Ok(Places {
            time: must("time", "time", self.time.as_ref(), &TIMES)?,
            channel: must("channel", "channel", self.channel.as_ref(), &CHANNELS)?,
            micro: named("micro time", self.micro.as_ref(), &MICROS)?,
        })
    }

    /// The names at these places.
    pub(crate) fn at(places: Places, names: &[String]) -> Self {
        let name = |place: usize| names.get(place).cloned();
        Self {
            time: name(places.time),
            channel: name(places.channel),
            micro: places.micro.and_then(name),
        }
    }
}

/// Describes the columns of a file for a reader.
fn shown(names: &[String]) -> String {
    let some: Vec<String> = names
        .iter()
        .take(SHOWN_NAMES)
        .map(|name| format!("`{}`", name.escape_debug().take(80).collect::<String>()))
        .collect();
    match names.len() {
        0 => "it has no columns".into(),
        len if len > some.len() => format!("its columns are {} and others", some.join(", ")),
        _ => format!("its columns are {}", some.join(", ")),
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(order) => order.fmt(f),
            Self::Named(ColumnNames { time, channel, micro }) => {
                let keys = [("time", time), ("channel", channel), ("micro", micro)];
                let named = keys.iter().filter_map(|(key, name)| Some((key, name.as_ref()?)));
                let named: Vec<String> = named.map(|(key, name)| format!("{key}={name}")).collect();
                f.write_str(&named.join(","))
            }
        }
    }
}

impl FromStr for Columns {
    type Err = String;

    /// Parses `time,channel`, `channel,time`, or `time=NAME,channel=NAME,micro=NAME` with some of these.
    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('=') {
            return text.parse().map(Self::Order);
        }
        let mut names = ColumnNames::default();
        for part in text.split(',') {
            let named = part.split_once('=').filter(|(_, name)| !name.is_empty());
            let column = named.and_then(|(key, name)| match key.trim() {
                "time" => Some((&mut names.time, name)),
                "channel" => Some((&mut names.channel, name)),
                "micro" => Some((&mut names.micro, name)),
                _ => None,
            });
            match column {
                Some((column @ None, name)) => *column = Some(name.into()),
                _ => {
                    return Err(format!(
                        "`{text}` names no columns; they are time=NAME,channel=NAME, and micro=NAME \
                         if there is one"
                    ));
                }
            }
        }
        Ok(Self::Named(names))
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
        for text in ["channel,time", "time=a,channel=b c", "channel=x", "time=t,channel=c,micro=m"]
        {
            assert_eq!(text.parse::<Columns>().unwrap().to_string(), text);
        }
        for text in ["time=", "time=a,time=b", "speed=a", "time=a,channel", "a=b=c", "="] {
            assert!(text.parse::<Columns>().is_err(), "{text}");
        }
    }

    #[test]
    fn usual_names_are_found_in_any_case() {
        let usual = ColumnNames::default();
        let find = |of: &[&str]| usual.find(&names(of)).map(|at| (at.time, at.channel, at.micro));
        assert_eq!(find(&["x", "T", "CH"]), Ok((1, 2, None)));
        assert_eq!(find(&["t", "detector", "Timestamp", "Micro"]), Ok((2, 1, Some(3))));
        assert_eq!(find(&["TIME", "channel", "time"]), Ok((2, 1, None)));
        assert!(find(&["times", "channel"]).unwrap_err().contains("time=NAME"));
        assert!(find(&["time"]).unwrap_err().contains("its columns are `time`"));
        let named = ColumnNames { time: Some("a".into()), ..ColumnNames::default() };
        assert_eq!(named.find(&names(&["time", "ch", "a"])).unwrap().time, 2);
        assert!(named.find(&names(&["time", "ch", "A"])).unwrap_err().contains("no column `a`"));
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
        ] {
            let [given, before] = [given, before].map(|text| text.parse::<Columns>().unwrap());
            assert_eq!(given.contradict(&before), expected, "{given} {before}");
        }
    }
}
