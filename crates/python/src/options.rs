//! Keyword arguments as options of requests, by the table of options.
//!
//! `window="2ns"` and `window_s=2e-9` are one option, and giving both is an error. `False` is as if the keyword was
//! left out, since an option that is not set may be given with others that it excludes. Unknown keywords are left for
//! the request to reject, with the names that it knows.

use std::{fmt::Display, path::PathBuf, str::FromStr};

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyString},
};
use serde_json::Value;
use tagq::{
    Error, FIT_TYPES, Fit, FitType, QUERY_TYPES, Question, RequestError, RunError,
    requests::{Channel, OptionValues, RequestOption, Selection, ValueType, keyword},
};

use crate::errors::{self, question, wrong_type};

/// Parses a text in the same way as the command line.
pub(crate) fn parse<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error: T::Err| question(format!("{name}: {error}")))
}

/// Parses the text of a keyword; `None` if it is absent or None.
pub(crate) fn text<T: FromStr<Err: Display>>(
    keywords: &Bound<'_, PyDict>,
    name: &str,
) -> PyResult<Option<T>> {
    let given = keywords.get_item(name)?.filter(|value| !value.is_none());
    let Some(value) = given else { return Ok(None) };
    let text: String = value
        .extract()
        .map_err(|_| wrong_type(format!("{name}: a text is wanted, not {}", type_name(&value))))?;
    parse(name, &text).map(Some)
}

/// Creates the question with this name, which has these keywords; an error names the keyword.
pub(crate) fn question_of(name: &str, keywords: &Bound<'_, PyDict>) -> PyResult<Question> {
    Question::of_options(name, named(name, keywords)?).map_err(of_request)
}

/// Checks the options of a scan of the request with this name.
pub(crate) fn first_of(name: &str, options: &OptionValues) -> PyResult<()> {
    tagq::SettingScan::of_options(name, options.clone(), None).map(drop).map_err(of_request)
}

/// Converts the keywords of the query with this name.
pub(crate) fn named(name: &str, keywords: &Bound<'_, PyDict>) -> PyResult<OptionValues> {
    let of = QUERY_TYPES.iter().find(|of| of.name == name);
    let known = of.map_or_else(Vec::new, |of| of.options().collect());
    options(keywords, &known)
}

/// Creates the fit of the model with this name.
pub(crate) fn fit(model: &str, keywords: &Bound<'_, PyDict>) -> PyResult<Fit> {
    let of = FitType::named(model);
    let known = of.map_or_else(Vec::new, |of| of.options().collect());
    Fit::of_options(model, options(keywords, &known)?).map_err(of_request)
}

/// Creates a selection; other keywords are ignored.
pub(crate) fn selection(keywords: &Bound<'_, PyDict>) -> PyResult<Selection> {
    let known: Vec<&RequestOption> = Selection::options().collect();
    let mut options = options(keywords, &known)?;
    options.retain(|name, _| known.iter().any(|option| option.name == name));
    Selection::of_options(options).map_err(of_request)
}

/// Converts an error of a request, which names options.
fn of_request(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    match error.run() {
        Some(RunError::Request(RequestError::Option { option, reason, .. })) => {
            question(format!("{}: {reason}", keyword(option)))
        }
        _ => errors::of_run(error),
    }
}

/// Converts the keywords that have a value. Unknown ones are left for the request to reject.
fn options(keywords: &Bound<'_, PyDict>, known: &[&RequestOption]) -> PyResult<OptionValues> {
    let mut options = OptionValues::new();
    for (name, value) in keywords {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let own = known.iter().find(|option| keyword(option.name) == name);
        let of_seconds = || {
            let stem = name.strip_suffix("_s")?;
            known.iter().find(|option| option.name == stem && option.value.is_duration())
        };
        let (option, unit) = match (own, of_seconds()) {
            (Some(option), _) => (option, DurationUnit::Own),
            (None, Some(option)) => (option, DurationUnit::Seconds),
            (None, None) => {
                options.insert(name, Value::Null);
                continue;
            }
        };
        let converted = convert(&name, option.value, unit, &value)?;
        // An option that is not set may be given with others that it excludes.
        if converted == Value::Bool(false) {
            continue;
        }
        if options.insert(option.name.to_owned(), converted).is_some() {
            let name = option.name;
            return Err(question(format!(
                "{name}: `{}` and `{name}_s` are one option; give one of them",
                keyword(name)
            )));
        }
    }
    Ok(options)
}

