//! Writes tags as a PTU file of mode T2, with the records of a HydraHarp V2.

use std::io;

use tagq_store::{Tag, Tick};

use super::{
    labels::{INPUTS_MAX, MARKER_OFFSET, MARKERS, SYNC},
    tags::{FLOAT, INT, MAGIC, TEXT},
};

/// Bits of the counter.
const COUNTER_BITS: u32 = 25;
const OVERFLOWS_MAX: i64 = (1 << COUNTER_BITS) - 1;
const SPECIAL: u32 = 1 << 31;
const OVERFLOW: u32 = SPECIAL | 63 << COUNTER_BITS;
const RECORD_TYPE: i64 = 0x0101_0204;

/// Returns the header of a file with times in this tick. The number of records is not known before, and 0.
pub(crate) fn header(tick: Tick) -> Vec<u8> {
    let mut bytes = [MAGIC, b"1.0.00\0\0"].concat();
    let mut add = |name: &str, kind: u32, value: [u8; 8], long: &[u8]| {
        let mut field = [0; 32];
        field[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend_from_slice(&field);
        bytes.extend_from_slice(&(-1_i32).to_le_bytes());
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&value);
        bytes.extend_from_slice(long);
    };
    let int = i64::to_le_bytes;
    let seconds = tick.seconds().to_le_bytes();
    add("CreatorSW_Name", TEXT, int(8), b"tagq\0\0\0\0");
    add("Measurement_Mode", INT, int(2), b"");
    add("Measurement_SubMode", INT, int(0), b"");
    add("TTResultFormat_TTTRRecType", INT, int(RECORD_TYPE), b"");
    add("TTResultFormat_BitsPerRecord", INT, int(32), b"");
    add("HW_InpChannels", INT, int(INPUTS_MAX.into()), b"");
    add("MeasDesc_GlobalResolution", FLOAT, seconds, b"");
    add("MeasDesc_Resolution", FLOAT, seconds, b"");
    add("TTResult_SyncRate", INT, int(0), b"");
    add("TTResult_NumberOfRecords", INT, int(0), b"");
    add("Header_End", 0xffff_0008, int(0), b"");
    bytes
}

/// Returns the records of tags that follow a tag of time `before`, or none.
///
/// # Errors
/// A tag that has no record: a negative time, one far before its predecessor, or a channel other than the sync
/// input 0, the inputs 1 to 64 and the markers 101 to 104.
pub(crate) fn records(tags: &[Tag], before: Option<i64>) -> io::Result<Vec<u8>> {
    let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let mut overflows = before.unwrap_or(0) >> COUNTER_BITS;
    let mut bytes = Vec::with_capacity(tags.len() * 5);
    for &Tag { time, channel } in tags {
        let missing = (time >> COUNTER_BITS) - overflows;
        if time < 0 || missing < 0 {
            return refused(format!(
                "a PTU file holds no time that is negative or before an overflow of the tag before it ({time} \
                 ticks); ingest the tags first and convert the run"
            ));
        }
        let mut left = missing;
        while left > 0 {
            let count = left.min(OVERFLOWS_MAX);
            bytes.extend_from_slice(&(OVERFLOW | low_bits(count)).to_le_bytes());
            left -= count;
        }
        overflows += missing;
        let Some(code) = code(channel) else {
            return refused(format!(
                "a PTU file has no place for channel {channel}: 0 is the sync input, 1 to 64 are inputs, 101 to \
                 104 are markers"
            ));
        };
        bytes.extend_from_slice(&(code | low_bits(time)).to_le_bytes());
    }
    Ok(bytes)
}

/// Returns the bits of a record that say its channel.
fn code(channel: u64) -> Option<u32> {
    let label = u16::try_from(channel).ok()?;
    let marker = channel.checked_sub(MARKER_OFFSET + 1).and_then(|bit| u32::try_from(bit).ok());
    match label {
        _ if channel == SYNC => Some(SPECIAL),
        1..=INPUTS_MAX => Some((u32::from(label) - 1) << COUNTER_BITS),
        _ => {
            let bit = marker.filter(|&bit| bit < MARKERS.into())?;
            Some(SPECIAL | (1 << bit) << COUNTER_BITS)
        }
    }
}

fn low_bits(value: i64) -> u32 {
    #[expect(clippy::cast_sign_loss, reason = "25 bits")]
    let bits = (value & OVERFLOWS_MAX) as u32;
    bits
}
