//! Groups with a herald, chain by chain.
//!
//! Window 5: rows of channels 1 at 0 and 2 at 3, alone, are added to a matrix as one pair of numbers; the rows of
//! longer chains are copied one after the other and counted as crowded windows. Chains lie more than a window apart
//! in the copy, too, so that no coincidence spans two of them.

use crate::{
    kernels::{matrix::Matrix, neighbours::ComparedRows, simd::Simd},
    rules::ways::{
        crowded::{Crowded, Job},
        part::GroupScan,
    },
    scan::{
        chains::{Member, walk},
        selection::Selected,
    },
};

/// Counts groups with a herald chain by chain; the buffers of one thread.
pub(super) struct HeraldChains {
    /// The chains of two rows: the numbers of both.
    pairs: Matrix,
    /// The rows of longer chains, at the beginning.
    time: Vec<i64>,
    number: Vec<u8>,
}

impl HeraldChains {
    pub(super) fn new(side: usize) -> Self {
        Self { pairs: Matrix::new(side), time: Vec::new(), number: Vec::new() }
    }

    /// Adds the coincidences of whole chains. Returns `None`, and adds nothing, if times decrease.
    pub(super) fn count(
        &mut self,
        part: &GroupScan,
        simd: Simd,
        rows: &ComparedRows<'_>,
        crowded: &mut Crowded,
        counts: &mut [u128],
    ) -> Option<()> {
        let Self { pairs, time: times, number: numbers } = self;
        pairs.clear();
        if times.len() <= rows.range.len() {
            times.resize(rows.range.len() + 1, 0);
            numbers.resize(rows.range.len() + 1, 0);
        }
        // Each row is written where the next one that is in use will be: without a branch on its number.
        let mut len = 0;
        walk(simd, part.window, rows, pairs, |Member { row, time }| {
            let number = rows.number(row);
            (times[len], numbers[len]) = (time, number);
            len += usize::from(usize::from(number) < part.channels.len());
        })?;
        for (group, count) in part.numbered.iter().zip(&mut *counts) {
            if let &[herald, other] = &group[..] {
                *count += u128::from(pairs.either(herald, other));
            }
        }
        let tags = Selected { time: &times[..len], number: &numbers[..len] };
        let job = Job { simd, closing: &part.closing, tags, head: 0, window: part.window };
        crowded.add(&job, counts);
        Some(())
    }
}
