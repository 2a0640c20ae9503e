//! The time up to which data are complete.
//!
//! If all tags before 100 are known and output depends on tags up to 5 ticks later, the output before 95 is complete.
//! Tags at the frontier itself may still come.

use tagq_store::sealed::Reader;

/// The time before which all tags are known, or the end of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Frontier {
    /// All tags before this time are known.
    Before(i64),
    /// All tags are known.
    End,
}

impl Frontier {
    /// The frontier before the first tag.
    pub const START: Self = Self::Before(i64::MIN);

    /// Returns whether a time is before the frontier.
    pub fn is_after(self, time: i64) -> bool {
        match self {
            Self::Before(until) => time < until,
            Self::End => true,
        }
    }

    /// Returns how many of these sorted times are before the frontier.
    pub fn count(self, times: &[i64]) -> usize {
        match self {
            Self::Before(until) => times.partition_point(|&time| time < until),
            Self::End => times.len(),
        }
    }

    /// Returns the frontier of output that depends on tags up to `after` ticks later.
    #[must_use]
    pub fn less(self, after: i64) -> Self {
        match self {
            Self::Before(until) => Self::Before(until.saturating_sub(after)),
            Self::End => Self::End,
        }
    }

    pub(crate) fn save(self, out: &mut Vec<u8>) {
        let (is_end, until) = match self {
            Self::Before(until) => (0, until),
            Self::End => (1, 0),
        };
        out.push(is_end);
        out.extend(until.to_le_bytes());
    }

    pub(crate) fn restore(reader: &mut Reader<'_>) -> Option<Self> {
        let [is_end] = reader.array()?;
        let until = reader.i64()?;
        match is_end {
            0 => Some(Self::Before(until)),
            1 => Some(Self::End),
            _ => None,
        }
    }
}
