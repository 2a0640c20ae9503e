//! Derived values of a count: errors, rates, accidentals, CAR, heralding. Floats are used for estimates only.
//!
//! Definitions and derivations: docs/queries.md, section "What is reported with a count".

mod blocks;
mod pair;
pub(crate) mod singles;

use crate::rules::{definition::Heralds, rule::Rule};
use pair::Pairs;

pub use blocks::{covariance, jackknife};
pub use singles::SourceSingles;

/// A value with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub err: f64,
}

impl Measured {
    /// Computes tags per second: `count` tags in `live` ticks of `tick_s` seconds, with the error of a
    /// Poisson count. Returns `None` if there is no live time.
    pub fn rate_hz(count: u64, live: i128, tick_s: f64) -> Option<Self> {
        let live_s = live as f64 * tick_s;
        let err = (count.max(1) as f64).sqrt();
        (live > 0).then(|| Self { value: count as f64 / live_s, err: err / live_s })
    }
}

/// The counts of one group, from which estimates are computed.
#[derive(Debug, Clone, Copy)]
pub struct Tally<'a> {
    /// The number of coincidences.
    pub count: u64,
    /// The singles and the live time of each source.
    pub sources: &'a [SourceSingles],
    /// Measured accidentals, which replace those by formula.
    pub shifted: Option<Shifted>,
    /// The tags of each channel that the veto accepts; `None` without a veto.
    pub left_by_veto: Option<&'a [u64]>,
    /// The pairs of a herald with each of two others, by the same rule.
    pub arms: Option<[u64; 2]>,
}

/// Accidentals measured with shifted channels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shifted {
    /// Every shift is longer than every source.
    Nowhere,
    /// Measured.
    Counted {
        /// The mean of the counts, with the Poisson error of these counts only.
        mean: Measured,
        /// The number of full-length counts that the counts of a pair correspond to; `None` for larger
        /// groups.
        exposures: Option<f64>,
        /// Whether no shifted count has a coincidence.
        is_empty: bool,
    },
}

/// The values that are reported with the count of a group. Undefined ratios are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The count.
    pub count: u64,
    /// Standard error of the count.
    pub count_err: f64,
    /// Coincidences per second; `None` without live time.
    pub rate_hz: Option<Measured>,
    /// The expected coincidences of a pair for independent channels of these rates.
    pub accidentals: Option<Measured>,
    /// The same for a larger group.
    pub accidentals_independent: Option<f64>,
    /// (count − accidentals) / accidentals.
    pub car: Option<Measured>,
    /// A lower limit of the CAR (95 %), if no shifted count has a coincidence.
    pub car_min: Option<f64>,
    /// The probability that a tag of the second channel of a pair has a partner on the first one:
    /// (count − accidentals) / singles of the second. This is the Klyshko efficiency of the first channel.
    pub p_a_given_b: Option<Measured>,
    /// The probability that a tag of the first channel has a partner on the second.
    pub p_b_given_a: Option<Measured>,
    /// The heralded g2 of two arms: N_123·N_1 / (N_12·N_13).
    pub g2_heralded: Option<Measured>,
}

/// The conditions under which a count was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// The rule.
    pub rule: Rule,
    /// The window in ticks.
    pub window: i64,
    /// Whether a veto rejected coincidences.
    pub is_vetoed: bool,
    /// The tick in seconds.
    pub tick_s: f64,
    /// Live seconds that replace those of the sources.
    pub live_s: Option<f64>,
}

impl Terms {
    /// Returns the live ticks of the sources, and the factor by which the live ticks of each source are
    /// multiplied.
    fn live(&self, sources: &[SourceSingles]) -> (f64, f64) {
        let recorded: f64 = sources.iter().map(|source| source.live as f64).sum();
        match self.live_s {
            Some(given) if recorded > 0.0 => {
                let given = given / self.tick_s;
                (given, given / recorded)
            }
            // A rate can be computed, but expectations of the sources cannot.
            Some(given) => (given / self.tick_s, 1.0),
            None => (recorded, 1.0),
        }
    }

    /// Returns the ticks of differences that a pair may have.
    fn full_width(&self) -> f64 {
        self.rule.full_width(self.window) as f64
    }

