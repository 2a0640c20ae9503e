//! Style of a table: rounded or exact, with the width and colour of the terminal.

use anstyle::Style;
use comfy_table::Table;

use tagq::store::Tick;

use super::quantities::{bytes, dash, thousands};

const HEAD: Style = Style::new().bold();
const UNDEFINED: Style = Style::new().dimmed();

/// Style of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableStyle {
    /// All digits, plain seconds and hertz.
    pub exact: bool,
    /// Bold headings and dimmed dashes.
    pub colour: bool,
    /// Width of the terminal in columns, or `None` without a terminal.
    pub width: Option<usize>,
    /// Most rows of a table of an answer; all rows if `None`.
    pub rows: Option<usize>,
}

impl TableStyle {
    /// Style of a table in a file.
    pub const PLAIN: Self = Self { exact: false, colour: false, width: None, rows: None };

    /// Formats a count.
    pub(crate) fn count(&self, n: u64) -> String {
        if self.exact { n.to_string() } else { thousands(n) }
    }

    /// Formats a time.
    pub(crate) fn time(&self, tick: Tick, ticks: i128) -> String {
        if self.exact { format!("{} s", tick.seconds_of(ticks)) } else { tick.format(ticks) }
    }

    /// Formats a size.
    pub(crate) fn bytes(&self, n: u64) -> String {
        if self.exact { format!("{n} bytes") } else { bytes(n) }
    }

    /// Returns the header, wrapped to the width of the terminal; ends with a newline.
    pub(crate) fn header<'a>(&self, header: &'a str) -> String {
        let width = self.width.unwrap_or(usize::MAX);
        let (mut text, mut room) = (String::new(), width);
        // A part longer than a line is broken between words.
        let words = |part: &'a str| {
            let is_long = console::measure_text_width(part.trim_end()) > width;
            if is_long { words_of(part) } else { vec![part] }
        };
        for (at, part) in header.split_inclusive("; ").flat_map(words).enumerate() {
            let length = console::measure_text_width(part.trim_end());
            if at > 0 && length > room {
                text.truncate(text.trim_end().len());
                text.push_str("\n  ");
                room = width.saturating_sub(2);
            }
            text.push_str(part);
            room = room.saturating_sub(console::measure_text_width(part));
        }
        text.push('\n');
        text
    }

    /// Returns the lines of a table. If it is too wide, values and errors are shortened by [`concise`].
    pub(crate) fn draw(&self, table: impl Fn(fn(String) -> String) -> Table) -> String {
        let wide = table(|field| field).to_string();
        let fits = |width| wide.lines().all(|line| console::measure_text_width(line) <= width);
        // With all digits, the error is not in units of the last digit of its value.
        let is_wide = self.exact || self.width.is_none_or(fits);
        let text = if is_wide { wide } else { table(concise).to_string() };
        let lines = text.lines().map(|line| line.trim_end().to_owned()).enumerate();
        lines.map(|(at, line)| self.painted(line, at == 0)).collect::<Vec<_>>().join("\n")
    }

    /// Returns a line of a table, or its head, in colour if the terminal has it.
    pub(crate) fn painted(&self, line: String, is_head: bool) -> String {
        match is_head {
            _ if !self.colour => line,
            true => format!("{HEAD}{line}{HEAD:#}"),
            false => dimmed(&line),
        }
    }
}

/// Divides a text at blanks, but not between a number and its unit.
fn words_of(text: &str) -> Vec<&str> {
    let (mut words, mut begin) = (Vec::new(), 0);
    for (at, _) in text.match_indices(' ') {
        let is_number = |word: &str| word.ends_with(|c: char| c.is_ascii_digit());
        if !is_number(&text[begin..at]) {
            words.push(&text[begin..=at]);
            begin = at + 1;
        }
    }
    words.push(&text[begin..]);
    words
}

/// Short forms of headings that are wider than their columns.
const SHORT_HEADS: [(&str, &str); 5] = [
    ("accidentals", "acc."),
    ("independent", "indep."),
    ("peak (ticks)", "ticks"),
    ("coincidences", "pairs"),
    ("second best", "second"),
];

