//! Known physics: an oracle repeats a definition, light does not know it.

use tagq::query::{
    Bins, Coincidences, Estimate, Execution, Groups, Histogram, Mode, Recording, Rule, Scope,
    Terms, g2_heralded,
};
use tagq::store::{Channels, Tags};
use tagq_simulate::{Detector, Drift, Light, Simulation};

/// Ticks of 1 ns: a second.
const SECOND: f64 = 1e9;

/// Coherent light, 1 MHz on each of `channels`.
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
        start: 0,
        duration,
        seed,
    }
}

/// Its tags as a source of a recording.
fn recorded(simulations: &[Simulation]) -> Recording<'static> {
    let source = |simulation: &Simulation| {
        let (mut time, mut label) = (Vec::new(), Vec::new());
        let mut tags = simulation.tags().unwrap();
        while let Some(slab) = tags.next_slab() {
            time.extend(slab.iter().map(|tag| tag.time));
            label.extend(slab.iter().map(|tag| u8::try_from(tag.channel).unwrap()));
        }
        // A test is short.
        let tags = Tags { time: time.leak(), channels: Channels::U8(label.leak()) };
        Recording::from_tags(tags).sources.remove(0)
    };
    Recording { sources: simulations.iter().map(source).collect() }
}

/// g2 of channels 1 and 2 in bins, each with its error.
fn g2(recording: &Recording<'_>, bins: Bins) -> Vec<(f64, f64)> {
    let scope = Scope::default();
    let query = Histogram { start: 1, stop: 2, bins, mode: Mode::All, fold: None, scope };
    let execution = Execution::best();
    let binned = query.run(recording, &execution).unwrap();
    let g2 = query.g2(recording, &binned, &execution).unwrap();
    g2.into_iter().map(Option::unwrap).map(|g2| (g2.value, g2.err)).collect()
}

/// The mean of g2 is one within its error, and its bins scatter as theirs say.
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
    // 1 MHz · 1 MHz · 100 ns · 0.5 s: 50,000 pairs a bin of 100 ns.
    check_one(&g2(&light, Bins::linear(-5_000, 5_000, 100).unwrap()), "short lags");
    // A tenth of the run, where plain normalisation would be off by 10 %.
    check_one(&g2(&light, Bins::linear(45_000_000, 55_000_000, 500_000).unwrap()), "0.1 T");
    check_one(&g2(&light, Bins::linear(-55_000_000, -45_000_000, 500_000).unwrap()), "-0.1 T");
    // Logarithmic bins hold what their width says.
    check_one(&g2(&light, Bins::logarithmic(100, 10_000_000, 5).unwrap()), "logarithmic");
}

#[test]
fn a_drift_moves_g2_by_its_own_square_only() {
    // From 1 to 1.06 of the rate over the run: the square of the drift is 3 in 10,000.
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

#[test]
fn a_heralded_g2_of_independent_arms_is_one() {
    let light = recorded(&[coherent(3, 0.5, 9)]);
    let groups = Groups::Listed(vec![vec![1, 2, 3], vec![1, 2], vec![1, 3]]);
    let (rule, window, scope) = (Rule::Herald, 100, Scope::default());
    let query = Coincidences { groups, rule, window, veto: None, scope };
    let rows = query.run(&light, &Execution::best()).unwrap().rows;
    let g2 = g2_heralded(rows[0].count, rows[0].singles()[0], [rows[1].count, rows[2].count]);
    let g2 = g2.unwrap();
    // 500,000 · 0.2²: 20,000 triples.
    assert!((g2.value - 1.0).abs() < 4.5 * g2.err && g2.err < 0.02, "{g2:?}");
}

/// Counts of independent channels are their expectation, and scatter as their errors say.
#[test]
fn independent_channels_scatter_as_the_errors_say() {
    let (mut pulls, mut squares) = (vec![0.0; 8], vec![0.0; 8]);
    let seeds = 200;
    for seed in 0..seeds {
        let light = recorded(&[coherent(4, 0.01, 1_000 + seed)]);
        for (of, rule) in [Rule::All, Rule::Herald].into_iter().enumerate() {
            let groups =
                Groups::Listed(vec![vec![1, 2], vec![1, 2, 3], vec![1, 2, 3, 4], vec![2, 1]]);
            let query =
                Coincidences { groups, rule, window: 200, veto: None, scope: Scope::default() };
            let terms = Terms { rule, window: 200, is_vetoed: false, tick_s: 1e-9, live_s: None };
            for (i, row) in query.run(&light, &Execution::best()).unwrap().rows.iter().enumerate() {
                let estimate = Estimate::new(row.count, &row.sources, &terms);
                let expected = estimate.accidentals.map(|accidentals| accidentals.value);
                let expected = expected.or(estimate.accidentals_independent).unwrap();
                // The rates are known to themselves, so that the excess has the Poisson error of
                // pairs; larger groups share pairs among them and scatter more.
                let pull = (row.count as f64 - expected) / expected.sqrt();
                pulls[4 * of + i] += pull;
                squares[4 * of + i] += pull * pull;
            }
        }
    }
    let n = seeds as f64;
    for i in 0..8 {
        let (mean, spread) = (pulls[i] / n, (squares[i] / n).sqrt());
        assert!(mean.abs() < 4.5 * spread / n.sqrt(), "group {i}: mean pull {mean} of {spread}");
        if i % 4 == 0 || i % 4 == 3 {
            // Of 200 the spread is known to 5 %.
            assert!((spread - 1.0).abs() < 0.25, "group {i}: spread {spread}");
        } else {
            assert!((1.0..3.0).contains(&spread), "group {i}: spread {spread}");
        }
    }
}
