//! CSV: a comment line with what was asked, a line of names, a line a row.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use tagq::{Answer, Column, RunFacts, Values, escaped};

/// Writes the answers row by row.
pub(super) fn write(answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    for answer in answers {
        writeln!(out, "{}", comment(answer))?;
    }
    // Each column once, in the order they first come in, as wide as the longest list needs.
    let mut columns: Vec<(&Column, usize)> = Vec::new();
    for column in answers.iter().flat_map(|answer| answer.rows.columns()) {
        if columns.iter().all(|(known, _)| known.name != column.name) {
            let widths = answers.iter().filter_map(|answer| width(answer, &column.name));
            columns.push((column, widths.max().unwrap_or(1)));
        }
    }
    let mut names = Vec::new();
    if answers.len() > 1 {
        names.push("run".to_owned());
    }
    for &(column, width) in &columns {
        names.extend(names_of(column, width));
    }
    writeln!(out, "{}", names.join(","))?;
    for answer in answers {
        for at in 0..answer.rows.len() {
            let mut fields = Vec::new();
            if answers.len() > 1 {
                fields.push(quoted(&answer.run.path));
            }
            for (column, width) in &columns {
                match answer.rows.columns().iter().find(|own| own.name == column.name) {
                    Some(own) => fields.extend(fields_of(own, at, *width)),
                    None => fields.resize(fields.len() + width, String::new()),
                }
            }
            writeln!(out, "{}", fields.join(","))?;
        }
    }
    Ok(())
}

/// How many fields a column takes: one, or as many as its longest list.
fn width(answer: &Answer, name: &str) -> Option<usize> {
    Some(match answer.rows.get(name)? {
        Values::Groups(lists) => lists.iter().map(|list| list.len()).max().unwrap_or(0),
        Values::CountLists(lists) => lists.iter().map(|list| list.len()).max().unwrap_or(0),
        Values::FloatLists(lists) => lists.iter().map(|list| list.len()).max().unwrap_or(0),
        _ => 1,
    })
}

pub(super) fn names_of(column: &Column, width: usize) -> Vec<String> {
    let is_list =
        matches!(column.values, Values::Groups(_) | Values::CountLists(_) | Values::FloatLists(_));
    if !is_list {
        return vec![column.name.clone().into_owned()];
    }
    let stem = if column.name == "channels" { "channel" } else { &column.name };
    let letters = ('a'..='z').map(|letter| letter.to_string());
    let suffixes = letters.chain((27..).map(|number: usize| number.to_string()));
    suffixes.take(width).map(|suffix| format!("{stem}_{suffix}")).collect()
}

pub(super) fn fields_of(column: &Column, at: usize, width: usize) -> Vec<String> {
    fn list<T: ToString>(values: &[T], width: usize) -> Vec<String> {
        let mut fields: Vec<String> = values.iter().map(T::to_string).collect();
        fields.resize(width, String::new());
        fields
    }
    let float = |value: &Option<f64>| value.map_or(String::new(), |value| value.to_string());
    match &column.values {
        Values::Counts(values) => vec![values.at(at).to_string()],
        Values::Integers(values) => vec![values.at(at).to_string()],
        Values::SomeIntegers(values) => {
            vec![values.at(at).map_or(String::new(), |value| value.to_string())]
        }
        Values::Floats(values) => vec![float(&values.at(at))],
        Values::Flags(values) => vec![values.at(at).to_string()],
        Values::Channels(values) => vec![values.at(at).map_or(String::new(), |c| c.to_string())],
        Values::Groups(values) => list(&values.at(at), width),
        Values::CountLists(values) => list(&values.at(at), width),
        Values::FloatLists(values) => {
            list(&values.at(at).iter().map(float).collect::<Vec<_>>(), width)
        }
    }
}

pub(super) fn info<'a>(used: impl Iterator<Item = &'a RunFacts>) -> String {
    let mut text = String::from("run,channel,count,rate_hz\n");
    for run in used {
        for of in &run.channels {
            let rate = if run.live_s > 0.0 {
                (of.count as f64 / run.live_s).to_string()
            } else {
                String::new()
            };
            let _ = writeln!(text, "{},{},{},{rate}", quoted(&run.path), of.channel, of.count);
        }
    }
    text
}

/// What was asked of a run, on one line.
pub(super) fn comment(answer: &Answer) -> String {
    format!("# {}: {}", escaped(&answer.run.path), escaped(&answer.header))
}

/// A field with whatever it holds, on one line.
pub(super) fn quoted(field: &str) -> String {
    let field = escaped(field);
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into_owned()
    }
}
