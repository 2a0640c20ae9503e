//! Photons that follow each other in records of four bytes, decoded together.
//!
//! Nearly all records of a recording are photons, or overflows of the counter between them. Loops without branches find
//! how many of the next records are such, and write their columns: they are compiled for each vector level. With a
//! period of 1,024, the counters 5 and 9, an overflow and the counter 2 are photons with the numbers 5, 9 and 1,026.

use tagq_store::simd::{Simd, Work};

use super::records::{DecodedRecords, PhotonColumns};

/// Records that are decoded together, at least and at most. Their columns stay in the fastest cache.
pub(super) const TOGETHER: (usize, usize) = (64, 1_024);
/// Numbers of photons from the overflows before the first of those decoded together are less.
pub(crate) const NUMBERS: u32 = 1 << 31;
/// Counters are less.
const COUNTERS: u32 = 1 << 28;

/// A record that may be a photon, or overflows of the counter. Any other is neither, and looked at by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhotonRecord {
    pub is_photon: bool,
    /// How often the counter began again; 0 if it is a photon.
    pub overflows: u32,
    /// Of a photon, as the counter and the micro time; of no meaning for others.
    pub label: u16,
    pub counter: u32,
    pub micro: u32,
}

/// Gives photons their times.
pub(crate) trait PhotonTimes {
    /// Whether photons have micro times.
    const HAS_MICRO: bool;

    /// Writes the times of photons with these numbers; `None` if one leaves 64 bits. Must be `inline(always)`.
    fn write(&mut self, numbers: &[u32], columns: &mut PhotonColumns<'_>) -> Option<()>;
}

/// Records that were taken together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many.
    pub records: usize,
    /// How often the counter began again.
    pub overflows: u64,
    /// The last counter since it began again.
    pub counter: u32,
}

/// Adds the photons that `records` begin with. The counter has so many values, and was `counter` before them.
/// Counters go back by more than half a period only after an overflow. `None` if a time leaves 64 bits.
pub(crate) fn add<T: PhotonTimes>(
    simd: Simd,
    records: &[u8],
    (period, counter): (u32, u32),
    record_of: impl Fn(u32) -> PhotonRecord,
    times: &mut T,
    found: &mut DecodedRecords,
) -> Option<Taken> {
    let (words, _) = records.as_chunks();
    let words = &words[..words.len().min(TOGETHER.1)];
    found.photons(words.len(), T::HAS_MICRO, |columns| {
        simd.run(Photons { words, period, counter, record_of, times, columns })
    })
}

/// Returns how often the counter began again in `records`.
pub(crate) fn overflows(records: &[u8], record_of: impl Fn(u32) -> PhotonRecord) -> u64 {
    Simd::best().run(Overflows { words: records.as_chunks().0, record_of })
}

struct Overflows<'a, F> {
    words: &'a [[u8; 4]],
    record_of: F,
}

impl<F: Fn(u32) -> PhotonRecord> Work for Overflows<'_, F> {
    type Output = u64;

    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn run(self) -> u64 {
        let record_of = |word: &[u8; 4]| (self.record_of)(u32::from_le_bytes(*word));
        self.words.iter().map(|word| u64::from(record_of(word).overflows)).sum()
    }
}

/// The work of [`add`]. Its result is the number of photons, and what was taken.
struct Photons<'a, F, T> {
    words: &'a [[u8; 4]],
    period: u32,
    counter: u32,
    record_of: F,
    times: &'a mut T,
    columns: PhotonColumns<'a>,
}

impl<F: Fn(u32) -> PhotonRecord, T: PhotonTimes> Work for Photons<'_, F, T> {
    type Output = (usize, Option<Taken>);

    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn run(mut self) -> Self::Output {
        let taken = self.leading();
        let words = &self.words[..taken.records];
        let mut numbers = [0; TOGETHER.1];
        let PhotonColumns { labels, micro, .. } = &mut self.columns;
        let record_of = |word: &[u8; 4]| (self.record_of)(u32::from_le_bytes(*word));
        let photons = if taken.overflows == 0 {
            for (word, number) in words.iter().zip(&mut numbers) {
                *number = record_of(word).counter;
            }
            for (word, label) in words.iter().zip(&mut **labels) {
                *label = record_of(word).label;
            }
            for (word, micro) in words.iter().zip(&mut **micro) {
                *micro = record_of(word).micro;
            }
            words.len()
        } else {
            let (mut overflows, mut photons) = (0_u32, 0);
            // Each record is written, and the next one over it unless it is a photon.
            for word in words {
                let PhotonRecord { is_photon, overflows: more, label, counter, micro: own } =
                    record_of(word);
                overflows = overflows.wrapping_add(more.wrapping_mul(self.period));
                numbers[photons] = overflows.wrapping_add(counter);
                labels[photons] = label;
                if T::HAS_MICRO {
                    micro[photons] = own;
                }
                photons += usize::from(is_photon);
            }
            photons
        };
        let times = self.times.write(&numbers[..photons], &mut self.columns);
        (photons, times.map(|()| taken))
    }
}