/// Shortens a value and its error to `1,976(44)`, `4.94(11) kHz`: an error below 1 in units of the last digits, a
/// larger one as it is: `61.0(7.8)`.
pub(crate) fn concise(field: String) -> String {
    let Some((value, rest)) = field.split_once(" \u{b1} ") else {
        let short = SHORT_HEADS.iter().find(|(head, _)| *head == field);
        return short.map_or(field, |(_, short)| (*short).to_owned());
    };
    let (value, err, unit) = match value.strip_prefix('(').zip(rest.split_once(") ")) {
        Some((value, (err, "%"))) => (value, err, "%".to_owned()),
        Some((value, (err, unit))) => (value, err, format!(" {unit}")),
        None => (value, rest, String::new()),
    };
    let digits = match err.strip_prefix("0.") {
        Some(places) => match places.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        },
        None => err,
    };
    format!("{value}({digits}){unit}")
}

/// Returns a line with undefined values dimmed.
fn dimmed(line: &str) -> String {
    let dash = dash();
    let words = line.split(' ').map(|word| {
        if word == dash { format!("{UNDEFINED}{word}{UNDEFINED:#}") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_behind_the_digits_that_they_are_of() {
        for (wide, narrow) in [
            ("1,976 \u{b1} 44", "1,976(44)"),
            ("(4.94 \u{b1} 0.11) kHz", "4.94(11) kHz"),
            ("(41.09 \u{b1} 0.92) %", "41.09(92)%"),
            ("-0.355 \u{b1} 0.083", "-0.355(83)"),
            ("61.0 \u{b1} 7.8", "61.0(7.8)"),
            ("0 \u{b1} 0", "0(0)"),
            ("94.65", "94.65"),
            ("accidentals", "acc."),
            ("\u{2013}", "\u{2013}"),
        ] {
            assert_eq!(concise(wide.into()), narrow);
        }
    }

    #[test]
    fn a_header_is_broken_between_its_parts() {
        let at = |width| {
            TableStyle { width, ..TableStyle::PLAIN }
                .header("rule all: 12 ticks; T = 2 s; tick 1 ns")
        };
        assert_eq!(at(None), "rule all: 12 ticks; T = 2 s; tick 1 ns\n");
        assert_eq!(at(Some(38)), "rule all: 12 ticks; T = 2 s; tick 1 ns\n");
        assert_eq!(at(Some(37)), "rule all: 12 ticks; T = 2 s;\n  tick 1 ns\n");
        assert_eq!(at(Some(25)), "rule all: 12 ticks;\n  T = 2 s; tick 1 ns\n");
        assert_eq!(at(Some(19)), "rule all: 12 ticks;\n  T = 2 s;\n  tick 1 ns\n");
        assert_eq!(at(Some(15)), "rule all:\n  12 ticks;\n  T = 2 s;\n  tick 1 ns\n");
    }

    #[test]
    fn only_what_is_not_defined_is_dimmed() {
        let line = "Alice\u{2013}H  \u{2013}  3";
        assert_eq!(dimmed(line), "Alice\u{2013}H  \u{1b}[2m\u{2013}\u{1b}[0m  3");
    }

    #[test]
    fn a_table_without_room_is_drawn_concisely() {
        let table = |of: fn(String) -> String| {
            let mut table = super::super::plain(&["count"], 0);
            table.add_row([of("1,976 \u{b1} 44".into())]);
            table
        };
        let at = |width, colour| TableStyle { colour, width, ..TableStyle::PLAIN }.draw(table);
        let shown = |width| at(width, false).lines().map(str::trim).collect::<Vec<_>>().join("|");
        assert_eq!(shown(None), "count|1,976 \u{b1} 44");
        assert_eq!(shown(Some(10)), "count|1,976 \u{b1} 44");
        assert_eq!(shown(Some(9)), "count|1,976(44)");
        let exact = TableStyle { exact: true, width: Some(9), ..TableStyle::PLAIN }.draw(table);
        assert!(exact.contains(" \u{b1} "));
        assert!(at(None, true).starts_with("\u{1b}[1m"));
        assert!(!at(None, false).contains('\u{1b}'));
    }
}
