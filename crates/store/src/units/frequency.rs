//! Rates such as `100kHz`, as exact fractions of a hertz.

use std::str::FromStr;

use num_rational::Ratio;
use num_traits::{CheckedMul, Zero};

use super::{
    decimal::{FREQUENCIES, number_and_unit, with_unit},
    error::UnitError,
    meant,
    tick::Tick,
};

/// How often something happens: a decimal with a unit (`100kHz`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequency(Ratio<i128>);

impl Frequency {
    /// Events per tick, as a float: for simulations only.
    pub fn per_tick(self, tick: Tick) -> f64 {
        *self.0.numer() as f64 / *self.0.denom() as f64 * tick.seconds()
    }
}

impl FromStr for Frequency {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const EXAMPLE: &str = "100kHz";
        let (value, unit) = number_and_unit(text.trim(), text, "rate", EXAMPLE)?;
        if unit.is_empty() {
            return Err(UnitError::Malformed { text: text.into(), what: "rate", example: EXAMPLE });
        }
        let hertz = FREQUENCIES.iter().find(|(name, _)| *name == unit).map(|(_, hertz)| *hertz);
        let hertz = hertz.ok_or_else(|| UnitError::UnknownUnit {
            text: text.into(),
            unit: unit.into(),
            meant: meant::rate(unit).map(|meant| with_unit(text, unit, meant)),
            known: "Hz kHz MHz GHz THz",
        })?;
        if value < Zero::zero() {
            return Err(UnitError::Malformed { text: text.into(), what: "rate", example: EXAMPLE });
        }
        let rate = value.checked_mul(&Ratio::from_integer(hertz));
        rate.map(Self).ok_or_else(|| UnitError::OutOfRange { text: text.into() })
    }
}
