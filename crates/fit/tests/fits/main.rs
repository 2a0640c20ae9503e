//! Fits of light that is simulated photon by photon: the truth is found, and quoted errors cover it.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of photons are small and not negative"
)]

mod cases;
mod coverage;
mod lifetimes;
mod outside;
mod pixels;
mod response;
mod simulated;
mod stops;
mod structure;
