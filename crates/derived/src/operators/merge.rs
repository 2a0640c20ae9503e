//! `1 | 2`: all tags of several channels.
//!
//! Channels 1 at 0 and 5 and 2 at 3 make 0, 3 and 5. Equal times are in order of rows, so that a tag keeps its place
//! in the run.

use std::hint::select_unpredictable;

use super::operator::{ChannelOperation, OperandTags, Operation, Operator, OperatorForm, Setting};
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

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A | B …", example: "1 | 2" }]
    }

    fn start(&self, _: usize, _: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        Ok(Operation::channel(Merging::default()))
    }
}

/// It keeps its memory from call to call.
#[derive(Default)]
struct Merging {
    spare: Vec<TagList>,
}

impl ChannelOperation for Merging {
    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let lists: Vec<TagSlice<'_>> =
            operands.iter_mut().map(|operand| operand.take(until)).collect();
        self.merge(&lists, out);
    }
}

impl Merging {
    /// Merges lists two by two.
    fn merge(&mut self, lists: &[TagSlice<'_>], out: &mut TagList) {
        match lists {
            [] => {}
            &[list] => out.extend(list),
            &[a, b] => merge_two(a, b, out),
            _ => {
                let (low, high) = lists.split_at(lists.len() / 2);
                let [a, b] = [low, high].map(|lists| {
                    let mut merged = self.spare.pop().unwrap_or_default();
                    merged.clear();
                    self.merge(lists, &mut merged);
                    merged
                });
                merge_two(a.since(0), b.since(0), out);
                self.spare.extend([a, b]);
            }
        }
    }
}

/// Merges two lists by time, then by row, from both ends at once: the two walks do not wait for each other. No branch
/// depends on which list is next.
fn merge_two(mut a: TagSlice<'_>, mut b: TagSlice<'_>, out: &mut TagList) {
    let all = a.times.len() + b.times.len();
    out.fill(all, |mut times, mut rows| {
        loop {
            // No list ends within this many steps from each end.
            let steps = a.times.len().min(b.times.len());
            if steps == 0 {
                break;
            }
            let (front_a, back_a) = merge_ends(a, b, steps, times, rows);
            let (front_b, back_b) = (steps - front_a, steps - back_a);
            a = a.first(a.times.len() - back_a).since(front_a);
            b = b.first(b.times.len() - back_b).since(front_b);
            let left = times.len() - steps;
            times = &mut times[steps..left];
            rows = &mut rows[steps..left];
        }
        for rest in [a, b] {
            if !rest.times.is_empty() {
                times.copy_from_slice(rest.times);
                rows.copy_from_slice(rest.rows);
            }
        }
        all
    });
}

/// Writes the `steps` first tags of two lists and the `steps` last ones, where each list has at least `steps`.
/// Returns how many of them are of the first list.
fn merge_ends(
    a: TagSlice<'_>,
    b: TagSlice<'_>,
    steps: usize,
    times: &mut [i64],
    rows: &mut [u64],
) -> (usize, usize) {
    let (mut front_a, mut front_b) = (0, 0);
    let (mut end_a, mut end_b) = (a.times.len(), b.times.len());
    let back = times.len() - steps;
    let (front_times, back_times) = times.split_at_mut(back);
    let (front_rows, back_rows) = rows.split_at_mut(back);
    let front = front_times.iter_mut().zip(front_rows);
    let back = back_times.iter_mut().zip(back_rows).rev();
    for ((time, row), (back_time, back_row)) in front.zip(back) {
        let (time_a, time_b) = (a.times[front_a], b.times[front_b]);
        let (row_a, row_b) = (a.rows[front_a], b.rows[front_b]);
        let mut is_b = time_b < time_a;
        if time_b == time_a {
            is_b = row_b < row_a;
        }
        *time = select_unpredictable(is_b, time_b, time_a);
        *row = select_unpredictable(is_b, row_b, row_a);
        front_a += usize::from(!is_b);
        front_b += usize::from(is_b);

        let (time_a, time_b) = (a.times[end_a - 1], b.times[end_b - 1]);
        let (row_a, row_b) = (a.rows[end_a - 1], b.rows[end_b - 1]);
        let mut is_b = time_b >= time_a;
        if time_b == time_a {
            is_b = row_b >= row_a;
        }
        *back_time = select_unpredictable(is_b, time_b, time_a);
        *back_row = select_unpredictable(is_b, row_b, row_a);
        end_a -= usize::from(!is_b);
        end_b -= usize::from(is_b);
    }
    (front_a, a.times.len() - end_a)
}
