//! Kernels over one column built from the instructions of a level, written once.
//!
//! A level provides `falls` (whether times decrease in a step), `Order` (whether times are in order, accumulated step
//! by step) and `equal` (the rows of a step with an id). It is a macro, because a function compiled for every machine
//! cannot be inlined into one compiled for a level, nor the level's instructions into it. The order is tested once,
//! after all steps: a test at each step made the kernel of pairs slower.

/// Defines `first_fall`, `is_in_order` and `matching` for a level with these target features.
macro_rules! kernels {
    ($features:literal) => {
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
    };
}

pub(super) use kernels;
