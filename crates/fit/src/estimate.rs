//! The search for the largest likelihood, and the result of a fit.
//!
//! Each set of starting values is followed to its minimum, and the lowest deviance wins. A later start wins only if
//! it is lower by more than rounding: of 9.5 and 9.499999999, the first is taken, so that results do not depend on
//! rounding errors.

use levenberg_marquardt::{LeastSquaresProblem as _, LevenbergMarquardt};
use nalgebra::DVector;

use crate::{
    data::Data,
    error::Error,
    information::information,
    model::{Model, Parameter, Quantity},
    problem::{Problem, Stop},
};

/// How a model is fitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Parameters that keep these values.
    pub fixed: Vec<(String, f64)>,
    /// Starting values, in place of those that are found.
    pub start: Vec<(String, f64)>,
    /// Which parameters have intervals by profile likelihood.
    pub intervals: Intervals,
    /// How far the minimum is searched.
    pub search: Search,
}

/// Which parameters have intervals by profile likelihood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Intervals {
    /// The parameters of a fit whose errors are not symmetric, in place of errors. If the model is far from the data,
    /// there are neither errors nor intervals.
    #[default]
    Needed,
    /// All, beside their errors.
    All,
    /// None: standard errors alone, wherever the data determine the parameters.
    Never,
}

/// A fitted parameter, or a number that follows from parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Its name.
    pub name: String,
    /// Its quantity.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// Its standard error; `None` if it was fixed, if a parameter is at or near a bound, if the data do not determine
    /// it, or if they are far from the model.
    pub err: Option<f64>,
    /// The ends of its interval of 68.3 % by profile likelihood, of a fit near a bound or on request. An end at a
    /// bound is that bound.
    pub interval: Option<(f64, f64)>,
    /// Whether it was fixed by the caller.
    pub is_fixed: bool,
    /// Whether it is at a bound.
    pub is_at_bound: bool,
    /// Whether it belongs to a structure that the data do not have; its value then has no meaning.
    pub is_absent: bool,
}

/// Standard deviations from which a structure is found.
pub const FOUND: f64 = 3.0;

/// Standard deviations from which a structure is clear: a bound that gives more needs no simulation, and the search
/// did not favour it.
pub const CLEAR: f64 = 5.0;

/// How clearly data have the structure of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Significance {
    /// The name of the structure, such as `dip`.
    pub name: String,
    /// The description of the data without it, such as `a constant`.
    pub against: String,
    /// The name of the parameter that is zero without the structure.
    pub amplitude: String,
    /// Twice the logarithm of the likelihood of the model over that without the structure.
    pub likelihood_ratio: f64,
    /// The probability that chance gives such a structure anywhere in the searched range, in standard deviations of a
    /// Gaussian on one side.
    pub sigmas: f64,
    /// Below [`FOUND`]: the upper limit of the parameter at 95 %, where the structure fits best.
    pub limit: Option<f64>,
}

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The parameters of the model, in its order.
    pub parameters: Vec<Estimate>,
    /// Numbers that follow from the parameters.
    pub derived: Vec<Estimate>,
    /// The prediction for each value.
    pub curve: Vec<f64>,
    /// The residual of each value: the square root of its part of the deviance, with the sign of value minus
    /// prediction.
    pub residuals: Vec<f64>,
    /// The deviance: the sum of the squares of the residuals.
    pub deviance: f64,
    /// The deviance that is expected of counts that the model describes: near the degrees of freedom, and below or
    /// above it for few counts.
    pub deviance_expected: f64,
    /// The standard deviation of that deviance.
    pub deviance_spread: f64,
    /// The number of values minus the number of fitted parameters.
    pub degrees: usize,
    /// The correlation of each two free parameters, by their numbers.
    pub correlations: Vec<(usize, usize, f64)>,
    /// How clearly the data have the structure of the model; `None` if the model has none that it could lack, or if
    /// the caller fixed it.
    pub significance: Option<Significance>,
}

/// Standard deviations of the deviance above its expectation that show that the model does not describe the counts.
const DEVIATIONS: f64 = 5.0;
/// A deviance that is above its expectation by this factor, too, leaves no errors.
const MISFIT: f64 = 1.5;

