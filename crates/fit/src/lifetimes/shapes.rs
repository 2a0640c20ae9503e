//! The shares of the photons in each bin, for many lifetimes.
//!
//! Lifetimes are in steps of a twentieth, on a logarithmic scale; between them, shares are parabolas.

use super::pooled::{FoundResponse, Pooled};
use crate::{data::Data, error::Error, model::Model as _};

/// The shortest lifetime in bins, and the longest in lengths of the decay.
const SHORT: f64 = 0.25;
const LONG: f64 = 2.0;
/// The step of the logarithm of lifetimes.
const STEP: f64 = 0.05;
/// The step of the derivatives.
const SMALL: f64 = 1e-3;
/// The lowest probability of a bin: rounding must not make a photon impossible.
pub(super) const LEAST: f64 = 1e-12;
/// The parts of the background at which a search begins, and the step of lifetimes there, in steps of the table.
const PARTS: [f64; 6] = [0.0, 0.02, 0.08, 0.2, 0.45, 0.8];
const COARSE: usize = 5;

/// The shares of the photons of an exponential in the bins.
#[derive(Debug)]
pub(super) struct Shapes {
    /// The numbers of the bins that are used, in order of the time after the response.
    pub places: Vec<usize>,
    /// Their middles, of those in the next period one period later.
    pub times: Vec<f64>,
    /// The logarithm of the first lifetime.
    pub first: f64,
    /// For each lifetime, the shares of the bins.
    table: Vec<Vec<Share>>,
    /// By how much the shares of a bin fall below zero at most: a measured response that is moved by less than a bin does so
    /// beside its counts, and a share as small as this tells nothing.
    pub doubts: Vec<f64>,
    /// For each lifetime, the mean of the times and of their squares, with their derivatives.
    moments: Vec<[Share; 2]>,
    /// Where a search begins: logarithms of lifetimes and parts of the background.
    pub starts: Vec<(f64, f64)>,
    /// For each bin the logarithm of its probability at each start.
    pub logs: Vec<Vec<f32>>,
    /// The period of the pulses.
    pub period: Option<f64>,
}

/// A number that follows from a lifetime, as the share of a bin, and its first two derivatives by the logarithm.
pub(super) type Share = [f64; 3];

