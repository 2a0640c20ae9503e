//! The options of the command line, as Python arguments.

use std::{fmt::Display, str::FromStr};

use pyo3::prelude::*;
use tagq::{
    query::{Mode, Rule},
    requests::{
        Accidentals, Channel, Coincidences, Errors, Histogram, Rates, Request, Selection, Window,
    },
    store::Duration,
};

use crate::errors::{question, wrong_type};

/// Parses a text in the same way as the command line.
pub(crate) fn parse<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error: T::Err| question(format!("{name}: {error}")))
}

/// Returns the value of a keyword; `None` if it is absent or None.
fn value<'py>(words: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !words.contains(name)? {
        return Ok(None);
    }
    let value = words.get_item(name)?;
    Ok((!value.is_none()).then_some(value))
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string())
}

pub(crate) fn text<T: FromStr<Err: Display>>(
    words: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<Option<T>> {
    let Some(value) = value(words, name)? else { return Ok(None) };
    let text: String = value.extract().map_err(|_| {
        let found = type_name(&value);
        wrong_type(format!(
            "{name}: a text with its unit is wanted, as \"2ns\" or \"13t\", not {found}"
        ))
    })?;
    parse(name, &text).map(Some)
}

fn number<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    words: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<Option<T>> {
    let Some(value) = value(words, name)? else { return Ok(None) };
    let number = value.extract().map_err(|_| {
        wrong_type(format!("{name}: a whole number is wanted, not {}", type_name(&value)))
    })?;
    Ok(Some(number))
}

fn flag(words: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let Some(value) = value(words, name)? else { return Ok(false) };
    value.extract().map_err(|_| wrong_type(format!("{name}: True or False is wanted")))
}

/// Parses one channel, by number or name.
pub(crate) fn channel(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Channel> {
    if let Ok(text) = value.extract::<String>() {
        return parse(name, &text);
    }
    let is_flag = value.is_instance_of::<pyo3::types::PyBool>();
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

/// Parses several channels from any iterable.
pub(crate) fn channels(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Channel>> {
    let wanted =
        || wrong_type(format!("{name}: channels are wanted, as [3, 15], not {}", type_name(value)));
    if value.is_instance_of::<pyo3::types::PyString>() {
        return Err(wanted());
    }
    let items = value.try_iter().map_err(|_| wanted())?;
    items.map(|item| channel(name, &item?)).collect()
}

fn named_channels(words: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Channel>> {
    value(words, name)?.map_or(Ok(Vec::new()), |value| channels(name, &value))
}

fn one_of<T: Copy>(
    words: &Bound<'_, PyAny>,
    name: &str,
    known: &[(&str, T)],
) -> PyResult<Option<T>> {
    let Some(value) = value(words, name)? else { return Ok(None) };
    let text: String = value
        .extract()
        .map_err(|_| wrong_type(format!("{name}: a word is wanted, not {}", type_name(&value))))?;
    let found = known.iter().find(|(word, _)| *word == text);
    found.map(|&(_, of)| Some(of)).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        question(format!("{name}: `{text}` is none of {}", known.join(", ")))
    })
}

/// Parses the selection from the keywords that all queries take.
pub(crate) fn selection(words: &Bound<'_, PyAny>) -> PyResult<Selection> {
    let mut delays = Vec::new();
    if let Some(given) = value(words, "delays")? {
        let items = given
            .call_method0("items")
            .map_err(|_| wrong_type("delays: a dict is wanted, as {15: \"-4.0625ns\"}"))?;
        for item in items.try_iter()? {
            let (of, delay): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
            let delay: String = delay.extract().map_err(|_| {
                wrong_type(format!(
                    "delays: a text with its unit is wanted, as \"-4.0625ns\" or \"-26t\", not {}",
                    type_name(&delay)
                ))
            })?;
            delays.push((channel("delays", &of)?, parse("delays", &delay)?));
        }
    }
    Ok(Selection {
        channels: named_channels(words, "channels")?,
        delays,
        from: text(words, "from_")?,
        to: text(words, "to")?,
        last: text(words, "last")?,
        live_time: text(words, "live_time")?,
        join: flag(words, "join")?,
    })
}

/// Parses the keywords of the request with this name.
pub(crate) fn question_of(name: &str, words: &Bound<'_, PyAny>) -> PyResult<Request> {
    match name {
        "coincidences" => coincidences(words).map(Request::Coincidences),
        "histogram" => histogram(words).map(Request::Histogram),
        "rates" => rates(words).map(Request::Rates),
        _ => Err(question(format!("{name} is none of coincidences, histogram, rates"))),
    }
}

/// Parses the keywords of `coincidences`.
pub(crate) fn coincidences(words: &Bound<'_, PyAny>) -> PyResult<Coincidences> {
    let window = match (text(words, "window")?, text(words, "full_width")?) {
        (Some(window), None) => Some(Window::Half(window)),
        (None, Some(width)) => Some(Window::Full(width)),
        (Some(_), Some(_)) => return Err(question("window and full_width say the same; give one")),
        // The error of the request suggests one.
        (None, None) => None,
    };
    let rules = [
        ("all", Rule::All),
        ("herald", Rule::Herald),
        ("per-herald", Rule::PerHerald),
        ("once", Rule::Once),
        ("cluster", Rule::Cluster),
        ("grid", Rule::Grid),
    ];
    let rule = one_of(words, "rule", &rules)?.unwrap_or(Rule::All);
    let mut groups = Vec::new();
    if let Some(given) = value(words, "groups")? {
        let wanted = || wrong_type("groups: a list of groups of channels is wanted, as [(3, 15)]");
        if given.is_instance_of::<pyo3::types::PyString>() {
            return Err(wanted());
        }
        for group in given.try_iter().map_err(|_| wanted())? {
            let group = channels("groups", &group?)?;
            if !(2..=16).contains(&group.len()) {
                let n = group.len();
                return Err(question(format!("groups: {n} channels; a group has 2 to 16")));
            }
            groups.push(group);
        }
    }
    Ok(Coincidences {
        window,
        groups,
        choose: number(words, "choose")?,
        rule,
        veto: named_channels(words, "veto")?,
        guard: text(words, "guard")?,
        accidentals: accidentals(words)?,
        errors: errors(words)?,
        bin: text(words, "bin")?,
        selection: selection(words)?,
    })
}

fn errors(words: &Bound<'_, PyAny>) -> PyResult<Errors> {
    let Some(how) = value(words, "errors")? else { return Ok(Errors::default()) };
    let how: String = how
        .extract()
        .map_err(|_| wrong_type(format!("errors: a word is wanted, not {}", type_name(&how))))?;
    parse("errors", &how)
}

fn accidentals(words: &Bound<'_, PyAny>) -> PyResult<Accidentals> {
    let shift: Option<Duration> = text(words, "shift")?;
    let how: Option<String> = match value(words, "accidentals")? {
        None => None,
        Some(how) => Some(how.extract().map_err(|_| {
            wrong_type(format!("accidentals: a word is wanted, not {}", type_name(&how)))
        })?),
    };
    let counts = match how.as_deref() {
        None | Some("formula") if shift.is_some() => {
            return Err(question("shift goes with accidentals=\"shifted\""));
        }
        None | Some("formula") => return Ok(Accidentals::Formula),
        Some("shifted") => Some(10),
        Some(how) => how.strip_prefix("shifted:").and_then(|counts| counts.parse().ok()),
    };
    match counts {
        Some(counts) => Ok(Accidentals::Shifted { counts, shift }),
        None => Err(question(
            "accidentals: it is \"formula\", \"shifted\" or \"shifted:10\" with a number of counts",
        )),
    }
}

/// Parses the keywords of `histogram` and `g2`.
fn histogram(words: &Bound<'_, PyAny>) -> PyResult<Histogram> {
    let end = |name: &str| {
        let value = value(words, name)?.ok_or_else(|| question(format!("{name} is missing")))?;
        channel(name, &value)
    };
    let modes =
        [("all", Mode::All), ("next", Mode::Next), ("last", Mode::Last), ("grid", Mode::Grid)];
    let mode = one_of(words, "mode", &modes)?.unwrap_or(Mode::All);
    let (period, sync_divider) = (text(words, "period")?, number(words, "sync_divider")?);
    if period.is_some() && sync_divider.is_some() {
        return Err(question("period and sync_divider say the same in two ways; give one"));
    }
    Ok(Histogram {
        start: end("start")?,
        stop: end("stop")?,
        bin: text(words, "bin")?,
        range: text(words, "range")?,
        log: number(words, "log")?,
        mode,
        period,
        sync_divider,
        g2: flag(words, "g2")?,
        errors: errors(words)?,
        covariance: flag(words, "covariance")?,
        selection: selection(words)?,
    })
}

/// Parses the keywords of `rates`.
fn rates(words: &Bound<'_, PyAny>) -> PyResult<Rates> {
    Ok(Rates { selection: selection(words)?, bin: text(words, "bin")?, errors: errors(words)? })
}
