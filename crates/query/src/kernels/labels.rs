//! Counts the rows that carry a label.
//!
//! Sums of one byte per lane are emptied after 255 steps, before one can overflow.

use crate::kernels::simd::{Level, Simd};

/// Returns the number of rows with this label.
pub(crate) fn count<L: Copy + Eq>(simd: Simd, labels: &[L], label: L) -> u64 {
    match simd.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 => unsafe { avx2(labels, label) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 | Level::Vbmi2 => unsafe { avx512(labels, label) },
        Level::Scalar => plain(labels, label),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn avx2<L: Copy + Eq>(labels: &[L], label: L) -> u64 {
    plain(labels, label)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn avx512<L: Copy + Eq>(labels: &[L], label: L) -> u64 {
    plain(labels, label)
}

/// Counts the rows with a label. Compiled for each level: sums of one byte per lane, emptied before they
/// overflow.
#[inline(always)]
fn plain<L: Copy + Eq>(labels: &[L], label: L) -> u64 {
    const LANES: usize = 64;
    let mut count = 0;
    for run in labels.chunks(LANES * 255) {
        let mut lanes = [0_u8; LANES];
        let (steps, rest) = run.as_chunks::<LANES>();
        for step in steps {
            for (lane, &found) in lanes.iter_mut().zip(step) {
                *lane += u8::from(found == label);
            }
        }
        count += lanes.iter().map(|&lane| u64::from(lane)).sum::<u64>();
        count += rest.iter().map(|&found| u64::from(found == label)).sum::<u64>();
    }
    count
}
