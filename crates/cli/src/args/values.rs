//! Values of options: each is read by the type that it becomes.

use std::{path::Path, str::FromStr};

use clap::ValueEnum;
use tagq::{requests::Channel, store::Duration};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleName {
    /// Every way to take one tag of each channel with latest minus earliest within the window
    All,
    /// Every way to take one tag of the first channel and one of each other within the window of it
    Herald,
    /// Each tag of the first channel at most once, if it has a partner of each other channel
    PerHerald,
    /// One-to-one: matched tags are used up, the earliest first
    Once,
    /// Events: a cluster takes every tag up to the window after its first; one row per set of channels
    Cluster,
    /// Pairs with both tags in one cell of t / W, as tagtools count
    Grid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Every start with every stop
    All,
    /// Each start with its first stop at or behind it
    Next,
    /// Each stop with its latest start at or before it
    Last,
    /// Every pair, with times in cells of a bin's width first and both ends of the range included
    Grid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Mapped: only what is used is read
    Map,
    /// Copied: nine bytes of memory a tag
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned for reading
    Table,
    /// One object, keys as in docs/queries.md
    Json,
    /// One line a row, a comment line before
    Csv,
    /// Arrow: a stream to a pipe, a file with --output
    Arrow,
    /// Parquet
    Parquet,
}

impl Format {
    /// What the name of a file asks for.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Table),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "arrow" => Some(Self::Arrow),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// 2 to 16 channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group(pub Vec<Channel>);

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let channels: Vec<Channel> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        for (i, channel) in channels.iter().enumerate() {
            if channels[..i].contains(channel) {
                return Err(format!(
                    "`{}` stands twice; a coincidence takes one tag of each of different channels",
                    text.split(',').nth(i).unwrap_or_default().trim()
                ));
            }
        }
        match channels.len() {
            2..=16 => Ok(Self(channels)),
            n => Err(format!("{n} channels; a group has 2 to 16, for example 3,15")),
        }
    }
}

/// Two channels, which may be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelPair(pub [Channel; 2]);

impl FromStr for ChannelPair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (a, b) = text
            .split_once(',')
            .ok_or_else(|| format!("`{text}` is no pair; write two channels, for example 3,15"))?;
        Ok(Self([a.parse()?, b.parse()?]))
    }
}

/// `CH=D`, the channel by number or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedDelay(pub Channel, pub Duration);

impl FromStr for NamedDelay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, delay) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no CH=D; write it as 15=-4.0625ns"))?;
        let delay = delay.parse::<Duration>().map_err(|e| e.to_string())?;
        Ok(Self(name.parse()?, delay))
    }
}

/// `formula`, `shifted` or `shifted:K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccidentalsName {
    Formula,
    Shifted(u32),
}

impl FromStr for AccidentalsName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const COUNTS: u32 = 10;
        match text.split_once(':') {
            None if text == "formula" => Ok(Self::Formula),
            None if text == "shifted" => Ok(Self::Shifted(COUNTS)),
            Some(("shifted", counts)) => counts
                .parse()
                // More than fit are too many, which the question says.
                .map(|counts: u128| Self::Shifted(u32::try_from(counts).unwrap_or(u32::MAX)))
                .map_err(|_| format!("`{counts}` is no number of counts; write shifted:{COUNTS}")),
            _ => Err(format!("`{text}` is neither formula nor shifted nor shifted:{COUNTS}")),
        }
    }
}

/// `CH=D`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelDelay {
    pub channel: u16,
    pub delay: Duration,
}

impl FromStr for ChannelDelay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, delay) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no CH=D; write it as 15=-4.0625ns"))?;
        let delay = delay.parse::<Duration>().map_err(|e| e.to_string())?;
        Ok(Self { channel: channel(name)?, delay })
    }
}

/// `CH=NAME`, or `CH=` for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelName {
    pub channel: u16,
    pub name: Option<String>,
}

impl FromStr for ChannelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, name) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no CH=NAME; write it as 3=Alice-H"))?;
        let name = (!name.is_empty()).then(|| name.to_owned());
        Ok(Self { channel: channel(number)?, name })
    }
}

/// A value for all channels, or `CH=VALUE` for one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForChannel<T> {
    pub channel: Option<u64>,
    pub value: T,
}

impl<T: FromStr<Err: std::fmt::Display>> FromStr for ForChannel<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |value: &str| value.parse().map_err(|e: T::Err| e.to_string());
        match text.split_once('=') {
            Some((name, value)) => {
                Ok(Self { channel: Some(u64::from(channel(name)?)), value: parse(value)? })
            }
            None => Ok(Self { channel: None, value: parse(text)? }),
        }
    }
}

fn channel(text: &str) -> Result<u16, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is no channel; channels are numbers from 0 to 65535"))
}
