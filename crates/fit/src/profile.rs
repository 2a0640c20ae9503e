//! Intervals of parameters by their profile likelihood.
//!
//! A deviance of 50 at the best values: the interval ends where the lowest deviance with the parameter held is 51. A
//! lower deviance than 50 on the way is another minimum, from which the fit begins again.

use std::ops::ControlFlow;

use crate::{
    data::Data,
    estimate::{CLEAR, Estimate, Fitted, Intervals, Search, Settings, minimised},
    information::information,
    model::{Model, Parameter},
    problem::{Held, Problem, Stop},
};

/// A parameter that is nearer to a bound, in standard errors, has no symmetric error, and the others neither.
const NEAR: f64 = 3.0;
/// A scale, such as a width or a lifetime, with a larger relative error has no symmetric error either.
const WIDE: f64 = 0.1;
/// With more bins, a fit near a bound has no intervals unless they are wanted: they take a hundred fits.
const BINS_MAX: usize = 1 << 15;
/// An end of an interval is found if the root of its likelihood ratio differs by less than this from that of one
/// standard deviation.
const CLOSE: f64 = 0.01;
/// Steps to an end.
const STEPS: usize = 30;
/// The error with which a derived number is held at a value, in its standard errors. Where it ends, it has the lowest
/// deviance of its own value.
const HELD: f64 = 0.3;
/// A deviance that is lower by more than this is another minimum.
const LOWER: f64 = 1e-3;

/// Free parameters by their names.
pub(crate) type Start = Vec<(String, f64)>;

/// Adds intervals to a fit that is near a bound, or whose settings want them; continues with the free parameters
/// where the profile passes a lower deviance.
pub(crate) fn profiled(
    model: &dyn Model,
    data: &Data,
    settings: &Settings,
    fitted: Fitted,
    stop: Stop<'_>,
) -> ControlFlow<Fitted, Start> {
    let parameters = model.parameters(data);
    if settings.intervals == Intervals::Never {
        return ControlFlow::Break(fitted);
    }
    if fitted.is_misfit() {
        let bare = |of: Vec<Estimate>| {
            let bare = of.into_iter().map(|of| Estimate { err: None, interval: None, ..of });
            bare.collect()
        };
        let (parameters, derived) = (bare(fitted.parameters), bare(fitted.derived));
        return ControlFlow::Break(Fitted { parameters, derived, ..fitted });
    }
    let is_near =
        data.bins.len() <= BINS_MAX && fitted.parameters.iter().zip(&parameters).any(is_near_bound);
    // The null has intervals of its own.
    let is_null = fitted.parameters.iter().any(|of| of.is_absent);
    let is_weak = fitted.significance.as_ref().is_some_and(|of| of.sigmas < CLEAR);
    let is_profiled = is_near || settings.intervals == Intervals::All;
    if !(is_profiled || is_weak) || is_null {
        return ControlFlow::Break(fitted);
    }
    let is_open = |of: &usize| !fitted.parameters[*of].is_fixed;
    let free: Vec<usize> = (0..parameters.len()).filter(is_open).collect();
    let best: Vec<f64> = fitted.parameters.iter().map(|of| of.value).collect();
    let profile =
        Profile { model, data, parameters: &parameters, free: &free, best, fitted: &fitted, stop };
    let ratios = profile.ratios();
    let mut intervals: Vec<_> = fitted.parameters.iter().map(|of| of.interval).collect();
    for &of in free.iter().filter(|_| is_profiled) {
        if intervals[of].is_some() {
            continue;
        }
        match profile.interval(Of::Parameter(of), ratios[of]) {
            Ok(interval) => intervals[of] = Some(interval),
            Err(values) => return profile.better(&values),
        }
    }
    let most = ratios.iter().copied().fold(1.0, f64::max);
    let mut derived = Vec::new();
    for (number, of) in fitted.derived.iter().enumerate() {
        let alone = profile.of_one_parameter(number, &intervals);
        let interval = match (alone, is_profiled && !is_weak) {
            (None, true) => match profile.interval(Of::Derived(number), most) {
                Ok(interval) => Some(interval),
                Err(values) => return profile.better(&values),
            },
            (alone, _) => alone,
        };
        let err = of.err.filter(|_| !(is_near || is_weak));
        derived.push(Estimate { err, interval, ..of.clone() });
    }
    let with = |(of, interval): (&Estimate, _)| {
        let err = of.err.filter(|_| !is_near && of.interval.is_none());
        Estimate { err, interval, ..of.clone() }
    };
    let estimates = fitted.parameters.iter().zip(intervals).map(with).collect();
    ControlFlow::Break(Fitted { parameters: estimates, derived, ..fitted })
}

fn is_near_bound((estimate, parameter): (&Estimate, &Parameter)) -> bool {
    let reach = NEAR * estimate.err.unwrap_or(0.0);
    let Parameter { lower, upper, .. } = *parameter;
    let is_scale = lower > 0.0;
    let is_wide = is_scale && estimate.err.is_some_and(|err| err > WIDE * estimate.value);
    let is_near = is_wide || estimate.value - lower < reach || upper - estimate.value < reach;
    !estimate.is_fixed && !estimate.is_absent && (estimate.is_at_bound || is_near)
}

/// A number that has a profile.
#[derive(Clone, Copy)]
enum Of {
    /// The parameter with this number.
    Parameter(usize),
    /// The derived number at this place.
    Derived(usize),
}

struct Profile<'a> {
    model: &'a dyn Model,
    data: &'a Data,
    parameters: &'a [Parameter],
    free: &'a [usize],
    best: Vec<f64>,
    fitted: &'a Fitted,
    stop: Stop<'a>,
}

