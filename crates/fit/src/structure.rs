//! Tests whether data have the structure of a model, such as a dip, or are described as well without it.
//!
//! A likelihood ratio of 9 at the only possible place is 3 standard deviations. If a dip is searched at many places,
//! chance gives such a ratio at one of them more often: data without the structure are simulated to find how often.

use std::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};
use rand_distr::{Distribution, Poisson, StandardNormal};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::{
    data::{Data, Noise},
    error::Error,
    estimate::{
        CLEAR, Estimate, FOUND, Fitted, Search, Settings, Significance, minimised, most_likely,
    },
    information::measured_offsets,
    model::{Model, Parameter, Structure},
    problem::{Problem, Stop},
    residual::{expected_deviance, variance},
    special::log_erfc,
};

/// The likelihood ratio of an upper limit at 95 %: the square of 1.645 standard deviations.
const LIMIT: f64 = 2.706;
/// The probability of a value more than one standard deviation below the mean.
const BELOW: f64 = 0.158_655;
/// A fit also finds places between those of the list: for the bound, each place counts this many times.
const BETWEEN: f64 = 3.0;
/// Bins of a simulation; more are merged.
const BINS_MAX: usize = 512;
/// The fewest and the most simulations, and the number of products that decides between them.
const SIMULATIONS: (usize, usize) = (300, 1000);
const PRODUCTS: usize = 100_000_000;
/// Simulations at once.
const AT_ONCE: usize = 100;
/// Simulations above the data that give a probability by their number alone.
const ENOUGH: usize = 10;
/// The part of the simulations from which the probability of rarer ones follows.
const TAIL: f64 = 0.05;
/// A structure that nuisance parameters describe up to this part cannot be seen.
const HIDDEN: f64 = 1e-4;

/// A structure that the data do not have.
pub(crate) struct Absent {
    structure: Structure,
    fitted: Fitted,
    significance: Significance,
    settings: Settings,
}

/// Tests the structure of a fitted model; continues with the model without it if that describes the data as well.
pub(crate) fn tested(
    model: &dyn Model,
    data: &Data,
    settings: &Settings,
    fitted: Fitted,
    stop: Stop<'_>,
) -> Result<ControlFlow<Fitted, Absent>, Error> {
    let parameters = model.parameters(data);
    let is_fixed = |of: usize| settings.fixed.iter().any(|(name, _)| *name == parameters[of].name);
    let merged = merged(data);
    let Some(structure) = model.structure(&merged).filter(|of| !is_fixed(of.amplitude)) else {
        return Ok(ControlFlow::Break(fitted));
    };
    let null_parameters = structure.null.parameters(data);
    let of_null = |(name, value): &(String, f64)| {
        let at = parameters.iter().position(|of| of.name == *name)?;
        let (_, null) = structure.shared.iter().find(|(of, _)| *of == at)?;
        Some((null_parameters[*null].name.clone(), *value))
    };
    let fixed = settings.fixed.iter().filter_map(of_null).collect();
    let null_settings = Settings { fixed, start: Vec::new(), ..settings.clone() };
    let null = most_likely(&*structure.null, data, &null_settings, stop)?;
    let search = StructureSearch {
        model,
        data,
        settings,
        parameters: &parameters,
        structure: &structure,
        stop,
    };
    let likelihood_ratio = (null.deviance - fitted.deviance).max(0.0);
    let places = search.places();
    let per_place = data.bins.len() as f64 / merged.bins.len() as f64;
    let tried = places.len() as f64 * if places.len() > 1 { BETWEEN * per_place } else { 1.0 };
    // At one place, the square root of the ratio is a Gaussian on one side; all places together have at most the sum.
    // The deviance that another measurement of a response, or blocks, add to that of counts may lie wholly along the structure.
    let of_counts = null.curve.iter().map(|&mean| expected_deviance(&data.noise, mean));
    let of_counts = of_counts.sum::<f64>() - (data.bins.len() - null.degrees) as f64;
    let added = (null.deviance_expected - of_counts).max(0.0);
    let least = likelihood_ratio / (1.0 + added);
    let bound = libm::log(tried / 2.0) + log_erfc((least / 2.0).sqrt());
    let mut sigmas = deviations(bound);
    let mut best = None;
    if sigmas < CLEAR {
        let (simulated, place) = search.simulated(&places, &null, merged.bins.len())?;
        sigmas = sigmas.max(simulated);
        best = place;
    }
    let mut significance = Significance {
        name: structure.name.clone(),
        against: structure.against.clone(),
        amplitude: parameters[structure.amplitude].name.clone(),
        likelihood_ratio,
        sigmas,
        limit: None,
    };
    if sigmas >= FOUND {
        let mut fitted = Fitted { significance: Some(significance), ..fitted };
        if sigmas < CLEAR {
            let amplitude = &mut fitted.parameters[structure.amplitude];
            let Parameter { lower, upper, .. } = parameters[structure.amplitude];
            let (low, high) = of_found(likelihood_ratio.sqrt(), sigmas);
            let bounded = |factor: f64| (factor * amplitude.value).clamp(lower, upper);
            amplitude.interval = Some((bounded(low), bounded(high)));
        }
        return Ok(ControlFlow::Break(fitted));
    }
    significance.limit = best.and_then(|place| search.limit(&place, &null));
    Ok(ControlFlow::Continue(Absent { structure, fitted, significance, settings: null_settings }))
}

