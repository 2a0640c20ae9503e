//! Known physics, independent of the definitions that the oracle repeats.

use tagq::query::{
    Bins, Coincidences, Delay, Estimate, Execution, Groups, Heralded, Histogram, Kind as _, Mode,
    Recording, Rule, Scope, Tally, Terms, TimeRange,
};
use tagq::store::{Channels, Tags, Times};
use tagq_simulate::{Detector, Drift, Light, Simulation};

/// One second in ticks of 1 ns.
const SECOND: f64 = 1e9;

/// Returns coherent light of 1 MHz on each of `channels`.
fn coherent(channels: u64, seconds: f64, seed: u64) -> Simulation {
    let detector = |channel| Detector {
        channel,
        efficiency: 1.0,
        dark_rate: 0.0,
        jitter: 0.0,
        delay: 0.0,
        dead_time: 0,
    };
    #[expect(clippy::cast_possible_truncation, reason = "seconds in nanoseconds")]
    let duration = (seconds * SECOND) as i64;
    Simulation {
        light: Light::Coherent { rate: 1e6 / SECOND, pulse_period: None, beam_splitter: false },
        detectors: (1..=channels).map(detector).collect(),
        drift: None,
        clock: None,
        start: 0,
        duration,
        seed,
    }
}

/// Returns its tags as sources of a recording.
fn recorded(simulations: &[Simulation]) -> Recording<'static> {
    let source = |simulation: &Simulation| {
        let (mut time, mut label) = (Vec::new(), Vec::new());
        let mut tags = simulation.tags().unwrap();
        while let Some(slab) = tags.next_slab() {
            time.extend(slab.iter().map(|tag| tag.time));
            label.extend(slab.iter().map(|tag| u8::try_from(tag.channel).unwrap()));
        }
        // Leaked, because the test process is short.
        let tags = Tags {
            time: Times::from(&*time.leak()),
            channels: Channels::U8((&*label.leak()).into()),
        };
        Recording::from_tags(tags).sources.remove(0)
    };
    Recording::new(simulations.iter().map(source).collect())
}

/// Returns g2 of channels 1 and 2 for each bin, with its error.
fn g2(recording: &Recording<'_>, bins: Bins) -> Vec<(f64, f64)> {
    let scope = Scope::default();
    let query = Histogram { start: 1, stop: 2, bins, mode: Mode::All, fold: None, scope };
    let execution = Execution::best();
    let binned = query.run(recording, &execution).unwrap();
    let g2 = query.g2(recording, &binned, &execution).unwrap();
    g2.into_iter().map(Option::unwrap).map(|g2| (g2.value, g2.err)).collect()
}

/// Checks that the mean of g2 is one within its error, and that the scatter of the bins agrees with their
/// errors.
fn check_one(g2: &[(f64, f64)], what: &str) {
    let bins = g2.len() as f64;
    let mean = g2.iter().map(|(value, _)| value).sum::<f64>() / bins;
    let err = g2.iter().map(|(_, err)| err * err).sum::<f64>().sqrt() / bins;
    assert!((mean - 1.0).abs() < 4.5 * err, "{what}: {mean} ± {err}");
    let scatter: f64 = g2.iter().map(|(value, err)| ((value - 1.0) / err).powi(2)).sum();
    assert!((scatter - bins).abs() < 5.0 * (2.0 * bins).sqrt(), "{what}: χ² {scatter} of {bins}");
}

#[test]
fn coherent_light_has_a_g2_of_one_at_every_lag() {
    let light = recorded(&[coherent(2, 0.5, 3)]);
    // 1 MHz · 1 MHz · 100 ns · 0.5 s: 50,000 pairs per bin of 100 ns.
    check_one(&g2(&light, Bins::linear(-5_000, 5_000, 100).unwrap()), "short lags");
    // A tenth of the run, where simple normalisation would be wrong by 10 %.
    check_one(&g2(&light, Bins::linear(45_000_000, 55_000_000, 500_000).unwrap()), "0.1 T");
    check_one(&g2(&light, Bins::linear(-55_000_000, -45_000_000, 500_000).unwrap()), "-0.1 T");
    // Logarithmic bins count in proportion to their width.
    check_one(&g2(&light, Bins::logarithmic(100, 10_000_000, 5).unwrap()), "logarithmic");
}

#[test]
fn a_drift_moves_g2_by_its_own_square_only() {
    // The rate rises from 1 to 1.06 over the run: the mean square of the drift is 3 in 10,000.
    let drift = Drift { relative_amplitude: 0.1, period: 5.0 * SECOND };
    let light = recorded(&[Simulation { drift: Some(drift), ..coherent(2, 0.5, 4) }]);
    for (low, high) in [(-500_000, 500_000), (45_000_000, 55_000_000)] {
        let g2 = g2(&light, Bins::linear(low, high, (high - low) / 10).unwrap());
        let mean = g2.iter().map(|(value, _)| value).sum::<f64>() / g2.len() as f64;
        assert!((mean - 1.0).abs() < 2e-3, "{low}: {mean}");
    }
}

#[test]
fn three_acquisitions_with_gaps_have_a_plateau_of_one() {
    let gap = 5 * 1_000_000_000;
    let of = |i: i64| Simulation { start: i * gap, ..coherent(2, 0.2, 5 + i.unsigned_abs()) };
    let light = recorded(&[of(0), of(1), of(2)]);
    check_one(&g2(&light, Bins::linear(-10_000, 10_000, 200).unwrap()), "three sources");
}

