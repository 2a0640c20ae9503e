//! Tables for a person: aligned, thousands readable, units chosen.

use std::{collections::BTreeMap, fmt::Write as _};

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, Column, Columns, Run, RunFacts, Values};

use super::quantities::{
    dash, hertz, rate_with_err, ratio, seconds, seconds_with_err, short, short_seconds, thousands,
    two_digits, with_err,
};

/// What channels are called.
pub(super) type Names = BTreeMap<u16, String>;

/// The names that the setup gives.
pub(super) fn names_of(run: &RunFacts) -> Names {
    run.names.iter().cloned().collect()
}

fn name_of(names: &Names, channel: u16) -> String {
    names.get(&channel).map_or_else(|| channel.to_string(), Clone::clone)
}

/// A field of a list, as it is.
pub(super) fn listed_field(column: &Column, at: usize, names: &Names) -> String {
    match &column.values {
        Values::Counts(values) => values[at].to_string(),
        _ => fields(column, &Columns::default(), at, names).join(","),
    }
}

pub(super) fn answers(answers: &[Answer]) -> String {
    let mut text = String::new();
    for (i, answer) in answers.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if answers.len() > 1 {
            let _ = writeln!(text, "{}", answer.run.path);
        }
        let _ = writeln!(text, "{}\n", answer.header);
        if let Some(selected) = singles_selected(answer) {
            let _ = writeln!(text, "{selected}\n");
        }
        let _ = writeln!(text, "{}", rows(&answer.rows, &names_of(&answer.run)));
    }
    text
}

/// All rows, a value and its error in one field.
fn rows(columns: &Columns, names: &Names) -> Table {
    let shown: Vec<(&Column, Vec<String>)> = columns
        .columns()
        .iter()
        .filter(|column| is_shown(column, columns))
        .map(|column| (column, heads(column)))
        .collect();
    let head: Vec<String> = shown.iter().flat_map(|(_, heads)| heads.clone()).collect();
    let mut table = plain(&head.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    for at in 0..columns.len() {
        let fields = shown.iter().flat_map(|(column, heads)| {
            let mut fields = fields(column, columns, at, names);
            fields.resize(heads.len(), dash());
            fields
        });
        table.add_row(fields.collect::<Vec<String>>());
    }
    table
}

/// Errors stand beside their values, singles above the rows, and what nobody has is left out.
fn is_shown(column: &Column, columns: &Columns) -> bool {
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

fn heads(column: &Column) -> Vec<String> {
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
        "heralding" => return vec!["heralding a".into(), "heralding b".into()],
        name => name,
    };
    vec![head.to_owned()]
}

fn fields(column: &Column, columns: &Columns, at: usize, names: &Names) -> Vec<String> {
    let err = |name: &str| {
        let unit = ["_hz", "_s"].into_iter().find(|unit| name.ends_with(unit)).unwrap_or("");
        let name = format!("{}_err{unit}", name.trim_end_matches(unit));
        match columns.get(&name) {
            Some(Values::Floats(values)) => values[at],
            _ => None,
        }
    };
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
        (Values::Integers(values), _) => vec![values[at].to_string()],
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
            let errors = match columns.get(&format!("{name}_err")) {
                Some(Values::FloatLists(errors)) => &errors[at][..],
                _ => &[],
            };
            let both = values[at].iter().zip(errors);
            both.map(|(&value, &err)| ratio(value, err)).collect()
        }
        (Values::CountLists(values), _) => {
            values[at].iter().map(|&count| thousands(count)).collect()
        }
    }
}

pub(super) fn info(runs: &[Run], used: &[RunFacts]) -> String {
    let mut text = String::new();
    for (i, (run, used)) in runs.iter().zip(used).enumerate() {
        if i > 0 {
            text.push('\n');
        }
        let manifest = run.store().manifest();
        let tick = manifest.tick;
        let assumed = if manifest.tick_assumed { " (assumed; --tick sets it)" } else { "" };
        let _ = writeln!(text, "run      {}", used.path);
        let _ = writeln!(
            text,
            "store    {} (commit {})",
            run.store().folder().display(),
            manifest.commit
        );
        let _ = writeln!(text, "tags     {}", thousands(used.tags));
        let _ = writeln!(text, "tick     {tick}{assumed}");
        let _ = writeln!(text, "live     {}", tick.format(run.live_ticks()));
        let _ = writeln!(text, "elapsed  {}", tick.format(run.elapsed_ticks()));
        let channels = used.channels.iter().map(|of| (of.channel, of.count));
        let _ = writeln!(text, "\n{}\n", singles_table(channels, used.live_s, &names_of(used)));
        let _ = writeln!(text, "{}", sources(run));
        text.push_str(&recorded(run));
    }
    text
}

/// What recorders noted of the sources: settings, which their hardware applied, and differences.
fn recorded(run: &Run) -> String {
    let mut text = String::new();
    let manifest = run.store().manifest();
    for (source, notes) in manifest.sources.iter().zip(run.notes()) {
        let Some(notes) = notes else { continue };
        let _ = write!(text, "\n{}: recorded", source.facts.name);
        if let Some(timestamp) = &notes.timestamp {
            let _ = write!(text, " {timestamp}");
        }
        if let Some(seconds) = notes.duration_s() {
            let _ = write!(text, ", {seconds} s");
        }
        text.push('\n');
        if !notes.description.is_empty() {
            let _ = writeln!(text, "  {}", notes.description);
        }
        for of in &notes.channel_settings {
            let edge = if of.invert == Some(true) { "falling edge" } else { "rising edge" };
            let _ = write!(text, "  channel {}: {edge}", of.channel);
            if let Some(volts) = of.threshold {
                let _ = write!(text, ", threshold {volts} V");
            }
            if let Some(delay) = of.delay {
                let _ = write!(text, ", delay {delay} ticks (applied by the recorder)");
            }
            text.push('\n');
        }
        for difference in notes.differences(source, manifest.tick) {
            let _ = writeln!(text, "  differs: {difference}");
        }
    }
    text
}

/// The singles of the channels that were counted, in the selection.
fn singles_selected(answer: &Answer) -> Option<Table> {
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
    Some(singles_table(of_channels.into_iter(), live_s, &names_of(&answer.run)))
}

fn singles_table(of: impl Iterator<Item = (u16, u64)>, live_s: f64, names: &Names) -> Table {
    let mut table = plain(&["channel", "singles", "rate"], 0);
    for (channel, count) in of {
        let rate = if live_s > 0.0 { hertz(count as f64 / live_s) } else { dash() };
        table.add_row([name_of(names, channel), thousands(count), rate]);
    }
    table
}

fn sources(run: &Run) -> Table {
    let mut table = plain(&["source", "tags", "begins", "live", ""], 1);
    let tick = run.store().manifest().tick;
    for source in &run.store().manifest().sources {
        let span = source.time_first.zip(source.time_last);
        let mut remarks = Vec::new();
        if source.facts.reordered > 0 {
            remarks.push(format!("{} put in order", thousands(source.facts.reordered)));
        }
        if let Some(ticks) = source.facts.rebased {
            remarks.push(format!("moved by {}", tick.format(ticks.into())));
        }
        if !source.facts.checksummed {
            remarks.push("no checksum".to_owned());
        }
        remarks.extend(source.facts.torn.clone());
        table.add_row([
            source.facts.name.clone(),
            thousands(source.rows),
            span.map_or(String::new(), |(first, _)| tick.format(first.into())),
            span.map_or(String::new(), |(first, last)| {
                tick.format(i128::from(last) - i128::from(first))
            }),
            remarks.join(", "),
        ]);
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
