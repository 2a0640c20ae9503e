//! The answer of a fit.

use serde_json::{Map, Value, json};
use tagq_ask::{Answer, Cell, CellType, Cells, Column, FigureKind, FittedSeries, Table, Unit};
use tagq_fit::{
    Bin, CLEAR, Data, Estimate, FOUND, Fitted, Intervals, Model, Quantity, Settings, Significance,
    fit,
    models::{EXPONENTIALS_MAX, first_photons},
};
use tagq_run::Progress;

use super::{
    methods,
    observed::{AllObserved, Axis, Observed},
    request::{Exponentials, Fit, Instrument},
};

use crate::error::Error;

/// A curve over fewer values is drawn at so many places.
const SMOOTH: usize = 200;
/// More photons a pulse are noted.
const PILE_UP_NOTED: f64 = 0.005;
/// What helps a decay that is fitted without a response of the instrument.
const NO_RESPONSE: &str = ". The response of the instrument is not in the model: leave out the rise with `between`, or give the \
                           response with `irf` or `irf_channel`";
/// A correlation of two parameters that is noted.
const CORRELATED: f64 = 0.9;

/// A model of the caller's own, with its name and its settings.
pub struct OwnModel<'a> {
    /// The name.
    pub name: String,
    /// The model.
    pub model: &'a dyn Model,
    /// Fixed and starting values.
    pub settings: Settings,
    /// The range of the axis that is fitted, in seconds or in units of the setting.
    pub between: Option<(f64, f64)>,
}

impl std::fmt::Debug for OwnModel<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnModel").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The fit of one channel or group.
struct FittedOne {
    observed: Observed,
    fitted: Fitted,
    /// The curve at more places than there are values, if these are few.
    smooth: Option<Curve>,
}

/// Start, end and value of the bins of a curve.
type Curve = Vec<(f64, f64, Option<f64>)>;

impl FittedOne {
    fn of(model: &dyn Model, observed: Observed, fitted: Fitted) -> Self {
        let smooth = smooth(model, &observed.data, &fitted);
        Self { observed, fitted, smooth }
    }
}

/// Returns the curve at many places if there are few values, which are points or bins of one width. The middles of all bins are
/// among these places.
fn smooth(model: &dyn Model, data: &Data, fitted: &Fitted) -> Option<Curve> {
    let (first, last) = (data.bins.first()?, data.bins.last()?);
    let is_even =
        data.bins.iter().all(|bin| (bin.width() - first.width()).abs() < 1e-9 * bin.width());
    if data.bins.len() >= SMOOTH || !(first.width() <= 0.0 || is_even) {
        return None;
    }
    let each = SMOOTH.div_ceil(data.bins.len());
    let between = data.bins.windows(2).flat_map(|pair| {
        let step = (pair[1].middle() - pair[0].middle()) / each as f64;
        (0..each).map(move |k| (step.mul_add(k as f64, pair[0].middle()), step))
    });
    let places: Vec<(f64, f64)> = between.chain([(last.middle(), 0.0)]).collect();
    let half = first.width() / 2.0;
    let bins: Vec<Bin> =
        places.iter().map(|(middle, _)| Bin { from: middle - half, to: middle + half }).collect();
    let parameters: Vec<f64> = fitted.parameters.iter().map(|of| of.value).collect();
    let mut values = vec![0.0; bins.len()];
    model.predict(&parameters, &bins, &mut values).ok()?;
    let drawn = |((middle, step), value): (&(f64, f64), f64)| {
        (middle - step / 2.0, middle + step / 2.0, Some(value))
    };
    Some(places.iter().zip(values).map(drawn).collect())
}

