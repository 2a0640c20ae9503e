//! Kernels built from the masks of a level, written once.
//!
//! A level provides `near` (the rows of a step within the window of their k-th neighbour), `near_next` (the
//! same for the next one), `Order` (whether times are in order, accumulated by `near_next` and `add_order`),
//! `falls` (whether times decrease in a step) and `equal` (the rows of a step with an id); this macro builds
//! its kernels from them. It is a macro, because a function compiled for every machine cannot be inlined into
//! one compiled for a level, nor the level's instructions into it. The order is tested once, after all steps:
//! a test at each step made the pair kernel slower.

/// Defines `pairs`, `matrix`, `near_masks` and `matching` for a level with these target features.
macro_rules! kernels {
    ($features:literal) => {
        /// See [`super::pairs`].
        #[target_feature(enable = $features)]
        pub(super) fn pairs(time: &[i64], id: &[u8], [a, b]: [u8; 2], window: i64) -> Option<u64> {
            let mut count = 0;
            let rest = steps(time, id, window, |_, ids, k, near| {
                let (now, later) = (from(ids, 0), from(ids, k));
                let matching = equal(now, a) & equal(later, b) | equal(now, b) & equal(later, a);
                count += u64::from((near & matching).count_ones());
            })?;
            pairs_from(rest, time, id, window, |x, y| {
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
            let mut add =
                |x: u8, y: u8| matrix.add(dense[usize::from(x)], dense[usize::from(y)], 1);
            let mut found = Found::new();
            let rest = steps(time, id, window, |start, ids, k, mut near| {
                if k == 1 {
                    found.add(start, near, |row| add(id[row], id[row + 1]));
                    return;
                }
                while near != 0 {
                    let i = near.trailing_zeros() as usize;
                    add(ids[i], ids[i + k]);
                    near &= near - 1;
                }
            })?;
            found.take(|row| add(id[row], id[row + 1]));
            pairs_from(rest, time, id, window, add)
        }

        /// See [`super::first_fall`].
        #[target_feature(enable = $features)]
        pub(super) fn first_fall(time: &[i64]) -> Option<usize> {
            let mut start = 0;
            while let Some(times) = time[start..].first_chunk::<{ ROWS + 1 }>() {
                ask(time, start);
                if falls(times) {
                    break;
                }
                start += ROWS;
            }
            super::scalar::first_fall(&time[start..]).map(|row| start + row)
        }

        /// Returns whether times are in order; `order` is that of the whole steps, which end before row `end`.
        #[target_feature(enable = $features)]
        pub(super) fn is_in_order(order: Order, time: &[i64], end: usize) -> bool {
            // No step contains the rows from `end` on, nor the order of the first of them.
            let rest = &time[end.saturating_sub(1)..];
            (order.is_certain() && rest.is_sorted()) || first_fall(time).is_none()
        }

        /// See [`super::near`].
        #[target_feature(enable = $features)]
        pub(super) fn near_masks(
            time: &[i64],
            k: usize,
            window: i64,
            masks: &mut [u64],
            is_looked_at: bool,
        ) -> Option<()> {
            let (mut step, mut order) = (0, Order::new());
            while let Some(times) = time[step * ROWS..].first_chunk::<{ ROWS + REACH }>() {
                ask(time, step * ROWS);
                masks[step] = near(times, k, window);
                if is_looked_at {
                    add_order(times, &mut order);
                }
                step += 1;
            }
            if is_looked_at && !is_in_order(order, time, step * ROWS) {
                return None;
            }
            let (time, masks) = (&time[step * ROWS..], &mut masks[step..]);
            super::scalar::near_masks(time, k, window, masks, false)
        }

        /// See [`super::matching`].
        #[target_feature(enable = $features)]
        pub(super) fn matching(labels: &[u8], wanted: &[u8], masks: &mut [u64]) {
            let (steps, rest) = labels.as_chunks::<ROWS>();
            for (labels, mask) in steps.iter().zip(masks.iter_mut()) {
                ask(labels, 0);
                *mask = 0;
                for &label in wanted {
                    *mask |= equal(labels, label);
                }
            }
            super::scalar::matching(rest, wanted, &mut masks[steps.len()..]);
        }

        /// Returns the ids of a step from row k on.
        #[inline]
        fn from(ids: &[u8; ROWS + REACH], k: usize) -> &[u8; ROWS] {
            ids[k..].first_chunk().unwrap_or_else(|| unreachable!("k is at most REACH"))
        }

        /// Processes all whole steps of rows and passes to `take` the first row of each, its ids, and for
        /// k = 1, 2, … the mask of its rows within the window of their k-th neighbour, until there are none.
        /// Returns the row after the last step, or `None` if times decrease or a tag has too many near it.
        #[inline]
        #[target_feature(enable = $features)]
        fn steps(
            time: &[i64],
            id: &[u8],
            window: i64,
            mut take: impl FnMut(usize, &[u8; ROWS + REACH], usize, u64),
        ) -> Option<usize> {
            let (mut start, mut order) = (0, Order::new());
            while let (Some(times), Some(ids)) = (
                time[start..].first_chunk::<{ ROWS + REACH }>(),
                id[start..].first_chunk::<{ ROWS + REACH }>(),
            ) {
                ask(time, start);
                ask(id, start);
                // The first two are always computed: a branch would cost more than the second one does.
                let mut mask = near_next(times, window, &mut order);
                let mut next = near(times, 2, window);
                let mut k = 1;
                loop {
                    take(start, ids, k, mask);
                    if next == 0 {
                        break;
                    }
                    k += 1;
                    if k == REACH {
                        return None;
                    }
                    (mask, next) = (next, near(times, k + 1, window));
                }
                start += ROWS;
            }
            is_in_order(order, time, start).then_some(start)
        }
    };
}

pub(super) use kernels;
