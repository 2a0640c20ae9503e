//! Channels whose labels are names: each name gets a number, in the order in which they come.
//!
//! The names Alice, Bob, Alice are the channels 1, 2, 1. Numbers depend on all lines before, so such a text is parsed
//! by one thread; when it grows, parsing begins with the names that the source has.

use std::collections::HashMap;

use super::{
    fields::LineFault,
    line::{NumberFault, whole},
};

/// More names are no channels.
const NAMES_MAX: usize = 1_000;
/// Longer names are refused.
const NAME_CHARS_MAX: usize = 64;

/// The names of channels so far.
#[derive(Debug, Default)]
pub(super) struct ChannelNames {
    by_name: HashMap<Vec<u8>, u16>,
    /// In the order of their numbers.
    all: Vec<(u16, String)>,
}

impl ChannelNames {
    /// Begins with the names of an earlier reading.
    pub(super) fn new(before: &[(u16, String)]) -> Self {
        let by_name = before.iter().map(|(label, name)| (name.clone().into_bytes(), *label));
        Self { by_name: by_name.collect(), all: before.to_vec() }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[(u16, String)] {
        &self.all
    }

    /// The number of a channel, a new one for a new name.
    pub(super) fn label(&mut self, field: &[u8]) -> Result<u16, LineFault> {
        if let Some(&label) = self.by_name.get(field) {
            return Ok(label);
        }
        let name = name(field)?;
        if self.all.len() == NAMES_MAX {
            return Err(LineFault::ManyNames);
        }
        let label = self.all.iter().map(|(label, _)| *label).max().unwrap_or(0);
        let label = label.checked_add(1).ok_or(LineFault::ManyNames)?;
        self.by_name.insert(field.into(), label);
        self.all.push((label, name.into()));
        Ok(label)
    }
}

/// The name in a field.
pub(super) fn name(field: &[u8]) -> Result<&str, LineFault> {
    if !matches!(whole::<u64>(field), Err(NumberFault::None)) {
        return Err(LineFault::ChannelNumber);
    }
    let name = std::str::from_utf8(field).ok().filter(|name| {
        let is_short = (1..=NAME_CHARS_MAX).contains(&name.chars().count());
        is_short && name.chars().any(char::is_alphabetic) && !name.chars().any(char::is_control)
    });
    name.ok_or(LineFault::NoName)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers_in_their_order() {
        let mut names = ChannelNames::new(&[(4, "Bob".into())]);
        let labels = [&b"Alice"[..], b"Bob", b"SNSPD-3", b"Alice"].map(|name| names.label(name));
        assert_eq!(labels, [Ok(5), Ok(4), Ok(6), Ok(5)]);
        let long = "x".repeat(65);
        for (field, fault) in [
            (&b"3"[..], LineFault::ChannelNumber),
            (b"-3", LineFault::ChannelNumber),
            (b"1.5", LineFault::ChannelNumber),
            (b"", LineFault::NoName),
            (b"\xff", LineFault::NoName),
            (b"3 1", LineFault::NoName),
            (b"a\x1bb", LineFault::NoName),
            (long.as_bytes(), LineFault::NoName),
        ] {
            assert_eq!(names.label(field), Err(fault), "{field:?}");
        }
        for number in names.all().len()..NAMES_MAX {
            names.label(format!("d{number}x").as_bytes()).unwrap();
        }
        assert_eq!(names.label(b"one more"), Err(LineFault::ManyNames));
    }
}
