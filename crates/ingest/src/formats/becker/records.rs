//! The records of Becker & Hickl's modules: a photon with its macro and micro time, markers, or overflows of the macro
//! time. The record 0x0123_4567 of most modules is a photon of channel 4 with the macro time 0x567 = 1,383 and the
//! micro time 4,095 − 0x123 = 3,804; 0xC000_0005 stands for five overflows of 4,096 each.
//!
//! Source: Becker & Hickl, TCSPC Handbook, chapter on FIFO files; for an SPC-QC and an SPC-600 with 256 channels the
//! texts of phconvert (`bhreader`), libtcspc (`bh_spc600_256ch_event`) and tttrlib, which agree.

use crate::formats::{counter::Counter, records::DecodedRecords};

/// Marker k has this label plus k.
const MARKER_OFFSET: u64 = 100;
const MARKERS: u32 = 4;
const MICRO_MAX: u32 = 4_095;
const MICRO_MAX_256: u32 = 255;
/// Inputs of the largest SPC-QC module, and routing values of each.
const QC_INPUTS: u32 = 6;
const QC_ROUTINGS: u32 = 16;
const INVALID: &str = "invalid photon";
const RESERVED: &str = "reserved record";

/// How the bits of a record are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpcBits {
    /// 4 bytes: 12 bits of macro time, 4 of routing, 12 of the converter, 4 flags.
    Four,
    /// 6 bytes: 12 bits of the converter, flags, 24 bits of macro time, 8 of routing.
    Six,
    /// 4 bytes: 8 bits of the converter, 17 of macro time, 3 of routing, flags.
    Four256,
    /// 4 bytes of an SPC-QC with up to four inputs: 12 bits of macro time, 4 of routing, 12 of micro time, 2 of the
    /// input, 2 of the type.
    Qc4,
    /// The same of an SPC-QC with more inputs: 3 bits of the input after 1 of the type, or 4 of the type.
    Qc6,
}

/// The records of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FifoRecords {
    pub layout: SpcBits,
}

/// One record, decoded.
pub(super) struct SpcEvent {
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

impl SpcBits {
    /// Bytes of a record, and of the header.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Four | Self::Four256 | Self::Qc4 | Self::Qc6 => 4,
            Self::Six => 6,
        }
    }

    /// Whether it is one of an SPC-QC.
    pub(super) fn is_qc(self) -> bool {
        match self {
            Self::Four | Self::Six | Self::Four256 => false,
            Self::Qc4 | Self::Qc6 => true,
        }
    }

    /// Values of a micro time.
    pub(super) fn micro_values(self) -> u32 {
        match self {
            Self::Four | Self::Six | Self::Qc4 | Self::Qc6 => MICRO_MAX + 1,
            Self::Four256 => MICRO_MAX_256 + 1,
        }
    }

    /// Whether markers are recorded.
    pub(super) fn has_markers(self) -> bool {
        match self {
            Self::Four | Self::Qc4 | Self::Qc6 => true,
            Self::Six | Self::Four256 => false,
        }
    }

    /// Macro time that one overflow adds.
    fn wrap(self) -> i64 {
        match self {
            Self::Four | Self::Qc4 | Self::Qc6 => 1 << 12,
            Self::Six => 1 << 24,
            Self::Four256 => 1 << 17,
        }
    }

    fn event(self, record: &[u8]) -> SpcEvent {
        let byte = |at: usize| record.get(at).copied().map_or(0, u32::from);
        let word = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
        match self {
            Self::Four => {
                let flag = |bit: u32| word >> bit & 1 == 1;
                let (is_invalid, is_overflow, is_marker) = (flag(31), flag(30), flag(28));
                let is_many = is_invalid && is_overflow && !is_marker;
                SpcEvent {
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
                SpcEvent {
                    overflows: u32::from(flag(13)),
                    counter: Some(byte(4) | byte(5) << 8 | byte(2) << 16),
                    routing: byte(3),
                    micro: MICRO_MAX - (first & 0xfff),
                    is_invalid: flag(12),
                    is_marker: false,
                    is_gap: flag(14),
                }
            }
            Self::Four256 => {
                let flag = |bit: u32| word >> bit & 1 == 1;
                let (is_invalid, is_overflow) = (flag(31), flag(30));
                let is_many = is_invalid && is_overflow;
                SpcEvent {
                    overflows: if is_many { word & 0xfff_ffff } else { u32::from(is_overflow) },
                    counter: (!is_many).then_some(word >> 8 & 0x1_ffff),
                    routing: word >> 25 & 7,
                    micro: MICRO_MAX_256 - (word & 0xff),
                    is_invalid,
                    is_marker: false,
                    is_gap: flag(29),
                }
            }
            Self::Qc4 => match word >> 30 {
                0 => qc_photon(word, word >> 28 & 3, false),
                1 => qc_marker(word),
                2 => QC_OVERFLOW,
                _ => qc_photon(word, word >> 28 & 3, true),
            },
            Self::Qc6 => match word >> 28 {
                input @ 0..=7 => qc_photon(word, input, false),
                8 => QC_OVERFLOW,
                10 => qc_marker(word),
                12.. => qc_photon(word, word >> 28 & 3, true),
                // A marker without a bit is a reserved record, too.
                _ => qc_marker(0),
            },
        }
    }
}

