//! Kernels over the column of gaps: distances of rows are sums of gaps, which saturate as the gaps do, so that a
//! distance below [`GAP_MAX`] is exact and every longer one stays above.
//!
//! A row is the later one of its pairs. Rows before those that are counted are looked back at, as far as the window
//! reaches; the gap of the first row of a source is the largest one, so that no distance spans two sources. All
//! kernels give up, by returning `None`, if a row has [`REACH`] others within the window. Gaps and labels come from a
//! file that may be damaged: no length, index or loop relies on their values.

#[cfg(target_arch = "x86_64")]
mod steps;

pub(crate) mod gathered;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod vbmi2;

use std::ops::Range;

pub(crate) use tagq_store::format::GAP_MAX;

use super::{
    matrix::Matrix,
    rows::MASK_ROWS,
    simd::{Level, Simd},
};

/// Rows of a step, and the most rows before one that a kernel looks back at.
#[cfg(target_arch = "x86_64")]
const ROWS: usize = MASK_ROWS;
/// Bits of the number of a row.
#[cfg(target_arch = "x86_64")]
const ROW_BITS: u32 = 56;
/// The number of rows within the window of one from which on a kernel gives up.
pub(crate) const REACH: usize = 64;

/// The distances that the two tags of a pair may have, in ticks, up to below [`GAP_MAX`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairDistances {
    /// If the tag with the second label is the later row.
    pub forward: Option<Span>,
    /// If the tag with the first label is the later row.
    pub back: Option<Span>,
}

/// The smallest and the largest distance.
pub(crate) type Span = (u16, u16);

impl PairDistances {
    /// Returns the distances of pairs in which the time of the second tag less that of the first is `low` to `high`.
    /// Returns `None` if gaps cannot decide about all of them.
    pub(crate) fn of(low: i64, high: i64) -> Option<Self> {
        let span = |low: i64, high: i64| {
            let narrow = |ticks: i64| u16::try_from(ticks).ok().filter(|&ticks| ticks < GAP_MAX);
            if high < 0 { Some(None) } else { Some(Some((narrow(low.max(0))?, narrow(high)?))) }
        };
        let forward = span(low, high)?;
        Some(Self { forward, back: span(high.checked_neg()?, low.checked_neg()?)? })
    }

    /// Returns the largest distance.
    pub(crate) fn reach(&self) -> u16 {
        self.forward.into_iter().chain(self.back).map(|span| span.1).max().unwrap_or(0)
    }
}

/// Returns the mean number of rows within reach from which on one pair is counted faster by ranks.
pub(crate) fn crowded_pair(simd: Simd, distances: &PairDistances) -> usize {
    match simd.level() {
        Level::Scalar => 1,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if distances.forward != distances.back => 5,
        #[cfg(target_arch = "x86_64")]
        _ => 20,
    }
}

/// Counts pairs of a tag with label a and a tag with label b, a ≠ b. Their distance is one of `distances`, and the
/// later tag is in `rows`. Returns `None` if a row has [`REACH`] others within reach.
pub(crate) fn pairs(
    simd: Simd,
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    distances: &PairDistances,
) -> Option<u64> {
    check(gaps, labels.len(), &rows, distances.reach());
    at_level!(simd, pairs(gaps, labels, rows, pair, distances))
}

/// Passes to `take`, some at a time, the differences of the pairs that [`pairs`] counts, in any order: the time of the tag
/// with the second label less that of the other and less `low`, modulo 2^16. With equal labels each pair is taken both
/// ways. Gives up with the first row whose differences were not passed.
pub(crate) fn differences(
    simd: Simd,
    (gaps, labels): (&[u16], &[u8]),
    rows: Range<usize>,
    pair: [u8; 2],
    (distances, low): (&PairDistances, i128),
    gathered: &mut gathered::Gathered,
    mut take: impl FnMut(&mut [u16]),
) -> Result<(), usize> {
    check(gaps, labels.len(), &rows, distances.reach());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^16")]
    let wanted = (distances, low as u16);
    let end = at_level!(simd, differences(gaps, labels, rows, pair, wanted, gathered, &mut take));
    gathered.empty(&mut take);
    end
}

