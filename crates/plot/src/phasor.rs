//! Figures of phasors: how many pixels have the phasor of each cell, and the semicircle of the exponentials.
//!
//! At 40 MHz a lifetime of 3 ns has ωτ = 0.754 and the phasor (0.638, 0.481). Lifetimes are marked in steps of a factor of two.

use std::{f64::consts::TAU, fmt::Write as _};

use tagq::Answer;

use crate::{
    axis::Axis,
    colour::whole,
    figure::{Guide, GuideMark, Map, Plot, floats},
    pixels::spread,
    quantity::{Quantity, unit_of},
    words::{are, thousands},
};

/// The ends of the axes if all phasors are between them: around the semicircle.
const SHOWN: [[f64; 2]; 2] = [[-0.05, 1.05], [-0.05, 0.6]];
/// The ends beyond which no phasor is drawn.
const SHOWN_MAX: [[f64; 2]; 2] = [[-0.5, 1.5], [-0.5, 1.0]];
/// The part of the phasors that is left out on each side, if they are far from the semicircle.
const ASIDE: f64 = 0.005;
/// The step of the ends, and the sides that cells can have.
const STEP: f64 = 0.05;
const SIDES: [f64; 4] = [0.025, 0.0125, 0.01, 0.005];
/// The most cells along an axis.
const CELLS: f64 = 256.0;
/// The side of cells in standard deviations, over the fourth root of the number of pixels (Scott, Multivariate Density
/// Estimation (1992)).
const SCOTT: f64 = 3.5;
/// The parts of the semicircle that are drawn as lines.
const LINES: u32 = 120;
/// The least and the largest ωτ of a marked lifetime.
const MARKED: [f64; 2] = [0.12, 9.0];

/// Returns a note and the numbers of pixels in cells of phasors, at this frequency in hertz.
pub(crate) fn of(answer: &Answer, frequency: f64) -> (Option<String>, Plot) {
    let both = floats(&answer.rows, "phasor_g").into_iter().zip(floats(&answer.rows, "phasor_s"));
    let phasors: Vec<[f64; 2]> = both.filter_map(|(g, s)| Some([g?, s?])).collect();
    let ends = [0, 1].map(|part| ends(&phasors, part));
    let side = side(&phasors, ends);
    let counts = ends.map(|[low, high]| whole(((high - low) / side).round()));
    let mut cells = vec![None; counts[0] * counts[1]];
    let mut beyond = 0;
    for phasor in &phasors {
        let at = [0, 1].map(|part| (phasor[part] - ends[part][0]) / side);
        if at.iter().zip(counts).all(|(at, count)| (0.0..count as f64).contains(at)) {
            let cell: &mut Option<f64> = &mut cells[whole(at[0]) * counts[1] + whole(at[1])];
            *cell = Some(cell.unwrap_or(0.0) + 1.0);
        } else {
            beyond += 1;
        }
    }
    let mut note = format!("colours: pixels in a cell of {side} x {side}");
    if beyond > 0 {
        let all = thousands(phasors.len() as u64);
        let (number, are) = (thousands(beyond), are(beyond));
        let _ = write!(note, "; {number} of {all} pixels {are} outside of the axes");
    }
    let axis = |label: &str, [low, high]: [f64; 2]| Axis::linear(label, Quantity::Ratio, low, high);
    let most = cells.iter().flatten().copied().fold(1.0, f64::max);
    let map = Map {
        x: axis("g", ends[0]),
        y: axis("s", ends[1]),
        values: Axis::linear("pixels", Quantity::Count, 0.0, most),
        columns: counts[0],
        cells,
        image: None,
        brightness: None,
        guide: Some(semicircle(TAU * frequency)),
    };
    (Some(note), Plot::Map(map))
}

/// Returns the side of cells: the largest one that shows the narrowest peak.
fn side(phasors: &[[f64; 2]], ends: [[f64; 2]; 2]) -> f64 {
    let spreads = [0, 1].map(|part| {
        let mut values: Vec<f64> = phasors.iter().map(|of| of[part]).collect();
        values.sort_by(f64::total_cmp);
        spread(&values)
    });
    let number = libm::sqrt(libm::sqrt(phasors.len().max(1) as f64));
    let wanted = SCOTT * spreads[0].min(spreads[1]) / number;
    let fits = |side: &f64| ends.iter().all(|[low, high]| high - low <= CELLS * side);
    let sides = || SIDES.into_iter().filter(fits);
    sides().find(|&side| side <= wanted).or_else(|| sides().next_back()).unwrap_or(SIDES[0])
}

/// Returns the phasor of an exponential at this angular frequency times its lifetime.
fn exponential(angle: f64) -> [f64; 2] {
    [1.0, angle].map(|part| part / angle.mul_add(angle, 1.0))
}

