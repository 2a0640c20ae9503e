//! The records of PicoQuant's instruments: 32 bits each, in two modes of time tagging.
//!
//! In mode T2 of a HydraHarp, the record 0x0200_0064 is a tag of input 2 at 100 ticks after the overflows. In mode T3,
//! 0x0200_2805 is a photon of input 2 after pulse 5 with the micro time 10: at a period of 12,500 ticks its time is 5 ·
//! 12,500 + 10 = 62,510. 0xFE00_0003 stands for three overflows.
//!
//! Source: PicoQuant, "File and record formats" of the unified TTTR format, and the manuals of PicoHarp 300, HydraHarp
//! 400, TimeHarp 260 and MultiHarp 150.

use super::{
    labels::{MARKER_OFFSET, SYNC},
    pulses::{Pulses, PulsesFrom},
};
use crate::formats::{counter::Counter, format::BEYOND_PERIOD, records::DecodedRecords};

/// Channel of PicoHarp's special records, and of HydraHarp's overflows.
const PICOHARP_SPECIAL: u32 = 15;
const HYDRAHARP_OVERFLOW: u32 = 63;
/// The largest channel of a PicoHarp with a router.
const PICOHARP_CHANNEL_MAX: u32 = 4;
/// Highest code of a marker: four bits.
const MARKER_BITS: u32 = 15;
const RESERVED: &str = "reserved record";

/// How the bits of a record are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordBits {
    /// PicoHarp 300.
    PicoHarp,
    /// HydraHarp 400 with its first firmware: an overflow record is one overflow.
    HydraHarpV1,
    /// HydraHarp 400, TimeHarp 260, MultiHarp and later: an overflow record has a count.
    HydraHarpV2,
}

/// The mode of time tagging.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mode {
    /// T2: every event has a time in ticks.
    T2,
    /// T3: every event has the number of its sync pulse and a time after it in ticks.
    T3(Pulses),
}

/// The records of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PicoQuant {
    pub layout: RecordBits,
    pub mode: Mode,
}

/// One record, decoded.
pub(super) enum Event {
    /// An input: its label, the counter, and the time after the pulse.
    Photon {
        label: u64,
        counter: u32,
        micro: u32,
    },
    /// Markers, one bit each.
    Markers {
        bits: u32,
        counter: u32,
    },
    /// The counter started again.
    Overflow,
    Reserved,
}

impl PicoQuant {
    /// Sum that one overflow adds.
    fn wrap(self) -> i64 {
        match (self.layout, self.mode) {
            (RecordBits::PicoHarp, Mode::T2) => 210_698_240,
            (RecordBits::PicoHarp, Mode::T3(_)) => 65_536,
            (RecordBits::HydraHarpV1, Mode::T2) => 33_552_000,
            (RecordBits::HydraHarpV2, Mode::T2) => 33_554_432,
            (RecordBits::HydraHarpV1 | RecordBits::HydraHarpV2, Mode::T3(_)) => 1_024,
        }
    }

    fn is_overflow(self, record: u32) -> bool {
        match (self.layout, self.mode) {
            (RecordBits::PicoHarp, Mode::T2) => {
                record >> 28 == PICOHARP_SPECIAL && record.is_multiple_of(16)
            }
            (RecordBits::PicoHarp, Mode::T3(_)) => {
                record >> 28 == PICOHARP_SPECIAL && (record >> 16).is_multiple_of(4_096)
            }
            (RecordBits::HydraHarpV1 | RecordBits::HydraHarpV2, _) => {
                record >> 25 == 64 | HYDRAHARP_OVERFLOW
            }
        }
    }

    /// How many overflows an overflow record stands for.
    fn overflows_of(self, record: u32) -> u32 {
        match (self.layout, self.mode) {
            (RecordBits::HydraHarpV2, Mode::T2) => (record & 0x1ff_ffff).max(1),
            (RecordBits::HydraHarpV2, Mode::T3(_)) => (record & 0x3ff).max(1),
            (RecordBits::PicoHarp | RecordBits::HydraHarpV1, _) => 1,
        }
    }

