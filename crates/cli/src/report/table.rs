//! Tables for a person: aligned, thousands readable, units chosen.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, Column, Columns, RunFacts, Values, escaped};

use super::look::Look;
use super::quantities::{
    dash, hertz, rate_with_err, ratio, seconds, seconds_with_err, short, short_seconds, thousands,
    ticks, two_digits, with_err,
};
use super::room::write_fitting;

/// What channels are called.
pub(super) type Names = BTreeMap<u16, String>;

/// The names that the setup gives.
pub(super) fn names_of(run: &RunFacts) -> Names {
    run.names.iter().cloned().collect()
}

pub(super) fn name_of(names: &Names, channel: u16) -> String {
    names.get(&channel).map_or_else(|| channel.to_string(), |name| escaped(name).into_owned())
}

/// A field of a list, as it is.
pub(super) fn listed_field(column: &Column, at: usize, names: &Names) -> String {
    match &column.values {
        Values::Counts(values) => values.at(at).to_string(),
        _ => fields(column, &Columns::default(), at, names).join(","),
    }
}

/// Writes the tables of all answers, row by row.
pub(super) fn write(answers: &[Answer], look: Look, out: &mut dyn Write) -> io::Result<()> {
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            out.write_all(b"\n")?;
        }
        write_one(answer, answers.len() > 1, look, out)?;
    }
    Ok(())
}

