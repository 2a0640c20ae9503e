//! Explains what a request would read: its queries are planned one by one, but not counted.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use tagq_query::{Plan, PlannedScan};
use tagq_store::Block;

use crate::{answer::RunFacts, run::Run};

/// A request, its run, and the data that an answer would read.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The request, on one line.
    pub header: String,
    /// The query as it would be counted.
    pub query: Value,
    /// The run of the request.
    pub run: RunFacts,
    /// The data that it would read.
    pub plan: PlanFacts,
}

/// The data that a request would read (docs/queries.md, section "Explained").
#[derive(Debug, Clone, Serialize)]
pub struct PlanFacts {
    /// The level of SIMD instructions.
    pub level: &'static str,
    /// Number of threads that share the morsels.
    pub threads: usize,
    /// Whether the content of the tags may cause more rows to be read, or some rows again.
    pub at_least: bool,
    /// All scans together, each row counted once.
    #[serde(flatten)]
    pub all: Reading,
    /// The scans by kind.
    pub scans: Vec<ScanFacts>,
}

/// Scans of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct ScanFacts {
    /// How they count, and from which data.
    pub method: &'static str,
    /// Number of scans: of bins, shifts and parts of the groups.
    pub scans: usize,
    /// Maximum number of groups or channels that one scan counts.
    pub counted: usize,
    /// Number of morsels for the threads.
    pub morsels: usize,
    /// Whether more may be needed.
    pub at_least: bool,
    /// The data that they read.
    #[serde(flatten)]
    pub reading: Reading,
}

/// The part of the columns that is read.
#[derive(Debug, Clone, Serialize)]
pub struct Reading {
    /// Rows, each counted once.
    pub rows: u64,
    /// Bytes of these rows: times and labels, or labels alone.
    pub bytes: u64,
    /// Rows, counted each time they are read.
    pub rows_taken: u64,
    /// How often a row is read on average.
    pub passes: f64,
    /// Blocks of the run that contain none of these rows.
    pub blocks_skipped: usize,
    /// All blocks of the run, including the last one, which may be partial.
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
        // Queries do not use a damaged index either: they then read the rows.
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