/// Also with an arm moved by a tenth of the run, so that a tenth of the heralds have no partner on it, and
/// with a rate that drifts.
#[test]
fn a_heralded_g2_of_independent_arms_is_one() {
    let light = coherent(3, 0.5, 9);
    // The rate rises from 1 to 1.06 over the run: both arms rise together, by 3 in 10,000 of g2.
    let drift = Drift { relative_amplitude: 0.1, period: 5.0 * SECOND };
    for drift in [None, Some(drift)] {
        let light = recorded(&[Simulation { drift, ..light.clone() }]);
        let moves = [0, 50_000_000, -50_000_000];
        let rules = [Rule::Herald, Rule::PerHerald];
        for (ticks, rule) in moves.into_iter().flat_map(|ticks| rules.map(|rule| (ticks, rule))) {
            let groups = Groups::Listed(vec![vec![1, 2, 3], vec![1, 2], vec![1, 3]]);
            let scope = Scope { delays: vec![Delay { channel: 3, ticks }], ..Scope::default() };
            let window = 100;
            let query = Coincidences { groups, rule, window, veto: None, scope };
            let rows = query.run(&light, &Execution::best()).unwrap().rows;
            let arms = [rows[1].count, rows[2].count];
            // 100,000 pairs of each arm, 91,000 with each herald once, a tenth fewer on the moved arm.
            let overlap = if ticks == 0 { 1.0 } else { 0.9 };
            let ratio = arms[1] as f64 / arms[0] as f64 / overlap;
            assert!((ratio - 1.0).abs() < 0.03, "{ticks}: {arms:?}");
            let delays = [&[0][..], &[0, 0], &[0, ticks], &[0, 0, ticks]];
            let live = &light.sources[0].live();
            let heralded = Heralded {
                triples: rows[0].count,
                heralds: rows[0].singles()[0],
                arms,
                live: delays.map(|delays| live.overlap(delays, TimeRange::default())),
            };
            let terms = Terms { rule, window, is_vetoed: false, tick_s: 1e-9, live_s: None };
            let tally = Tally {
                count: rows[0].count,
                sources: &rows[0].sources,
                shifted: None,
                heralding: [None; 2],
                heralded: Some(heralded),
            };
            let g2 = Estimate::new(&tally, &terms).g2_heralded.unwrap();
            // 500,000 · 0.2²: 20,000 triples; 500,000 · 0.18²: 16,000.
            let is_one = (g2.value - 1.0).abs() < 4.5 * g2.err && g2.err < 0.02;
            assert!(is_one, "{rule:?}, {ticks}, {drift:?}: {g2:?}");
        }
    }
}

/// Groups of channels of 1 MHz with a window of 200 ns: 0.2 tags per window.
const GROUPS: [(Rule, &[u16]); 6] = [
    (Rule::All, &[1, 2]),
    (Rule::All, &[1, 2, 3]),
    (Rule::All, &[1, 2, 3, 4]),
    (Rule::Herald, &[2, 1]),
    (Rule::Herald, &[1, 2, 3]),
    (Rule::Herald, &[1, 2, 3, 4]),
];

/// Values of many seeds.
#[derive(Default)]
struct Sample(Vec<f64>);

impl Sample {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.0.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (squares / (self.0.len() as f64 - 1.0)).sqrt()
    }
}

/// Counts of one group for each seed, and the reported values.
#[derive(Default)]
struct Counts {
    count: Sample,
    count_err: Sample,
    excess: Sample,
    car: Sample,
    car_err: Sample,
}

/// Counts of independent channels agree with their expectation, and scatter as their errors predict.
#[test]
fn independent_channels_scatter_as_the_errors_say() {
    let mut counted: Vec<Counts> = GROUPS.iter().map(|_| Counts::default()).collect();
    for seed in 0..200 {
        let light = recorded(&[coherent(4, 0.01, 1_000 + seed)]);
        for (&(rule, channels), counted) in GROUPS.iter().zip(&mut counted) {
            let (window, scope) = (200, Scope::default());
            let groups = Groups::Listed(vec![channels.to_vec()]);
            let query = Coincidences { groups, rule, window, veto: None, scope };
            let row = query.run(&light, &Execution::best()).unwrap().rows.remove(0);
            let terms = Terms { rule, window, is_vetoed: false, tick_s: 1e-9, live_s: None };
            let (count, sources) = (row.count, &row.sources[..]);
            let tally =
                Tally { count, sources, shifted: None, heralding: [None; 2], heralded: None };
            let estimate = Estimate::new(&tally, &terms);
            let expected = estimate.accidentals.map(|accidentals| accidentals.value);
            let expected = expected.or(estimate.accidentals_independent).unwrap();
            counted.count.0.push(row.count as f64);
            counted.count_err.0.push(estimate.count_err);
            counted.excess.0.push(row.count as f64 - expected);
            if let Some(car) = estimate.car {
                counted.car.0.push(car.value);
                counted.car_err.0.push(car.err);
            }
        }
    }
    // The relative error of the deviation of 200 values is 1/√(2·199), or 5 %.
    let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.2;
    for (&(rule, channels), counted) in GROUPS.iter().zip(&counted) {
        let what = format!("{channels:?} by {rule:?}");
        let err = counted.excess.deviation() / 200_f64.sqrt();
        let excess = counted.excess.mean();
        assert!(excess.abs() < 4.5 * err, "{what}: {excess} ± {err} more than expected");
        // The error must not be so large that it says nothing.
        assert!(err < 0.01 * counted.count.mean(), "{what}: {err} of {}", counted.count.mean());
        let found = counted.count.deviation() / counted.count_err.mean();
        assert!(is_near(found, 1.0), "{what}: count scatters by {found} of its error");
        if channels.len() == 2 {
            assert_eq!(counted.car.0.len(), 200);
            let found = counted.car.deviation() / counted.car_err.mean();
            assert!(is_near(found, 1.0), "{what}: CAR scatters by {found}");
        }
    }
}
