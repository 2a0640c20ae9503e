//! The heralded g2 of two arms (docs/estimates.md, "Heralded g2").
//!
//! 60 triples, 1,000 heralds, 100 and 500 pairs with each arm in the same time: g2 = 60·1,000/(100·500) = 1.2. All
//! counts must be of the same heralds and by the same rule.

use super::{
    measured::{Measured, limit_of_none},
    singles::SourceSingles,
};

/// The counts of a heralded g2, all by the same rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heralded {
    /// N_123: the herald with both arms.
    pub triples: u64,
    /// N_1: the heralds; with a veto, those that it leaves. The other counts are of these heralds.
    pub heralds: u64,
    /// N_12 and N_13: the herald with each arm.
    pub arms: [u64; 2],
    /// The live ticks in which each of these can occur: heralds, both arms, triples.
    pub live: [i64; 4],
}

/// How heralds are counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeraldWindow {
    /// Whether each herald counts once.
    pub is_once: bool,
    /// The ticks of the window around a herald, in the live time of the sources.
    pub width: f64,
}

/// The shares on which the error depends besides the counts.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// η_1: the efficiency of the herald.
    efficiency: f64,
    /// m_1: the heralds in a window.
    in_window: f64,
    /// f_2 and f_3: the part of the counts of each arm that varies with their triples.
    of_arms: [f64; 2],
}

impl Heralded {
    /// Returns N_123·N_1/(N_12·N_13), each count divided by the time in which it can occur. `sources` has the singles
    /// of the herald and of both arms. Returns `None` without coincidences of both
    /// arms with the herald.
    pub(super) fn g2(&self, sources: &[SourceSingles], window: HeraldWindow) -> Option<Measured> {
        let unit = self.unit()?;
        let counted = self.triples.max(1) as f64;
        let relative = self.shares(sources, window).variance(self, unit);
        let err = counted * unit * relative.max(0.0).sqrt();
        let least = if self.triples == 0 { unit } else { 0.0 };
        Some(Measured { value: self.triples as f64 * unit, err: err.max(least) })
    }

    /// Returns the limit of g2 with 95 % confidence if there are no triples.
    pub(super) fn limit(&self) -> Option<f64> {
        self.unit().filter(|_| self.triples == 0).map(|unit| limit_of_none(1.0 / unit))
    }

    /// Returns the g2 of one triple.
    fn unit(&self) -> Option<f64> {
        let [a, b] = self.arms.map(|n| n as f64);
        let [of_herald, of_a, of_b, of_triples] = self.live.map(|ticks| ticks as f64);
        let is_defined = a > 0.0 && b > 0.0 && of_triples > 0.0;
        is_defined.then(|| self.heralds as f64 / (a * b) * (of_a * of_b / (of_triples * of_herald)))
    }

    fn shares(&self, sources: &[SourceSingles], window: HeraldWindow) -> Shares {
        let sum = |of: &dyn Fn(&SourceSingles) -> f64| sources.iter().map(of).sum::<f64>();
        let singles = |channel: usize| sum(&|source| source.singles[channel] as f64);
        // Σ N_1·(tags of the other channel in a window), of the heralds that are left.
        let left = self.heralds as f64 / singles(0).max(1.0);
        let by_chance = |channel: usize, is_once: bool| {
            left * sum(&|source| {
                let live = source.live as f64;
                let in_window = source.singles[channel] as f64 * window.width / live;
                let partners = if is_once { -libm::expm1(-in_window) } else { in_window };
                if live > 0.0 { source.singles[0] as f64 * partners } else { 0.0 }
            })
        };
        let of_arms = [0, 1].map(|arm| {
            let accidental = by_chance(arm + 1, window.is_once);
            let counted = self.arms[arm] as f64;
            let efficiency = (counted - accidental) / (left * singles(arm + 1)).max(1.0);
            let genuine = (1.0 - accidental / counted.max(1.0)).clamp(0.0, 1.0);
            (efficiency.clamp(0.0, 1.0), if window.is_once { 1.0 } else { genuine })
        });
        Shares {
            efficiency: of_arms.iter().map(|(efficiency, _)| efficiency).sum::<f64>() / 2.0,
            in_window: by_chance(0, false) / (self.heralds as f64).max(1.0) * left,
            of_arms: of_arms.map(|(_, share)| share),
        }
    }
}

