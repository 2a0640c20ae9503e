//! Fluorescence, clock and scan: what was asked for is in the tags.

use tagq_simulate::{Area, Clock, Detector, Error, Light, Markers, Scan, Simulation, Species, Tag};

const MARKERS: Markers = Markers { line: 101, line_end: 102, frame: 103 };
const PERIOD: f64 = 500.0;
const DELAY: f64 = 100.0;

fn scan() -> Scan {
    let (pixels, lines, frames) = (24, 16, 3);
    Scan { pixels, lines, frames, dwell: 40, two_way: false, sine: None, markers: MARKERS }
}

fn simulation(species: Vec<Species>, scan: Option<Scan>) -> Simulation {
    let detector = Detector {
        channel: 1,
        efficiency: 0.5,
        dark_rate: 0.0,
        jitter: 2.0,
        delay: DELAY,
        dead_time: 0,
    };
    let mut simulation = Simulation {
        light: Light::Fluorescence { species, pulse_period: PERIOD, scan },
        detectors: vec![detector],
        drift: None,
        clock: Some(Clock { channel: 9, divider: 4 }),
        start: 1_001,
        duration: 100_000_000,
        seed: 3,
    };
    simulation.duration = simulation.scan_duration().unwrap_or(simulation.duration);
    simulation
}

fn tags(simulation: &Simulation) -> Vec<Tag> {
    let mut tags = simulation.tags().unwrap();
    let mut all = Vec::new();
    while let Some(slab) = tags.next_slab() {
        all.extend_from_slice(slab);
    }
    assert!(all.is_sorted_by_key(|tag| tag.time));
    all
}

fn times(tags: &[Tag], channel: u64) -> Vec<i64> {
    tags.iter().filter(|tag| tag.channel == channel).map(|tag| tag.time).collect()
}

fn species(rate: f64, lifetime: f64, area: Area) -> Species {
    Species { rate, lifetime, area }
}

#[test]
fn a_decay_has_the_lifetimes_in_their_parts() {
    let (short, long) =
        (species(6e-4, 10.0, Area::Everywhere), species(2e-4, 60.0, Area::Everywhere));
    let tags = tags(&simulation(vec![short, long], None));
    let photons = times(&tags, 1);
    // 8e-4 of which half are detected, 1e8 ticks: 40,000.
    let n = photons.len() as f64;
    assert!((n - 40_000.0).abs() < 5.0 * 200.0, "{n}");
    // A photon is at the pulse, the delay and a mean of 0.75 * 10 + 0.25 * 60 = 22.5; folded, 60 - 500 / (e^(500 / 60) - 1) =
    // 59.88. A tag is half a tick before its time on average. Variance: 0.75 * 2 * 100 + 0.25 * 2 * 3,600 - 22.5^2 + 4 = 1,448.
    let after: Vec<f64> =
        photons.iter().map(|time| time.rem_euclid(500) as f64 - DELAY + 0.5).collect();
    let mean = after.iter().map(|&of| if of < -20.0 { of + PERIOD } else { of }).sum::<f64>() / n;
    assert!((mean - 22.5).abs() < 4.5 * (1_448.0 / n).sqrt(), "{mean}");
    // Later than 100 ticks after the pulse: 0.25 * exp(-100 / 60) of all, and 0.75 * exp(-10).
    let late = after.iter().filter(|of| !(-20.0..=100.0).contains(*of)).count() as f64;
    let expected = n * (0.25 * (-100.0_f64 / 60.0).exp() + 0.75 * (-10.0_f64).exp());
    assert!((late - expected).abs() < 4.5 * expected.sqrt(), "{late}, {expected} expected");
}

#[test]
fn the_clock_has_each_fourth_pulse() {
    let tags = tags(&simulation(vec![species(1e-4, 9.0, Area::Everywhere)], None));
    // From tick 1,001 to before 100,001,001: 2,000 to 100,000,000.
    let expected: Vec<i64> = (1..=50_000).map(|of| of * 2_000).collect();
    assert!(times(&tags, 9) == expected);
}

