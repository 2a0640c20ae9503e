//! The walk over whole steps of rows, written once for all levels.

/// Defines `steps` for a level with these target features. The level provides `near` (the rows of a step that
/// are within reach of their k-th neighbour), `Order`, `add_order` and `is_in_order`, `equal`
/// (which of those neighbours carry an id) and `write`. It is a macro, because a function compiled for every
/// machine cannot be inlined into one compiled for a level.
macro_rules! steps {
    ($features:literal) => {
        /// Processes all whole steps of rows. Returns the row after the last, or as an error the row of a
        /// crowded step, or 0 if times decrease.
        #[target_feature(enable = $features)]
        pub(super) fn steps(
            time: &[i64],
            id: &[u8],
            wanted: &Wanted,
            buffer: &mut Buffer,
            take: &mut impl FnMut(&[u64]),
        ) -> Result<usize, usize> {
            let [a, b] = wanted.ends;
            let (mut start, mut order) = (0, Order::new());
            while let (Some(times), Some(ids)) = (
                time[start..].first_chunk::<{ ROWS + REACH }>(),
                id[start..].first_chunk::<{ ROWS + REACH }>(),
            ) {
                ask(time, start);
                ask(id, start);
                if wanted.is_column {
                    add_order(times, &mut order);
                }
                if near(times, 0, REACH, wanted.reach) != 0 {
                    let is_in_order = order.is_certain() || time.is_sorted();
                    return Err(if is_in_order { start } else { 0 });
                }
                let (is_a, is_b) = (equal(ids, 0, a), equal(ids, 0, b));
                for k in 1..REACH {
                    buffer.make_room(take);
                    let (forward, back) = (is_a & equal(ids, k, b), is_b & equal(ids, k, a));
                    let near = if a == b {
                        write(times, k, [forward, 0], wanted, buffer);
                        write(times, k, [0, back], wanted, buffer)
                    } else {
                        write(times, k, [forward, back], wanted, buffer)
                    };
                    if !near {
                        break;
                    }
                }
                start += ROWS;
            }
            let is_sorted = !wanted.is_column || is_in_order(order, time, start);
            if is_sorted { Ok(start) } else { Err(0) }
        }
    };
}

pub(super) use steps;