impl Absent {
    /// Returns the model without the structure, and how it is fitted.
    pub fn null(&self) -> (&dyn Model, &Settings) {
        (&*self.structure.null, &self.settings)
    }

    /// Returns the fit of that model, with the parameters of the whole one.
    pub fn with(self, null: Fitted) -> Fitted {
        let Self { structure, fitted, significance, .. } = self;
        let absent = |of: Estimate| Estimate {
            err: None,
            interval: None,
            is_at_bound: false,
            is_absent: true,
            ..of
        };
        let number = |null: usize| {
            let shared = structure.shared.iter().find(|(_, shared)| *shared == null);
            shared.map_or(null, |(of, _)| *of)
        };
        let parameters = fitted.parameters.into_iter().enumerate().map(|(at, of)| {
            let shared = structure.shared.iter().find(|(model, _)| *model == at);
            match shared {
                Some((_, shared)) => Estimate { name: of.name, ..null.parameters[*shared].clone() },
                None if at == structure.amplitude => absent(Estimate { value: 0.0, ..of }),
                None if of.is_fixed => of,
                None => absent(of),
            }
        });
        Fitted {
            parameters: parameters.collect(),
            derived: fitted.derived.into_iter().map(absent).collect(),
            significance: Some(significance),
            correlations: null
                .correlations
                .iter()
                .map(|&(one, other, of)| (number(one), number(other), of))
                .collect(),
            ..null
        }
    }
}

/// Returns data with at most [`BINS_MAX`] bins.
fn merged(data: &Data) -> Data {
    let each = data.bins.len().div_ceil(BINS_MAX);
    if each == 1 {
        return data.clone();
    }
    let bins = data.bins.chunks(each);
    let bins = bins.map(|of| crate::Bin { from: of[0].from, to: of[of.len() - 1].to });
    let exposure = (0..data.bins.len()).map(|bin| data.exposure(bin)).collect::<Vec<_>>();
    Data {
        bins: bins.collect(),
        values: sums(&data.values, each),
        noise: Noise::Poisson,
        exposure: Some(sums(&exposure, each)),
    }
}

fn sums(values: &[f64], each: usize) -> Vec<f64> {
    values.chunks(each).map(|of| of.iter().sum()).collect()
}

