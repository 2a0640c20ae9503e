//! The scatter of counts of pairs (docs/estimates.md, "Errors of pairs").
//!
//! Model: in each source, two Poisson processes share a third one of true pairs. A window of Δ ticks around a
//! tag of one channel holds x = N_a·Δ/T tags of a and y = N_b·Δ/T tags of b; A = N_a·N_b·Δ/T pairs are
//! accidental and P are true. Then, exactly,
//!
//! ```text
//! Var C = A(1 + x + y + η_aη_b) + P(1 + 2x + 2y + 2xy),   η_a = P/N_b, η_b = P/N_a,
//! Cov(C, N_a) = A + P + P·x,   Cov(C, N_b) = A + P + P·y,   Cov(N_a, N_b) = P.
//! ```
//!
//! Every error below is that of a function of C, N_a and N_b to first order.

use super::singles::SourceSingles;

/// One source in the model. Counts are expected numbers.
#[derive(Debug, Clone, Copy)]
struct Source {
    singles: [f64; 2],
    /// x and y: the tags of each channel in a window.
    in_window: [f64; 2],
    accidentals: f64,
    pairs: f64,
}

/// The pairs of all sources, divided into accidental and true ones.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    sources: Vec<Source>,
    /// C, at least 1, so that a count of zero has an error.
    counted: f64,
    /// P, at least 0.
    genuine: f64,
    singles: [f64; 2],
}

impl Pairs {
    /// Models `count` pairs; `accidentals` of them are expected to be accidental. `width` is Δ in ticks.
    /// `scale` multiplies the live time of each source.
    ///
    /// The true pairs of each source are not counted separately: they are assumed to be in proportion to
    /// √(N_a·N_b), as for equal efficiencies in all sources.
    pub(super) fn new(
        count: u64,
        accidentals: f64,
        sources: &[SourceSingles],
        width: f64,
        scale: f64,
    ) -> Self {
        let counted = count.max(1) as f64;
        // If fewer pairs are counted than expected, all are accidental.
        let accidental = accidentals.clamp(0.0, counted);
        let pairs = counted - accidental;
        let product =
            |source: &SourceSingles| source.overlapping[0] as f64 * source.overlapping[1] as f64;
        let expected = |source: &SourceSingles| match source.overlap as f64 * scale {
            live if live > 0.0 => product(source) * width * source.share(width) / live,
            _ => 0.0,
        };
        let sum = |of: &dyn Fn(&SourceSingles) -> f64| sources.iter().map(of).sum::<f64>();
        let share = |value: f64, of_all: f64| if of_all > 0.0 { value / of_all } else { 0.0 };
        let (all_expected, all_roots) = (sum(&expected), sum(&|source| product(source).sqrt()));
        // For pulsed light, measured accidentals are those of a window as long as the period.
        let width_of = |source: &SourceSingles| match width * source.share(width) {
            width if all_expected > 0.0 => width * accidentals.max(0.0) / all_expected,
            width => width,
        };
        let source = |source: &SourceSingles| {
            let live = source.overlap as f64 * scale;
            let singles = [source.overlapping[0] as f64, source.overlapping[1] as f64];
            let width = width_of(source);
            let in_window = singles.map(|n| if live > 0.0 { n * width / live } else { 0.0 });
            Source {
                singles,
                in_window,
                accidentals: accidental * share(expected(source), all_expected),
                pairs: pairs * share(product(source).sqrt(), all_roots),
            }
        };
        let singles = [0, 1].map(|i| sum(&|source| source.singles[i] as f64));
        let sources = sources.iter().map(source).collect();
        Self { sources, counted, genuine: pairs, singles }
    }

    /// Returns the variance of C − r·Â, with Â = Σ N_a·N_b·Δ/T from the counted singles:
    /// A(1 + η_aη_b) + P + (1−r)²·(A(x+y) + 2P·xy) + 2(1−r)·P(x+y), source by source.
    fn variance(&self, r: f64) -> f64 {
        let of = |source: &Source| {
            let Source { singles: [n_a, n_b], in_window: [x, y], accidentals: a, pairs: p } =
                *source;
            let both =
                if n_a > 0.0 && n_b > 0.0 { (p / n_a).min(1.0) * (p / n_b).min(1.0) } else { 0.0 };
            let left = 1.0 - r;
            a * (1.0 + both)
                + p
                + left * left * (a * (x + y) + 2.0 * p * x * y)
                + 2.0 * left * p * (x + y)
        };
        let poisson =
            self.counted - self.sources.iter().map(|s| s.accidentals + s.pairs).sum::<f64>();
        // Without singles to divide it by, a count is a Poisson number.
        self.sources.iter().map(of).sum::<f64>() + poisson.max(0.0)
    }

    /// Returns the variance of the count.
    pub(super) fn of_count(&self) -> f64 {
        self.variance(0.0)
    }

    /// Returns η_aη_b: the probability that two true pairs as far apart as a shift are both in the count
    /// of +shift and in that of −shift.
    pub(super) fn crosswise(&self) -> f64 {
        let [a, b] = self.singles;
        if a > 0.0 && b > 0.0 {
            (self.genuine / a).min(1.0) * (self.genuine / b).min(1.0)
        } else {
            0.0
        }
    }

    /// Returns the variance of C/Â, times Â².
    pub(super) fn of_ratio(&self, ratio: f64) -> f64 {
        self.variance(ratio).max(0.0)
    }

    /// Returns the variance of (C − Â)/N for the channel `of`, times N²: A(1 + η_aη_b) + P(1 − η), η = P/N.
    pub(super) fn of_excess(&self, of: usize) -> f64 {
        let n = self.singles[of];
        let eta = if n > 0.0 { (self.genuine / n).min(1.0) } else { 0.0 };
        (self.variance(1.0) - eta * self.genuine).max(0.0)
    }

    /// Returns the variance of Â = N_a·N_b·Δ/T due to the singles: A²(1/N_a + 1/N_b + 2P/(N_a·N_b)).
    pub(super) fn of_expectation(&self) -> f64 {
        let of = |source: &Source| {
            let Source { in_window: [x, y], accidentals: a, pairs: p, .. } = *source;
            a * (x + y) + 2.0 * p * x * y
        };
        self.sources.iter().map(of).sum()
    }
}
