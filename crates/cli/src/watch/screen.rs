//! Output of repeated answers: on a terminal each replaces the one before, elsewhere each is appended.

use std::io::{self, IsTerminal as _, Write as _};

use console::Term;
use tagq_export::report::Format;

/// The output of answers.
pub(super) enum Screen {
    /// A terminal, and the number of lines drawn there.
    Terminal { term: Term, drawn: usize },
    /// Tables, one after the other.
    Tables,
    /// One JSON object per line.
    Lines,
}

impl Screen {
    pub(super) fn new(format: Option<Format>) -> Self {
        match (format, io::stdout().is_terminal()) {
            (None | Some(Format::Table), true) => {
                Self::Terminal { term: Term::buffered_stdout(), drawn: 0 }
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

    /// Shows `text`. On a terminal it replaces the text before, and is cut to the size of the terminal.
    pub(super) fn show(&mut self, text: &str) -> io::Result<()> {
        let Self::Terminal { term, drawn } = self else {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            return out.flush();
        };
        let (height, width) = term.size();
        let lines = cut(text, height.into(), width.into());
        if *drawn > 0 {
            term.move_cursor_up(*drawn)?;
        }
        for line in &lines {
            term.clear_line()?;
            term.write_line(line)?;
        }
        term.clear_to_end_of_screen()?;
        term.flush()?;
        *drawn = lines.len();
        Ok(())
    }

    /// Clears the terminal for a note. The next answer draws the text again.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        if let Self::Terminal { term, drawn } = self {
            term.clear_last_lines(*drawn)?;
            term.flush()?;
            *drawn = 0;
        }
        Ok(())
    }
}

/// Returns the lines of `text` that fit on a terminal of this size. Lines are cut, because a line that the
/// terminal wraps would count as two. The last line of the text stays.
fn cut(text: &str, height: usize, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| console::truncate_str(line, width, "\u{2026}").into_owned())
        .collect();
    // One line is left for the cursor.
    let room = height.saturating_sub(1).max(2);
    if lines.len() > room {
        let left_out = lines.len() - room + 1;
        let last = lines.split_off(lines.len() - 1);
        lines.truncate(room - 2);
        lines.push(format!("\u{2026} {left_out} more lines; --format json gives all"));
        lines.extend(last);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_cut_and_said() {
        assert_eq!(cut("a\nb\nc", 24, 80), ["a", "b", "c"]);
        assert_eq!(cut("a\nb\nc", 4, 80), ["a", "b", "c"]);
        let long = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let shown = cut(long, 6, 80);
        assert_eq!(shown.len(), 5);
        assert_eq!((&*shown[0], &*shown[2], &*shown[4]), ("0", "2", "9"));
        assert!(shown[3].contains(" 6 more lines"), "{shown:?}");
        let wide = cut("\u{b1}bcdefgh", 24, 4);
        assert_eq!(wide, ["\u{b1}bc\u{2026}"]);
    }
}
