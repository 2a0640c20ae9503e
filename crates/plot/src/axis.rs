//! Axes: their content, unit and tick positions.
//!
//! A linear axis of times from 0 to 1,800 s has the unit min and ticks at 0, 5, … 30. Ticks are 1, 2 or 5 times a
//! power of ten apart; a value of an axis is always in seconds, hertz or counts, and only its ticks have the unit.

use std::cmp::Ordering;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct as _};

use crate::{
    quantity::{Quantity, unit_of, units},
    words::{exponent, fixed},
};

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal factors; values are above zero.
    Logarithmic,
}

/// How far beyond its ends, as a fraction of its length, an axis has ticks: bins end half a time tick
/// away from the numbers that the user requested.
const BEYOND: f64 = 2e-3;

/// How far beyond its ends, as a fraction of its length, a value is on the axis: by rounding.
const ON_AXIS: f64 = 1e-9;

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its label, without unit.
    pub label: String,
    /// The measured quantity.
    pub quantity: Quantity,
    /// Its start, in seconds, Hz or counts.
    pub low: f64,
    /// Its end.
    pub high: f64,
    /// Its scale.
    pub scale: Scale,
}

/// Ticks of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Ticks {
    /// Ticks with a number.
    pub marks: Vec<Mark>,
    /// Ticks between them, on a logarithmic axis.
    pub between: Vec<f64>,
    /// The unit of the numbers; empty if they have no unit, or each has its own.
    pub unit: &'static str,
}

/// A tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its position, as [`Axis::low`].
    pub at: f64,
    /// Its number, in the unit of the ticks.
    pub label: String,
}

impl Serialize for Axis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (unit, size) = self.unit();
        let mut axis = serializer.serialize_struct("Axis", 8)?;
        axis.serialize_field("label", &self.label)?;
        axis.serialize_field("quantity", &self.quantity)?;
        axis.serialize_field("unit", unit)?;
        axis.serialize_field("size", &size)?;
        axis.serialize_field("low", &self.low)?;
        axis.serialize_field("high", &self.high)?;
        axis.serialize_field("is_logarithmic", &(self.scale == Scale::Logarithmic))?;
        axis.serialize_field("units", units(self.quantity))?;
        axis.end()
    }
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Plain {
            label: String,
            quantity: Quantity,
            low: f64,
            high: f64,
            is_logarithmic: bool,
        }
        let Plain { label, quantity, low, high, is_logarithmic } =
            Plain::deserialize(deserializer)?;
        let scale = if is_logarithmic { Scale::Logarithmic } else { Scale::Linear };
        Ok(Self { label, quantity, low, high, scale })
    }
}

impl Axis {
    /// Returns the unit of its numbers, and the size of the unit.
    pub(crate) fn unit(&self) -> (&'static str, f64) {
        unit_of(self.quantity, self.low.abs().max(self.high.abs()))
    }

    /// Creates a linear axis from `low` to `high`.
    pub fn linear(label: impl Into<String>, quantity: Quantity, low: f64, high: f64) -> Self {
        let (low, high) = apart(low, high);
        Self { label: label.into(), quantity, low, high, scale: Scale::Linear }
    }

    /// Creates a logarithmic axis; linear if `low` is not above zero.
    pub fn logarithmic(label: impl Into<String>, quantity: Quantity, low: f64, high: f64) -> Self {
        let scale = if low > 0.0 { Scale::Logarithmic } else { Scale::Linear };
        Self { scale, ..Self::linear(label, quantity, low, high) }
    }

    /// Returns the logarithmic axis of the same quantity that begins at half of the least of these values above zero,
    /// so that this one is drawn above the end.
    #[must_use]
    pub fn around(self, values: impl Iterator<Item = f64>) -> Self {
        let least = values.filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
        let low = if least.is_finite() { least / 2.0 } else { self.high / 10.0 };
        let high = if self.high > low { self.high } else { 10.0 * low };
        Self::logarithmic(self.label, self.quantity, low, high)
    }

    /// Creates an axis for values between `low` and `high`: it starts at zero, unless all values are
    /// far from zero and `zoom` allows it to start at the values.
    pub fn for_values(label: &str, quantity: Quantity, low: f64, high: f64, zoom: bool) -> Self {
        let room = 0.05;
        if zoom && low > 0.5 * high && high > low {
            let more = room * (high - low);
            return Self::linear(label, quantity, low - more, high + more);
        }
        Self::linear(label, quantity, 0.0, high.max(0.0) * (1.0 + room))
    }