/// Returns the standard deviations of a Gaussian above which it has this probability, zero for one half and more.
fn deviations(log_probability: f64) -> f64 {
    let of = |sigmas: f64| log_erfc(sigmas / std::f64::consts::SQRT_2) - std::f64::consts::LN_2;
    if log_probability >= of(0.0) {
        return 0.0;
    }
    // exp(-x²/2) is above the probability of more than x.
    let (mut low, mut high) = (0.0, (-2.0 * log_probability).sqrt());
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if of(middle) > log_probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the interval of 68.3 % of an amplitude, as factors of it, given that it was large enough to be found: its
/// value is one of a Gaussian above the least value that would have been found. The upper end is at least one
/// standard deviation up. `local` are its standard deviations without the search.
fn of_found(local: f64, sigmas: f64) -> (f64, f64) {
    let least = (local * local - (sigmas * sigmas - FOUND * FOUND)).max(0.0).sqrt();
    let above = |off: f64| log_erfc(off / std::f64::consts::SQRT_2);
    let end = |probability: f64| {
        // The probability of a larger value than that of the data, which grows with the mean.
        let of = |mean: f64| above(local - mean) - above(least - mean);
        let (mut low, mut high) = (-10.0 * local, local + 10.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if of(middle) < libm::log(probability) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low / local
    };
    (end(BELOW), end(1.0 - BELOW).max(1.0 + 1.0 / local))
}

/// The search for a structure.
struct StructureSearch<'a> {
    model: &'a dyn Model,
    data: &'a Data,
    settings: &'a Settings,
    parameters: &'a [Parameter],
    structure: &'a Structure,
    stop: Stop<'a>,
}

impl StructureSearch<'_> {
    /// Returns the places that differ under the fixed parameters.
    fn places(&self) -> Vec<Vec<f64>> {
        let mut places = self.structure.places.clone();
        for (name, value) in &self.settings.fixed {
            let Some(at) = self.parameters.iter().position(|of| of.name == *name) else { continue };
            for place in &mut places {
                place[at] = *value;
            }
        }
        places.sort_by(|one, other| {
            let differing = one.iter().zip(other).map(|(one, other)| one.total_cmp(other));
            differing.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        places.dedup();
        places
    }

    /// Returns a place with the shared parameters of the null, and an amplitude.
    fn with(&self, place: &[f64], null: &Fitted, amplitude: f64) -> Vec<f64> {
        let mut values = place.to_vec();
        for &(of, shared) in &self.structure.shared {
            values[of] = null.parameters[shared].value;
        }
        values[self.structure.amplitude] = amplitude;
        values
    }

    /// Returns the expected change of the values of merged bins by the structure at a place.
    fn template(&self, place: &[f64], null: &Fitted, each: usize) -> Result<Vec<f64>, Error> {
        let of = |amplitude: f64| {
            let mut values = vec![0.0; self.data.bins.len()];
            let parameters = self.with(place, null, amplitude);
            self.model.predict(&parameters, &self.data.bins, &mut values).map(|()| values)
        };
        let (without, with) = (of(0.0)?, of(self.parameters[self.structure.amplitude].scale)?);
        let change = without.iter().zip(with).enumerate();
        let change =
            change.map(|(bin, (without, with))| (with - without) * self.data.exposure(bin));
        Ok(sums(&change.collect::<Vec<_>>(), each))
    }

    /// Returns the standard deviations of the structure by simulation of data without it, and the place where the
    /// data have it most.
    fn simulated(
        &self,
        places: &[Vec<f64>],
        null: &Fitted,
        bins: usize,
    ) -> Result<(f64, Option<Vec<f64>>), Error> {
        let each = self.data.bins.len().div_ceil(bins);
        let means = sums(&null.curve, each);
        let square = |(bin, &mean): (usize, &f64)| variance(self.data, bin, mean);
        let squares: Vec<f64> = null.curve.iter().enumerate().map(square).collect();
        let spread: Vec<f64> = sums(&squares, each).into_iter().map(f64::sqrt).collect();
        let in_errors = |mut values: Vec<f64>| {
            values.iter_mut().zip(&spread).for_each(|(value, err)| *value /= err);
            values
        };
        // Changes that the parameters without the structure describe are no sign of it.
        let mut nuisance: Vec<Vec<f64>> = Vec::new();
        let parameters = self.structure.null.parameters(self.data);
        for slope in self.null_slopes(null, &parameters) {
            let mut slope = in_errors(sums(&slope, each));
            if remove(&mut slope, &nuisance) {
                nuisance.push(slope);
            }
        }
        let (mut shapes, mut seen) = (Vec::new(), Vec::new());
        for place in places {
            if (self.stop)() {
                return Err(Error::Cancelled);
            }
            let mut shape = in_errors(self.template(place, null, each)?);
            if remove(&mut shape, &nuisance) {
                shapes.push(shape);
                seen.push(place);
            }
        }
        if shapes.is_empty() {
            return Ok((0.0, None));
        }
        let shapes = DMatrix::from_fn(shapes.len(), means.len(), |row, bin| shapes[row][bin]);
        let off = |values: Vec<f64>| {
            let mut off = values;
            off.iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean);
            in_errors(off)
        };
        let own = DMatrix::from_vec(means.len(), 1, off(sums(&self.data.values, each)));
        let own = &shapes * own;
        let (place, found) = own.column(0).argmax();
        let found = found.max(0.0).powi(2);
        let count = PRODUCTS / shapes.len() / means.len();
        let count = count.clamp(SIMULATIONS.0, SIMULATIONS.1);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let together = self.together(each);
        let mut ratios: Vec<f64> = Vec::with_capacity(count);
        let offsets = measured_offsets(&self.null_problem(null, &parameters), &null.curve);
        let offsets: Vec<Vec<f64>> = offsets.iter().map(|of| sums(of, each)).collect();
        let mut offsets = offsets.iter().cycle();
        let mut drawn = || {
            let mut values = self.drawn(&means, &spread, together.as_ref(), &mut random);
            if let Some(offsets) = offsets.next() {
                values.iter_mut().zip(offsets).for_each(|(value, offset)| *value += offset);
            }
            off(values)
        };
        while ratios.len() < count {
            if (self.stop)() {
                return Err(Error::Cancelled);
            }
            let drawn = (0..AT_ONCE).flat_map(|_| drawn());
            let drawn = DMatrix::from_vec(means.len(), AT_ONCE, drawn.collect());
            let products = &shapes * drawn;
            ratios.extend(products.column_iter().map(|column| column.max().max(0.0).powi(2)));
        }
        ratios.sort_by(|one, other| other.total_cmp(one));
        Ok((deviations(log_probability(&ratios, found)), Some(seen[place].clone())))
    }

    /// Returns values without the structure.
    fn drawn(
        &self,
        means: &[f64],
        spread: &[f64],
        together: Option<&DMatrix<f64>>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Vec<f64> {
        if let Some(together) = together {
            let gaussians = (0..means.len()).map(|_| StandardNormal.sample(random));
            let off = together * DVector::from_iterator(means.len(), gaussians);
            return means.iter().zip(&off).map(|(mean, off)| mean + off).collect();
        }
        let is_normal = matches!(self.data.noise, Noise::Normal(_));
        let one = |(&mean, &err): (&f64, &f64)| {
            if is_normal {
                let gaussian: f64 = StandardNormal.sample(random);
                return err.mul_add(gaussian, mean);
            }
            Poisson::new(mean).map_or(0.0, |counts| counts.sample(random))
        };
        means.iter().zip(spread).map(one).collect()
    }

    /// Returns the matrix that turns independent Gaussian numbers into values with the covariance of merged bins;
    /// `None` for counts.
    fn together(&self, each: usize) -> Option<DMatrix<f64>> {
        let Noise::Covariance(rows) = &self.data.noise else { return None };
        let bins = rows.len().div_ceil(each);
        let mut merged = DMatrix::<f64>::zeros(bins, bins);
        for (k, row) in rows.iter().enumerate() {
            let first = if row.len() == 1 { k } else { 0 };
            for (l, of) in (first..).zip(row) {
                merged[(k / each, l / each)] += of;
            }
        }
        let of = merged.symmetric_eigen();
        let roots = of.eigenvalues.map(|value| value.max(0.0).sqrt());
        Some(of.eigenvectors * DMatrix::from_diagonal(&roots))
    }

    /// Returns the slopes of the predictions without the structure by its free parameters.
    fn null_slopes(&self, null: &Fitted, parameters: &[Parameter]) -> Vec<Vec<f64>> {
        let problem = self.null_problem(null, parameters);
        let free = null.parameters.iter().enumerate();
        let free = free.filter(|(_, of)| !of.is_fixed && !of.is_at_bound);
        free.filter_map(|(at, _)| problem.slope(at)).collect()
    }

    /// Returns the model without the structure at its best parameters.
    fn null_problem<'a>(&'a self, null: &Fitted, parameters: &'a [Parameter]) -> Problem<'a> {
        let values = null.parameters.iter().map(|of| of.value).collect();
        Problem::new(&*self.structure.null, self.data, parameters, &[], values, self.stop)
    }

    /// Returns the upper limit of the amplitude at a place, at 95 %.
    fn limit(&self, place: &[f64], null: &Fitted) -> Option<f64> {
        let Structure { amplitude, shared, .. } = self.structure;
        let is_fixed = |of: usize| {
            self.settings.fixed.iter().any(|(name, _)| *name == self.parameters[of].name)
        };
        let shared: Vec<usize> =
            shared.iter().map(|(of, _)| *of).filter(|&of| !is_fixed(of)).collect();
        let with_amplitude: Vec<usize> = [*amplitude].into_iter().chain(shared.clone()).collect();
        let deviance = |free: &[usize], value: f64| {
            let values = self.with(place, null, value);
            let problem =
                Problem::new(self.model, self.data, self.parameters, free, values, self.stop);
            let problem = minimised(problem, Search::Exact);
            Some((problem.deviance()?, problem.values()[*amplitude]))
        };
        let Parameter { upper, scale, .. } = self.parameters[*amplitude];
        let (least, best) = deviance(&with_amplitude, (scale / 10.0).min(upper / 2.0))?;
        let is_above =
            |value: f64| deviance(&shared, value).is_none_or(|(of, _)| of > least + LIMIT);
        let (mut low, mut high) = (best, best.max(1e-3 * scale));
        while !is_above(high) {
            if high >= upper || (self.stop)() {
                return Some(upper);
            }
            (low, high) = (high, (2.0 * high).min(upper));
        }
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if is_above(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

/// Removes from values the part that others describe, and scales the rest to length 1. Returns whether the rest is
/// more than rounding.
fn remove(values: &mut [f64], others: &[Vec<f64>]) -> bool {
    let length = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let before = length(values);
    for other in others {
        let common: f64 = values.iter().zip(other).map(|(one, other)| one * other).sum();
        values.iter_mut().zip(other).for_each(|(value, other)| *value -= common * other);
    }
    let after = length(values);
    for value in values.iter_mut() {
        *value /= after;
    }
    after > HIDDEN * before
}

/// Returns the logarithm of the probability of this number or a larger one, from numbers in falling order.
fn log_probability(simulated: &[f64], found: f64) -> f64 {
    let count = simulated.len() as f64;
    let above = simulated.partition_point(|&of| of >= found);
    if above >= ENOUGH {
        return libm::log(above as f64 / count);
    }
    // Rare ones fall exponentially, as squares of Gaussians do, or slower where counts are few.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    let tail = (TAIL * count) as usize;
    let from = simulated[tail];
    let excess = simulated[..tail].iter().map(|of| of - from).sum::<f64>() / tail as f64;
    libm::log(TAIL) - (found - from) / excess.max(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exponential that continues 300 numbers below 6 is exp(-5,000) at 10,000: less than the least number above zero.
    #[test]
    fn a_probability_below_all_numbers_is_many_standard_deviations() {
        let simulated: Vec<f64> = (0..300).map(|k| 6.0 - f64::from(k) / 50.0).collect();
        let log = log_probability(&simulated, 10_000.0);
        assert!((log / -5_000.0 - 1.0).abs() < 0.01, "{log}");
        // A Gaussian at z has the logarithm -z²/2 - ln(z·√(2π)).
        assert!((deviations(log) - 99.9).abs() < 0.2, "{}", deviations(log));
    }
}
