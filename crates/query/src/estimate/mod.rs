//! Derived values of a count: errors, rates, accidentals, CAR, heralding. Floats are used for estimates only.
//!
//! 100 and 50 tags in 10,000 ticks, window 2: 100·50·5/10,000 = 2.5 accidentals. Of 40 pairs 37.5 are true: CAR = 15.
//! A value that is not defined is `None`, never 0. Definitions and derivations: docs/estimates.md, section "What is
//! reported with a count".

mod blocks;
mod heralded;
mod measured;
mod pair;
pub(crate) mod singles;

use crate::rules::{definition::Heralds, rule::Rule};
use pair::Pairs;

pub use blocks::{covariance, jackknife};
pub use heralded::Heralded;
pub use measured::{Measured, limit_of_none};
pub use singles::SourceSingles;

/// The counts of one group, from which estimates are computed.
#[derive(Debug, Clone, Copy)]
pub struct Tally<'a> {
    /// The number of coincidences.
    pub count: u64,
    /// The singles and the live time of each source.
    pub sources: &'a [SourceSingles],
    /// Measured accidentals, which replace those by formula.
    pub shifted: Option<Shifted>,
    /// With a veto, the pairs with each channel of a pair as the herald; `None` without one.
    pub heralding: [Option<Heralding>; 2],
    /// The counts of a heralded g2, for a herald with two others.
    pub heralded: Option<Heralded>,
}