/// One overflow of the macro time of an SPC-QC.
const QC_OVERFLOW: SpcEvent = SpcEvent {
    overflows: 1,
    counter: None,
    routing: 0,
    micro: 0,
    is_invalid: false,
    is_marker: false,
    is_gap: false,
};

/// A photon of an SPC-QC. Its label has the routing in its lowest four bits and the input, from 0, above them.
fn qc_photon(word: u32, input: u32, is_gap: bool) -> SpcEvent {
    SpcEvent {
        overflows: 0,
        counter: Some(word & 0xfff),
        routing: QC_ROUTINGS * input + (word >> 12 & 15),
        micro: word >> 16 & 0xfff,
        is_invalid: input >= QC_INPUTS,
        is_marker: false,
        is_gap,
    }
}

fn qc_marker(word: u32) -> SpcEvent {
    let (counter, routing) = (Some(word & 0xfff), word >> 12 & 15);
    SpcEvent { counter, routing, overflows: 0, is_marker: true, ..QC_OVERFLOW }
}

impl Counter for FifoRecords {
    type Event = SpcEvent;

    type Sum = i64;

    fn record_bytes(&self) -> usize {
        self.layout.bytes()
    }

    fn period(&self) -> i64 {
        self.layout.wrap()
    }

    fn overflows(&self, record: &[u8]) -> u32 {
        self.layout.event(record).overflows
    }

    fn event(&self, record: &[u8]) -> SpcEvent {
        self.layout.event(record)
    }

    fn counter(&self, event: &SpcEvent) -> Option<u32> {
        event.counter
    }

    fn has_blanks(&self) -> bool {
        true
    }

    fn sum(&self, overflows: i64) -> i64 {
        overflows
    }

    fn add(
        &self,
        event: SpcEvent,
        sum: impl FnOnce() -> i64,
        found: &mut DecodedRecords,
    ) -> Option<()> {
        let SpcEvent { routing, micro, is_invalid, is_marker, .. } = event;
        let time = sum() + event.counter.map_or(0, i64::from);
        if event.is_gap {
            found.lost_before(time);
        }
        match event.counter {
            None => {}
            Some(_) if is_marker && routing == 0 => found.left_out(RESERVED),
            Some(_) if is_marker => {
                let set = (0..MARKERS).filter(|bit| routing >> bit & 1 == 1);
                set.for_each(|bit| found.tag(time, MARKER_OFFSET + 1 + u64::from(bit)));
            }
            Some(_) if is_invalid => found.left_out(INVALID),
            Some(_) => found.photon(time, routing.into(), micro),
        }
        Some(())
    }
}
