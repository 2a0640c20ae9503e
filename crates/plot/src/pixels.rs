//! Figures of the values of pixels: how many have each value, and how bright a pixel is.
//!
//! Half of 1,000 pixels have 1 ns and half have 3 ns, with a standard deviation of 0.1 ns. The shortest interval with a quarter of them is
//! as long as if all were in one peak of 0.2 ns or less: bins of 0.05 ns tell more than their quartiles, which are 2 ns apart.

use tagq::Answer;

use crate::{
    axis::Axis,
    colour::whole,
    figure::{Chart, Plot, Point, Series, Shape, floats},
    quantity::Quantity,
    values::Values,
    words::{are, thousands},
};

/// The part of the pixels that the middle of the axis leaves out on each side, and how far the axis goes on, as a part of the
/// middle.
const ASIDE: f64 = 0.02;
const BEYOND: f64 = 0.3;
/// The length of the shortest interval with a quarter of the values of a normal distribution, in standard deviations.
const QUARTER: f64 = 0.637;
/// The width of bins in standard deviations, over the third root of the number of values (Scott, Biometrika 66, 605 (1979)).
const SCOTT: f64 = 3.49;
/// The fewest and the most bins.
const BINS: [f64; 2] = [10.0, 200.0];

/// Returns a note and the number of pixels in bins of their values. Pixels of all frames count.
pub(crate) fn histogram(answer: &Answer, values: &Values) -> (Option<String>, Plot) {
    let rows = floats(&answer.rows, &values.key);
    let mut sorted: Vec<f64> = rows.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let edges = edges(&sorted, values.quantity == Quantity::Count);
    let mut points = Vec::new();
    for (&from, &to) in edges.iter().zip(&edges[1..]) {
        let before = |edge: f64| sorted.partition_point(|&value| value < edge);
        let value = Some((before(to) - before(from)) as f64);
        points.push(Point { from, to, value, err: 0.0, is_partial: false });
    }
    let (low, high) = (edges[0], edges[edges.len() - 1]);
    let most = points.iter().filter_map(|point| point.value).fold(1.0, f64::max);
    let beyond = sorted.iter().filter(|value| !(low..high).contains(value)).count() as u64;
    let missing = (rows.len() - sorted.len()) as u64;
    let of_all = |number: u64| {
        format!("{} of {} pixels {}", thousands(number), thousands(rows.len() as u64), are(number))
    };
    let notes = [
        (missing > 0).then(|| format!("{} left out: they have no value", of_all(missing))),
        (beyond > 0).then(|| format!("{} beyond the axis", of_all(beyond))),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let chart = Chart {
        x: Axis::linear(&values.label, values.quantity, low, high),
        y: Axis::for_values("pixels", Quantity::Count, 0.0, most, false),
        shape: Shape::Columns,
        reference: None,
        has_panels: false,
        series: vec![Series { name: "pixels".into(), shape: None, points }],
        below: None,
    };
    ((!notes.is_empty()).then(|| notes.join("; ")), Plot::Chart(chart))
}

/// Returns the edges of the bins of sorted values. Bins of whole numbers have whole widths.
fn edges(sorted: &[f64], is_whole: bool) -> Vec<f64> {
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
        return vec![0.0, 1.0];
    };
    let part = |part: f64| sorted[whole((part * (sorted.len() - 1) as f64).round())];
    let (low, high) = (part(ASIDE), part(1.0 - ASIDE));
    let more = BEYOND * (high - low);
    let (low, high) = ((low - more).max(least), (high + more).min(most));
    let wanted = SCOTT * spread(sorted) / libm::cbrt(sorted.len() as f64);
    let length = high - low;
    let mut width = rounded(wanted.min(length / BINS[0]), false);
    if width < length / BINS[1] {
        width = rounded(length / BINS[1], true);
    }
    if width <= 0.0 {
        width = if least == 0.0 { 1.0 } else { rounded(least.abs() / BINS[0], false) };
    }
    if is_whole {
        width = width.max(1.0).round();
    }
    let first = (low / width + 1e-9).floor();
    let count = whole((high / width + 1e-9).floor() - first) + 1;
    (0..=count).map(|at| (first + at as f64) * width).collect()
}

/// Returns the standard deviation of a peak of sorted values: of several peaks, their quartiles would tell the distance.
pub(crate) fn spread(sorted: &[f64]) -> f64 {
    let quarter = sorted.len() / 4;
    let ends = sorted.iter().zip(sorted.get(quarter..).unwrap_or_default());
    ends.map(|(low, high)| high - low).reduce(f64::min).unwrap_or(0.0) / QUARTER
}

/// Returns 1, 2 or 5 times a power of ten, the nearest one that is not larger, or that is not smaller; zero of zero.
fn rounded(width: f64, is_up: bool) -> f64 {
    if width <= 0.0 {
        return 0.0;
    }
    let decade = libm::pow(10.0, libm::log10(width).floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    let above = steps.iter().position(|&of| of > width * 0.999_999).unwrap_or(3);
    if is_up || steps[above] <= width * 1.000_001 { steps[above] } else { steps[above.max(1) - 1] }
}

/// Returns how bright each cell is by its number of photons: all with as many as 995 of 1,000 have are as bright as can be.
pub(crate) fn brightness(counts: &[Option<f64>], full: f64) -> Vec<f64> {
    let of = |count: &Option<f64>| (count.unwrap_or(0.0) / full.max(1.0)).clamp(0.0, 1.0);
    counts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_of_round_widths_and_hold_all_but_the_farthest() {
        // 1,001 values from 1 to 3, evenly: a quarter of them is in 0.5, and 3.49·0.5/0.637/10 is 0.27.
        let even: Vec<f64> = (0..=1_000).map(|at| f64::from(at).mul_add(0.002, 1.0)).collect();
        assert!((spread(&even) - 0.5 / QUARTER).abs() < 1e-9);
        let of = edges(&even, false);
        assert!(of.len() == 12 && of[0] < 1.0 + 1e-9 && (of[11] - 3.2).abs() < 1e-9, "{of:?}");
        // Two peaks that are far from each other have the bins of one.
        let two: Vec<f64> = even.iter().copied().chain(even.iter().map(|of| of + 90.0)).collect();
        let width = edges(&two, false).windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        assert!((width - 0.5).abs() < 1e-9, "{width}");
        let mut hot = even.clone();
        hot.push(1e6);
        let far = edges(&hot, false);
        assert!(far[far.len() - 1] < 4.0, "{far:?}");
        assert_eq!(edges(&[], false), [0.0, 1.0]);
        let same = edges(&[7.0; 9], false);
        assert!(same.len() == 2 && same[0] <= 7.0 && same[1] > 7.0, "{same:?}");
        assert_eq!(edges(&[0.0, 1.0, 1.0, 2.0], true), [0.0, 1.0, 2.0, 3.0]);
        for (width, below, above) in
            [(0.7, 0.5, 1.0), (0.2, 0.2, 0.2), (19.0, 10.0, 20.0), (0.0, 0.0, 0.0)]
        {
            assert!((rounded(width, false) - below).abs() < 1e-12, "{width}");
            assert!((rounded(width, true) - above).abs() < 1e-12, "{width}");
        }
    }

    #[test]
    fn pixels_are_as_bright_as_they_have_photons() {
        assert_eq!(
            brightness(&[Some(0.0), Some(50.0), Some(900.0), None], 100.0),
            [0.0, 0.5, 1.0, 0.0]
        );
    }
}
