//! What follows from a count: errors, rates, accidentals, CAR, heralding. The only floats here.
//!
//! Definitions and their derivation: docs/queries.md, section "What is reported with a count".

/// What one source contributes to an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceSingles {
    /// Its live time in ticks: last minus first time over all its tags.
    pub live: i64,
    /// Its tags of the first and of the second channel of the pair.
    pub singles: [u64; 2],
}

/// A value with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub err: f64,
}

impl Measured {
    /// Tags per second: `count` of them in `live` ticks of `tick_s` seconds, with the error of a
    /// Poisson count; absent without live time.
    pub fn rate_hz(count: u64, live: i128, tick_s: f64) -> Option<Self> {
        let live_s = live as f64 * tick_s;
        let err = (count.max(1) as f64).sqrt();
        (live > 0).then(|| Self { value: count as f64 / live_s, err: err / live_s })
    }
}

/// What is reported with the count of a pair by rule `all`. Ratios that are not defined are absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Standard error of the count.
    pub count_err: f64,
    /// Coincidences per second; absent without live time.
    pub rate_hz: Option<Measured>,
    /// Coincidences that independent channels of these rates would give.
    pub accidentals: Option<Measured>,
    /// (count − accidentals) / accidentals.
    pub car: Option<Measured>,
    /// (count − accidentals) / singles of the other channel: the Klyshko efficiency of the first
    /// and of the second channel.
    pub heralding: [Option<Measured>; 2],
}

impl Estimate {
    /// For `count` pairs within `window` ticks over `sources`, with a tick of `tick_s` seconds.
    pub fn of_pair(count: u64, sources: &[SourceSingles], window: i64, tick_s: f64) -> Self {
        let live: f64 = sources.iter().map(|source| source.live as f64).sum();
        let singles: [u64; 2] =
            [0, 1].map(|i| sources.iter().map(|source| source.singles[i]).sum());
        let [n_a, n_b] = singles.map(|n| n as f64);
        let acceptance = acceptance(window);
        // Each tag of a denser channel carries several pairs, which come and go together.
        let clumping = if live > 0.0 { acceptance * (n_a + n_b) / live } else { 0.0 };
        let counted = count.max(1) as f64;
        let count_err = (counted * (1.0 + clumping)).sqrt();
        let rate_hz = (live > 0.0).then(|| {
            let live_s = live * tick_s;
            Measured { value: count as f64 / live_s, err: count_err / live_s }
        });
        let accidentals = accidentals(sources, acceptance).filter(|_| live > 0.0);
        let count = count as f64;
        // The rates of the channels are common to count and accidentals and drop out of their
        // difference: what is left is the Poisson error of the count.
        let excess_err = counted.sqrt();
        let ratio = |a: f64, by: f64| {
            (by > 0.0).then(|| Measured { value: (count - a) / by, err: excess_err / by })
        };
        Self {
            count_err,
            rate_hz,
            accidentals: accidentals.map(|value| {
                let relative = if value > 0.0 { (1.0 / n_a + 1.0 / n_b).sqrt() } else { 0.0 };
                Measured { value, err: value * relative }
            }),
            car: accidentals.and_then(|a| ratio(a, a)),
            heralding: [n_b, n_a].map(|n| accidentals.and_then(|a| ratio(a, n))),
        }
    }
}

/// The full width of a window in ticks: the differences −w, …, w.
fn acceptance(window: i64) -> f64 {
    2.0 * window as f64 + 1.0
}

/// Σ N_a·N_b·(2w+1)/T over the sources; nothing when a source has both channels and no live time.
fn accidentals(sources: &[SourceSingles], acceptance: f64) -> Option<f64> {
    let expected = |source: &SourceSingles| match source.singles {
        [0, _] | [_, 0] => Some(0.0),
        _ if source.live == 0 => None,
        [a, b] => Some(a as f64 * b as f64 * acceptance / source.live as f64),
    };
    sources.iter().map(expected).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    #[test]
    fn a_pair_by_hand() {
        // 100 and 50 tags in 10,000 ticks, w = 2: accidentals 100·50·5/10,000 = 2.5.
        let source = SourceSingles { live: 10_000, singles: [100, 50] };
        let estimate = Estimate::of_pair(40, &[source], 2, 1e-6);
        // 40·(1 + 5·150/10,000) = 43.
        assert!(close(estimate.count_err, 43_f64.sqrt()));
        let rate = estimate.rate_hz.unwrap();
        assert!(close(rate.value, 4_000.0) && close(rate.err, 43_f64.sqrt() * 100.0));
        let accidentals = estimate.accidentals.unwrap();
        assert!(close(accidentals.value, 2.5));
        // 2.5·sqrt(1/100 + 1/50).
        assert!(close(accidentals.err, 2.5 * 0.03_f64.sqrt()));
        let car = estimate.car.unwrap();
        assert!(close(car.value, 15.0) && close(car.err, 40_f64.sqrt() / 2.5));
        let [of_a, of_b] = estimate.heralding.map(Option::unwrap);
        assert!(close(of_a.value, 0.75) && close(of_a.err, 40_f64.sqrt() / 50.0));
        assert!(close(of_b.value, 0.375) && close(of_b.err, 40_f64.sqrt() / 100.0));
    }

    #[test]
    fn sources_add_their_own_expectations() {
        let a = SourceSingles { live: 100, singles: [10, 20] };
        let b = SourceSingles { live: 400, singles: [30, 40] };
        // 10·20/100 + 30·40/400 = 5, not 40·60/500.
        let estimate = Estimate::of_pair(7, &[a, b], 0, 1.0);
        assert!(close(estimate.accidentals.unwrap().value, 5.0));
        assert!(close(estimate.rate_hz.unwrap().value, 7.0 / 500.0));
    }

    #[test]
    fn what_is_not_defined_is_absent() {
        let estimate = Estimate::of_pair(1, &[SourceSingles { live: 0, singles: [1, 1] }], 0, 1.0);
        assert_eq!((estimate.rate_hz, estimate.accidentals, estimate.car), (None, None, None));
        let dark = Estimate::of_pair(0, &[SourceSingles { live: 5, singles: [9, 0] }], 1, 1.0);
        assert_eq!(dark.accidentals, Some(Measured { value: 0.0, err: 0.0 }));
        assert_eq!((dark.car, dark.heralding[0]), (None, None));
        assert!(dark.heralding[1].is_some());
        assert_eq!(Estimate::of_pair(0, &[], 1, 1.0).rate_hz, None);
    }
}
