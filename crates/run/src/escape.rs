//! Escaping of external text before display: names of files, runs and channels, notes of recorders, and messages that
//! contain them.
//!
//! A file whose name has an escape character before `[2J.csv` would clear the screen of a terminal; it is shown as
//! `\u{1b}[2J.csv`.

use std::borrow::Cow;

/// Whether a character can be displayed unchanged. Control characters move the cursor or end lines,
/// bidirectional ones change the order of the text that follows, two are not seen, and XML cannot hold the last two.
pub fn is_shown(letter: char) -> bool {
    !letter.is_control()
        && !matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
        && !matches!(letter, '\u{200b}' | '\u{feff}')
        && !matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// Replaces characters that cannot be displayed unchanged with `\n`, `\u{202e}` and the like: a line
/// stays one line, and no part of it is a terminal command.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_shown(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_the_text_is_escaped() {
        let bad = "\u{1b}[31m\n\r\t\u{7}\u{7f}\u{9b}1m\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{ffff}\u{200b}\u{feff}";
        let shown = "\\u{1b}[31m\\n\\r\\t\\u{7}\\u{7f}\\u{9b}1m\\u{202e}\\u{2066}\\u{200f}\\u{61c}\\u{2028}\\u{ffff}\\u{200b}\\u{feff}";
        assert_eq!(escaped(bad), shown);
        assert_eq!(escaped(shown), shown);
        for good in [
            "Alice-H",
            "µs ± 1 \u{2013} \u{394}t",
            "שלום",
            "日本 <b>&",
            "e\u{301}",
            "👩\u{200d}🔬",
            "",
        ] {
            assert!(matches!(escaped(good), Cow::Borrowed(same) if same == good), "{good}");
        }
    }
}
