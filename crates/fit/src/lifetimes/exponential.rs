//! The likeliest lifetime and part of the background of a decay.
//!
//! 20 photons: the likelihood of 150 pairs of a lifetime and a part of the background is compared, and Newton's method
//! goes on from the best. Each step is halved until the likelihood is not lower.

use super::shapes::{Shapes, Share};

/// The most steps of a search, and halvings of a step.
const STEPS: usize = 50;
const HALVINGS: usize = 12;
/// The longest step of the logarithm of a lifetime.
const STEP_MAX: f64 = 0.7;
/// A step so short is the last one.
const SHORT: f64 = 1e-5;
/// The largest part of the background.
const PART_MAX: f64 = 0.95;

/// An exponential over a background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialLifetime {
    /// The lifetime, in the unit of the axis.
    pub tau: f64,
    /// The part of the photons that are background.
    pub background: f64,
    /// Whether the lifetime is the shortest or the longest one that was looked for.
    pub is_at_bound: bool,
}

/// A bin with photons: its number and these.
pub(super) type Seen = (usize, f64);

/// The logarithm of the likelihood, and its first two derivatives.
struct Likelihood {
    log: f64,
    slope: [f64; 2],
    /// Minus the second derivatives, or an estimate of them that a maximum has.
    curvature: [f64; 3],
}

impl Shapes {
    /// Returns the likeliest exponential; `None` without photons.
    pub fn likeliest(&self, seen: &[Seen]) -> Option<ExponentialLifetime> {
        let (mut log, mut part) = self.start(seen)?;
        let (first, last) = (self.first, self.last());
        let mut here = self.likelihood(seen, log, part);
        for _ in 0..STEPS {
            let Likelihood { slope, curvature, .. } = here;
            let is_held = [
                log <= first && slope[0] < 0.0 || log >= last && slope[0] > 0.0,
                part <= 0.0 && slope[1] < 0.0 || part >= PART_MAX && slope[1] > 0.0,
            ];
            let [by_log, by_both, by_part] = curvature;
            let step = match is_held {
                [false, false] => {
                    let det = by_log * by_part - by_both * by_both;
                    [
                        (by_part * slope[0] - by_both * slope[1]) / det,
                        (by_log * slope[1] - by_both * slope[0]) / det,
                    ]
                }
                [false, true] => [slope[0] / by_log, 0.0],
                [true, false] => [0.0, slope[1] / by_part],
                [true, true] => break,
            };
            if !step.iter().all(|step| step.is_finite()) {
                break;
            }
            let to = |factor: f64| {
                let to = (step[0] * factor + log, step[1] * factor + part);
                (to.0.clamp(first, last), to.1.clamp(0.0, PART_MAX))
            };
            let mut factor = (STEP_MAX / step[0].abs()).min(1.0);
            let next = to(factor);
            if (next.0 - log).abs() + (next.1 - part).abs() < SHORT {
                (log, part) = next;
                break;
            }
            let mut better = None;
            for _ in 0..HALVINGS {
                let (log, part) = to(factor);
                let there = self.likelihood(seen, log, part);
                if there.log >= here.log {
                    better = Some(((log, part), there));
                    break;
                }
                factor /= 2.0;
            }
            let Some((at, there)) = better else { break };
            ((log, part), here) = (at, there);
        }
        let is_at_bound = log <= first || log >= last;
        Some(ExponentialLifetime { tau: libm::exp(log), background: part, is_at_bound })
    }

    /// Returns the variance of the logarithm of a lifetime by one photon, if the background is not known; `None` if it
    /// determines nothing.
    pub fn variance(&self, of: &ExponentialLifetime) -> Option<f64> {
        let (log, part) = (libm::log(of.tau), of.background);
        let [mut by_log, mut by_both, mut by_part] = [0.0; 3];
        let shares = self.shares(log);
        for bin in 0..self.len() {
            let share = shares.with_slopes(bin);
            let [of_log, of_part] = self.gradient(share, part);
            let probability = self.mixed(share[0], part) + self.doubts[bin];
            by_log += of_log * of_log / probability;
            by_both += of_log * of_part / probability;
            by_part += of_part * of_part / probability;
        }
        let variance = by_part / (by_log * by_part - by_both * by_both);
        (variance > 0.0 && variance.is_finite()).then_some(variance)
    }

