//! g2 of peaks that overlap: their heights, from a fit of all peaks at once.
//!
//! Peaks of no stated width that fall to 10 % of their height between each other overlap. Those that fall to 0.5 ± 0.1
//! % are apart, if what is left there changes g2(0) by less than a quarter of its error. If a fit cannot tell the
//! heights, the answer has no g2, because a wrong one would be worse.

use serde_json::{Map, Value, json};
use tagq_fit::{
    Bin, CLEAR, Data, Estimate, Fitted, Intervals, Model as _, Noise, Search, Settings, Stop,
    derived_nearby, fit,
    models::{Comb, PeakShape},
};
use tagq_query::{Bins, covariance};
use tagq_store::Tick;

use super::{Peaks, areas::PeakValue, layout::SectionBins};
use crate::requests::histogram::counts::HistogramBlock;

/// Peaks are apart if they fall below this part of their height between each other …
const APART: f64 = 0.01;
/// … with two standard errors, still below this part …
const SURELY_APART: f64 = 0.05;
/// … and if their tails change g2(0) by less than this part of its error.
const BIAS: f64 = 0.25;
/// A number that is so many standard errors from another one differs from it.
const SHOWN: f64 = 2.0;
/// A more complex shape must lower the deviance by so much for each further parameter.
const BETTER: f64 = 9.0;
/// With a larger standard error of 1/h, counts do not tell peaks from a steady background. The mean height h is 1 without a
/// background. The relative error of h itself would be smaller where g2(0) was found too small, and those would be answered.
const TOLD: f64 = 0.15;
/// A bin of less than this has no smaller variance.
const VARIANCE_MIN: f64 = 0.1;
/// Fits of all peaks, each with the variances of the one before.
const ROUNDS: usize = 3;
/// The most peaks of a fit, on each side.
const ASIDE_MAX: i64 = 50;

/// Whether peaks overlap.
pub(super) enum Overlap {
    /// They do not, as far as the counts tell. Has the part of their height to which they fall between each other.
    None(Option<f64>),
    /// They do, and have this shape.
    Fitted(Box<Heights>),
    /// They do, and their heights cannot be told.
    Undetermined {
        /// The part of their height to which they fall between each other.
        valley: f64,
        /// The reason.
        why: String,
    },
}

/// The heights of peaks that overlap.
pub(super) struct Heights {
    pub valley: f64,
    pub values: Vec<PeakValue>,
    comb: Comb,
    /// The standard errors of the counts.
    noise: Noise,
    start: Vec<(String, f64)>,
    fixed: Vec<(String, f64)>,
    fitted: Fitted,
}

/// The counts of all bins, and the counts that steady light would give.
pub(super) struct PeakCounts<'a> {
    pub bins: &'a Bins,
    pub counts: &'a [f64],
    pub expected: &'a [Option<f64>],
}

impl PeakCounts<'_> {
    /// Returns the counts of the bins as those of a fit. A bin holds whole ticks.
    fn data(&self) -> Data {
        let edge = |bin: usize| self.bins.edge(bin) as f64 - 0.5;
        Data {
            bins: (0..self.counts.len()).map(|k| Bin { from: edge(k), to: edge(k + 1) }).collect(),
            values: self.counts.to_vec(),
            noise: Noise::Poisson,
            exposure: Some(self.expected.iter().map(|of| of.unwrap_or(0.0)).collect()),
        }
    }
}

impl Peaks {
    /// Returns the sum of all side peaks, as one period. Peaks beside those that are left out differ, as their tails do.
    fn folded(&self, data: &Data) -> Data {
        let bins = SectionBins::of(self).period();
        let beside = u64::from(self.skip) + u64::from(self.sides > 2);
        let is_used = |peak: &usize| self.number(*peak).unsigned_abs() > beside;
        let used: Vec<usize> = (0..self.count()).filter(is_used).collect();
        let sum = |of: &[f64]| -> Vec<f64> {
            (0..bins).map(|bin| used.iter().map(|peak| of[peak * bins + bin]).sum()).collect()
        };
        let edge = |bin: usize| {
            let of = |&peak: &usize| {
                let at = peak * bins + bin;
                let edge = data.bins.get(at).map_or(data.ends().1, |bin| bin.from);
                edge - self.number(peak) as f64 * self.period
            };
            used.iter().map(of).sum::<f64>() / used.len() as f64
        };
        let edges: Vec<f64> = (0..=bins).map(edge).collect();
        Data {
            bins: edges.windows(2).map(|ends| Bin { from: ends[0], to: ends[1] }).collect(),
            values: sum(&data.values),
            noise: Noise::Poisson,
            exposure: data.exposure.as_deref().map(sum),
        }
    }

