//! Kernels that compare rows with the rows before them, built from the instructions of a level, written once.
//!
//! A column and level provide `Value` (the values of the column), `Ticks` (distances and windows), `Distances` (of
//! the rows of a step to the k-th row before each), `at` (makes them for any k), `next` (makes those of k + 1 from
//! those of k), `within` (the rows of a step whose distance is within the window), `within_span` (from a smallest
//! distance on), `Order` and `is_sorted` (whether times are in order) and `equal` (the rows of a step with a label).

use crate::kernels::rows::MASK_ROWS;

/// The rows of a step and of the step before it that have each of two labels.
#[derive(Default)]
pub(super) struct Ends {
    pub now: [u64; 2],
    pub before: [u64; 2],
    /// The first row of the step.
    pub start: Option<usize>,
}

impl Ends {
    /// Returns the rows of the step that are the later row of a pair with the k-th row before them: those with the
    /// second label, and those with the first.
    #[inline]
    pub(super) fn pairs(&self, k: usize) -> [u64; 2] {
        let [a, b] = [0, 1].map(|i| self.now[i] << k | self.before[i] >> (MASK_ROWS - k));
        [self.now[1] & a, self.now[0] & b]
    }
}

/// Defines `pairs`, `near_pairs`, `chains` and `near` for a column and a level with these target features.
macro_rules! neighbour_kernels {
    ($features:literal) => {
        /// See [`crate::kernels::neighbours::pairs`].
        #[target_feature(enable = $features)]
        pub(in crate::kernels::neighbours) fn pairs(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            wanted: &PairDistances,
        ) -> Option<u64> {
            // Spans compiled for any distances slow down those that begin at 0.
            if wanted.are_within_reach() {
                spanned_pairs::<false>(values, labels, rows, pair, wanted)
            } else {
                spanned_pairs::<true>(values, labels, rows, pair, wanted)
            }
        }

        #[target_feature(enable = $features)]
        fn spanned_pairs<const HAS_SPANS: bool>(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            wanted: &PairDistances,
        ) -> Option<u64> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let mut count = scalar::pairs_of(values, labels, rows.start..begin, pair, wanted)?;
            let (rest, spans) = (begin..rows.end, wanted.map(ticks));
            let mut ends = Ends::default();
            let mut order = Order::new();
            let window = (spans.reach(), &mut order);
            let end = steps(values, labels, rest, window, |start, labels, k, near, distances| {
                if k == 1 {
                    look(&mut ends, start, labels, pair);
                }
                let pairs = ends.pairs(k);
                let [forward, back] =
                    if HAS_SPANS { inside(pairs, near, distances, &spans) } else { pairs };
                count += u64::from((near & (forward | back)).count_ones());
            });
            let end = end.ok()?;
            count += scalar::pairs_of(values, labels, end..rows.end, pair, wanted)?;
            is_in_order(order, values, &rows).then_some(count)
        }

        /// Compares the labels of a step, and of the step before it, with both labels of the pair.
        #[inline]
        #[target_feature(enable = $features)]
        fn look(ends: &mut Ends, start: usize, labels: &[u8; 2 * ROWS], pair: [u8; 2]) {
            let (earlier, later) = labels.split_at(ROWS);
            let of = |labels: &[u8]| pair.map(|label| equal(step(labels), label));
            let is_known = ends.start == Some(start - ROWS);
            ends.before = if is_known { ends.now } else { of(earlier) };
            ends.now = of(later);
            ends.start = Some(start);
        }

        /// Returns those of the pairs, one mask for each order of labels, whose distance is wanted.
        #[inline]
        #[target_feature(enable = $features)]
        fn inside(
            [forward, back]: [u64; 2],
            near: u64,
            distances: &Distances,
            wanted: &PairDistances<Ticks>,
        ) -> [u64; 2] {
            let in_span = |span: Option<Span<Ticks>>, pairs: u64| match span {
                // Near rows are at most the larger of both ends.
                Some((0, high)) if high == wanted.reach() => near & pairs,
                Some(span) => within_span(distances, span) & pairs,
                None => 0,
            };
            [in_span(wanted.forward, forward), in_span(wanted.back, back)]
        }

        /// See [`crate::kernels::neighbours::near_pairs`].
        #[target_feature(enable = $features)]
        pub(in crate::kernels::neighbours) fn near_pairs(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            reach: i64,
            number_of: &[u8; 256],
            take: &mut impl TakePairs,
        ) -> Option<()> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let before = rows.start..begin;
            scalar::near_pairs_of(values, labels, before, reach, number_of, take)?;
            let number = |row: usize| number_of[usize::from(labels[row])];
            // The row, and in the bits above it how many rows before it the other row of the pair is.
            let mut add = |found: &[usize]| {
                for found in found {
                    let (row, k) = (found & (1 << ROW_BITS) - 1, found >> ROW_BITS);
                    let apart = || scalar::apart(values, row, k);
                    take.take([number(row), number(row - k)], apart);
                }
            };
            let (mut found, mut order) = (FoundRows::new(), Order::new());
            let (rest, windows) = (begin..rows.end, (ticks(reach), &mut order));
            let end = steps(values, labels, rest, windows, |start, _, k, near, _| {
                found.add(start | k << ROW_BITS, near, &mut add);
            });
            let end = end.ok()?;
            found.take(add);
            scalar::near_pairs_of(values, labels, end..rows.end, reach, number_of, take)?;
            is_in_order(order, values, &rows).then_some(())
        }

        /// See [`crate::kernels::neighbours::chains`].
        #[target_feature(enable = $features)]
        pub(in crate::kernels::neighbours) fn chains(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            window: i64,
            number_of: &[u8; 256],
            matrix: &mut Matrix,
            take: &mut impl FnMut(usize),
        ) -> Option<()> {
            let number = |row: usize| number_of[usize::from(labels[row])];
            let mut add = |found: &[usize]| {
                for &row in found {
                    matrix.add(number(row), number(row - 1), 1);
                }
            };
            let (mut found, mut order) = (FoundRows::new(), Order::new());
            let mut near_rows = |start: usize| {
                let rows = start.min(rows.end)..rows.end.min(start + ROWS);
                near_step(values, labels, rows, 1, window, &mut order)
            };
            let last = ROWS - 1;
            // Rows near the one before: whether the last row before the step is, and those of the step.
            let (mut before, mut now) = (0, near_rows(rows.start));
            for start in rows.clone().step_by(ROWS) {
                let next = near_rows(start + ROWS);
                let of_two = now & !(now << 1 | before) & !(now >> 1 | next << last);
                found.add(start, of_two, &mut add);
                let in_longer = now & !of_two;
                // The first row of the next step is in a longer chain if the row before or after it is near, too.
                let next_in_longer = next & (now >> last | next >> 1) & 1;
                for bit in bits(in_longer | in_longer >> 1 | next_in_longer << last) {
                    take(start + bit);
                }
                (before, now) = (now >> last, next);
            }
            found.take(add);
            is_in_order(order, values, &rows).then_some(())
        }

        /// See [`crate::kernels::neighbours::near`].
        #[target_feature(enable = $features)]
        pub(in crate::kernels::neighbours) fn near(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            k: usize,
            window: i64,
            masks: &mut [u64],
        ) -> Option<()> {
            let mut order = Order::new();
            for (step, mask) in masks.iter_mut().enumerate() {
                let start = rows.start + step * ROWS;
                let of_step = start..rows.end.min(start + ROWS);
                *mask = near_step(values, labels, of_step, k, window, &mut order);
            }
            is_in_order(order, values, &rows).then_some(())
        }

        /// Returns which of at most [`ROWS`] rows are within the window of the k-th row before them.
        #[inline]
        #[target_feature(enable = $features)]
        fn near_step(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            k: usize,
            window: i64,
            order: &mut Order,
        ) -> u64 {
            let whole = rows
                .start
                .checked_sub(ROWS)
                .filter(|_| rows.len() == ROWS)
                .and_then(|first| values[first..].first_chunk::<{ 2 * ROWS }>());
            let Some(of_values) = whole else {
                return scalar::near_rows(values, rows, k, window);
            };
            ask(values, rows.start);
            ask(labels, rows.start);
            order.add_step(of_values);
            within(&at(of_values, k), ticks(window))
        }

        /// Passes to `take` the first row of each whole step, its labels after those of the step before, and for k = 1,
        /// 2, … the mask of its rows that are within the window of the k-th row before them, until there are none,
        /// and their distances. Returns the row after the last step, or as an error the first row of a step in which a
        /// row has too many near it.
        #[inline]
        #[target_feature(enable = $features)]
        fn steps(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            (window, order): (Ticks, &mut Order),
            mut take: impl FnMut(usize, &[u8; 2 * ROWS], usize, u64, &Distances),
        ) -> Result<usize, usize> {
            let mut start = rows.start;
            while start + ROWS <= rows.end {
                let first = start - ROWS;
                let (Some(of_values), Some(of_labels)) =
                    (values[first..].first_chunk::<{ 2 * ROWS }>(), labels[first..].first_chunk())
                else {
                    break;
                };
                ask(values, start);
                ask(labels, start);
                order.add_step(of_values);
                // Outside of the loop, where k is known: the loads are those of the order.
                let mut distances = at(of_values, 1);
                let mut near = within(&distances, window);
                let mut k = 1;
                while near != 0 {
                    if k == REACH {
                        return Err(start);
                    }
                    take(start, of_labels, k, near, &distances);
                    next(&mut distances, of_values, k);
                    near = within(&distances, window);
                    k += 1;
                }
                start += ROWS;
            }
            Ok(start)
        }

        /// Returns whether times are in order, from the first row that is looked back at; `order` is that of the whole
        /// steps, which omit the first and the last rows.
        #[inline]
        #[target_feature(enable = $features)]
        fn is_in_order(order: Order, values: &[Value], rows: &Range<usize>) -> bool {
            let first = rows.start.saturating_sub(REACH);
            let begin = rows.end.min(rows.start + 2 * ROWS);
            let end = rows.end.saturating_sub(ROWS + 1).max(first);
            order.is_certain()
                && scalar::is_in_order(&values[first..begin])
                && scalar::is_in_order(&values[end..rows.end])
                || is_sorted(&values[first..rows.end])
        }

        #[inline]
        fn step(labels: &[u8]) -> &[u8; ROWS] {
            labels.first_chunk().unwrap_or_else(|| unreachable!("a step has so many labels"))
        }
    };
}

pub(super) use neighbour_kernels;
