//! The answer of a fit.
//!
//! Of 300 regions, the header has the range of their deviances in place of 300 sentences, and the first ten notes are said.

use serde_json::{Map, Value, json};
use tagq_ask::{Answer, FigureKind, SeriesOf};
use tagq_fit::{
    CLEAR, Data, Error as FitError, Estimate, FOUND, Fitted, Intervals, Model, Settings,
    Significance, fit,
    lifetimes::{ResponseOf, after_response},
    models::{EXPONENTIALS_MAX, first_photons},
};
use tagq_run::{Progress, counted};

use super::{
    fitted::{FittedOne, drawn, is_of_series, rows, smooth},
    methods,
    observed::{AllObserved, Axis, Observed},
    request::{Exponentials, Fit, Instrument},
};

use crate::error::Error;

/// More photons a pulse are noted.
const PILE_UP_NOTED: f64 = 0.005;
/// What helps a decay that is fitted without a response of the instrument.
const NO_RESPONSE: &str = ". The response of the instrument is not in the model: leave out the rise with `between` or \
                           `irf` tail, or give the response with `irf` or `irf_channel`; `irf` auto is a Gaussian";
/// What may help a decay that is fitted with a Gaussian as the response.
const NO_GAUSSIAN: &str = ". A Gaussian may not be the response of the instrument: give a measured one with `irf` or `irf_channel`, \
                           or leave it out with `irf` tail";
