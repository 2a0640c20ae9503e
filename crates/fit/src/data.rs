//! The values that a model is fitted to.
//!
//! A bin from 0 to 2 with 9 counts and an exposure of 3: the mean of the model over 0 to 2, times 3, is compared with
//! 9. The exposure is part of the prediction; counts are never divided before a fit, because then they would not be
//! Poisson numbers.

use crate::error::Error;

/// The interval of the axis over which the model is averaged for a value; a point if both ends are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Start.
    pub from: f64,
    /// End.
    pub to: f64,
}

/// How the values scatter around the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Noise {
    /// Values are counts.
    Poisson,
    /// Values have these standard errors.
    Normal(Vec<f64>),
    /// Values are counts that scatter more than Poisson counts, or together: a row of covariances with all values for
    /// each value, or its variance alone.
    Covariance(Vec<Vec<f64>>),
    /// Values are counts, and the sum of (n − m)² / m is minimised in place of the deviance. Biased for few counts; for
    /// comparison with programs that fit in this way.
    Pearson,
}

/// The values that a model is fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// The bins, in order of the axis.
    pub bins: Vec<Bin>,
    /// One value per bin.
    pub values: Vec<f64>,
    /// How the values scatter.
    pub noise: Noise,
    /// The factor between the model and the value of each bin, such as the counts expected by chance; 1 if `None`.
    pub exposure: Option<Vec<f64>>,
}

impl Noise {
    /// Returns the standard error that is stated of a value, in its unit; `None` for counts, whose error follows from
    /// their mean.
    pub fn err(&self, bin: usize) -> Option<f64> {
        match self {
            Self::Normal(errors) => errors.get(bin).copied(),
            Self::Covariance(rows) => {
                let row = rows.get(bin)?;
                let variance = if row.len() == 1 { row.first() } else { row.get(bin) };
                variance.copied().map(f64::sqrt)
            }
            Self::Poisson | Self::Pearson => None,
        }
    }
}

impl Bin {
    /// Returns the middle.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }

    /// Returns the width.
    pub fn width(&self) -> f64 {
        self.to - self.from
    }
}

impl Data {
    /// Returns the bins between two places, by their middles, with their values. Places at either end belong to it.
    ///
    /// # Errors
    /// [`Error::Empty`] if there is none.
    pub fn between(&self, from: f64, to: f64) -> Result<Self, Error> {
        // A place is a bin without width; the last one belongs to the range.
        let is_inside = |bin: &Bin| {
            (from..to).contains(&bin.middle())
                || (bin.width() <= 0.0 && bin.from <= to && bin.from >= from)
        };
        let kept: Vec<usize> = (0..self.bins.len()).filter(|&k| is_inside(&self.bins[k])).collect();
        self.only(&kept)
    }

    /// Returns these bins with their values.
    ///
    /// # Errors
    /// [`Error::Empty`] if there is none.
    pub(crate) fn only(&self, kept: &[usize]) -> Result<Self, Error> {
        let of = |values: &[f64]| kept.iter().map(|&k| values[k]).collect::<Vec<_>>();
        if kept.is_empty() {
            return Err(Error::Empty);
        }
        Ok(Self {
            bins: kept.iter().map(|&k| self.bins[k]).collect(),
            values: of(&self.values),
            noise: match &self.noise {
                Noise::Normal(errors) => Noise::Normal(of(errors)),
                Noise::Covariance(rows) => {
                    let row = |&k: &usize| match &rows[k][..] {
                        [variance] => vec![*variance],
                        row => of(row),
                    };
                    Noise::Covariance(kept.iter().map(row).collect())
                }
                noise => noise.clone(),
            },
            exposure: self.exposure.as_deref().map(of),
        })
    }

    /// Returns the factor between the model and the value of a bin.
    pub fn exposure(&self, bin: usize) -> f64 {
        self.exposure.as_ref().map_or(1.0, |exposure| exposure[bin])
    }

    /// Returns the values divided by their exposure, as a model predicts them. Bins without exposure have none.
    pub fn ratios(&self) -> impl Iterator<Item = (Bin, f64)> {
        let of = |k: usize| (self.bins[k], self.values[k] / self.exposure(k));
        (0..self.bins.len()).map(of).filter(|(_, value)| value.is_finite())
    }

    /// Returns the start of the first bin and the end of the last one.
    pub fn ends(&self) -> (f64, f64) {
        (self.bins[0].from, self.bins[self.bins.len() - 1].to)
    }

    /// Returns the width of the bins.
    ///
    /// # Errors
    /// [`Error::UnequalBins`] if their widths differ, or if they have gaps between them.
    pub fn width(&self) -> Result<f64, Error> {
        let (first, last) = self.ends();
        let width = (last - first) / self.bins.len() as f64;
        let is_at = |(k, bin): (usize, &Bin)| {
            let from = width.mul_add(k as f64, first);
            (bin.from - from).abs() < 1e-3 * width && (bin.width() - width).abs() < 1e-3 * width
        };
        if width > 0.0 && self.bins.iter().enumerate().all(is_at) {
            return Ok(width);
        }
        Err(Error::UnequalBins)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let bins = self.bins.len();
        let is_error = |error: &f64| *error > 0.0 && error.is_finite();
        let errors = match &self.noise {
            Noise::Normal(errors) if !errors.iter().all(is_error) => return Err(Error::NoErrors),
            Noise::Normal(errors) => errors.len(),
            Noise::Covariance(rows) => {
                let is_whole = |(k, row): (usize, &Vec<f64>)| {
                    let err = self.noise.err(k);
                    [1, bins].contains(&row.len()) && err.as_ref().is_some_and(is_error)
                };
                if !rows.iter().enumerate().all(is_whole) {
                    return Err(Error::NoErrors);
                }
                rows.len()
            }
            Noise::Poisson | Noise::Pearson => bins,
        };
        let exposures = self.exposure.as_ref().map_or(bins, Vec::len);
        if bins == 0 {
            return Err(Error::Empty);
        }
        if self.values.len() != bins || errors != bins || exposures != bins {
            return Err(Error::Lengths { bins, values: self.values.len() });
        }
        let is_defined = |value: &f64| value.is_finite();
        let exposures = self.exposure.iter().flatten();
        if !self.values.iter().chain(exposures).all(is_defined) {
            return Err(Error::NotFinite);
        }
        if !matches!(self.noise, Noise::Normal(_)) && self.values.iter().any(|&value| value < 0.0) {
            return Err(Error::NegativeCounts);
        }
        Ok(())
    }
}
