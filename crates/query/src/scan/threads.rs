//! Counts bins on several threads, each with bins of its own, which are added up at the end.
//!
//! All threads together hold at most 2^27 counts (1 GiB): with 2^26 bins, two threads count. Counts are integers, so
//! the sum does not depend on which thread takes which task.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::run::progress::Pass;

/// The largest number of counts held by all threads together: 1 GiB.
const COUNTS_MAX: usize = 1 << 27;

/// Runs the tasks on the threads of the pool and adds up their counts: `bins` counts and one additional
/// number. At its end each thread adds the contents of its buffers to its counts.
pub(crate) fn add_up<W: Sync, B>(
    pass: &Pass<'_>,
    work: &[W],
    bins: usize,
    buffers: impl Fn() -> B + Sync,
    count: impl Fn(&W, &mut B, &mut [u64]) -> u64 + Sync,
    finish: impl Fn(B, &mut [u64]) + Sync,
) -> (Vec<u64>, u64) {
    // Each thread has a copy of all bins, so memory limits the number of threads.
    let fitting = COUNTS_MAX / bins.max(1);
    let threads = rayon::current_num_threads().min(work.len()).min(fitting).max(1);
    let next = AtomicUsize::new(0);
    let pieces = pass.in_pieces(work.len());
    let one_thread = |_| {
        let mut counts = vec![0; bins];
        let mut buffers = buffers();
        let mut other = 0;
        while let Some(piece) = work.get(next.fetch_add(1, Ordering::Relaxed))
            && pieces.begin().is_ok()
        {
            other += count(piece, &mut buffers, &mut counts);
        }
        finish(buffers, &mut counts);
        (counts, other)
    };
    let added = (0..threads).into_par_iter().with_max_len(1).map(one_thread).reduce_with(
        |(mut counts, other), (more, more_other)| {
            let add = |(count, more): (&mut u64, u64)| *count = count.wrapping_add(more);
            counts.iter_mut().zip(more).for_each(add);
            (counts, other + more_other)
        },
    );
    added.unwrap_or_else(|| (vec![0; bins], 0))
}