    /// Returns whether the peaks overlap, and their heights if they do, with errors from blocks if there are any.
    pub(super) fn overlap(
        &self,
        counted: &PeakCounts<'_>,
        blocks: &[HistogramBlock],
        areas: &[PeakValue],
        stop: Stop<'_>,
    ) -> Overlap {
        let data = counted.data();
        let Some((shape, folded)) = self.shape(&self.folded(&data), stop) else {
            return Overlap::None(None);
        };
        let Some(&Estimate { value: valley, err, .. }) = folded.get("valley") else {
            return Overlap::None(None);
        };
        // A stated width of peaks says that they are apart, unless the counts show that they are not.
        let [least, most] = [-SHOWN, SHOWN].map(|by| valley + by * err.unwrap_or(f64::INFINITY));
        // A shape that is not seen clearly may be chance.
        let is_clear = folded
            .get("height_0")
            .is_some_and(|of| of.err.is_some_and(|err| of.value > CLEAR * err));
        let is_apart = if self.is_stated {
            least < APART || !is_clear
        } else {
            valley < APART && most < SURELY_APART && is_clear
        };
        let zero = areas[self.count() / 2];
        // As much as this is taken for background.
        let tails =
            folded.get("between").map_or(0.0, |of| of.value) * (1.0 - zero.value.unwrap_or(0.0));
        if is_apart && (self.is_stated || zero.err.is_none_or(|err| tails.abs() < BIAS * err)) {
            return Overlap::None(Some(valley));
        }
        let undetermined = |why: &str| {
            if is_apart {
                return Overlap::None(Some(valley));
            }
            let what = if is_clear { "the peaks overlap" } else { "peaks are not seen clearly" };
            let hint = if least < APART || !is_clear {
                "; `peak` W states that all pairs of a peak are within W"
            } else {
                ""
            };
            Overlap::Undetermined { valley, why: format!("{what}, and {why}{hint}") }
        };
        if self.aside() > ASIDE_MAX {
            return undetermined(
                "at most 50 peaks on each side are fitted at once; take fewer `sides`",
            );
        }
        let aside = u32::try_from(self.aside()).unwrap_or(u32::MAX);
        let comb = Comb { shape, period: self.period, aside, skip: self.skip };
        let of_folded = |of: &Estimate| (of.name.clone(), of.value);
        let mut start: Vec<(String, f64)> = folded.parameters.iter().map(of_folded).collect();
        let height = start.pop().map_or(1.0, |(_, height)| height);
        start.extend(
            (-self.aside()..=self.aside()).map(|number| (format!("height_{number}"), height)),
        );
        // Jitter that is not seen is no parameter.
        let is_seen = |of: &&Estimate| of.err.is_none_or(|err| of.value < SHOWN * err);
        let jitter = folded.get("jitter").filter(is_seen).map(|of| ("jitter".into(), of.value));
        let mut heights = Heights {
            valley,
            fixed: jitter.into_iter().collect(),
            values: Vec::new(),
            comb,
            // As if all peaks were equal.
            noise: Noise::Poisson,
            fitted: folded,
            start,
        };
        // Least squares with the variances of the fit before. The last fit has the most likely heights, and a height may be
        // below zero.
        heights.weigh(&data);
        for _ in 0..ROUNDS {
            heights.fitted =
                match heights.again(&Data { noise: heights.noise.clone(), ..data.clone() }, stop) {
                    Ok(fitted) => fitted,
                    Err(error) => {
                        return undetermined(&format!("heights cannot be fitted: {error}"));
                    }
                };
            heights.start =
                heights.fitted.parameters.iter().map(|of| (of.name.clone(), of.value)).collect();
            heights.weigh(&data);
        }
        if heights.fitted.is_misfit() {
            let ratio = heights.fitted.deviance_ratio().unwrap_or(f64::INFINITY);
            return undetermined(&format!(
                "they are no exponentials with jitter: the deviance of their fit is {ratio:.1} times what is expected"
            ));
        }
        let is_told = heights.fitted.get("height").is_some_and(|of| {
            of.value > 0.0 && of.err.is_some_and(|err| err < TOLD * of.value.powi(2))
        });
        if !is_told {
            return undetermined(
                "the counts do not tell the tails of peaks from a steady background",
            );
        }
        let left_out = heights.without_blocks(counted, blocks, stop);
        heights.values = self.heights(&heights, &data, left_out.as_deref(), areas);
        Overlap::Fitted(Box::new(heights))
    }

