//! Light of known truth, drawn photon by photon: it shares no code with the models.

use tagq_fit::{Bin, Data, Noise};

/// Random numbers (SplitMix64), enough for tests.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, without both.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    pub(crate) fn gaussian(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A Poisson number: the count of exponential intervals until they exceed the mean.
    pub(crate) fn poisson(&mut self, mean: f64) -> f64 {
        if mean > 700.0 {
            // A sum of independent parts.
            return self.poisson(mean / 2.0) + self.poisson(mean / 2.0);
        }
        let (mut sum, mut count) = (self.exponential(1.0), 0.0);
        while sum < mean {
            sum += self.exponential(1.0);
            count += 1.0;
        }
        count
    }
}

/// Returns equal bins.
pub(crate) fn bins(from: f64, width: f64, count: usize) -> Vec<Bin> {
    let edge = |k: usize| width.mul_add(k as f64, from);
    (0..count).map(|k| Bin { from: edge(k), to: edge(k + 1) }).collect()
}

/// Returns the counts of these places.
pub(crate) fn histogram(bins: Vec<Bin>, places: impl Iterator<Item = f64>) -> Data {
    let (first, width) = (bins[0].from, bins[0].width());
    let mut values = vec![0.0; bins.len()];
    for place in places {
        let at = ((place - first) / width).floor();
        if at >= 0.0 && at < bins.len() as f64 {
            values[at as usize] += 1.0;
        }
    }
    Data { bins, values, noise: Noise::Poisson, exposure: None }
}

/// Draws the photons of a decay: which exponential by its share of the photons, the response from a Gaussian with a tail, folded
/// by the period.
pub(crate) fn decay_photon(
    random: &mut Random,
    taus: &[(f64, f64)],
    response: &dyn Fn(&mut Random) -> f64,
    period: f64,
) -> f64 {
    let mut share = random.uniform();
    let mut tau = taus[0].1;
    for &(part, of) in taus {
        tau = of;
        if share < part {
            break;
        }
        share -= part;
    }
    let place = response(random) + random.exponential(tau);
    place.rem_euclid(period)
}

/// A detector with a jitter of 0.08 around 2.0, and a slow tail in a fifth of all cases.
pub(crate) fn detector(random: &mut Random) -> f64 {
    let place = 0.08f64.mul_add(random.gaussian(), 2.0);
    if random.uniform() < 0.2 { place + random.exponential(0.25) } else { place }
}

/// Draws a Poisson number at each place of a scan.
pub(crate) fn scanned(
    random: &mut Random,
    count: usize,
    step: f64,
    mean: &dyn Fn(f64) -> f64,
) -> Data {
    let places: Vec<f64> = (0..count).map(|k| step * (k as f64 - (count / 2) as f64)).collect();
    let values = places.iter().map(|&place| random.poisson(mean(place))).collect();
    let bins = places.iter().map(|&place| Bin { from: place, to: place }).collect();
    Data { bins, values, noise: Noise::Poisson, exposure: None }
}
