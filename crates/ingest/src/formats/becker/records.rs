//! The records of Becker & Hickl's modules: a photon with its macro and micro time, markers, or overflows of the
//! macro time.
//!
//! Source: Becker & Hickl, TCSPC Handbook, chapter on FIFO files.

use crate::formats::records::{Found, Records};

/// Room for the counter itself above the sum of its overflows.
const SUM_MAX: i64 = i64::MAX - (1 << 34);
/// Marker k has this label plus k.
const MARKER_OFFSET: u64 = 100;
const MARKERS: u32 = 4;
const MICRO_MAX: u32 = 4_095;
const INVALID: &str = "invalid photon";
const RESERVED: &str = "reserved record";

/// How the bits of a record are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// 4 bytes: 12 bits of macro time, 4 of routing, 12 of the converter, 4 flags.
    Four,
    /// 6 bytes: 12 bits of the converter, flags, 24 bits of macro time, 8 of routing.
    Six,
}

/// The records of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FifoRecords {
    pub layout: Layout,
    /// Whether the unit of the micro times is known: without it they are left out.
    pub has_micro: bool,
}

/// One record, decoded.
struct Event {
    /// Overflows of the macro time before the record.
    overflows: u32,
    /// The macro time; `None` if the record only counts overflows.
    counter: Option<u32>,
    routing: u32,
    micro: u32,
    is_invalid: bool,
    is_marker: bool,
    /// Photons were lost before the record.
    is_gap: bool,
}

impl Layout {
    /// Bytes of a record, and of the header.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Six => 6,
        }
    }

    /// Macro time that one overflow adds.
    fn wrap(self) -> i64 {
        match self {
            Self::Four => 1 << 12,
            Self::Six => 1 << 24,
        }
    }

    fn event(self, record: &[u8]) -> Event {
        let byte = |at: usize| record.get(at).copied().map_or(0, u32::from);
        match self {
            Self::Four => {
                let word = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
                let flag = |bit: u32| word >> bit & 1 == 1;
                let (is_invalid, is_overflow, is_marker) = (flag(31), flag(30), flag(28));
                let is_many = is_invalid && is_overflow && !is_marker;
                Event {
                    overflows: if is_many { word & 0xfff_ffff } else { u32::from(is_overflow) },
                    counter: (!is_many).then_some(word & 0xfff),
                    routing: word >> 12 & 15,
                    micro: MICRO_MAX - (word >> 16 & 0xfff),
                    is_invalid,
                    is_marker,
                    is_gap: flag(29),
                }
            }
            Self::Six => {
                let first = byte(0) | byte(1) << 8;
                let flag = |bit: u32| first >> bit & 1 == 1;
                Event {
                    overflows: u32::from(flag(13)),
                    counter: Some(byte(4) | byte(5) << 8 | byte(2) << 16),
                    routing: byte(3),
                    micro: MICRO_MAX - (first & 0xfff),
                    is_invalid: flag(12),
                    is_marker: false,
                    is_gap: flag(14),
                }
            }
        }
    }
}

impl FifoRecords {
    fn decode_all(self, records: &[u8], overflow: i128, found: &mut Found) -> Option<()> {
        let mut sum = i64::try_from(overflow).ok().filter(|&sum| sum <= SUM_MAX)?;
        for record in records.chunks_exact(self.layout.bytes()) {
            let event = self.layout.event(record);
            // 2^24 · 2^28 at most.
            sum = sum.checked_add(self.layout.wrap() * i64::from(event.overflows))?;
            if sum > SUM_MAX {
                return None;
            }
            let time = sum + event.counter.map_or(0, i64::from);
            if event.is_gap {
                found.lost_before(time);
            }
            let Event { routing, micro, is_invalid, is_marker, .. } = event;
            match event.counter {
                None => {}
                Some(_) if is_marker && routing == 0 => found.left_out(RESERVED),
                Some(_) if is_marker => {
                    let set = (0..MARKERS).filter(|bit| routing >> bit & 1 == 1);
                    set.for_each(|bit| found.tag(time, MARKER_OFFSET + 1 + u64::from(bit)));
                }
                Some(_) if is_invalid => found.left_out(INVALID),
                Some(_) if self.has_micro => found.photon(time, routing.into(), micro),
                Some(_) => found.tag(time, routing.into()),
            }
        }
        Some(())
    }
}

impl Records for FifoRecords {
    fn record_bytes(&self) -> usize {
        self.layout.bytes()
    }

    fn overflow(&self, records: &[u8]) -> i128 {
        let records = records.chunks_exact(self.layout.bytes());
        let overflows = records.map(|record| u64::from(self.layout.event(record).overflows));
        i128::from(overflows.sum::<u64>()) * i128::from(self.layout.wrap())
    }

    fn decode(&self, records: &[u8], overflow: i128, found: &mut Found) {
        if self.decode_all(records, overflow, found).is_none() {
            found.is_out_of_range = true;
        }
    }
}
