//! The column of times: distances are differences of 64 bits. They are not stored; each is computed when it is compared
//! with a window.

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
