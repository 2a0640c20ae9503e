//! Tables for a person: aligned, thousands readable, units chosen.

use std::{collections::BTreeMap, fmt::Write as _};

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, Column, Columns, RunFacts, Values};

use super::look::Look;
use super::quantities::{
    dash, hertz, rate_with_err, ratio, seconds, seconds_with_err, short, short_seconds, thousands,
    ticks, two_digits, with_err,
};
use super::room::fitting;

/// What channels are called.
pub(super) type Names = BTreeMap<u16, String>;

/// The names that the setup gives.
pub(super) fn names_of(run: &RunFacts) -> Names {
    run.names.iter().cloned().collect()
}

pub(super) fn name_of(names: &Names, channel: u16) -> String {
    names.get(&channel).map_or_else(|| channel.to_string(), Clone::clone)
}

/// A field of a list, as it is.
pub(super) fn listed_field(column: &Column, at: usize, names: &Names) -> String {
    match &column.values {
        Values::Counts(values) => values[at].to_string(),
        _ => fields(column, &Columns::default(), at, names).join(","),
    }
}

pub(super) fn drawn(answers: &[Answer], look: Look) -> String {
    let is_one_of_several = answers.len() > 1;
    let tables = answers.iter().map(|answer| one(answer, is_one_of_several, look));
    tables.collect::<Vec<_>>().join("\n")
}

/// The table of one answer, below what was asked.
pub(super) fn one(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let mut text = head(answer, is_one_of_several, look);
    if let Some(selected) = singles_selected(answer, look) {
        let _ = writeln!(text, "{selected}\n");
    }
    let names = names_of(&answer.run);
    let _ = writeln!(text, "{}", fitting(&answer.rows, &names, look));
    text
}

/// What was asked; of which run where there are several.
pub(super) fn head(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let path = if is_one_of_several { format!("{}\n", answer.run.path) } else { String::new() };
    format!("{path}{}\n", look.header(&answer.header))
}

/// All rows without some columns, a value and its error in one field.
pub(super) fn rows(
    columns: &Columns,
    names: &Names,
    look: Look,
    without: &[&str],
    in_room: fn(String) -> String,
) -> Table {
    let shown: Vec<(&Column, Vec<String>)> = columns
        .columns()
        .iter()
        .filter(|column| is_shown(column, columns) && !without.contains(&&*column.name))
        .map(|column| (column, heads(column, columns, names, look)))
        .collect();
    let head: Vec<String> = shown.iter().flat_map(|(_, heads)| heads.clone()).collect();
    let head: Vec<String> = head.into_iter().map(in_room).collect();
    let mut table = plain(&head.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    for at in 0..columns.len() {
        let fields = shown.iter().flat_map(|(column, heads)| {
            let mut fields = if look.exact {
                exact_fields(column, columns, at, names)
            } else {
                fields(column, columns, at, names)
            };
            fields.resize(heads.len(), dash());
            fields.into_iter().map(in_room)
        });
        table.add_row(fields.collect::<Vec<String>>());
    }
    table
}

/// Errors stand beside their values, singles above the rows, and what nobody has is left out.
pub(super) fn is_shown(column: &Column, columns: &Columns) -> bool {
    let is_empty = match &column.values {
        Values::Floats(values) => values.iter().all(Option::is_none),
        Values::FloatLists(values) => values.iter().flatten().all(Option::is_none),
        Values::Flags(values) => values.iter().all(|flag| !flag),
        Values::Integers(values) if column.name == "width_ticks" => {
            values.windows(2).all(|pair| pair[0] == pair[1])
        }
        _ => false,
    };
    let has_seconds = column.name == "start_ticks" && columns.get("start_s").is_some();
    !is_empty && !has_seconds && !column.name.contains("_err") && column.name != "singles"
}

pub(super) fn heads(column: &Column, columns: &Columns, names: &Names, look: Look) -> Vec<String> {
    if column.name == "heralding" {
        // One pair has names; those of many stand in their rows.
        let [a, b] = match columns.get("channels") {
            Some(Values::Groups(groups)) if groups.len() == 1 && groups[0].len() == 2 => {
                [name_of(names, groups[0][0]), name_of(names, groups[0][1])]
            }
            _ => ["a".to_owned(), "b".to_owned()],
        };
        return vec![format!("P({a}|{b})"), format!("P({b}|{a})")];
    }
    let unit = match &*column.name {
        name if look.exact && name.ends_with("_hz") => " (Hz)",
        name if look.exact && name.ends_with("_s") => " (s)",
        _ => "",
    };
    let head = match &*column.name {
        "channels" => "channels",
        "rate_hz" => "rate",
        "last_count" => "last",
        "last_rate_hz" => "last rate",
        "accidentals_independent" => "independent",
        "car" => "CAR",
        "g2_heralded" => "heralded g2",
        "start_s" => "from",
        "delay_ticks" => "from (ticks)",
        "width_ticks" => "ticks",
        "delay_s" => "delay",
        "partial" => "",
        "peak_ticks" => "peak (ticks)",
        "peak_s" => "peak",
        "centre_s" => "centre",
        "width_s" => "width",
        "second_s" => "second best",
        "second_sigmas" => "sigmas",
        "comb_s" => "again each",
        name => name,
    };
    vec![format!("{head}{unit}")]
}

/// The error of a value of this name.
fn err_of(name: &str, columns: &Columns, at: usize) -> Option<f64> {
    let unit = ["_hz", "_s"].into_iter().find(|unit| name.ends_with(unit)).unwrap_or("");
    let name = format!("{}_err{unit}", name.trim_end_matches(unit));
    match columns.get(&name) {
        Some(Values::Floats(values)) => values[at],
        _ => None,
    }
}

/// The errors of a list of values of this name.
fn errs_of<'a>(name: &str, columns: &'a Columns, at: usize) -> &'a [Option<f64>] {
    match columns.get(&format!("{name}_err")) {
        Some(Values::FloatLists(errors)) => &errors[at],
        _ => &[],
    }
}

