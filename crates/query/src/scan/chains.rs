//! Chains: maximal runs of rows that are each at most a window after the one before.
//!
//! Tags that form a coincidence together lie in one chain, because rows between two tags within a window are within
//! it, too. So chains are counted independently of each other. In narrow windows, most rows are alone and most other
//! chains have two rows; the rows of longer ones are few.
//!
//! Rows at 0, 4, 8 and 20 with a window of 5: the chains are 0, 4, 8 and 20 alone.

use std::ops::Range;

use crate::{
    kernels::{
        matrix::Matrix,
        neighbours::{self, ComparedRows},
        simd::Simd,
    },
    scan::column::StoredColumn,
};

/// A row of a chain of three or more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub row: usize,
    /// A time from which distances of the rows of one chain follow; those of rows of two chains are more than the
    /// window.
    pub time: i64,
}

/// Adds the chains of two rows to `pairs`, by their numbers, the later row first, and passes the rows of longer
/// chains to `take` in order. No chain may begin before the rows or end after them. Returns `None` if times decrease.
pub(crate) fn walk(
    simd: Simd,
    window: i64,
    rows: &ComparedRows<'_>,
    pairs: &mut Matrix,
    mut take: impl FnMut(Member),
) -> Option<()> {
    let mut time = 0_i64;
    neighbours::chains(simd, rows, window, pairs, |row| {
        // The times of damaged rows do not overflow, either.
        let gap = rows.column.gap(row).clamp(0, window.saturating_add(1));
        time = time.saturating_add(gap);
        take(Member { row, time });
    })
}

/// Returns the part of a range of rows that holds whole chains.
pub(crate) fn whole_chains(
    column: StoredColumn<'_>,
    rows: Range<usize>,
    window: i64,
) -> Range<usize> {
    let is_linked = |&row: &usize| column.gap(row) <= window;
    let first = match rows.start {
        0 => 0,
        start => start + (start..rows.end).take_while(is_linked).count(),
    };
    let cut = if rows.end == column.len() {
        0
    } else {
        // The rows from the beginning of the last chain on, which continues after the range.
        let links = (first..=rows.end).rev().take_while(is_linked).count();
        links.min(rows.end - first)
    };
    first..rows.end - cut
}

/// Cuts a range of rows before which a chain begins, and after which one ends, into ranges of about this many rows and
/// whole chains.
pub(crate) fn chain_ranges(
    column: StoredColumn<'_>,
    all: Range<usize>,
    window: i64,
    rows: usize,
) -> Vec<Range<usize>> {
    let column = column.unchecked();
    let mut ranges = Vec::new();
    let mut start = all.start;
    while start < all.end {
        let cut = start.saturating_add(rows).min(all.end);
        let linked = (cut..all.end).take_while(|&row| column.gap(row) <= window).count();
        ranges.push(start..cut + linked);
        start = cut + linked;
    }
    ranges
}
