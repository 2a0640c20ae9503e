//! What a question would read: planned query by query, as it would be asked, and not counted.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use tagq_query::{Plan, PlannedScan};
use tagq_store::Block;

use crate::{answer::RunFacts, run::Run};

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
    pub(super) fn of(plan: &Plan, run: &Run) -> Self {
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
