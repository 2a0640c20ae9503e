//! Counting without enumerating: how many tags of each channel lie in the window before a tag.
//!
//! Cost is a step a row whatever the window. Rows before `head` are looked back at and own nothing:
//! a pair belongs to its later row. Times are in order, differences fit in `i64`.

use crate::level::Matrix;

/// Pairs of one tag with `id` a and one with `id` b, a ≠ b, at most `window` ticks apart.
pub(crate) fn pairs(time: &[i64], id: &[u8], [a, b]: [u8; 2], window: i64, head: usize) -> u64 {
    let (mut of_a, mut of_b) = (0_u64, 0_u64);
    let mut left = 0;
    let mut count = 0;
    for (row, (&now, &id_now)) in time.iter().zip(id).enumerate() {
        while now - time[left] > window {
            of_a -= u64::from(id[left] == a);
            of_b -= u64::from(id[left] == b);
            left += 1;
        }
        let (is_a, is_b) = (u64::from(id_now == a), u64::from(id_now == b));
        if row >= head {
            count += is_a * of_b + is_b * of_a;
        }
        of_a += is_a;
        of_b += is_b;
    }
    count
}

/// Adds to `matrix` the pairs of dense numbers (later row first), at most `window` ticks apart.
pub(crate) fn matrix(
    time: &[i64],
    id: &[u8],
    window: i64,
    head: usize,
    dense: &[u8; 256],
    matrix: &mut Matrix,
) {
    let side = matrix.row_mut(0).len();
    let mut inside = vec![0_u64; side];
    let mut left = 0;
    for (row, (&now, &id_now)) in time.iter().zip(id).enumerate() {
        while now - time[left] > window {
            inside[usize::from(dense[usize::from(id[left])])] -= 1;
            left += 1;
        }
        let number = dense[usize::from(id_now)];
        if row >= head {
            for (count, more) in matrix.row_mut(number).iter_mut().zip(&inside) {
                *count += more;
            }
        }
        inside[usize::from(number)] += 1;
    }
}
