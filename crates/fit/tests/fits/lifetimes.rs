//! Lifetimes of pixels of known truth: little bias, errors that cover, and a spread near the least one that is possible.

use tagq_fit::lifetimes::{FoundResponse, Lifetime, Lifetimes, Reference, ResponseOf};
use tagq_sampling::some;

use super::{
    pixels::{
        BACKGROUND, BINS, PERIOD, Pulse, Taus, WIDTH, added, lifetimes, measured, pixels, sharp,
    },
    simulated::{Random, detector},
};

/// Estimates the lifetime of a pixel.
type Estimate<'a> = dyn Fn(&[f64]) -> Option<Lifetime> + 'a;

/// Of 20, 100 and 1,000 photons, with one lifetime and with two: the errors of all methods cover.
#[test]
fn errors_of_pixels_cover() {
    let taus: [(&str, &Taus); 3] = [
        ("2.5", &|_| 2.5),
        ("0.6", &|_| 0.6),
        ("0.6 and 2.5", &|pixel| if pixel % 2 == 0 { 0.6 } else { 2.5 }),
    ];
    for (name, tau) in taus {
        for (of, pulse, response) in [
            ("found", &sharp as &Pulse, ResponseOf::Auto),
            ("measured", &detector, measured(&detector)),
        ] {
            for photons in [20.0, 100.0, 1_000.0] {
                let count = some(0..2_000).count();
                let pixels = pixels(&mut Random(3), count, photons, pulse, tau);
                let all = lifetimes(&pixels, &response);
                let phasors = all.phasors(1).unwrap();
                let methods: [(&str, &Estimate<'_>); 3] = [
                    ("mean", &|counts| all.mean(counts, 1.0)),
                    ("phasor", &|counts| phasors.lifetime(&phasors.of(counts, 1.0)?)),
                    ("exp", &|counts| Some(all.exponential(counts)?.0)),
                ];
                for (method, estimate) in methods {
                    let found = pixels.iter().enumerate().filter_map(|(pixel, counts)| {
                        let Lifetime { tau: found, err } = estimate(counts)?;
                        Some((found - tau(pixel)) / err)
                    });
                    let pulls: Vec<f64> = found.collect();
                    let answered = pulls.len() as f64 / count as f64;
                    let ratio = pulls.iter().map(|off| off * off).sum::<f64>() / pulls.len() as f64;
                    let bias = pulls.iter().sum::<f64>() / pulls.len() as f64;
                    let case = format!("{name}, {of} response, {photons} photons, {method}");
                    println!("{case}: {ratio:.2}, {bias:.2}, {answered:.3} answered");
                    // Below 100 photons, errors are those of a typical pixel, and may be wider than needed.
                    let least = if photons < 1_000.0 { 0.3 } else { 0.8 };
                    let chance = 3.0 * (2.0 / count as f64).sqrt();
                    assert!((least - chance..=1.25 + chance).contains(&ratio), "{case}: {ratio}");
                    assert!(bias.abs() < 0.5, "{case}: {bias} errors off");
                    assert!(answered > 0.94, "{case}: {answered} answered");
                }
            }
        }
    }
}

/// The phase and the modulation of the response by references of known lifetime are within their errors of those of a Gaussian.
#[test]
fn errors_of_references_cover() {
    for (lifetime, harmonic) in [(2.5, 1), (0.6, 2)] {
        let omega = std::f64::consts::TAU * f64::from(harmonic) / PERIOD;
        let smeared = libm::exp(-(omega * 0.08).powi(2) / 2.0);
        // Photons are counted at the middles of their bins, which shortens all phasors.
        let by_bins = libm::sin(omega * WIDTH / 2.0) / (omega * WIDTH / 2.0);
        let truth = [omega * 2.0, smeared * by_bins];
        let count = some(0..200).count();
        let references = pixels(&mut Random(8), count, 20_000.0, &sharp, &move |_| lifetime);
        let mut pulls = [Vec::new(), Vec::new()];
        for values in &references {
            let decay = added(std::slice::from_ref(values));
            let found = Reference::new(&decay, lifetime, (PERIOD, harmonic), &|| false).unwrap();
            assert!((found.photons - values.iter().sum::<f64>()).abs() < 0.5);
            let measured = [found.response.phase(), found.response.modulation()];
            for (pulls, ((value, err), truth)) in pulls.iter_mut().zip(measured.iter().zip(truth)) {
                let turn = std::f64::consts::TAU;
                let off = value - truth;
                pulls.push((off - turn * (off / turn).round()) / err);
            }
        }
        for (name, pulls) in ["phase", "modulation"].into_iter().zip(pulls) {
            let ratio = pulls.iter().map(|off| off * off).sum::<f64>() / pulls.len() as f64;
            let bias = pulls.iter().sum::<f64>() / pulls.len() as f64;
            println!("{name} of {lifetime} at harmonic {harmonic}: {ratio:.2}, {bias:.2}");
            let chance = 3.0 * (2.0 / count as f64).sqrt();
            assert!((0.8 - chance..=1.25 + chance).contains(&ratio), "{name}: {ratio}");
            assert!(bias.abs() < 0.5, "{name}: {bias} errors off");
        }
    }
}

/// The spread of the likeliest lifetimes is near the Cramér–Rao bound, which their errors are.
#[test]
fn the_spread_is_near_the_bound() {
    for tau in [0.6, 2.5] {
        let pixels = pixels(&mut Random(4), 400, 1_000.0, &sharp, &move |_| tau);
        let all = lifetimes(&pixels, &ResponseOf::Auto);
        let found: Vec<(Lifetime, f64)> =
            pixels.iter().map(|counts| all.exponential(counts).unwrap()).collect();
        let count = found.len() as f64;
        let mean = found.iter().map(|(of, _)| of.tau).sum::<f64>() / count;
        let variance =
            found.iter().map(|(of, _)| (of.tau - mean) * (of.tau - mean)).sum::<f64>() / count;
        let bound = found.iter().map(|(of, _)| of.err).sum::<f64>() / count;
        let part = found.iter().map(|(_, part)| part).sum::<f64>() / count;
        assert!((mean / tau - 1.0).abs() < 0.01, "{tau}: {mean}");
        assert!((0.85..1.15).contains(&(variance.sqrt() / bound)), "{tau}: {variance} {bound}");
        assert!((part - BACKGROUND).abs() < 0.01, "{tau}: {part}");
    }
}

/// A response that is no Gaussian makes lifetimes longer, less so if photons during the response are left out.
#[test]
fn a_slow_tail_of_the_response_is_taken_for_a_lifetime() {
    let pixels = pixels(&mut Random(5), 100, 10_000.0, &detector, &|_| 0.6);
    let off = |response: ResponseOf| {
        let all = lifetimes(&pixels, &response);
        let tau = |counts: &Vec<f64>| all.exponential(counts).unwrap().0.tau - 0.6;
        (pixels.iter().map(tau).sum::<f64>() / pixels.len() as f64, all.response())
    };
    let (found, response) = off(ResponseOf::Auto);
    let FoundResponse::Gaussian { centre, fwhm } = response else { panic!("{response:?}") };
    assert!((centre - 2.0).abs() < 0.05 && (0.17..0.25).contains(&fwhm), "{centre} {fwhm}");
    let ((tail, _), (exact, _)) = (off(ResponseOf::Tail), off(measured(&detector)));
    assert!(exact.abs() < 0.003, "{exact}");
    assert!((0.01..0.06).contains(&found), "{found}");
    assert!(tail < found && tail > 0.0, "{tail} {found}");
}

#[test]
fn phasors_lie_on_the_semicircle() {
    for tau in [0.3, 1.0, 4.0] {
        let pixels = pixels(&mut Random(6), 4, 200_000.0, &sharp, &move |_| tau);
        let all = lifetimes(&pixels, &ResponseOf::Auto);
        for harmonic in [1, 2] {
            let angle = std::f64::consts::TAU * f64::from(harmonic) * tau / PERIOD;
            let place = 1.0 + angle * angle;
            let phasors = all.phasors(harmonic).unwrap();
            for counts in &pixels {
                let of = phasors.of(counts, 1.0).unwrap();
                let [of_g, of_s, _] = of.variances;
                let off =
                    [(of.g - 1.0 / place) / of_g.sqrt(), (of.s - angle / place) / of_s.sqrt()];
                assert!(off.iter().all(|off| off.abs() < 4.0), "{tau} {harmonic}: {of:?} {off:?}");
                assert!(of_g.sqrt() < 0.01, "{of:?}");
            }
        }
    }
}

/// A block at the end of a line has a part of the pixels of the others, and this part of the background.
#[test]
fn a_part_of_a_decay_has_this_part_of_the_background() {
    let pixels = pixels(&mut Random(11), 50, 1_000.0, &sharp, &|_| 2.5);
    let all = lifetimes(&pixels, &ResponseOf::Auto);
    let phasors = all.phasors(1).unwrap();
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    for whole in &pixels {
        let quarter: Vec<f64> = whole.iter().map(|of| of / 4.0).collect();
        let [of, at] = [all.mean(whole, 1.0).unwrap(), all.mean(&quarter, 0.25).unwrap()];
        assert!(near(of.tau, at.tau), "{of:?} {at:?}");
        let [of, at] = [phasors.of(whole, 1.0).unwrap(), phasors.of(&quarter, 0.25).unwrap()];
        assert!(near(of.g, at.g) && near(of.s, at.s), "{of:?} {at:?}");
    }
}

#[test]
fn pixels_without_light_have_no_lifetime() {
    let pixels = pixels(&mut Random(7), 50, 1_000.0, &sharp, &|_| 2.5);
    let all = lifetimes(&pixels, &ResponseOf::Auto);
    let phasors = all.phasors(1).unwrap();
    let empty = vec![0.0; BINS];
    let mut dark = empty.clone();
    // Fewer than the background that each pixel has.
    dark[60] = 10.0;
    for counts in [&empty, &dark] {
        assert!(all.mean(counts, 1.0).is_none() && phasors.of(counts, 1.0).is_none());
    }
    assert!(all.exponential(&empty).is_none());
    // Light that is all background has no lifetime either: the longest one is not an answer.
    let flat = vec![100.0; BINS];
    assert!(all.exponential(&flat).is_none_or(|(of, part)| part > 0.9 || of.err > of.tau));
    let nothing = Lifetimes::new(&added(&[empty]), 1.0, &ResponseOf::Auto, Some(PERIOD), &|| false);
    assert!(nothing.is_err());
    let stopped = Lifetimes::new(&added(&pixels), 50.0, &ResponseOf::Auto, Some(PERIOD), &|| true);
    assert_eq!(stopped.unwrap_err(), tagq_fit::Error::Cancelled);
}
