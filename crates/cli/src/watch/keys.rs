//! The keys of a terminal, from the bytes that they send.
//!
//! `ESC [ A` is the key up; `ESC [ 6 ~`, page down, has no meaning and is skipped as a whole, so that its last bytes
//! are not taken for typed characters. An escape alone is the key escape.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Next,
    Before,
    Up,
    Down,
    Left,
    Right,
}

/// Returns the keys that send these bytes; those without a meaning here are left out.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let (mut keys, mut rest) = (Vec::new(), &*text);
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        keys.extend(match first {
            '\r' | '\n' => Some(Key::Enter),
            '\t' => Some(Key::Next),
            '\u{8}' | '\u{7f}' => Some(Key::Backspace),
            '\u{1b}' => match rest.strip_prefix(['[', 'O']) {
                // A sequence ends with its first letter or tilde.
                Some(of) => {
                    let end = of.find(|c: char| c.is_ascii_alphabetic() || c == '~');
                    let sequence = end.map_or(of, |end| &of[..=end]);
                    rest = &of[sequence.len()..];
                    named(sequence)
                }
                None => Some(Key::Escape),
            },
            control if control.is_control() => None,
            other => Some(Key::Char(other)),
        });
    }
    keys
}

/// Returns the key that sends this after escape and a bracket.
fn named(sequence: &str) -> Option<Key> {
    match sequence {
        "A" => Some(Key::Up),
        "B" => Some(Key::Down),
        "C" => Some(Key::Right),
        "D" => Some(Key::Left),
        "Z" => Some(Key::Before),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_sequences_are_keys() {
        let text: Vec<Key> = "3\u{b5}s".chars().map(Key::Char).collect();
        assert_eq!(keys("3\u{b5}s".as_bytes()), text);
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[C\x1b[D"), [Key::Up, Key::Down, Key::Right, Key::Left]);
        assert_eq!(keys(b"\t\x1b[Z\x7f\r"), [Key::Next, Key::Before, Key::Backspace, Key::Enter]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        // Page down and the fifth function key have no meaning; what follows has.
        assert_eq!(keys(b"\x1b[6~q\x1b[15~\x01"), [Key::Char('q')]);
        assert_eq!(keys(b"\x1b["), []);
    }
}
