//! Intervals of parameters by their profile likelihood.

use crate::{
    data::Data,
    estimate::{Estimate, Fitted, Settings, minimised},
    information::{Information, measured_offsets},
    model::{Model, Parameter},
    problem::Problem,
};

/// A parameter that is nearer to a bound, in standard errors, has no symmetric error, and the others neither.
const NEAR: f64 = 3.0;
/// An end of an interval is found if the root of its likelihood ratio is so near to that of one standard deviation.
const CLOSE: f64 = 0.01;
/// Steps to an end.
const STEPS: usize = 30;
/// A deviance that is lower by more than this is another minimum.
const LOWER: f64 = 1e-3;

/// A fit with its intervals, or a better one.
pub(crate) enum Profiled {
    /// The fit, with intervals if it needs them.
    Ended(Fitted),
    /// The free parameters where the profile passes a lower deviance.
    Better(Vec<(String, f64)>),
}

/// Adds intervals to a fit that is near a bound, or whose settings want them.
pub(crate) fn profiled(
    model: &dyn Model,
    data: &Data,
    settings: &Settings,
    fitted: Fitted,
) -> Profiled {
    let parameters = model.parameters(data);
    if fitted.is_misfit() {
        let bare = |of: Vec<Estimate>| of.into_iter().map(|of| Estimate { err: None, ..of }).collect();
        let (parameters, derived) = (bare(fitted.parameters), bare(fitted.derived));
        return Profiled::Ended(Fitted { parameters, derived, ..fitted });
    }
    let is_near = fitted.parameters.iter().zip(&parameters).any(is_near_bound);
    // The null has parameters of its own.
    let is_null = fitted.parameters.iter().any(|of| of.is_absent);
    if !(is_near || settings.profile) || is_null {
        return Profiled::Ended(fitted);
    }
    let is_open = |of: &usize| !fitted.parameters[*of].is_fixed;
    let free: Vec<usize> = (0..parameters.len()).filter(is_open).collect();
    let best: Vec<f64> = fitted.parameters.iter().map(|of| of.value).collect();
    let profile = Profile { model, data, parameters: &parameters, free: &free, best, fitted: &fitted };
    let ratios = profile.ratios();
    let mut intervals = vec![None; parameters.len()];
    for (&of, ratio) in free.iter().zip(ratios) {
        let mut ends = [0.0; 2];
        for (end, sign) in ends.iter_mut().zip([-1.0, 1.0]) {
            match profile.end(of, sign, ratio) {
                Ok(found) => *end = found,
                Err(values) => {
                    let of = |&of: &usize| (parameters[of].name.clone(), values[of]);
                    return Profiled::Better(free.iter().map(of).collect());
                }
            }
        }
        intervals[of] = Some((ends[0], ends[1]));
    }
    let derived = fitted.derived.iter().enumerate().map(|(number, of)| {
        let interval = derived_interval(model, &profile.best, number, &intervals);
        let err = of.err.filter(|_| !is_near);
        Estimate { interval, err, ..of.clone() }
    });
    let derived = derived.collect();
    let with = |(of, interval): (&Estimate, _)| {
        let err = of.err.filter(|_| !is_near);
        Estimate { interval, err, ..of.clone() }
    };
    let estimates = fitted.parameters.iter().zip(intervals).map(with).collect();
    Profiled::Ended(Fitted { parameters: estimates, derived, ..fitted })
}

fn is_near_bound((estimate, parameter): (&Estimate, &Parameter)) -> bool {
    let reach = NEAR * estimate.err.unwrap_or(0.0);
    let Parameter { lower, upper, .. } = *parameter;
    let is_near = estimate.value - lower < reach || upper - estimate.value < reach;
    !estimate.is_fixed && !estimate.is_absent && (estimate.is_at_bound || is_near)
}

/// The interval of a number that follows from one parameter alone.
fn derived_interval(
    model: &dyn Model,
    best: &[f64],
    number: usize,
    intervals: &[Option<(f64, f64)>],
) -> Option<(f64, f64)> {
    let at = |of: usize, value: f64| {
        let mut values = best.to_vec();
        values[of] = value;
        model.derived(&values)[number].value
    };
    let here = at(0, best[0]);
    let mut moved = intervals.iter().enumerate().filter_map(|(of, interval)| {
        let (low, high) = (*interval)?;
        let ends = (at(of, low), at(of, high));
        (ends != (here, here)).then_some(ends)
    });
    let (one, other) = moved.next()?;
    moved.next().is_none().then_some((one.min(other), one.max(other)))
}

struct Profile<'a> {
    model: &'a dyn Model,
    data: &'a Data,
    parameters: &'a [Parameter],
    free: &'a [usize],
    best: Vec<f64>,
    fitted: &'a Fitted,
}

impl Profile<'_> {
    /// Returns the likelihood ratio of one standard deviation of each free parameter: 1, and more where a measured part of the model
    /// adds to its error.
    fn ratios(&self) -> Vec<f64> {
        let is_open = |of: &usize| !self.fitted.parameters[*of].is_at_bound;
        let open: Vec<usize> = self.free.iter().copied().filter(is_open).collect();
        let curve = &self.fitted.curve;
        let problem = Problem::new(self.model, self.data, self.parameters, &open, self.best.clone());
        let added = Information::of(&problem, &open, curve).map(|mut of| {
            let before = of.covariance.diagonal();
            of.add(&measured_offsets(&problem, curve));
            of.covariance.diagonal().component_div(&before)
        });
        let most = added.as_ref().map_or(1.0, |added| added.max());
        let ratio = |of: &usize| {
            let at = open.iter().position(|open| open == of);
            at.zip(added.as_ref()).map_or(most, |(at, added)| added[at])
        };
        self.free.iter().map(ratio).collect()
    }

    /// Returns the end of the interval of a parameter on one side, at a bound if the likelihood is not lower there; the values of
    /// another minimum if there is one.
    fn end(&self, of: usize, sign: f64, ratio: f64) -> Result<f64, Vec<f64>> {
        let Parameter { lower, upper, scale, .. } = self.parameters[of];
        let others: Vec<usize> = self.free.iter().copied().filter(|&free| free != of).collect();
        let best = self.best[of];
        let bound = if sign > 0.0 { upper } else { lower };
        let err = self.fitted.parameters[of].err.unwrap_or(0.1 * scale);
        let mut distance = (err * ratio.sqrt()).max(1e-9 * scale);
        let mut values = self.best.clone();
        let (mut within, mut beyond) = (0.0, f64::INFINITY);
        for _ in 0..STEPS {
            let place = sign.mul_add(distance, best);
            let place = if sign > 0.0 { place.min(bound) } else { place.max(bound) };
            values[of] = place;
            let start = values.clone();
            let problem = Problem::new(self.model, self.data, self.parameters, &others, start);
            let problem = minimised(problem);
            let deviance = problem.deviance().unwrap_or(f64::INFINITY);
            let above = deviance - self.fitted.deviance;
            if above < -LOWER {
                return Err(problem.values().to_vec());
            }
            let root = (above.max(0.0) / ratio).sqrt();
            if (root - 1.0).abs() < CLOSE || (root < 1.0 && place == bound) {
                return Ok(place);
            }
            if root < 1.0 {
                within = distance;
                values = problem.values().to_vec();
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