    /// Returns the best one of the starts.
    fn start(&self, seen: &[Seen]) -> Option<(f64, f64)> {
        if seen.is_empty() {
            return None;
        }
        let mut sums = vec![0.0_f32; self.starts.len()];
        for &(bin, count) in seen {
            #[expect(clippy::cast_possible_truncation, reason = "a start needs no digits")]
            let count = count as f32;
            sums.iter_mut().zip(&self.logs[bin]).for_each(|(sum, log)| *sum += count * log);
        }
        let best = (0..sums.len()).max_by(|a, b| sums[*a].total_cmp(&sums[*b]))?;
        Some(self.starts[best])
    }

    /// Returns the derivatives of the probability of a bin by the logarithm of the lifetime and by the background.
    fn gradient(&self, share: Share, part: f64) -> [f64; 2] {
        [(1.0 - part) * share[1], 1.0 / self.len() as f64 - share[0]]
    }

    fn likelihood(&self, seen: &[Seen], log: f64, part: f64) -> Likelihood {
        let (mut of, mut slope) = (0.0, [0.0; 2]);
        // The sums of the products of slopes, and those of the second derivatives.
        let (mut products, mut bent) = ([0.0; 3], [0.0; 2]);
        let shares = self.shares(log);
        for &(bin, count) in seen {
            let share = shares.with_slopes(bin);
            let [of_log, of_part] = self.gradient(share, part);
            let probability = self.mixed(share[0], part);
            of += count * libm::log(probability);
            let each = 1.0 / probability;
            let weight = count * each;
            slope[0] += weight * of_log;
            slope[1] += weight * of_part;
            products[0] += weight * each * of_log * of_log;
            products[1] += weight * each * of_log * of_part;
            products[2] += weight * each * of_part * of_part;
            bent[0] += weight * (1.0 - part) * share[2];
            bent[1] += weight * share[1];
        }
        let exact = [products[0] - bent[0], products[1] + bent[1], products[2]];
        let is_maximum = exact[0] > 0.0 && exact[0] * exact[2] > exact[1] * exact[1];
        Likelihood { log: of, slope, curvature: if is_maximum { exact } else { products } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Bin, Data, Noise},
        lifetimes::{Lifetimes, ResponseOf},
        models::Response,
    };

    /// The variance of t/τ − 1 is 1, and a response, a period and bins only hide some of it.
    #[test]
    fn no_photon_tells_more_than_its_time() {
        let bins: Vec<Bin> =
            (0..250).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect();
        let data = |values: Vec<f64>| Data {
            bins: bins.clone(),
            values,
            noise: Noise::Poisson,
            exposure: None,
        };
        // It rises within a bin, and has single counts after gaps.
        let mut response = vec![0.0; 250];
        response[18..24].copy_from_slice(&[1.0, 8_000.0, 50_000.0, 9_000.0, 300.0, 20.0]);
        for bin in [30, 37, 50] {
            response[bin] = 1.0;
        }
        let decay = |bin: usize| libm::floor(1e5 * libm::exp(((bin + 230) % 250) as f64 / -25.0));
        let pooled = data((0..250).map(decay).collect());
        let response = ResponseOf::Measured(Box::new(Response::new(&data(response)).unwrap()));
        let all = Lifetimes::new(&pooled, 1.0, &response, Some(250.0), &|| false).unwrap();
        let mut log = all.shapes.first;
        while log < all.shapes.last() {
            let of =
                ExponentialLifetime { tau: libm::exp(log), background: 0.0, is_at_bound: false };
            let variance = all.shapes.variance(&of).unwrap();
            assert!(variance > 0.99, "{}: {variance}", of.tau);
            log += 1e-3;
        }
    }
}