impl Shares {
    /// Returns the relative variance of g2 to first order.
    fn variance(&self, counts: &Heralded, unit: f64) -> f64 {
        let Self { efficiency, in_window, of_arms: [f_a, f_b] } = *self;
        let g2 = counts.triples as f64 * unit;
        let [a, b] = counts.arms.map(|n| n as f64);
        (1.0 + efficiency + in_window * 2.0 / 3.0) / counts.triples.max(1) as f64
            - f_a / a
            - f_b / b
            + (2.0 * g2 - 1.0) * f_a * f_b / counts.heralds.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Heralded =
        Heralded { triples: 60, heralds: 1_000, arms: [100, 500], live: [10_000; 4] };

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    #[test]
    fn the_variance_by_hand() {
        // 60·1000/(100·500) = 1.2.
        let unit = COUNTS.unit().unwrap();
        assert!(close(unit * 60.0, 1.2));
        // 1/60 − 1/100 − 1/500 + 1.4/1000.
        let plain = Shares { efficiency: 0.0, in_window: 0.0, of_arms: [1.0; 2] };
        let variance: f64 = 1.0 / 60.0 - 0.01 - 0.002 + 0.001_4;
        assert!(close(plain.variance(&COUNTS, unit), variance));
        // Half of the heralds click twice, 0.3 others are in a window; half of arm 2 is accidental.
        let all = Shares { efficiency: 0.5, in_window: 0.3, of_arms: [0.5, 1.0] };
        let variance = 1.7 / 60.0 - 0.005 - 0.002 + 0.000_7;
        assert!(close(all.variance(&COUNTS, unit), variance));
    }

    #[test]
    fn shares_by_hand() {
        // 1,000 heralds are left of 2,000; 400 and 1,000 tags of the arms; 10,000 ticks; windows of 5 ticks.
        let source = [SourceSingles::new(10_000, vec![2_000, 400, 1_000])];
        let window = HeraldWindow { is_once: false, width: 5.0 };
        let counts = Heralded { arms: [250, 600], ..COUNTS };
        let shares = counts.shares(&source, window);
        // 0.2 and 0.5 tags of the arms in a window of each herald: 200 and 500 accidental pairs.
        assert!(close(shares.of_arms[0], 0.2) && close(shares.of_arms[1], 1.0 / 6.0));
        // 50 of half of 400, 100 of half of 1,000.
        assert!(close(shares.efficiency, 0.225));
        // Half of 2,000·5/10,000.
        assert!(close(shares.in_window, 0.5));
    }

    #[test]
    fn nothing_counted_is_known_to_one_count() {
        let source = [SourceSingles::new(10_000, vec![1_000, 100, 500])];
        let window = HeraldWindow { is_once: true, width: 1.0 };
        for arms in [[1, 1], [2, 1], [1, 7], [100, 500]] {
            let none = Heralded { triples: 0, arms, ..COUNTS };
            let g2 = none.g2(&source, window).unwrap();
            let unit = 1_000.0 / (arms[0] * arms[1]) as f64;
            assert!(g2.value.abs() < 1e-300 && g2.err >= unit && g2.err < 1.5 * unit, "{g2:?}");
            // −ln 0.05 = 2.9957 triples.
            assert!((none.limit().unwrap() / unit - 2.995_7).abs() < 1e-4);
        }
        assert_eq!(COUNTS.limit(), None);
        assert_eq!(Heralded { arms: [0, 5], ..COUNTS }.g2(&source, window), None);
    }

    /// A pair of arms that are both moved by the same delay loses that time once, not twice.
    #[test]
    fn each_count_has_its_own_time() {
        let counts = Heralded { triples: 54, arms: [90, 450], live: [10, 9, 9, 9], ..COUNTS };
        // 54·1000/(90·450) would be 1.33: 60/10 a tick, 100, 10 and 50 a tick.
        assert!(close(counts.unit().unwrap() * 54.0, 1.2));
    }
}
