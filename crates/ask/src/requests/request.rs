//! A request of any kind, for callers that handle all kinds alike. `TYPES` and `with_kind` are the lists of kinds: a
//! new kind is added there.

use serde_json::Value;
use tagq_query::{Bins, Counter, Sum};
use tagq_run::{Channel, RequestError, Run};
use tagq_store::Duration;

use super::{
    coincidences::{COINCIDENCES, Coincidences, Listing},
    context::QueryContext,
    explain::Explained,
    histogram::{G2, HISTOGRAM, Histogram},
    histogram2d::{HISTOGRAM2D, Histogram2d},
    image::{IMAGE, Image},
    kind::{self, OfRun, RequestKind as _, Seams},
    micro::{MICRO, MicroTimes},
    options::{OptionValues, RequestType, deserialize},
    rates::{RATES, Rates},
    selection::Selection,
};
use crate::{answer::Answer, error::Error};

/// One of the kinds of requests.
#[derive(Debug, Clone)]
pub enum Request {
    /// Counts coincidences.
    Coincidences(Coincidences),
    /// Counts time differences, in bins.
    Histogram(Histogram),
    /// Counts two time differences at once, in cells.
    Histogram2d(Histogram2d),
    /// Counts photons in pixels.
    Image(Image),
    /// Counts micro times, in bins.
    MicroTimes(MicroTimes),
    /// Counts tags.
    Rates(Rates),
}

/// A function that creates a request of one kind from its fields.
type Make = fn(OptionValues) -> Result<Request, Error>;

/// The types of requests, each with the function that creates one.
const TYPES: &[(&RequestType, Make)] = &[
    (&COINCIDENCES, |fields| deserialize(fields).map(Request::Coincidences)),
    (&HISTOGRAM, |fields| deserialize(fields).map(Request::Histogram)),
    (&G2, |fields| deserialize(fields).map(Request::Histogram)),
    (&HISTOGRAM2D, |fields| deserialize(fields).map(Request::Histogram2d)),
    (&IMAGE, |fields| deserialize(fields).map(Request::Image)),
    (&MICRO, |fields| deserialize(fields).map(Request::MicroTimes)),
    (&RATES, |fields| deserialize(fields).map(Request::Rates)),
];

/// The types of requests that a user can state by name.
pub const REQUEST_TYPES: [&RequestType; TYPES.len()] = {
    let mut types = [TYPES[0].0; TYPES.len()];
    let mut at = 1;
    while at < TYPES.len() {
        types[at] = TYPES[at].0;
        at += 1;
    }
    types
};

/// Returns each way in which each type of request is counted, as its name and options ([`RequestType::cases`]).
pub fn cases() -> Vec<(&'static str, OptionValues)> {
    REQUEST_TYPES.into_iter().flat_map(cases_of).collect()
}

/// Returns each way in which queries of this type are asked, as its name and options ([`RequestType::cases`]).
pub(crate) fn cases_of(of: &'static RequestType) -> Vec<(&'static str, OptionValues)> {
    let options =
        |case| if let Value::Object(options) = case { options } else { OptionValues::new() };
    (of.cases)().into_iter().map(|case| (of.name, options(case))).collect()
}

/// Evaluates an expression with the request, whatever its kind.
macro_rules! with_kind {
    ($request:expr, $of:ident => $value:expr) => {
        match $request {
            Request::Coincidences($of) => $value,
            Request::Histogram($of) => $value,
            Request::Histogram2d($of) => $value,
            Request::Image($of) => $value,
            Request::MicroTimes($of) => $value,
            Request::Rates($of) => $value,
        }
    };
}

impl Request {
    /// Creates the request of the type with this name, with these options.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for an unknown name, and for unknown, missing, contradicting and invalid
    /// options.
    pub fn of_options(name: &str, options: OptionValues) -> Result<Self, Error> {
        let found = TYPES.iter().copied().find(|(of, _)| of.name == name);
        let (of, make) = found.ok_or_else(|| {
            let known = REQUEST_TYPES.map(|of| of.name).into();
            RequestError::Unknown { name: name.into(), known }
        })?;
        make(of.fields(options)?)
    }

