//! Words of a command as a shell takes them, for messages from which users copy commands.
//!
//! The run `3` is written `./3`, because `3` could be a channel, and `my run` is written `'my run'` for shells of Unix.

use std::{borrow::Cow, path::Path};

use crate::os::shell::{SHELL, Shell};

/// Returns the path of a run as an argument that is not taken for an option or for channels.
pub fn run_word(run: &str) -> String {
    let is_plain = run.contains(['/', '.', std::path::MAIN_SEPARATOR]) && !run.starts_with('-');
    let is_number = run.starts_with(|letter: char| letter.is_ascii_digit());
    let is_name = !run.starts_with('-') && !run.contains([',', '=']) && !is_number;
    if is_plain || is_name { run.to_owned() } else { format!("./{run}") }
}

/// Returns the path of a run as a word of a command to paste.
pub fn pasted(run: &Path) -> String {
    quoted(&run_word(&run.display().to_string())).into_owned()
}

/// Quotes a word for the shells of this system if it needs that.
pub fn quoted(word: &str) -> Cow<'_, str> {
    match SHELL {
        Shell::Posix => quoted_for_posix(word),
        Shell::PowerShell => quoted_for_powershell(word),
    }
}

fn quoted_for_posix(word: &str) -> Cow<'_, str> {
    if is_plain(word, "_@%+=:,./-") {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

/// Quotes a word for PowerShell: in double quotes, which the shell `cmd` also knows, or in single quotes if PowerShell
/// would take a part of the word for code. PowerShell before 7.3 splits words that contain a double quote.
fn quoted_for_powershell(word: &str) -> Cow<'_, str> {
    // A comma ends an argument.
    if is_plain(word, "_=:./\\-") {
        return word.into();
    }
    let (inside, slashes) = word.split_at(word.trim_end_matches('\\').len());
    // A program reads one backslash and the closing quote as a quote inside the word.
    let slashes = slashes.repeat(2);
    if word.contains(['$', '`', '"', '“', '”', '„']) {
        // All of these are a single quote there.
        let single = ['\'', '‘', '’', '‚', '‛'];
        let doubled = |mark: char| if single.contains(&mark) { vec![mark; 2] } else { vec![mark] };
        let inside: String = inside.chars().flat_map(doubled).collect();
        return format!("'{inside}{slashes}'").into();
    }
    format!("\"{inside}{slashes}\"").into()
}

fn is_plain(word: &str, marks: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || marks.contains(letter);
    !word.is_empty() && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_each_shell() {
        let cases = [
            ("run/1.ptu", "run/1.ptu", "run/1.ptu"),
            ("", "''", "\"\""),
            ("1,2", "1,2", "\"1,2\""),
            (r"C:\a", r"'C:\a'", r"C:\a"),
            (r"C:\my run\", r"'C:\my run\'", r#""C:\my run\\""#),
            ("it's", r"'it'\''s'", r#""it's""#),
            ("$(calc)'s", r"'$(calc)'\''s'", "'$(calc)''s'"),
            ("a`b’", "'a`b’'", "'a`b’’'"),
            ("“x” $y\\", "'“x” $y\\'", "'“x” $y\\\\'"),
            ("ü", "'ü'", "\"ü\""),
        ];
        for (word, posix, powershell) in cases {
            assert_eq!(quoted_for_posix(word), posix);
            assert_eq!(quoted_for_powershell(word), powershell);
        }
    }
}
