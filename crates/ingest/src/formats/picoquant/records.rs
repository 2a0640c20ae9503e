//! The records of PicoQuant's instruments: 32 bits each, in two modes of time tagging.
//!
//! In mode T2 of a HydraHarp, the record 0x0200_0064 is a tag of input 2 at 100 ticks after the overflows. In mode T3,
//! 0x0200_2805 is a photon of input 2 after pulse 5 with the micro time 10: at a period of 12,500 ticks its time is 5 ·
//! 12,500 + 10 = 62,510. 0xFE00_0003 stands for three overflows.
//!
//! Source: PicoQuant, "File and record formats" of the unified TTTR format, and the manuals of PicoHarp 300, HydraHarp
//! 400, TimeHarp 260 and MultiHarp 150.

use tagq_store::simd::Simd;

use super::{
    labels::{MARKER_OFFSET, SYNC},
    pulses::{Pulses, PulsesFrom},
};
use crate::formats::{
    counter::Counter,
    format::BEYOND_PERIOD,
    photons::{self, PhotonRecord, PhotonTimes, Taken},
    records::{DecodedRecords, PhotonColumns},
};

/// Channel of PicoHarp's special records, and of HydraHarp's overflows.
const PICOHARP_SPECIAL: u32 = 15;
const HYDRAHARP_OVERFLOW: u32 = 63;
/// The bit of HydraHarp's special records above their channel.
const SPECIAL: u32 = 64;
/// The largest channel of a PicoHarp with a router.
const PICOHARP_CHANNEL_MAX: u32 = 4;
/// Highest code of a marker: four bits.
const MARKER_BITS: u32 = 15;
/// The label of the sync input.
#[expect(clippy::cast_possible_truncation, reason = "0")]
const SYNC_LABEL: u16 = SYNC as u16;
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

    /// Calls `each` with the function that decodes a record.
    #[inline]
    fn with_records<T>(self, each: impl RecordsOf<T>) -> T {
        match (self.layout, self.mode) {
            (RecordBits::PicoHarp, Mode::T2) => each.of(picoharp_t2),
            (RecordBits::PicoHarp, Mode::T3(_)) => each.of(picoharp_t3),
            (RecordBits::HydraHarpV1, Mode::T2) => each.of(hydraharp_t2::<false>),
            (RecordBits::HydraHarpV1, Mode::T3(_)) => each.of(hydraharp_t3::<false>),
            (RecordBits::HydraHarpV2, Mode::T2) => each.of(hydraharp_t2::<true>),
            (RecordBits::HydraHarpV2, Mode::T3(_)) => each.of(hydraharp_t3::<true>),
        }
    }

    fn record_of(self, record: u32) -> PhotonRecord {
        self.with_records(OneRecord(record))
    }

    fn event_of(self, record: u32) -> Event {
        let PhotonRecord { is_photon, overflows, label, counter, micro } = self.record_of(record);
        if overflows > 0 {
            return Event::Overflow;
        }
        if is_photon {
            return Event::Photon { label: label.into(), counter, micro };
        }
        let is_picoharp_special = record >> 28 == PICOHARP_SPECIAL;
        let (is_special, bits, counter) = match (self.layout, self.mode) {
            // The lowest bits of the time of a marker are the markers.
            (RecordBits::PicoHarp, Mode::T2) => (is_picoharp_special, record & 15, counter & !15),
            (RecordBits::PicoHarp, Mode::T3(_)) => (is_picoharp_special, micro, counter),
            (RecordBits::HydraHarpV1 | RecordBits::HydraHarpV2, _) => {
                (record >> 31 == 1, record >> 25 & 63, counter)
            }
        };
        let is_marker = is_special && (1..=MARKER_BITS).contains(&bits);
        if is_marker { Event::Markers { bits, counter } } else { Event::Reserved }
    }
}

/// Work with the function that decodes a record.
trait RecordsOf<T> {
    fn of(self, record_of: impl Fn(u32) -> PhotonRecord) -> T;
}

struct OneRecord(u32);

