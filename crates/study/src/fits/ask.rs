//! Asking runs, and fitting their answer; the response of an instrument comes from another channel, another run or a
//! text file.
//!
//! A response is asked with the options of the decay, except for its channel, so that the bins of both are equal. Of regions of an
//! image, it is that of all photons. Counts in a text begin at the first bin of the decay and have its width.

use serde_json::Value;
use tagq_ask::{
    Answer, FigureKind, Question,
    requests::{
        Channel, OptionValues, QueryContext, REQUEST_TYPES, ResponseSource, ask_response,
        counted_response, response_of, response_of_text,
    },
};
use tagq_fit::{Data, lifetimes::ResponseOf};
use tagq_run::{Progress, RequestError, Run};

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
        let question = with_needed(question)?.settled(runs)?;
        let answer = question.request()?.sum(runs)?;
        let Some(&(_, context)) = runs.first() else {
            return Err(RequestError::Runs("a fit is of a run".into()).into());
        };
        let mut instrument = self.instrument(&answer)?;
        if let Some(ResponseSource::Counted(path, channel)) = self.response()? {
            let (name, options) = of_response(&question, &answer, channel)?;
            let asked = ask_response(path, runs, |runs| {
                let question = Question::of_options(name, options)?.settled(runs)?;
                question.check_channels(context.setup)?;
                question.ask(runs)
            })?;
            let response = counted_response(&asked, &first_data(&answer)?)?;
            instrument.response = Some(ResponseOf::Measured(Box::new(response)));
        }
        self.to(&answer, &instrument, context.progress)
    }

    /// Fits an answer that was counted before.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if it has no value for each bin, or if the fit needs a response from a run; [`Error::Fit`].
    pub fn answer(&self, answer: &Answer, progress: &dyn Progress) -> Result<Answer, Error> {
        if let Some(ResponseSource::Counted(..)) = self.response()? {
            let reason = "the response is counted from a run, and this answer is already counted; fit the query itself, or give \
                          `irf` as a file of counts";
            return Err(RequestError::options(&["irf", "irf_channel"], reason.into()).into());
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

    /// Returns the period of the pulses, which files of micro times state, and the response, if it is not that of a run.
    fn instrument(&self, answer: &Answer) -> Result<Instrument, Error> {
        if self.of.name != "decay" {
            return Ok(Instrument::default());
        }
        let has_micro_times = matches!(answer.query["kind"].as_str(), Some("micro" | "image"));
        let period = match &self.options.pulse_period {
            Some(period) => Some(AllObserved::of(answer)?.axis.length(period)?),
            None => answer.run.pulse_period_s.filter(|_| has_micro_times),
        };
        if period.is_some_and(|period| period <= 0.0) {
            return Err(RequestError::options(
                &["pulse_period"],
                "`pulse_period` is longer than zero".into(),
            )
            .into());
        }
        let response = match self.response()? {
            None | Some(ResponseSource::Counted(..)) => None,
            Some(ResponseSource::Found) => Some(ResponseOf::Auto),
            Some(ResponseSource::LeftOut) => Some(ResponseOf::Tail),
            Some(ResponseSource::Text(path)) => {
                let response = response_of(&response_of_text(path, &first_data(answer)?)?)?;
                Some(ResponseOf::Measured(Box::new(response)))
            }
        };
        Ok(Instrument { response, period })
    }
}

/// Returns the data of the first series of an answer; all have the same bins.
fn first_data(answer: &Answer) -> Result<Data, Error> {
    let first = AllObserved::of(answer)?.series.into_iter().next();
    Ok(first.ok_or(tagq_fit::Error::Empty)?.data)
}

/// Returns the question with what a fit needs of its answer: the covariance of bins that have errors from blocks, because those
/// of neighbours are not independent, and the decays of regions.
fn with_needed(question: &Question) -> Result<Question, Error> {
    let mut options = question.options().clone();
    let name = question.of().name;
    let has_blocks =
        options.get("errors").and_then(Value::as_str).is_some_and(|how| how != "formula");
    if name == "g2" && has_blocks {
        options.entry("covariance").or_insert(true.into());
    }
    if name == "image" {
        if !options.contains_key("mask") {
            let what = ": a fit of an image is of the decays of its regions; `lifetime` finds those of pixels";
            return Err(RequestError::missing("mask", what).into());
        }
        options.entry("micro").or_insert(true.into());
    }
    Ok(Question::of_options(name, options)?)
}

/// Returns the query that counts the response as the decay was counted, in its channel if one is named: of regions, all photons by
/// their micro times.
fn of_response<'a>(
    question: &'a Question,
    answer: &Answer,
    channel: Option<&Channel>,
) -> Result<(&'a str, OptionValues), Error> {
    let mut options = question.options().clone();
    let mut name = question.of().name;
    if let Some(FigureKind::Regions { micro: Some((bins, _)), .. }) = &answer.figure {
        name = "micro";
        let of = REQUEST_TYPES.into_iter().find(|of| of.name == name);
        options.retain(|key, _| of.is_some_and(|of| of.options().any(|option| option.name == key)));
        let (first, second, last) = (bins.edge(0), bins.edge(1), bins.edge(bins.count()));
        options.insert("bin".into(), format!("{}t", second - first).into());
        options.insert("range".into(), format!("{first}t..{last}t").into());
    }
    let Some(channel) = channel else { return Ok((name, options)) };
    let value = serde_json::to_value(channel)?;
    let (key, value) = match name {
        "micro" => ("channels", vec![value].into()),
        "histogram" | "g2" => ("stop", value),
        _ => {
            return Err(RequestError::options(
                &["irf", "irf_channel"],
                format!("{name} has no response of an instrument"),
            )
            .into());
        }
    };
    options.insert(key.into(), value);
    Ok((name, options))
}
