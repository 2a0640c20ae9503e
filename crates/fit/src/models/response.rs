//! The response of an instrument to a short pulse.
//!
//! Counts of 1, 2 and 1 are shares of ¼, ½ and ¼. A response can be moved by less than a bin; its sum stays 1 and its
//! mean moves by the shift.

use rand_distr::{Distribution, Poisson};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::{
    data::{Bin, Data},
    error::Error,
};

/// Bins below this share of the highest one may be background of a response, if they are more than half of all.
const BACKGROUND: f64 = 0.05;

/// Parts of a bin in which the density of a response is taken as constant.
const PARTS: usize = 8;
/// Edges whose sums determine the counts of a bin between them.
const TAPS: usize = 5;
/// Bins without counts on either side of a response, into which a cubic through sums reaches.
const MARGIN: usize = 3;

/// The measured response of an instrument to a pulse that is short (IRF): the share of its counts in each bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The measured counts.
    measured: Data,
    /// Start of the first bin.
    first: f64,
    /// Width of the bins.
    width: f64,
    /// The sum of the shares of all bins before each edge, with [`MARGIN`] edges more on either side.
    sums: Vec<f64>,
}

impl Response {
    /// Makes a response of counts. If more than half of the bins are below 5 % of the highest, the mean of those that
    /// are at most three standard deviations above their median is background, and is subtracted; no bin is less than
    /// zero then.
    ///
    /// # Errors
    /// [`Error::Model`] if it has no counts, [`Error::UnequalBins`].
    pub fn new(data: &Data) -> Result<Self, Error> {
        data.check()?;
        let width = data.width()?;
        let highest = data.values.iter().copied().fold(0.0, f64::max);
        if highest <= 0.0 {
            return Err(Error::Model("the instrument response has no counts".into()));
        }
        let low = data.values.iter().copied().filter(|&value| value < BACKGROUND * highest);
        let mut low: Vec<f64> = low.collect();
        low.sort_by(f64::total_cmp);
        let mut background = 0.0;
        if 2 * low.len() > data.values.len() {
            let median = low[low.len() / 2];
            // A slow tail of the response is not background.
            low.retain(|value| *value <= 3.0f64.mul_add((median + 1.0).sqrt(), median));
            background = low.iter().sum::<f64>() / low.len() as f64;
        }
        let net: Vec<f64> = data.values.iter().map(|value| (value - background).max(0.0)).collect();
        let total: f64 = net.iter().sum();
        let mut sums = vec![0.0; MARGIN + 1];
        let mut sum = 0.0;
        sums.extend(net.iter().map(|value| {
            sum += value / total;
            sum
        }));
        sums.extend([sum; MARGIN]);
        Ok(Self { measured: data.clone(), first: data.ends().0, width, sums })
    }

