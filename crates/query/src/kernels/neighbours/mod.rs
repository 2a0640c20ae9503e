//! Kernels that compare rows with the rows before them, over gaps of 16 or 32 bits or over times.
//!
//! A row is the later one of its pairs: of rows at 0, 4 and 9, window 5, that at 9 is within the window of the row
//! before it only. Rows before those that are counted are read as far as the window reaches. The gap of the first row
//! of a source is the largest one, so that no distance spans two sources; times are those of one source. All kernels
//! give up, by returning `None`, if a row has [`REACH`] others within the window, or if times decrease. Values and
//! labels come from a file that may be damaged: no length, index or loop relies on them.

#[cfg(target_arch = "x86_64")]
mod differences;
#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(target_arch = "x86_64")]
mod unsigned;

mod gaps;
mod scalar;
mod times;
mod wide_gaps;

pub(crate) use super::rows::REACH;

use std::ops::Range;

use tagq_store::format::GAP_MAX;

use super::{
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    rows::MASK_ROWS,
    simd::Simd,
};

/// Rows of a step, and the most rows before one that a kernel looks back at.
#[cfg(target_arch = "x86_64")]
const ROWS: usize = MASK_ROWS;
/// Bits of the number of a row.
#[cfg(target_arch = "x86_64")]
const ROW_BITS: u32 = 56;

/// The column from which the distances of rows follow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DistanceColumn<'a> {
    /// Gaps, for distances below [`GAP_MAX`].
    Gaps(&'a [u16]),
    /// Gaps of 32 bits, for distances below [`u32::MAX`].
    WideGaps(&'a [u32]),
    /// Times, whose differences must fit in `i64`.
    Times(&'a [i64]),
}

impl DistanceColumn<'_> {
    /// Returns the distance of a row from the row before it; all distances from the largest gap on may be the
    /// same.
    #[inline]
    pub(crate) fn gap(self, row: usize) -> i64 {
        match self {
            Self::Gaps(gaps) => gaps[row].into(),
            Self::WideGaps(gaps) => gaps[row].into(),
            Self::Times(times) => match row.checked_sub(1) {
                Some(before) => times[row].wrapping_sub(times[before]),
                None => i64::MAX,
            },
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Gaps(gaps) => gaps.len(),
            Self::WideGaps(gaps) => gaps.len(),
            Self::Times(times) => times.len(),
        }
    }
}

/// Rows of all channels. Rows before those in `range` are only looked back at.
#[derive(Clone)]
pub(crate) struct ComparedRows<'a> {
    pub column: DistanceColumn<'a>,
    pub labels: &'a [u8],
    pub range: Range<usize>,
    /// The number of each label; labels not in use have the number after the last.
    pub number_of: &'a [u8; 256],
}

impl ComparedRows<'_> {
    /// Returns the number of the label of a row.
    #[inline]
    pub(crate) fn number(&self, row: usize) -> u8 {
        self.number_of[usize::from(self.labels[row])]
    }
}

/// The distances that the two tags of a pair may have, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairDistances<T = i64> {
    /// If the tag with the second label is the later row.
    pub forward: Option<Span<T>>,
    /// If the tag with the first label is the later row.
    pub back: Option<Span<T>>,
}

/// Differences from a smallest one on, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct DifferenceRange {
    /// The smallest difference.
    pub low: i64,
    /// The largest difference less the smallest.
    pub above: u64,
}

/// The smallest and the largest distance, at least 0.
pub(crate) type Span<T = i64> = (T, T);

impl PairDistances {
    /// Returns the distances of pairs in which the time of the second tag less that of the first is `low` to `high`.
    /// Returns `None` if they do not fit in 64 bits.
    pub(crate) fn between(low: i64, high: i64) -> Option<Self> {
        let span = |low: i64, high: i64| (high >= 0).then_some((low.max(0), high));
        Some(Self { forward: span(low, high), back: span(high.checked_neg()?, low.checked_neg()?) })
    }

    /// Returns the range of the differences of these pairs: the time of the second tag less that of the first.
    fn range(&self) -> DifferenceRange {
        let ends = [self.forward, self.back.map(|(low, high)| (-high, -low))];
        let ends = || ends.iter().flatten();
        let low = ends().map(|&(low, _)| low).min().unwrap_or(0);
        let high = ends().map(|&(_, high)| high).max().unwrap_or(0);
        DifferenceRange { low, above: high.abs_diff(low) }
    }

