//! The same query for several values of an option, or for runs that differ in a setting (docs/queries.md, section "Scans").
//!
//! `values` reads the values of an option (`0.5ns..10ns:20`), `setting` those of runs, from their names or from a table. `scan`
//! asks, and `together` puts the answers together.

mod scan;
mod setting;
mod together;
mod values;

pub use scan::SettingScan;
pub use setting::{RunSetting, SettingOf};