impl Fitted {
    /// Returns the deviance over the one that is expected; `None` if no deviance is expected, for example with as
    /// many parameters as values.
    pub fn deviance_ratio(&self) -> Option<f64> {
        let is_defined = self.degrees > 0 && self.deviance_expected > 0.0;
        is_defined.then(|| self.deviance / self.deviance_expected)
    }

    /// Returns whether the deviance shows that the model does not describe the counts, so that errors are too small.
    pub fn is_off(&self) -> bool {
        let most = DEVIATIONS.mul_add(self.deviance_spread, self.deviance_expected);
        // As many parameters as values pass through all of them.
        self.degrees > 0 && self.deviance > most
    }

    /// Returns whether the model is so far from the counts that errors have no meaning, and are not given.
    pub fn is_misfit(&self) -> bool {
        self.is_off() && self.deviance > MISFIT * self.deviance_expected
    }

    /// Returns the same with the bounds in place of values that are at them: a search stops near a bound.
    pub(crate) fn at_bounds(mut self, parameters: &[Parameter]) -> Self {
        for (of, parameter) in self.parameters.iter_mut().zip(parameters) {
            let bound = parameter.bound_at(of.value).filter(|_| of.is_at_bound);
            of.value = bound.unwrap_or(of.value);
        }
        self
    }

    /// Returns a parameter, or a number that follows from parameters.
    pub fn get(&self, name: &str) -> Option<&Estimate> {
        self.parameters.iter().chain(&self.derived).find(|of| of.name == name)
    }
}

/// Returns the parameters with the largest likelihood.
pub(crate) fn most_likely(
    model: &dyn Model,
    data: &Data,
    settings: &Settings,
    stop: Stop<'_>,
) -> Result<Fitted, Error> {
    data.check()?;
    if data.values.iter().all(|&value| value == 0.0) {
        return Err(Error::NoCounts);
    }
    let parameters = model.parameters(data);
    let fixed = named(&parameters, &settings.fixed)?;
    let start = named(&parameters, &settings.start)?;
    let is_free = |of: &usize| fixed[*of].is_none();
    let free: Vec<usize> = (0..parameters.len()).filter(is_free).collect();
    // Bins that the model predicts nothing for determine nothing.
    let bins = (0..data.bins.len()).filter(|&bin| data.exposure(bin) != 0.0).count();
    if bins < free.len() {
        return Err(Error::TooFewBins { bins, parameters: free.len() });
    }
    let mut best: Option<(f64, Problem<'_>)> = None;
    let mut starts = model.starts(data);
    for values in &mut starts {
        for (of, value) in values.iter_mut().enumerate() {
            *value = fixed[of].or(start[of]).unwrap_or(*value);
        }
    }
    // Starts that differ only in parameters that the caller gave are the same now.
    starts.dedup();
    for values in starts {
        let problem = Problem::new(model, data, &parameters, &free, values, stop);
        let problem = minimised(problem, settings.search);
        if let Some(error) = problem.failure.take() {
            return Err(error);
        }
        let Some(deviance) = problem.deviance() else { continue };
        // A later start wins only if it is better by more than rounding.
        if best.as_ref().is_none_or(|(least, _)| deviance < least - 1e-6 * (1.0 + least)) {
            best = Some((deviance, problem));
        }
    }
    let (deviance, problem) = best.ok_or(Error::NoConvergence)?;
    let mut values = problem.values().to_vec();
    let mut arranged = values.clone();
    model.arrange(&mut arranged, data);
    // Fixed values stay in their places.
    if fixed
        .iter()
        .zip(&arranged)
        .all(|(fixed, value)| fixed.is_none_or(|fixed| fixed.total_cmp(value).is_eq()))
    {
        values = arranged;
    }
    let problem = Problem::new(model, data, &parameters, &free, values, stop);
    result(&problem, deviance, &fixed)
}

/// How far a minimum is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// To rounding.
    #[default]
    Exact,
    /// Until the deviance is known to a millionth, or no longer than is usual for that.
    Rough,
}

