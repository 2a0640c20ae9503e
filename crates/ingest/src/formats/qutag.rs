//! Files of a quTAG of qutools: records of 10 bytes, a time in picoseconds and a channel, after a header of 40 bytes.
//! `e8 03 00 00 00 00 00 00 02 00` is a tag of channel 2 at 1,000 ps. Without the header, a file is read if the user
//! names the format.
//!
//! Source: qutools, manual and library of the quTAG (`FILEFORMAT_BINARY` and `FILEFORMAT_RAW`).

use std::sync::Arc;

use tagq_store::Recording;

use super::{
    format::{Format, FormatFacts, Reader},
    records::{DecodedRecords, Head, RecordFile, RecordSpan, Records},
};
use crate::{error::Error, payload::Payload};

const NAME: &str = "qutag";
const MAGIC: [u8; 4] = [0x87, 0xb3, 0x91, 0xfa];
const HEADER_BYTES: usize = 40;
const RECORD_BYTES: usize = 10;
const TICK: &str = "1ps";
/// Marker n has this channel plus n.
const MARKERS: std::ops::RangeInclusive<i16> = 100..=103;
/// Once a millisecond.
const MILLISECOND: i16 = 104;
/// The number of first records that tell records of 10 bytes from those of 5. A file is refused if more than half of
/// this number are impossible, however many there are: the few records of a file that has just begun never decide.
const JUDGED: usize = 64;

/// The format of the quTAG.
pub(crate) struct QuTag;

impl Format for QuTag {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME],
            suffixes: &[".qutag"],
            recognised: "bytes 87 b3 91 fa; without a header only by its name",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        begins(start)
    }

    fn reader(&self, payload: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        let head = head(payload)?;
        Ok(head.map(|head| Arc::new(RecordFile::new(head, TimeAndChannel)) as _))
    }
}

/// Whether a header begins like this; a growing file may have only the first of its bytes.
fn begins(start: &[u8]) -> bool {
    !start.is_empty() && MAGIC.starts_with(&start[..start.len().min(MAGIC.len())])
}

/// Reads the header; `None` if the file ends inside it.
fn head(payload: &Payload<'_>) -> Result<Option<Head>, Error> {
    let first = payload.first(HEADER_BYTES + JUDGED * RECORD_BYTES)?;
    let bytes = if begins(&first) { HEADER_BYTES } else { 0 };
    let Some(first) = first.get(bytes..) else { return Ok(None) };
    let (first, _) = first.as_chunks::<RECORD_BYTES>();
    let impossible =
        first.iter().filter(|record| matches!(kind(channel(record)), ExportKind::Unknown));
    if impossible.count() > JUDGED / 2 {
        return Err(Error::Foreign {
            path: payload.path.into(),
            kind:
                "a quTAG file with records of another length (5 bytes, compressed?), because most \
                   of its first records have impossible channels"
                    .into(),
            way: "record in the binary format, 10 bytes a record",
        });
    }
    // The rest of the header identifies the recording and may be written at its end.
    let mut lasting = vec![0; bytes];
    if let Some(magic) = lasting.get_mut(..MAGIC.len()) {
        magic.copy_from_slice(&MAGIC);
    }
    let recording = Recording {
        format: NAME.into(),
        channel_names: MARKERS
            .map(|channel| (channel.unsigned_abs(), format!("marker{}", channel - MARKERS.start())))
            .collect(),
        ..Recording::default()
    };
    Ok(Some(Head { lasting, recording, tick: TICK.parse().ok(), micro_tick: None }))
}

enum ExportKind {
    Tag(u16),
    Millisecond,
    Unknown,
}

fn kind(channel: i16) -> ExportKind {
    match channel {
        MILLISECOND => ExportKind::Millisecond,
        0..MILLISECOND => ExportKind::Tag(channel.unsigned_abs()),
        _ => ExportKind::Unknown,
    }
}

fn channel(record: &[u8; RECORD_BYTES]) -> i16 {
    i16::from_le_bytes([record[8], record[9]])
}

struct TimeAndChannel;

impl Records for TimeAndChannel {
    fn record_bytes(&self) -> usize {
        RECORD_BYTES
    }

    fn decode(&self, span: &RecordSpan<'_>, _: i128, found: &mut DecodedRecords) {
        let (records, _) = span.own().as_chunks::<RECORD_BYTES>();
        for record in records {
            let time = i64::from_le_bytes(std::array::from_fn(|at| record[at]));
            match kind(channel(record)) {
                ExportKind::Tag(label) => found.tag(time, label.into()),
                ExportKind::Millisecond => found.left_out("millisecond tick"),
                ExportKind::Unknown => found.left_out("impossible channel"),
            }
        }
    }
}