    /// Returns the expected coincidences of independent channels in one source, with its live time multiplied
    /// by `scale`.
    fn expected(&self, source: &SourceSingles, scale: f64) -> Option<f64> {
        if source.overlapping.contains(&0) {
            return Some(0.0);
        }
        if source.live <= 0 {
            return None;
        }
        let live = source.overlap as f64 * scale;
        if live <= 0.0 {
            return Some(0.0);
        }
        self.rule.definition().expected(&source.overlapping, live, self.window)
    }

    /// Returns the variance divided by the mean of a count of independent channels.
    fn clumping(&self, sources: &[SourceSingles], scale: f64) -> f64 {
        let half = self.window as f64 + 0.5;
        let (mut weighted, mut weights) = (0.0, 0.0);
        for source in sources {
            let live = source.overlap as f64 * scale;
            let weight = self.expected(source, scale).unwrap_or(0.0);
            if live > 0.0 && weight > 0.0 {
                let in_window: Vec<f64> =
                    source.overlapping.iter().map(|&n| n as f64 / live * half).collect();
                weighted += weight * self.rule.definition().clumping(&in_window);
                weights += weight;
            }
        }
        if weights > 0.0 { weighted / weights } else { 1.0 }
    }
}

impl Estimate {
    /// Computes the estimate of a tally.
    pub fn new(tally: &Tally<'_>, terms: &Terms) -> Self {
        let Tally { count, sources, shifted, .. } = *tally;
        let rule = terms.rule.definition();
        let (live, scale) = terms.live(sources);
        let channels = sources.first().map_or(0, |source| source.singles.len());
        let is_pair = channels == 2;
        let expected = || sources.iter().map(|s| terms.expected(s, scale)).sum::<Option<f64>>();
        let expected = if live > 0.0 && rule.counts_every_way() { expected() } else { None };
        let mut estimate = Self { count, ..Self::default() };
        let found = match shifted {
            Some(Shifted::Counted { mean, .. }) => Some(mean),
            Some(Shifted::Nowhere) => None,
            None if terms.is_vetoed || !is_pair => None,
            None => expected.map(|value| Measured { value, err: 0.0 }),
        };
        if shifted.is_none() && !is_pair && !terms.is_vetoed {
            estimate.accidentals_independent = expected;
        }
        // The number of accidentals used for the errors: measured if available, else expected.
        let accidental = found.map(|found| found.value).or(expected);
        let pairs = (is_pair && rule.counts_every_way()).then(|| {
            Pairs::new(count, accidental.unwrap_or(0.0), sources, terms.full_width(), scale)
        });
        let counted = count.max(1) as f64;
        let clumping = if is_pair || channels == 0 { 1.0 } else { terms.clumping(sources, scale) };
        let variance = pairs.as_ref().map_or(counted * clumping, Pairs::of_count);
        estimate.count_err = variance.sqrt();
        let live_s = live * terms.tick_s;
        estimate.rate_hz = (live > 0.0)
            .then(|| Measured { value: count as f64 / live_s, err: estimate.count_err / live_s });
        estimate.g2_heralded = tally.arms.and_then(|arms| {
            let both_click = tally.herald_efficiency(terms, arms, scale);
            g2_heralded(count, tally.singles(0), arms, both_click)
        });
        let Some(mut found) = found else { return estimate };
        if let Some(pairs) = &pairs {
            found.err *= (1.0 + pairs.crosswise()).sqrt();
        }
        let of_singles = match &pairs {
            Some(pairs) => pairs.of_expectation(),
            None if is_pair => 0.0,
            None => found.value.max(0.0) * (clumping - 1.0),
        };
        let (a, c) = (found.value, count as f64);
        estimate.accidentals =
            Some(Measured { value: a, err: found.err.hypot(of_singles.max(0.0).sqrt()) });
        if a > 0.0 {
            // The contribution of the singles is common to the count and the accidentals.
            let common = pairs.as_ref().map_or(counted, |pairs| pairs.of_ratio(c / a));
            let err = common.sqrt().hypot(c / a * found.err) / a;
            estimate.car = Some(Measured { value: (c - a) / a, err });
        }
        if let Some(Shifted::Counted { exposures: Some(exposures), is_empty: true, .. }) = shifted {
            estimate.car_min = car_min(count, exposures);
        }
        if let Some(pairs) = &pairs {
            let given = |of: usize| {
                let n = tally.singles(of) as f64;
                let err = pairs.of_excess(of).sqrt().hypot(found.err) / n;
                (n > 0.0).then(|| Measured { value: (c - a) / n, err })
            };
            (estimate.p_a_given_b, estimate.p_b_given_a) = (given(1), given(0));
        } else if is_pair && rule.heralds() == Heralds::Once {
            estimate.p_b_given_a = per_herald(c, found, tally.singles(0) as f64);
        }
        estimate
    }

