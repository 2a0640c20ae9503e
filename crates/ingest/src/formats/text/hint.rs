//! The option that reads a text which is not understood as it is, with the names, units and order of the file.
//!
//! For the header `Start,Det` above the line `12.5,3` it is `--columns time=Start:ns,channel=Det`: the unit is an
//! example if nothing states it.

use tagq_store::{TimeUnit, quoted};

use super::{
    columns::TextColumns,
    fields::LineFault,
    labels,
    layout::with_point,
    line::{NumberFault, parse_one, whole},
};
use crate::formats::{
    columns::{ChosenColumns, ColumnNames, Columns},
    naming::{Meaning, Name, Quantity, UnitOfName},
    times::ToTicks,
};

/// The channel in an example.
const CHANNEL: &str = "--channel 1";

/// Returns the words with an option that follow the fault of a line, in a text that is read by these columns.
pub(super) fn of_line(fault: LineFault, line: &[u8], columns: &Columns) -> Option<String> {
    match fault {
        LineFault::TimeNotWhole => {
            let columns = Columns { time_unit: Some(TimeUnit::Ns), ..columns.clone() };
            Some(format!(", as in {}", option(&columns.to_string())))
        }
        LineFault::ChannelNotWhole | LineFault::ChannelRange => {
            let ChosenColumns::Order(TextColumns::ChannelTime) = columns.chosen else {
                return None;
            };
            let swapped = match parse_one(line, TextColumns::TimeChannel) {
                Ok(Some(_)) => None,
                Err(LineFault::TimeNotWhole) => columns.time_unit.or(Some(TimeUnit::Ns)),
                _ => return None,
            };
            let columns = Columns {
                chosen: ChosenColumns::Order(TextColumns::TimeChannel),
                time_unit: swapped,
                ..columns.clone()
            };
            Some(format!(" (is the time first? {})", option(&columns.to_string())))
        }
        LineFault::OneField => {
            let time = line.trim_ascii();
            let unit = match whole::<i64>(time) {
                Ok(_) => "",
                Err(NumberFault::NotWhole) => "--columns time:ns ",
                Err(NumberFault::None | NumberFault::Range) => return None,
            };
            Some(format!(
                "; if each line is a time, {unit}{CHANNEL} reads them as those of channel 1, or of another number"
            ))
        }
        _ => None,
    }
}

/// Returns the options that read a text whose header has these names, with these fields below it; `None` if none do.
pub(super) fn of_header(
    names: &[String],
    fields: &[&[u8]],
    wanted: &ColumnNames,
) -> Option<String> {
    if names.len() != fields.len() || names.iter().any(|name| name.contains([',', '='])) {
        return None;
    }
    let time_at = |at: usize| Time::of(&names[at], fields[at]);
    if let [name] = names {
        let time = time_at(0)?;
        let is_found = wanted.find_time(names).is_ok() && !time.needs_unit;
        let columns = if is_found { String::new() } else { option(&time.option(name)) + " " };
        return Some(format!("{columns}{CHANNEL}"));
    }
    if names.iter().all(|name| is_numbered_channel(name)) {
        let times = names.iter().zip(fields).map(|(name, field)| match *field {
            b"" => Some(format!("time={name}")),
            field => Time::of(name, field).map(|time| time.option(name)),
        });
        let times: Option<Vec<String>> = times.collect();
        return times.map(|times| option(&times.join(",")));
    }
    let means = |of: Quantity| {
        let mut places =
            (0..names.len()).filter(move |&at| Name::of(&names[at]).meaning == Meaning::Of(of));
        places.next().filter(|_| places.next().is_none())
    };
    let has_unit = |at: &usize| matches!(Name::of(&names[*at]).unit, UnitOfName::Known(_));
    let is_channel =
        |at: &usize| whole::<u16>(fields[*at]).is_ok() || labels::name(fields[*at]).is_ok();
    let channel = means(Quantity::Channel);
    let others = || (0..names.len()).filter(|at| Some(*at) != channel && time_at(*at).is_some());
    // Of columns that could be the time, the one with a unit, or else the one with the longest number.
    let longest = || others().max_by_key(|&at| (fields[at].len(), std::cmp::Reverse(at)));
    let time = means(Quantity::Time).or_else(|| others().find(has_unit)).or_else(longest)?;
    let channel = channel.or_else(|| (0..names.len()).filter(|&at| at != time).find(is_channel));
    let time_option = time_at(time)?.option(&names[time]);
    let Some(channel) = channel else {
        return Some(format!("{} {CHANNEL}", option(&time_option)));
    };
    let channel_option = format!("channel={}", names[channel]);
    let in_order =
        if time < channel { [time_option, channel_option] } else { [channel_option, time_option] };
    Some(option(&in_order.join(",")))
}

/// A field that may be a time.
struct Time {
    /// Whether it is no whole number, and the name of its column states no unit.
    needs_unit: bool,
}

impl Time {
    fn of(name: &str, field: &[u8]) -> Option<Self> {
        let has_unit = matches!(Name::of(name).unit, UnitOfName::Known(_));
        let is_whole = whole::<i64>(field).is_ok();
        let is_time = is_whole || ToTicks::WHOLE.of_decimal(&with_point(field)).is_ok();
        is_time.then_some(Self { needs_unit: !is_whole && !has_unit })
    }

    fn option(&self, name: &str) -> String {
        let unit = if self.needs_unit { ":ns" } else { "" };
        format!("time={name}{unit}")
    }
}

/// Whether a field is a number, whole or not.
pub(super) fn is_number(field: &[u8]) -> bool {
    Time::of("", field).is_some()
}

/// Whether a name is that of a channel with a number after it, as `det1` or `Channel 2`.
fn is_numbered_channel(name: &str) -> bool {
    let before = name.split(['[', '(']).next().unwrap_or(name).trim();
    let stem = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
    stem.len() < before.len() && Name::of(stem).meaning == Meaning::Of(Quantity::Channel)
}

fn option(columns: &str) -> String {
    format!("--columns {}", quoted(columns))
}
