//! Tags of Swabian's Time Tagger as its library hands them out, and as its measurement `Dump` writes them: 16 bytes
//! each, without a header. `00 00 00 00 fd ff ff ff e8 03 00 00 00 00 00 00` is a falling edge of input 3, with the
//! label 1,003, at 1,000 ps. A file is read if the user names the format.
//!
//! Source: Swabian Instruments, documentation of the Time Tagger, "Time tag format".

use std::{io, sync::Arc};

use tagq_store::{Recording, Tag, Tick};

use super::{
    format::{Format, FormatFacts, Reader},
    records::{DecodedRecords, Head, RecordFile, RecordSpan, Records},
};
use crate::{error::Error, payload::Payload};

pub(crate) const NAME: &str = "swabian";
const TICK: &str = "1ps";
const RECORD_BYTES: usize = 16;
/// The falling edge of input n is channel -n, and has this label plus n.
const FALLING_OFFSET: u64 = 1_000;
/// Inputs of the largest instrument.
const INPUTS: u16 = 20;
/// Types of records.
const TAG: u8 = 0;
const ERROR: u8 = 1;
const OVERFLOW_BEGIN: u8 = 2;
const OVERFLOW_END: u8 = 3;
const MISSED_EVENTS: u8 = 4;

/// The format of the Time Tagger's tags.
pub(crate) struct Swabian;

impl Format for Swabian {
    fn facts(&self) -> FormatFacts {
        FormatFacts { names: &[NAME], suffixes: &[], recognised: "its name alone" }
    }

    fn is_start(&self, _: &[u8]) -> bool {
        false
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        let names = (1..=INPUTS).map(|input| (1_000 + input, format!("falling{input}")));
        let recording = Recording {
            format: NAME.into(),
            channel_names: names.collect(),
            ..Recording::default()
        };
        let tick = TICK.parse().ok();
        let head = Head { lasting: Vec::new(), recording, tick, micro_tick: None };
        Ok(Some(Arc::new(RecordFile::new(head, TimeTags))))
    }
}

/// The end of the names of files that are written.
pub(crate) const SUFFIX: &str = ".swabian";

/// How many picoseconds a tick has; `None` if that is no whole number.
pub(crate) fn picoseconds(tick: Tick) -> Option<i64> {
    let tick = tick.in_ticks(TICK.parse().ok()?).filter(num_rational::Ratio::is_integer)?;
    i64::try_from(tick.to_integer()).ok()
}

/// An edge of a time during which nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Begins(i64),
    Ends(i64),
}

impl Edge {
    /// Whether it stands before a tag of this time.
    pub(crate) fn is_before(self, time: i64) -> bool {
        match self {
            Self::Begins(at) => at < time,
            Self::Ends(at) => at <= time,
        }
    }
}

/// Returns the records of tags with times in units of so many picoseconds. Each of the `edges` stands before the tag
/// of this number.
///
/// # Errors
/// A time or a channel that has no place in a record.
pub(crate) fn records(
    tags: &[Tag],
    edges: &[(usize, Edge)],
    picoseconds: i64,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity((tags.len() + edges.len()) * RECORD_BYTES);
    let mut add = |kind, input: i32, time: i64| -> io::Result<()> {
        let picoseconds = time.checked_mul(picoseconds).ok_or_else(|| {
            refused(format!(
                "a time of {time} ticks leaves the 64 bits of a record, in picoseconds"
            ))
        })?;
        bytes.extend_from_slice(&[kind, 0, 0, 0]);
        bytes.extend_from_slice(&input.to_le_bytes());
        bytes.extend_from_slice(&picoseconds.to_le_bytes());
        Ok(())
    };
    let mut edges = edges.iter().peekable();
    for number in 0..=tags.len() {
        while let Some((_, edge)) = edges.next_if(|(before, _)| *before == number) {
            match *edge {
                Edge::Begins(at) => add(OVERFLOW_BEGIN, 0, at)?,
                Edge::Ends(at) => add(OVERFLOW_END, 0, at)?,
            }
        }
        if let Some(&Tag { time, channel }) = tags.get(number) {
            add(TAG, input_of(channel)?, time)?;
        }
    }
    Ok(bytes)
}

/// Returns the input with the sign of its edge that has this label.
fn input_of(channel: u64) -> io::Result<i32> {
    let input = i32::try_from(channel).map_err(|_| {
        refused(format!("channel {channel} does not fit in the 32 bits of a record"))
    })?;
    let falling = i64::from(input) - FALLING_OFFSET.cast_signed();
    Ok(if falling > 0 { i32::try_from(-falling).unwrap_or(input) } else { input })
}

fn refused(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

struct TimeTags;

impl Records for TimeTags {
    fn record_bytes(&self) -> usize {
        RECORD_BYTES
    }

    fn decode(&self, span: &RecordSpan<'_>, _: i128, found: &mut DecodedRecords) {
        let (records, _) = span.own().as_chunks::<RECORD_BYTES>();
        for record in records {
            let channel = i32::from_le_bytes(std::array::from_fn(|at| record[4 + at]));
            let time = i64::from_le_bytes(std::array::from_fn(|at| record[8 + at]));
            match record[0] {
                TAG => {
                    let edge = if channel < 0 { FALLING_OFFSET } else { 0 };
                    found.tag(time, edge + u64::from(channel.unsigned_abs()));
                }
                ERROR => found.left_out("error"),
                OVERFLOW_BEGIN => found.dead_begins(time),
                OVERFLOW_END => found.dead_ends(time),
                MISSED_EVENTS => {
                    let missed = u16::from_le_bytes([record[2], record[3]]);
                    found.left_out_many("missed event", missed.into());
                    found.lost_before(time);
                }
                _ => found.left_out("reserved record"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tags at both ends of a time without a recording were recorded: they stand outside of its edges.
    #[test]
    fn a_tag_at_an_edge_stands_outside() {
        assert!(!Edge::Begins(5).is_before(5) && Edge::Begins(5).is_before(6));
        assert!(Edge::Ends(5).is_before(5) && !Edge::Ends(5).is_before(4));
    }
}