/// Adds pairs of rows to `matrix`, the number of the later row first. The rows are at most `window` ticks apart, and the
/// later row is in `rows`. `number_of` gives the number of each label, below the side of the matrix.
pub(crate) fn matrix(
    simd: Simd,
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    window: u16,
    number_of: &[u8; 256],
    matrix: &mut Matrix,
) -> Option<()> {
    check(gaps, labels.len(), &rows, window);
    at_level!(simd, matrix(gaps, labels, rows, window, number_of, matrix))
}

/// Divides rows into chains, in each of which a row is at most `window` ticks after the one before. Adds those of two rows
/// to `matrix`, as [`matrix()`] does, and passes the rows of longer ones to `take`, in order. No chain may begin before
/// `rows` or end after them.
pub(crate) fn chains(
    simd: Simd,
    input: (&[u16], &[u8]),
    rows: Range<usize>,
    window: u16,
    number_of: &[u8; 256],
    matrix: &mut Matrix,
    mut take: impl FnMut(usize),
) {
    check(input.0, input.1.len(), &rows, window);
    at_level!(simd, chains(input, rows, window, number_of, matrix, &mut take));
}

/// Sets bit i of the masks if the i-th of `rows` is at most `window` ticks after the row k before it. `k` is 1 to
/// [`REACH`], and there must be a mask for every row. Prefetches labels that are read soon.
pub(crate) fn near(
    simd: Simd,
    (gaps, labels): (&[u16], &[u8]),
    rows: Range<usize>,
    k: usize,
    window: u16,
    masks: &mut [u64],
) {
    check(gaps, gaps.len(), &rows, window);
    assert!((1..=REACH).contains(&k) && masks.len() == rows.len().div_ceil(MASK_ROWS));
    at_level!(simd, near((gaps, labels), rows, k, window, masks));
}

