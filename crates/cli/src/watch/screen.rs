//! Output of repeated answers: on a terminal each replaces the one before, elsewhere each is appended.
//!
//! A line wider than the terminal is cut, because the terminal would wrap it and the next answer would begin one line
//! too high. If the text is too high, its end is left out and the lines below it stay.

use std::io::{self, IsTerminal as _, Write as _};

use console::Term;
use tagq_export::report::Format;

/// The output of answers.
pub(super) enum Screen {
    /// A terminal, and the number of lines drawn there when it had this size.
    Terminal { term: Term, drawn: usize, size: (u16, u16) },
    /// Tables, one after the other.
    Tables,
    /// One JSON object per line.
    Lines,
}

impl Screen {
    pub(super) fn new(format: Option<Format>) -> Self {
        match (format, io::stdout().is_terminal()) {
            (None | Some(Format::Table), true) => {
                Self::Terminal { term: Term::buffered_stdout(), drawn: 0, size: (0, 0) }
            }
            (Some(Format::Table), false) => Self::Tables,
            _ => Self::Lines,
        }
    }

    pub(super) fn is_lines(&self) -> bool {
        matches!(self, Self::Lines)
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }

    /// Returns the lines and columns of the terminal.
    pub(super) fn size(&self) -> (u16, u16) {
        if let Self::Terminal { term, .. } = self { term.size() } else { (0, 0) }
    }

    /// Appends a text to a file.
    pub(super) fn append(text: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text)?;
        out.flush()
    }

    /// Shows a text and the lines below it. On a terminal they replace those before, and are cut to the size of the
    /// terminal.
    pub(super) fn show(&mut self, body: &str, foot: &[String]) -> io::Result<()> {
        let Self::Terminal { term, drawn, size } = self else {
            return Self::append(format!("{body}\n{}\n", foot.join("\n")).as_bytes());
        };
        let now = term.size();
        let lines = cut(body, foot, now.0.into(), now.1.into());
        if *drawn > 0 && now != *size {
            // The terminal may have wrapped the lines that are there.
            term.clear_screen()?;
        } else if *drawn > 0 {
            term.move_cursor_up(*drawn)?;
        }
        *size = now;
        for line in &lines {
            term.clear_line()?;
            term.write_line(line)?;
        }
        term.clear_to_end_of_screen()?;
        term.flush()?;
        *drawn = lines.len();
        Ok(())
    }

    /// Keeps the drawn lines on the terminal; the next drawing begins below them.
    pub(super) fn forget(&mut self) {
        if let Self::Terminal { drawn, .. } = self {
            *drawn = 0;
        }
    }

    /// Clears the terminal for a note. The next answer draws the text again.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        if let Self::Terminal { term, drawn, .. } = self {
            term.clear_last_lines(*drawn)?;
            term.flush()?;
            *drawn = 0;
        }
        Ok(())
    }
}

/// Returns the lines of a text, and of the lines below it, that fit on a terminal of this size. Lines are cut, because
/// a line that the terminal wraps would count as two. The lines below the text stay.
fn cut(body: &str, foot: &[String], height: usize, width: usize) -> Vec<String> {
    let fitting = |line: &str| console::truncate_str(line, width, "\u{2026}").into_owned();
    let mut lines: Vec<String> = body.lines().map(fitting).collect();
    // One line is left for the cursor. Of many lines below a text, the last ones stay.
    let room = height.saturating_sub(1).max(2);
    let foot = &foot[foot.len().saturating_sub(room - 1)..];
    let room = room - foot.len();
    if lines.len() > room {
        let left_out = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(fitting(&format!("\u{2026} {left_out} more lines; --format json gives all")));
    }
    lines.extend(foot.iter().map(|line| fitting(line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_cut_and_said() {
        let cut = |text: &str, height, width| {
            let (body, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text));
            cut(body, &[last.to_owned()], height, width)
        };
        assert_eq!(cut("a\nb\nc", 24, 80), ["a", "b", "c"]);
        assert_eq!(cut("a\nb\nc", 4, 80), ["a", "b", "c"]);
        let long = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let shown = cut(long, 6, 80);
        assert_eq!(shown.len(), 5);
        assert_eq!((&*shown[0], &*shown[2], &*shown[4]), ("0", "2", "9"));
        assert!(shown[3].contains(" 6 more lines"), "{shown:?}");
        assert_eq!(cut(long, 6, 9)[3], "\u{2026} 6 more\u{2026}");
        let wide = cut("\u{b1}bcdefgh", 24, 4);
        assert_eq!(wide, ["\u{b1}bc\u{2026}"]);
    }
}
