//! Tables in Markdown, and what they were made of as CSV.

pub mod docs;

use std::{fmt::Write as _, fs, io, path::Path};

use self::docs::About;
use crate::{Compression, measure::Rounds};

/// A table with the measurements that it shows.
pub struct Table {
    /// Its name: of its files and of its place in the document.
    pub name: &'static str,
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
    /// Lines below it.
    pub notes: Vec<String>,
    /// What its cells show of several rounds; `None` if nothing in it was timed.
    pub shown: Option<&'static str>,
    csv: String,
}

impl Table {
    /// An empty table.
    pub fn new(name: &'static str, caption: String) -> Self {
        let csv = "format,compression,step,quantity,round,value\n".to_owned();
        Self {
            name,
            caption,
            header: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
            shown: Some("median (least–most)"),
            csv,
        }
    }

    /// Sets the names of the columns.
    pub fn head(&mut self, names: &[&str]) {
        self.header = names.iter().map(|&name| name.to_owned()).collect();
    }

    /// Adds measurements, one for each round.
    pub fn raw(&mut self, format: &str, compression: Compression, quantity: &str, values: &[f64]) {
        for (round, value) in (1..).zip(values) {
            let line = format!("{format},{compression},,{quantity},{round},{value}\n");
            self.csv.push_str(&line);
        }
    }

    /// Adds everything that was measured in some rounds.
    pub fn raw_rounds(
        &mut self,
        format: &str,
        compression: Compression,
        step: &str,
        rounds: &Rounds,
    ) {
        for (quantity, values) in rounds.all() {
            for (round, value) in (1..).zip(values) {
                let line =
                    format!("{format},{compression},\"{step}\",{quantity},{round},{value}\n");
                self.csv.push_str(&line);
            }
        }
    }

    /// Returns the table in Markdown. Columns of numbers are aligned to the right.
    pub fn markdown(&self, about: &About) -> String {
        let about = about.text(self.shown);
        let mut text = format!("{}; {about}.\n\n| {} |\n|", self.caption, self.header.join(" | "));
        for column in 0..self.header.len() {
            let is_number = |row: &Vec<String>| {
                let cell = row.get(column).and_then(|cell| cell.chars().next());
                cell.is_some_and(|first| first.is_ascii_digit() || first == '–')
            };
            text.push_str(if self.rows.iter().all(is_number) { "--:|" } else { "---|" });
        }
        text.push('\n');
        for row in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        for note in &self.notes {
            let _ = write!(text, "\n{note}\n");
        }
        text
    }

    /// Writes both files into a folder.
    pub fn save(&self, folder: &Path, about: &About) -> io::Result<()> {
        fs::write(folder.join(format!("{}.md", self.name)), self.markdown(about))?;
        fs::write(folder.join(format!("{}.csv", self.name)), &self.csv)
    }
}

/// Returns a median with the smallest and the largest value, with three digits or all before the point.
pub fn spread(rounds: &Rounds, name: &str, factor: f64) -> String {
    let (least, most) = rounds.spread(name);
    let median = digits(rounds.median(name) * factor);
    let (least, most) = (digits(least * factor), digits(most * factor));
    if least == most { median } else { format!("{median} ({least}–{most})") }
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Returns a number with commas between thousands.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (value, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (35_000_000, "35,000,000")]
        {
            assert_eq!(count(value), text);
        }
    }
}
