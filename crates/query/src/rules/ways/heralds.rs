//! Groups with a herald, chain by chain.

use crate::{
    kernels::{matrix::Matrix, neighbours::ComparedRows, simd::Simd},
    rules::{herald, ways::part::GroupScan},
    scan::chains::{Member, walk},
};

/// Counts groups with a herald chain by chain; the buffers of one thread.
pub(super) struct HeraldChains {
    /// The chains of two rows: the numbers of both.
    pairs: Matrix,
    /// The rows of longer chains: times of each number.
    times: Vec<Vec<i64>>,
}

impl HeraldChains {
    pub(super) fn new(side: usize) -> Self {
        Self { pairs: Matrix::new(side), times: vec![Vec::new(); side] }
    }

    /// Adds the coincidences of whole chains. Returns `None`, and adds nothing, if times decrease.
    pub(super) fn count(
        &mut self,
        part: &GroupScan,
        simd: Simd,
        rows: &ComparedRows<'_>,
        once: bool,
        counts: &mut [u128],
    ) -> Option<()> {
        let Self { pairs, times } = self;
        pairs.clear();
        times.iter_mut().for_each(Vec::clear);
        walk(simd, part.window, rows, pairs, |Member { row, time }| {
            times[usize::from(rows.number(row))].push(time);
        })?;
        let lists: Vec<herald::List<'_>> =
            times.iter().map(|time| herald::List { time, head: 0 }).collect();
        for (group, count) in part.numbered.iter().zip(counts) {
            if let &[herald, other] = &group[..] {
                *count += u128::from(pairs.either(herald, other));
            }
            let more = herald::count(&lists, group, part.window, once);
            *count = count.saturating_add(more);
        }
        Some(())
    }
}
