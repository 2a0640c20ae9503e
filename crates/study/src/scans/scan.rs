//! A scan as a user states it, and asking it.
//!
//! `window` 0.5ns..10ns:20 asks 20 coincidence queries, and counts the pairs of two channels for all of them in one
//! pass. Each value is shown as it is counted: 0.5 ns at ticks of 156.25 ps is a window of 3 ticks, 0.46875 ns.

use serde_json::{Map, Value, json};
use tagq_ask::{
    Answer, Provenance, Question, requests::OptionValues, requests::QueryContext,
    requests::REQUEST_TYPES, requests::Request, requests::RequestOption, requests::RequestType,
    requests::ValueType, requests::windows,
};
use tagq_query::{WindowPlan, Windows};
use tagq_run::{RequestError, Run, Silent};
use tagq_store::{Duration, Tick};

use super::{
    setting::RunSetting,
    together::{Axis, together},
    values::OptionScan,
};

use crate::error::Error;

/// The queries with one number for each channel or group.
const QUERIES: [&str; 2] = ["coincidences", "rates"];

/// The same query for several values of one option, or of runs that differ in a setting.
#[derive(Debug, Clone)]
pub struct SettingScan {
    of: &'static RequestType,
    options: OptionValues,
    scanned: Option<OptionScan>,
    /// The setting of each run.
    setting: Option<RunSetting>,
}

impl SettingScan {
    /// Creates a scan of the query with this name. One of its options has several values, `FIRST..LAST:COUNT` or a list of
    /// texts; or the runs differ in a setting.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for invalid options, or if nothing or two things are scanned.
    pub fn of_options(
        name: &str,
        options: OptionValues,
        setting: Option<RunSetting>,
    ) -> Result<Self, Error> {
        let of = REQUEST_TYPES.iter().copied().find(|of| of.name == name);
        let of = of.filter(|of| Self::takes(of)).ok_or_else(|| {
            let names = QUERIES.join(" or ");
            RequestError::Invalid(format!(
                "a scan is of {names}, which have one number for each group, not of `{name}`"
            ))
        })?;
        let scanned = OptionScan::of(of, &options)?;
        if setting.is_some() && scanned.is_some() {
            return Err(RequestError::options(
                &["setting"],
                "an option has several values, and runs have a setting; scan one of them".into(),
            )
            .into());
        }
        let scan = Self { of, options, scanned, setting };
        scan.questions()?;
        Ok(scan)
    }

    /// Whether requests of this type have one number for each channel or group.
    pub fn takes(of: &RequestType) -> bool {
        QUERIES.contains(&of.name)
    }

    /// Returns the question of each value.
    fn questions(&self) -> Result<Vec<Question>, Error> {
        let of = |options: &OptionValues| Ok(Question::of_options(self.of.name, options.clone())?);
        match &self.scanned {
            Some(scanned) => scanned.steps.iter().map(|(_, options)| of(options)).collect(),
            None => Ok(vec![of(&self.options)?]),
        }
    }

    /// Returns the question of the first value.
    ///
    /// # Errors
    /// See [`SettingScan::of_options`].
    pub fn first(&self) -> Result<Question, Error> {
        let first = self.questions()?.into_iter().next();
        first.ok_or_else(|| RequestError::Invalid("a scan has at least one value".into()).into())
    }

    /// Answers the scan: of several values, the sum of the runs for each; of a setting, each run.
    ///
    /// # Errors
    /// Those of the query; [`tagq_run::RequestError`] if nothing is scanned.
    pub fn ask(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        let Some((first, context)) = runs.first() else {
            return Err(RequestError::Runs("a scan is of at least one run".into()).into());
        };
        let (axis, answers, stated) = match (&self.scanned, &self.setting) {
            (Some(OptionScan { option, channel, steps }), _) => {
                let answers = self.ask_steps(steps, runs)?;
                let tick = first.store().manifest().tick;
                let place = |(value, _): &(Duration, _)| counted(option, value, tick);
                let places = steps.iter().map(place).collect::<Result<Vec<f64>, _>>()?;
                if places.windows(2).any(|two| two[0].to_bits() == two[1].to_bits()) {
                    context.progress.note(
                        "the values are closer than a tick: some are the same, and are counted more than once",
                    );
                }
                let name = match channel {
                    Some(channel) => format!("delay of {channel}"),
                    None => option.name.replace('_', " "),
                };
                let axis = Axis { name, is_time: true, places, runs: None };
                (axis, answers, Map::new())
            }
            (None, Some(setting)) => {
                if setting.values.len() != runs.len() {
                    return Err(RequestError::options(
                        &["setting"],
                        format!("{} settings for {} runs", setting.values.len(), runs.len()),
                    )
                    .into());
                }
                let answer = |run| Ok(self.settled(&self.options, run)?.sum(run)?);
                let answers = runs.chunks(1).map(answer);
                let answers = answers.collect::<Result<Vec<_>, Error>>()?;
                let paths = runs.iter().map(|(run, _)| run.path().display().to_string());
                let axis = Axis {
                    name: setting.name.clone(),
                    is_time: false,
                    places: setting.values.clone(),
                    runs: Some(paths.collect()),
                };
                let Value::Object(stated) = serde_json::to_value(setting)? else {
                    return Err(
                        RequestError::Invalid("a setting has a name and values".into()).into()
                    );
                };
                (axis, answers, stated)
            }
            (None, None) => {
                return Err(RequestError::options(&["window"], format!(
                    "nothing is scanned: give an option of {} several values, as FIRST..LAST:N (`window` 0.5ns..10ns:20), or runs a setting",
                    self.of.name
                )).into());
            }
        };
        let query = json!({
            "kind": "scan",
            "of": axis.name,
            "values": axis.places.len(),
            "scanned": answers.first().map(|answer| answer.query.clone()),
        });
        let provenance = self.provenance(&answers, stated);
        together(axis, &answers, query, provenance)
    }