    /// Returns the same with errors from blocks of time: `left_out` holds the estimates without each block,
    /// with the share of the time that is left.
    #[must_use]
    pub fn with_block_errors(self, left_out: &[(Self, f64)]) -> Self {
        let values: Vec<_> = left_out.iter().map(|(of, share)| of.values(*share)).collect();
        let [count, accidentals, car, p_a, p_b, g2] = jackknife(&values);
        let with = |measured: Option<Measured>, err: Option<f64>| {
            measured.map(|Measured { value, .. }| Measured { value, err: err.unwrap_or(f64::NAN) })
        };
        let rate_err = self.rate_hz.zip(count).map(|(rate, err)| rate.err / self.count_err * err);
        Self {
            count: self.count,
            count_err: count.unwrap_or(f64::NAN),
            rate_hz: with(self.rate_hz, rate_err),
            accidentals: with(self.accidentals, accidentals),
            accidentals_independent: self.accidentals_independent,
            car: with(self.car, car),
            car_min: self.car_min,
            p_a_given_b: with(self.p_a_given_b, p_a),
            p_b_given_a: with(self.p_b_given_a, p_b),
            g2_heralded: with(self.g2_heralded, g2),
        }
    }

    /// Returns the values that have errors, for a share of the time; values that grow with time are scaled to
    /// the whole.
    fn values(&self, share: f64) -> [Option<f64>; 6] {
        let value = |measured: Option<Measured>| measured.map(|measured| measured.value);
        let scaled = |value: f64| (share > 0.0).then(|| value / share);
        [
            scaled(self.count as f64),
            value(self.accidentals).and_then(scaled),
            value(self.car),
            value(self.p_a_given_b),
            value(self.p_b_given_a),
            value(self.g2_heralded),
        ]
    }
}

impl Tally<'_> {
    /// Returns the efficiency of the herald: the mean of (N_1k − A_1k)/N_k over the arms k.
    fn herald_efficiency(&self, terms: &Terms, arms: [u64; 2], scale: f64) -> f64 {
        let of_arm = |(arm, counted): (usize, u64)| {
            let accidental = |source: &SourceSingles| {
                let live = source.live as f64 * scale;
                let in_window = source.singles[arm] as f64 * terms.full_width() / live;
                let partners = match terms.rule.definition().heralds() {
                    Heralds::Once => -(-in_window).exp_m1(),
                    Heralds::None | Heralds::Every => in_window,
                };
                if live > 0.0 { source.singles[0] as f64 * partners } else { 0.0 }
            };
            let accidentals: f64 = self.sources.iter().map(accidental).sum();
            let singles: u64 = self.sources.iter().map(|source| source.singles[arm]).sum();
            ((counted as f64 - accidentals) / singles.max(1) as f64).clamp(0.0, 1.0)
        };
        [(1, arms[0]), (2, arms[1])].map(of_arm).iter().sum::<f64>() / 2.0
    }

    /// Returns the tags of a channel of the group that can be in a coincidence: those that the veto accepts.
    fn singles(&self, of: usize) -> u64 {
        match self.left_by_veto {
            Some(left) => left[of],
            None => self.sources.iter().map(|source| source.singles[of]).sum(),
        }
    }
}

/// Returns the probability that a herald has a partner, (C − A)/(N − A), where each herald counts once: the
/// share of those without an accidental partner. C and A are binomial numbers of N.
fn per_herald(c: f64, accidentals: Measured, heralds: f64) -> Option<Measured> {
    let Measured { value: a, err } = accidentals;
    let free = heralds - a;
    if free <= 0.0 {
        return None;
    }
    let missed = (heralds - c) / free;
    let counted = c.max(1.0) * (1.0 - c / heralds).max(0.0);
    let measured = err * err * (1.0 - a / heralds).max(0.0);
    Some(Measured {
        value: (c - a) / free,
        err: (counted + missed * missed * measured).sqrt() / free,
    })
}