impl OwnModel<'_> {
    /// Fits the model to the rows of an answer.
    ///
    /// # Errors
    /// Those of [`Fit::answer`].
    pub fn fit(&self, answer: &Answer, progress: &dyn Progress) -> Result<Answer, Error> {
        let AllObserved { axis, labels, is_ratio, is_logarithmic, series } =
            AllObserved::of(answer)?;
        let mut all = Vec::new();
        for mut observed in series {
            if let Some((from, to)) = self.between {
                observed.data = observed.data.between(from, to)?;
            }
            let fitted =
                fit(self.model, &observed.data, &self.settings, &|| progress.is_cancelled())?;
            all.push(FittedOne::of(self.model, observed, fitted));
        }
        let named = |settings: &[(String, f64)]| -> Map<String, Value> {
            settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
        };
        let query = json!({
            "kind": "fit",
            "model": self.name,
            "fix": named(&self.settings.fixed),
            "start": named(&self.settings.start),
            "between": self.between,
            "fitted": answer.query,
        });
        let title = format!("Fit of {}", self.name);
        let of = FitOf {
            axis,
            labels,
            is_ratio,
            is_logarithmic,
            named: (&self.name, &title),
            instead: "",
            described: None,
            progress,
        };
        Ok(of.answer(answer, query, all))
    }
}

impl Fit {
    /// Fits the model to an answer with a response and a period, both on its axis.
    pub(super) fn to(
        &self,
        answer: &Answer,
        instrument: &Instrument,
        progress: &dyn Progress,
    ) -> Result<Answer, Error> {
        let AllObserved { axis, labels, is_ratio, is_logarithmic, series } =
            AllObserved::of(answer)?;
        let is_decay = self.of.name == "decay";
        let is_corrected = self.options.pile_up.as_deref() != Some("ignored");
        let (mut all_data, mut is_pile_up) = (Vec::new(), false);
        for mut observed in series {
            let period = instrument.period.filter(|_| is_decay);
            let seen = period.and_then(|period| {
                first_photons(&observed.data, answer.run.live_s / period, period)
            });
            let (seen, per_pulse) = seen.unzip();
            is_pile_up |= seen.is_some() && is_corrected;
            observed.data.exposure = seen.filter(|_| is_corrected).or(observed.data.exposure);
            if let Some((from, to)) = self.between(axis)? {
                observed.data = observed.data.between(from, to)?;
            }
            if is_decay {
                observed.data.width()?;
            }
            all_data.push((observed, per_pulse.unwrap_or(0.0)));
        }
        let fitted = |exponentials: usize, data: &Data| -> Result<_, Error> {
            let model = self.model(data, axis, exponentials, instrument)?;
            let settings = self.settings(&*model, data, axis)?;
            let fitted = fit(&*model, data, &settings, &|| progress.is_cancelled())?;
            Ok((model, fitted))
        };
        let exponentials = match self.exponentials() {
            Exponentials::Number(number) => number,
            Exponentials::Auto => {
                let mut most = 1;
                for (observed, _) in &all_data {
                    let has = |number: usize| -> Result<bool, Error> {
                        let (_, fitted) = fitted(number, &observed.data)?;
                        Ok(fitted.significance.is_some_and(|of| of.sigmas >= FOUND))
                    };
                    while most < EXPONENTIALS_MAX && has(most + 1)? {
                        most += 1;
                    }
                }
                most
            }
        };
        let mut all = Vec::new();
        for (observed, per_pulse) in all_data {
            let (model, fitted_one) = fitted(exponentials, &observed.data)?;
            if is_corrected && per_pulse >= PILE_UP_NOTED {
                // The fit without the correction is near.
                let other = Data { exposure: None, ..observed.data.clone() };
                let found = fitted_one.parameters.iter().filter(|of| !of.is_fixed && !of.is_absent);
                let settings = Settings {
                    start: found.map(|of| (of.name.clone(), of.value)).collect(),
                    intervals: Intervals::Never,
                    ..self.settings(&*model, &other, axis)?
                };
                let other = fit(&*model, &other, &settings, &|| progress.is_cancelled())?;
                progress.note(&pile_up_note(per_pulse, &fitted_one, &other));
            }
            let fitted = fitted_one;
            let one = if is_decay {
                // Its bins are those of the response.
                FittedOne { observed, fitted, smooth: None }
            } else {
                FittedOne::of(&*model, observed, fitted)
            };
            all.push(one);
        }
        let mut query = Map::from_iter([("kind".to_owned(), json!("fit"))]);
        query.insert("model".into(), self.of.name.into());
        query.extend(self.stated()?);
        query.insert("period_s".into(), json!(instrument.period));
        query.insert("fitted".into(), answer.query.clone());
        query.retain(|_, value| !value.is_null());
        let named = (self.of.name, self.of.title);
        let described = self.options.methods.then(|| methods::instrument(instrument, is_pile_up));
        let has_response = self.options.irf.is_some() || self.options.irf_channel.is_some();
        let instead = if is_decay && !has_response { NO_RESPONSE } else { "" };
        let of =
            FitOf { axis, labels, is_ratio, is_logarithmic, named, instead, described, progress };
        let mut fitted = of.answer(answer, query.into(), all);
        let mut stated = self.stated()?;
        stated.insert("model".into(), self.of.name.into());
        fitted.provenance.fit = Some(stated);
        Ok(fitted)
    }
}