impl RecordsOf<PhotonRecord> for OneRecord {
    fn of(self, record_of: impl Fn(u32) -> PhotonRecord) -> PhotonRecord {
        record_of(self.0)
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

#[inline]
fn picoharp_t2(record: u32) -> PhotonRecord {
    let channel = record >> 28;
    PhotonRecord {
        is_photon: channel <= PICOHARP_CHANNEL_MAX,
        overflows: u32::from(channel == PICOHARP_SPECIAL && record.is_multiple_of(16)),
        label: low_label(channel),
        counter: record & 0xfff_ffff,
        micro: 0,
    }
}

#[inline]
fn picoharp_t3(record: u32) -> PhotonRecord {
    let (channel, micro) = (record >> 28, record >> 16 & 0xfff);
    PhotonRecord {
        is_photon: channel.wrapping_sub(1) < PICOHARP_CHANNEL_MAX,
        overflows: u32::from(channel == PICOHARP_SPECIAL && micro == 0),
        label: low_label(channel),
        counter: record & 0xffff,
        micro,
    }
}

/// `COUNTED` says whether an overflow record has a count, as from the second firmware on.
#[inline]
fn hydraharp_t2<const COUNTED: bool>(record: u32) -> PhotonRecord {
    let (channel, counter) = (record >> 25, record & 0x1ff_ffff);
    let is_sync = channel == SPECIAL;
    PhotonRecord {
        is_photon: channel < SPECIAL || is_sync,
        overflows: hydraharp_overflows::<COUNTED>(channel, counter),
        label: if is_sync { SYNC_LABEL } else { low_label(channel) + 1 },
        counter,
        micro: 0,
    }
}

/// See [`hydraharp_t2`].
#[inline]
fn hydraharp_t3<const COUNTED: bool>(record: u32) -> PhotonRecord {
    let (channel, counter) = (record >> 25, record & 0x3ff);
    PhotonRecord {
        is_photon: channel < SPECIAL,
        overflows: hydraharp_overflows::<COUNTED>(channel, counter),
        label: low_label(channel) + 1,
        counter,
        micro: record >> 10 & 0x7fff,
    }
}

#[inline]
fn hydraharp_overflows<const COUNTED: bool>(channel: u32, counter: u32) -> u32 {
    let is_overflow = channel == SPECIAL | HYDRAHARP_OVERFLOW;
    let count = if COUNTED { counter.max(1) } else { 1 };
    if is_overflow { count } else { 0 }
}

#[inline]
fn low_label(channel: u32) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "seven bits at most")]
    let label = channel as u16;
    label
}

/// Photons that are added together.
struct ManyPhotons<'a> {
    records: &'a [u8],
    period: u32,
    sum: &'a Sum,
    counter: u32,
    found: &'a mut DecodedRecords,
}

impl RecordsOf<Option<Taken>> for ManyPhotons<'_> {
    fn of(self, record_of: impl Fn(u32) -> PhotonRecord) -> Option<Taken> {
        let Self { records, period, sum, counter, found } = self;
        let (simd, before) = (Simd::best(), (period, counter));
        match sum {
            Sum::T2(sum) => {
                photons::add(simd, records, before, record_of, &mut SinceSum(*sum), found)
            }
            Sum::T3(pulses) => {
                let mut times = AfterPulses { pulses, beyond: 0 };
                let taken = photons::add(simd, records, before, record_of, &mut times, found)?;
                if times.beyond > 0 {
                    found.left_out_many(BEYOND_PERIOD, times.beyond);
                }
                Some(taken)
            }
        }
    }
}

/// The times of photons of mode T2 after a sum of overflows.
struct SinceSum(i64);

impl PhotonTimes for SinceSum {
    const HAS_MICRO: bool = false;

    #[expect(clippy::inline_always, reason = "see the trait")]
    #[inline(always)]
    fn write(&mut self, numbers: &[u32], columns: &mut PhotonColumns<'_>) -> Option<()> {
        for (&number, time) in numbers.iter().zip(&mut *columns.times) {
            *time = self.0.wrapping_add(number.into());
        }
        Some(())
    }
}

/// The times of photons of mode T3, and how many of these are longer after their pulse than the period.
struct AfterPulses<'a> {
    pulses: &'a PulsesFrom,
    beyond: u64,
}

impl PhotonTimes for AfterPulses<'_> {
    const HAS_MICRO: bool = true;

    #[expect(clippy::inline_always, reason = "see the trait")]
    #[inline(always)]
    fn write(&mut self, numbers: &[u32], columns: &mut PhotonColumns<'_>) -> Option<()> {
        let PhotonColumns { times, micro, .. } = columns;
        let micro = &micro[..numbers.len()];
        let whole = self.pulses.whole();
        let beyond: u32 = micro.iter().map(|&micro| u32::from(micro > whole)).sum();
        self.beyond = beyond.into();
        self.pulses.write_times(numbers, micro, &mut times[..numbers.len()])
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
        self.record_of(word(record)).overflows
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
                        if micro > pulses.whole() {
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

    fn add_photons(
        &self,
        records: &[u8],
        (sum, counter): (&Sum, u32),
        found: &mut DecodedRecords,
    ) -> Option<Taken> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "28 bits")]
        let period = self.wrap() as u32;
        self.with_records(ManyPhotons { records, period, sum, counter, found })
    }

    fn all_overflows(&self, records: &[u8]) -> u64 {
        self.with_records(AllOverflows(records))
    }
}

