//! Any one of the questions, for those who ask what they are given.

use tagq_store::Duration;

use super::{
    coincidences::Coincidences,
    context::QueryContext,
    explain::Explained,
    histogram::Histogram,
    kind::{self, Kind as _},
    rates::Rates,
    selection::Selection,
};
use crate::setup::arguments::Channel;
use crate::{answer::Answer, error::Error, run::Run};

/// One of the kinds of requests.
#[derive(Debug, Clone)]
pub enum Request {
    /// How many coincidences.
    Coincidences(Coincidences),
    /// How many differences of times, in bins.
    Histogram(Histogram),
    /// How many tags.
    Rates(Rates),
}

/// Evaluates an expression with the request of whatever kind it is.
macro_rules! with_kind {
    ($request:expr, $of:ident => $value:expr) => {
        match $request {
            Request::Coincidences($of) => $value,
            Request::Histogram($of) => $value,
            Request::Rates($of) => $value,
        }
    };
}

impl Request {
    /// All channels it names.
    pub fn named(&self) -> Vec<&Channel> {
        let mut named = with_kind!(self, of => of.channels());
        named.extend(self.selection().named());
        named
    }

    /// Which tags it is about.
    pub fn selection(&self) -> &Selection {
        with_kind!(self, of => &of.selection)
    }

    /// The same request of the last `last` of a run; of all of it without one.
    #[must_use]
    pub fn of_last(&self, last: Option<Duration>) -> Self {
        let mut request = self.clone();
        with_kind!(&mut request, of => of.selection.last = last);
        request
    }

    /// The same request with the bins of an answer to it, where they were chosen.
    pub(super) fn in_bins_of(mut self, answer: &Answer) -> Result<Self, Error> {
        with_kind!(&mut self, of => of.take_bins(answer))?;
        Ok(self)
    }

    /// Whether its rows are bins of time.
    pub fn is_trace(&self) -> bool {
        with_kind!(self, of => of.bin_of_trace().is_some())
    }

    /// Why everything is counted from scratch each time; `None` if only new data is counted.
    pub fn counted_anew(&self) -> Option<&'static str> {
        with_kind!(self, of => of.counted_anew())
    }

    /// Answers the request for `run`.
    ///
    /// # Errors
    /// Those of the query, and of names and durations that mean nothing in the run.
    pub fn ask(&self, run: &Run, context: &QueryContext<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, context)])
    }

    /// Answers the request for several runs, whose counts are added up. Bins of a trace are added that begin
    /// as long after the first tag of their run.
    ///
    /// # Errors
    /// As [`Request::ask`]; if there is no run, or the request does not mean the same in all of them.
    pub fn sum(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        with_kind!(self, of => kind::sum(of, runs))
    }

    /// What [`Request::ask`] would read, without counting.
    ///
    /// # Errors
    /// As [`Request::ask`].
    pub fn explain(&self, run: &Run, context: &QueryContext<'_>) -> Result<Explained, Error> {
        with_kind!(self, of => kind::explain(of, run, context))
    }
}