/// So many fits have their words in the header, and so many notes are said.
const TOLD: usize = 8;
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
                fit(self.model, &observed.data, &self.settings, &|| progress.is_cancelled());
            let fitted = of_series(fitted)?;
            let smooth = fitted.as_ref().ok().and_then(|of| smooth(self.model, &observed.data, of));
            all.push(FittedOne { observed, fitted, from: None, smooth });
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
            notes: Vec::new(),
            progress,
        };
        of.answer(answer, query, all)
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
        let stop = || progress.is_cancelled();
        let series = series.into_iter().map(|of| self.prepared(of, axis, instrument, &stop));
        let series = series.collect::<Result<Vec<_>, Error>>()?;
        let fitted = |exponentials: usize, data: &Data| -> Result<_, Error> {
            let model = self.model(data, axis, exponentials, instrument)?;
            let settings = self.settings(&*model, data, axis)?;
            let fitted = of_series(fit(&*model, data, &settings, &stop))?;
            Ok((model, fitted))
        };
        let exponentials = match self.exponentials() {
            Exponentials::Number(number) => number,
            Exponentials::Auto => {
                let mut most = 1;
                for Prepared { observed, .. } in series.iter().filter(|of| of.error.is_none()) {
                    let has = |number: usize| -> Result<bool, Error> {
                        let (_, fitted) = fitted(number, &observed.data)?;
                        let found = fitted.ok().and_then(|of| of.significance);
                        Ok(found.is_some_and(|of| of.sigmas >= FOUND))
                    };
                    while most < EXPONENTIALS_MAX && has(most + 1)? {
                        most += 1;
                    }
                }
                most
            }
        };
        let is_pile_up = series.iter().any(|of| of.is_corrected);
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        for Prepared { observed, from, per_pulse, is_corrected, error } in series {
            if let Some(error) = error {
                all.push(FittedOne { observed, fitted: Err(error), from, smooth: None });
                continue;
            }
            let (model, fitted) = fitted(exponentials, &observed.data)?;
            if let (Ok(fitted), true) = (&fitted, is_corrected && per_pulse >= PILE_UP_NOTED) {
                // The fit without the correction is near.
                let other = Data { exposure: None, ..observed.data.clone() };
                let found = fitted.parameters.iter().filter(|of| !of.is_fixed && !of.is_absent);
                let settings = Settings {
                    start: found.map(|of| (of.name.clone(), of.value)).collect(),
                    intervals: Intervals::Never,
                    ..self.settings(&*model, &other, axis)?
                };
                let other = fit(&*model, &other, &settings, &stop)?;
                let of = of_series_named(&observed.of);
                notes.push(format!("{of}{}", pile_up_note(per_pulse, fitted, &other)));
            }
            // The bins of a decay are those of the response.
            let smooth = fitted
                .as_ref()
                .ok()
                .filter(|_| self.of.name != "decay")
                .and_then(|of| smooth(&*model, &observed.data, of));
            all.push(FittedOne { observed, fitted, from, smooth });
        }
        let mut query = Map::from_iter([("kind".to_owned(), json!("fit"))]);
        query.insert("model".into(), self.of.name.into());
        query.extend(self.stated()?);
        query.insert("period_s".into(), json!(instrument.period));
        query.insert("fitted".into(), answer.query.clone());
        query.retain(|_, value| !value.is_null());
        let named = (self.of.name, self.of.title);
        let described = self.options.methods.then(|| methods::instrument(instrument, is_pile_up));
        let instead = match &instrument.response {
            None if self.of.name == "decay" => NO_RESPONSE,
            Some(ResponseOf::Auto) => NO_GAUSSIAN,
            _ => "",
        };
        let of = FitOf {
            axis,
            labels,
            is_ratio,
            is_logarithmic,
            named,
            instead,
            described,
            notes,
            progress,
        };
        let mut fitted = of.answer(answer, query.into(), all)?;
        let mut stated = self.stated()?;
        stated.insert("model".into(), self.of.name.into());
        fitted.provenance.fit = Some(stated);
        Ok(fitted)
    }

    /// Returns the values as they are fitted: with the pulses that each bin can see, in the range that is asked for, and without the
    /// response that is left out.
    fn prepared(
        &self,
        mut observed: Observed,
        axis: Axis,
        instrument: &Instrument,
        stop: &dyn Fn() -> bool,
    ) -> Result<Prepared, Error> {
        let is_decay = self.of.name == "decay";
        let is_corrected = self.options.pile_up.as_deref() != Some("ignored");
        let pulses = instrument.period.filter(|_| is_decay).zip(observed.live_s);
        let seen = pulses
            .and_then(|(period, live_s)| first_photons(&observed.data, live_s / period, period));
        let (seen, per_pulse) = seen.unzip();
        let is_corrected = seen.is_some() && is_corrected;
        observed.data.exposure = seen.filter(|_| is_corrected).or(observed.data.exposure);
        if let Some((from, to)) = self.between(axis)? {
            observed.data = observed.data.between(from, to)?;
        }
        if is_decay {
            observed.data.width()?;
        }
        let (mut from, mut error) = (None, None);
        if let Some(ResponseOf::Tail) = instrument.response {
            match of_series(after_response(&observed.data, instrument.period, stop))? {
                Ok((data, end)) => {
                    observed.data = data;
                    from = Some(end);
                }
                Err(of) => error = Some(of),
            }
        }
        let per_pulse = per_pulse.unwrap_or(0.0);
        Ok(Prepared { observed, from, per_pulse, is_corrected, error })
    }
}

/// The values of one series as they are fitted.
struct Prepared {
    observed: Observed,
    /// Where the response ended that is left out.
    from: Option<f64>,
    /// Photons a pulse, and whether those that others hide are corrected for.
    per_pulse: f64,
    is_corrected: bool,
    /// Why there is no fit.
    error: Option<FitError>,
}

/// Returns an error that leaves the fits of other series as they are, in place of failing.
fn of_series<T>(result: Result<T, FitError>) -> Result<Result<T, FitError>, Error> {
    match result {
        Err(error) if !is_of_series(&error) => Err(error.into()),
        result => Ok(result),
    }
}

/// Returns the beginning of a note that names a series.
fn of_series_named(of: &SeriesOf) -> String {
    let channels = |group: &[u16]| {
        let group = group.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        format!("channel {group}")
    };
    of.name(channels).map_or_else(String::new, |name| format!("{name}: "))
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
    /// Notes on the series.
    notes: Vec<String>,
    progress: &'a dyn Progress,
}

