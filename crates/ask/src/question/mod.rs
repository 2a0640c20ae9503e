//! Questions: a query by its name and options, which runs are asked. A question is parsed once, and settled once for
//! its runs.
//!
//! `coincidences` with `window` 2ns is parsed without any run; a run with ticks of 156.25 ps makes 12 ticks of it. A
//! question keeps the options as they were given, so that its command can be printed and asked again. A search
//! takes exactly one run, because its bins depend on the peaks of that run.

mod settle;

use std::sync::Arc;

use tagq_run::{RequestError, Run};

use crate::{
    answer::Answer,
    delays,
    error::Error,
    requests::{
        Asking, OptionValues, QueryContext, REQUEST_TYPES, Request, RequestType, Setup, cases_of,
    },
    search::{Search, SearchType},
};

/// The searches.
const SEARCHES: &[SearchType] = &[delays::SEARCH];

/// The queries that a user can ask by name: the requests, then the searches.
pub const QUERY_TYPES: [&RequestType; REQUEST_TYPES.len() + SEARCH_TYPES.len()] = {
    let mut types = [SEARCH_TYPES[0]; REQUEST_TYPES.len() + SEARCH_TYPES.len()];
    let mut at = 0;
    while at < types.len() {
        let search = at.checked_sub(REQUEST_TYPES.len());
        types[at] = match search {
            Some(search) => SEARCH_TYPES[search],
            None => REQUEST_TYPES[at],
        };
        at += 1;
    }
    types
};

/// The searches among the [`QUERY_TYPES`].
pub const SEARCH_TYPES: [&RequestType; SEARCHES.len()] = {
    let mut types = [SEARCHES[0].of; SEARCHES.len()];
    let mut at = 0;
    while at < types.len() {
        types[at] = SEARCHES[at].of;
        at += 1;
    }
    types
};

/// Whether a type of query is one of the [`SEARCH_TYPES`].
pub fn is_search(of: &RequestType) -> bool {
    SEARCHES.iter().any(|search| search.of.name == of.name)
}

/// A query by name, with its options: to be settled for runs, and asked.
#[derive(Debug, Clone)]
pub struct Question {
    of: &'static RequestType,
    options: OptionValues,
    asked: Asked,
}

/// A question in the form in which it is asked.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A request, which counts.
    Request(Box<Request>),
    /// A search, which looks for structure in one run.
    Search(Arc<dyn Search>),
}

/// Returns each way in which each query is asked, as its name and options ([`RequestType::cases`]).
pub fn cases() -> Vec<(&'static str, OptionValues)> {
    QUERY_TYPES.into_iter().flat_map(cases_of).collect()
}

impl Question {
    /// Creates the question with this name, with these options.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for an unknown name, and for unknown, missing, contradicting and invalid
    /// options.
    pub fn of_options(name: &str, options: OptionValues) -> Result<Self, Error> {
        let found = QUERY_TYPES.into_iter().find(|of| of.name == name);
        let of = found.ok_or_else(|| RequestError::Unknown {
            name: name.into(),
            known: QUERY_TYPES.map(|of| of.name).into(),
        })?;
        let asked = match SEARCHES.iter().find(|search| search.of.name == name) {
            Some(search) => Asked::Search((search.of_options)(&options)?),
            None => Asked::Request(Box::new(Request::of_options(name, options.clone())?)),
        };
        Ok(Self { of, options, asked })
    }

    /// Returns its type.
    pub fn of(&self) -> &'static RequestType {
        self.of
    }

    /// Returns its options, as they were given.
    pub fn options(&self) -> &OptionValues {
        &self.options
    }

    /// Returns the request or the search.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Returns the request; a search is an error, as for [`Question::request`].
    ///
    /// # Errors
    /// [`tagq_run::RequestError`].
    pub fn into_request(self) -> Result<Request, Error> {
        match self.asked {
            Asked::Request(request) => Ok(*request),
            Asked::Search(_) => self.request().cloned(),
        }
    }

    /// Returns the request; a search is an error.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`].
    pub fn request(&self) -> Result<&Request, Error> {
        match &self.asked {
            Asked::Request(request) => Ok(request),
            Asked::Search(_) => Err(RequestError::Invalid(format!(
                "{} is a search: its bins depend on what is found, so it has no list, no parts and no explanation; ask each run",
                self.of.name
            )).into()),
        }
    }

    /// Returns the search; a request is an error.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`].
    pub fn search(&self) -> Result<&dyn Search, Error> {
        match &self.asked {
            Asked::Search(search) => Ok(&**search),
            Asked::Request(_) => {
                Err(RequestError::Invalid(format!("{} counts, and is no search", self.of.name))
                    .into())
            }
        }
    }

    /// Rejects channels that it names and that are not known.
    ///
    /// # Errors
    /// [`tagq_run::Error::NoSuchChannel`].
    pub fn check_channels(&self, setup: &Setup) -> Result<(), Error> {
        match &self.asked {
            Asked::Request(request) => request.check_channels(setup),
            Asked::Search(search) => {
                let mut channels = search.channels().iter();
                Ok(channels.try_for_each(|channel| setup.channel(channel).map(drop))?)
            }
        }
    }

    /// Returns the question as it is asked of these runs: options that are not given are as the setup of the first run says,
    /// and delays that are to be found are searched in the first run.
    ///
    /// # Errors
    /// [`tagq_run::Error::Setup`] for options of the setup. If delays are to be found, [`tagq_run::RequestError`] for channels without a
    /// clear peak.
    pub fn settled(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Self, Error> {
        let (Asked::Request(request), Some(&first)) = (&self.asked, runs.first()) else {
            return Ok(self.clone());
        };
        let (request, options) = settle::settled(self.of, request, &self.options, first)?;
        Ok(Self { of: self.of, options, asked: Asked::Request(Box::new(request)) })
    }

    /// Asks the runs; their counts are added up.
    ///
    /// # Errors
    /// Those of [`Request::sum`] and [`Search::ask`]; [`tagq_run::RequestError`] for a search in several runs.
    pub fn ask(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        match (&self.asked, runs) {
            (Asked::Request(request), _) => request.sum(runs),
            (Asked::Search(search), [(run, context)]) => Ok(search.ask(run, context)?.answer),
            (Asked::Search(_), _) => Err(self.of_one_run(runs.len()).into()),
        }
    }

    /// Asks the runs as `tagq watch` does ([`Request::sum_beside_last`]).
    ///
    /// # Errors
    /// Same as [`Question::ask`].
    pub fn ask_beside_last(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        match &self.asked {
            Asked::Request(request) => request.sum_beside_last(runs),
            Asked::Search(_) => self.ask(runs),
        }
    }

    /// Rejects a search in another number of runs than one.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`].
    pub fn check_runs(&self, runs: usize) -> Result<(), Error> {
        match self.asked {
            Asked::Search(_) if runs != 1 => Err(self.of_one_run(runs).into()),
            Asked::Request(_) | Asked::Search(_) => Ok(()),
        }
    }

    fn of_one_run(&self, runs: usize) -> RequestError {
        RequestError::Runs(format!(
            "{} are those of one run, and {runs} are named; ask once for each",
            self.of.name
        ))
    }

    /// Returns the command that asks the same.
    pub fn command(&self, runs: &[&str], asking: Asking) -> String {
        self.of.command(&self.options, runs, asking)
    }
}
