//! Kernels over gaps built from the instructions of a level, written once.
//!
//! A level provides `load` (the gaps of a step), `add` (adds those k rows before to the distances), `within` (the rows
//! of a step whose distance is within the window), `minus` (distances less a number, modulo 2^16), `write` (writes
//! distances, negated for some rows, less a number) and, as [`super::super::neighbours`], `equal`.

/// The rows of a step and of the step before it that have each of two labels.
#[derive(Default)]
pub(super) struct Ends {
    pub now: [u64; 2],
    pub before: [u64; 2],
    /// The first row of the step.
    pub start: Option<usize>,
}

/// Defines `pairs`, `differences`, `matrix`, `chains` and `near` for a level with these target features.
macro_rules! gap_kernels {
    ($features:literal) => {
        /// See [`super::pairs`].
        #[target_feature(enable = $features)]
        pub(super) fn pairs(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            wanted: &PairDistances,
        ) -> Option<u64> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let mut count = scalar::pairs(gaps, labels, rows.start..begin, pair, wanted)?;
            let (rest, reach) = (begin..rows.end, wanted.reach());
            let mut ends = Ends::default();
            let end = steps(gaps, labels, rest, reach, |start, labels, k, near, distances| {
                if k == 1 {
                    look(&mut ends, start, labels, pair);
                }
                let [forward, back] = inside(&ends, k, near, distances, wanted);
                count += u64::from((forward | back).count_ones());
            });
            Some(count + scalar::pairs(gaps, labels, end.ok()?..rows.end, pair, wanted)?)
        }

        /// See [`super::differences`].
        #[target_feature(enable = $features)]
        pub(super) fn differences(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            (wanted, low): (&PairDistances, u16),
            gathered: &mut Gathered,
            take: &mut impl FnMut(&mut [u16]),
        ) -> Result<(), usize> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let before = rows.start..begin;
            scalar::differences(gaps, labels, before, pair, (wanted, low), gathered, take)?;
            let (rest, reach) = (begin..rows.end, wanted.reach());
            let mut ends = Ends::default();
            let end = steps(gaps, labels, rest, reach, |start, labels, k, near, distances| {
                if k == 1 {
                    look(&mut ends, start, labels, pair);
                    gathered.begin(take);
                }
                let [forward, back] = inside(&ends, k, near, distances, wanted);
                if pair[0] == pair[1] {
                    write(distances, forward, 0, low, gathered);
                    write(distances, back, back, low, gathered);
                } else {
                    write(distances, forward | back, back, low, gathered);
                }
            });
            let end = end.inspect_err(|_| gathered.give_up())?;
            scalar::differences(gaps, labels, end..rows.end, pair, (wanted, low), gathered, take)
        }

        /// Looks at the labels of a step and of the step before it.
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

        /// Returns the rows of a step that are the later row of a wanted pair with the k-th row before them: those
        /// with the second label, and those with the first.
        #[inline]
        #[target_feature(enable = $features)]
        fn inside(
            ends: &Ends,
            k: usize,
            near: u64,
            distances: &Distances,
            wanted: &PairDistances,
        ) -> [u64; 2] {
            let [a, b] = [0, 1].map(|i| ends.now[i] << k | ends.before[i] >> (ROWS - k));
            let in_span = |span: Option<Span>, pairs: u64| match span {
                // Near rows are at most the larger of both.
                Some((0, high)) if high == wanted.reach() => near & pairs,
                Some((low, high)) => within(&minus(distances, low), high - low) & pairs,
                None => 0,
            };
            [in_span(wanted.forward, ends.now[1] & a), in_span(wanted.back, ends.now[0] & b)]
        }

        /// See [`super::matrix`].
        #[target_feature(enable = $features)]
        pub(super) fn matrix(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            window: u16,
            number_of: &[u8; 256],
            matrix: &mut Matrix,
        ) -> Option<()> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let before = rows.start..begin;
            scalar::matrix(gaps, labels, before, window, number_of, matrix)?;
            let number = |row: usize| number_of[usize::from(labels[row])];
            // A row, and above it how many rows lie between it and the other one of the pair.
            let mut add = |found: usize| {
                let (row, k) = (found & (1 << ROW_BITS) - 1, found >> ROW_BITS);
                matrix.add(number(row), number(row - k), 1);
            };
            let mut found = Found::new();
            let end = steps(gaps, labels, begin..rows.end, window, |start, _, k, near, _| {
                found.add(start | k << ROW_BITS, near, &mut add);
            });
            let end = end.ok()?;
            found.take(add);
            scalar::matrix(gaps, labels, end..rows.end, window, number_of, matrix)
        }

        /// See [`super::chains`].
        #[target_feature(enable = $features)]
        pub(super) fn chains(
            (gaps, labels): (&[u16], &[u8]),
            rows: Range<usize>,
            window: u16,
            number_of: &[u8; 256],
            matrix: &mut Matrix,
            take: &mut impl FnMut(usize),
        ) {
            let number = |row: usize| number_of[usize::from(labels[row])];
            let mut add = |row: usize| matrix.add(number(row), number(row - 1), 1);
            let mut found = Found::new();
            let near_rows = |start: usize| {
                let mut mask = [0];
                let rows = start.min(rows.end)..rows.end.min(start + ROWS);
                near((gaps, labels), rows, 1, window, &mut mask);
                mask[0]
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
        }

        /// See [`super::near`].
        #[target_feature(enable = $features)]
        pub(super) fn near(
            (gaps, labels): (&[u16], &[u8]),
            rows: Range<usize>,
            k: usize,
            window: u16,
            masks: &mut [u64],
        ) {
            for (step, mask) in masks.iter_mut().enumerate() {
                let start = rows.start + step * ROWS;
                let whole = start
                    .checked_sub(ROWS)
                    .filter(|_| start + ROWS <= rows.end)
                    .and_then(|first| gaps[first..].first_chunk::<{ 2 * ROWS }>());
                let Some(of_gaps) = whole else {
                    let rows = start..rows.end.min(start + ROWS);
                    scalar::near((gaps, labels), rows, k, window, std::slice::from_mut(mask));
                    continue;
                };
                ask(gaps, start);
                ask(labels, start);
                let mut distances = load(of_gaps, ROWS);
                for before in 1..k {
                    add(&mut distances, of_gaps, ROWS - before);
                }
                *mask = within(&distances, window);
            }
        }

        /// Passes to `take` the first row of each whole step, its labels after those of the step before, and for k = 1,
        /// 2, … the mask of its rows that are within the window of the k-th row before them, until there are none,
        /// and their distances. Returns the row after the last step, or `None` if a row has too many near it.
        #[inline]
        #[target_feature(enable = $features)]
        fn steps(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            window: u16,
            mut take: impl FnMut(usize, &[u8; 2 * ROWS], usize, u64, &Distances),
        ) -> Result<usize, usize> {
            let mut start = rows.start;
            while start + ROWS <= rows.end {
                let first = start - ROWS;
                let (Some(of_gaps), Some(of_labels)) =
                    (gaps[first..].first_chunk::<{ 2 * ROWS }>(), labels[first..].first_chunk())
                else {
                    break;
                };
                ask(gaps, start);
                ask(labels, start);
                let mut distances = load(of_gaps, ROWS);
                let mut k = 1;
                loop {
                    let near = within(&distances, window);
                    if near == 0 {
                        break;
                    }
                    if k == REACH {
                        return Err(start);
                    }
                    take(start, of_labels, k, near, &distances);
                    add(&mut distances, of_gaps, ROWS - k);
                    k += 1;
                }
                start += ROWS;
            }
            Ok(start)
        }

        #[inline]
        fn step(labels: &[u8]) -> &[u8; ROWS] {
            labels.first_chunk().unwrap_or_else(|| unreachable!("a step has so many labels"))
        }
    };
}

pub(super) use gap_kernels;