/// Says how much pile-up changes the lifetimes: those of the corrected fit are compared with those of the uncorrected one.
fn pile_up_note(per_pulse: f64, fitted: &Fitted, uncorrected: &Fitted) -> String {
    let change = |of: &Estimate| {
        let other = uncorrected.get(&of.name).filter(|other| !other.is_absent)?;
        Some(format!("{} {:+.2} %", of.name, 100.0 * (of.value / other.value - 1.0)))
    };
    let taus = fitted.parameters.iter();
    let taus = taus.filter(|of| of.name.starts_with("tau") && !of.is_absent && !of.is_fixed);
    let changes = taus.filter_map(change).collect::<Vec<_>>().join(", ");
    format!(
        "{:.1} % photons a pulse: the first photon of a pulse hides later ones (pile-up); the fit corrects this, which changes \
         {changes}. --pile-up ignored leaves it out",
        100.0 * per_pulse
    )
}

/// The fits of an answer.
struct FitOf<'a> {
    axis: Axis,
    labels: [String; 2],
    is_ratio: bool,
    is_logarithmic: bool,
    /// The name of the model, and the title of the figure.
    named: (&'a str, &'a str),
    /// What to try if the model does not describe the counts, as a sentence.
    instead: &'static str,
    /// The instrument and the method of the fits, if they are described for a publication.
    described: Option<String>,
    progress: &'a dyn Progress,
}

