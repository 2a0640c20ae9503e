//! The column of wide gaps: distances are sums of 32 bits, exact below [`u32::MAX`], where they saturate.
//!
//! AVX-512 and AVX2 have no saturating addition of 32 bits. So kernels store how far each distance lies below the
//! largest one, `left = u32::MAX − distance`: adding a gap is `max(left, gap) − gap`, which stops at 0.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

#[cfg(target_arch = "x86_64")]
mod levels;

pub(super) use super::scalar;
// Nothing gains from VBMI2.
#[cfg(target_arch = "x86_64")]
pub(super) use avx512 as vbmi2;
