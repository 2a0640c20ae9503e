//! What follows from a count: errors, rates, accidentals, CAR, heralding. The only floats here.
//!
//! Definitions and their derivation: docs/queries.md, section "What is reported with a count".

use crate::Rule;

/// What one source contributes to an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSingles {
    /// Its live time in ticks: last minus first time over all its tags, cut to the range.
    pub live: i64,
    /// Its tags of each channel of the group.
    pub singles: Vec<u64>,
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

/// What is reported with the count of a group. Ratios that are not defined are absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Standard error of the count.
    pub count_err: f64,
    /// Coincidences per second; absent without live time.
    pub rate_hz: Option<Measured>,
    /// Coincidences that independent channels of these rates would give a pair.
    pub accidentals: Option<Measured>,
    /// The same for a larger group.
    pub accidentals_independent: Option<f64>,
    /// (count − accidentals) / accidentals.
    pub car: Option<Measured>,
    /// (count − accidentals) / singles of the other channel: the Klyshko efficiency of the first
    /// and of the second channel of a pair.
    pub heralding: [Option<Measured>; 2],
}

/// What a count was counted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// The rule.
    pub rule: Rule,
    /// The window in ticks.
    pub window: i64,
    /// Whether a veto took coincidences away.
    pub is_vetoed: bool,
    /// The tick in seconds.
    pub tick_s: f64,
    /// Live seconds in place of those of the sources.
    pub live_s: Option<f64>,
}

impl Terms {
    /// Live ticks of the sources, and by how much each source's are to be multiplied.
    fn live(&self, sources: &[SourceSingles]) -> (f64, f64) {
        let recorded: f64 = sources.iter().map(|source| source.live as f64).sum();
        match self.live_s {
            Some(given) if recorded > 0.0 => {
                let given = given / self.tick_s;
                (given, given / recorded)
            }
            // A rate can be had, expectations of the sources cannot.
            Some(given) => (given / self.tick_s, 1.0),
            None => (recorded, 1.0),
        }
    }

    /// The ticks of differences that a pair may have.
    fn acceptance(&self) -> f64 {
        match self.rule {
            Rule::Grid => self.window as f64,
            _ => 2.0 * self.window as f64 + 1.0,
        }
    }

    /// Coincidences of independent channels in one source.
    fn expected(&self, live: f64, singles: &[u64]) -> Option<f64> {
        if singles.contains(&0) {
            return Some(0.0);
        }
        if live <= 0.0 {
            return None;
        }
        let n = singles.len() as f64;
        let w = self.window as f64;
        let (first, others) = singles.split_first()?;
        let product = |width: f64| {
            others.iter().fold(*first as f64, |product, &n| product * (n as f64 / live * width))
        };
        match self.rule {
            Rule::All | Rule::Herald | Rule::Grid if singles.len() == 2 => {
                Some(product(self.acceptance()))
            }
            Rule::Herald => Some(product(self.acceptance())),
            Rule::All if self.window == 0 => Some(product(1.0)),
            // (w+1)^n − w^n, of which the plain difference loses all digits.
            Rule::All => Some(product(w) * w * (n * (1.0 / w).ln_1p()).exp_m1()),
            _ => None,
        }
    }
}

impl Estimate {
    /// For `count` coincidences of a group over `sources`.
    pub fn new(count: u64, sources: &[SourceSingles], terms: &Terms) -> Self {
        let (live, scale) = terms.live(sources);
        let channels = sources.first().map_or(0, |source| source.singles.len());
        let is_pair = channels == 2;
        let singles_of =
            |i: usize| sources.iter().map(|source| source.singles[i]).sum::<u64>() as f64;
        let counted = count.max(1) as f64;
        let mut count_err = counted.sqrt();
        if is_pair && terms.rule == Rule::All && live > 0.0 {
            // Each tag of a denser channel carries several pairs, which come and go together.
            let clumping = terms.acceptance() * (singles_of(0) + singles_of(1)) / live;
            count_err = (counted * (1.0 + clumping)).sqrt();
        }
        let live_s = live * terms.tick_s;
        let rate_hz = (live > 0.0)
            .then(|| Measured { value: count as f64 / live_s, err: count_err / live_s });
        let has_expectation = live > 0.0
            && !terms.is_vetoed
            && matches!(terms.rule, Rule::All | Rule::Herald | Rule::Grid)
            && (is_pair || terms.rule != Rule::Grid);
        let expected =
            |source: &SourceSingles| terms.expected(source.live as f64 * scale, &source.singles);
        let expected: Option<f64> =
            if has_expectation { sources.iter().map(expected).sum() } else { None };
        let estimate = Self {
            count_err,
            rate_hz,
            accidentals: None,
            accidentals_independent: expected.filter(|_| !is_pair),
            car: None,
            heralding: [None; 2],
        };
        let Some(value) = expected.filter(|_| is_pair) else { return estimate };
        let [a, b] = [singles_of(0), singles_of(1)];
        let relative = if value > 0.0 { (1.0 / a + 1.0 / b).sqrt() } else { 0.0 };
        estimate.with(count, Measured { value, err: value * relative }, 0.0, Some([a, b]))
    }

