//! Statistics of simulated tags. Every expectation is calculated in a comment, and every tolerance is 5
//! standard deviations.

use std::ops::Range;

use tagq_simulate::{Detector, Drift, Light, Simulation, Tag};

fn detector(channel: u64) -> Detector {
    Detector { channel, efficiency: 1.0, dark_rate: 0.0, jitter: 0.0, delay: 0.0, dead_time: 0 }
}

fn simulation(light: Light, detectors: Vec<Detector>, duration: i64) -> Simulation {
    Simulation { light, detectors, drift: None, clock: None, start: 0, duration, seed: 2 }
}

const fn pairs(rate: f64) -> Light {
    Light::Pairs { rate, pulse_period: None, beam_splitter: false }
}

const fn coherent(rate: f64) -> Light {
    Light::Coherent { rate, pulse_period: None, beam_splitter: false }
}

fn collect(simulation: &Simulation) -> Vec<Tag> {
    let mut tags = simulation.tags().unwrap();
    let mut all = Vec::new();
    while let Some(slab) = tags.next_slab() {
        all.extend_from_slice(slab);
    }
    all
}

fn times(tags: &[Tag], channel: u64) -> Vec<i64> {
    tags.iter().filter(|tag| tag.channel == channel).map(|tag| tag.time).collect()
}

/// Returns all lags `b - a` from -`max` to `max`.
fn lags(a: &[i64], b: &[i64], max: i64) -> Vec<i64> {
    let mut first = 0;
    let mut lags = Vec::new();
    for a in a {
        while b.get(first).is_some_and(|&b| b < a - max) {
            first += 1;
        }
        lags.extend(b[first..].iter().map(|b| b - a).take_while(|&lag| lag <= max));
    }
    lags
}

#[track_caller]
fn assert_near(found: usize, expected: f64) {
    assert_within(found as f64, expected, expected.sqrt());
}

#[track_caller]
fn assert_within(found: f64, expected: f64, error: f64) {
    assert!(
        (found - expected).abs() < 5.0 * error,
        "found {found}, expected {expected} +- {error}"
    );
}

#[test]
fn singles_are_rate_times_efficiency_plus_dark() {
    for light in [pairs(1e-3), coherent(1e-3)] {
        let detectors =
            [(4, 0.5, 0.0, 0.0), (7, 0.1, 2e-4, 0.0), (1, 1.0, 1e-5, 500.0), (9, 0.0, 3e-4, 0.0)]
                .map(|(channel, efficiency, dark_rate, delay)| Detector {
                    efficiency,
                    dark_rate,
                    delay,
                    jitter: 3.0,
                    ..detector(channel)
                })
                .to_vec();
        let tags = collect(&simulation(light, detectors, 20_000_000));
        // 2e7 ticks * (1e-3 * efficiency + dark rate)
        for (channel, expected) in [(4, 10_000.0), (7, 6_000.0), (1, 20_200.0), (9, 6_000.0)] {
            assert_near(times(&tags, channel).len(), expected);
        }
    }
}

#[test]
fn rates_are_even_from_the_first_tick_to_the_last() {
    // Delays and jitter as long as the recording: light from before the start must be included.
    for (pulse_period, drift) in [
        (None, None),
        (Some(10.0), None),
        (None, Some(Drift { relative_amplitude: 0.0, period: 1.0 })),
    ] {
        for delay in [-150_000.25, 150_000.25] {
            let light = Light::Pairs { rate: 0.05, pulse_period, beam_splitter: false };
            let detectors = vec![
                Detector { delay, jitter: 30_000.0, efficiency: 0.5, ..detector(1) },
                Detector { efficiency: 0.5, ..detector(2) },
            ];
            let tags = collect(&Simulation {
                drift,
                clock: None,
                start: -12_345,
                ..simulation(light, detectors, 400_000)
            });
            for channel in [1, 2] {
                let times = times(&tags, channel);
                // 0.05 * 0.5 * 40,000 = 1,000 in each tenth.
                for tenth in 0..10 {
                    let from = -12_345 + tenth * 40_000;
                    assert_near(
                        times.iter().filter(|&time| (from..from + 40_000).contains(time)).count(),
                        1_000.0,
                    );
                }
            }
        }
    }
}

