//! Explains what a request would read: its queries are planned one by one, but not counted.
//!
//! A request that reads 1,000 rows twice has `rows` 1,000, `rows_taken` 2,000 and `passes` 2.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use tagq_query::ReadPlan;
use tagq_run::{Run, Work};
use tagq_store::Block;

use crate::answer::RunFacts;

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

/// The data that a request would read (docs/outputs.md, section "Explained").
#[derive(Debug, Clone, Serialize)]
pub struct PlanFacts {
    /// The level of SIMD instructions.
    pub level: &'static str,
    /// Number of threads that share the morsels.
    pub threads: usize,
    /// Whether the content of the tags may cause more rows to be read, or some rows again.
    pub at_least: bool,
    /// Rows, each counted once.
    pub rows: u64,
    /// Bytes of these rows: times and labels, or labels alone.
    pub bytes: u64,
    /// Rows, counted each time they are read.
    pub rows_taken: u64,
    /// How often a row is read on average: `rows_taken` over `rows`, 0 without rows.
    pub passes: f64,
    /// Blocks of the run that contain none of these rows.
    pub blocks_skipped: usize,
    /// All blocks of the run, including the last one, which may be partial.
    pub blocks: usize,
    /// Pairs and triples that are counted one by one, about.
    pub pairs: Option<u64>,
    /// The time that counting takes about, in seconds.
    pub estimated_s: Option<f64>,
    /// How the scans count, and from which data.
    pub kernels: Vec<&'static str>,
}

impl PlanFacts {
    pub(super) fn of(plan: &ReadPlan, run: &Run, work: Option<Work>, threads: usize) -> Self {
        // Queries do not use a damaged index either: they then read the rows.
        let blocks = run.store().blocks().unwrap_or_default();
        let mut blocks: Vec<Range<u64>> =
            blocks.into_iter().map(|Block { rows, .. }| rows).collect();
        let end = blocks.last().map_or(0, |block| block.end);
        let all = run.store().manifest().rows;
        blocks.extend((end < all).then_some(end..all));
        let ranges = plan.rows();
        let is_skipped = |block: &&Range<u64>| {
            let at = ranges.partition_point(|rows| rows.end <= block.start);
            ranges.get(at).is_none_or(|rows| rows.start >= block.end)
        };
        let rows: u64 = ranges.iter().map(|rows| rows.end - rows.start).sum();
        let rows_taken = plan.rows_taken();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float saturates"
        )]
        let pairs = work.map(|work| work.pairs.round() as u64);
        Self {
            level: plan.level.name(),
            threads: plan.threads,
            at_least: plan.is_at_least,
            rows,
            bytes: plan.bytes(),
            rows_taken,
            passes: if rows > 0 { rows_taken as f64 / rows as f64 } else { 0.0 },
            blocks_skipped: blocks.iter().filter(is_skipped).count(),
            blocks: blocks.len(),
            pairs,
            estimated_s: work.map(|work| work.seconds(threads)),
            kernels: plan.kernels(),
        }
    }
}
