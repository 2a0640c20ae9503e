//! Coincidences in bins of time: each bin as if it had been asked for alone.

use rayon::prelude::*;
use tagq_query::{
    Coincidences as Query, Counted, Execution, Groups, Rates, Recording, Scope, TimeRange,
};

/// The bins of a trace.
pub(super) struct Trace {
    pub bins: Vec<Bin>,
}

/// One bin.
pub(super) struct Bin {
    /// Where it begins, since the run's first tag.
    pub start_ticks: i64,
    pub is_partial: bool,
    range: TimeRange,
}

impl Trace {
    /// The bins that rates would have, so that all traces have the same.
    pub(super) fn new(
        recording: &Recording<'_>,
        scope: &Scope,
        width: i64,
    ) -> Result<Self, tagq_query::Error> {
        let rates = Rates { scope: scope.clone(), bin: Some(width) };
        let Some(trace) = rates.run(recording, &Execution::best())?.trace else {
            return Ok(Self { bins: Vec::new() });
        };
        let bin = |bin: &tagq_query::TraceBin| {
            let start_ticks = bin.number.saturating_mul(width);
            let from = i128::from(trace.origin) + i128::from(bin.number) * i128::from(width);
            let own = TimeRange {
                from: i64::try_from(from).ok(),
                to: i64::try_from(from + i128::from(width)).ok(),
            };
            Bin { start_ticks, is_partial: bin.is_partial, range: own.and(&scope.range) }
        };
        Ok(Self { bins: trace.bins.iter().map(bin).collect() })
    }

    /// What each bin holds, with the query as it was asked of it.
    pub(super) fn counts(
        &self,
        query: &Query,
        recording: &Recording<'_>,
    ) -> Result<Vec<(Query, Counted)>, tagq_query::Error> {
        // Which pairs there are does not depend on the bin.
        let in_use = query.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let fixed = match &query.groups {
            Groups::Listed(_) => query.scope.clone(),
            _ => Scope { channels: Some(in_use), ..query.scope.clone() },
        };
        let count = |bin: &Bin| {
            let scope = Scope { range: bin.range, ..fixed.clone() };
            let query = Query { scope, ..query.clone() };
            let counted = query.run(recording, &Execution::best())?;
            Ok((query, counted))
        };
        self.bins.par_iter().map(count).collect()
    }
}
