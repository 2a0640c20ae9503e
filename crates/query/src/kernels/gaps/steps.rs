//! Kernels over gaps built from the instructions of a level, written once.
//!
//! A level provides `load` (the gaps of a step), `add` (adds those k rows before to the distances), `within` (the rows
//! of a step whose distance is within the window) and, as [`super::super::neighbours`], `equal`.

/// Defines `pairs` for a level with these target features.
macro_rules! gap_kernels {
    ($features:literal) => {
        /// See [`super::pairs`].
        #[target_feature(enable = $features)]
        pub(super) fn pairs(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            window: u16,
        ) -> Option<u64> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let mut count = scalar::pairs(gaps, labels, rows.start..begin, pair, window)?;
            // The rows of a step with each label, and where the step begins.
            let [mut now, mut before] = [[0; 2]; 2];
            let mut known = None;
            let end = steps(gaps, labels, begin..rows.end, window, |start, labels, k, near| {
                if k == 1 {
                    let (earlier, later) = labels.split_at(ROWS);
                    let of = |labels: &[u8]| pair.map(|label| equal(step(labels), label));
                    before = if known == Some(start - ROWS) { now } else { of(earlier) };
                    now = of(later);
                    known = Some(start);
                }
                let [a, b] = [0, 1].map(|i| now[i] << k | before[i] >> (ROWS - k));
                count += u64::from((near & (now[0] & b | now[1] & a)).count_ones());
            })?;
            Some(count + scalar::pairs(gaps, labels, end..rows.end, pair, window)?)
        }

        /// Passes to `take` the first row of each whole step, its labels after those of the step before, and for k = 1,
        /// 2, … the mask of its rows that are within the window of the k-th row before them, until there are none.
        /// Returns the row after the last step, or `None` if a row has too many near it.
        #[inline]
        #[target_feature(enable = $features)]
        fn steps(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            window: u16,
            mut take: impl FnMut(usize, &[u8; 2 * ROWS], usize, u64),
        ) -> Option<usize> {
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
                        return None;
                    }
                    take(start, of_labels, k, near);
                    add(&mut distances, of_gaps, ROWS - k);
                    k += 1;
                }
                start += ROWS;
            }
            Some(start)
        }

        #[inline]
        fn step(labels: &[u8]) -> &[u8; ROWS] {
            labels.first_chunk().unwrap_or_else(|| unreachable!("a step has so many labels"))
        }
    };
}

pub(super) use gap_kernels;
