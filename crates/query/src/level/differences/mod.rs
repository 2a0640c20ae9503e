//! Differences between each tag and its next neighbours, of two channels, written one behind the other.
//!
//! What they mean, and that no distance is outside of what was wanted, supposes times in order; whatever
//! they are, nothing else is touched than the slices ([`super`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod narrow;

pub(crate) use narrow::{LIMIT, Narrow};

use crate::simd::{Level, Simd};

/// How many neighbours within reach a tag may have; with more of them other ways are faster.
pub(crate) const REACH: usize = 24;
/// Rows that one step handles: the bits of a mask.
const ROWS: usize = 64;
/// Differences that one neighbour of a step gives at most: both signs with equal channels.
const PER_NEIGHBOUR: usize = 2 * ROWS;
/// Distances to neighbouring others that are written at once.
const CHUNK: usize = 16;

/// Where differences are written: `LEN` of them, then they are taken out.
pub(crate) struct Buffer {
    values: Box<[u64]>,
    len: usize,
}

/// Which differences are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The ids of starts and of stops.
    pub ends: [u8; 2],
    /// From this Δ on …
    pub low: i64,
    /// … below this many ticks more.
    pub width: u64,
    /// The largest |Δ| of those.
    pub reach: i64,
    /// Whether times may fall, as in a column that is damaged.
    pub is_column: bool,
}

/// Which distances are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distances {
    /// The smallest …
    pub first: i64,
    /// … and the largest one.
    pub last: i64,
    /// What is subtracted.
    pub low: i64,
    /// Whether from the negative of the distance.
    pub is_negative: bool,
}

impl Buffer {
    /// 8 KiB, which leave room for bins in a core's nearest cache.
    const LEN: usize = 1024;

    pub(crate) fn new() -> Self {
        Self { values: vec![0; Self::LEN].into(), len: 0 }
    }

    /// Takes out what is written.
    pub(crate) fn empty(&mut self, take: &mut impl FnMut(&[u64])) {
        take(&self.values[..self.len]);
        self.len = 0;
    }

    /// Makes room for one more neighbour of a step.
    #[inline]
    fn make_room(&mut self, take: &mut impl FnMut(&[u64])) {
        if self.len > Self::LEN - PER_NEIGHBOUR - 8 {
            self.empty(take);
        }
    }

    /// Writes Δ − low where it is wanted. The slot behind the last is written in any case.
    #[inline]
    fn push(&mut self, difference: i64, is_pair: bool, wanted: &Wanted) {
        let distance = difference.wrapping_sub(wanted.low).cast_unsigned();
        self.values[self.len] = distance;
        self.len += usize::from(is_pair && distance < wanted.width);
    }
}

/// Hands `take` Δ − low of all wanted pairs whose later tag is not before row `head`, buffer by buffer.
/// Returns the row before which every tag was compared with all its neighbours: the end, or the first row of a
/// step with a tag that has [`REACH`] of them or more. If times decrease, it returns a row at or before the
/// decrease. Distances are below the width wanted, in whatever order times are.
pub(crate) fn differences(
    simd: Simd,
    time: &[i64],
    id: &[u8],
    head: usize,
    wanted: &Wanted,
    buffer: &mut Buffer,
    mut take: impl FnMut(&[u64]),
) -> usize {
    assert_eq!(time.len(), id.len());
    from_head(head, time, id, wanted, buffer, &mut take);
    let (time, id) = (&time[head..], &id[head..]);
    let rest = match simd.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 => unsafe { avx2::steps(time, id, wanted, buffer, &mut take) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { avx512::steps(time, id, wanted, buffer, &mut take) },
        Level::Scalar => Ok(0),
    };
    let done = match rest {
        Ok(start) => singly(start, time, id, wanted, buffer, &mut take),
        Err(crowded) => crowded,
    };
    buffer.empty(&mut take);
    head + done
}

/// Hands `take` the distances from `first` to `last` of each owner to others before it, or at its time:
/// D − `low`, or −D − `low` where `is_negative`. Both lists are in order.
pub(crate) fn distances(
    simd: Simd,
    [owners, others]: [&[i64]; 2],
    wanted: &Distances,
    buffer: &mut Buffer,
    mut take: impl FnMut(&[u64]),
) {
    match simd.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 | Level::Avx512 => unsafe {
            avx2::distances(owners, others, wanted, buffer, &mut take);
        },
        Level::Scalar => spans(owners, others, wanted, buffer, &mut take),
    }
    buffer.empty(&mut take);
}

