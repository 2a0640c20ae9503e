//! Differences between each tag and its next neighbours, of two channels, written one behind the other.
//!
//! Differences of times of one call fit in `i64`: the caller checked the span.

#[cfg(target_arch = "x86_64")]
use crate::simd::Level;
use crate::simd::Simd;

/// How many neighbours within reach a tag may have; with more of them other ways are faster.
pub(crate) const REACH: usize = 24;
/// Rows that one step handles: the bits of a mask.
const ROWS: usize = 64;
/// Differences that one neighbour of a step gives at most: both signs with equal channels.
const PER_NEIGHBOUR: usize = 2 * ROWS;

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
}

impl Buffer {
    const LEN: usize = 4096;

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
/// Returns the row before which every tag was compared with all its neighbours: the end, or that of a
/// step with a tag that has [`REACH`] of them or more.
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
        Level::Avx512 => unsafe { avx512::steps(time, id, wanted, buffer, &mut take) },
        _ => Ok(0),
    };
    let done = match rest {
        Ok(start) => singly(start, time, id, wanted, buffer, &mut take),
        Err(crowded) => crowded,
    };
    buffer.empty(&mut take);
    head + done
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
            let difference = time[j] - time[i];
            if difference > wanted.reach {
                break;
            }
            buffer.make_room(take);
            buffer.push(difference, id[i] == a && id[j] == b, wanted);
            buffer.push(-difference, id[i] == b && id[j] == a, wanted);
        }
    }
}

/// The rows from `start` on, one by one. Returns the row behind the last, or one with too many
/// neighbours.
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
        if time.get(i + REACH).is_some_and(|&time_j| time_j - time[i] <= wanted.reach) {
            return i;
        }
        buffer.make_room(take);
        if id[i] != a && id[i] != b {
            continue;
        }
        for (&time_j, &id_j) in time[i + 1..].iter().zip(&id[i + 1..]) {
            let difference = time_j - time[i];
            if difference > wanted.reach {
                break;
            }
            buffer.push(difference, id[i] == a && id_j == b, wanted);
            buffer.push(-difference, id[i] == b && id_j == a, wanted);
        }
    }
    time.len()
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmple_epi64_mask, _mm512_loadu_epi8,
        _mm512_loadu_epi64, _mm512_mask_cmplt_epu64_mask, _mm512_mask_sub_epi64,
        _mm512_maskz_compress_epi64, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512,
        _mm512_storeu_epi64, _mm512_sub_epi64,
    };

    use super::{Buffer, REACH, ROWS, Wanted};

    /// Up to this many differences of a step are written one by one, measured.
    const FEW: u32 = 6;

    /// Goes over all whole steps of rows; the row behind the last, or that of a crowded one.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    pub(super) fn steps(
        time: &[i64],
        id: &[u8],
        wanted: &Wanted,
        buffer: &mut Buffer,
        take: &mut impl FnMut(&[u64]),
    ) -> Result<usize, usize> {
        let [a, b] = wanted.ends;
        let mut start = 0;
        while let (Some(times), Some(ids)) = (
            time[start..].first_chunk::<{ ROWS + REACH }>(),
            id[start..].first_chunk::<{ ROWS + REACH }>(),
        ) {
            if near(times, REACH, wanted.reach) != 0 {
                return Err(start);
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
        Ok(start)
    }

    /// Writes the wanted differences between rows and their k-th neighbours, where bits of `pairs`
    /// say that the row is the start, or the stop. Whether any row had this neighbour within reach.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn write(
        times: &[i64; ROWS + REACH],
        k: usize,
        [forward, back]: [u64; 2],
        wanted: &Wanted,
        buffer: &mut Buffer,
    ) -> bool {
        let near = near(times, k, wanted.reach);
        let either = (forward | back) & near;
        if either.count_ones() <= FEW {
            let mut left = either;
            while left != 0 {
                let i = left.trailing_zeros() as usize;
                let difference = times[i + k] - times[i];
                let is_back = back >> i & 1 != 0;
                buffer.push(if is_back { -difference } else { difference }, true, wanted);
                left &= left - 1;
            }
            return near != 0;
        }
        let low = _mm512_set1_epi64(wanted.low);
        let width = _mm512_set1_epi64(wanted.width.cast_signed());
        let zero = _mm512_setzero_si512();
        for i in (0..ROWS).step_by(8) {
            let difference = _mm512_sub_epi64(load_times(times, i + k), load_times(times, i));
            let [back, either] = [back, either].map(|mask| mask.to_le_bytes()[i / 8]);
            let signed = _mm512_mask_sub_epi64(difference, back, zero, difference);
            let distance = _mm512_sub_epi64(signed, low);
            let found = _mm512_mask_cmplt_epu64_mask(either, distance, width);
            let packed = _mm512_maskz_compress_epi64(found, distance);
            let free = &mut buffer.values[buffer.len..buffer.len + 8];
            // SAFETY: `free` has room for 8 values; the store needs no alignment.
            unsafe { _mm512_storeu_epi64(free.as_mut_ptr().cast(), packed) };
            buffer.len += found.count_ones() as usize;
        }
        near != 0
    }

    /// Bit i: rows i and i + k are at most `reach` apart.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn near(times: &[i64; ROWS + REACH], k: usize, reach: i64) -> u64 {
        let reach = _mm512_set1_epi64(reach);
        let mut near = 0;
        for i in (0..ROWS).step_by(8) {
            let difference = _mm512_sub_epi64(load_times(times, i + k), load_times(times, i));
            near |= u64::from(_mm512_cmple_epi64_mask(difference, reach)) << i;
        }
        near
    }

    /// Bit i: row i + k has this id.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn equal(ids: &[u8; ROWS + REACH], k: usize, id: u8) -> u64 {
        let part = &ids[k..k + ROWS];
        // SAFETY: `part` has 64 readable bytes; the load needs no alignment.
        let ids = unsafe { _mm512_loadu_epi8(part.as_ptr().cast()) };
        _mm512_cmpeq_epi8_mask(ids, _mm512_set1_epi8(id.cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn load_times(times: &[i64; ROWS + REACH], at: usize) -> __m512i {
        let part = &times[at..at + 8];
        // SAFETY: `part` has 8 readable values; the load needs no alignment.
        unsafe { _mm512_loadu_epi64(part.as_ptr()) }
    }
}
