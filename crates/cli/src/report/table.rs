//! Tables for a person: aligned, thousands readable, units chosen.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, Column, Columns, Run, RunFacts, Values};

use super::quantities::{
    dash, hertz, rate_with_err, ratio, seconds, short, thousands, two_digits, with_err,
};

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
        if answer.rows.get("singles").is_some() {
            let _ = writeln!(text, "{}\n", singles(&answer.run));
        }
        let _ = writeln!(text, "{}", rows(&answer.rows));
    }
    text
}

/// All rows, a value and its error in one field.
fn rows(columns: &Columns) -> Table {
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
            let mut fields = fields(column, columns, at);
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
    let head = match column.name {
        "channels" => "channels",
        "rate_hz" => "rate",
        "accidentals_independent" => "independent",
        "car" => "CAR",
        "g2_heralded" => "heralded g2",
        "start_s" => "from",
        "delay_ticks" => "from (ticks)",
        "width_ticks" => "ticks",
        "delay_s" => "delay",
        "partial" => "",
        "heralding" => return vec!["heralding a".into(), "heralding b".into()],
        name => name,
    };
    vec![head.to_owned()]
}

fn fields(column: &Column, columns: &Columns, at: usize) -> Vec<String> {
    let err = |name: &str| {
        let name = match name.strip_suffix("_hz") {
            Some(stem) => format!("{stem}_err_hz"),
            None => format!("{name}_err"),
        };
        match columns.get(&name) {
            Some(Values::Floats(values)) => values[at],
            _ => None,
        }
    };
    match (&column.values, column.name) {
        (Values::Groups(groups), _) => {
            let names: Vec<String> = groups[at].iter().map(u16::to_string).collect();
            vec![names.join(",")]
        }
        (Values::Channels(channels), _) => {
            vec![channels[at].map_or_else(|| "all".to_owned(), |channel| channel.to_string())]
        }
        (Values::Counts(counts), name) => {
            let count = thousands(counts[at]);
            vec![match err(name) {
                Some(err) => format!("{count} \u{b1} {}", two_digits(err)),
                None => count,
            }]
        }
        (Values::Integers(values), _) => vec![values[at].to_string()],
        (Values::Floats(values), name) => vec![match (values[at], err(name), name) {
            (None, ..) => dash(),
            (Some(value), Some(err), "rate_hz") => rate_with_err(value, err),
            (Some(value), _, "accidentals") => short(value),
            (Some(value), Some(err), _) => with_err(value, err),
            (Some(value), None, "delay_s" | "start_s") => seconds(value),
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
        let _ = writeln!(text, "\n{}\n", singles(used));
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

fn singles(run: &RunFacts) -> Table {
    let mut table = plain(&["channel", "singles", "rate"], 0);
    for of in &run.channels {
        let rate = if run.live_s > 0.0 { hertz(of.count as f64 / run.live_s) } else { dash() };
        table.add_row([of.channel.to_string(), thousands(of.count), rate]);
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
fn plain(head: &[&str], left: usize) -> Table {
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