impl Shapes {
    /// Makes the table of lifetimes for the decay of all together.
    pub fn new(data: &Data, pooled: &Pooled, period: Option<f64>) -> Result<Self, Error> {
        let width = data.width()?;
        let (from, to) = data.ends();
        let predict = |tau: f64| {
            let mut shares = vec![0.0; data.bins.len()];
            pooled.model.predict(&pooled.photon(tau), &data.bins, &mut shares)?;
            Ok::<_, Error>(shares)
        };
        // The shares are lowest before the rise.
        let rotation = if period.is_some() {
            let shares = predict((to - from) / 8.0)?;
            (0..shares.len()).min_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0)
        } else {
            0
        };
        let time = |place: usize| {
            let next = if place < rotation { period.unwrap_or(0.0) } else { 0.0 };
            data.bins[place].middle() + next
        };
        let is_used = |place: &usize| match pooled.found {
            FoundResponse::Tail { from, to } => {
                let after = time(*place) - from - width / 2.0;
                let after = period.map_or(after, |period| after.rem_euclid(period));
                (0.0..=to - from - width).contains(&after)
            }
            FoundResponse::Gaussian { .. } | FoundResponse::Measured { .. } => true,
        };
        let order = (rotation..data.bins.len()).chain(0..rotation);
        let places: Vec<usize> = order.filter(is_used).collect();
        // A lifetime, a background and a value to compare.
        if places.len() < 3 {
            return Err(Error::TooFewBins { bins: places.len(), parameters: 2 });
        }
        let mut doubts = vec![0.0_f64; places.len()];
        let mut shares = |log: f64| {
            let shares = predict(libm::exp(log))?;
            for (doubt, &place) in doubts.iter_mut().zip(&places) {
                *doubt = doubt.max(-shares[place]);
            }
            let shares: Vec<f64> = places.iter().map(|&place| shares[place].max(0.0)).collect();
            let sum: f64 = shares.iter().sum();
            Ok::<_, Error>(shares.into_iter().map(|share| share / sum).collect::<Vec<_>>())
        };
        let (first, last) = (libm::log(SHORT * width), libm::log(LONG * (to - from)));
        let mut table = Vec::new();
        let mut log = first;
        while log <= last {
            let [below, at, above] = [shares(log - SMALL)?, shares(log)?, shares(log + SMALL)?];
            let each = below.iter().zip(&at).zip(&above).map(|((below, at), above)| {
                let slope = (above - below) / (2.0 * SMALL);
                [*at, slope, (above - 2.0 * at + below) / (SMALL * SMALL)]
            });
            table.push(each.collect());
            log = first + STEP * table.len() as f64;
        }
        let times: Vec<f64> = places.iter().map(|&place| time(place)).collect();
        let moment = |of: &[Share], power: i32| {
            let each = of.iter().zip(&times).map(|(of, time)| of.map(|of| of * time.powi(power)));
            each.fold([0.0; 3], |sum, of| std::array::from_fn(|at| sum[at] + of[at]))
        };
        let moments =
            table.iter().map(|of: &Vec<Share>| [1, 2].map(|power| moment(of, power))).collect();
        let (starts, logs) = (Vec::new(), Vec::new());
        let mut shapes =
            Self { places, times, first, table, doubts, moments, starts, logs, period };
        let logs = (0..shapes.table.len()).step_by(COARSE).map(|at| first + STEP * at as f64);
        shapes.starts = logs.flat_map(|log| PARTS.map(|part| (log, part))).collect();
        shapes.logs = (0..shapes.len())
            .map(|bin| {
                let of = |&(log, part): &(f64, f64)| {
                    let share = shapes.shares(log).share(bin);
                    #[expect(clippy::cast_possible_truncation, reason = "a start needs no digits")]
                    let log = libm::log(shapes.mixed(share, part)) as f32;
                    log
                };
                shapes.starts.iter().map(of).collect()
            })
            .collect();
        Ok(shapes)
    }

    /// Returns the number of bins.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the logarithm of the longest lifetime.
    pub fn last(&self) -> f64 {
        STEP.mul_add((self.table.len() - 1) as f64, self.first)
    }

    /// Returns the shares of the bins for the logarithm of a lifetime.
    pub fn shares(&self, log: f64) -> Shares<'_> {
        let (at, off) = self.nearest(log);
        Shares { nearest: &self.table[at], off }
    }

    /// Returns the mean of the times of an exponential, and that of their squares.
    pub fn moments(&self, log: f64) -> [Share; 2] {
        let (at, off) = self.nearest(log);
        self.moments[at].map(|moment| near(moment, off))
    }

    /// Returns the mean of the times of the background, and that of their squares.
    pub fn flat_moments(&self) -> [f64; 2] {
        [1, 2].map(|power| {
            self.times.iter().map(|time| time.powi(power)).sum::<f64>() / self.len() as f64
        })
    }

    /// Returns the probability of a bin with this part of background.
    pub fn mixed(&self, share: f64, part: f64) -> f64 {
        (share + part * (1.0 / self.len() as f64 - share)).max(LEAST)
    }

    /// Returns the number of the nearest lifetime of the table, and how far it is away.
    fn nearest(&self, log: f64) -> (usize, f64) {
        let steps = ((log - self.first) / STEP).round().clamp(0.0, (self.table.len() - 1) as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in the table")]
        let at = steps as usize;
        (at, STEP.mul_add(-steps, log - self.first))
    }

    /// Returns the bins with photons, and these.
    pub fn seen(&self, counts: &[f64]) -> Vec<(usize, f64)> {
        let of = |(bin, &place): (usize, &usize)| (bin, counts[place]);
        self.places.iter().enumerate().map(of).filter(|(_, count)| *count > 0.0).collect()
    }
}

/// The shares of the bins for one lifetime.
#[derive(Clone, Copy)]
pub(super) struct Shares<'a> {
    /// Those of the nearest lifetime of the table, and how far it is away.
    nearest: &'a [Share],
    off: f64,
}

impl Shares<'_> {
    /// Returns the share of a bin.
    #[inline]
    pub fn share(self, bin: usize) -> f64 {
        let [value, slope, curve] = self.nearest[bin];
        value + self.off * (slope + self.off / 2.0 * curve)
    }

    /// Returns the share of a bin and its derivatives by the logarithm of the lifetime.
    #[inline]
    pub fn with_slopes(self, bin: usize) -> Share {
        near(self.nearest[bin], self.off)
    }
}

/// Returns a number at a distance from the place where its value and derivatives are known.
fn near([value, slope, curve]: Share, off: f64) -> Share {
    // Without a fused multiplication, which is a call where the processor is not known to have it.
    [value + off * (slope + off / 2.0 * curve), slope + off * curve, curve]
}