/// Returns the lower limit of the CAR with 95 % confidence, for `count` coincidences and none in shifted
/// counts that correspond to `exposures`. Of `count` events in all, none is shifted: the share p of events
/// that are not shifted satisfies pⁿ = 0.05 at its limit, and C/A = K·p/(1 − p) (the conditional test of
/// Przyborowski and Wilenski 1940).
fn car_min(count: u64, exposures: f64) -> Option<f64> {
    if count == 0 {
        return None;
    }
    let p = (0.05_f64.ln() / count as f64).exp();
    Some(exposures * p / (1.0 - p) - 1.0)
}

/// Returns the heralded g2 of two arms: N_123·N_1 / (N_12·N_13), all by rule `herald`, or all with each
/// herald once. Returns `None` without coincidences of both arms with the herald.
///
/// Each herald has arm 2, arm 3, both or none: a multinomial distribution, for which the relative variance of
/// g2 is 1/N_123 − 1/N_12 − 1/N_13 + (2g2 − 1)/N_1 to first order. If a triple consists of two pairs, the
/// heralds of both may click, with probability `both_click`, and then both count.
pub fn g2_heralded(
    triples: u64,
    heralds: u64,
    arms: [u64; 2],
    both_click: f64,
) -> Option<Measured> {
    let [a, b] = arms.map(|n| n as f64);
    if a == 0.0 || b == 0.0 {
        return None;
    }
    let scale = heralds as f64 / (a * b);
    let counted = triples.max(1) as f64;
    let g2 = triples as f64 * scale;
    let relative =
        (1.0 + both_click) / counted - 1.0 / a - 1.0 / b + (2.0 * g2 - 1.0) / heralds as f64;
    Some(Measured { value: g2, err: counted * scale * relative.max(0.0).sqrt() })
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

    fn tally(count: u64, sources: &[SourceSingles]) -> Tally<'_> {
        Tally { count, sources, shifted: None, left_by_veto: None, arms: None }
    }

    fn of_pair(count: u64, sources: &[SourceSingles], window: i64, tick_s: f64) -> Estimate {
        Estimate::new(&tally(count, sources), &terms(Rule::All, window, tick_s))
    }

    fn shifted(value: f64, err: f64) -> Shifted {
        let mean = Measured { value, err };
        Shifted::Counted { mean, exposures: Some(10.0), is_empty: value < 1e-300 }
    }

    #[test]
    fn larger_groups_have_an_independent_figure() {
        // 100, 50 and 20 tags in 10,000 ticks, w = 2: 100·50·20/10⁸ · (27 − 8).
        let source = [SourceSingles::new(10_000, vec![100, 50, 20])];
        let of = |rule, window| Estimate::new(&tally(3, &source), &terms(rule, window, 1.0));
        assert!(close(of(Rule::All, 2).accidentals_independent.unwrap(), 1e-3 * 19.0));
        assert!(close(of(Rule::All, 0).accidentals_independent.unwrap(), 1e-3));
        assert!(close(of(Rule::Herald, 2).accidentals_independent.unwrap(), 1e-3 * 25.0));
        // 3·w² + 3·w + 1 at w = 10¹²: a difference of numbers near 10³⁶ would be off by far more.
        let wide = of(Rule::All, 1_000_000_000_000).accidentals_independent.unwrap();
        assert!((wide / (1e-3 * 3e24) - 1.0).abs() < 1e-11, "{wide}");
        let none = of(Rule::Once, 2);
        assert_eq!((none.accidentals_independent, none.accidentals, none.car), (None, None, None));
        assert!(close(none.count_err, 3_f64.sqrt()));
    }

    #[test]
    fn cells_vetoes_and_a_given_live_time() {
        let source = [SourceSingles::new(10_000, vec![100, 50])];
        let grid = Estimate::new(&tally(7, &source), &terms(Rule::Grid, 13, 1.0));
        assert!(close(grid.accidentals.unwrap().value, 100.0 * 50.0 * 13.0 / 1e4));
        let vetoed = Terms { is_vetoed: true, ..terms(Rule::All, 2, 1.0) };
        assert_eq!(Estimate::new(&tally(7, &source), &vetoed).accidentals, None);
        // Half the live time: twice the accidentals and twice the rate.
        let given = Terms { live_s: Some(5.0), ..terms(Rule::All, 2, 1e-3) };
        let given = Estimate::new(&tally(7, &source), &given);
        assert!(close(given.accidentals.unwrap().value, 5.0));
        assert!(close(given.rate_hz.unwrap().value, 7.0 / 5.0));
    }

    #[test]
    fn heralded_g2_by_hand() {
        // 60·1000/(100·500) = 1.2, 1/60 − 1/100 − 1/500 + 1.4/1000 = 0.0060667.
        let g2 = g2_heralded(60, 1_000, [100, 500], 0.0).unwrap();
        assert!(close(g2.value, 1.2));
        let relative: f64 = 1.0 / 60.0 - 0.01 - 0.002 + 0.001_4;
        assert!(close(g2.err, 1.2 * relative.sqrt()));
        // 0.5 of the heralds click twice: 0.5/60 more.
        let twice = g2_heralded(60, 1_000, [100, 500], 0.5).unwrap();
        assert!(close(twice.err, 1.2 * (relative + 0.5 / 60.0).sqrt()));
        assert_eq!(g2_heralded(0, 1_000, [0, 50], 0.0), None);
        assert!(g2_heralded(0, 1_000, [10, 50], 0.0).unwrap().err > 0.0);
    }

    #[test]
    fn a_pair_by_hand() {
        // 100 and 50 tags in 10,000 ticks, w = 2: x = 0.05, y = 0.025, A = 2.5, P = 37.5 of 40.
        let source = [SourceSingles::new(10_000, vec![100, 50])];
        let estimate = of_pair(40, &source, 2, 1e-6);
        let (a, p, x, y, eta_a, eta_b): (f64, f64, f64, f64, f64, f64) =
            (2.5, 37.5, 0.05, 0.025, 0.75, 0.375);
        let both = eta_a * eta_b;
        let variance = a * (1.0 + x + y + both) + p * (1.0 + 2.0 * (x + y) + 2.0 * x * y);
        assert!(close(estimate.count_err, variance.sqrt()));
        let rate = estimate.rate_hz.unwrap();
        assert!(close(rate.value, 4_000.0) && close(rate.err, variance.sqrt() * 100.0));
        let accidentals = estimate.accidentals.unwrap();
        assert!(close(accidentals.value, 2.5));
        let relative: f64 = 1.0 / 100.0 + 1.0 / 50.0 + 2.0 * p / (100.0 * 50.0);
        assert!(close(accidentals.err, 2.5 * relative.sqrt()));
        let car = estimate.car.unwrap();
        let variance = a * (1.0 + both) + p * (1.0 - eta_a - eta_b + 2.0 * both);
        assert!(close(car.value, 15.0) && close(car.err, variance.sqrt() / 2.5));
        let (of_a, of_b) = (estimate.p_a_given_b.unwrap(), estimate.p_b_given_a.unwrap());
        let err = |eta: f64, n: f64| (a * (1.0 + both) + p * (1.0 - eta)).sqrt() / n;
        assert!(close(of_a.value, 0.75) && close(of_a.err, err(eta_a, 50.0)));
        assert!(close(of_b.value, 0.375) && close(of_b.err, err(eta_b, 100.0)));
    }

    #[test]
    fn accidentals_that_were_measured_bring_their_own_error() {
        let source = [SourceSingles::new(10_000, vec![100, 50])];
        let without = Tally { shifted: Some(shifted(2.5, 0.0)), ..tally(40, &source) };
        let with = Tally { shifted: Some(shifted(2.5, 0.5)), ..without };
        let [without, with] =
            [without, with].map(|tally| Estimate::new(&tally, &terms(Rule::All, 2, 1e-6)));
        // As many as expected, known exactly: same as by formula.
        assert_eq!(without, of_pair(40, &source, 2, 1e-6));
        let more = |of: fn(&Estimate) -> Option<Measured>| {
            let [without, with] = [&without, &with].map(|e| of(e).unwrap().err.powi(2));
            with - without
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
        // η_a = 0.75 and η_b = 0.375 make it 1.28125 times 0.5².
        let own = 1.281_25;
        assert!(near(more(|e| e.accidentals), 0.25 * own));
        // 40/2.5 times 0.5/2.5.
        assert!(near(more(|e| e.car), (16.0_f64 * 0.2).powi(2) * own));
        assert!(near(more(|e| e.p_a_given_b), (0.5_f64 / 50.0).powi(2) * own));
        assert!(close(without.count_err, with.count_err));
    }

    #[test]
    fn no_shifted_count_leaves_a_lower_limit() {
        let source = [SourceSingles::new(10_000, vec![100, 50])];
        let empty = Tally { shifted: Some(shifted(0.0, 0.1)), ..tally(100, &source) };
        let estimate = Estimate::new(&empty, &terms(Rule::All, 2, 1e-6));
        assert_eq!(estimate.car, None);
        // 0.05^(1/100) = 0.970487; 10·0.970487/0.029513 − 1 = 327.83.
        assert!((estimate.car_min.unwrap() - 327.83).abs() < 0.01, "{:?}", estimate.car_min);
        let nowhere = Tally { shifted: Some(Shifted::Nowhere), ..empty };
        let nowhere = Estimate::new(&nowhere, &terms(Rule::All, 2, 1e-6));
        assert_eq!((nowhere.accidentals, nowhere.car_min), (None, None));
    }

    #[test]
    fn each_herald_once_and_vetoes_divide_by_what_can_count() {
        let source = [SourceSingles::new(10_000, vec![100, 50])];
        // Of 100 heralds, 60 have a partner and 20 an accidental one: (60 − 20)/(100 − 20).
        let once = Tally { shifted: Some(shifted(20.0, 1.0)), ..tally(60, &source) };
        let once = Estimate::new(&once, &terms(Rule::PerHerald, 2, 1e-6));
        let p = once.p_b_given_a.unwrap();
        // 60·0.4 + 0.5²·1·0.8 over 80².
        assert!(close(p.value, 0.5) && close(p.err, 24.2_f64.sqrt() / 80.0));
        assert_eq!(once.p_a_given_b, None);
        let used_up = Tally { shifted: Some(shifted(20.0, 1.0)), ..tally(60, &source) };
        let used_up = Estimate::new(&used_up, &terms(Rule::Once, 2, 1e-6));
        assert_eq!((used_up.p_a_given_b, used_up.p_b_given_a), (None, None));
        // A veto leaves 80 and 40.
        let vetoed = Tally { left_by_veto: Some(&[80, 40]), ..once_tally(&source) };
        let vetoed =
            Estimate::new(&vetoed, &Terms { is_vetoed: true, ..terms(Rule::All, 2, 1e-6) });
        assert!(close(vetoed.p_a_given_b.unwrap().value, 18.0 / 40.0));
        assert!(close(vetoed.p_b_given_a.unwrap().value, 18.0 / 80.0));
    }

    fn once_tally(source: &[SourceSingles]) -> Tally<'_> {
        Tally { shifted: Some(shifted(2.0, 0.4)), ..tally(20, source) }
    }

    #[test]
    fn sources_add_their_own_expectations() {
        let a = SourceSingles::new(100, vec![10, 20]);
        let b = SourceSingles::new(400, vec![30, 40]);
        // 10·20/100 + 30·40/400 = 5, not 40·60/500.
        let estimate = of_pair(7, &[a, b], 0, 1.0);
        assert!(close(estimate.accidentals.unwrap().value, 5.0));
        assert!(close(estimate.rate_hz.unwrap().value, 7.0 / 500.0));
    }

    #[test]
    fn a_long_delay_leaves_less_time_to_expect_something_in() {
        let whole = SourceSingles::new(1_000, vec![10, 20]);
        // 7·14/700.
        let moved = SourceSingles { overlap: 700, overlapping: vec![7, 14], ..whole };
        assert!(close(of_pair(7, &[moved], 0, 1.0).accidentals.unwrap().value, 0.14));
        let apart = SourceSingles {
            overlap: 0,
            overlapping: vec![0, 0],
            ..SourceSingles::new(1_000, vec![10, 20])
        };
        assert!(of_pair(0, &[apart], 0, 1.0).accidentals.unwrap().value.abs() < 1e-300);
    }

    #[test]
    fn what_is_not_defined_is_absent() {
        let estimate = of_pair(1, &[SourceSingles::new(0, vec![1, 1])], 0, 1.0);
        assert_eq!((estimate.rate_hz, estimate.accidentals, estimate.car), (None, None, None));
        let dark = of_pair(0, &[SourceSingles::new(5, vec![9, 0])], 1, 1.0);
        assert_eq!(dark.accidentals, Some(Measured { value: 0.0, err: 0.0 }));
        assert_eq!((dark.car, dark.p_a_given_b), (None, None));
        assert!(dark.p_b_given_a.is_some());
        assert_eq!(of_pair(0, &[], 1, 1.0).rate_hz, None);
    }
}