    /// Returns whether the differences less the smallest have 16 bits.
    pub(crate) fn are_16_bits(&self) -> bool {
        self.range().above <= u16::MAX.into()
    }

    /// Returns whether the differences less the smallest have 32 bits.
    pub(crate) fn are_32_bits(&self) -> bool {
        self.range().above <= u32::MAX.into()
    }

    /// Returns whether all distances up to the reach are wanted, in either order.
    #[cfg(target_arch = "x86_64")]
    fn are_within_reach(&self) -> bool {
        let all = Some((0, self.reach()));
        [self.forward, self.back] == [all, all]
    }

    /// Returns the same distances in another type.
    #[cfg(target_arch = "x86_64")]
    fn map<T>(&self, ticks: impl Fn(i64) -> T) -> PairDistances<T> {
        let span = |(low, high)| (ticks(low), ticks(high));
        PairDistances { forward: self.forward.map(span), back: self.back.map(span) }
    }
}

impl<T: Copy + Ord + Default> PairDistances<T> {
    /// Returns the largest distance.
    pub(crate) fn reach(&self) -> T {
        self.forward.into_iter().chain(self.back).map(|span| span.1).max().unwrap_or_default()
    }
}

/// The largest distance of delayed times, and the delays.
#[derive(Debug, Clone)]
pub(crate) struct DelayedWindow {
    pub ticks: i64,
    /// The largest distance of recorded times that delayed times within the window can have.
    pub reach: i64,
    /// The delay of each number, counted from the smallest delay; `None` if all are equal.
    pub delays: Option<Box<[i64; 256]>>,
}

impl DelayedWindow {
    /// Creates a window for numbers with these delays. Returns `None` if its reach does not fit in 64 bits.
    pub(crate) fn new(ticks: i64, of_numbers: &[i64]) -> Option<Self> {
        let (first, last) = (of_numbers.iter().min()?, of_numbers.iter().max()?);
        let apart = last.checked_sub(*first)?;
        let mut delays = Box::new([0; 256]);
        for (delay, of_number) in delays.iter_mut().zip(of_numbers) {
            *delay = of_number - first;
        }
        Some(Self {
            ticks,
            reach: ticks.checked_add(apart)?,
            delays: (apart > 0).then_some(delays),
        })
    }
}

/// Counts in a matrix the pairs whose delayed times are within the window.
struct Delayed<'a> {
    ticks: i64,
    delays: &'a [i64; 256],
    matrix: &'a mut Matrix,
}

impl TakePairs for Delayed<'_> {
    #[inline]
    fn take(&mut self, [later, earlier]: [u8; 2], apart: impl FnOnce() -> i64) {
        let delay = |number: u8| self.delays[usize::from(number)];
        let apart = apart() + delay(later) - delay(earlier);
        let is_in = (-self.ticks..=self.ticks).contains(&apart);
        self.matrix.add(later, earlier, is_in.into());
    }
}

/// Calls the kernel of the column and level.
macro_rules! of_column {
    ($simd:expr, $rows:expr, $kernel:ident($($argument:expr),* $(,)?)) => {{
        let (labels, range) = ($rows.labels, $rows.range.clone());
        match $rows.column {
            DistanceColumn::Gaps(gaps) => at_level!($simd, gaps, $kernel(gaps, labels, range, $($argument),*)),
            DistanceColumn::WideGaps(gaps) => {
                at_level!($simd, wide_gaps, $kernel(gaps, labels, range, $($argument),*))
            }
            DistanceColumn::Times(times) => {
                at_level!($simd, times, $kernel(times, labels, range, $($argument),*))
            }
        }
    }};
}

/// Counts pairs of a tag with label a and a tag with label b, a ≠ b. Their distance is one of `distances`, and the
/// later tag is in the range of rows.
pub(crate) fn pairs(
    simd: Simd,
    rows: &ComparedRows<'_>,
    pair: [u8; 2],
    distances: &PairDistances,
) -> Option<u64> {
    check(rows.column, rows.labels, &rows.range, distances.reach());
    of_column!(simd, rows, pairs(pair, distances))
}

