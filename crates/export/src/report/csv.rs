//! CSV: a comment line with the query, a line of column names, one line per row.
//!
//! Groups (3, 15) and (3, 15, 16) in one answer: the columns `channel_a`, `channel_b` and `channel_c`, the last one
//! empty in the first row. A field is on one line, with quotes if it has a comma or a quote.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use tagq::{Answer, Cell, Column, RunFacts, escaped};

/// Writes the answers row by row.
pub fn write(answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    for answer in answers {
        writeln!(out, "{}", comment(answer))?;
    }
    // Each column once, in order of first appearance, as wide as its longest list.
    let mut columns: Vec<(&Column, usize)> = Vec::new();
    for column in answers.iter().flat_map(|answer| answer.rows.columns()) {
        if columns.iter().all(|(known, _)| known.key != column.key) {
            let widths = answers.iter().filter_map(|answer| width(answer, &column.key));
            columns.push((column, widths.max().unwrap_or(1)));
        }
    }
    for (column, _) in &columns {
        out.write_all(about(column).as_bytes())?;
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
                match answer.rows.columns().iter().find(|own| own.key == column.key) {
                    Some(own) => fields.extend(fields_of(own, at, *width)),
                    None => fields.resize(fields.len() + width, String::new()),
                }
            }
            writeln!(out, "{}", fields.join(","))?;
        }
    }
    Ok(())
}

/// Returns the number of fields of a column: one, or the length of its longest list.
fn width(answer: &Answer, key: &str) -> Option<usize> {
    let column = answer.rows.get(key)?;
    let len = |cell: Cell| if let Cell::List(items) = cell { items.len() } else { 1 };
    if column.is_list { Some(column.cells.iter().map(len).max().unwrap_or(0)) } else { Some(1) }
}

pub(crate) fn names_of(column: &Column, width: usize) -> Vec<String> {
    if !column.is_list {
        return vec![column.key.clone().into_owned()];
    }
    let stem = match &*column.key {
        "channels" => "channel",
        "names" => "name",
        key => key,
    };
    let letters = ('a'..='z').map(|letter| letter.to_string());
    let suffixes = letters.chain((27..).map(|number: usize| number.to_string()));
    suffixes.take(width).map(|suffix| format!("{stem}_{suffix}")).collect()
}

pub(crate) fn fields_of(column: &Column, at: usize, width: usize) -> Vec<String> {
    let field = |cell: &Cell| match cell {
        Cell::Name(name) => quoted(name),
        cell => cell.to_string(),
    };
    let mut fields = match column.cells.at(at) {
        Cell::List(items) => items.iter().map(|item| field(&item)).collect(),
        cell => vec![field(&cell)],
    };
    if column.is_list {
        fields.resize(width, String::new());
    }
    fields
}

/// Returns a line for each channel of each run: its tags and its rate.
pub fn info<'a>(used: impl Iterator<Item = &'a RunFacts>) -> String {
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

/// Returns the path and the header of an answer as one comment line.
pub(crate) fn comment(answer: &Answer) -> String {
    format!("# {}: {}", escaped(&answer.run.path), escaped(&answer.header))
}

/// Returns the comment line that explains the values of a column; empty if the column has no explanation.
pub(crate) fn about(column: &Column) -> String {
    match &*column.shown.about {
        "" => String::new(),
        about => format!("# {}: {about}\n", column.key),
    }
}

/// Returns a field with any content on one line, quoted if necessary.
pub(crate) fn quoted(field: &str) -> String {
    let field = escaped(field);
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into_owned()
    }
}
