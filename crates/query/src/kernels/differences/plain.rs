//! Differences in plain code: for machines without vectors, and for the rows after the last whole step.

use super::buffer::{Buffer, CHUNK, Distances, REACH, Wanted};

/// Writes the wanted distances. Compiled for each level. Whole chunks are written, even if fewer others are
/// near: their number differs from owner to owner, and a branch on it would be mispredicted most times.
#[expect(clippy::inline_always, reason = "a call would leave the level's instructions out")]
#[inline(always)]
pub(super) fn spans(
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
            // If `flip` is −1, the XOR inverts all bits, which gives the negative number minus one.
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

/// Writes the differences of the pairs of a row before `head` with a row at or after `head`.
pub(super) fn from_head(
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

/// Processes the rows from `start` on, one by one. Returns the row after the last, a row with too many
/// neighbours, or the row before a decrease.
pub(super) fn singly(
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
