//! Order and repeatability of tags, and refused input.

use tagq_simulate::{Detector, Drift, Error, Light, SLAB_TAGS, Simulation, Tag};

fn example() -> Simulation {
    let detector = |channel, delay| Detector {
        channel,
        efficiency: 0.5,
        dark_rate: 1e-4,
        jitter: 2.5,
        delay,
        dead_time: 0,
    };
    Simulation {
        light: Light::Pairs { rate: 0.02, pulse_period: Some(90.25), beam_splitter: false },
        detectors: vec![detector(2, 0.0), detector(1, 12.5)],
        drift: Some(Drift { relative_amplitude: 0.2, period: 1e6 }),
        clock: None,
        start: -1_000_000,
        duration: 8_000_000,
        seed: 11,
    }
}

fn collect(simulation: &Simulation) -> Vec<Tag> {
    let mut tags = simulation.tags().unwrap();
    let mut all = Vec::new();
    while let Some(slab) = tags.next_slab() {
        all.extend_from_slice(slab);
    }
    all
}

#[test]
fn tags_are_ordered_and_within_the_recording() {
    let tags = collect(&example());
    assert!(tags.len() > 150_000);
    // At equal times the first detector, channel 2, comes first.
    assert!(tags.is_sorted_by_key(|tag| (tag.time, 3 - tag.channel)));
    assert!(
        tags.windows(2)
            .any(|pair| pair[0].time == pair[1].time && pair[0].channel != pair[1].channel)
    );
    assert!(tags.iter().all(|tag| (-1_000_000..7_000_000).contains(&tag.time)));
}

#[test]
fn slabs_are_full_but_for_the_last() {
    let mut tags = example().tags().unwrap();
    let mut lengths = Vec::new();
    while let Some(slab) = tags.next_slab() {
        lengths.push(slab.len());
    }
    assert_eq!(tags.next_slab(), None);
    let (last, full) = lengths.split_last().unwrap();
    assert!(full.len() >= 2 && full.iter().all(|&length| length == SLAB_TAGS));
    assert!((1..=SLAB_TAGS).contains(last));
}

#[test]
fn a_seed_gives_the_same_tags_and_another_gives_others() {
    let simulation = example();
    let tags = collect(&simulation);
    assert_eq!(collect(&simulation), tags);
    assert_ne!(collect(&Simulation { seed: 12, ..simulation }), tags);
}

/// A recording repeated with more dark counts contains the same light.
#[test]
fn dark_counts_leave_the_light_alone() {
    let mut simulation = example();
    let before = collect(&simulation);
    simulation.detectors[0].dark_rate = 1e-3;
    let after = collect(&simulation);
    let of = |tags: &[Tag], channel| -> Vec<i64> {
        tags.iter().filter(|tag| tag.channel == channel).map(|tag| tag.time).collect()
    };
    assert_eq!(of(&before, 1), of(&after, 1));
    // All tags except the 800 old dark counts of channel 2 are found again.
    let (before, after) = (of(&before, 2), of(&after, 2));
    let lost = before.iter().filter(|time| after.binary_search(time).is_err()).count();
    assert!((600..900).contains(&lost), "{lost}");
}

/// The first tags of a seed, recorded once; they must never change. (This is the only place where our own
/// output is the expectation. Other tests check whether the tags are correct.)
#[test]
fn a_seed_keeps_its_meaning() {
    let first: Vec<(i64, u64)> =
        collect(&example()).iter().take(8).map(|tag| (tag.time, tag.channel)).collect();
    assert_eq!(first, GOLDEN);
}

const GOLDEN: [(i64, u64); 8] = [
    (-999_975, 2),
    (-999_957, 1),
    (-999_880, 2),
    (-999_867, 1),
    (-999_776, 1),
    (-999_703, 2),
    (-999_702, 2),
    (-999_685, 1),
];

#[test]
fn nothing_on_means_no_tags() {
    let mut simulation = example();
    for detector in &mut simulation.detectors {
        (detector.efficiency, detector.dark_rate) = (0.0, 0.0);
    }
    assert_eq!(collect(&simulation), []);
    // Rates so low that their gaps overflow.
    simulation.detectors[0].dark_rate = f64::MIN_POSITIVE;
    simulation.detectors[1].efficiency = f64::MIN_POSITIVE;
    assert_eq!(collect(&simulation), []);
}

#[test]
fn the_ends_of_the_range_work() {
    let mut simulation = example();
    simulation.detectors[0].delay = -(2f64.powi(60));
    simulation.detectors[1].delay = 2f64.powi(60);
    simulation.detectors[1].jitter = 1e6;
    simulation.duration = 1_000_000;
    for start in [-(1 << 62), (1 << 62) - 1_000_000] {
        simulation.start = start;
        let tags = collect(&simulation);
        // 2 * (0.02 * 0.5 + 1e-4) * 1e6 = 20,200, drift 20 %.
        assert!((15_000..25_000).contains(&tags.len()), "{}", tags.len());
        assert!(tags.iter().all(|tag| (start..start + 1_000_000).contains(&tag.time)));
    }
    simulation.start = -(1 << 62);
    simulation.duration = i64::MAX;
    simulation.light =
        Light::Pairs { rate: 4e-17, pulse_period: Some(2f64.powi(60)), beam_splitter: false };
    simulation.detectors.iter_mut().for_each(|detector| detector.dark_rate = 0.0);
    // 2 * 2e-17 * 9.2e18 = 369, in 8 pulses.
    let tags = collect(&simulation);
    assert!((270..470).contains(&tags.len()), "{}", tags.len());
}

