//! Results made from answers: fits, scans, plans for many computers, and comparisons with saved answers.
//!
//! A [`Fit`] estimates parameters from an answer, a [`SettingScan`] asks a question at several values of an option or
//! of a setting. A [`Plan`] divides a question into parts, whose [`Parts`] together are the answer of the whole, bit
//! for bit. [`SavedAnswer`] counts an answer again from what it states.

mod error;

mod fits;
mod scans;

mod plan;
mod reproduce;

pub use error::Error;
pub use fits::{FIT_TYPES, Fit, FitType, OwnModel};
pub use plan::{Division, Part, PartOptions, Parts, Plan, PlannedRun, verify_kept};
pub use reproduce::{Difference, RELATIVE_TOLERANCE, ReproduceOptions, Reproduced, SavedAnswer};
pub use scans::{RunSetting, SettingOf, SettingScan};
