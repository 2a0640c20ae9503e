//! What a question would read: planned query by query, as it would be asked, and not counted.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use tagq_query::{
    Coincidences as Query, Error as QueryError, Execution, Plan, PlannedScan, Rates as RatesQuery,
    Recording, Rule,
};
use tagq_store::Block;

use super::{Asking, coincidences, shifted, trace::Trace};
use crate::{Run, RunFacts};

/// What was asked, of what, and what answering it would read.
#[derive(Debug, Clone)]
pub struct Explained {
    /// What was asked, on one line.
    pub header: String,
    /// The query as it would be counted.
    pub query: Value,
    /// The run it is asked of.
    pub run: RunFacts,
    /// What it would read.
    pub plan: PlanFacts,
}

/// What a question would read (docs/queries.md, section "Explained").
#[derive(Debug, Clone, Serialize)]
pub struct PlanFacts {
    /// The level of vector instructions.
    pub level: &'static str,
    /// The threads that share the morsels.
    pub threads: usize,
    /// Whether what is found in the tags may decide to take some rows more, or again.
    pub at_least: bool,
    /// All of it, each row once.
    #[serde(flatten)]
    pub all: Reading,
    /// Kind by kind.
    pub scans: Vec<ScanFacts>,
}

/// Scans of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct ScanFacts {
    /// How they count, and from what.
    pub method: &'static str,
    /// How many: of bins, shifts and parts of the groups.
    pub scans: usize,
    /// Groups or channels that a scan counts at the most.
    pub counted: usize,
    /// Pieces of work for the threads.
    pub morsels: usize,
    /// Whether it may take more.
    pub at_least: bool,
    /// What they read.
    #[serde(flatten)]
    pub reading: Reading,
}

/// What is read of the columns.
#[derive(Debug, Clone, Serialize)]
pub struct Reading {
    /// Rows, each once.
    pub rows: u64,
    /// Bytes of these rows: times and labels, or labels alone.
    pub bytes: u64,
    /// Rows as often as they are taken.
    pub rows_taken: u64,
    /// How often a row is taken on the average.
    pub passes: f64,
    /// Blocks of the run that hold none of these rows.
    pub blocks_skipped: usize,
    /// All blocks of the run, the last one not full.
    pub blocks: usize,
}

impl Reading {
    fn of(rows: &[Range<u64>], bytes: u64, rows_taken: u64, blocks: &[Range<u64>]) -> Self {
        let is_skipped = |block: &&Range<u64>| {
            let at = rows.partition_point(|rows| rows.end <= block.start);
            rows.get(at).is_none_or(|rows| rows.start >= block.end)
        };
        let count: u64 = rows.iter().map(|rows| rows.end - rows.start).sum();
        Self {
            rows: count,
            bytes,
            rows_taken,
            passes: if count > 0 { rows_taken as f64 / count as f64 } else { 0.0 },
            blocks_skipped: blocks.iter().filter(is_skipped).count(),
            blocks: blocks.len(),
        }
    }
}

impl PlanFacts {
    fn of(plan: &Plan, run: &Run) -> Self {
        // An index that is damaged is not used by queries either: they then read the rows.
        let blocks = run.store().blocks().unwrap_or_default();
        let mut blocks: Vec<Range<u64>> =
            blocks.into_iter().map(|Block { rows, .. }| rows).collect();
        let behind = blocks.last().map_or(0, |block| block.end);
        let rows = run.store().manifest().rows;
        blocks.extend((behind < rows).then_some(behind..rows));
        let scan = |scan: &PlannedScan| {
            let bytes = plan.bytes_of(scan);
            ScanFacts {
                method: scan.method,
                scans: scan.scans,
                counted: scan.counted,
                morsels: scan.morsels,
                at_least: scan.is_at_least,
                reading: Reading::of(&scan.rows(), bytes, scan.rows_taken, &blocks),
            }
        };
        Self {
            level: plan.level.name(),
            threads: plan.threads,
            at_least: plan.is_at_least(),
            all: Reading::of(&plan.rows(), plan.bytes(), plan.rows_taken(), &blocks),
            scans: plan.scans.iter().map(scan).collect(),
        }
    }
}

/// Plans in the pool that would count.
pub(super) fn planned(
    run: &Run,
    asking: &Asking<'_>,
    is_joined: bool,
    plan: impl FnOnce(&Recording<'_>) -> Result<Plan, QueryError> + Send,
) -> Result<PlanFacts, crate::Error> {
    let plan =
        run.count_as(is_joined, None, |recording| asking.pool.install(|| plan(recording)))?;
    Ok(PlanFacts::of(&plan, run))
}

/// All that a question of coincidences asks: bin by bin, with channels moved, and the arms of herald groups.
pub(super) fn plan_coincidences(
    recording: &Recording<'_>,
    query: &Query,
    bin: Option<i64>,
    shift: Option<shifted::Shift>,
) -> Result<Plan, QueryError> {
    let execution = Execution::best();
    let Some(width) = bin else { return plan_one(recording, query, shift) };
    let rates = RatesQuery { scope: query.scope.clone(), bin: Some(width) };
    let mut plan = rates.plan(recording, &execution)?;
    let trace = Trace::new(recording, query, width, shift)?;
    let query_of = Trace::query_of(query, recording);
    let of = |bin| plan_one(recording, &query_of(bin), shift);
    for more in trace.bins.par_iter().map(of).collect::<Result<Vec<_>, _>>()? {
        plan.add(more);
    }
    Ok(plan)
}

/// What one query asks, and what goes with it.
fn plan_one(
    recording: &Recording<'_>,
    query: &Query,
    shift: Option<shifted::Shift>,
) -> Result<Plan, QueryError> {
    let execution = Execution::best();
    let mut plan = query.plan(recording, &execution)?;
    if query.rule == Rule::Cluster {
        return Ok(plan);
    }
    for channels in query.groups_in(recording)? {
        if let Some(shift) = shift {
            let more = std::cell::RefCell::new(Vec::new());
            shift.counts_by(recording, query, &channels, &|query| {
                more.borrow_mut().push(query.plan(recording, &execution)?);
                Ok(0)
            })?;
            for more in more.into_inner() {
                plan.add(more);
            }
        }
        if let Some(arms) = coincidences::arms(query, &channels) {
            plan.add(arms.plan(recording, &execution)?);
        }
    }
    Ok(plan)
}
