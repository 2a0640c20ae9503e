//! Asking runs, and fitting what they answer.

use std::{fs, path::Path};

use serde_json::Value;
use tagq_fit::{Bin, Data, Noise, models::Response};

use super::{answer::Instrument, observed::AllObserved, request::Fit};
use crate::{
    answer::Answer,
    error::Error,
    progress::Progress,
    requests::{Channel, OptionValues, QueryContext, Request},
    run::{
        open::{Run, open},
        options::OpenOptions,
    },
    settle::settle,
};

/// The longest file with a response.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

impl Fit {
    /// Answers a request of runs, whose counts are added up, and fits the answer.
    ///
    /// # Errors
    /// Those of the request; [`Error::Request`] if its answer has no value for each bin, [`Error::Fit`].
    pub fn ask(
        &self,
        name: &str,
        options: &OptionValues,
        runs: &[(&Run, &QueryContext<'_>)],
    ) -> Result<Answer, Error> {
        let (request, options) = settle(name, options, runs)?;
        let answer = request.sum(runs)?;
        let mut instrument = self.instrument(&answer)?;
        let Some(&(run, context)) = runs.first() else {
            return Err(Error::Request("a fit is of a run".into()));
        };
        if self.of.name == "decay" {
            if instrument.period.is_none() {
                instrument.period = run.pulse_period_s().filter(|_| name == "micro");
            }
            let of_channel = self.options.irf_channel.as_ref();
            let other = self.options.irf.as_deref().map(Path::new);
            let is_run = |path: &&Path| !is_text(path);
            instrument.response = match (of_channel, other) {
                (None, None) => instrument.response,
                (None, Some(path)) if is_text(path) => instrument.response,
                (channel, path) => {
                    let options = with_channel(name, options, channel)?;
                    let path = path.filter(is_run);
                    let asked = match path {
                        None => settle(name, &options, runs)?.0.sum(runs)?,
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
                    Some(response(&asked)?)
                }
            };
        }
        self.to(&answer, &instrument, context.progress)
    }

    /// Fits an answer that was counted before.
    ///
    /// # Errors
    /// [`Error::Request`] if it has no value for each bin, or if the fit needs a response from a run; [`Error::Fit`].
    pub fn answer(&self, answer: &Answer, progress: &dyn Progress) -> Result<Answer, Error> {
        let is_of_run = self.options.irf.as_deref().is_some_and(|path| !is_text(Path::new(path)));
        if self.options.irf_channel.is_some() || is_of_run {
            return Err(Error::Request(
                "the response is counted from a run, and this answer is already counted; fit the query itself, or give `irf` as a \
                 file of counts"
                    .into(),
            ));
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
        let path = self.options.irf.as_deref().map(Path::new).filter(|path| is_text(path));
        if period.is_none() && path.is_none() {
            return Ok(instrument);
        }
        let observed = AllObserved::of(answer)?;
        instrument.period = period.map(|period| observed.axis.length(period)).transpose()?;
        if let (Some(path), Some(first)) = (path, observed.series.first()) {
            instrument.response = Some(Response::new(&of_text(path, &first.data)?)?);
        }
        Ok(instrument)
    }
}

/// Whether a response is a text file: a run is a folder, or has an extension of recorded tags.
fn is_text(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    path.is_file() && ["txt", "dat", "csv", "tsv", "asc"].contains(&extension)
}

/// Reads one count a bin from a text file, into bins like those of `like`: the last number of each line with one.
fn of_text(path: &Path, like: &Data) -> Result<Data, Error> {
    let fault = |reason: String| Error::Request(format!("`irf` {}: {reason}", path.display()));
    let len = fs::metadata(path).map_err(|error| fault(error.to_string()))?.len();
    if len > RESPONSE_BYTES_MAX {
        return Err(fault("longer than 64 MB, and a response has one number a line".into()));
    }
    let text = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    let number = |line: &str| {
        let mut words = line.rsplit([',', ';', ' ', '\t']).map(str::trim);
        words.find(|word| !word.is_empty())?.parse::<f64>().ok()
    };
    let values: Vec<f64> = text.lines().filter_map(number).collect();
    if values.is_empty() {
        return Err(fault("no numbers in it".into()));
    }
    let width = like.width()?;
    let first = like.ends().0;
    let edge = |k: usize| width.mul_add(k as f64, first);
    let bins = (0..values.len()).map(|k| Bin { from: edge(k), to: edge(k + 1) }).collect();
    Ok(Data { bins, values, noise: Noise::Poisson, exposure: None })
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
        _ => return Err(Error::Request(format!("{name} has no response of an instrument"))),
    };
    let value = if key == "channels" { vec![value].into() } else { value };
    options.insert(key.into(), value);
    Ok(options)
}

/// Returns the counts of an answer as a response.
fn response(answer: &Answer) -> Result<Response, Error> {
    let AllObserved { series, .. } = AllObserved::of(answer)?;
    let [only] = &series[..] else {
        return Err(Error::Request(format!(
            "a response is of one channel, and {} were counted; name one with `irf_channel`",
            series.len()
        )));
    };
    Ok(Response::new(&only.data)?)
}
