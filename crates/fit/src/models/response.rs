//! The response of an instrument to a short pulse.

use crate::{data::Data, error::Error};

/// Bins below this share of the highest one may be background of a response, if they are more than half of all.
const BACKGROUND: f64 = 0.05;

/// The measured response of an instrument to a pulse that is short (IRF): the share of its counts in each bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Start of the first bin.
    first: f64,
    /// Width of the bins.
    width: f64,
    /// The share of each bin.
    shares: Vec<f64>,
}

impl Response {
    /// Makes a response of counts. If more than half of the bins are below 5 % of the highest, the mean of those that are at most
    /// three standard deviations above their median is background, and is subtracted.
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
        let net: Vec<f64> = data.values.iter().map(|value| value - background).collect();
        let sum: f64 = net.iter().sum();
        if sum <= 0.0 {
            return Err(Error::Model("the instrument response is background alone".into()));
        }
        let shares = net.iter().map(|value| value / sum).collect();
        Ok(Self { first: data.ends().0, width, shares })
    }

    /// Returns the width of the bins.
    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// Returns the start of the first bin.
    pub(super) fn first(&self) -> f64 {
        self.first
    }

    /// Returns the number of bins.
    pub(super) fn bins(&self) -> usize {
        self.shares.len()
    }

    /// Returns the mean place.
    pub(super) fn mean(&self) -> f64 {
        let of = |(k, share): (usize, &f64)| (k as f64 + 0.5) * share;
        self.shares.iter().enumerate().map(of).sum::<f64>().mul_add(self.width, self.first)
    }

    /// Returns the bin with the steepest rise.
    pub(super) fn rise(&self) -> f64 {
        self.first + self.width * steepest(&self.shares) as f64
    }

    /// Returns the response moved by so many bins, and the number of its first bin. Between the edges of bins, the sum of all
    /// shares before a place is a cubic through its values at four edges (Catmull–Rom), so that a move by a part of a bin
    /// keeps the sum and hardly widens the response.
    pub(super) fn moved(&self, bins: f64) -> (i64, Vec<f64>) {
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the model")]
        let whole = bins.floor() as i64;
        let part = 1.0 - (bins - bins.floor());
        // The sums at the edges, with two more on each side; an edge of the moved response is `part` after the first of
        // its two middle ones.
        let mut sums = vec![0.0; 4];
        let mut sum = 0.0;
        sums.extend(self.shares.iter().map(|share| {
            sum += share;
            sum
        }));
        sums.extend([sum; 4]);
        let square = part * part;
        let cube = square * part;
        let weights = [
            0.5 * (2.0 * square - cube - part),
            0.5 * (3.0 * cube - 5.0 * square + 2.0),
            0.5 * (4.0 * square - 3.0 * cube + part),
            0.5 * (cube - square),
        ];
        let at = |edges: &[f64]| edges.iter().zip(weights).map(|(sum, by)| sum * by).sum::<f64>();
        let edges: Vec<f64> = sums.windows(4).map(at).collect();
        // The first edge is one bin before the first bin.
        (whole - 1, edges.windows(2).map(|edges| edges[1] - edges[0]).collect())
    }
}

/// Returns the number of the value that is highest above the one before it.
pub(super) fn steepest(values: &[f64]) -> usize {
    let rise = |k: &usize| values[*k] - k.checked_sub(1).map_or(0.0, |before| values[before]);
    (0..values.len()).max_by(|a, b| rise(a).total_cmp(&rise(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Bin, Noise};

    #[test]
    fn a_moved_response_keeps_its_sum_and_moves_its_mean() {
        let values = [0.0, 1.0, 4.0, 9.0, 8.0, 5.0, 2.0, 1.0, 0.0];
        let bins = (0..9).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect();
        let data = Data { bins, values: values.to_vec(), noise: Noise::Poisson, exposure: None };
        let response = Response::new(&data).unwrap();
        for by in [-3.0, -0.5, 0.0, 0.2, 1.0, 2.75] {
            let (start, shares) = response.moved(by);
            let sum: f64 = shares.iter().sum();
            let mean = |of: (usize, &f64)| (start as f64 + of.0 as f64 + 0.5) * of.1;
            let mean: f64 = shares.iter().enumerate().map(mean).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{by}: {sum}");
            assert!((mean - by - response.mean()).abs() < 1e-12, "{by}: {mean}");
        }
        let (start, shares) = response.moved(2.0);
        let third = usize::try_from(2 + 3 - start).unwrap();
        assert!((shares[third] - 9.0 / 30.0).abs() < 1e-12);
    }
}