#[test]
fn the_first_tick_and_the_last_count() {
    let mut counts = [0, 0];
    for seed in 0..1_000 {
        let tags = collect(&Simulation {
            seed,
            start: 5,
            ..simulation(coherent(0.4), vec![detector(1)], 2)
        });
        for tag in tags {
            counts[usize::try_from(tag.time - 5).unwrap()] += 1;
        }
    }
    // 1,000 * 0.4 per tick.
    for count in counts {
        assert_near(count, 400.0);
    }
}

#[test]
fn pairs_coincide_at_the_delay_and_only_there() {
    let detectors = vec![
        Detector { efficiency: 0.6, dark_rate: 1e-5, jitter: 2.0, ..detector(1) },
        Detector { efficiency: 0.4, dark_rate: 1e-5, jitter: 1.5, delay: 37.5, ..detector(2) },
        Detector { efficiency: 0.5, ..detector(3) },
        Detector { efficiency: 0.5, delay: -1_000.0, ..detector(4) },
    ];
    let duration = 50_000_000;
    let tags = collect(&simulation(pairs(1e-3), detectors, duration));
    let singles = [1, 2, 3, 4].map(|channel| times(&tags, channel));
    // Na * Nb * ticks / T; 50,000 pairs.
    let accidentals = |a: usize, b: usize, ticks: f64| {
        singles[a].len() as f64 * singles[b].len() as f64 * ticks / duration as f64
    };

    // 50,000 * 0.6 * 0.4 = 12,000; the jitter reaches 6 * (2 + 1.5) = 21.
    let near = lags(&singles[0], &singles[1], 100)
        .into_iter()
        .filter(|lag| (lag - 37).abs() <= 21)
        .count();
    assert_near(near, 12_000.0 + accidentals(0, 1, 43.0));

    let far = lags(&singles[0], &singles[1], 1_000)
        .into_iter()
        .filter(|lag| (lag - 37).abs() > 21)
        .count();
    assert_near(far, accidentals(0, 1, 2_001.0 - 43.0));

    // 50,000 * 0.25 = 12,500 at exactly -1,000: no jitter, and a whole number of ticks.
    let exact =
        lags(&singles[2], &singles[3], 1_000).into_iter().filter(|&lag| lag == -1_000).count();
    assert_near(exact, 12_500.0 + accidentals(2, 3, 1.0));

    for (a, b) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        assert_near(lags(&singles[a], &singles[b], 500).len(), accidentals(a, b, 1_001.0));
    }
}

#[test]
fn jitter_is_gaussian() {
    let detectors = vec![detector(1), Detector { jitter: 100.0, delay: 37.5, ..detector(2) }];
    let tags = collect(&simulation(pairs(1e-7), detectors, 200_000_000_000));
    // 20,000 pairs; 20,000^2 * 2,001 / 2e11 = 4 accidentals.
    let lags = lags(&times(&tags, 1), &times(&tags, 2), 1_000);
    let between = |from: i64, to: i64| {
        lags.iter().filter(|&&lag| (37 + from..37 + to).contains(&lag)).count()
    };
    // Normal distribution for intervals of one standard deviation: 2.14 %, 13.59 %, 34.13 % on each side.
    for (sigmas, expected) in [(0, 6_826.9), (1, 2_718.1), (2, 428.0), (3, 27.0)] {
        let (from, to) = (100 * sigmas, if sigmas == 3 { 601 } else { 100 * sigmas + 100 });
        assert_near(between(from, to), expected);
        assert_near(between(1 - to, 1 - from), expected);
    }
}

#[test]
fn far_apart_delays_leave_accidentals_and_end_soon() {
    // Photons 10^15 ticks apart: stepping through them at 1e-3 per tick would take hours.
    let detectors =
        vec![Detector { delay: -5e14, ..detector(1) }, Detector { delay: 5e14, ..detector(2) }];
    let tags = collect(&simulation(pairs(1e-3), detectors, 10_000_000));
    let [a, b] = [1, 2].map(|channel| times(&tags, channel));
    assert_near(a.len(), 10_000.0);
    assert_near(b.len(), 10_000.0);
    assert_near(lags(&a, &b, 500).len(), a.len() as f64 * b.len() as f64 * 1_001.0 / 1e7);
}

