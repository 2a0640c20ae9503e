//! Distances between the times of two lists, written one after the other.
//!
//! Their meaning requires times in order. For any times, only the slices are accessed ([`super`]).
//!
//! An owner at 10, others at 2 and 7, distances 0 to 5 from 0 on: 3 is written, 8 is not.

pub(crate) mod narrow;

use crate::kernels::{
    gathered::Gathered,
    simd::{Level, Simd},
};

/// Distances to consecutive others that are written at once.
const CHUNK: usize = 16;

/// Selects the distances that are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distances {
    /// The smallest wanted distance.
    pub first: i64,
    /// The largest wanted distance.
    pub last: i64,
    /// The value that is subtracted.
    pub low: i64,
    /// Whether it is subtracted from the negative of the distance.
    pub is_negative: bool,
}

/// Passes to `take` the distances from `first` to `last` of each owner to others before it or at its time:
/// D − `low`, or −D − `low` if `is_negative`. Both lists must be in order.
pub(crate) fn distances(
    simd: Simd,
    [owners, others]: [&[i64]; 2],
    wanted: &Distances,
    gathered: &mut Gathered<u64>,
    mut take: impl FnMut(&mut [u64]),
) {
    match simd.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 | Level::Avx512 | Level::Vbmi2 => unsafe {
            spans_avx2(owners, others, wanted, gathered, &mut take);
        },
        Level::Scalar => spans(owners, others, wanted, gathered, &mut take),
    }
    gathered.empty(&mut take);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn spans_avx2(
    owners: &[i64],
    others: &[i64],
    wanted: &Distances,
    gathered: &mut Gathered<u64>,
    take: &mut impl FnMut(&mut [u64]),
) {
    spans(owners, others, wanted, gathered, take);
}

/// Writes the wanted distances. Compiled for each level. Whole chunks are written, even if fewer others are
/// near: their number differs from owner to owner, and a branch on it would be mispredicted most times.
#[expect(clippy::inline_always, reason = "a call would leave the level's instructions out")]
#[inline(always)]
fn spans(
    owners: &[i64],
    others: &[i64],
    wanted: &Distances,
    gathered: &mut Gathered<u64>,
    take: &mut impl FnMut(&mut [u64]),
) {
    let &Distances { first, last, low, is_negative } = wanted;
    let flip = if is_negative { -1 } else { 0 };
    let (mut start, mut end) = (0, 0);
    for &owner in owners {
        while start < others.len() && owner.wrapping_sub(others[start]) > last {
            start += 1;
        }
        end = start.max(end);
        while end < others.len() && owner.wrapping_sub(others[end]) >= first {
            end += 1;
        }
        let mut at = start;
        while at < end {
            gathered.begin(take);
            let places: &mut [u64; CHUNK] = gathered.places();
            // If `flip` is −1, the XOR inverts all bits, which gives the negative number minus one.
            let distance = |other: i64| {
                (owner.wrapping_sub(other) ^ flip).wrapping_sub(low.wrapping_add(flip))
            };
            if let Some(chunk) = others[at..].first_chunk::<CHUNK>() {
                for (place, &other) in places.iter_mut().zip(chunk) {
                    *place = distance(other).cast_unsigned();
                }
            } else {
                for (place, &other) in places.iter_mut().zip(&others[at..]) {
                    *place = distance(other).cast_unsigned();
                }
            }
            let len = CHUNK.min(end - at);
            gathered.keep(len);
            at += len;
        }
    }
}
