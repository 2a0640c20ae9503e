//! Text broken into lines between words: notes and errors on a terminal, and descriptions in a help.
//!
//! A note about `--delay 15=-4.0625ns` is broken before or after this value, never inside it, so that it can be pasted.
//! Elsewhere than on a terminal texts are one line.

use std::io::{IsTerminal as _, stderr};

use console::Term;
use textwrap::{Options, WordSplitter};

/// Returns a text that follows `before` characters on its first line: on a terminal with line breaks between words, so that
/// no word is divided, elsewhere as it is.
pub(crate) fn for_stderr(text: &str, before: usize) -> String {
    if !stderr().is_terminal() {
        return text.to_owned();
    }
    broken(text, before, Term::stderr().size().1.into())
}

/// Returns a text that follows `before` characters on its first line, in lines of at most `width` characters; a longer word
/// has a line of its own.
pub(crate) fn broken(text: &str, before: usize, width: usize) -> String {
    let indent = " ".repeat(before);
    let options = Options::new(width)
        .initial_indent(&indent)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options).split_off(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_divided() {
        assert_eq!(
            broken("try --delay 15=-4.0625ns, or find it", 6, 20),
            "try --delay\n15=-4.0625ns, or\nfind it"
        );
        assert_eq!(broken("short", 6, 80), "short");
        assert_eq!(broken("one two three", 0, 8), "one two\nthree");
        assert_eq!(
            broken("a much_longer_word_than_the_line b", 0, 10),
            "a\nmuch_longer_word_than_the_line\nb"
        );
    }
}
