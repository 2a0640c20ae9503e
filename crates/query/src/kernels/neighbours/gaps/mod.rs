//! The column of gaps: distances are sums of 16 bits, which saturate as the gaps do.
//!
//! Gaps of 40,000 and 30,000 are a distance of 65,535, not of 70,000: a distance below
//! [`GAP_MAX`](tagq_store::format::GAP_MAX) is exact, and every longer one stays at or above it.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod vbmi2;

#[cfg(target_arch = "x86_64")]
mod levels;

pub(super) use super::scalar;