impl<F: Fn(u32) -> PhotonRecord, T> Photons<'_, F, T> {
    /// Returns how many of the records are photons and overflows.
    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn leading(&self) -> Taken {
        let (mut is_odd, mut overflows, mut last) = (false, 0_u64, self.counter);
        for word in self.words {
            let record = self.look(*word, &mut last);
            is_odd |= record.is_none();
            overflows += u64::from(record.unwrap_or(0));
        }
        if !is_odd && overflows <= self.overflows_max() {
            return Taken { records: self.words.len(), overflows, counter: last };
        }
        self.leading_of_few()
    }

    /// Returns the overflows of a record; `None` if it is looked at by itself. `last` is the counter before it.
    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn look(&self, word: [u8; 4], last: &mut u32) -> Option<u32> {
        let word = u32::from_le_bytes(word);
        let PhotonRecord { is_photon, overflows, counter, .. } = (self.record_of)(word);
        let is_back = counter.wrapping_add(self.period / 2) < *last;
        let mut is_odd = word == 0;
        is_odd |= !is_photon && overflows == 0;
        is_odd |= is_photon && is_back;
        *last = if is_photon { counter } else { 0 };
        if is_odd { None } else { Some(overflows) }
    }

    /// The most overflows with which all numbers are less than [`NUMBERS`].
    fn overflows_max(&self) -> u64 {
        u64::from((NUMBERS - COUNTERS) / self.period.max(1))
    }

    /// Looks record by record.
    #[cold]
    fn leading_of_few(&self) -> Taken {
        let mut taken = Taken { counter: self.counter, ..Taken::default() };
        for word in self.words {
            let mut last = taken.counter;
            let Some(more) = self.look(*word, &mut last) else { break };
            let overflows = taken.overflows + u64::from(more);
            if overflows > self.overflows_max() {
                break;
            }
            taken = Taken { records: taken.records + 1, overflows, counter: last };
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counters of four bits; 0xF0 and above are overflows, as many as the lowest bits say, 0xE0 to 0xEF are others.
    const PERIOD: u32 = 16;

    fn record_of(record: u32) -> PhotonRecord {
        let (label, counter) = (record >> 4 & 15, record & 15);
        PhotonRecord {
            is_photon: label < 14,
            overflows: if label == 15 { counter } else { 0 },
            label: u16::try_from(label).unwrap(),
            counter,
            micro: record >> 8,
        }
    }

    struct AsNumbers;

    impl PhotonTimes for AsNumbers {
        const HAS_MICRO: bool = true;

        fn write(&mut self, numbers: &[u32], columns: &mut PhotonColumns<'_>) -> Option<()> {
            columns.times.iter_mut().zip(numbers).for_each(|(time, &number)| *time = number.into());
            Some(())
        }
    }

    /// Number, label and micro time of each photon, and what was taken.
    type TakenPhotons = (Vec<(i64, u64, u32)>, Taken);

    /// Takes one record after the other.
    fn one_by_one(words: &[u32], counter: u32) -> TakenPhotons {
        let mut taken = Taken { counter, ..Taken::default() };
        let mut photons = Vec::new();
        for &word in &words[..words.len().min(TOGETHER.1)] {
            let PhotonRecord { is_photon, overflows, label, counter, micro } = record_of(word);
            let is_back = is_photon && counter + PERIOD / 2 < taken.counter;
            if word == 0 || is_back || !is_photon && overflows == 0 {
                break;
            }
            taken.records += 1;
            taken.overflows += u64::from(overflows);
            taken.counter = if is_photon { counter } else { 0 };
            if is_photon {
                let number = taken.overflows * u64::from(PERIOD) + u64::from(counter);
                photons.push((i64::try_from(number).unwrap(), label.into(), micro));
            }
        }
        (photons, taken)
    }

    fn together(simd: Simd, words: &[u32], counter: u32) -> TakenPhotons {
        let records: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut found = DecodedRecords::default();
        let before = (PERIOD, counter);
        let taken = add(simd, &records, before, record_of, &mut AsNumbers, &mut found);
        (found.rows().collect(), taken.unwrap())
    }

    proptest! {
        #[test]
        fn photons_are_taken_together_as_one_by_one(
            mut words in prop_oneof![
                prop::collection::vec(1_u32..0xE0, 0..1_500),
                prop::collection::vec(prop_oneof![8 => 1_u32..0xE0, 1 => 0xF1_u32..0x100], 0..1_500),
            ],
            // Counters in order, or not.
            is_level in any::<bool>(),
            odd in prop::collection::vec((0_usize..1_500, prop_oneof![0xE0_u32..=0xF0, Just(0)]), 0..3),
            counter in 0_u32..16,
        ) {
            if is_level {
                for word in words.iter_mut().filter(|word| **word < 0xE0) {
                    *word = *word & 0xF0 | (7 + (*word & 1));
                }
            }
            for (at, odd) in odd {
                words.get_mut(at).into_iter().for_each(|word| *word = odd);
            }
            for (at, word) in words.iter_mut().enumerate() {
                *word |= if *word == 0 { 0 } else { u32::try_from(at).unwrap() << 8 };
            }
            let expected = one_by_one(&words, counter);
            for simd in Simd::available() {
                prop_assert_eq!(&together(simd, &words, counter), &expected, "{:?}", simd);
            }
        }
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        // A photon, and 2^26 overflows of a period of 1, and so on.
        let many =
            |word: u32| PhotonRecord { overflows: u32::from(word > 1) << 26, ..record_of(1) };
        let of = |word: u32| PhotonRecord { is_photon: word == 1, ..many(word) };
        let records: Vec<u8> =
            (0..40).flat_map(|_| [1_u32, 2]).flat_map(u32::to_le_bytes).collect();
        for simd in Simd::available() {
            let mut found = DecodedRecords::default();
            let taken = add(simd, &records, (1, 0), of, &mut AsNumbers, &mut found).unwrap();
            // (2^31 − 2^28) / 2^26 = 28 overflow records, and the photon after the last of them.
            assert_eq!((taken.records, taken.overflows), (57, 28 << 26), "{simd:?}");
            assert_eq!(found.times().last(), Some(&((28 << 26) + 1)));
        }
    }
}