/// Compiled for each level. Whole chunks are written, also where fewer others are near: how many differs
/// from owner to owner, and a branch on it would be wrong most times.
#[expect(clippy::inline_always, reason = "a call would leave the level's instructions out")]
#[inline(always)]
fn spans(
    owners: &[i64],
    others: &[i64],
    wanted: &Distances,
    buffer: &mut Buffer,
    take: &mut impl FnMut(&[u64]),
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
            if buffer.len > Buffer::LEN - CHUNK {
                buffer.empty(take);
            }
            let free = &mut buffer.values[buffer.len..buffer.len + CHUNK];
            // What is subtracted from −1 has its bits turned over: the negative number, less one.
            let distance = |other: i64| {
                (owner.wrapping_sub(other) ^ flip).wrapping_sub(low.wrapping_add(flip))
            };
            if let Some(chunk) = others[at..].first_chunk::<CHUNK>() {
                for (free, &other) in free.iter_mut().zip(chunk) {
                    *free = distance(other).cast_unsigned();
                }
            } else {
                for (free, &other) in free.iter_mut().zip(&others[at..]) {
                    *free = distance(other).cast_unsigned();
                }
            }
            let len = CHUNK.min(end - at);
            buffer.len += len;
            at += len;
        }
    }
}

/// Pairs of a row before `head` with one from there on.
fn from_head(
    head: usize,
    time: &[i64],
    id: &[u8],
    wanted: &Wanted,
    buffer: &mut Buffer,
    take: &mut impl FnMut(&[u64]),
) {
    let [a, b] = wanted.ends;
    for i in (0..head).filter(|&i| id[i] == a || id[i] == b) {
        for j in head..time.len() {
            let difference = time[j].wrapping_sub(time[i]);
            if difference > wanted.reach {
                break;
            }
            buffer.make_room(take);
            buffer.push(difference, id[i] == a && id[j] == b, wanted);
            buffer.push(difference.wrapping_neg(), id[i] == b && id[j] == a, wanted);
        }
    }
}

/// The rows from `start` on, one by one. Returns the row behind the last, one with too many neighbours, or
/// the one before a fall.
fn singly(
    start: usize,
    time: &[i64],
    id: &[u8],
    wanted: &Wanted,
    buffer: &mut Buffer,
    take: &mut impl FnMut(&[u64]),
) -> usize {
    let [a, b] = wanted.ends;
    for i in start..time.len() {
        let is_reached = |&time_j: &i64| time_j.wrapping_sub(time[i]) <= wanted.reach;
        let falls = |&next: &i64| next < time[i];
        if time.get(i + REACH).is_some_and(is_reached) || time.get(i + 1).is_some_and(falls) {
            return i;
        }
        buffer.make_room(take);
        if id[i] != a && id[i] != b {
            continue;
        }
        for (&time_j, &id_j) in time[i + 1..].iter().zip(&id[i + 1..]) {
            let difference = time_j.wrapping_sub(time[i]);
            if difference > wanted.reach {
                break;
            }
            buffer.push(difference, id[i] == a && id_j == b, wanted);
            buffer.push(difference.wrapping_neg(), id[i] == b && id_j == a, wanted);
        }
    }
    time.len()
}

/// Defines `steps` for a level with these target features, which brings `near` (which rows of a step are
/// within reach of their k-th neighbour), `add_signs` and `any_negative` (whether times decrease), `equal`
/// (which of those neighbours carry an id) and `write`.
/// A macro, because a function compiled for every machine cannot be inlined into one compiled for a level.
#[cfg(target_arch = "x86_64")]
macro_rules! steps {
    ($features:literal) => {
        /// Goes over all whole steps of rows. Returns the row after the last, or as an error that of a
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
            let (mut start, mut signs) = (0, no_signs());
            while let (Some(times), Some(ids)) = (
                time[start..].first_chunk::<{ ROWS + REACH }>(),
                id[start..].first_chunk::<{ ROWS + REACH }>(),
            ) {
                ask(time, start);
                ask(id, start);
                if wanted.is_column {
                    add_signs(times, &mut signs);
                }
                if near(times, REACH, wanted.reach) != 0 {
                    return Err(if any_negative(signs) { 0 } else { start });
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
            if any_negative(signs) { Err(0) } else { Ok(start) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
use steps;
