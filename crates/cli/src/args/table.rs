//! The options of requests as arguments, by the table of [`tagq::requests`].
//!
//! `groups`, which may be repeated, is `--group 3,15`, and `live_time` is `--live-time`. Only options of the command
//! line are passed on, not their defaults, so that a request that leaves an option out can take it from the setup.

use clap::{
    Arg, ArgAction, ArgMatches, builder::PossibleValue, error::ErrorKind, parser::ValueSource,
};
use serde_json::Value;
use tagq::{
    Error, FIT_TYPES, FitType, QUERY_TYPES, RequestError, RunError,
    requests::{OptionValues, RequestOption, Section, Selection, ValueType},
};

/// Returns the arguments for these options of a selection.
pub(super) fn selection_args(names: &'static [&'static str]) -> impl Iterator<Item = Arg> {
    Selection::options().filter(|of| names.contains(&of.name)).map(arg)
}

/// Returns the selection that the arguments state.
pub(super) fn selection(names: &[&str], matches: &ArgMatches) -> Result<Selection, clap::Error> {
    let options = values(Selection::options().filter(|of| names.contains(&of.name)), matches);
    Selection::of_options(options.clone())
        .map_err(|error| invalid(&error.into(), Selection::options(), &options))
}

/// Returns the argument for an option.
pub(super) fn arg(option: &'static RequestOption) -> Arg {
    let heading = match option.section {
        Section::Counts => "What is counted",
        Section::Accidentals => "Accidentals",
        Section::Selection => "Selection",
    };
    let mut arg = Arg::new(option.name)
        .long(option.flag())
        .help(option.help)
        .help_heading(heading)
        .allow_hyphen_values(option.is_signed)
        .conflicts_with_all(option.excludes);
    if let Some(other) = option.requires {
        arg = arg.requires(other);
    }
    if let Some(value) = option.default {
        arg = arg.default_value(value);
    }
    if let Some(value) = option.alone {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value(value);
    }
    match option.value {
        ValueType::Flag => arg.action(ArgAction::SetTrue),
        ValueType::Text(name)
        | ValueType::Channel(name)
        | ValueType::Marker(name)
        | ValueType::Path(name) => arg.value_name(name),
        ValueType::Texts(name) => arg.value_name(name).action(ArgAction::Append),
        ValueType::Number(name) => arg.value_name(name).value_parser(clap::value_parser!(u32)),
        ValueType::Choice(names) => {
            let value = |[name, help]: [&'static str; 2]| PossibleValue::new(name).help(help);
            let values = names().into_iter().map(value).collect::<Vec<_>>();
            arg.value_name(option.name.to_uppercase()).value_parser(values)
        }
        ValueType::Channels(name) => {
            arg.value_name(name).value_delimiter(',').action(ArgAction::Append)
        }
        ValueType::Groups(name) => {
            arg.value_name(name).action(ArgAction::Append).value_parser(group)
        }
        ValueType::Delays(name) => {
            arg.value_name(name).action(ArgAction::Append).value_parser(delay)
        }
    }
}

/// Returns the options that were given, with their values.
pub(super) fn values<'a>(
    options: impl Iterator<Item = &'a RequestOption>,
    matches: &ArgMatches,
) -> OptionValues {
    let is_given = |option: &&RequestOption| {
        let source = matches.try_contains_id(option.name).is_ok_and(|is_known| is_known);
        source && matches.value_source(option.name) == Some(ValueSource::CommandLine)
    };
    let value = |option: &RequestOption| match option.value {
        ValueType::Flag => true.into(),
        ValueType::Text(_)
        | ValueType::Choice(_)
        | ValueType::Channel(_)
        | ValueType::Marker(_)
        | ValueType::Path(_) => matches.get_one::<String>(option.name).cloned().into(),
        ValueType::Number(_) => matches.get_one::<u32>(option.name).copied().into(),
        ValueType::Channels(_) | ValueType::Texts(_) => {
            matches.get_many::<String>(option.name).into_iter().flatten().cloned().collect()
        }
        ValueType::Groups(_) | ValueType::Delays(_) => {
            let each = matches.get_many::<Vec<String>>(option.name).into_iter().flatten();
            let is_delay = matches!(option.value, ValueType::Delays(_));
            let value = |values: &Vec<String>| match &values[..] {
                [word] if is_delay => Value::from(word.clone()),
                _ => Value::from(values.clone()),
            };
            each.map(value).collect()
        }
    };
    options.filter(is_given).map(|option| (option.name.to_owned(), value(option))).collect()
}

/// Returns the error of a request that was made of `options`, as that of an argument if one of its values is invalid.
pub(super) fn invalid(
    error: &Error,
    known: impl Iterator<Item = &'static RequestOption>,
    options: &OptionValues,
) -> clap::Error {
    let Some(RunError::Request(RequestError::Option { option: name, place, reason })) = error.run()
    else {
        return usage(&with_flags(&error.to_string()));
    };
    let given = || {
        let value = options.get(name)?;
        let value = place.map_or(Some(value), |place| value.get(place))?;
        let option = known.into_iter().find(|option| option.name == name)?;
        let value = match (option.value, value) {
            (ValueType::Delays(_), Value::Array(parts)) => joined(parts, "="),
            (_, Value::Array(parts)) => joined(parts, ","),
            (_, value) => value.as_str()?.to_owned(),
        };
        let argument = arg(option);
        let name = argument.get_value_names()?.first()?;
        Some((value, format!("--{} <{name}>", option.flag())))
    };
    given().map_or_else(
        || usage(&with_flags(&error.to_string())),
        |(value, argument)| {
            usage(&format!(
                "invalid value '{value}' for '{argument}': {reason}\n\nFor more information, try '--help'."
            ))
        },
    )
}

fn joined(parts: &[Value], separator: &str) -> String {
    let text = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
    parts.iter().map(text).collect::<Vec<_>>().join(separator)
}

/// Divides channels at commas.
#[expect(clippy::unnecessary_wraps, reason = "as clap wants it")]
fn group(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split(',').map(|part| part.trim().to_owned()).collect())
}

/// Divides `CH=D`, a channel by number or name and a duration; `auto` is one word.
fn delay(text: &str) -> Result<Vec<String>, String> {
    if text == "auto" {
        return Ok(vec![text.to_owned()]);
    }
    let (channel, delay) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is no CH=D; write it as 15=-4.0625ns, or auto"))?;
    Ok(vec![channel.to_owned(), delay.to_owned()])
}

/// Returns a text of the library with the names of options, `live_time`, as arguments, --live-time.
pub(crate) fn with_flags(text: &str) -> String {
    let options = QUERY_TYPES.iter().flat_map(|of| of.options());
    // Channels are given by position, too.
    let options = options.filter(|option| !matches!(option.value, ValueType::Channel(_)));
    let options = options.chain(FIT_TYPES.iter().flat_map(FitType::options));
    let others = ["parts", "part_tags", "channels_b", "view_factor", "long"]
        .map(|name| (name, name.replace('_', "-")));
    let flags = options.map(|option| (option.name, option.flag())).chain(others);
    flags.fold(text.to_owned(), |text, (name, flag)| {
        text.replace(&format!("`{name}`"), &format!("--{flag}"))
    })
}

/// Returns the error for a mistake in the arguments.
pub(super) fn usage(message: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n"))
}