/// Passes to `take`, some at a time, the differences of the pairs that [`pairs`] counts, in any order, for distances
/// made by [`PairDistances::between`]: the time of the tag with the second label less that of the other and less the
/// smallest wanted difference, modulo 2^16 over gaps. Over wide gaps, differences must have 32 bits
/// ([`PairDistances::are_32_bits`]). With equal labels each pair is taken both ways. No difference is larger than the
/// largest wanted one, whatever the times are. Returns as an error the first row whose differences were not passed,
/// because a row has too many others within reach, or the first row of all if times decrease: then some were passed.
pub(crate) fn differences(
    simd: Simd,
    rows: &ComparedRows<'_>,
    pair: [u8; 2],
    distances: &PairDistances,
    Differences { narrow, middle, wide }: &mut Differences,
    mut take: impl TakeDifferences,
) -> Result<(), usize> {
    check(rows.column, rows.labels, &rows.range, distances.reach());
    let (labels, range) = (rows.labels, rows.range.clone());
    match rows.column {
        DistanceColumn::Gaps(column) => {
            let take = &mut |differences: &mut [u16]| take.narrow(differences);
            let end = at_level!(
                simd,
                gaps,
                differences(column, labels, range, pair, distances, narrow, take)
            );
            narrow.empty(take);
            end
        }
        DistanceColumn::WideGaps(column) => {
            assert!(distances.are_32_bits(), "different differences would be the same");
            let are_16_bits = distances.are_16_bits();
            let take = &mut |differences: &mut [u32]| {
                if are_16_bits {
                    let take = &mut |differences: &mut [u16]| take.narrow(differences);
                    narrow.convert(differences, low_16_bits, take);
                } else {
                    let take = &mut |differences: &mut [u64]| take.wide(differences);
                    wide.convert(differences, u64::from, take);
                }
            };
            let end = at_level!(
                simd,
                wide_gaps,
                differences(column, labels, range, pair, distances, middle, take)
            );
            middle.empty(take);
            end
        }
        DistanceColumn::Times(column) => {
            let take = &mut |differences: &mut [u64]| take.wide(differences);
            let end = at_level!(
                simd,
                times,
                differences(column, labels, range, pair, distances, wide, take)
            );
            wide.empty(take);
            end
        }
    }
}

/// Returns a difference of 16 bits.
#[expect(clippy::cast_possible_truncation, reason = "the other bits are 0")]
fn low_16_bits(difference: u32) -> u16 {
    difference as u16
}

/// The buffers for differences over gaps, wide gaps and times.
pub(crate) struct Differences {
    narrow: Gathered<u16>,
    middle: Gathered<u32>,
    pub(crate) wide: Gathered<u64>,
}

impl Differences {
    pub(crate) fn new() -> Self {
        Self { narrow: Gathered::new(), middle: Gathered::new(), wide: Gathered::new() }
    }
}

/// Receives differences less the smallest wanted one.
pub(crate) trait TakeDifferences {
    /// Takes differences of 16 bits, over gaps or wide gaps, which may be modified.
    fn narrow(&mut self, differences: &mut [u16]);

    /// Takes those over times, and over wide gaps those of more than 16 bits.
    fn wide(&mut self, differences: &[u64]);
}

/// Passes to `take` the pairs of rows that are at most `reach` ticks apart, in any order. The later row is in the range
/// of rows.
pub(crate) fn near_pairs(
    simd: Simd,
    rows: &ComparedRows<'_>,
    reach: i64,
    take: &mut impl TakePairs,
) -> Option<()> {
    check(rows.column, rows.labels, &rows.range, reach);
    of_column!(simd, rows, near_pairs(reach, rows.number_of, take))
}

/// Adds pairs of rows within the window to `matrix`, the number of the later row first. The later row is in the range
/// of rows.
pub(crate) fn matrix(
    simd: Simd,
    rows: &ComparedRows<'_>,
    window: &DelayedWindow,
    matrix: &mut Matrix,
) -> Option<()> {
    let &DelayedWindow { ticks, reach, ref delays } = window;
    // Testing the delays would slow down pairs without them.
    match delays {
        None => near_pairs(simd, rows, reach, matrix),
        Some(delays) => near_pairs(simd, rows, reach, &mut Delayed { ticks, delays, matrix }),
    }
}

