//! Asking runs, and fitting their answer; the response of an instrument comes from another channel, another run or a
//! text file.
//!
//! A response is asked with the options of the decay, except for its channel, so that the bins of both are equal.
//! Counts in a text begin at the first bin of the decay and have its width.

use std::path::Path;

use serde_json::Value;
use tagq_ask::{
    Answer, Question,
    requests::{
        Channel, OptionValues, QueryContext, Request, counted_response, is_response_text,
        response_of, response_of_text,
    },
};
use tagq_run::{OpenOptions, Progress, RequestError, Run, Silent, open};

use super::{
    observed::AllObserved,
    request::{Fit, Instrument},
};

use crate::error::Error;

impl Fit {
    /// Asks runs, whose counts are added up, and fits the answer.
    ///
    /// # Errors
    /// Those of the request; [`tagq_run::RequestError`] if its answer has no value for each bin, [`Error::Fit`].
    pub fn ask(
        &self,
        question: &Question,
        runs: &[(&Run, &QueryContext<'_>)],
    ) -> Result<Answer, Error> {
        let question = with_covariance(question)?.settled(runs)?;
        let name = question.of().name;
        let answer = question.request()?.sum(runs)?;
        let mut instrument = self.instrument(&answer)?;
        let Some(&(run, context)) = runs.first() else {
            return Err(RequestError::Runs("a fit is of a run".into()).into());
        };
        if self.of.name == "decay" {
            if instrument.period.is_none() {
                instrument.period = run.pulse_period_s().filter(|_| name == "micro");
            }
            let of_channel = self.options.irf_channel.as_ref();
            let other = self.options.irf.as_deref().map(Path::new);
            instrument.response = match (of_channel, other) {
                (None, None) => instrument.response,
                (None, Some(path)) if is_response_text(path) => instrument.response,
                (Some(_), Some(path)) if is_response_text(path) => {
                    return Err(RequestError::options(&["irf_channel", "irf"], 
                        "`irf_channel` is a channel of a run, and `irf` is a file of counts; leave one out".into(),
                    ).into());
                }
                (channel, path) => {
                    let options = with_channel(name, question.options().clone(), channel)?;
                    let asked = match path {
                        None => {
                            // The decay was asked likewise, and said what there is to note.
                            let quiet: Vec<_> = runs
                                .iter()
                                .map(|(_, context)| QueryContext { progress: &Silent, ..**context })
                                .collect();
                            let runs: Vec<_> = runs
                                .iter()
                                .zip(&quiet)
                                .map(|((run, _), quiet)| (*run, quiet))
                                .collect();
                            Question::of_options(name, options)?.settled(&runs)?.ask(&runs)?
                        }
                        Some(path) => {
                            let open_options = OpenOptions {
                                tick: Some(run.store().manifest().tick),
                                ..OpenOptions::default()
                            };
                            let opened = open(path, &open_options, context.progress)?;
                            let own = QueryContext { intervals: None, windows: None, ..*context };
                            let request = Request::of_options(name, options)?;
                            request.check_channels(context.setup)?;
                            request.sum(&[(&opened, &own)])?
                        }
                    };
                    Some(counted_response(&asked)?)
                }
            };
        }
        self.to(&answer, &instrument, context.progress)
    }

    /// Fits an answer that was counted before.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if it has no value for each bin, or if the fit needs a response from a run; [`Error::Fit`].
    pub fn answer(&self, answer: &Answer, progress: &dyn Progress) -> Result<Answer, Error> {
        let is_of_run =
            self.options.irf.as_deref().is_some_and(|path| !is_response_text(Path::new(path)));
        if self.options.irf_channel.is_some() || is_of_run {
            return Err(RequestError::options(&["irf", "irf_channel"], 
                "the response is counted from a run, and this answer is already counted; fit the query itself, or give `irf` as a \
                 file of counts"
                    .into(),
            ).into());
        }
        let instrument = self.instrument(answer)?;
        self.to(answer, &instrument, progress)
    }

    /// Creates the fit that a provenance states.
    pub(crate) fn of_stated(mut stated: OptionValues) -> Result<Self, Error> {
        let model = stated.shift_remove("model");
        let model = model.as_ref().and_then(Value::as_str).unwrap_or_default();
        Self::of_options(model, stated)
    }

    /// Returns the period that is stated, and the response of a text file.
    fn instrument(&self, answer: &Answer) -> Result<Instrument, Error> {
        let mut instrument = Instrument::default();
        let period = self.options.pulse_period.as_ref();
        let path = self.options.irf.as_deref().map(Path::new).filter(|path| is_response_text(path));
        if period.is_none() && path.is_none() {
            return Ok(instrument);
        }
        let observed = AllObserved::of(answer)?;
        instrument.period = period.map(|period| observed.axis.length(period)).transpose()?;
        if instrument.period.is_some_and(|period| period <= 0.0) {
            return Err(RequestError::options(
                &["pulse_period"],
                "`pulse_period` is longer than zero".into(),
            )
            .into());
        }
        if let (Some(path), Some(first)) = (path, observed.series.first()) {
            instrument.response = Some(response_of(&response_of_text(path, &first.data)?)?);
        }
        Ok(instrument)
    }
}

/// Returns the question with the covariance of its bins if it has errors from blocks: those of neighbours are not independent.
fn with_covariance(question: &Question) -> Result<Question, Error> {
    let mut options = question.options().clone();
    let name = question.of().name;
    if name == "g2"
        && options.get("errors").and_then(Value::as_str).is_some_and(|how| how != "formula")
    {
        options.entry("covariance").or_insert(true.into());
    }
    Ok(Question::of_options(name, options)?)
}

/// Returns the options with the channel of the response in place of that of the decay.
fn with_channel(
    name: &str,
    mut options: OptionValues,
    channel: Option<&Channel>,
) -> Result<OptionValues, Error> {
    let Some(channel) = channel else { return Ok(options) };
    let value = serde_json::to_value(channel)?;
    let key = match name {
        "micro" => "channels",
        "histogram" | "g2" => "stop",
        _ => {
            return Err(RequestError::options(
                &["irf", "irf_channel"],
                format!("{name} has no response of an instrument"),
            )
            .into());
        }
    };
    let value = if key == "channels" { vec![value].into() } else { value };
    options.insert(key.into(), value);
    Ok(options)
}
