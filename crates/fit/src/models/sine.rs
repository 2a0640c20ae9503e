//! A fringe.
//!
//! A level of 100 and a visibility of 0.5: from 50 to 150, if bins are short compared with the period; longer bins
//! smear the fringe.

use std::f64::consts::TAU;

use super::flat::Flat;
use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Model, Parameter, Quantity, Structure},
};

/// A sine on a constant level.
///
/// Parameters: `level`, `visibility` ((max − min) / (max + min)), `period` and `maximum`, the place of the maximum
/// nearest to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sine;

/// More values than this, at equal distances, are searched by a Fourier transform.
const DIRECT: usize = 200;
/// The lines of a spectrum that are tried.
const LINES: usize = 4;
/// The phases that are tried at each frequency.
const PHASES: usize = 8;

/// Returns the frequencies of the strongest lines of values at equal distances.
fn strongest(values: &[(f64, f64)]) -> Vec<f64> {
    let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
    // Four places in the width of a line.
    let length = (4 * values.len()).next_power_of_two();
    let largest = values.iter().map(|(_, value)| (value - mean).abs()).fold(0.0, f64::max);
    #[expect(clippy::cast_possible_truncation, reason = "seven digits find a line")]
    let scaled =
        |&(_, value): &(f64, f64)| ((value - mean) / largest.max(f64::MIN_POSITIVE)) as f32;
    let mut padded: Vec<f32> = values.iter().map(scaled).collect();
    padded.resize(length, 0.0);
    let power = tagq_spectrum::power(padded);
    let distance = (values[values.len() - 1].0 - values[0].0) / (values.len() - 1) as f64;
    // From half a period in the span to three values a period.
    let (first, last) = (length / (2 * values.len()), length / 3);
    let is_line = |at: &usize| power[*at] >= power[at - 1] && power[*at] >= power[at + 1];
    let mut lines: Vec<usize> = (first.max(1)..last).filter(is_line).collect();
    lines.sort_by(|&one, &other| power[other].total_cmp(&power[one]));
    lines.truncate(LINES);
    lines.into_iter().map(|line| line as f64 / (length as f64 * distance)).collect()
}

impl Sine {
    /// Returns the visibility and the maximum of the fringe with this period that is nearest to the values, and the
    /// part of their squares that it describes.
    fn best(values: &[(f64, f64)], period: f64) -> (f64, f64, f64, f64) {
        // Least squares for level, cosine and sine: normal equations of three unknowns.
        let mut sums = nalgebra::Matrix3::zeros();
        let mut right = nalgebra::Vector3::zeros();
        for &(place, value) in values {
            let (sin, cos) = libm::sincos(TAU * place / period);
            let row = nalgebra::Vector3::new(1.0, cos, sin);
            sums += row * row.transpose();
            right += row * value;
        }
        let Some(found) = sums.lu().solve(&right) else { return (0.0, 0.0, 0.0, 0.0) };
        let (level, cos, sin) = (found[0], found[1], found[2]);
        let visibility = if level > 0.0 { libm::hypot(cos, sin) / level } else { 0.0 };
        let maximum = libm::atan2(sin, cos) / TAU * period;
        (level, visibility, maximum, found.dot(&right))
    }
}

impl Model for Sine {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let (from, to) = data.ends();
        let span = to - from;
        let level = data.ratios().map(|(_, value)| value).sum::<f64>() / data.bins.len() as f64;
        vec![
            Parameter::new("level", Quantity::Value, level).positive(),
            Parameter::new("visibility", Quantity::Ratio, 0.5).between(0.0, 1.0),
            Parameter::new("period", Quantity::Place, span / 2.0)
                .between(span / data.bins.len() as f64, 20.0 * span),
            Parameter::new("maximum", Quantity::Place, span / 8.0),
        ]
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let values: Vec<(f64, f64)> =
            data.ratios().map(|(bin, value)| (bin.middle(), value)).collect();
        let frequencies = if values.len() > DIRECT && data.width().is_ok() {
            strongest(&values)
        } else {
            // A line is as wide as the inverse of the span: four places in it, from a half of it to a third of the
            // values.
            let span =
                values.last().zip(values.first()).map_or(1.0, |(last, first)| last.0 - first.0);
            let places = (4 * values.len() / 3).max(40);
            let frequency = |place: usize| (0.5 + place as f64 / 4.0) / span;
            (0..places).map(frequency).collect()
        };
        let tried = frequencies.into_iter().map(|of| (1.0 / of, Self::best(&values, 1.0 / of)));
        let mut tried: Vec<_> = tried.collect();
        tried.sort_by(|one, other| other.1.3.total_cmp(&one.1.3));
        let start = |(period, (level, visibility, maximum, _)): &(f64, (f64, f64, f64, f64))| {
            vec![level.max(1e-9), visibility.clamp(0.02, 0.95), *period, *maximum]
        };
        tried.iter().take(4).map(start).collect()
    }

    fn structure(&self, data: &Data) -> Option<Structure> {
        let (first, last) = (data.bins[0].middle(), data.bins[data.bins.len() - 1].middle());
        let frequencies =
            (1..2 * data.bins.len() / 3).map(|half| half as f64 / 2.0 / (last - first));
        let places = frequencies.flat_map(|frequency| {
            let phases = (0..PHASES).map(|phase| phase as f64 / PHASES as f64);
            phases.map(move |phase| vec![1.0, 0.0, 1.0 / frequency, phase / frequency])
        });
        let null = Box::new(Flat::new("level", Quantity::Value));
        Some(Structure {
            name: "fringe".into(),
            against: "a constant".into(),
            null,
            amplitude: 1,
            shared: vec![(0, 0)],
            places: places.collect(),
        })
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let &[level, visibility, period, maximum] = parameters else {
            return Err(Error::Model("a fringe has four parameters".into()));
        };
        for (value, bin) in values.iter_mut().zip(bins) {
            // The mean of a cosine over a bin is that in its middle times sinc.
            let half = TAU / 2.0 * bin.width() / period;
            let smeared = if half.abs() < 1e-9 { 1.0 } else { libm::sin(half) / half };
            let phase = TAU * (bin.middle() - maximum) / period;
            *value = level * (visibility * smeared).mul_add(libm::cos(phase), 1.0);
        }
        Ok(())
    }

    fn arrange(&self, parameters: &mut [f64], _: &Data) {
        let (period, maximum) = (parameters[2], parameters[3]);
        parameters[3] = maximum - period * (maximum / period).round();
    }
}
