//! A search looks for structure in one run. Its bins depend on the counts, so it has no parts and no plan.

use std::{fmt::Debug, sync::Arc};

use tagq_run::Run;

use crate::{
    answer::Answer,
    error::Error,
    requests::{Channel, OptionValues, QueryContext, RequestType},
};

/// A kind of searches.
#[derive(Debug, Clone, Copy)]
pub struct SearchType {
    /// The search as a user states it.
    pub of: &'static RequestType,
    /// Creates the search with these options.
    pub of_options: fn(&OptionValues) -> Result<Arc<dyn Search>, Error>,
}

/// A search. Its bins depend on counts, so it is of one run, and has no parts, no list and no explanation.
pub trait Search: Debug + Send + Sync {
    /// Returns the channels that it names.
    fn channels(&self) -> &[Channel];

    /// Searches in `run`.
    ///
    /// # Errors
    /// Those of the kind, and errors of the queries.
    fn ask(&self, run: &Run, context: &QueryContext<'_>) -> Result<Searched, Error>;
}

/// The result of a search: the answer, and the delays that align channels, if the search finds delays.
#[derive(Debug, Clone)]
pub struct Searched {
    /// The result as rows.
    pub answer: Answer,
    /// Delays in ticks, one for each channel that has a peak with another channel; the first channel of
    /// each connected group has zero.
    pub delays: Vec<(u16, i64)>,
    /// The channels that peaks connect, in groups.
    pub connected: Vec<Vec<u16>>,
}
