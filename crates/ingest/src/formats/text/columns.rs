//! The order of the two numbers of a line: channel and time, or time and channel.

use std::{fmt, str::FromStr};

use super::fields::{comment, two_fields};

/// The order of the two columns of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextColumns {
    /// `channel TAB time`: what the recorder's own text has.
    #[default]
    ChannelTime,
    /// `time TAB channel`.
    TimeChannel,
}

impl TextColumns {
    /// The order that a header names: the words `channel` and `time`, in any case, and nothing else.
    /// A comment of just these words is a header too: some programs write theirs that way.
    pub(super) fn of_header(line: &[u8]) -> Option<Self> {
        let words = comment(line).unwrap_or_else(|| line.trim_ascii());
        // No word is longer, and most lines are no header.
        if !words.first()?.is_ascii_alphabetic() {
            return None;
        }
        let (first, second) = two_fields(words).ok()?;
        let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        if is(first, "channel") && is(second, "time") {
            Some(Self::ChannelTime)
        } else if is(first, "time") && is(second, "channel") {
            Some(Self::TimeChannel)
        } else {
            None
        }
    }
}

impl fmt::Display for TextColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChannelTime => "channel,time",
            Self::TimeChannel => "time,channel",
        })
    }
}

impl FromStr for TextColumns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of_header(text.as_bytes()).filter(|_| comment(text.as_bytes()).is_none()).ok_or_else(
            || format!("`{text}` names no columns; they are channel,time or time,channel"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_two_words_and_nothing_else() {
        for (line, columns) in [
            ("channel\ttime", Some(TextColumns::ChannelTime)),
            (" Time , CHANNEL ", Some(TextColumns::TimeChannel)),
            ("# time channel", Some(TextColumns::TimeChannel)),
            ("% channel time", Some(TextColumns::ChannelTime)),
            ("// time | channel", Some(TextColumns::TimeChannel)),
            ("#channel;time", Some(TextColumns::ChannelTime)),
            ("  #\ttime\tchannel", Some(TextColumns::TimeChannel)),
            ("channel\tchannel", None),
            ("channel", None),
            ("channel\ttime\trate", None),
            ("channel,time,", None),
            ("# the time of a channel", None),
            ("time_ps,channel", None),
            ("1,2", None),
            ("", None),
            ("#", None),
        ] {
            assert_eq!(TextColumns::of_header(line.as_bytes()), columns, "{line}");
        }
        for columns in [TextColumns::ChannelTime, TextColumns::TimeChannel] {
            assert_eq!(columns.to_string().parse(), Ok(columns));
        }
        assert!("time".parse::<TextColumns>().unwrap_err().contains("channel,time"));
        assert!("# time,channel".parse::<TextColumns>().is_err());
    }
}