    /// Returns the position of a value: 0 at the start of the axis, 1 at the end.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => {
                libm::log(value.max(0.0) / self.low) / libm::log(self.high / self.low)
            }
        }
    }

    /// Returns on which side of the axis a value is: `Less` before its start, `Greater` after its end, `Equal` on it.
    pub fn side(&self, value: f64) -> Ordering {
        match self.place(value) {
            place if place < -ON_AXIS => Ordering::Less,
            place if place > 1.0 + ON_AXIS => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    /// Returns its label with the unit of its numbers.
    pub fn title(&self, ticks: &Ticks) -> String {
        match ticks.unit {
            "" => self.label.clone(),
            unit => format!("{} ({unit})", self.label),
        }
    }

    /// Returns at most about `most` ticks with numbers.
    pub fn ticks(&self, most: usize) -> Ticks {
        if self.scale == Scale::Logarithmic {
            let ticks = self.decades(most.max(1));
            let steps = self.steps(most.max(1));
            // A single power of ten says more than no number.
            return if ticks.marks.len() > 1 || steps.marks.is_empty() { ticks } else { steps };
        }
        self.steps(most.max(1))
    }

    /// Returns ticks with a spacing of 1, 2 or 5 times a power of ten.
    fn steps(&self, most: usize) -> Ticks {
        let (unit, size) = self.unit();
        let (low, high) = (self.low / size, self.high / size);
        let least = (high - low) / most as f64;
        let mut power = exponent(least);
        let fits = |factor: f64, power: i32| factor * 10f64.powi(power) >= least * (1.0 - 1e-9);
        let factor = [1.0, 2.0, 5.0].into_iter().find(|&factor| fits(factor, power));
        let factor = factor.unwrap_or_else(|| {
            power += 1;
            1.0
        });
        let is_whole = self.quantity == Quantity::Count && unit.is_empty();
        let (factor, power) = if is_whole && power < 0 { (1.0, 0) } else { (factor, power) };
        let step = factor * 10f64.powi(power);
        let places = usize::try_from(-power).unwrap_or(0);
        let mut marks = Vec::new();
        let beyond = BEYOND * (high - low);
        let mut number = ((low - beyond) / step).ceil();
        while number * step <= high + beyond {
            let value = number * step;
            marks.push(Mark { at: value * size, label: fixed(value, places) });
            number += 1.0;
        }
        Ticks { marks, between: Vec::new(), unit }
    }

    /// Returns ticks at powers of ten, and at 2 and 5 times them if there are few.
    fn decades(&self, most: usize) -> Ticks {
        let beyond = libm::pow(self.high / self.low, BEYOND);
        let (low, high) = (self.low / beyond, self.high * beyond);
        let powers = exponent(low)..=exponent(high);
        let values = |factors: &'static [f64]| {
            powers.clone().flat_map(move |power| factors.iter().map(move |f| f * 10f64.powi(power)))
        };
        let inside = |value: &f64| (low..=high).contains(value);
        let tens: Vec<f64> = values(&[1.0]).filter(inside).collect();
        let more: Vec<f64> = values(&[1.0, 2.0, 5.0]).filter(inside).collect();
        let stride = tens.len().div_ceil(most).max(1);
        let of_few = tens.len() < 3 && more.len() <= most;
        let shown = if of_few { more } else { tens.into_iter().step_by(stride).collect() };
        let marks = shown.into_iter().map(|at| Mark { at, label: self.alone(at) }).collect();
        let between = values(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]).filter(inside);
        Ticks { marks, between: if stride == 1 { between.collect() } else { Vec::new() }, unit: "" }
    }

    /// Formats a value with its own unit.
    fn alone(&self, value: f64) -> String {
        let (unit, size) = match self.quantity {
            // Minutes and hours are not powers of ten.
            Quantity::Time if value >= 1.0 => ("s", 1.0),
            quantity => unit_of(quantity, value),
        };
        let scaled = value / size;
        let places = usize::try_from(-exponent(scaled)).unwrap_or(0);
        let number = fixed(scaled, places);
        if unit.is_empty() { number } else { format!("{number} {unit}") }
    }
}