    /// Returns the simplest shape that describes the side peaks, and its fit; `None` if there are no counts.
    fn shape(&self, folded: &Data, stop: Stop<'_>) -> Option<(PeakShape, Fitted)> {
        let of = |shape: PeakShape, start: Vec<(String, f64)>| {
            let comb = Comb { shape, period: self.period, aside: 0, skip: 0 };
            let settings = Settings {
                start,
                intervals: Intervals::Never,
                search: Search::Rough,
                ..Settings::default()
            };
            Some((shape, fit(&comb, folded, &settings, stop).ok()?))
        };
        let simplest = of(PeakShape::TwoSided, Vec::new())?;
        let is_apart = simplest.1.get("valley").is_none_or(|of| of.value < APART);
        if is_apart && !simplest.1.is_off() {
            return Some(simplest);
        }
        // The others begin near it.
        let found = simplest.1.parameters.iter().map(|of| (of.name.clone(), of.value));
        let found: Vec<(String, f64)> = found.collect();
        let tau = simplest.1.get("tau").map_or(1.0, |of| of.value);
        let starting = |more: &[(&str, f64)]| {
            let more = more.iter().map(|(name, value)| ((*name).to_owned(), *value));
            found.iter().filter(|(name, _)| name != "tau").cloned().chain(more).collect()
        };
        let sides = starting(&[("tau_before", tau), ("tau_after", tau)]);
        let lifetimes =
            starting(&[("tau_1", 2.0 * tau), ("tau_2", tau / 2.0), ("fraction_1", 0.5)]);
        let mut best = simplest;
        for (shape, start, more) in
            [(PeakShape::Sides, sides, 1.0), (PeakShape::TwoLifetimes, lifetimes, 2.0)]
        {
            if let Some(other) = of(shape, start)
                && other.1.deviance + BETTER * more < best.1.deviance
            {
                best = other;
            }
        }
        Some(best)
    }

    /// Returns g2 of each peak.
    fn heights(
        &self,
        heights: &Heights,
        data: &Data,
        left_out: Option<&[Vec<f64>]>,
        areas: &[PeakValue],
    ) -> Vec<PeakValue> {
        let Heights { comb, fitted, .. } = heights;
        let parameters: Vec<f64> = fitted.parameters.iter().map(|of| of.value).collect();
        let layout = SectionBins::of(self);
        let of = |peak: usize| {
            let name = format!("g2_{}", self.number(peak));
            let of = fitted.get(&name)?;
            let by_blocks = left_out.map(|left_out| {
                let values: Vec<f64> = left_out.iter().map(|of| of[peak]).collect();
                covariance(&values, &values)
            });
            let by_formula = of.err.map(|err| err * err * self.times());
            let variance = by_blocks.or(by_formula).map(|variance| variance + areas[peak].of_pair);
            let bins = layout.section(Self::section(peak));
            let height = format!("height_{}", self.number(peak));
            let at = fitted.parameters.iter().position(|of| of.name == height)?;
            let slope = comb.slope(&parameters, at, &data.bins)?;
            let own = |bin: usize| parameters[at] * slope[bin] * data.exposure(bin);
            let background = bins.map(|bin| fitted.curve[bin] - own(bin)).sum();
            Some(PeakValue {
                value: Some(of.value),
                err: variance.map(f64::sqrt),
                background: Some(background),
                ..PeakValue::default()
            })
        };
        (0..self.count()).map(|peak| of(peak).unwrap_or_default()).collect()
    }
}

