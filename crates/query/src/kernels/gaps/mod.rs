//! Kernels over the column of gaps: distances of rows are sums of gaps, which saturate as the gaps do, so that a
//! distance below [`GAP_MAX`] is exact and every longer one stays above.
//!
//! A row is the later one of its pairs. Rows before those that are counted are looked back at, as far as the window
//! reaches; the gap of the first row of a source is the largest one, so that no distance spans two sources. All
//! kernels give up, by returning `None`, if a row has [`REACH`] others within the window. Gaps and labels come from a
//! file that may be damaged: no length, index or loop relies on their values.

#[cfg(target_arch = "x86_64")]
mod steps;

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::ops::Range;

use tagq_store::format::GAP_MAX;

use super::simd::{Level, Simd};

/// Rows of a step, and the most rows before one that a kernel looks back at.
#[cfg(target_arch = "x86_64")]
const ROWS: usize = 64;
/// The number of rows within the window of one from which on a kernel gives up.
pub(crate) const REACH: usize = 64;

/// Counts pairs of one tag with label a and one with label b, a ≠ b, at most `window` ticks apart, the later one of
/// which is in `rows`. `window` is below [`GAP_MAX`].
pub(crate) fn pairs(
    simd: Simd,
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    window: u16,
) -> Option<u64> {
    assert_eq!(gaps.len(), labels.len());
    assert!(rows.end <= gaps.len());
    assert!(window < GAP_MAX, "every distance would be within it");
    match simd.level() {
        Level::Scalar => scalar::pairs(gaps, labels, rows, pair, window),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 => unsafe { avx2::pairs(gaps, labels, rows, pair, window) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { avx512::pairs(gaps, labels, rows, pair, window) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows of several sources: gaps and labels.
    fn tags() -> impl Strategy<Value = (Vec<u16>, Vec<u8>)> {
        let gap = prop_oneof![
            8 => 0..40_u16,
            2 => 32_700..32_800_u16,
            1 => 65_530..=GAP_MAX,
            1 => Just(GAP_MAX),
        ];
        prop::collection::vec((gap, 0..4_u8), 0..400).prop_map(|rows| rows.into_iter().unzip())
    }

    /// The pairs by sums of 64 bits; `None` if a row has too many others within the window.
    fn plain(
        gaps: &[u16],
        labels: &[u8],
        rows: Range<usize>,
        [a, b]: [u8; 2],
        window: u16,
    ) -> Option<u64> {
        let mut count = 0;
        for row in rows {
            let (mut distance, mut near) = (0_u64, 0);
            for before in (0..row).rev() {
                distance += u64::from(gaps[before + 1]);
                if distance > u64::from(window) {
                    break;
                }
                near += 1;
                let pair = [labels[row], labels[before]];
                count += u64::from(pair == [a, b] || pair == [b, a]);
            }
            if near >= REACH {
                return None;
            }
        }
        Some(count)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_level_counts_as_plain_sums_do(
            (gaps, labels) in tags(),
            (from, len) in (0..400_usize, 0..400_usize),
            window in prop_oneof![0..90_u16, 60_000..65_535_u16, Just(65_534)],
        ) {
            let from = from.min(gaps.len());
            let rows = from..gaps.len().min(from + len);
            let expected = plain(&gaps, &labels, rows.clone(), [1, 3], window);
            for simd in Simd::available() {
                let found = pairs(simd, &gaps, &labels, rows.clone(), [1, 3], window);
                prop_assert_eq!(found, expected, "{:?}", simd);
            }
        }
    }

    #[test]
    fn crowded_rows_are_given_up() {
        for (near, is_counted) in [(REACH - 1, true), (REACH, false)] {
            for first in [0, 1, 63, 64, 65, 100] {
                // One row after `near` others at the same time.
                let mut gaps = vec![GAP_MAX; first + 1];
                gaps.extend(vec![0; near]);
                gaps.extend([GAP_MAX; 70]);
                let labels: Vec<u8> = (0..gaps.len()).map(|row| u8::from(row == first)).collect();
                for simd in Simd::available() {
                    let found = pairs(simd, &gaps, &labels, 0..gaps.len(), [0, 1], 0);
                    assert_eq!(found, is_counted.then_some(near as u64), "{first} {simd:?}");
                }
            }
        }
    }
}