/// The unit of a duration in Python.
#[derive(Clone, Copy)]
enum DurationUnit {
    /// That of the text, or of the `timedelta`.
    Own,
    /// Seconds as numbers.
    Seconds,
}

/// Converts a duration, or a range of durations, to the text that requests take.
fn duration(
    name: &str,
    unit: DurationUnit,
    is_range: bool,
    value: &Bound<'_, PyAny>,
) -> PyResult<String> {
    if let (DurationUnit::Own, Ok(text)) = (unit, value.extract()) {
        return Ok(text);
    }
    let function = match unit {
        DurationUnit::Own => "text_of",
        DurationUnit::Seconds => "text_of_seconds",
    };
    let module = value.py().import("tagq._durations")?;
    module.call_method1(function, (name, value, is_range))?.extract()
}

/// Converts a value to the type of the option.
fn convert(
    name: &str,
    to: ValueType,
    unit: DurationUnit,
    value: &Bound<'_, PyAny>,
) -> PyResult<Value> {
    let wrong =
        |wanted: &str| wrong_type(format!("{name}: {wanted} is wanted, not {}", type_name(value)));
    match to {
        ValueType::Flag => {
            let flag: bool = value.extract().map_err(|_| wrong("True or False"))?;
            Ok(flag.into())
        }
        ValueType::Text(_) if to.is_duration() => {
            Ok(duration(name, unit, to.is_range(), value)?.into())
        }
        ValueType::Path(_) => {
            let path: PathBuf = value.extract().map_err(|_| wrong("a path"))?;
            Ok(path.display().to_string().into())
        }
        ValueType::Text(_) => {
            let text: String = value.extract().map_err(|_| wrong("a text"))?;
            Ok(text.into())
        }
        ValueType::Texts(_) => {
            let text = |of: &Bound<'_, PyAny>| of.extract::<String>().map_err(|_| wrong("a text"));
            if let Ok(one) = value.extract::<String>() {
                return Ok(vec![one].into());
            }
            if let Ok(named) = value.cast::<PyDict>() {
                let number = |of: &Bound<'_, PyAny>| match of.extract::<f64>() {
                    Ok(number) => Ok(number.to_string()),
                    Err(_) => text(of),
                };
                let texts =
                    named.iter().map(|(of, to)| Ok(format!("{} = {}", text(&of)?, number(&to)?)));
                return Ok(texts.collect::<PyResult<Vec<String>>>()?.into());
            }
            let texts = iterate(value).ok_or_else(|| wrong("a text, or several"))?;
            let texts = texts.map(|each| text(&each?)).collect::<PyResult<Vec<String>>>()?;
            Ok(texts.into())
        }
        ValueType::Number(_) => {
            let number: u32 = value.extract().map_err(|_| wrong("a whole number"))?;
            Ok(number.into())
        }
        ValueType::Choice(names) => {
            let text: String = value.extract().map_err(|_| wrong("a word"))?;
            let names: Vec<&str> = names().into_iter().map(|[name, _]| name).collect();
            if !names.contains(&&*text) {
                let names = names.join(", ");
                return Err(question(format!("{name}: `{text}` is none of {names}")));
            }
            Ok(text.into())
        }
        ValueType::Channel(_) => channel_value(name, value),
        ValueType::Marker(_) => {
            if let Ok(number) = value.extract::<u16>() {
                return Ok(number.to_string().into());
            }
            let text: String = value.extract().map_err(|_| wrong("a channel or a gate"))?;
            Ok(text.into())
        }
        ValueType::Channels(_) => channels(name, value),
        ValueType::Groups(_) => {
            let groups = iterate(value).ok_or_else(|| {
                wrong_type(format!(
                    "{name}: a list of groups of channels is wanted, as [(3, 15)], not {}",
                    type_name(value)
                ))
            })?;
            let groups: Vec<_> = groups.collect::<PyResult<_>>()?;
            // One group may be given without a list around it.
            if !groups.is_empty() && groups.iter().all(|of| iterate(of).is_none()) {
                return Ok(vec![group(name, value)?].into());
            }
            groups.iter().map(|of| group(name, of)).collect()
        }
        ValueType::Delays(_) if value.extract::<&str>().is_ok_and(|word| word == "auto") => {
            Ok(vec!["auto"].into())
        }
        ValueType::Delays(_) => {
            let wanted = || {
                let example = match unit {
                    DurationUnit::Own => "\"-4ns\"",
                    DurationUnit::Seconds => "-4e-9",
                };
                wrong_type(format!("{name}: a dict is wanted, as {{15: {example}}}"))
            };
            let Ok(pairs) = value.call_method0("items") else {
                let found = iterate(value).ok_or_else(wanted)?;
                return found.map(|each| delay_found(name, &each?).map_err(|_| wanted())).collect();
            };
            let pair = |pair: PyResult<Bound<'_, PyAny>>| -> PyResult<Value> {
                let (of, delay): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
                let text = duration(name, unit, false, &delay)?;
                Ok(vec![channel_value(name, &of)?, text.into()].into())
            };
            pairs.try_iter()?.map(pair).collect()
        }
    }
}

