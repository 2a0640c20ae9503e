//! The plan of the data that a coincidence request reads: scan by scan, as they are counted. The moved channels come
//! from `Shift::counts_by`, which counting uses, too, so that both agree.

use rayon::prelude::*;
use tagq_query::{
    Coincidences as Query, Error as QueryError, Execution, Groups, Kind as _, ReadPlan, Recording,
    Rule, TimeBins, TimeDivision,
};

use crate::requests::coincidences::{
    counts::{query_of, scope_of_bins},
    heralds,
    shifted::Shift,
};

/// Plans all queries of a coincidence request: bin by bin, with channels moved, and the pairs of herald
/// groups.
pub(super) fn planned(
    recording: &Recording<'_>,
    query: &Query,
    trace: Option<&TimeDivision>,
    shift: Option<Shift>,
) -> Result<ReadPlan, QueryError> {
    let execution = Execution::best();
    let Some(division) = trace else { return plan_one(recording, query, shift) };
    let mut plan = ReadPlan::new(recording, &execution);
    let facts = recording.facts();
    let all = TimeBins::of(&facts, &scope_of_bins(query), division, |_| None)?;
    let bins = all.map_or_else(Vec::new, |all| all.bins());
    let query_of = query_of(query, &facts);
    let of = |bin| plan_one(recording, &query_of(bin), shift);
    for more in bins.par_iter().map(of).collect::<Result<Vec<_>, _>>()? {
        plan.add(more);
    }
    Ok(plan)
}

/// Plans one query, and the queries that accompany it.
fn plan_one(
    recording: &Recording<'_>,
    query: &Query,
    shift: Option<Shift>,
) -> Result<ReadPlan, QueryError> {
    let execution = Execution::best();
    let mut plan = query.plan(recording, &execution)?;
    if query.rule == Rule::Cluster {
        return Ok(plan);
    }
    let facts = recording.facts();
    for channels in query.groups_in(&facts)? {
        if let Some(shift) = shift {
            let more = std::cell::RefCell::new(Vec::new());
            shift.counts_by(&facts, query, &channels, &|query| {
                more.borrow_mut().push(query.plan(recording, &execution)?);
                Ok(0)
            })?;
            for more in more.into_inner() {
                plan.add(more);
            }
        }
        let groups = Groups::Listed(vec![channels.clone()]);
        let one = Query { groups, ..query.clone() };
        for _ in 0..heralds::scans(query, &channels, shift) {
            plan.add(one.plan(recording, &execution)?);
        }
    }
    Ok(plan)
}