/// Returns the error after one change to the example.
#[track_caller]
fn refused(change: impl FnOnce(&mut Simulation)) -> String {
    let mut simulation = example();
    change(&mut simulation);
    simulation.tags().unwrap_err().to_string()
}

fn set_rate(rate: f64) -> impl FnOnce(&mut Simulation) {
    move |simulation| {
        simulation.light = Light::Pairs { rate, pulse_period: None, beam_splitter: false }
    }
}

fn set_period(period: f64) -> impl FnOnce(&mut Simulation) {
    move |simulation| {
        simulation.light =
            Light::Pairs { rate: 0.01, pulse_period: Some(period), beam_splitter: false }
    }
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(set_rate(bad)).starts_with("light.rate is "), "{bad}");
        assert!(
            refused(|s| s.detectors[1].dark_rate = bad)
                .starts_with("detectors[1].dark_rate (channel 1) is ")
        );
        assert!(
            refused(|s| s.detectors[1].jitter = bad)
                .starts_with("detectors[1].jitter (channel 1) is ")
        );
    }
    for bad in [0.0, 0.99, -3.0, f64::NAN, f64::INFINITY] {
        assert!(refused(set_period(bad)).starts_with("light.pulse_period is "), "{bad}");
        assert!(
            refused(|s| s.drift.as_mut().unwrap().period = bad).starts_with("drift.period is "),
            "{bad}"
        );
    }
    for bad in [-0.1, 1.1, f64::NAN] {
        assert!(
            refused(|s| s.drift.as_mut().unwrap().relative_amplitude = bad)
                .starts_with("drift.relative_amplitude is ")
        );
        assert!(
            refused(|s| s.detectors[0].efficiency = bad)
                .starts_with("detectors[0].efficiency (channel 2) is ")
        );
    }
    for bad in [1e19, -1e19, f64::NAN, f64::NEG_INFINITY] {
        assert!(
            refused(|s| s.detectors[0].delay = bad)
                .starts_with("detectors[0].delay (channel 2) is "),
            "{bad}"
        );
    }
    assert!(
        refused(|s| s.detectors[0].dead_time = -1)
            .starts_with("detectors[0].dead_time (channel 2) is -1;")
    );
    for bad in [0, -5] {
        assert_eq!(
            refused(|s| s.duration = bad),
            format!("duration is {bad}; it must be at least 1 tick")
        );
    }
}

#[test]
fn detectors_must_fit_the_light() {
    let with = |light: Light, count: usize| {
        refused(move |s| {
            s.detectors = (0..count as u64)
                .map(|channel| Detector { channel, ..s.detectors[0].clone() })
                .collect();
            (s.light, s.drift) = (light, None);
        })
    };
    let (rate, pulse_period) = (1e-3, None);
    let pairs = |beam_splitter| Light::Pairs { rate, pulse_period, beam_splitter };
    let coherent = |beam_splitter| Light::Coherent { rate, pulse_period, beam_splitter };
    for count in [0, 1, 3] {
        assert!(with(pairs(false), count).contains("an even number"), "{count}");
    }
    for count in [0, 2, 4] {
        assert!(with(pairs(true), count).contains("exactly 3"), "{count}");
    }
    assert!(with(coherent(false), 0).contains("1 or more"));
    assert!(with(coherent(true), 1).contains("2 or more"));
    let emitter = Light::Emitter { rate, pulse_period: 10.0, lifetime: 1.0 };
    assert!(with(emitter, 0).contains("1 or more"));
    assert!(with(coherent(false), 65_533).contains("at most 65,532"));
}

#[test]
fn a_channel_given_twice_is_refused() {
    assert_eq!(
        refused(|s| s.detectors[1].channel = 2),
        "detectors[0] and detectors[1] both have channel 2; give each its own"
    );
}

#[test]
fn times_past_64_bits_are_refused() {
    for (start, duration) in [(i64::MAX, 1), (1 << 62, 1), (i64::MIN, 5), (0, i64::MAX)] {
        let simulation = Simulation { start, duration, ..example() };
        assert_eq!(simulation.tags().unwrap_err(), Error::Span { start, duration });
    }
}

#[test]
fn rates_beyond_half_a_detection_per_tick_are_refused() {
    // 1.02 * 0.5 = 0.51 of light, or 0.4 * 0.5 + 0.4 = 0.6 with dark counts; 0.99 is accepted.
    assert!(refused(set_rate(1.02)).starts_with("detectors[0] (channel 2) would see 0.51"));
    assert!(
        refused(|s| {
            s.detectors[1].dark_rate = 0.5;
        })
        .starts_with("detectors[1] (channel 1) would see 0.51")
    );
    let mut simulation = example();
    set_rate(0.99)(&mut simulation);
    assert!(simulation.tags().is_ok());
}

#[test]
fn what_memory_cannot_hold_is_refused() {
    // 2 * 0.01 * 0.5 * 10^7 = 100,000 detections per pulse.
    assert!(refused(set_period(1e7)).starts_with("one pulse would give 100000"));
    // 12 * 2.5e7 * 0.0202 detections = 6 million.
    let jitter = |simulation: &mut Simulation| {
        simulation.detectors.iter_mut().for_each(|d| d.jitter = 2.5e7);
    };
    assert!(refused(jitter).starts_with("the jitter would keep 6"));
}