impl FitOf<'_> {
    fn answer(self, answer: &Answer, query: Value, all: Vec<FittedOne>) -> Answer {
        for FittedOne { observed, fitted, .. } in &all {
            self.note(observed, fitted);
        }
        if matches!(&answer.figure, Some(FigureKind::Scan { is_time: true, .. })) {
            self.progress.note(
                "the values of this scan are counted from the same tags: where windows overlap, errors of the fit are too small, and a \
                 peak is wider by the window",
            );
        }
        let words = all.iter().map(|FittedOne { fitted, .. }| {
            let Fitted {
                deviance,
                deviance_expected,
                deviance_spread,
                degrees,
                significance,
                ..
            } = fitted;
            let found = significance.as_ref().map(|of| {
                let Significance { name, against, sigmas, .. } = of;
                let no = if *sigmas < FOUND { "no " } else { "" };
                format!("{no}{name} against {against}: {sigmas:.1} sigmas; ")
            });
            let found = found.unwrap_or_default();
            let (correlated, intervals) = (correlated(fitted), intervals(fitted));
            format!(
                "{found}deviance {deviance:.1}, {deviance_expected:.1} ± {deviance_spread:.1} expected \
                 ({degrees} degrees of freedom){intervals}{correlated}"
            )
        });
        let header = format!(
            "fit of {}: {}; {}",
            self.named.0,
            words.collect::<Vec<_>>().join(", "),
            answer.header
        );
        let rows = self.rows(&all).with_names(&answer.run.names);
        let series = all.into_iter().map(drawn).collect();
        let figure = FigureKind::Fit {
            title: self.named.1.to_owned(),
            labels: self.labels.clone(),
            is_time: matches!(self.axis, Axis::Time(_)),
            is_ratio: self.is_ratio,
            is_logarithmic: self.is_logarithmic,
            series,
        };
        Answer {
            header,
            query,
            run: answer.run.clone(),
            singles: None,
            rows,
            total: None,
            provenance: answer.provenance.clone(),
            figure: Some(figure),
        }
    }

    /// Notes what a reader of the numbers has to know.
    fn note(&self, observed: &Observed, fitted: &Fitted) {
        let group = observed.group.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        let of = if group.is_empty() { group } else { format!("channel {group}: ") };
        if let Some(Significance { name, sigmas, amplitude, limit: Some(limit), .. }) =
            &fitted.significance
        {
            self.progress.note(&format!(
                "{of}no {name}: its significance, with the search for its place, is {sigmas:.2} standard deviations, below {FOUND}; \
                 {amplitude} is below {limit:.4} at 95 %. The values are those of a fit without it"
            ));
        }
        if let Some(Significance { name, sigmas, amplitude, .. }) = &fitted.significance
            && (FOUND..CLEAR).contains(sigmas)
        {
            self.progress.note(&format!(
                "{of}{name} of {sigmas:.2} standard deviations: what a search finds below {CLEAR} is too large on average. The interval of \
                 {amplitude} allows for this; numbers that follow from several parameters have no errors"
            ));
        }
        let is_open = |of: &Estimate| {
            of.err.is_none() && of.interval.is_none() && !of.is_fixed && !of.is_absent
        };
        let open = fitted.parameters.iter().filter(|of| is_open(of)).map(|of| &*of.name);
        let open = open.collect::<Vec<_>>().join(", ");
        if !open.is_empty() && !fitted.is_misfit() {
            self.progress.note(&format!(
                "{of}the counts do not determine {open}: fix some, or fit a simpler model"
            ));
        }
        if fitted.is_off() {
            let errors = if fitted.is_misfit() {
                "no errors are given"
            } else {
                "errors are too small then"
            };
            self.progress.note(&format!(
                "{of}the model does not describe the counts: the deviance is {:.0}, and {:.0} ± {:.0} are expected; {errors}. The \
                 residuals in the figure (--plot) show where{}",
                fitted.deviance, fitted.deviance_expected, fitted.deviance_spread, self.instead
            ));
        }
        if let Some(with) = &self.described {
            self.progress.note(&format!("{of}{}", methods::sentence(self.named.1, with, fitted)));
        }
    }

    fn rows(&self, all: &[FittedOne]) -> Table {
        let mut table = Table::default();
        let Some(first) = all.first() else { return table };
        if let Some((key, cell)) = &first.observed.key {
            let cells: Vec<Cell> = all
                .iter()
                .map(|one| {
                    one.observed.key.as_ref().map_or(Cell::Missing, |(_, cell)| cell.clone())
                })
                .collect();
            let is_list = matches!(cell, Cell::List(_));
            let column = Column::of_cells(*key, CellType::Channel, cells.into());
            table = table.with(Column { is_list, ..column }.key());
        }
        let numbers = first.fitted.parameters.len() + first.fitted.derived.len();
        for number in 0..numbers {
            let of = |one: &FittedOne| {
                let both = one.fitted.parameters.iter().chain(&one.fitted.derived);
                both.clone().nth(number).cloned()
            };
            let Some(named) = of(first) else { continue };
            let (key, unit) = match named.quantity {
                Quantity::Place => (self.axis.key(&named.name), self.axis.unit()),
                Quantity::Value | Quantity::Ratio => (named.name.clone(), Unit::None),
            };
            let err_key = format!("{key}_err");
            let value = |one: &FittedOne| of(one).filter(|of| !of.is_absent).map(|of| of.value);
            let values: Vec<Option<f64>> = all.iter().map(value).collect();
            let errors: Vec<Option<f64>> = all.iter().map(|one| of(one)?.err).collect();
            let ends: [fn((f64, f64)) -> f64; 2] = [|(low, _)| low, |(_, high)| high];
            let ends = ends.map(|end| -> Vec<Option<f64>> {
                all.iter().map(|one| of(one)?.interval.map(end)).collect()
            });
            let value = Column::floats(key.clone(), values.into());
            let value = value.heading(named.name.clone()).unit(unit);
            let [low_key, high_key] = ["low", "high"].map(|end| format!("{key}_{end}"));
            let value = value.err(err_key.clone()).ends(low_key.clone(), high_key.clone());
            table = table.with(value).with(Column::floats(err_key, errors.into()).hidden());
            for (key, values) in [low_key, high_key].into_iter().zip(ends) {
                table = table.with(Column::floats(key, values.into()).hidden());
            }
        }
        if let Some(amplitude) =
            first.fitted.significance.as_ref().map(|of| format!("{}_limit", of.amplitude))
        {
            let column = |value: fn(&Significance) -> Option<f64>| {
                let of = |one: &FittedOne| one.fitted.significance.as_ref().and_then(value);
                Cells::from(all.iter().map(of).collect::<Vec<_>>())
            };
            table = table
                .with(Column::floats(amplitude, column(|of| of.limit)))
                .with(Column::floats("sigmas", column(|of| Some(of.sigmas))).unit(Unit::Brief))
                .with(
                    Column::floats("likelihood_ratio", column(|of| Some(of.likelihood_ratio)))
                        .hidden(),
                );
        }
        let of = |value: fn(&Fitted) -> Option<f64>| -> Cells<Option<f64>> {
            all.iter().map(|one| value(&one.fitted)).collect::<Vec<_>>().into()
        };
        let degrees: Vec<u64> = all.iter().map(|one| one.fitted.degrees as u64).collect();
        let ratio = Column::floats("deviance_ratio", of(Fitted::deviance_ratio));
        table
            .with(Column::floats("deviance", of(|of| Some(of.deviance))).hidden())
            .with(Column::floats("deviance_expected", of(|of| Some(of.deviance_expected))).hidden())
            .with(Column::counts("degrees", Cells::from(degrees)).hidden())
            .with(ratio.heading("deviance/expected").unit(Unit::Brief))
    }
}