/// The pairs of those heralds that a veto leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heralding {
    /// The number of these pairs.
    pub count: u64,
    /// The accidentals among them, with the error of the measurement if they were measured.
    pub accidentals: Measured,
    /// The heralds that are left.
    pub heralds: u64,
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
    /// The expected coincidences of a larger group for independent channels of these rates.
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
    /// An upper limit of the heralded g2 (95 %), if there are no triples.
    pub g2_heralded_max: Option<f64>,
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
        let expected = self.rule.definition().expected(&source.overlapping, live, self.window);
        expected.map(|expected| expected * source.share(self.full_width()))
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
        let window = heralded::HeraldWindow {
            is_once: rule.heralds() == Heralds::Once,
            width: terms.full_width() / scale,
        };
        estimate.g2_heralded = tally.heralded.and_then(|of| of.g2(sources, window));
        estimate.g2_heralded_max = tally.heralded.and_then(|of| of.limit());
        let Some(measured) = found else { return estimate };
        let mut found = measured;
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
            Some(Measured { value: a, err: libm::hypot(found.err, of_singles.max(0.0).sqrt()) });
        if a > 0.0 {
            // The contribution of the singles is common to the count and the accidentals.
            let common = pairs.as_ref().map_or(counted, |pairs| pairs.of_ratio(c / a));
            let err = libm::hypot(common.sqrt(), c / a * found.err) / a;
            estimate.car = Some(Measured { value: (c - a) / a, err });
        }
        if let Some(Shifted::Counted { exposures: Some(exposures), is_empty: true, .. }) = shifted {
            estimate.car_min = car_min(count, exposures);
        }
        if is_pair {
            let own =
                |of: usize| Heralding { count, accidentals: measured, heralds: tally.singles(of) };
            let given = |of: usize| {
                let heralding = tally.heralding[of].or((!terms.is_vetoed).then(|| own(of)))?;
                terms.given(of, &heralding, (sources, scale))
            };
            (estimate.p_a_given_b, estimate.p_b_given_a) = (given(1), given(0));
        }
        estimate
    }

    /// Returns the estimate with errors from blocks of time: `left_out` holds the estimates without each block, with
    /// the share of the time that is left.
    #[must_use]
    pub fn with_block_errors(self, left_out: &[(Self, f64)]) -> Self {
        let values: Vec<_> = left_out.iter().map(|(of, share)| of.values(*share)).collect();
        let [count, accidentals, car, p_a, p_b, g2] = jackknife(&values);
        // Blocks in which nothing was counted do not differ: the error is then at least that by formula.
        let at_least = |err: Option<f64>, formula: f64, is_none: bool| {
            err.map(|err| if is_none { err.max(formula) } else { err })
        };
        let is_none = self.count == 0;
        let with = |measured: Option<Measured>, err: Option<f64>, is_none: bool| {
            measured.map(|Measured { value, err: formula }| {
                let err = at_least(err, formula, is_none).unwrap_or(f64::NAN);
                Measured { value, err }
            })
        };
        let count = at_least(count, self.count_err, is_none);
        let is_zero = |of: Option<Measured>| of.is_some_and(|of| of.value == 0.0);
        let rate_err = self.rate_hz.zip(count).map(|(rate, err)| rate.err / self.count_err * err);
        Self {
            count: self.count,
            count_err: count.unwrap_or(f64::NAN),
            rate_hz: with(self.rate_hz, rate_err, false),
            accidentals: with(self.accidentals, accidentals, is_zero(self.accidentals)),
            accidentals_independent: self.accidentals_independent,
            car: with(self.car, car, is_none),
            car_min: self.car_min,
            p_a_given_b: with(self.p_a_given_b, p_a, is_none),
            p_b_given_a: with(self.p_b_given_a, p_b, is_none),
            g2_heralded: with(self.g2_heralded, g2, is_zero(self.g2_heralded)),
            g2_heralded_max: self.g2_heralded_max,
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

impl Terms {
    /// Returns the probability that a tag of a channel of a pair, 0 or 1, has a true partner on the other one.
    fn given(
        &self,
        of: usize,
        &Heralding { count, accidentals: mut found, heralds }: &Heralding,
        (sources, scale): (&[SourceSingles], f64),
    ) -> Option<Measured> {
        let rule = self.rule.definition();
        let n = heralds as f64;
        if !rule.counts_every_way() {
            let is_defined = of == 0 && rule.heralds() == Heralds::Once;
            return is_defined.then(|| per_herald(count as f64, found, n)).flatten();
        }
        let pairs = Pairs::new(count, found.value, sources, self.full_width(), scale);
        found.err *= (1.0 + pairs.crosswise()).sqrt();
        let err = libm::hypot(pairs.of_excess(of).sqrt(), found.err) / n;
        (n > 0.0).then(|| Measured { value: (count as f64 - found.value) / n, err })
    }
}

impl Tally<'_> {
    /// Returns the tags of a channel of the group in the time that the channels share.
    fn singles(&self, of: usize) -> u64 {
        self.sources.iter().map(|source| source.overlapping[of]).sum()
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
    let p = libm::exp(libm::log(0.05) / count as f64);
    Some(exposures * p / (1.0 - p) - 1.0)
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
        Tally { count, sources, shifted: None, heralding: [None; 2], heralded: None }
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
        // With a veto, 80 and 40 heralds are left, with 19 and 17 pairs and 1 and 2 accidentals.
        let of = |count, value, heralds| {
            Some(Heralding { count, accidentals: Measured { value, err: 0.4 }, heralds })
        };
        let heralding = [of(19, 1.0, 80), of(17, 2.0, 40)];
        let vetoed = Tally { heralding, ..once_tally(&source) };
        let terms = Terms { is_vetoed: true, ..terms(Rule::All, 2, 1e-6) };
        let estimate = Estimate::new(&vetoed, &terms);
        assert!(close(estimate.p_a_given_b.unwrap().value, 15.0 / 40.0));
        assert!(close(estimate.p_b_given_a.unwrap().value, 18.0 / 80.0));
        let unknown = Estimate::new(&once_tally(&source), &terms);
        assert_eq!((unknown.p_a_given_b, unknown.p_b_given_a), (None, None));
    }

    /// Blocks without any count do not differ.
    #[test]
    fn block_errors_of_nothing_are_those_of_one_count() {
        let source = [SourceSingles::new(10_000, vec![100, 50])];
        let formula = of_pair(0, &source, 2, 1e-6);
        let blocks = formula.with_block_errors(&[(formula, 0.5); 4]);
        assert!(formula.count_err >= 1.0 && close(blocks.count_err, formula.count_err));
        let same = |of: fn(&Estimate) -> Option<Measured>| {
            let [blocks, formula] = [&blocks, &formula].map(|e| of(e).unwrap().err);
            formula > 0.0 && close(blocks, formula)
        };
        assert!(same(|e| e.rate_hz) && same(|e| e.car) && same(|e| e.p_a_given_b));
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
            near: None,
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
