//! The text of the screen: the answers or one big number, and below them the last minutes and the state.

use std::time::{Duration, Instant};

use tagq::Answer;
use tagq_export::report::table::quantities::hertz;

use super::{
    big,
    change::InEffect,
    recent::Recent,
    rows::{WatchedRow, marked},
    state::{AskedValue, Prompt, State},
};

/// The answers and choices that a screen is drawn from.
pub(super) struct Drawn<'a> {
    pub answers: &'a [Answer],
    pub rows: &'a [WatchedRow],
    pub recent: &'a Recent,
    pub state: &'a State,
    pub now: Instant,
    /// Columns of the terminal.
    pub width: usize,
}

impl Drawn<'_> {
    /// Returns the row that is chosen.
    pub(super) fn chosen(&self) -> Option<&WatchedRow> {
        self.rows.get(self.state.row)
    }

    /// Returns the answers as the table shows them.
    pub(super) fn marked(&self) -> Vec<Answer> {
        let of = |(at, answer): (usize, &Answer)| {
            let rows: Vec<&WatchedRow> = self.rows.iter().filter(|row| row.answer == at).collect();
            if rows.iter().all(|row| row.at.is_none()) {
                return answer.clone();
            }
            let chosen = self.chosen().filter(|row| row.answer == at && self.rows.len() > 1);
            marked(answer, &rows, chosen.and_then(|row| row.at), self.state.peaks.as_ref())
        };
        self.answers.iter().enumerate().map(of).collect()
    }

    /// Returns the lines below the answers about the last minutes of the chosen row.
    pub(super) fn recent(&self) -> Vec<String> {
        let Some(row) = self.chosen() else { return Vec::new() };
        let Some([words, line]) = self.recent.lines(&row.key, self.now, self.width) else {
            return Vec::new();
        };
        vec![line, format!("{}: {words}", row.name)]
    }

    /// Returns the chosen row as one big number in this many lines.
    pub(super) fn big(&self, lines: usize) -> String {
        let Some(row) = self.chosen() else {
            return "no row has a rate; Esc shows the answers".into();
        };
        let (number, err, unit) = parts(&row.text);
        let err = err.map_or(String::new(), |err| format!("\u{b1} {err} "));
        let peak =
            self.peak(row).map_or(String::new(), |peak| format!("; highest {}", hertz(peak)));
        let options = &self.answers[row.answer].provenance;
        let time = match (&options.beside_last, options.options.get("from")) {
            (Some(last), _) if row.is_last => format!(", last {}", last.asked()),
            (_, Some(from)) => format!(", from {} on", from.as_str().unwrap_or_default()),
            _ => String::new(),
        };
        let name = format!("{}{time}{peak}", row.name);
        let drawn = big::digits(number, self.width, lines.saturating_sub(2));
        let drawn = drawn.unwrap_or_else(|| vec![number.to_owned()]);
        format!("{name}\n{}\n{err}{unit}", drawn.join("\n"))
    }

    fn peak(&self, row: &WatchedRow) -> Option<f64> {
        self.state.peaks.as_ref()?.get(&row.key).copied()
    }
}

/// Returns the number, the error and the unit of `(4.94 ± 0.11) kHz` or `4.94 kHz`.
fn parts(text: &str) -> (&str, Option<&str>, &str) {
    let inside = text.strip_prefix('(').and_then(|text| text.split_once(") "));
    if let Some((inside, unit)) = inside
        && let Some((number, err)) = inside.split_once(" \u{b1} ")
    {
        return (number, Some(err), unit);
    }
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    (number, None, unit)
}

/// Returns the line of a value that is typed, below the query as it is.
pub(super) fn prompt_line(prompt: &Prompt, now: &InEffect<'_>) -> String {
    let of = |value: String| if value.is_empty() { "none".to_owned() } else { value };
    let words = match &prompt.asked {
        AskedValue::Width => match now.width_shown() {
            Ok((name, value)) => format!("{name}: {}; + - change it, or type another", of(value)),
            Err(error) => return error,
        },
        AskedValue::Delay { channel, step } => {
            let delay = now.tick.format_paste(now.delay_ticks(*channel));
            let name = now.setup.name_of(*channel);
            format!(
                "delay of channel {name}: {delay}; + - change it by {step} (left, right); up, down: channel; or type CH=D"
            )
        }
        AskedValue::Groups => format!("groups: {}; type others", of(now.groups_shown())),
        AskedValue::Last => format!("last interval: {}; type another", of(now.shown("last"))),
    };
    // The sign after the typed text is the cursor.
    format!("{words} > {}_", prompt.text)
}

/// Returns the words of a pause.
pub(super) fn paused(age: Duration) -> String {
    format!("PAUSED: the numbers are {} s old; p goes on", age.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_a_number_an_error_and_a_unit() {
        assert_eq!(parts("(4.94 \u{b1} 0.11) kHz"), ("4.94", Some("0.11"), "kHz"));
        assert_eq!(parts("94.65 Hz"), ("94.65", None, "Hz"));
        assert_eq!(parts("\u{2013}"), ("\u{2013}", None, ""));
    }
}