    /// Returns the response with Poisson numbers of its counts in place of them; `None` if its values are no counts.
    pub(super) fn redrawn(&self, seed: u64) -> Option<Self> {
        let counts = &self.measured.values;
        if counts.iter().any(|count| count.fract() != 0.0) {
            return None;
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let drawn = counts
            .iter()
            .map(|&count| Poisson::new(count).map_or(0.0, |counts| counts.sample(&mut random)));
        Self::new(&Data { values: drawn.collect(), ..self.measured.clone() }).ok()
    }

    /// Returns the width of the bins.
    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// Returns the number of bins.
    pub(super) fn bins(&self) -> usize {
        self.measured.bins.len()
    }

    /// Iterates over the shares of the bins.
    fn shares(&self) -> impl Iterator<Item = f64> {
        self.sums[MARGIN..].windows(2).take(self.bins()).map(|edges| edges[1] - edges[0])
    }

    /// Returns the mean place.
    pub(super) fn mean(&self) -> f64 {
        let of = |(k, share): (usize, f64)| (k as f64 + 0.5) * share;
        self.shares().enumerate().map(of).sum::<f64>().mul_add(self.width, self.first)
    }

    /// Returns the start of the bin with the steepest rise.
    pub(super) fn rise(&self) -> f64 {
        self.first + self.width * steepest(&self.shares().collect::<Vec<_>>()) as f64
    }

    /// Adds an exponential of this number of photons, convolved with the response that is moved by `shift`, to the
    /// values of bins of the same width; with a period also those of all other pulses. Between the edges of bins, the
    /// sum of all shares before a place is a cubic through its values at four edges (Catmull–Rom): so a response is
    /// resolved, and moved, by less than a bin.
    pub(super) fn add_exponential(
        &self,
        (photons, tau, shift): (f64, f64, f64),
        period: Option<f64>,
        bins: &[Bin],
        values: &mut [f64],
    ) {
        let width = self.width;
        // The first edge of the bins, in bins of the response.
        let moved = (bins[0].from - self.first - shift) / width;
        let lap = period.map_or(0.0, |period| (period / width).round());
        #[expect(clippy::cast_possible_truncation, reason = "offsets of bins in memory")]
        let [whole, lap] = [moved.floor(), lap].map(|of| of as i64);
        let taps = cubic_taps(moved - moved.floor());
        // The share of the photons of a part of a bin that is emitted after the bin.
        let part = width / PARTS as f64;
        let left = -libm::expm1(-part / tau) * tau / part;
        let stays = |at: usize| left * libm::exp(-((PARTS - 1 - at) as f64) * part / tau);
        let (mut decay, mut stay) = ([0.0; TAPS], [0.0; TAPS]);
        for (at, taps) in taps.iter().enumerate() {
            for tap in 0..TAPS {
                stay[tap] += taps[tap] * stays(at);
                decay[tap] += taps[tap] * (1.0 - stays(at));
            }
        }
        let (keep, lost) = (libm::exp(-width / tau), -libm::expm1(-width / tau));
        let by = |sums: &[f64], taps: [f64; TAPS]| {
            sums.iter().zip(taps).map(|(sum, tap)| sum * tap).sum::<f64>()
        };
        // The photons that are not yet emitted at the start of bin `at`, the first one that the response reaches.
        let (mut excited, mut at) = (0.0, -2 - whole);
        let place = |at: i64| match at {
            at if lap > 0 && at < 0 => at + lap,
            at if lap > 0 && at >= lap => at - lap,
            at => at,
        };
        let mut add = |at: i64, value: f64| {
            if let Some(of) = usize::try_from(at).ok().and_then(|at| values.get_mut(at)) {
                *of += photons * value;
            }
        };
        for sums in self.sums.windows(TAPS) {
            add(place(at), f64::mul_add(excited, lost, by(sums, decay)));
            excited = f64::mul_add(excited, keep, by(sums, stay));
            at += 1;
        }
        // After the response the rest is emitted, and so is the rest of earlier pulses.
        let since = |bins: i64, periods: f64| libm::exp(-(bins as f64 * width + periods) / tau);
        let mut decaying = |from: i64, excited: f64| {
            let mut left = photons * excited * lost;
            for value in values.iter_mut().skip(usize::try_from(from).unwrap_or(0)) {
                *value += left;
                left *= keep;
            }
        };
        decaying(at, excited * since((-at).max(0), 0.0));
        if let Some(period) = period {
            let all = -libm::expm1(-period / tau);
            // Of the pulse before, the bins after the end of its response; of earlier ones, all.
            let from = (at - lap).max(0);
            decaying(from, excited * since(from - at, period));
            decaying(0, excited * since(-at, 2.0 * period) / all);
        }
    }
}

/// Returns the counts in each part of a bin that begins `begin` of a bin after an edge, as weights of the sums at the
/// edge before that one and the next four.
fn cubic_taps(begin: f64) -> [[f64; TAPS]; PARTS] {
    let sum = |part: usize| {
        let place = begin + part as f64 / PARTS as f64;
        let first = usize::from(place >= 1.0);
        let place = place - first as f64;
        let square = place * place;
        let cube = square * place;
        let mut taps = [0.0; TAPS];
        taps[first] = 0.5 * (2.0 * square - cube - place);
        taps[first + 1] = 0.5 * (3.0 * cube - 5.0 * square + 2.0);
        taps[first + 2] = 0.5 * (4.0 * square - 3.0 * cube + place);
        taps[first + 3] = 0.5 * (cube - square);
        taps
    };
    std::array::from_fn(|part| {
        let (before, after) = (sum(part), sum(part + 1));
        std::array::from_fn(|tap| after[tap] - before[tap])
    })
}

/// Returns the number of the value that is highest above the one before it.
pub(super) fn steepest(values: &[f64]) -> usize {
    let rise = |k: &usize| values[*k] - k.checked_sub(1).map_or(0.0, |before| values[before]);
    (0..values.len()).max_by(|a, b| rise(a).total_cmp(&rise(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Noise;

    #[test]
    fn a_moved_response_keeps_its_sum_and_moves_its_mean() {
        let values = [0.0, 1.0, 4.0, 9.0, 8.0, 5.0, 2.0, 1.0, 0.0];
        let bins = (0..9).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect();
        let data = Data { bins, values: values.to_vec(), noise: Noise::Poisson, exposure: None };
        let response = Response::new(&data).unwrap();
        let moved = |by: f64| {
            let bins: Vec<Bin> =
                (-10..30).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect();
            let mut values = vec![0.0; bins.len()];
            // So short a lifetime leaves the response as it is.
            response.add_exponential((1.0, 1e-6, by), None, &bins, &mut values);
            values
        };
        for by in [-3.0, -0.5, 0.0, 0.2, 1.0, 2.75] {
            let shares = moved(by);
            let sum: f64 = shares.iter().sum();
            let mean = |of: (usize, &f64)| (of.0 as f64 - 9.5) * of.1;
            let mean: f64 = shares.iter().enumerate().map(mean).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{by}: {sum}");
            assert!((mean - by - response.mean()).abs() < 1e-5, "{by}: {mean}");
        }
        assert!((moved(2.0)[10 + 2 + 3] - 9.0 / 30.0).abs() < 1e-5);
    }

    /// All pulses before the bins, added one by one, are what a period adds.
    #[test]
    fn a_period_adds_all_other_pulses() {
        let values = [1.0, 0.0, 4.0, 9.0, 8.0, 5.0, 2.0, 1.0, 3.0, 2.0];
        let bins: Vec<Bin> =
            (0..10).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect();
        let data = Data {
            bins: bins.clone(),
            values: values.to_vec(),
            noise: Noise::Poisson,
            exposure: None,
        };
        let response = Response::new(&data).unwrap();
        for (tau, shift, from) in [(0.3, 0.0, 0), (2.0, 1.7, 0), (30.0, -2.2, 0), (4.0, 2.4, 3)] {
            let of = |period: Option<f64>, shift: f64| {
                let mut values = vec![0.0; 10 - from];
                response.add_exponential((1.0, tau, shift), period, &bins[from..], &mut values);
                values
            };
            let folded = of(Some(10.0), shift);
            let mut summed = vec![0.0; 10 - from];
            for pulse in -1..200 {
                let one = of(None, f64::from(pulse).mul_add(-10.0, shift));
                summed.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
            }
            for (folded, summed) in folded.iter().zip(&summed) {
                assert!((folded - summed).abs() < 1e-9, "{tau} {shift}: {folded} {summed}");
            }
        }
    }
}