impl Heights {
    /// Takes the counts at the start for the variances of the bins. A height that was found below zero is that of no pairs:
    /// with its smaller variances the bins around it would hold it there.
    fn weigh(&mut self, data: &Data) {
        let least = |name: &str| if name.starts_with("height") { 0.0 } else { f64::NEG_INFINITY };
        let start: Vec<f64> =
            self.start.iter().map(|(name, value)| value.max(least(name))).collect();
        let mut curve = vec![0.0; data.bins.len()];
        // A model of this crate does not fail.
        let _ = self.comb.predict(&start, &data.bins, &mut curve);
        let mean = |(bin, mean): (usize, &f64)| mean * data.exposure(bin);
        let err = |mean: f64| mean.max(VARIANCE_MIN).sqrt();
        self.noise = Noise::Normal(curve.iter().enumerate().map(mean).map(err).collect());
    }

    fn again(&self, data: &Data, stop: Stop<'_>) -> Result<Fitted, tagq_fit::Error> {
        let (start, fixed) = (self.start.clone(), self.fixed.clone());
        fit(
            &self.comb,
            data,
            &Settings { start, fixed, intervals: Intervals::Never, search: Search::Rough },
            stop,
        )
    }

    /// Returns the counts of each bin by the fit.
    pub(super) fn fitted_counts(&self) -> &[f64] {
        &self.fitted.curve
    }

    /// Whether the deviance shows that the shape is not quite this one.
    pub(super) fn is_off(&self) -> bool {
        self.fitted.is_off()
    }

    /// Returns g2 of all peaks without each block; `None` without blocks.
    fn without_blocks(
        &self,
        counted: &PeakCounts<'_>,
        blocks: &[HistogramBlock],
        stop: Stop<'_>,
    ) -> Option<Vec<Vec<f64>>> {
        let without = |block: &HistogramBlock| -> Option<Vec<f64>> {
            let left = block.expected_without.as_deref()?;
            let of = |bin: usize| {
                let longer = counted.expected[bin].zip(left[bin]).map(|(all, left)| all / left);
                let longer = longer.filter(|longer| longer.is_finite()).unwrap_or(0.0);
                (counted.counts[bin] - block.counts[bin] as f64) * longer
            };
            Some((0..counted.counts.len()).map(of).collect())
        };
        let values: Option<Vec<Vec<f64>>> = blocks.iter().map(without).collect();
        let values = values.filter(|values| values.len() > 1)?;
        let data = Data { noise: self.noise.clone(), ..counted.data() };
        let all = derived_nearby(&self.comb, &data, &self.fitted, &values, stop)?;
        // The first number is the mean height.
        Some(all.into_iter().map(|of| of[1..].to_vec()).collect())
    }

    /// Returns the shape as an answer states it.
    pub(super) fn shape(&self, tick: Tick) -> Value {
        let form = match self.comb.shape {
            PeakShape::TwoSided => "two-sided exponential",
            PeakShape::Sides => "exponentials of two lifetimes, one on each side",
            PeakShape::TwoLifetimes => "two-sided exponentials of two lifetimes",
        };
        let mut of = Map::new();
        of.insert("form".into(), form.into());
        for Estimate { name, value, err, .. } in self.of_shape() {
            let is_time = name.starts_with("tau") || name == "jitter" || name == "centre";
            let (unit, factor) = if is_time { ("_s", tick.seconds()) } else { ("", 1.0) };
            of.insert(format!("{name}{unit}"), json!(value * factor));
            of.insert(format!("{name}_err{unit}"), json!(err.map(|err| err * factor)));
        }
        of.insert("deviance_ratio".into(), json!(self.fitted.deviance_ratio()));
        Value::Object(of)
    }

    /// Returns the background and the parameters of the shape.
    pub(super) fn of_shape(&self) -> impl Iterator<Item = &Estimate> {
        self.fitted.parameters.iter().filter(|of| !of.name.starts_with("height"))
    }
}
