//! The values of an option, from the first to the last.
//!
//! `window` 1ns..3ns:3 is 1, 2 and 3 ns, each with all other options as they were given. At most one option of a
//! request has several values.

use serde_json::Value;
use tagq_ask::{
    requests::OptionValues, requests::RequestOption, requests::RequestType, requests::ValueType,
};
use tagq_run::RequestError;
use tagq_store::Duration;

use crate::error::Error;

/// The most values.
const VALUES_MAX: u32 = 10_000;

/// An option with several values.
#[derive(Debug, Clone)]
pub(super) struct OptionScan {
    pub option: &'static RequestOption,
    /// The channel whose delay it is.
    pub channel: Option<String>,
    /// Each value, with the options of the request that has it.
    pub steps: Vec<(Duration, OptionValues)>,
}

impl OptionScan {
    /// Finds the option with several values.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if there are two, or if the values are none; `None` if there is no such option.
    pub fn of(of: &RequestType, options: &OptionValues) -> Result<Option<Self>, Error> {
        let mut found: Option<Self> = None;
        for option in of.options().filter(|option| is_scanned(option)) {
            let Some(value) = options.get(option.name) else { continue };
            for (place, channel, values) in several(option, value)? {
                if let Some(found) = &found {
                    let (one, other) = (found.option.name, option.name);
                    return Err(RequestError::options(
                        &[one, other],
                        format!("`{one}` and `{other}` both have several values; scan one of them"),
                    )
                    .into());
                }
                let step = |value: Duration| {
                    let mut options = options.clone();
                    let text = Value::from(value.asked());
                    match (place, options.get_mut(option.name)) {
                        (Some(place), Some(delays)) => delays[place][1] = text,
                        (_, Some(of)) => *of = text,
                        (_, None) => {}
                    }
                    (value, options)
                };
                let steps = values.into_iter().map(step).collect();
                found = Some(Self { option, channel, steps });
            }
        }
        Ok(found)
    }
}

/// Whether an option may have several values: one duration each, or the delay of a channel.
fn is_scanned(option: &RequestOption) -> bool {
    match option.value {
        ValueType::Text(_) => option.value.is_duration() && !option.value.is_range(),
        ValueType::Delays(_) => true,
        _ => false,
    }
}

/// Values of an option, its place among several, and the channel that it belongs to.
type Several = (Option<usize>, Option<String>, Vec<Duration>);

/// Returns the values of an option that has several of them.
fn several(option: &RequestOption, value: &Value) -> Result<Vec<Several>, Error> {
    let mut all = Vec::new();
    if !matches!(option.value, ValueType::Delays(_)) {
        all.extend(values(value)?.map(|values| (None, None, values)));
        return Ok(all);
    }
    for (place, pair) in value.as_array().into_iter().flatten().enumerate() {
        let Some([channel, delay]) = pair.as_array().map(Vec::as_slice) else { continue };
        let channel = channel.as_str().map_or_else(|| channel.to_string(), str::to_owned);
        all.extend(values(delay)?.map(|values| (Some(place), Some(channel), values)));
    }
    Ok(all)
}

/// Reads `FIRST..LAST:COUNT`, or a list; `None` for a single value.
fn values(value: &Value) -> Result<Option<Vec<Duration>>, Error> {
    if let Value::Array(list) = value {
        let texts = list.iter().map(|value| {
            value.as_str().ok_or_else(|| RequestError::Invalid(format!("{value} is no duration")))
        });
        let parsed = texts.map(|text| Ok(text?.parse::<Duration>()?));
        return parsed.collect::<Result<Vec<_>, Error>>().map(Some);
    }
    let Some(text) = value.as_str() else { return Ok(None) };
    let (ends, count) = text.rsplit_once(':').unwrap_or((text, ""));
    let Some((first, last)) = ends.split_once("..") else { return Ok(None) };
    let count = count.trim().parse().ok().filter(|count| (2..=VALUES_MAX).contains(count));
    let count = count.ok_or_else(|| {
        RequestError::Invalid(format!(
            "`{text}` has no number of values, which is 2 to {VALUES_MAX}; write it as {ends}:20"
        ))
    })?;
    Ok(Some(Duration::steps(&first.parse()?, &last.parse()?, count)?))
}