/// Counts the overflows in records.
struct AllOverflows<'a>(&'a [u8]);

impl RecordsOf<u64> for AllOverflows<'_> {
    fn of(self, record_of: impl Fn(u32) -> PhotonRecord) -> u64 {
        photons::overflows(self.0, record_of)
    }
}

pub(super) fn word(record: &[u8]) -> u32 {
    record.first_chunk().map_or(0, |record| u32::from_le_bytes(*record))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::records::{RecordSpan, Records};

    /// The same records, all of them decoded one by one.
    struct OneByOne(PicoQuant);

    impl Counter for OneByOne {
        type Event = Event;
        type Sum = Sum;

        fn record_bytes(&self) -> usize {
            Counter::record_bytes(&self.0)
        }

        fn period(&self) -> i64 {
            self.0.period()
        }

        fn overflows(&self, record: &[u8]) -> u32 {
            self.0.overflows(record)
        }

        fn event(&self, record: &[u8]) -> Event {
            self.0.event(record)
        }

        fn counter(&self, event: &Event) -> Option<u32> {
            self.0.counter(event)
        }

        fn has_blanks(&self) -> bool {
            self.0.has_blanks()
        }

        fn sum(&self, overflows: i64) -> Sum {
            self.0.sum(overflows)
        }

        fn add(
            &self,
            event: Event,
            sum: impl FnOnce() -> Sum,
            found: &mut DecodedRecords,
        ) -> Option<()> {
            self.0.add(event, sum, found)
        }
    }

    /// Photons of all channels, overflows, markers, blank records and any others.
    fn records() -> impl Strategy<Value = Vec<u32>> {
        let picoharp = (1_u32..=4, any::<u32>()).prop_map(|(channel, of)| channel << 28 | of >> 4);
        let hydraharp = any::<u32>().prop_map(|of| of >> 1);
        let overflow = prop_oneof![Just(0xF000_0000), (0_u32..4).prop_map(|of| 0xFE00_0000 | of)];
        let any_record = prop_oneof![any::<u32>(), Just(0)];
        let one = |photon: BoxedStrategy<u32>| {
            let each = prop_oneof![400 => photon, 20 => overflow.clone(), 1 => any_record.clone()];
            prop::collection::vec(each, 0..1_500)
        };
        prop_oneof![one(picoharp.boxed()), one(hydraharp.boxed())]
    }

    proptest! {
        #[test]
        fn records_are_decoded_together_as_one_by_one(
            words in records(),
            own in (0_usize..1_500, 0_usize..1_500),
            overflow in prop_oneof![0_i64..1 << 40, i64::MAX - (1 << 36)..i64::MAX],
            (numerator, denominator) in (1_u64..1 << 40, prop_oneof![1_u64..1_000, 1_u64..1 << 32]),
        ) {
            let period = format!("{numerator}/{denominator}ps").parse().unwrap();
            let pulses = Pulses::of(period, "4ps".parse().unwrap()).ok();
            let modes = [Some(Mode::T2), pulses.map(Mode::T3)];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (first, last) = (own.0.min(own.1).min(words.len()), own.0.max(own.1).min(words.len()));
            let layouts = [RecordBits::PicoHarp, RecordBits::HydraHarpV1, RecordBits::HydraHarpV2];
            for layout in layouts {
                for mode in modes.into_iter().flatten() {
                    let all = PicoQuant { layout, mode };
                    let span = || RecordSpan::new(&bytes, 4 * first..4 * last, 32, 0);
                    let [mut together, mut single] = [(); 2].map(|()| DecodedRecords::default());
                    all.decode(&span(), overflow.into(), &mut together);
                    OneByOne(all).decode(&span(), overflow.into(), &mut single);
                    prop_assert_eq!(together.is_out_of_range, single.is_out_of_range);
                    if !single.is_out_of_range {
                        prop_assert_eq!(together, single, "{:?}", all);
                    }
                }
            }
        }
    }
}