fn check(gaps: &[u16], labels: usize, rows: &Range<usize>, window: u16) {
    assert_eq!(gaps.len(), labels);
    assert!(rows.start <= rows.end && rows.end <= gaps.len());
    assert!(window < GAP_MAX, "every distance would be within it");
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

    /// The distance of the row `k` before `row` by a sum of 64 bits; `None` if there is no such row.
    fn distance(gaps: &[u16], row: usize, k: usize) -> Option<u64> {
        let before = row.checked_sub(k)?;
        Some(gaps[before + 1..=row].iter().map(|&gap| u64::from(gap)).sum())
    }

    /// The labels of all pairs, the later one's first; `None` if a row has too many others within the window.
    fn plain(gaps: &[u16], labels: &[u8], rows: Range<usize>, window: u16) -> Option<Vec<[u8; 2]>> {
        let mut pairs = Vec::new();
        for row in rows {
            let is_near = |&k: &usize| distance(gaps, row, k).is_some_and(|d| d <= window.into());
            let near = (1..=row).take_while(is_near).count();
            pairs.extend((1..=near).map(|k| [labels[row], labels[row - k]]));
            if near >= REACH {
                return None;
            }
        }
        Some(pairs)
    }

    fn within(window: u16) -> PairDistances {
        PairDistances { forward: Some((0, window)), back: Some((0, window)) }
    }

    /// Numbers that differ from the labels.
    const NUMBER_OF: [u8; 256] = {
        let mut numbers = [4; 256];
        numbers[3] = 0;
        numbers[0] = 1;
        numbers[2] = 2;
        numbers
    };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_level_counts_as_plain_sums_do(
            (gaps, labels) in tags(),
            (from, len) in (0..400_usize, 0..400_usize),
            window in prop_oneof![0..90_u16, 60_000..65_535_u16, Just(65_534)],
            k in prop_oneof![1..4_usize, 1..=REACH],
        ) {
            let from = from.min(gaps.len());
            let rows = from..gaps.len().min(from + len);
            let expected = plain(&gaps, &labels, rows.clone(), window);
            let is_wanted = |pair: &&[u8; 2]| [[1, 3], [3, 1]].contains(*pair);
            let of_pair = expected.as_ref().map(|all| all.iter().filter(is_wanted).count() as u64);
            let is_near = |row: usize| distance(&gaps, row, k).is_some_and(|d| d <= window.into());
            let near_rows: Vec<bool> = rows.clone().map(is_near).collect();
            for simd in Simd::available() {
                let found = pairs(simd, &gaps, &labels, rows.clone(), [1, 3], &within(window));
                prop_assert_eq!(found, of_pair, "{:?}", simd);

                let mut counted = Matrix::new(5);
                let found =
                    matrix(simd, &gaps, &labels, rows.clone(), window, &NUMBER_OF, &mut counted);
                prop_assert_eq!(found.is_some(), expected.is_some(), "{:?}", simd);
                for (x, y) in (0..5).flat_map(|x| (0..5).map(move |y| (x, y))) {
                    let Some(expected) = &expected else { break };
                    let is_in = |pair: &&[u8; 2]| pair.map(|l| NUMBER_OF[usize::from(l)]) == [x, y];
                    let count = expected.iter().filter(is_in).count() as u64;
                    prop_assert_eq!(counted.get(x, y), count, "{:?}", simd);
                }

                let mut masks = vec![u64::MAX; rows.len().div_ceil(MASK_ROWS)];
                near(simd, (&gaps, &labels), rows.clone(), k, window, &mut masks);
                let bit = |at: usize| masks[at / MASK_ROWS] >> (at % MASK_ROWS) & 1 == 1;
                let found: Vec<bool> = (0..rows.len()).map(bit).collect();
                prop_assert_eq!(&found, &near_rows, "{:?} {}", simd, k);
            }
        }
    }

    fn span() -> impl Strategy<Value = Option<Span>> {
        let end = || prop_oneof![0..200_u16, 65_400..65_535_u16];
        prop::option::of((end(), end()).prop_map(|(a, b)| (a.min(b), a.max(b))))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn pairs_at_a_distance_are_counted_by_their_order(
            (gaps, labels) in tags(),
            from in 0..100_usize,
            (forward, back) in (span(), span()),
        ) {
            let rows = from.min(gaps.len())..gaps.len();
            let wanted = PairDistances { forward, back };
            let window = wanted.reach();
            let mut expected = Some(0);
            for row in rows.clone() {
                let near = |&k: &usize| distance(&gaps, row, k).is_some_and(|d| d <= window.into());
                let near: Vec<usize> = (1..=row).take_while(near).collect();
                for &k in &near {
                    let span = match [labels[row - k], labels[row]] {
                        [1, 3] => forward,
                        [3, 1] => back,
                        _ => None,
                    };
                    let is_in = |(low, high): Span| {
                        distance(&gaps, row, k).is_some_and(|d| (low.into()..=high.into()).contains(&d))
                    };
                    expected = expected.map(|count| count + u64::from(span.is_some_and(is_in)));
                }
                if near.len() >= REACH {
                    expected = None;
                }
            }
            for simd in Simd::available() {
                let found = pairs(simd, &gaps, &labels, rows.clone(), [1, 3], &wanted);
                prop_assert_eq!(found, expected, "{:?}", simd);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn chains_are_runs_of_near_rows(
            (gaps, labels) in tags(),
            (from, len) in (0..400_usize, 0..400_usize),
            window in 0..60_u16,
        ) {
            // Whole chains.
            let is_linked = |row: usize| row > 0 && gaps.get(row).is_some_and(|&gap| gap <= window);
            let begins = |row: usize| (row..=gaps.len()).find(|&row| !is_linked(row));
            let start = begins(from.min(gaps.len())).unwrap_or(0);
            let rows = start..begins(gaps.len().min(start + len)).unwrap_or(start);
            let all: Vec<usize> = rows.clone().collect();
            let chains = all.chunk_by(|_, &row| is_linked(row));
            let members: Vec<usize> = chains.clone().filter(|c| c.len() > 2).flatten().copied().collect();
            let number = |row: usize| NUMBER_OF[usize::from(labels[row])];
            let mut expected = Matrix::new(5);
            for chain in chains.filter(|chain| chain.len() == 2) {
                expected.add(number(chain[1]), number(chain[0]), 1);
            }
            for simd in Simd::available() {
                let (mut found, mut taken) = (Matrix::new(5), Vec::new());
                let input = (&gaps[..], &labels[..]);
                let take = |row| taken.push(row);
                super::chains(simd, input, rows.clone(), window, &NUMBER_OF, &mut found, take);
                prop_assert_eq!(&taken, &members, "{:?}", simd);
                for (x, y) in (0..5).flat_map(|x| (0..5).map(move |y| (x, y))) {
                    prop_assert_eq!(found.get(x, y), expected.get(x, y), "{:?}", simd);
                }
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
                    let found = pairs(simd, &gaps, &labels, 0..gaps.len(), [0, 1], &within(0));
                    assert_eq!(found, is_counted.then_some(near as u64), "{first} {simd:?}");
                }
            }
        }
    }
}