/// Divides rows into chains: runs of rows that are each at most `window` ticks after the row before. Adds the chains
/// of two rows to `matrix`, the number of the later row first, and passes the rows of longer chains to `take`, in
/// order. No chain may begin before the range of rows or end after it. Gives up only if times decrease.
pub(crate) fn chains(
    simd: Simd,
    rows: &ComparedRows<'_>,
    window: i64,
    matrix: &mut Matrix,
    mut take: impl FnMut(usize),
) -> Option<()> {
    check(rows.column, rows.labels, &rows.range, window);
    of_column!(simd, rows, chains(window, rows.number_of, matrix, &mut take))
}

/// Sets bit i of the masks if the i-th row is at most `window` ticks after the row k before it. `k` is 1 to [`REACH`],
/// and there must be a mask for every row. Gives up only if times decrease.
pub(crate) fn near(
    simd: Simd,
    rows: &ComparedRows<'_>,
    k: usize,
    window: i64,
    masks: &mut [u64],
) -> Option<()> {
    check(rows.column, rows.labels, &rows.range, window);
    assert!((1..=REACH).contains(&k) && masks.len() == rows.range.len().div_ceil(MASK_ROWS));
    of_column!(simd, rows, near(k, window, masks))
}

fn check(column: DistanceColumn<'_>, labels: &[u8], rows: &Range<usize>, window: i64) {
    assert_eq!(column.len(), labels.len());
    assert!(rows.start <= rows.end && rows.end <= labels.len());
    let is_exact = match column {
        DistanceColumn::Gaps(_) => window < GAP_MAX.into(),
        DistanceColumn::WideGaps(_) => window < u32::MAX.into(),
        DistanceColumn::Times(_) => true,
    };
    assert!(is_exact, "every distance would be within the window");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tagq_sampling::random_cases;

    const HALF: u64 = 1 << 31;
    const WHOLE: u64 = 1 << 32;

    /// Rows of several sources: how far each is after the row before it, and labels.
    fn tags() -> impl Strategy<Value = (Vec<u64>, Vec<u8>)> {
        let gap = prop_oneof![
            8 => 0..40_u64,
            2 => 32_700..32_800_u64,
            1 => 65_530..65_540_u64,
            1 => 60_000..200_000_u64,
            1 => prop_oneof![HALF - 9..HALF + 9, WHOLE - 9..WHOLE + 9, Just(1 << 40)],
        ];
        prop::collection::vec((gap, 0..4_u8), 0..400).prop_map(|rows| rows.into_iter().unzip())
    }

    /// Windows around the largest ones of both columns of gaps.
    fn large_windows() -> impl Strategy<Value = u64> {
        prop_oneof![
            2 => 60_000..65_535_u64,
            1 => 65_530..70_000_u64,
            1 => HALF - 20..HALF + 20,
            1 => WHOLE - 20..WHOLE + 20,
        ]
    }

    /// The distance of the row `k` before `row`; `None` if there is no such row.
    fn distance(gaps: &[u64], row: usize, k: usize) -> Option<u64> {
        let before = row.checked_sub(k)?;
        Some(gaps[before + 1..=row].iter().sum())
    }

    /// The labels of all pairs, the later one's first; `None` if a row has too many others within the window.
    fn plain(gaps: &[u64], labels: &[u8], rows: Range<usize>, window: u64) -> Option<Vec<[u8; 2]>> {
        let mut pairs = Vec::new();
        for row in rows {
            let is_near = |&k: &usize| distance(gaps, row, k).is_some_and(|d| d <= window);
            let near = (1..=row).take_while(is_near).count();
            pairs.extend((1..=near).map(|k| [labels[row], labels[row - k]]));
            if near >= REACH {
                return None;
            }
        }
        Some(pairs)
    }

    fn within(window: i64) -> PairDistances {
        PairDistances::between(-window, window).unwrap()
    }

    /// All columns of the same rows.
    struct Columns {
        gaps: Vec<u16>,
        wide_gaps: Vec<u32>,
        times: Vec<i64>,
    }

    impl Columns {
        fn new(gaps: &[u64]) -> Self {
            let add = |time: &mut i64, &gap: &u64| {
                *time += i64::try_from(gap).unwrap();
                Some(*time)
            };
            Self {
                gaps: gaps.iter().map(|&gap| u16::try_from(gap).unwrap_or(GAP_MAX)).collect(),
                wide_gaps: gaps.iter().map(|&gap| u32::try_from(gap).unwrap_or(u32::MAX)).collect(),
                times: gaps.iter().scan(-5_000_000, add).collect(),
            }
        }

        /// Each column that is exact for this window, at each level.
        fn each(&self, window: i64) -> Vec<(DistanceColumn<'_>, Simd)> {
            let Self { gaps, wide_gaps, times } = self;
            let mut columns = vec![DistanceColumn::Times(times)];
            if window < GAP_MAX.into() {
                columns.push(DistanceColumn::Gaps(gaps));
            }
            if window < u32::MAX.into() {
                columns.push(DistanceColumn::WideGaps(wide_gaps));
            }
            let each_level = |column| Simd::available().into_iter().map(move |simd| (column, simd));
            columns.into_iter().flat_map(each_level).collect()
        }
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
        #![proptest_config(random_cases(400))]

        #[test]
        fn every_level_counts_as_plain_sums_do(
            (gaps, labels) in tags(),
            (from, len) in (0..400_usize, 0..400_usize),
            window in prop_oneof![2 => 0..90_u64, 3 => large_windows(), 1 => Just(65_534)],
            k in prop_oneof![1..4_usize, 1..=REACH],
        ) {
            let from = from.min(gaps.len());
            let rows = from..gaps.len().min(from + len);
            let expected = plain(&gaps, &labels, rows.clone(), window);
            let is_wanted = |pair: &&[u8; 2]| [[1, 3], [3, 1]].contains(*pair);
            let of_pair = expected.as_ref().map(|all| all.iter().filter(is_wanted).count() as u64);
            let is_near = |row: usize| distance(&gaps, row, k).is_some_and(|d| d <= window);
            let near_rows: Vec<bool> = rows.clone().map(is_near).collect();
            let window = window.cast_signed();
            for (column, simd) in Columns::new(&gaps).each(window) {
                let range = rows.clone();
                let stored = ComparedRows { column, labels: &labels, range, number_of: &NUMBER_OF };
                let found = pairs(simd, &stored, [1, 3], &within(window));
                prop_assert_eq!(found, of_pair, "{:?}", simd);

                let mut counted = Matrix::new(5);
                let of_matrix = DelayedWindow::new(window, &[0]).unwrap();
                let found = matrix(simd, &stored, &of_matrix, &mut counted);
                prop_assert_eq!(found.is_some(), expected.is_some(), "{:?}", simd);
                for (x, y) in (0..5).flat_map(|x| (0..5).map(move |y| (x, y))) {
                    let Some(expected) = &expected else { break };
                    let is_in = |pair: &&[u8; 2]| pair.map(|l| NUMBER_OF[usize::from(l)]) == [x, y];
                    let count = expected.iter().filter(is_in).count() as u64;
                    prop_assert_eq!(counted.get(x, y), count, "{:?}", simd);
                }

                let mut masks = vec![u64::MAX; rows.len().div_ceil(MASK_ROWS)];
                near(simd, &stored, k, window, &mut masks).unwrap();
                let bit = |at: usize| masks[at / MASK_ROWS] >> (at % MASK_ROWS) & 1 == 1;
                let found: Vec<bool> = (0..rows.len()).map(bit).collect();
                prop_assert_eq!(&found, &near_rows, "{:?} {}", simd, k);
            }
        }
    }

    fn span(end: impl Strategy<Value = u64>) -> impl Strategy<Value = Option<Span>> {
        prop::option::of(prop::array::uniform2(end.prop_map(u64::cast_signed)).prop_map(|ends| {
            let [a, b] = ends;
            (a.min(b), a.max(b))
        }))
    }

    fn spans() -> impl Strategy<Value = [Option<Span>; 2]> {
        let short = || span(prop_oneof![0..200_u64, 65_400..65_535_u64]);
        let long = || span(prop_oneof![0..200_u64, large_windows()]);
        prop_oneof![prop::array::uniform2(short()), prop::array::uniform2(long())]
    }

    proptest! {
        #![proptest_config(random_cases(300))]

        #[test]
        fn pairs_at_a_distance_are_counted_by_their_order(
            (gaps, labels) in tags(),
            from in 0..100_usize,
            [forward, back] in spans(),
        ) {
            let rows = from.min(gaps.len())..gaps.len();
            let wanted = PairDistances { forward, back };
            let window = wanted.reach().unsigned_abs();
            let DifferenceRange { low, above } = wanted.range();
            let whole = PairDistances::between(low, low.wrapping_add_unsigned(above)).unwrap();
            let mut expected = Some(0);
            let mut written = Vec::new();
            for row in rows.clone() {
                let near = |&k: &usize| distance(&gaps, row, k).is_some_and(|d| d <= window);
                let near: Vec<usize> = (1..=row).take_while(near).collect();
                for &k in &near {
                    let span = match [labels[row - k], labels[row]] {
                        [1, 3] => forward,
                        [3, 1] => back,
                        _ => None,
                    };
                    let is_in = |(low, high): Span| {
                        let span = low.unsigned_abs()..=high.unsigned_abs();
                        distance(&gaps, row, k).is_some_and(|d| span.contains(&d))
                    };
                    expected = expected.map(|count| count + u64::from(span.is_some_and(is_in)));
                    let sign = match [labels[row - k], labels[row]] {
                        [1, 3] => 1,
                        [3, 1] => -1,
                        _ => continue,
                    };
                    let apart = i64::try_from(distance(&gaps, row, k).unwrap()).unwrap();
                    let from_low = (sign * apart - low).cast_unsigned();
                    written.extend((from_low <= above).then_some(from_low));
                }
                if near.len() >= REACH {
                    expected = None;
                }
            }
            for (column, simd) in Columns::new(&gaps).each(wanted.reach()) {
                let range = rows.clone();
                let stored = ComparedRows { column, labels: &labels, range, number_of: &NUMBER_OF };
                let found = pairs(simd, &stored, [1, 3], &wanted);
                prop_assert_eq!(found, expected, "{:?}", simd);
                if let DistanceColumn::WideGaps(_) = column
                    && !whole.are_32_bits()
                {
                    continue;
                }
                let (mut taken, mut buffers) = (Taken(Vec::new()), Differences::new());
                let end = differences(simd, &stored, [1, 3], &whole, &mut buffers, &mut taken);
                prop_assert_eq!(end.is_ok(), expected.is_some(), "{:?}", simd);
                if end.is_ok() {
                    let modulo = match column {
                        DistanceColumn::Gaps(_) => u16::MAX.into(),
                        DistanceColumn::WideGaps(_) | DistanceColumn::Times(_) => u64::MAX,
                    };
                    let mut written: Vec<u64> = written.iter().map(|d| d & modulo).collect();
                    written.sort_unstable();
                    taken.0.sort_unstable();
                    prop_assert_eq!(taken.0, written, "{:?}", simd);
                }
            }
        }
    }

    struct Taken(Vec<u64>);

    impl TakeDifferences for &mut Taken {
        fn narrow(&mut self, differences: &mut [u16]) {
            self.0.extend(differences.iter().copied().map(u64::from));
        }

        fn wide(&mut self, differences: &[u64]) {
            self.0.extend(differences);
        }
    }

    proptest! {
        #![proptest_config(random_cases(400))]

        #[test]
        fn chains_are_runs_of_near_rows(
            (gaps, labels) in tags(),
            (from, len) in (0..400_usize, 0..400_usize),
            window in prop_oneof![2 => 0..60_u64, 1 => large_windows()],
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
            let window = window.cast_signed();
            for (column, simd) in Columns::new(&gaps).each(window) {
                let (mut found, mut taken) = (Matrix::new(5), Vec::new());
                let range = rows.clone();
                let stored = ComparedRows { column, labels: &labels, range, number_of: &NUMBER_OF };
                let take = |row| taken.push(row);
                super::chains(simd, &stored, window, &mut found, take).unwrap();
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
                let mut gaps = vec![1 << 40; first + 1];
                gaps.extend(vec![0; near]);
                gaps.extend([1 << 40; 70]);
                let labels: Vec<u8> = (0..gaps.len()).map(|row| u8::from(row == first)).collect();
                for (column, simd) in Columns::new(&gaps).each(0) {
                    let range = 0..gaps.len();
                    let stored =
                        ComparedRows { column, labels: &labels, range, number_of: &NUMBER_OF };
                    let found = pairs(simd, &stored, [0, 1], &within(0));
                    assert_eq!(found, is_counted.then_some(near as u64), "{first} {simd:?}");
                }
            }
        }
    }
}