#[test]
fn dead_time_holds_and_loses_what_it_should() {
    let detectors = vec![Detector { dead_time: 150, dark_rate: 0.004, ..detector(1) }, detector(2)];
    let duration = 10_000_000;
    let tags = collect(&simulation(coherent(0.006), detectors, duration));
    let dead = times(&tags, 1);
    assert!(dead.windows(2).all(|pair| pair[1] - pair[0] >= 150));
    assert!(dead.windows(2).any(|pair| pair[1] - pair[0] == 150));
    // r / (1 + r * dead) in whole ticks: a tick has a detection with p = 1 - exp(-0.01), so gaps are 149 + 1
    // / p = 249.5 ticks with standard deviation 100: 40,080 tags, with an error of 0.4 times the square root.
    // (In continuous time: 0.01 / 2.5 * 1e7 = 40,000.)
    let expected = duration as f64 / (149.0 + 1.0 / (1.0 - f64::exp(-0.01)));
    assert_within(dead.len() as f64, expected, 0.4 * expected.sqrt());
    // The other detector is not affected.
    assert_near(times(&tags, 2).len(), 60_000.0);
}

#[test]
fn beam_splitter_sends_each_photon_one_way() {
    let light = Light::Pairs { rate: 1e-4, pulse_period: None, beam_splitter: true };
    let efficiency = |efficiency, channel| Detector { efficiency, ..detector(channel) };
    let detectors = vec![efficiency(0.8, 5), efficiency(0.5, 6), efficiency(0.25, 7)];
    let tags = collect(&simulation(light, detectors, 1_000_000_000));
    let [herald, one, two] = [5, 6, 7].map(|channel| times(&tags, channel));
    // 100,000 pairs: heralds * 0.8; outputs * 0.5 * efficiency; coincidences with the herald * 0.8 more.
    assert_near(herald.len(), 80_000.0);
    assert_near(one.len(), 25_000.0);
    assert_near(two.len(), 12_500.0);
    assert_near(lags(&herald, &one, 0).len(), 20_000.0);
    assert_near(lags(&herald, &two, 0).len(), 10_000.0);
    // In one tick: 25,000 * 12,500 / 1e9 = 0.3 accidentals, no true ones.
    assert!(lags(&one, &two, 0).len() < 4);
}

#[test]
fn several_pairs_in_a_pulse_make_triples() {
    let light = Light::Pairs { rate: 0.2 / 80.0, pulse_period: Some(80.0), beam_splitter: true };
    let efficiency = |efficiency, channel| Detector { efficiency, ..detector(channel) };
    let detectors = vec![efficiency(0.8, 0), efficiency(0.5, 1), efficiency(0.25, 2)];
    let mut pulses = vec![[0_usize; 3]; 400_000];
    for tag in collect(&simulation(light, detectors, 32_000_000)) {
        pulses[usize::try_from(tag.time / 80).unwrap()][usize::try_from(tag.channel).unwrap()] += 1;
    }
    let triples: usize = pulses.iter().map(|[herald, one, two]| herald * one * two).sum();
    // The outputs have photons of two different pairs: n (n - 1) choices, each photon at its output with a
    // probability of 1/4. The herald's photon is from one of these two pairs or from a third. For a Poisson
    // number of mean m: 400,000 * (2 m^2 + m^3) / 4 * 0.8 * 0.5 * 0.25 = 880. Correlated counts increase the
    // error.
    let outputs: usize = pulses.iter().map(|[_, one, two]| one * two).sum();
    assert_within(triples as f64, 880.0, 1.4 * f64::sqrt(880.0));
    // Without the herald: 400,000 * m^2 / 4 * 0.5 * 0.25 = 500.
    assert_within(outputs as f64, 500.0, 1.2 * f64::sqrt(500.0));
}