impl FitOf<'_> {
    fn answer(
        mut self,
        answer: &Answer,
        query: Value,
        all: Vec<FittedOne>,
    ) -> Result<Answer, Error> {
        if all.iter().all(|one| one.fitted.is_err()) {
            let error = all.into_iter().find_map(|one| one.fitted.err());
            return Err(error.unwrap_or(FitError::Empty).into());
        }
        for FittedOne { observed, fitted, .. } in &all {
            let of = of_series_named(&observed.of);
            match fitted {
                Ok(fitted) => self.note(&of, fitted),
                Err(error) => self.notes.push(format!("{of}no fit: {error}")),
            }
        }
        for note in self.notes.iter().take(TOLD) {
            self.progress.note(note);
        }
        if let Some(more) = self.notes.len().checked_sub(TOLD).filter(|more| *more > 0) {
            let more = counted(more as u64, "note");
            self.progress.note(&format!("{more} more of other channels or regions"));
        }
        if matches!(&answer.figure, Some(FigureKind::Scan { is_time: true, .. })) {
            self.progress.note(
                "the values of this scan are counted from the same tags: where windows overlap, errors of the fit are too small, and a \
                 peak is wider by the window",
            );
        }
        let header = format!("fit of {}: {}; {}", self.named.0, words(&all), answer.header);
        let rows = rows(self.axis, &all).with_names(&answer.run.names);
        let series = all.into_iter().filter_map(drawn).collect();
        let figure = FigureKind::Fit {
            title: self.named.1.to_owned(),
            labels: self.labels.clone(),
            is_time: matches!(self.axis, Axis::Time(_)),
            is_ratio: self.is_ratio,
            is_logarithmic: self.is_logarithmic,
            series,
        };
        Ok(Answer {
            header,
            query,
            run: answer.run.clone(),
            singles: None,
            rows,
            total: None,
            provenance: answer.provenance.clone(),
            figure: Some(figure),
        })
    }

    /// Notes what a reader of the numbers has to know.
    fn note(&mut self, of: &str, fitted: &Fitted) {
        let mut note = |text: String| self.notes.push(format!("{of}{text}"));
        if let Some(Significance { name, sigmas, amplitude, limit: Some(limit), .. }) =
            &fitted.significance
        {
            note(format!(
                "no {name}: its significance, with the search for its place, is {sigmas:.2} standard deviations, below {FOUND}; \
                 {amplitude} is below {limit:.4} at 95 %. The values are those of a fit without it"
            ));
        }
        if let Some(Significance { name, sigmas, amplitude, .. }) = &fitted.significance
            && (FOUND..CLEAR).contains(sigmas)
        {
            note(format!(
                "{name} of {sigmas:.2} standard deviations: what a search finds below {CLEAR} is too large on average. The interval of \
                 {amplitude} allows for this; numbers that follow from several parameters have no errors"
            ));
        }
        let is_open = |of: &Estimate| {
            of.err.is_none() && of.interval.is_none() && !of.is_fixed && !of.is_absent
        };
        let open = fitted.parameters.iter().filter(|of| is_open(of)).map(|of| &*of.name);
        let open = open.collect::<Vec<_>>().join(", ");
        if !open.is_empty() && !fitted.is_misfit() {
            note(format!("the counts do not determine {open}: fix some, or fit a simpler model"));
        }
        if fitted.is_off() {
            let errors = if fitted.is_misfit() {
                "no errors are given"
            } else {
                "errors are too small then"
            };
            note(format!(
                "the model does not describe the counts: the deviance is {:.0}, and {:.0} ± {:.0} are expected; {errors}. The \
                 residuals in the figure (--plot) show where{}",
                fitted.deviance, fitted.deviance_expected, fitted.deviance_spread, self.instead
            ));
        }
        if let Some(with) = &self.described {
            note(methods::sentence(self.named.1, with, fitted));
        }
    }
}

/// Says how well the model describes the counts of each series; of many, their range.
fn words(all: &[FittedOne]) -> String {
    let fits: Vec<&Fitted> = all.iter().filter_map(FittedOne::fitted).collect();
    if fits.len() > TOLD {
        let ratios = || fits.iter().filter_map(|of| of.deviance_ratio());
        let (low, high) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        return format!("{} fits, deviance/expected {low:.3} to {high:.3}", fits.len());
    }
    let words = fits.into_iter().map(|fitted| {
        let Fitted { deviance, deviance_expected, deviance_spread, degrees, significance, .. } =
            fitted;
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
    words.collect::<Vec<_>>().join(", ")
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
