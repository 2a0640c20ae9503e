//! Lifetimes of pixels: every other pixel of an image has the one lifetime, the rest have the other.

use tagq::fit::lifetimes::{Lifetime, Lifetimes, Phasors, ResponseOf};

use super::{
    Covers, Row, each_of,
    pixels::{Pulse, lifetimes, measured, pixels, sharp},
    simulated::{Random, detector},
};

/// In the unit of the axis, nanoseconds.
const TAUS: [f64; 2] = [0.6, 2.5];
/// Images of a case. Each has pixels for a tenth of the repetitions of both lifetimes.
const IMAGES: u64 = 10;

/// Errors of fewer photons are claimed to cover in an image of two lifetimes by the mean only.
const CLAIMED: f64 = 1_000.0;
const FEW: &str = "errors of pixels with fewer than 100 photons, about half of those of 100 on average, follow from the decay of all \
                   pixels together: they are too large for the shorter lifetime, and too small for the longer one";

/// A method to find the lifetime of a pixel.
struct Method {
    name: &'static str,
    find: fn(&Lifetimes, &Phasors<'_>, &[f64]) -> Option<Lifetime>,
}

const METHODS: [Method; 3] = [
    Method { name: "mean", find: |all, _, counts| all.mean(counts, 1.0) },
    Method {
        name: "phasor",
        find: |_, phasors, counts| phasors.lifetime(&phasors.of(counts, 1.0)?),
    },
    Method { name: "exp", find: |all, _, counts| Some(all.exponential(counts)?.0) },
];

const CASES: [(&str, f64, bool); 6] = [
    ("Pixels of 20 photons, response found", 20.0, false),
    ("Pixels of 100 photons, response found", 100.0, false),
    ("Pixels of 1,000 photons, response found", 1_000.0, false),
    ("Pixels of 20 photons, response measured", 20.0, true),
    ("Pixels of 100 photons, response measured", 100.0, true),
    ("Pixels of 1,000 photons, response measured", 1_000.0, true),
];

/// Simulates images, and judges as many pixels of each lifetime as there are repetitions.
pub(super) fn judged(repetitions: u64) -> Vec<Row> {
    let of_image = usize::try_from(repetitions.div_ceil(IMAGES)).unwrap();
    let mut rows = Vec::new();
    for (case, photons, is_measured) in CASES {
        let pulse: &Pulse = if is_measured { &detector } else { &sharp };
        let response = if is_measured { measured(pulse) } else { ResponseOf::Auto };
        let image = |number: u64| {
            let tau = |pixel: usize| TAUS[pixel % 2];
            let pixels = pixels(&mut Random(number + 1), 2 * of_image, photons, pulse, &tau);
            let all = lifetimes(&pixels, &response);
            let phasors = all.phasors(1).unwrap();
            let find = |counts: &Vec<f64>| METHODS.map(|of| (of.find)(&all, &phasors, counts));
            pixels.iter().map(find).collect::<Vec<_>>()
        };
        let images = each_of(IMAGES, &image);
        for (at, method) in METHODS.iter().enumerate() {
            for (kind, tau) in TAUS.into_iter().enumerate() {
                let pixels = images.iter().flat_map(|image| image.iter().skip(kind).step_by(2));
                let all: Vec<Option<Lifetime>> = pixels.map(|of| of[at]).collect();
                let asked = format!("{}, {tau} ns", method.name);
                let is_claimed = method.name == "mean" || photons >= CLAIMED;
                let covers = if is_claimed { Covers::Formula } else { Covers::Neither(FEW) };
                rows.push(row((case, asked, covers), &all, tau));
            }
        }
    }
    rows
}

fn row(
    (case, mut asked, covers): (&'static str, String, Covers),
    all: &[Option<Lifetime>],
    tau: f64,
) -> Row {
    let found: Vec<Lifetime> = all.iter().flatten().copied().collect();
    let n = found.len() as f64;
    let answered = n / all.len() as f64;
    if answered < 0.999 {
        asked = format!("{asked}, answered in {:.0} %", 100.0 * answered);
    }
    let mean = |of: &dyn Fn(&Lifetime) -> f64| found.iter().map(of).sum::<f64>() / n;
    let bias = mean(&|of| of.tau - tau);
    let spread = mean(&|of| (of.tau - tau - bias).powi(2));
    Row {
        case,
        asked,
        quantity: "lifetime_s",
        pulls: [Some(mean(&|of| ((of.tau - tau) / of.err).powi(2))), None],
        covers,
        bias: Some(bias / (spread / n).sqrt()),
    }
}
