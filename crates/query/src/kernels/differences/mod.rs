//! Differences between each tag and its next neighbours, of two channels, written one after the other.
//!
//! Their meaning, and the guarantee that every distance lies inside the wanted range, require times in order.
//! For any times, only the slices are accessed ([`super`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod buffer;
pub(crate) mod narrow;
mod plain;
#[cfg(target_arch = "x86_64")]
mod steps;

use buffer::{Buffer, Distances, Wanted};
use plain::{from_head, singly, spans};

use crate::kernels::simd::{Level, Simd};

/// Passes Δ − low of all wanted pairs whose later tag is not before row `head` to `take`, buffer by buffer.
/// Returns the row before which every tag was compared with all its neighbours: the end, or the first row of
/// a step with a tag that has [`buffer::REACH`] of them or more. If times decrease, it returns a row at or before the
/// decrease. Distances are below the wanted width for any order of times.
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
        Level::Avx512 | Level::Vbmi2 => unsafe {
            avx512::steps(time, id, wanted, buffer, &mut take)
        },
        Level::Scalar => Ok(0),
    };
    let done = match rest {
        Ok(start) => singly(start, time, id, wanted, buffer, &mut take),
        Err(crowded) => crowded,
    };
    buffer.empty(&mut take);
    head + done
}

/// Passes to `take` the distances from `first` to `last` of each owner to others before it or at its time:
/// D − `low`, or −D − `low` if `is_negative`. Both lists must be in order.
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
        Level::Avx2 | Level::Avx512 | Level::Vbmi2 => unsafe {
            avx2::distances(owners, others, wanted, buffer, &mut take);
        },
        Level::Scalar => spans(owners, others, wanted, buffer, &mut take),
    }
    buffer.empty(&mut take);
}
