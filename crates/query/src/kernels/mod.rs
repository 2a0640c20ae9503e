//! The kernels: free functions on slices, one version per level.
//!
//! `time` and `id` (or labels) have equal length. A mask has a bit for each of [`MASK_ROWS`] rows; the bits
//! after the last row are 0.
//!
//! The counts of a kernel are meaningful if times are in order and their differences fit in `i64`. But the
//! times come from a file that may be damaged: so no length, index or loop relies on a time or a label, and
//! differences wrap. For any values a kernel terminates, does not panic, and accesses only its slices.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the token of a level is the proof that its code may be called")
)]

/// Calls the kernel of the level that `simd` proves to be available.
macro_rules! at_level {
    ($simd:expr, $kernel:ident($($argument:expr),* $(,)?)) => {
        at_level!($simd, self, $kernel($($argument),*))
    };
    ($simd:expr, $module:ident, $kernel:ident($($argument:expr),* $(,)?)) => {
        match $simd.level() {
            $crate::kernels::simd::Level::Scalar => $module::scalar::$kernel($($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a token of this level is made only where its features were detected.
            $crate::kernels::simd::Level::Avx2 => unsafe { $module::avx2::$kernel($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            $crate::kernels::simd::Level::Avx512 => unsafe {
                $module::avx512::$kernel($($argument),*)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            $crate::kernels::simd::Level::Vbmi2 => unsafe {
                $module::vbmi2::$kernel($($argument),*)
            },
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod columns;

mod scalar;

#[cfg(target_arch = "x86_64")]
mod found;
#[cfg(target_arch = "x86_64")]
mod prefetch;

pub(crate) mod distances;
pub(crate) mod gathered;
pub(crate) mod labels;
pub(crate) mod merges;
pub(crate) mod neighbours;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

// Most kernels gain nothing from VBMI2.
#[cfg(target_arch = "x86_64")]
use avx512 as vbmi2;

pub(crate) mod matrix;
pub(crate) mod pair_bins;
pub(crate) mod rows;
pub(crate) mod sliding;
mod two_lists;
pub(crate) mod window_counts;

pub(crate) use rows::MASK_ROWS;
pub(crate) use tagq_store::simd;
pub use tagq_store::simd::Simd;
pub(crate) use two_lists::{far_pairs, merge};

#[cfg(test)]
mod tests;

/// Returns the first row whose time is before that of the preceding row.
pub(crate) fn first_fall(simd: Simd, time: &[i64]) -> Option<usize> {
    at_level!(simd, first_fall(time))
}

/// Sets bit i of the masks if label i is one of `wanted`.
pub(crate) fn matching(simd: Simd, labels: &[u8], wanted: &[u8], masks: &mut [u64]) {
    assert_eq!(masks.len(), labels.len().div_ceil(MASK_ROWS));
    at_level!(simd, matching(labels, wanted, masks));
}

/// Writes the times of the rows in `masks[n]`, plus `delays[n]`, to the beginning of `into[n]`, which must
/// have room for [`MASK_ROWS`] more values; the values after the result are overwritten. Returns whether
/// times are in order, if their differences fit in `i64`.
pub(crate) fn compress<const N: usize>(
    simd: Simd,
    time: &[i64],
    masks: [&[u64]; N],
    delays: [i64; N],
    into: [&mut [i64]; N],
) -> bool {
    assert!(masks.iter().all(|masks| masks.len() == time.len().div_ceil(MASK_ROWS)));
    at_level!(simd, compress(time, masks, delays, into))
}

/// Works like [`compress`] for times that are `offsets` after `times[n]`, which has the delay in it, and in order.
pub(crate) fn compress_offsets<const N: usize>(
    simd: Simd,
    offsets: &[u32],
    masks: [&[u64]; N],
    times: [i64; N],
    into: [&mut [i64]; N],
) {
    assert!(masks.iter().all(|masks| masks.len() == offsets.len().div_ceil(MASK_ROWS)));
    at_level!(simd, compress_offsets(offsets, masks, times, into));
}

/// Writes the labels of the rows in `masks` to the beginning of `into`, as [`compress`] does.
pub(crate) fn compress_labels(simd: Simd, labels: &[u8], masks: &[u64], into: &mut [u8]) {
    assert_eq!(masks.len(), labels.len().div_ceil(MASK_ROWS));
    at_level!(simd, compress_labels(labels, masks, into));
}