    /// The same where accidentals were to be measured and could not be.
    #[must_use]
    pub fn without_accidentals(self) -> Self {
        let none = [None; 2];
        Self {
            accidentals: None,
            accidentals_independent: None,
            car: None,
            heralding: none,
            ..self
        }
    }

    /// The same with these accidentals, which were measured beside the count, and what follows from them; of
    /// a pair with its singles.
    #[must_use]
    pub fn with_accidentals(
        self,
        count: u64,
        accidentals: Measured,
        singles: Option<[f64; 2]>,
    ) -> Self {
        self.with(count, accidentals, accidentals.err, singles)
    }

    /// The same with these accidentals. `apart` is the error that they have apart from the rates of the
    /// channels: those are common to count and accidentals and drop out of difference and ratio, which leaves
    /// the Poisson error of the count.
    fn with(
        self,
        count: u64,
        accidentals: Measured,
        apart: f64,
        singles: Option<[f64; 2]>,
    ) -> Self {
        let counted = (count.max(1) as f64).sqrt();
        let excess = count as f64 - accidentals.value;
        let ratio = |by: f64, err: f64| {
            (by > 0.0).then(|| Measured { value: excess / by, err: counted.hypot(err) / by })
        };
        let of_singles = |n: f64| ratio(n, apart);
        Self {
            accidentals: Some(accidentals),
            car: ratio(accidentals.value, count as f64 / accidentals.value * apart),
            heralding: singles.map_or([None; 2], |[a, b]| [of_singles(b), of_singles(a)]),
            ..self
        }
    }
}

