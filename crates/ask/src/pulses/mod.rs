//! The period of pulsed light, from a bounded sample of the tags.
//!
//! Pulsed light causes a comb in the time differences: a line in their spectrum at 1 / period. The
//! steps, each over a sample whose size does not grow with the run:
//!
//! ```text
//! for bins from coarse to fine:
//!     differences of two channels, of all pairs in 64 short places of the run     (sample)
//!     weights that vanish at zero difference and at the longest one
//!     spectrum of the weighted histogram of the differences of every second place (spectrum)
//!     a line far above the spectrum around it, there in the other places, too
//!     its phase at the exact differences: no alias, no steps of the clock (resolution); a finer period
//! ```
//!
//! Differences are used instead of times, because a clock drifts over a run, but not over microseconds.
//! The weights suppress differences near zero, so that true pairs, dead time and afterpulses cause no
//! line. A line is compared with the spectrum around it, because bunched light has a spectrum, too, but
//! a smooth one.

mod find;
mod note;
mod resolution;
mod sample;
mod spectrum;

pub(crate) use find::Pulses;
pub(crate) use note::{in_words, of_run, steps_note};
pub(crate) use resolution::Resolution;
pub(crate) use sample::Effort;

#[cfg(test)]
mod tests;