    fn event_of(self, record: u32) -> Event {
        if self.is_overflow(record) {
            return Event::Overflow;
        }
        match (self.layout, self.mode) {
            (RecordBits::PicoHarp, Mode::T2) => match record >> 28 {
                // The lowest bits of the time of a marker are the markers.
                PICOHARP_SPECIAL => {
                    Event::Markers { bits: record & 15, counter: record & 0xfff_fff0 }
                }
                channel => picoharp(channel, 0, record & 0xfff_ffff, 0),
            },
            (RecordBits::PicoHarp, Mode::T3(_)) => {
                let (micro, counter) = ((record >> 16) & 0xfff, record & 0xffff);
                match record >> 28 {
                    PICOHARP_SPECIAL if micro <= MARKER_BITS => {
                        Event::Markers { bits: micro, counter }
                    }
                    PICOHARP_SPECIAL => Event::Reserved,
                    channel => picoharp(channel, 1, counter, micro),
                }
            }
            (RecordBits::HydraHarpV1 | RecordBits::HydraHarpV2, Mode::T2) => {
                hydraharp(record, record & 0x1ff_ffff, 0, true)
            }
            (RecordBits::HydraHarpV1 | RecordBits::HydraHarpV2, Mode::T3(_)) => {
                hydraharp(record, record & 0x3ff, (record >> 10) & 0x7fff, false)
            }
        }
    }
}

/// A sum of overflows.
#[derive(Clone, Copy)]
pub(super) enum Sum {
    T2(i64),
    T3(PulsesFrom),
}

impl Sum {
    /// Returns the time in ticks of a counter after the sum; in mode T3 that of the pulse.
    #[inline]
    fn time(&self, counter: u32) -> Option<i64> {
        match self {
            Self::T2(sum) => Some(sum + i64::from(counter)),
            Self::T3(pulses) => pulses.time(counter),
        }
    }
}

fn picoharp(channel: u32, channel_min: u32, counter: u32, micro: u32) -> Event {
    if (channel_min..=PICOHARP_CHANNEL_MAX).contains(&channel) {
        Event::Photon { label: channel.into(), counter, micro }
    } else {
        Event::Reserved
    }
}

fn hydraharp(record: u32, counter: u32, micro: u32, has_sync: bool) -> Event {
    let channel = record >> 25 & 63;
    match (record >> 31, channel) {
        (0, _) => Event::Photon { label: u64::from(channel) + 1, counter, micro },
        (_, 0) if has_sync => Event::Photon { label: SYNC, counter, micro: 0 },
        (_, 1..=MARKER_BITS) => Event::Markers { bits: channel, counter },
        _ => Event::Reserved,
    }
}

impl Counter for PicoQuant {
    type Event = Event;
    type Sum = Sum;

    fn record_bytes(&self) -> usize {
        4
    }

    fn period(&self) -> i64 {
        self.wrap()
    }

    fn overflows(&self, record: &[u8]) -> u32 {
        let record = word(record);
        if self.is_overflow(record) { self.overflows_of(record) } else { 0 }
    }

    fn event(&self, record: &[u8]) -> Event {
        self.event_of(word(record))
    }

    fn counter(&self, event: &Event) -> Option<u32> {
        match event {
            Event::Photon { counter, .. } | Event::Markers { counter, .. } => Some(*counter),
            Event::Overflow | Event::Reserved => None,
        }
    }

    fn has_blanks(&self) -> bool {
        false
    }

    fn sum(&self, overflows: i64) -> Sum {
        match self.mode {
            Mode::T2 => Sum::T2(overflows),
            Mode::T3(pulses) => Sum::T3(PulsesFrom::new(pulses, overflows)),
        }
    }

    #[inline]
    fn add(
        &self,
        event: Event,
        sum: impl FnOnce() -> Sum,
        found: &mut DecodedRecords,
    ) -> Option<()> {
        match event {
            Event::Photon { label, counter, micro } => {
                let time = sum().time(counter)?;
                match self.mode {
                    Mode::T2 => found.tag(time, label),
                    Mode::T3(pulses) => {
                        if u64::from(micro) > pulses.whole() {
                            found.left_out(BEYOND_PERIOD);
                        }
                        found.photon(time.checked_add(micro.into())?, label, micro);
                    }
                }
            }
            Event::Markers { bits, counter } => {
                let time = sum().time(counter)?;
                let set = (0..4).filter(|bit| bits >> bit & 1 == 1);
                set.for_each(|bit| found.tag(time, MARKER_OFFSET + 1 + bit));
            }
            Event::Overflow => {}
            Event::Reserved => found.left_out(RESERVED),
        }
        Some(())
    }
}

pub(super) fn word(record: &[u8]) -> u32 {
    record.first_chunk().map_or(0, |record| u32::from_le_bytes(*record))
}
