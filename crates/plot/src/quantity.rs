//! Measured quantities and their display units.
//!
//! 59 s are shown in s, 600 s and more in min, three hours and more in h.

use serde::{Deserialize, Serialize};

/// The quantity along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Seconds.
    Time,
    /// Per second.
    Rate,
    /// A count.
    Count,
    /// No unit.
    Ratio,
}

/// A unit: its name, its size, and the magnitude from which it is used.
type UnitRange = (&'static str, f64, f64);

/// Returns the units of a quantity, the largest first.
pub(crate) fn units(quantity: Quantity) -> &'static [UnitRange] {
    match quantity {
        Quantity::Time => &[
            ("h", 3600.0, 3.0 * 3600.0),
            ("min", 60.0, 600.0),
            ("s", 1.0, 1.0),
            ("ms", 1e-3, 1e-3),
            ("\u{b5}s", 1e-6, 1e-6),
            ("ns", 1e-9, 1e-9),
            ("ps", 1e-12, 0.0),
        ],
        Quantity::Rate => {
            &[("GHz", 1e9, 1e9), ("MHz", 1e6, 1e6), ("kHz", 1e3, 1e3), ("Hz", 1.0, 0.0)]
        }
        Quantity::Count => &[("10\u{2079}", 1e9, 1e10), ("10\u{2076}", 1e6, 1e7), ("", 1.0, 0.0)],
        Quantity::Ratio => &[("", 1.0, 0.0)],
    }
}

/// Returns the unit for values of this magnitude, and its size.
pub(crate) fn unit_of(quantity: Quantity, magnitude: f64) -> (&'static str, f64) {
    let fits = |&&(_, _, from): &&UnitRange| magnitude >= from * (1.0 - 1e-9);
    units(quantity).iter().find(fits).map_or(("", 1.0), |&(unit, size, _)| (unit, size))
}
