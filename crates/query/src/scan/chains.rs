//! Chains: maximal runs of rows that are each at most a window after the one before.
//!
//! Tags that form a coincidence together lie in one chain, because rows between two tags within a window are within
//! it, too. So chains are counted independently of each other. In narrow windows, most rows are alone and most other
//! chains have two rows; the rows of longer ones are few.

use std::ops::Range;

use crate::{
    kernels::{gaps, matrix::Matrix, simd::Simd},
    scan::selection::StoredRows,
};

/// Mean number of rows within a window from which on rows are not divided into chains: most are in long ones.
pub(crate) const CROWDED: usize = 1;

/// A row of a chain of three or more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub row: usize,
    /// A time from which distances of the rows of one chain follow; those of rows of two chains are more than the
    /// window.
    pub time: i64,
}

/// Adds the chains of two rows to `pairs`, by their numbers, the later row first, and passes the rows of longer chains to
/// `take` in order. No chain may begin before the rows or end after them.
pub(crate) fn walk(
    simd: Simd,
    window: u16,
    tags: &StoredRows<'_>,
    pairs: &mut Matrix,
    mut take: impl FnMut(Member),
) {
    let &StoredRows { gaps, labels, number_of, .. } = tags;
    let mut time = 0;
    gaps::chains(simd, (gaps, labels), tags.rows.clone(), window, number_of, pairs, |row| {
        let gap = gaps[row];
        time += i64::from(if gap <= window { gap } else { gaps::GAP_MAX });
        take(Member { row, time });
    });
}

/// Returns the part of a range of rows that holds whole chains.
pub(crate) fn whole_chains(gaps: &[u16], rows: Range<usize>, window: u16) -> Range<usize> {
    let is_linked = |&gap: &u16| gap <= window;
    let first = match rows.start {
        0 => 0,
        start => start + gaps[start..rows.end].iter().take_while(|&gap| is_linked(gap)).count(),
    };
    let cut = if rows.end == gaps.len() {
        0
    } else {
        // The rows from the beginning of the last chain on, which continues behind the range.
        let links = gaps[first..=rows.end].iter().rev().take_while(|&gap| is_linked(gap)).count();
        links.min(rows.end - first)
    };
    first..rows.end - cut
}

/// Cuts a range of rows before which a chain begins, and after which one ends, into ranges of about this many rows and
/// whole chains.
pub(crate) fn chain_ranges(
    gaps: &[u16],
    all: Range<usize>,
    window: u16,
    rows: usize,
) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = all.start;
    while start < all.end {
        let cut = start.saturating_add(rows).min(all.end);
        let linked = gaps[cut..all.end].iter().take_while(|&&gap| gap <= window).count();
        ranges.push(start..cut + linked);
        start = cut + linked;
    }
    ranges
}