/// The table of one answer, below what was asked.
pub(super) fn one(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let mut text = Vec::new();
    // Memory takes whatever is written.
    let _ = write_one(answer, is_one_of_several, look, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_one(
    answer: &Answer,
    is_one_of_several: bool,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(head(answer, is_one_of_several, look).as_bytes())?;
    if let Some(selected) = singles_selected(answer, look) {
        writeln!(out, "{selected}\n")?;
    }
    write_fitting(&answer.rows, &names_of(&answer.run), look, out)
}

/// What was asked; of which run where there are several.
pub(super) fn head(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let path =
        if is_one_of_several { format!("{}\n", escaped(&answer.run.path)) } else { String::new() };
    format!("{path}{}\n", look.header(&escaped(&answer.header)))
}

/// The fields of a row in a column, one for each of its heads.
pub(super) fn fields_at(
    column: &Column,
    columns: &Columns,
    at: usize,
    names: &Names,
    look: Look,
) -> Vec<String> {
    if look.exact {
        exact_fields(column, columns, at, names)
    } else {
        fields(column, columns, at, names)
    }
}

/// Errors stand beside their values, singles above the rows, and what nobody has is left out.
pub(super) fn is_shown(column: &Column, columns: &Columns) -> bool {
    let is_empty = match &column.values {
        Values::Floats(values) => values.iter().all(|value| value.is_none()),
        Values::FloatLists(values) => values.iter().flatten().all(|value| value.is_none()),
        Values::Flags(values) => values.iter().all(|flag| !flag),
        Values::Integers(values) if column.name == "width_ticks" => {
            values.iter().zip(values.iter().skip(1)).all(|(a, b)| a == b)
        }
        _ => false,
    };
    let has_seconds = column.name == "start_ticks" && columns.get("start_s").is_some();
    let is_beside = column.name.contains("_err") || column.name == "g2_covariance";
    !is_empty && !has_seconds && !is_beside && column.name != "singles"
}

pub(super) fn heads(column: &Column, columns: &Columns, names: &Names, look: Look) -> Vec<String> {
    if let "p_a_given_b" | "p_b_given_a" = &*column.name {
        // One pair has names; those of many stand in their rows.
        let [a, b] = match columns.get("channels") {
            Some(Values::Groups(groups)) if groups.len() == 1 && groups.at(0).len() == 2 => {
                let pair = groups.at(0);
                [name_of(names, pair[0]), name_of(names, pair[1])]
            }
            _ => ["a".to_owned(), "b".to_owned()],
        };
        let (of, given) = if column.name == "p_a_given_b" { (a, b) } else { (b, a) };
        return vec![format!("P({of}|{given})")];
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
        "car_min" => "CAR (95 %) >",
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
        "comb_s" => "period",
        name => name,
    };
    vec![format!("{head}{unit}")]
}

/// The error of a value of this name.
fn err_of(name: &str, columns: &Columns, at: usize) -> Option<f64> {
    let unit = ["_hz", "_s"].into_iter().find(|unit| name.ends_with(unit)).unwrap_or("");
    let name = format!("{}_err{unit}", name.trim_end_matches(unit));
    match columns.get(&name) {
        Some(Values::Floats(values)) => values.at(at),
        _ => None,
    }
}

/// The errors of a list of values of this name.
fn errs_of(name: &str, columns: &Columns, at: usize) -> Vec<Option<f64>> {
    match columns.get(&format!("{name}_err")) {
        Some(Values::FloatLists(errors)) => errors.at(at),
        _ => Vec::new(),
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
        Values::Counts(counts) => vec![both(Some(counts.at(at).to_string()), err)],
        Values::Integers(values) => vec![values.at(at).to_string()],
        Values::Floats(values) => vec![both(values.at(at).map(|value| value.to_string()), err)],
        Values::FloatLists(values) => {
            let pairs = values.at(at).into_iter().zip(errs_of(&column.name, columns, at));
            pairs.map(|(value, err)| both(value.map(|value| value.to_string()), err)).collect()
        }
        Values::CountLists(values) => values.at(at).iter().map(u64::to_string).collect(),
        Values::SomeIntegers(_) | Values::Flags(_) | Values::Channels(_) | Values::Groups(_) => {
            fields(column, columns, at, names)
        }
    }
}

fn fields(column: &Column, columns: &Columns, at: usize, names: &Names) -> Vec<String> {
    let err = |name: &str| err_of(name, columns, at);
    match (&column.values, &*column.name) {
        (Values::Groups(groups), _) => {
            let group: Vec<String> = groups.at(at).iter().map(|&c| name_of(names, c)).collect();
            vec![group.join(",")]
        }
        (Values::Channels(channels), _) => {
            vec![
                channels.at(at).map_or_else(|| "all".to_owned(), |channel| name_of(names, channel)),
            ]
        }
        (Values::Counts(counts), name) => {
            let count = thousands(counts.at(at));
            vec![match err(name) {
                Some(err) => format!("{count} \u{b1} {}", two_digits(err)),
                None => count,
            }]
        }
        (Values::Integers(values), _) => vec![ticks(values.at(at))],
        (Values::SomeIntegers(values), _) => {
            vec![values.at(at).map_or_else(dash, |value| value.to_string())]
        }
        (Values::Floats(values), name) => vec![match (values.at(at), err(name), name) {
            (None, ..) => dash(),
            (Some(value), Some(err), "rate_hz" | "last_rate_hz") => rate_with_err(value, err),
            (Some(value), _, "accidentals") => short(value),
            (value, err, "p_a_given_b" | "p_b_given_a") => ratio(value, err),
            (Some(value), Some(err), "peak_s" | "centre_s" | "width_s") => {
                seconds_with_err(value, err)
            }
            (Some(value), Some(err), _) => with_err(value, err),
            (Some(value), None, "width_s" | "second_s") => short_seconds(value),
            (Some(value), None, name) if name.ends_with("_s") => seconds(value),
            (Some(value), None, _) => short(value),
        }],
        (Values::Flags(flags), name) => {
            vec![if flags.at(at) { name.to_owned() } else { String::new() }]
        }
        (Values::FloatLists(values), name) => {
            let both = values.at(at).into_iter().zip(errs_of(name, columns, at));
            both.map(|(value, err)| ratio(value, err)).collect()
        }
        (Values::CountLists(values), _) => {
            values.at(at).iter().map(|&count| thousands(count)).collect()
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
        Some(Values::Integers(starts)) => starts.at(row),
        _ => 0,
    };
    // A channel is in many groups of a bin, each time with the same singles; bins add up.
    let mut of_channels = BTreeMap::<u16, u64>::new();
    let (mut bin, mut of_bin) = (None, BTreeMap::new());
    let mut add = |of_bin: &mut BTreeMap<u16, u64>| {
        for (channel, singles) in std::mem::take(of_bin) {
            *of_channels.entry(channel).or_default() += singles;
        }
    };
    for (row, (group, singles)) in groups.iter().zip(singles.iter()).enumerate() {
        if bin.replace(bin_of(row)) != Some(bin_of(row)) {
            add(&mut of_bin);
        }
        of_bin.extend(group.into_iter().zip(singles));
    }
    add(&mut of_bin);
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
