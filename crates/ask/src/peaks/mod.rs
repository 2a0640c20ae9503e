//! Peaks in the time differences of two channels: where they are, their centre, width and number of pairs.
//!
//! `search` finds them from coarse to fine bins (`counted`, of whole steps of the recorded times: `grid`), `peak` decides what
//! is above chance, `fit` fits a Gaussian. `run` searches a run: what `delays` and the notes of other queries say is the same.

mod counted;
#[cfg(test)]
mod coverage;
mod fit;
mod grid;
mod peak;
mod run;
mod search;

pub(crate) use counted::DifferenceCounts;
pub(crate) use fit::Fitted;
pub(crate) use grid::Grid;
pub(crate) use peak::{Shape, sigmas_above};
pub(crate) use run::{RANGE, between, within};
pub(crate) use search::{Found, Located, PAIRS, PeakSearch, Second};