#[test]
fn coherent_g2_is_flat() {
    let shared = Light::Coherent { rate: 0.004, pulse_period: None, beam_splitter: true };
    for light in [coherent(0.002), shared] {
        let detectors = vec![detector(1), Detector { jitter: 5.0, delay: 20.0, ..detector(2) }];
        let tags = collect(&simulation(light, detectors, 20_000_000));
        let [a, b] = [1, 2].map(|channel| times(&tags, channel));
        assert_near(a.len(), 40_000.0);
        assert_near(b.len(), 40_000.0);
        let lags = lags(&a, &b, 199);
        for bin in -4..4 {
            let range: Range<i64> = bin * 50..bin * 50 + 50;
            let expected = a.len() as f64 * b.len() as f64 / 20_000_000.0
                * if bin == -4 { 49.0 } else { 50.0 };
            assert_near(lags.iter().filter(|&lag| range.contains(lag)).count(), expected);
        }
    }
}

#[test]
fn pulses_stay_on_their_comb() {
    // 80.328125 = 5,141 / 64 ticks, so that the pulses of any time are exact in integers.
    let light =
        Light::Coherent { rate: 1e-3, pulse_period: Some(80.328_125), beam_splitter: false };
    let detectors = vec![detector(1), Detector { delay: 10.5, ..detector(2) }];
    for start in [-1_000_000, 1_000_000_000_000_000] {
        let tags = collect(&Simulation {
            start,
            ..simulation(light.clone(), detectors.clone(), 10_000_000)
        });
        assert_near(times(&tags, 1).len(), 10_000.0);
        for (channel, delay) in [(1, 0), (2, 672)] {
            for time in times(&tags, channel) {
                // A pulse n with time <= n * 5,141 / 64 + delay / 64 < time + 1.
                let after = (delay - time * 64).rem_euclid(5_141);
                assert!(
                    after < 64,
                    "channel {channel}: {time} is {after} / 64 ticks before a pulse"
                );
            }
        }
    }
}

/// Counts coincidences by pulse: at lags of 0, 1 and 2 pulses.
fn by_pulse(light: Light) -> [usize; 3] {
    let efficiency =
        |efficiency, channel| Detector { efficiency, jitter: 3.0, ..detector(channel) };
    let detectors = vec![efficiency(0.8, 1), efficiency(0.5, 2)];
    let tags = collect(&simulation(light, detectors, 16_000_000)); // 200,000 pulses
    let pulses = |channel| {
        times(&tags, channel).iter().map(|time| (time + 40).div_euclid(80)).collect::<Vec<_>>()
    };
    let lags = lags(&pulses(1), &pulses(2), 2);
    [0, 1, 2].map(|pulse| lags.iter().filter(|&&lag| lag == pulse).count())
}

#[test]
fn side_peaks_are_accidentals() {
    // Pulses of mean 0.2 photons per detector: 200,000 * 0.2^2 * 0.8 * 0.5 = 3,200 in each peak.
    let light =
        Light::Coherent { rate: 0.2 / 80.0, pulse_period: Some(80.0), beam_splitter: false };
    for found in by_pulse(light) {
        assert_near(found, 3_200.0);
    }
    // Pairs: the same in the side peaks; in the middle <n^2> = 0.2^2 + 0.2 in place of 0.2^2: 19,200. Counts
    // of one pulse are correlated; this increases the square root by less than a fifth.
    let light = Light::Pairs { rate: 0.2 / 80.0, pulse_period: Some(80.0), beam_splitter: false };
    let [middle, one, two] = by_pulse(light);
    assert_within(middle as f64, 19_200.0, 1.2 * f64::sqrt(19_200.0));
    assert_within(one as f64, 3_200.0, 1.2 * f64::sqrt(3_200.0));
    assert_within(two as f64, 3_200.0, 1.2 * f64::sqrt(3_200.0));
}