/// Returns the problem at its minimum, or where the search for it ended.
pub(crate) fn minimised(mut problem: Problem<'_>, search: Search) -> Problem<'_> {
    if problem.free.is_empty() {
        return problem;
    }
    // The search begins inside of the bounds.
    let start = problem.params();
    problem.set_params(&start);
    let (tolerance, patience) = match search {
        Search::Exact => (1e-12, 200),
        Search::Rough => (1e-6, 20),
    };
    let optimiser = LevenbergMarquardt::new().with_tol(tolerance).with_patience(patience);
    let (problem, _) = optimiser.minimize(problem);
    problem
}

/// Returns the given value of each parameter.
fn named(parameters: &[Parameter], given: &[(String, f64)]) -> Result<Vec<Option<f64>>, Error> {
    let mut values = vec![None; parameters.len()];
    for (name, value) in given {
        let Some(at) = parameters.iter().position(|of| of.name == *name) else {
            let known: Vec<&str> = parameters.iter().map(|of| &*of.name).collect();
            return Err(Error::UnknownParameter { name: name.clone(), known: known.join(", ") });
        };
        let Parameter { lower, upper, .. } = parameters[at];
        if !(lower..=upper).contains(value) {
            return Err(Error::OutOfBounds { name: name.clone(), value: *value, lower, upper });
        }
        values[at] = Some(*value);
    }
    Ok(values)
}

fn result(problem: &Problem<'_>, deviance: f64, fixed: &[Option<f64>]) -> Result<Fitted, Error> {
    let Problem { model, data, parameters, .. } = *problem;
    let values = problem.values();
    let is_at_bound = |of: usize| fixed[of].is_none() && parameters[of].is_at_bound(values[of]);
    let open: Vec<usize> = problem.free.iter().copied().filter(|&of| !is_at_bound(of)).collect();
    let (curve, residuals) = problem.result().ok_or(Error::NoConvergence)?;
    let (information, expected) = information(problem, &open, &curve);
    let covariance = information.map(|of| of.covariance);
    let pairs = (0..open.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    let correlation = |(one, other): (usize, usize)| {
        let of = covariance.as_ref()?;
        let common = of[(one, other)] / (of[(one, one)] * of[(other, other)]).sqrt();
        Some((open[one], open[other], common))
    };
    let correlations = pairs.filter_map(correlation).collect();
    let err = |of: usize| {
        let at = open.iter().position(|&open| open == of)?;
        let variance = covariance.as_ref()?[(at, at)];
        (variance > 0.0).then(|| variance.sqrt())
    };
    let parameter = |(of, parameter): (usize, &Parameter)| Estimate {
        name: parameter.name.clone(),
        quantity: parameter.quantity,
        value: values[of],
        err: err(of),
        interval: None,
        is_fixed: fixed[of].is_some(),
        is_at_bound: is_at_bound(of),
        is_absent: false,
    };
    let numbers = |values: &[f64]| {
        let values = model.derived(values).into_iter().map(|of| of.value);
        DVector::from_vec(values.collect())
    };
    // A row for each number, a column for each parameter.
    let slopes: Vec<DVector<f64>> = open.iter().map(|&of| problem.slopes_of(of, numbers)).collect();
    let derived = model.derived(values).into_iter().enumerate().map(|(number, derived)| {
        let slopes = DVector::from_iterator(open.len(), slopes.iter().map(|of| of[number]));
        let variance = covariance.as_ref().map(|of| (slopes.transpose() * of * &slopes)[(0, 0)]);
        Estimate {
            name: derived.name,
            quantity: derived.quantity,
            value: derived.value,
            err: variance.filter(|variance| *variance > 0.0).map(f64::sqrt),
            interval: None,
            is_fixed: false,
            is_at_bound: false,
            is_absent: false,
        }
    });
    let derived = derived.collect();
    Ok(Fitted {
        parameters: parameters.iter().enumerate().map(parameter).collect(),
        derived,
        curve,
        residuals,
        deviance,
        deviance_expected: expected.mean,
        deviance_spread: expected.variance.sqrt(),
        degrees: data.bins.len() - problem.free.len(),
        correlations,
        significance: None,
    })
}
