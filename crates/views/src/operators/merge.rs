//! `1 | 2`: all tags of several channels.

use std::hint::select_unpredictable;

use super::operator::{ChannelOperation, Form, OperandTags, Operation, Operator, Setting};
use crate::{
    error::Error,
    frontier::Frontier,
    tags::{TagList, TagSlice},
    units::TimeUnits,
};

pub(super) struct Merge;

impl Operator for Merge {
    fn key(&self) -> &'static str {
        "merge"
    }

    fn summary(&self) -> &'static str {
        "All tags of several channels"
    }

    fn forms(&self) -> &'static [Form] {
        &[Form { pattern: "A | B …", example: "1 | 2" }]
    }

    fn start(&self, _: usize, _: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        Ok(Operation::channel(Merging))
    }
}

struct Merging;

impl ChannelOperation for Merging {
    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let lists: Vec<TagSlice<'_>> =
            operands.iter_mut().map(|operand| operand.take(until)).collect();
        merge(&lists, out);
    }
}

/// Merges lists two by two.
fn merge(lists: &[TagSlice<'_>], out: &mut TagList) {
    match lists {
        [] => {}
        &[list] => out.extend(list),
        &[a, b] => merge_two(a, b, out),
        _ => {
            let (low, high) = lists.split_at(lists.len() / 2);
            let (mut a, mut b) = (TagList::default(), TagList::default());
            merge(low, &mut a);
            merge(high, &mut b);
            merge_two(a.since(0), b.since(0), out);
        }
    }
}

/// Merges two lists by time, then by row. No branch depends on which list is next.
fn merge_two(a: TagSlice<'_>, b: TagSlice<'_>, out: &mut TagList) {
    let (mut at_a, mut at_b) = (0, 0);
    out.fill(a.times.len() + b.times.len(), |times, rows| {
        let rows_a = &a.rows[..a.times.len()];
        let rows_b = &b.rows[..b.times.len()];
        for (time, row) in times.iter_mut().zip(rows.iter_mut()) {
            let (Some(&time_a), Some(&time_b)) = (a.times.get(at_a), b.times.get(at_b)) else {
                break;
            };
            let (row_a, row_b) = (rows_a[at_a], rows_b[at_b]);
            let mut is_b = time_b < time_a;
            if time_b == time_a {
                is_b = row_b < row_a;
            }
            *time = select_unpredictable(is_b, time_b, time_a);
            *row = select_unpredictable(is_b, row_b, row_a);
            at_a += usize::from(!is_b);
            at_b += usize::from(is_b);
        }
        at_a + at_b
    });
    out.extend(a.since(at_a));
    out.extend(b.since(at_b));
}
