//! Values of options. Each is parsed by its own type.

use std::{path::Path, str::FromStr};

use clap::ValueEnum;
use tagq::store::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Map the columns: only the parts in use are read
    Map,
    /// Copy the columns into memory: nine bytes per tag
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned for a person
    Table,
    /// One object, keys as in docs/queries.md
    Json,
    /// One line per row, after a comment line
    Csv,
    /// Arrow: a stream to a pipe, a file with --output
    Arrow,
    /// Parquet
    Parquet,
}

impl Format {
    /// Returns the format for the extension of a file.
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

/// `CH=NAME`, or `CH=` to remove the name.
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