/// The heralded g2 of two arms: N_123·N_1 / (N_12·N_13), all by rule `herald`, or all with each
/// herald once. Nothing without coincidences of both arms with the herald.
pub fn g2_heralded(triples: u64, heralds: u64, arms: [u64; 2]) -> Option<Measured> {
    let [a, b] = arms.map(|n| n as f64);
    if a == 0.0 || b == 0.0 {
        return None;
    }
    let scale = heralds as f64 / (a * b);
    let counted = triples.max(1) as f64;
    let relative = (1.0 / counted + 1.0 / a + 1.0 / b).sqrt();
    Some(Measured { value: triples as f64 * scale, err: counted * scale * relative })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    fn terms(rule: Rule, window: i64, tick_s: f64) -> Terms {
        Terms { rule, window, is_vetoed: false, tick_s, live_s: None }
    }

    fn of_pair(count: u64, sources: &[SourceSingles], window: i64, tick_s: f64) -> Estimate {
        Estimate::new(count, sources, &terms(Rule::All, window, tick_s))
    }

    #[test]
    fn larger_groups_have_an_independent_figure() {
        // 100, 50 and 20 tags in 10,000 ticks, w = 2: 100·50·20/10⁸ · (27 − 8).
        let source = SourceSingles { live: 10_000, singles: vec![100, 50, 20] };
        let of = |rule, window| {
            Estimate::new(3, std::slice::from_ref(&source), &terms(rule, window, 1.0))
        };
        assert!(close(of(Rule::All, 2).accidentals_independent.unwrap(), 1e-3 * 19.0));
        assert!(close(of(Rule::All, 0).accidentals_independent.unwrap(), 1e-3));
        assert!(close(of(Rule::Herald, 2).accidentals_independent.unwrap(), 1e-3 * 25.0));
        // 3·w² + 3·w + 1 at w = 10¹²: a difference of 10³⁶s would be off by far more.
        let wide = of(Rule::All, 1_000_000_000_000).accidentals_independent.unwrap();
        assert!((wide / (1e-3 * 3e24) - 1.0).abs() < 1e-11, "{wide}");
        let none = of(Rule::Once, 2);
        assert_eq!((none.accidentals_independent, none.accidentals, none.car), (None, None, None));
        assert!(close(none.count_err, 3_f64.sqrt()));
    }

    #[test]
    fn cells_vetoes_and_a_given_live_time() {
        let source = [SourceSingles { live: 10_000, singles: vec![100, 50] }];
        let grid = Estimate::new(7, &source, &terms(Rule::Grid, 13, 1.0));
        assert!(close(grid.accidentals.unwrap().value, 100.0 * 50.0 * 13.0 / 1e4));
        let vetoed = Terms { is_vetoed: true, ..terms(Rule::All, 2, 1.0) };
        assert_eq!(Estimate::new(7, &source, &vetoed).accidentals, None);
        // Half the live time: twice the accidentals and twice the rate.
        let given = Terms { live_s: Some(5.0), ..terms(Rule::All, 2, 1e-3) };
        let given = Estimate::new(7, &source, &given);
        assert!(close(given.accidentals.unwrap().value, 5.0));
        assert!(close(given.rate_hz.unwrap().value, 7.0 / 5.0));
    }

    #[test]
    fn heralded_g2_by_hand() {
        // 6·1000/(100·50) = 1.2, errors of 1/6 + 1/100 + 1/50.
        let g2 = g2_heralded(6, 1_000, [100, 50]).unwrap();
        assert!(close(g2.value, 1.2));
        assert!(close(g2.err, 1.2 * (1.0_f64 / 6.0 + 0.03).sqrt()));
        assert_eq!(g2_heralded(0, 1_000, [0, 50]), None);
        assert!(g2_heralded(0, 1_000, [10, 50]).unwrap().err > 0.0);
    }

    #[test]
    fn a_pair_by_hand() {
        // 100 and 50 tags in 10,000 ticks, w = 2: accidentals 100·50·5/10,000 = 2.5.
        let source = SourceSingles { live: 10_000, singles: vec![100, 50] };
        let estimate = of_pair(40, &[source], 2, 1e-6);
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
    fn accidentals_that_were_measured_bring_their_own_error() {
        let source = SourceSingles { live: 10_000, singles: vec![100, 50] };
        let measured = Measured { value: 4.0, err: 2.0 };
        let singles = Some([100.0, 50.0]);
        let estimate = of_pair(36, &[source], 2, 1e-6).with_accidentals(36, measured, singles);
        let car = estimate.car.unwrap();
        // 36/4 − 1, and the relative errors 6/36 and 2/4 of the ratio 9.
        assert!(close(car.value, 8.0) && close(car.err, 9.0 * (1.0_f64 / 36.0 + 0.25).sqrt()));
        let [of_a, of_b] = estimate.heralding.map(Option::unwrap);
        assert!(close(of_a.value, 0.64) && close(of_a.err, 40_f64.sqrt() / 50.0));
        assert!(close(of_b.value, 0.32) && close(of_b.err, 40_f64.sqrt() / 100.0));
    }

    #[test]
    fn sources_add_their_own_expectations() {
        let a = SourceSingles { live: 100, singles: vec![10, 20] };
        let b = SourceSingles { live: 400, singles: vec![30, 40] };
        // 10·20/100 + 30·40/400 = 5, not 40·60/500.
        let estimate = of_pair(7, &[a, b], 0, 1.0);
        assert!(close(estimate.accidentals.unwrap().value, 5.0));
        assert!(close(estimate.rate_hz.unwrap().value, 7.0 / 500.0));
    }

    #[test]
    fn what_is_not_defined_is_absent() {
        let estimate = of_pair(1, &[SourceSingles { live: 0, singles: vec![1, 1] }], 0, 1.0);
        assert_eq!((estimate.rate_hz, estimate.accidentals, estimate.car), (None, None, None));
        let dark = of_pair(0, &[SourceSingles { live: 5, singles: vec![9, 0] }], 1, 1.0);
        assert_eq!(dark.accidentals, Some(Measured { value: 0.0, err: 0.0 }));
        assert_eq!((dark.car, dark.heralding[0]), (None, None));
        assert!(dark.heralding[1].is_some());
        assert_eq!(of_pair(0, &[], 1, 1.0).rate_hz, None);
    }
}