    /// Returns the request with these options, as it is asked of these runs.
    fn settled(
        &self,
        options: &OptionValues,
        runs: &[(&Run, &QueryContext<'_>)],
    ) -> Result<Request, Error> {
        let question = Question::of_options(self.of.name, options.clone())?.settled(runs)?;
        Ok(question.into_request()?)
    }

    /// Answers the request of each value. Pairs are counted for all values in one pass where that is faster.
    fn ask_steps(
        &self,
        steps: &[(Duration, OptionValues)],
        runs: &[(&Run, &QueryContext<'_>)],
    ) -> Result<Vec<Answer>, Error> {
        // Notes about the first value hold for all.
        let silent: Vec<QueryContext<'_>> = runs
            .iter()
            .map(|(_, context)| QueryContext { progress: &Silent, ..**context })
            .collect();
        let quiet: Vec<_> = runs.iter().map(|(run, _)| *run).zip(&silent).collect();
        let requests = steps.iter().enumerate().map(|(step, (_, options))| {
            self.settled(options, if step == 0 { runs } else { &quiet[..] })
        });
        let requests = requests.collect::<Result<Vec<_>, Error>>()?;
        let windows = (0..runs.len()).map(|number| windows_of(&requests, &quiet, number));
        let windows: Vec<Option<Windows>> = windows.collect::<Result<_, _>>()?;
        let with = |(context, windows)| QueryContext { windows, ..context };
        let loud = runs.iter().map(|(_, context)| QueryContext { ..**context });
        let loud: Vec<_> = loud.zip(windows.iter().map(Option::as_ref)).map(with).collect();
        let silent: Vec<_> =
            silent.into_iter().zip(windows.iter().map(Option::as_ref)).map(with).collect();
        let ask = |(step, request): (usize, &Request)| {
            let contexts = if step == 0 { &loud } else { &silent };
            let runs: Vec<_> = runs.iter().map(|(run, _)| *run).zip(contexts).collect();
            Ok(request.sum(&runs)?)
        };
        requests.iter().enumerate().map(ask).collect()
    }

    /// Scans again, as it was stated.
    pub(crate) fn again(
        stated: &Map<String, Value>,
        name: &str,
        options: &OptionValues,
        runs: &[(&Run, &QueryContext<'_>)],
    ) -> Result<Answer, Error> {
        let of_runs = (!stated.is_empty()).then(|| Value::Object(stated.clone()));
        let setting = of_runs.map(serde_json::from_value).transpose()?;
        Self::of_options(name, options.clone(), setting)?.ask(runs)
    }

    fn provenance(&self, answers: &[Answer], stated: Map<String, Value>) -> Provenance {
        let each = self.setting.is_some();
        let all = answers.iter().take(if each { answers.len() } else { 1 });
        let mut provenance = Provenance::of_all(all.map(|answer| &answer.provenance));
        provenance.options.clone_from(&self.options);
        provenance.scan = Some(stated);
        provenance
    }
}

/// Counts the pairs of all requests in run number `number` at once. Returns `None` if they ask for more than pairs, or
/// if a pass for each request is faster.
fn windows_of(
    requests: &[Request],
    runs: &[(&Run, &QueryContext<'_>)],
    number: usize,
) -> Result<Option<Windows>, Error> {
    let Some((first, &(run, context))) = requests.first().zip(runs.get(number)) else {
        return Ok(None);
    };
    let is_joined = first.selection().join;
    let plan = WindowPlan::new(run.facts(is_joined).clone());
    let has_pairs = matches!(first, Request::Coincidences(_)) && !first.needs_views(context.setup);
    if !has_pairs || !first.has_formula_errors() {
        return Ok(None);
    }
    for request in requests {
        request.count_part(runs, None, (number, &plan))?;
    }
    let is_faster = plan.passes().is_some_and(|passes| requests.len() >= passes.max(2));
    is_faster.then(|| Ok(windows(&plan, is_joined, (run, context))?)).transpose()
}

/// Returns a value as it is counted, in seconds: a window and a guard have whole ticks that are not longer, a delay the nearest ones.
fn counted(option: &RequestOption, value: &Duration, tick: Tick) -> Result<f64, Error> {
    let whole = match option.value {
        ValueType::Delays(_) => value.nearest(tick)?,
        _ if ["window", "guard"].contains(&option.name) => value.window(tick)?,
        _ if value.is_whole(tick)? => value.nearest(tick)?,
        _ => return Ok(value.ticks(tick)? * tick.seconds()),
    };
    Ok(tick.seconds_of(whole.into()))
}