/// With all digits, in seconds and hertz.
fn exact_fields(column: &Column, columns: &Columns, at: usize, names: &Names) -> Vec<String> {
    let both = |value: Option<String>, err: Option<f64>| match (value, err) {
        (None, _) => dash(),
        (Some(value), Some(err)) => format!("{value} \u{b1} {err}"),
        (Some(value), None) => value,
    };
    let err = err_of(&column.name, columns, at);
    match &column.values {
        Values::Counts(counts) => vec![both(Some(counts[at].to_string()), err)],
        Values::Integers(values) => vec![values[at].to_string()],
        Values::Floats(values) => vec![both(values[at].map(|value| value.to_string()), err)],
        Values::FloatLists(values) => {
            let pairs = values[at].iter().zip(errs_of(&column.name, columns, at));
            pairs.map(|(value, &err)| both(value.map(|value| value.to_string()), err)).collect()
        }
        Values::CountLists(values) => values[at].iter().map(u64::to_string).collect(),
        Values::SomeIntegers(_) | Values::Flags(_) | Values::Channels(_) | Values::Groups(_) => {
            fields(column, columns, at, names)
        }
    }
}

fn fields(column: &Column, columns: &Columns, at: usize, names: &Names) -> Vec<String> {
    let err = |name: &str| err_of(name, columns, at);
    match (&column.values, &*column.name) {
        (Values::Groups(groups), _) => {
            let group: Vec<String> = groups[at].iter().map(|&c| name_of(names, c)).collect();
            vec![group.join(",")]
        }
        (Values::Channels(channels), _) => {
            vec![channels[at].map_or_else(|| "all".to_owned(), |channel| name_of(names, channel))]
        }
        (Values::Counts(counts), name) => {
            let count = thousands(counts[at]);
            vec![match err(name) {
                Some(err) => format!("{count} \u{b1} {}", two_digits(err)),
                None => count,
            }]
        }
        (Values::Integers(values), _) => vec![ticks(values[at])],
        (Values::SomeIntegers(values), _) => {
            vec![values[at].map_or_else(dash, |value| value.to_string())]
        }
        (Values::Floats(values), name) => vec![match (values[at], err(name), name) {
            (None, ..) => dash(),
            (Some(value), Some(err), "rate_hz" | "last_rate_hz") => rate_with_err(value, err),
            (Some(value), _, "accidentals") => short(value),
            (Some(value), Some(err), "peak_s" | "centre_s") => seconds_with_err(value, err),
            (Some(value), Some(err), _) => with_err(value, err),
            (Some(value), None, "width_s" | "second_s") => short_seconds(value),
            (Some(value), None, name) if name.ends_with("_s") => seconds(value),
            (Some(value), None, _) => short(value),
        }],
        (Values::Flags(flags), name) => {
            vec![if flags[at] { name.to_owned() } else { String::new() }]
        }
        (Values::FloatLists(values), name) => {
            let both = values[at].iter().zip(errs_of(name, columns, at));
            both.map(|(&value, &err)| ratio(value, err)).collect()
        }
        (Values::CountLists(values), _) => {
            values[at].iter().map(|&count| thousands(count)).collect()
        }
    }
}

/// The singles of the channels that were counted, in the selection.
fn singles_selected(answer: &Answer, look: Look) -> Option<String> {
    let (Some(Values::Groups(groups)), Some(Values::CountLists(singles))) =
        (answer.rows.get("channels"), answer.rows.get("singles"))
    else {
        return None;
    };
    let bin_of = |row: usize| match answer.rows.get("start_ticks") {
        Some(Values::Integers(starts)) => starts[row],
        _ => 0,
    };
    // A channel is in many groups of a bin, each time with the same singles; bins add up.
    let mut of_bins = BTreeMap::new();
    for (row, (group, singles)) in groups.iter().zip(singles).enumerate() {
        for (&channel, &singles) in group.iter().zip(singles) {
            of_bins.insert((channel, bin_of(row)), singles);
        }
    }
    let mut of_channels = BTreeMap::<u16, u64>::new();
    for ((channel, _), singles) in of_bins {
        *of_channels.entry(channel).or_default() += singles;
    }
    let live_s = answer.query["live_s"].as_f64().unwrap_or(0.0);
    let names = names_of(&answer.run);
    Some(look.draw(|_| singles_table(&of_channels, live_s, &names, look)))
}

fn singles_table(of: &BTreeMap<u16, u64>, live_s: f64, names: &Names, look: Look) -> Table {
    let rate = if look.exact { "rate (Hz)" } else { "rate" };
    let mut table = plain(&["channel", "singles", rate], 0);
    for (&channel, &count) in of {
        let rate = (live_s > 0.0).then(|| count as f64 / live_s);
        let shown = |rate: f64| if look.exact { rate.to_string() } else { hertz(rate) };
        let singles = if look.exact { count.to_string() } else { thousands(count) };
        table.add_row([name_of(names, channel), singles, rate.map_or_else(dash, shown)]);
    }
    table
}

/// A table without lines, all columns aligned right but the first `left`.
pub(super) fn plain(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(head.iter().copied());
    for (i, column) in table.column_iter_mut().enumerate() {
        let is_left = i < left || head[i].is_empty();
        column.set_cell_alignment(if is_left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    table
}
