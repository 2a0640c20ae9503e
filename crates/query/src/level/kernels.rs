//! What a level does with its masks, written once.
//!
//! A level brings `near` (which rows of a step lie within the window of their k-th neighbour) and
//! `equal` (which rows of a step carry an id); this macro makes its kernels of them. It is a macro,
//! because a function compiled for every machine cannot be inlined into one compiled for a level,
//! nor the level's instructions into it.

/// Defines `pairs` and `matrix` for a level with these target features.
macro_rules! kernels {
    ($features:literal) => {
        /// See [`super::pairs`].
        #[target_feature(enable = $features)]
        pub(super) fn pairs(time: &[i64], id: &[u8], [a, b]: [u8; 2], window: i64) -> Option<u64> {
            let mut count = 0;
            let mut start = 0;
            while let (Some(times), Some(ids)) = (
                time[start..].first_chunk::<{ ROWS + REACH }>(),
                id[start..].first_chunk::<{ ROWS + REACH }>(),
            ) {
                let (a_first, b_first) = (equal(ids, 0, a), equal(ids, 0, b));
                let matching = |k| a_first & equal(ids, k, b) | b_first & equal(ids, k, a);
                let [first, second] = near_two(times, window);
                count += u64::from((first & matching(1)).count_ones());
                if second != 0 {
                    count += u64::from((second & matching(2)).count_ones());
                    let mut k = 3;
                    loop {
                        let mask = near(times, k, window);
                        if mask == 0 {
                            break;
                        }
                        if k == REACH {
                            return None;
                        }
                        count += u64::from((mask & matching(k)).count_ones());
                        k += 1;
                    }
                }
                start += ROWS;
            }
            pairs_from(start, time, id, window, |x, y| {
                count += u64::from([x, y] == [a, b] || [x, y] == [b, a]);
            })?;
            Some(count)
        }

        /// See [`super::matrix`].
        #[target_feature(enable = $features)]
        pub(super) fn matrix(
            time: &[i64],
            id: &[u8],
            window: i64,
            dense: &[u8; 256],
            matrix: &mut Matrix,
        ) -> Option<()> {
            let mut start = 0;
            while let (Some(times), Some(ids)) = (
                time[start..].first_chunk::<{ ROWS + REACH }>(),
                id[start..].first_chunk::<{ ROWS + REACH }>(),
            ) {
                let mut add = |mut mask: u64, k: usize| {
                    while mask != 0 {
                        let i = mask.trailing_zeros() as usize;
                        matrix.add(dense[usize::from(ids[i])], dense[usize::from(ids[i + k])], 1);
                        mask &= mask - 1;
                    }
                };
                let [first, second] = near_two(times, window);
                add(first, 1);
                if second != 0 {
                    add(second, 2);
                    let mut k = 3;
                    loop {
                        let mask = near(times, k, window);
                        if mask == 0 {
                            break;
                        }
                        if k == REACH {
                            return None;
                        }
                        add(mask, k);
                        k += 1;
                    }
                }
                start += ROWS;
            }
            pairs_from(start, time, id, window, |x, y| {
                matrix.add(dense[usize::from(x)], dense[usize::from(y)], 1);
            })
        }

        /// Bit i: rows i and i + 1, and rows i and i + 2, are at most `window` apart.
        #[inline]
        #[target_feature(enable = $features)]
        fn near_two(times: &[i64; ROWS + REACH], window: i64) -> [u64; 2] {
            [near(times, 1, window), near(times, 2, window)]
        }
    };
}

pub(super) use kernels;