/// Says why intervals stand in place of errors.
fn intervals(fitted: &Fitted) -> String {
    let all = || fitted.parameters.iter();
    if all().all(|of| of.interval.is_none()) || all().any(|of| of.err.is_some()) {
        return String::new();
    }
    let at_bound: Vec<&str> = all().filter(|of| of.is_at_bound).map(|of| &*of.name).collect();
    let why = if at_bound.is_empty() {
        "a parameter is within three errors of a bound, or a width or lifetime is not known to a tenth".to_owned()
    } else {
        format!("{} is at its bound", at_bound.join(" and "))
    };
    format!("; intervals of 68.3 % by profile likelihood, because {why}")
}

/// Names the pairs of parameters that are much correlated.
fn correlated(fitted: &Fitted) -> String {
    let much = fitted.correlations.iter().filter(|(_, _, of)| of.abs() > CORRELATED);
    let pairs = much.map(|&(one, other, of)| {
        let [one, other] = [one, other].map(|of| &fitted.parameters[of].name);
        format!("{one} and {other} by {of:.3}")
    });
    let pairs = pairs.collect::<Vec<_>>().join(", ");
    if pairs.is_empty() { pairs } else { format!("; errors are correlated: {pairs}") }
}

/// Returns the values and the curve as they are drawn.
fn drawn(one: FittedOne) -> FittedSeries {
    let FittedOne { observed: Observed { group, data, .. }, fitted, smooth } = one;
    let values = (0..data.bins.len()).map(|k| {
        let exposure = data.exposure(k);
        let err = data.noise.err(k).unwrap_or_else(|| data.values[k].max(1.0).sqrt());
        (exposure > 0.0).then(|| [data.values[k] / exposure, err / exposure])
    });
    let values = values.collect();
    let of_bins = fitted.curve.iter().zip(&data.bins).enumerate().map(|(k, (mean, bin))| {
        let exposure = data.exposure(k);
        (bin.from, bin.to, (exposure > 0.0).then(|| mean / exposure))
    });
    let curve = smooth.unwrap_or_else(|| of_bins.collect());
    FittedSeries {
        group,
        values,
        curve,
        bins: data.bins.iter().map(|bin| (bin.from, bin.to)).collect(),
        residuals: fitted.residuals,
    }
}