/// Makes the ends of an axis differ.
fn apart(low: f64, high: f64) -> (f64, f64) {
    let is_range = low.is_finite() && high.is_finite() && high > low;
    let middle = if low.is_finite() { low } else { 0.0 };
    match middle.abs() {
        _ if is_range => (low, high),
        0.0 => (0.0, 1.0),
        size => (middle - 0.1 * size, middle + 0.1 * size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &Ticks) -> Vec<&str> {
        ticks.marks.iter().map(|mark| &*mark.label).collect()
    }

    #[test]
    fn units_are_those_of_the_reader() {
        let of = |low, high| Axis::linear("delay", Quantity::Time, low, high);
        let ticks = of(-10e-9, 10e-9).ticks(5);
        assert_eq!(ticks.unit, "ns");
        assert_eq!(labels(&ticks), ["\u{2212}10", "\u{2212}5", "0", "5", "10"]);
        assert_eq!(of(0.0, 2.5e-6).ticks(6).unit, "\u{b5}s");
        assert_eq!(of(0.0, 400e-12).ticks(6).unit, "ps");
        assert_eq!(of(0.0, 59.0).ticks(6).unit, "s");
        assert_eq!(of(0.0, 1800.0).ticks(6).unit, "min");
        assert_eq!(labels(&of(0.0, 1800.0).ticks(6)), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(of(0.0, 86_400.0).ticks(6).unit, "h");
        let rate = Axis::linear("rate", Quantity::Rate, 0.0, 96_277.0);
        assert_eq!(rate.title(&rate.ticks(5)), "rate (kHz)");
        let counts = Axis::linear("counts", Quantity::Count, 0.0, 3e7).ticks(3);
        assert_eq!((counts.unit, labels(&counts)), ("10\u{2076}", vec!["0", "10", "20", "30"]));
    }

    #[test]
    fn ticks_are_few_and_inside() {
        for (low, high) in
            [(0.0, 1.0), (-3.0, 7.7), (0.93, 1.04), (96_277.2, 96_277.9), (1e-3, 1e9)]
        {
            let axis = Axis::linear("", Quantity::Ratio, low, high);
            for most in 1..12 {
                let ticks = axis.ticks(most);
                assert!(ticks.marks.len() <= most + 1, "{low} {high} {most} {ticks:?}");
                for mark in &ticks.marks {
                    assert!((-BEYOND..=1.0 + BEYOND).contains(&axis.place(mark.at)), "{mark:?}");
                }
                let mut different = labels(&ticks);
                different.dedup();
                assert_eq!(different.len(), ticks.marks.len(), "{ticks:?}");
            }
            assert!(axis.ticks(6).marks.len() > 2, "{low} {high}");
        }
        // Counts are whole.
        assert_eq!(labels(&Axis::linear("", Quantity::Count, 0.0, 1.05).ticks(8)), ["0", "1"]);
    }

    #[test]
    fn decades_have_their_own_units() {
        let axis = Axis::logarithmic("delay", Quantity::Time, 1e-9, 1e-3);
        let ticks = axis.ticks(9);
        let expected =
            ["1 ns", "10 ns", "100 ns", "1 \u{b5}s", "10 \u{b5}s", "100 \u{b5}s", "1 ms"];
        assert_eq!((labels(&ticks), ticks.unit), (expected.to_vec(), ""));
        assert_eq!(labels(&axis.ticks(4)), ["1 ns", "100 ns", "10 \u{b5}s", "1 ms"]);
        assert!(axis.ticks(4).between.is_empty() && ticks.between.len() == 6 * 8);
        let narrow = Axis::logarithmic("delay", Quantity::Time, 1.5e-9, 30e-9).ticks(9);
        assert_eq!(labels(&narrow), ["2 ns", "5 ns", "10 ns", "20 ns"]);
        // Less than a factor of two: same ticks as on a linear axis.
        assert_eq!(Axis::logarithmic("", Quantity::Time, 2.1e-9, 2.9e-9).ticks(5).unit, "ns");
        assert!((axis.place(1e-6) - 0.5).abs() < 1e-12);
        assert_eq!(Axis::logarithmic("", Quantity::Time, 0.0, 1.0).scale, Scale::Linear);
        // Requested ends have ticks, although the bins end half a time tick away.
        let asked = Axis::logarithmic("", Quantity::Time, 0.9e-9, 1e-3 - 78e-12).ticks(9);
        assert_eq!(labels(&asked).last(), Some(&"1 ms"));
        let asked = Axis::linear("", Quantity::Time, -78e-12, 100e-9 - 78e-12).ticks(5);
        assert_eq!(labels(&asked), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn an_axis_has_a_length_whatever_there_is() {
        for (low, high) in
            [(0.0, 0.0), (5.0, 5.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (1.0, 0.0)]
        {
            let axis = Axis::linear("", Quantity::Rate, low, high);
            assert!(axis.high > axis.low && axis.high.is_finite(), "{low} {high}: {axis:?}");
            assert!(!axis.ticks(5).marks.is_empty());
        }
        let near = Axis::for_values("", Quantity::Ratio, 0.98, 1.02, true);
        assert!(near.low > 0.9 && near.high > 1.02);
        assert!(Axis::for_values("", Quantity::Ratio, 0.98, 1.02, false).low.abs() < 1e-12);
        assert!(Axis::for_values("", Quantity::Ratio, 0.1, 1.02, true).low.abs() < 1e-12);
    }
}