#[test]
fn each_pixel_has_the_photons_of_its_species() {
    let background = species(2e-4, 20.0, Area::Background);
    let disc = species(6e-4, 50.0, Area::Disc);
    for (two_way, sine) in [(false, None), (true, None), (true, Some(0.8))] {
        let scan = Scan { two_way, sine, ..scan() };
        let simulation = simulation(vec![background, disc], Some(scan));
        let tags = tags(&simulation);
        let (lines, ends) = (times(&tags, MARKERS.line), times(&tags, MARKERS.line_end));
        assert_eq!((lines.len(), ends.len(), times(&tags, MARKERS.frame).len()), (48, 48, 3));
        // A line has 24 * 40 pulses, and a quarter more with the way.
        assert!(lines.windows(2).all(|pair| pair[1] - pair[0] == 1_200 * 500));
        assert!(lines.iter().zip(&ends).all(|(line, end)| end - line == 960 * 500));
        let mut counts = vec![0.0; 24 * 16];
        for time in times(&tags, 1) {
            if let Some(at) = simulation.pixel_at(time) {
                counts[(at.line * 24 + at.pixel) as usize] += 1.0;
            }
        }
        let mut chi = 0.0;
        for (at, count) in (0_u32..).zip(&counts) {
            let (line, pixel) = (at / 24, at % 24);
            let expected = simulation.photons_expected(line, pixel).unwrap();
            if sine.is_none() {
                // 3 frames of 40 pulses of 500 ticks, half of the photons: 6 and 18.
                let in_disc =
                    (2 * i64::from(pixel) - 23).pow(2) + (2 * i64::from(line) - 15).pow(2);
                let known = if 25 * in_disc <= 9 * 256 { [0.0, 18.0] } else { [6.0, 0.0] };
                assert!(expected.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-9), "{at}");
            }
            let expected: f64 = expected.iter().sum();
            chi += (count - expected).powi(2) / expected;
        }
        // 384 pixels: a chi-square of 1 each, with an error of sqrt(2 / 384) = 0.07.
        assert!((chi / 384.0 - 1.0).abs() < 0.32, "{two_way} {sine:?}: {}", chi / 384.0);
    }
}

#[test]
fn what_no_laser_does_is_refused() {
    let good = simulation(vec![species(1e-4, 9.0, Area::Everywhere)], Some(scan()));
    let refused = |change: &dyn Fn(&mut Simulation)| {
        let mut simulation = good.clone();
        change(&mut simulation);
        simulation.tags().map(drop).unwrap_err()
    };
    let signal = refused(&|of| of.clock = Some(Clock { channel: 101, divider: 1 }));
    assert!(matches!(signal, Error::SignalChannel { channel: 101, .. }), "{signal}");
    let divider = refused(&|of| of.clock = Some(Clock { channel: 8, divider: 0 }));
    assert!(divider.to_string().contains("clock.divider"), "{divider}");
    let no_pulses = refused(&|of| {
        of.light = Light::Coherent { rate: 1e-4, pulse_period: None, beam_splitter: false };
    });
    assert!(no_pulses.to_string().contains("pulsed light"), "{no_pulses}");
    for (field, bad) in [
        ("scan.pixels", Scan { pixels: 0, ..scan() }),
        ("scan.sine", Scan { sine: Some(1.1), ..scan() }),
        ("scan is", Scan { lines: u32::MAX, frames: u32::MAX, ..scan() }),
    ] {
        let error = refused(&|of| {
            let species = vec![species(1e-4, 9.0, Area::Everywhere)];
            of.light = Light::Fluorescence { species, pulse_period: PERIOD, scan: Some(bad) };
        });
        assert!(error.to_string().contains(field), "{error}");
    }
}