    /// Lists the tags of each count instead of their number. This returns the head; no tags are read
    /// before [`Listing::stream`].
    ///
    /// # Errors
    /// Errors of the query, and of kinds and options that a list does not support.
    pub fn listing<'a>(
        &self,
        run: &'a Run,
        context: &QueryContext<'a>,
    ) -> Result<Listing<'a>, Error> {
        let viewed = self.viewed((run, context))?;
        match self {
            Self::Coincidences(of) => of.listing(viewed.run(), &viewed.context(), context),
            Self::Histogram(_)
            | Self::Histogram2d(_)
            | Self::Image(_)
            | Self::MicroTimes(_)
            | Self::Rates(_) => {
                Err(RequestError::Invalid("only coincidences can be listed".into()).into())
            }
        }
    }

    /// Returns all channels that it names.
    pub fn named(&self) -> Vec<&Channel> {
        let mut named = with_kind!(self, of => of.channels());
        named.extend(self.selection().named());
        named
    }

    /// Returns the channels that it counts, as far as they are named.
    pub(super) fn counted(&self) -> Vec<&Channel> {
        let mut counted = with_kind!(self, of => of.channels());
        counted.extend(&self.selection().channels);
        counted
    }

    /// Whether it counts the channels that are named, and no others.
    pub(super) fn is_of_named(&self) -> bool {
        !self.selection().channels.is_empty() || with_kind!(self, of => of.is_of_named())
    }

    /// Returns the selection of tags.
    pub fn selection(&self) -> &Selection {
        with_kind!(self, of => &of.selection)
    }

    /// Returns the selection of tags, to change it.
    pub fn selection_mut(&mut self) -> &mut Selection {
        with_kind!(self, of => &mut of.selection)
    }

    /// Returns the same request for the last `last` of a run; for the whole run if `None`.
    #[must_use]
    pub fn of_last(&self, last: Option<Duration>) -> Self {
        let mut request = self.clone();
        request.selection_mut().last = last;
        request
    }

    /// Returns the groups of channels whose differences it counts in a run.
    pub(crate) fn groups(
        &self,
        run: &Run,
        context: &QueryContext<'_>,
    ) -> Result<Vec<Vec<u16>>, Error> {
        with_kind!(self, of => kind::groups(of, (run, context)))
    }

    /// Returns the request as a user would state it: its name, and the options that are not as by default.
    pub(crate) fn stated(&self) -> Result<(&'static str, OptionValues), Error> {
        with_kind!(self, of => kind::stated(of))
    }

    /// Whether its errors are those of formulas.
    pub fn has_formula_errors(&self) -> bool {
        with_kind!(self, of => of.division().errors.blocks().is_none())
    }

    /// Whether its rows are bins of time.
    pub fn is_trace(&self) -> bool {
        with_kind!(self, of => of.division().is_trace())
    }

    /// Returns the channel or the gate that divides its time.
    pub fn divided_by(&self) -> Option<&str> {
        with_kind!(self, of => of.division().by)
    }

    /// Returns why everything is counted from scratch each time; `None` if only new data is counted.
    pub fn recount_reason(&self) -> Option<&'static str> {
        with_kind!(self, of => kind::recount_reason(of))
    }

    /// Makes it take the bins that were chosen for a saved answer, from its `query`.
    pub fn state_bins(&self, query: &Value) {
        if let Self::Histogram(of) = self {
            of.state_bins(query);
        }
    }

    /// Answers the request for `run`.
    ///
    /// # Errors
    /// Errors of the query, and names and durations that are invalid for the run.
    pub fn ask(&self, run: &Run, context: &QueryContext<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, context)])
    }

    /// Answers the request for several runs by adding their counts. Bins of a trace are added if they
    /// start equally long after the first tag of their run.
    ///
    /// # Errors
    /// Same as [`Request::ask`]; also if there is no run, or if the request has different meanings in
    /// the runs.
    pub fn sum(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        Ok(self.sum_in_bins(runs, None)?.0)
    }

    /// Answers the request for each of several runs, all for the groups of channels that occur in any of them.
    ///
    /// # Errors
    /// Same as [`Request::sum`].
    pub fn each(&self, runs: &[OfRun<'_>]) -> Result<Vec<Answer>, Error> {
        self.in_views(runs, |runs| with_kind!(self, of => kind::each(of, runs)))
    }

    /// Returns the same with `bins` in place of those that would be chosen, and the bins that were chosen.
    pub(super) fn sum_in_bins(
        &self,
        runs: &[OfRun<'_>],
        bins: Option<&Bins>,
    ) -> Result<(Answer, Option<Bins>), Error> {
        self.in_views(runs, |runs| with_kind!(self, of => kind::sum(of, runs, bins)))
    }

    /// Answers from the parts of each run: for all runs together, or for each of them with the groups that their sum has.
    pub fn of_parts(
        &self,
        runs: &[OfRun<'_>],
        sums: &[Sum],
        bins: Option<&Bins>,
        is_each: bool,
    ) -> Result<Vec<Answer>, Error> {
        with_kind!(self, of => kind::of_parts(of, runs, sums, bins, is_each))
    }

    /// Rejects it if it cannot be counted in parts, because it depends on the whole run. Returns the bins that were
    /// chosen. `silent` are the same runs, for what is not to be noted twice.
    pub fn check_parts(
        &self,
        runs: &[OfRun<'_>],
        silent: &[OfRun<'_>],
    ) -> Result<Option<Bins>, Error> {
        with_kind!(self, of => kind::check_parts(of, runs, silent))
    }

    /// Rejects it if it does not fit in memory. Returns what parts of each run need of their neighbours.
    pub fn check_work(&self, runs: &[OfRun<'_>], bins: Option<&Bins>) -> Result<Vec<Seams>, Error> {
        with_kind!(self, of => kind::check_work(of, runs, bins))
    }

    /// Asks `counter` what it asks of run number `number`.
    pub fn count_part(
        &self,
        runs: &[OfRun<'_>],
        bins: Option<&Bins>,
        of_run: (usize, &dyn Counter),
    ) -> Result<(), Error> {
        with_kind!(self, of => kind::count_part(of, runs, bins, of_run))
    }

    /// Explains what [`Request::ask`] would read, without counting.
    ///
    /// # Errors
    /// Same as [`Request::ask`].
    pub fn explain(&self, run: &Run, context: &QueryContext<'_>) -> Result<Explained, Error> {
        self.in_views(&[(run, context)], |runs| with_kind!(self, of => kind::explain(of, runs[0])))
    }
}