#[test]
fn drift_moves_light_and_not_dark_counts() {
    let drift = Some(Drift { relative_amplitude: 0.5, period: 1e6 });
    for pulse_period in [None, Some(50.0)] {
        let light = Light::Pairs { rate: 4e-3, pulse_period, beam_splitter: false };
        let detectors = vec![
            Detector { efficiency: 0.5, ..detector(1) },
            Detector { efficiency: 0.5, ..detector(2) },
            Detector { efficiency: 0.0, dark_rate: 2e-3, ..detector(3) },
            Detector { efficiency: 0.0, ..detector(4) },
        ];
        let tags = collect(&Simulation { drift, ..simulation(light, detectors, 10_000_000) });
        let rising =
            |times: &[i64]| times.iter().filter(|&time| time % 1_000_000 < 500_000).count();
        let [one, two, dark] = [1, 2, 3].map(|channel| times(&tags, channel));
        // Half of 20,000 each, times 1 +- 0.5 * 2 / pi = 1.3183 and 0.6817.
        for light in [&one, &two] {
            assert_near(rising(light), 13_183.0);
            assert_near(light.len() - rising(light), 6_817.0);
        }
        assert_near(rising(&dark), 10_000.0);
        assert_near(dark.len() - rising(&dark), 10_000.0);
        // Both photons drift together: 4e-3 * 0.25 * 1e7 = 10,000 pairs; accidentals in one tick, or in one
        // pulse: <(rate * 0.5)^2> = 4e-6 * (1 + 0.5^2 / 2) = 4.5e-6, times 1e7 ticks: 45, or times 50: 2,250.
        let accidentals = 45.0 * pulse_period.unwrap_or(1.0);
        assert_within(
            lags(&one, &two, 0).len() as f64,
            10_000.0 + accidentals,
            1.2 * f64::sqrt(10_000.0 + accidentals),
        );
    }
}

/// The light of one emitter: a pulse has one photon at most, of any detector; photons come after an exponential time.
#[test]
fn a_pulse_of_an_emitter_has_one_photon_at_most() {
    let (period, lifetime) = (1_000.5, 60.0);
    let light = Light::Emitter { rate: 0.8 / period, pulse_period: period, lifetime };
    let detectors = vec![
        detector(1),
        Detector { efficiency: 0.5, delay: 7.0, ..detector(2) },
        Detector { efficiency: 0.25, ..detector(3) },
    ];
    let simulation = simulation(light, detectors, 300_150_000);
    let mut tags = simulation.tags().unwrap();
    let mut of_pulse = vec![0_u8; 300_001];
    let (mut counts, mut mean) = ([0_u32; 4], 0.0);
    while let Some(slab) = tags.next_slab() {
        for tag in slab {
            let delay = if tag.channel == 2 { 7.0 } else { 0.0 };
            let time = tag.time as f64 + 0.5 - delay;
            let pulse = (time / period).floor();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let at = pulse.max(0.0) as usize;
            // Later than its own period with a chance of exp(-1000/60) = 6e-8.
            of_pulse[at] += 1;
            counts[usize::try_from(tag.channel).unwrap()] += 1;
            mean += time - pulse * period;
        }
    }
    let pulses = 300_000.0_f64;
    let expected = [0.8 / 3.0, 0.8 / 6.0, 0.8 / 12.0_f64];
    for (found, share) in counts[1..].iter().zip(expected) {
        let error = (pulses * share * (1.0 - share)).sqrt();
        assert!((f64::from(*found) - pulses * share).abs() < 5.0 * error, "{found} of {share}");
    }
    let all = f64::from(counts.iter().sum::<u32>());
    assert!(of_pulse.iter().filter(|&&photons| photons > 1).count() <= 1);
    // The pulses are those of a Bernoulli trial: neighbours are independent.
    let both = of_pulse.windows(2).filter(|pair| pair[0] == 1 && pair[1] == 1).count() as f64;
    let share = expected.iter().sum::<f64>();
    assert!((both / pulses - share * share).abs() < 5.0 * (share * share / pulses).sqrt());
    assert!((mean / all - lifetime).abs() < 5.0 * lifetime / all.sqrt());
}

#[test]
fn an_emitter_that_always_emits_has_a_photon_in_each_pulse() {
    let light = |rate| Light::Emitter { rate, pulse_period: 100.0, lifetime: 0.0 };
    // Of one detector or of two.
    for channels in [vec![1], vec![1, 2]] {
        let detectors: Vec<_> = channels.into_iter().map(detector).collect();
        let simulation = simulation(light(0.01), detectors, 1_000_000);
        let times: Vec<_> = collect(&simulation).iter().map(|tag| tag.time).collect();
        assert_eq!(times, (0..10_000).map(|pulse| pulse * 100).collect::<Vec<i64>>());
        assert!(Simulation { light: light(0.011), ..simulation }.tags().is_err());
    }
}
