//! Times and distances from gaps and far distances.
//!
//! The distance of a row from the row before it is its gap, or if that is the largest one, the next far distance. After
//! a row at 10, the gaps 5, 65,535 and 7 with the far distance 70,000 give the times 15, 70,015 and 70,022.
//!
//! The values come from a file that may be damaged: no length, index or loop relies on them, sums wrap around, and a
//! far distance that is missing is 0. All levels give the same times and distances.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the token of a level is the proof that its code may be called")
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::{
    format::GAP_MAX,
    simd::{Level, Simd},
};

/// Far distances in the width of their column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Far<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl Far<'_> {
    /// Returns the number of bytes of all of them.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U32(far) => size_of_val(far),
            Self::U64(far) => size_of_val(far),
        }
    }

    /// Returns those from this one on; none if there are fewer.
    pub(crate) fn from(self, first: usize) -> Self {
        match self {
            Self::U32(far) => Self::U32(after(far, first)),
            Self::U64(far) => Self::U64(after(far, first)),
        }
    }
}

/// Returns the values from this one on; none if there are fewer.
fn after<T>(values: &[T], first: usize) -> &[T] {
    values.get(first..).unwrap_or_default()
}

/// Calls the code of the level that `simd` proves to be available.
macro_rules! at_level {
    ($simd:expr, $decode:ident($($argument:expr),* $(,)?)) => {
        match $simd.level() {
            Level::Scalar => scalar::$decode($($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a token of this level is made only where its features were detected.
            Level::Avx2 => unsafe { avx2::$decode($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; a machine with VBMI2 has these features, too.
            Level::Avx512 | Level::Vbmi2 => unsafe { avx512::$decode($($argument),*) },
        }
    };
}

/// Writes the times of rows with these gaps: those of `out` are as many, and the row before the first has the time
/// `before`. `far` begins with the far distance of the first row that has one. Returns how many far distances the rows
/// have.
pub(crate) fn times(simd: Simd, gaps: &[u16], far: Far<'_>, before: i64, out: &mut [i64]) -> usize {
    assert_eq!(gaps.len(), out.len());
    match far {
        Far::U32(far) => at_level!(simd, times(gaps, far, before, out)),
        // They are rare: only a pause of 2^32 ticks or more needs them.
        Far::U64(far) => scalar::times(gaps, far, before, out),
    }
}

/// Writes the ticks from the row before the first up to each row. Otherwise as [`times`]. Returns whether they are
/// right: 2^32 ticks do not fit, and a distance of 2^28 ticks need not.
pub(crate) fn offsets(simd: Simd, gaps: &[u16], far: Far<'_>, out: &mut [u32]) -> bool {
    assert_eq!(gaps.len(), out.len());
    match far {
        Far::U32(far) => at_level!(simd, offsets(gaps, far, 0, out)),
        Far::U64(_) => false,
    }
}

/// Writes the distances of rows with these gaps from the rows before each; from [`u32::MAX`] on they are this one.
/// Otherwise as [`times`].
pub(crate) fn distances(simd: Simd, gaps: &[u16], far: Far<'_>, out: &mut [u32]) -> usize {
    assert_eq!(gaps.len(), out.len());
    match far {
        Far::U32(far) => at_level!(simd, distances(gaps, far, out)),
        Far::U64(far) => scalar::distances(gaps, far, out),
    }
}

/// Returns how many rows with these gaps have a far distance.
pub(crate) fn far_rows(gaps: &[u16]) -> usize {
    near_sum(gaps).1
}

/// Returns the time of the last row with these gaps, as [`times`] writes it; `before` without any.
pub(crate) fn last_time(gaps: &[u16], far: Far<'_>, before: i64) -> i64 {
    let (sum, rows) = near_sum(gaps);
    let far = match far {
        Far::U32(far) => far.iter().take(rows).map(|&far| u64::from(far)).sum::<u64>(),
        Far::U64(far) => far.iter().take(rows).fold(0, |sum: u64, far| sum.wrapping_add(*far)),
    };
    before.wrapping_add_unsigned(sum).wrapping_add_unsigned(far)
}

/// Returns the sum of the gaps of rows that have no far distance, and how many rows have one.
fn near_sum(gaps: &[u16]) -> (u64, usize) {
    // The sums of so many fit in 32 bits, which a vector holds more of. No branch stops the compiler from using vectors.
    let of_few = |gaps: &[u16]| {
        let add = |(sum, rows): (u32, u32), &gap: &u16| {
            let near = if gap == GAP_MAX { 0 } else { gap };
            (sum + u32::from(near), rows + u32::from(gap == GAP_MAX))
        };
        gaps.iter().fold((0, 0), add)
    };
    gaps.chunks(1 << 15)
        .map(of_few)
        .fold((0, 0), |(sum, rows), (of_few, far)| (sum + u64::from(of_few), rows + far as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tagq_sampling::random_cases;

    /// Gaps in runs of rows that are saturated or not with these shares.
    fn gaps() -> impl Strategy<Value = Vec<u16>> {
        let of_share = |share: u32| {
            let gap = prop_oneof![
                100 - share => prop_oneof![0..=u16::MAX - 1, 65_530..=u16::MAX - 1],
                share => Just(GAP_MAX),
            ];
            prop::collection::vec(gap, 0..300)
        };
        let share = prop_oneof![Just(0_u32), Just(1), Just(50), Just(100)];
        let runs = prop::collection::vec((any::<bool>(), 0..20_usize), 0..15).prop_map(|runs| {
            let gap = |(is_far, len)| vec![if is_far { GAP_MAX } else { 3 }; len];
            runs.into_iter().flat_map(gap).collect()
        });
        prop_oneof![4 => share.prop_flat_map(of_share), 1 => runs]
    }

    /// The distances, as the definition says.
    fn plain(gaps: &[u16], far: &[u64]) -> Vec<u64> {
        let mut far = far.iter();
        let distance = |&gap: &u16| match gap {
            GAP_MAX => far.next().copied().unwrap_or(0),
            gap => gap.into(),
        };
        gaps.iter().map(distance).collect()
    }

    #[test]
    fn sums_of_many_gaps_do_not_overflow() {
        let gaps = [vec![GAP_MAX - 1; 70_000], vec![GAP_MAX; 70_000]].concat();
        assert_eq!(near_sum(&gaps), (70_000 * 65_534, 70_000));
    }

    proptest! {
        #![proptest_config(random_cases(600))]

        #[test]
        fn every_level_and_width_decodes_the_same(
            gaps in gaps(),
            wide in prop::collection::vec(any::<u64>(), 300),
            narrow in prop::collection::vec(
                prop_oneof![any::<u32>(), 65_535..70_000_u32, Just(u32::MAX)],
                300,
            ),
            before in prop_oneof![any::<i64>(), 0..1_000_000_i64, Just(i64::MAX)],
            missing in prop_oneof![4 => Just(0_usize), 1 => 1..300_usize],
        ) {
            prop_assert_eq!(far_rows(&gaps), gaps.iter().filter(|&&gap| gap == GAP_MAX).count());
            let kept = far_rows(&gaps).saturating_sub(missing);
            let (wide, narrow) = (&wide[..kept.min(300)], &narrow[..kept.min(300)]);
            let of_narrow: Vec<u64> = narrow.iter().copied().map(u64::from).collect();
            for (far, known) in [(Far::U64(wide), wide), (Far::U32(narrow), &of_narrow)] {
                let plain = plain(&gaps, known);
                let saturated: Vec<u32> =
                    plain.iter().map(|&d| u32::try_from(d).unwrap_or(u32::MAX)).collect();
                let add = |time: &mut i64, &distance: &u64| {
                    *time = time.wrapping_add_unsigned(distance);
                    Some(*time)
                };
                let summed: Vec<i64> = plain.iter().scan(before, add).collect();
                let last = summed.last().copied().unwrap_or(before);
                prop_assert_eq!(last_time(&gaps, far, before), last);
                for simd in Simd::available() {
                    let mut found = vec![-1; gaps.len()];
                    let used = times(simd, &gaps, far, before, &mut found);
                    prop_assert_eq!(used, far_rows(&gaps), "{:?}", simd);
                    prop_assert_eq!(&found, &summed, "{:?}", simd);
                    let mut found = vec![1; gaps.len()];
                    if offsets(simd, &gaps, far, &mut found) {
                        let after = |time: i64| time.wrapping_sub(before).cast_unsigned();
                        let found: Vec<u64> = found.iter().copied().map(u64::from).collect();
                        let summed: Vec<u64> = summed.iter().copied().map(after).collect();
                        prop_assert_eq!(found, summed, "{:?}", simd);
                    } else {
                        let span = plain.iter().fold(0, |sum: u64, &d| sum.saturating_add(d));
                        let longest = plain.iter().max().copied().unwrap_or(0);
                        let is_wide = matches!(far, Far::U64(_));
                        prop_assert!(is_wide || span >= 1 << 32 || longest >= 1 << 28, "{:?}", simd);
                    }
                    let mut found = vec![1; gaps.len()];
                    let used = distances(simd, &gaps, far, &mut found);
                    prop_assert_eq!(used, far_rows(&gaps), "{:?}", simd);
                    prop_assert_eq!(&found, &saturated, "{:?}", simd);
                }
            }
        }
    }
}
