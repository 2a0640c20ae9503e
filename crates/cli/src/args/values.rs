//! Values of options. Each is parsed by its own type.

use std::str::FromStr;

use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tagq_export::report::Format;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Map the columns: only the parts in use are read
    Map,
    /// Copy the columns into memory: nine bytes per tag
    Read,
}

/// Returns the parser of a format of answers.
pub(super) fn formats() -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.map(|(_, name, _, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| {
        let found = Format::ALL.into_iter().find(|(_, of, ..)| *of == name);
        found.map(|(format, ..)| format).ok_or("no such format")
    })
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
        let channel = channel(number).map_err(|problem| match name.parse::<u16>() {
            Ok(_) => {
                format!("`{text}`: the channel comes before its name; write it as {name}={number}")
            }
            Err(_) => problem,
        })?;
        Ok(Self { channel, name: (!name.is_empty()).then(|| name.to_owned()) })
    }
}

/// Parses a channel.
pub(super) fn channel(text: &str) -> Result<u16, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is no channel; channels are numbers from 0 to 65535"))
}