/// Returns the semicircle with the lifetimes at an angular frequency.
fn semicircle(omega: f64) -> Guide {
    let line = (0..=LINES).map(|at| {
        let (sin, cos) = libm::sincos(TAU / 2.0 * f64::from(at) / f64::from(LINES));
        [f64::midpoint(1.0, cos), sin / 2.0]
    });
    let (unit, size) = unit_of(Quantity::Time, 4.0 / omega);
    let marks = (-10..=10).filter_map(|power| {
        let number = libm::exp2(f64::from(power));
        let angle = omega * number * size;
        (MARKED[0]..=MARKED[1])
            .contains(&angle)
            .then(|| GuideMark { at: exponential(angle), label: format!("{number} {unit}") })
    });
    Guide { line: line.collect(), marks: marks.collect(), middle: [0.5, 0.0] }
}

/// Returns the ends of an axis: those of the semicircle, or farther ones for phasors that are farther.
fn ends(phasors: &[[f64; 2]], part: usize) -> [f64; 2] {
    let [mut low, mut high] = SHOWN[part];
    let mut values: Vec<f64> = phasors.iter().map(|of| of[part]).collect();
    values.sort_by(f64::total_cmp);
    let aside = whole((ASIDE * values.len() as f64).floor());
    let inner = values.get(aside).zip(values.get(values.len().saturating_sub(1 + aside)));
    if let Some((least, most)) = inner {
        low = low.min((least / STEP).floor() * STEP).max(SHOWN_MAX[part][0]);
        high = high.max((most / STEP).floor() * STEP + STEP).min(SHOWN_MAX[part][1]);
    }
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: [f64; 2], other: [f64; 2]) -> bool {
        one.map(f64::to_bits) == other.map(f64::to_bits)
    }

    fn near(a: [f64; 2], b: [f64; 2]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn lifetimes_are_on_the_semicircle() {
        // g = 1/(1 + (ωτ)²), s = ωτ/(1 + (ωτ)²).
        for (angle, expected) in
            [(0.0, [1.0, 0.0]), (1.0, [0.5, 0.5]), (2.0, [0.2, 0.4]), (0.5, [0.8, 0.4])]
        {
            assert!(near(exponential(angle), expected), "{angle}: {:?}", exponential(angle));
        }
        let from_middle = |[g, s]: [f64; 2]| libm::hypot(g - 0.5, s);
        // 40 MHz: ωτ of 2 ns is 0.16π.
        let circle = semicircle(TAU * 40e6);
        assert!(circle.line.iter().all(|&at| (from_middle(at) - 0.5).abs() < 1e-12));
        assert!(near(circle.line[0], [1.0, 0.0]) && near(circle.line[60], [0.5, 0.5]));
        let labels: Vec<&str> = circle.marks.iter().map(|mark| &*mark.label).collect();
        assert_eq!(labels, ["0.5 ns", "1 ns", "2 ns", "4 ns", "8 ns", "16 ns", "32 ns"]);
        let angle = 0.16 * TAU / 2.0;
        let square = angle * angle + 1.0;
        assert!(near(circle.marks[2].at, [1.0 / square, angle / square]));
        assert!(circle.marks.iter().all(|mark| (from_middle(mark.at) - 0.5).abs() < 1e-12));
        let slow: Vec<String> =
            semicircle(TAU * 1e3).marks.into_iter().map(|of| of.label).collect();
        assert_eq!(slow.first().map(String::as_str), Some("32 \u{b5}s"));
    }

    #[test]
    fn cells_show_the_narrowest_peak() {
        // 256 phasors evenly over 0.4 and 0.04: a quarter of s is in 0.01, and 3.5·0.01/0.637/4 is 0.0137.
        let even = (0..256).map(|at| [1.0, 0.1].map(|of| of * 0.4 * f64::from(at) / 256.0));
        let even: Vec<[f64; 2]> = even.collect();
        assert!((side(&even, SHOWN) - 0.0125).abs() < 1e-12);
        assert!((side(&[[0.5, 0.5]; 9], SHOWN) - 0.005).abs() < 1e-12);
        assert!((side(&[[0.5, 0.5]; 9], SHOWN_MAX) - 0.01).abs() < 1e-12);
        assert!((side(&[], SHOWN) - 0.005).abs() < 1e-12);
    }

    #[test]
    fn axes_are_around_the_semicircle_and_most_phasors() {
        assert!(same(ends(&[], 0), SHOWN[0]));
        assert!(same(ends(&[[0.5, 0.5]], 1), SHOWN[1]));
        let [low, high] = ends(&[[0.5, -0.12], [0.5, 0.71]], 1);
        assert!((low + 0.15).abs() < 1e-9 && (high - 0.75).abs() < 1e-9, "{low} {high}");
        // One of 1,000 is left out, and none is farther than the farthest end.
        let mut many = vec![[0.5, 0.5]; 999];
        many.push([90.0, 90.0]);
        assert!(same(ends(&many, 0), SHOWN[0]));
        assert!(same(ends(&[[90.0, 0.0]], 0), [SHOWN[0][0], SHOWN_MAX[0][1]]));
    }
}