/// Converts a delay as a search found it, a dict with a channel and ticks.
fn delay_found(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let ticks: i64 = value.get_item("ticks")?.extract()?;
    Ok(vec![channel_value(name, &value.get_item("channel")?)?, format!("{ticks}t").into()].into())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string())
}

/// Iterates over any iterable but a text.
fn iterate<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, pyo3::types::PyIterator>> {
    if value.is_instance_of::<PyString>() { None } else { value.try_iter().ok() }
}

/// Parses a channel, by number or name.
pub(crate) fn channel(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Channel> {
    if let Ok(text) = value.extract::<String>() {
        return parse(name, &text);
    }
    let is_flag = value.is_instance_of::<PyBool>();
    // Integers of NumPy have this method, floats do not.
    let index = (!is_flag).then(|| value.call_method0("__index__").ok()).flatten();
    let Some(index) = index else {
        return Err(wrong_type(format!(
            "{name}: a channel is a whole number or a name, not {}",
            type_name(value)
        )));
    };
    index.extract().map(Channel::Number).map_err(|_| {
        question(format!("{name}: {index} is no channel; channels are numbers from 0 to 65535"))
    })
}

fn channel_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(match channel(name, value)? {
        Channel::Number(number) => number.into(),
        Channel::Name(text) => text.into(),
    })
}

/// Converts one channel, or several from any iterable.
fn channels(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let Some(channels) = iterate(value) else {
        return Ok(vec![channel_value(name, value)?].into());
    };
    let channels: Vec<Value> =
        channels.map(|channel| channel_value(name, &channel?)).collect::<PyResult<_>>()?;
    if channels.is_empty() {
        return Err(question(format!(
            "{name}: the list is empty; leave it out for all channels, or name some, as [3, 15]"
        )));
    }
    Ok(channels.into())
}

/// Converts the channels of a group.
fn group(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let channels = channels(name, value)?;
    if channels.as_array().is_some_and(|channels| channels.len() == 1) {
        return Err(question(format!(
            "{name}: a group of one channel; a group has 2 to 16, as [(3, 15)]"
        )));
    }
    Ok(channels)
}

/// Returns the names of the options of all fits, each once.
#[pyfunction]
pub(crate) fn fit_options() -> Vec<&'static str> {
    let mut names = Vec::new();
    for option in FIT_TYPES.iter().flat_map(FitType::options) {
        if !names.contains(&option.name) {
            names.push(option.name);
        }
    }
    names
}

/// Returns the names of the queries.
#[pyfunction]
pub(crate) fn query_types() -> Vec<&'static str> {
    QUERY_TYPES.iter().map(|of| of.name).collect()
}