impl Profile<'_> {
    /// Returns the interval of a number that follows from one parameter alone, which has an interval.
    fn of_one_parameter(
        &self,
        number: usize,
        intervals: &[Option<(f64, f64)>],
    ) -> Option<(f64, f64)> {
        let at = |of: usize, value: f64| {
            let mut values = self.best.clone();
            values[of] = value;
            self.model.derived(&values)[number].value
        };
        let moves = |of: &&usize| {
            let by = 1e-3 * self.parameters[**of].scale;
            let [low, high] = [-by, by].map(|by| at(**of, self.best[**of] + by));
            low.total_cmp(&high).is_ne()
        };
        let mut moving = self.free.iter().filter(moves);
        let (&only, None) = (moving.next()?, moving.next()) else { return None };
        let (low, high) = intervals[only]?;
        let (one, other) = (at(only, low), at(only, high));
        Some((one.min(other), one.max(other)))
    }

    /// Returns where the profile found a lower deviance.
    fn better(&self, values: &[f64]) -> ControlFlow<Fitted, Start> {
        let of = |&of: &usize| (self.parameters[of].name.clone(), values[of]);
        ControlFlow::Continue(self.free.iter().map(of).collect())
    }

    /// Returns the likelihood ratio of one standard deviation of each parameter: 1, and more where a measured part of
    /// the model or the covariance of the values adds to its error.
    fn ratios(&self) -> Vec<f64> {
        let is_open = |of: &usize| !self.fitted.parameters[*of].is_at_bound;
        let open: Vec<usize> = self.free.iter().copied().filter(is_open).collect();
        let curve = &self.fitted.curve;
        let problem = Problem::new(
            self.model,
            self.data,
            self.parameters,
            &open,
            self.best.clone(),
            self.stop,
        );
        let (information, _) = information(&problem, &open, curve);
        let widening = information.map_or(Vec::new(), |of| of.widening);
        let most = widening.iter().copied().fold(0.0, f64::max);
        let most = if widening.is_empty() { 1.0 } else { most };
        let ratio = |of: usize| {
            let at = open.iter().position(|open| *open == of);
            at.and_then(|at| widening.get(at)).copied().unwrap_or(most)
        };
        (0..self.parameters.len()).map(ratio).collect()
    }

    /// Returns the interval, or the values of a lower minimum.
    fn interval(&self, of: Of, ratio: f64) -> Result<(f64, f64), Vec<f64>> {
        Ok((self.end(of, -1.0, ratio)?, self.end(of, 1.0, ratio)?))
    }

    /// Returns the best value, the standard error if there is one, and the bound on this side.
    fn known(&self, of: Of, sign: f64) -> (f64, f64, f64) {
        match of {
            Of::Parameter(of) => {
                let Parameter { lower, upper, scale, .. } = self.parameters[of];
                let err = self.fitted.parameters[of].err.unwrap_or(0.1 * scale);
                (self.best[of], err, if sign > 0.0 { upper } else { lower })
            }
            Of::Derived(number) => {
                let Estimate { value, err, .. } = self.fitted.derived[number];
                (value, err.unwrap_or(0.1 * value.abs()), sign * f64::INFINITY)
            }
        }
    }

    /// Returns the values at the lowest deviance for a value of the parameter or the number, and that deviance.
    fn lowest(&self, of: Of, value: f64, mut start: Vec<f64>) -> (Vec<f64>, f64) {
        let others: Vec<usize>;
        let Self { model, data, parameters, free, stop, .. } = *self;
        let problem = match of {
            Of::Parameter(of) => {
                start[of] = value;
                others = free.iter().copied().filter(|&free| free != of).collect();
                Problem::new(model, data, parameters, &others, start, stop)
            }
            Of::Derived(number) => {
                let err = HELD * self.known(of, 1.0).1;
                let problem = Problem::new(model, data, parameters, free, start, stop);
                problem.holding(Held { number, value, err })
            }
        };
        let problem = minimised(problem, Search::Rough);
        (problem.values().to_vec(), problem.deviance().unwrap_or(f64::INFINITY))
    }

    /// Returns the end of an interval on one side, at a bound if the likelihood is not lower there; the values of
    /// another minimum if there is one.
    fn end(&self, of: Of, sign: f64, ratio: f64) -> Result<f64, Vec<f64>> {
        let (best, err, bound) = self.known(of, sign);
        let mut distance = err * ratio.sqrt();
        let mut values = self.best.clone();
        let (mut within, mut beyond) = (0.0, f64::INFINITY);
        for _ in 0..STEPS {
            if (self.stop)() {
                break;
            }
            let place = sign.mul_add(distance, best);
            let place = if sign > 0.0 { place.min(bound) } else { place.max(bound) };
            let (found, deviance) = self.lowest(of, place, values.clone());
            let above = deviance - self.fitted.deviance;
            if above < -LOWER {
                return Err(found);
            }
            let place = match of {
                Of::Parameter(_) => place,
                Of::Derived(number) => self.model.derived(&found)[number].value,
            };
            let root = (above.max(0.0) / ratio).sqrt();
            let is_at_bound = sign * (place - bound) >= 0.0;
            if (root - 1.0).abs() < CLOSE || (root < 1.0 && is_at_bound) {
                return Ok(place);
            }
            if root < 1.0 {
                within = distance;
                values = found;
            } else {
                beyond = distance;
            }
            // The root grows about as the distance does.
            let next = distance / root.clamp(0.2, 5.0);
            distance = if next > within && next < beyond {
                next
            } else if beyond.is_finite() {
                f64::midpoint(within, beyond)
            } else {
                2.0 * distance
            };
        }
        Ok(sign.mul_add(distance, best))
    }
}
