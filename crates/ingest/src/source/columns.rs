//! Columns of tags that are put in order.
//!
//! Of the times 10, 30, 20 and 40 only row 2 is late: it is taken out, and put before row 1. Equal times keep the order
//! in which they came.

use std::ops::Range;

use tagq_store::{Rows, format::MICRO_NONE};

/// Columns of tags.
#[derive(Debug, Default)]
pub(super) struct TagColumns {
    pub time: Vec<i64>,
    pub channel: Vec<u16>,
    /// Empty if none of the tags has a micro time.
    pub micro: Vec<u32>,
}

/// Time, channel and micro time of a tag.
pub(super) type Row = (i64, u16, u32);

impl TagColumns {
    /// Joins rows that follow each other.
    pub(super) fn join(all: &[Rows]) -> Self {
        let len = all.iter().map(Rows::len).sum();
        let (time, channel) = (Vec::with_capacity(len), Vec::with_capacity(len));
        let mut columns = Self { time, channel, micro: Vec::new() };
        for rows in all {
            if !rows.micro().is_empty() {
                columns.make_micro();
                columns.micro.extend_from_slice(rows.micro());
            }
            columns.time.extend_from_slice(rows.times());
            columns.channel.extend_from_slice(rows.channels());
            if !columns.micro.is_empty() {
                columns.make_micro();
            }
        }
        columns
    }

    /// Returns the tags as rows; none if there are no tags.
    pub(super) fn into_rows(self) -> Vec<Rows> {
        let Self { time, channel, micro } = self;
        if time.is_empty() { Vec::new() } else { vec![Rows::new(time, channel, micro)] }
    }

    /// Gives all tags a micro time, none unless they have one.
    pub(super) fn make_micro(&mut self) {
        self.micro.resize(self.time.len(), MICRO_NONE);
    }

    pub(super) fn row(&self, row: usize) -> Row {
        let micro = self.micro.get(row).copied().unwrap_or(MICRO_NONE);
        (self.time[row], self.channel[row], micro)
    }

    pub(super) fn set(&mut self, row: usize, (time, channel, micro): Row) {
        (self.time[row], self.channel[row]) = (time, channel);
        if let Some(place) = self.micro.get_mut(row) {
            *place = micro;
        }
    }

    fn copy_within(&mut self, rows: Range<usize>, to: usize) {
        self.time.copy_within(rows.clone(), to);
        self.channel.copy_within(rows.clone(), to);
        if !self.micro.is_empty() {
            self.micro.copy_within(rows, to);
        }
    }

    /// Puts the rows in order of time, equal times as they are. Those numbered `late` are before a row that they stand
    /// after, the others ascend. A few late ones cost some moves of whole ranges, not a sort.
    pub(super) fn sort(&mut self, late: &[usize]) {
        let rows = self.time.len();
        // The late ones apart, the others together at the beginning.
        let mut apart: Vec<Row> = Vec::with_capacity(late.len());
        let (mut left, mut stretch) = (0, 0);
        for end in late.iter().copied().chain([rows]) {
            apart.extend((end < rows).then(|| self.row(end)));
            self.copy_within(stretch..end, left);
            left += end - stretch;
            stretch = end + 1;
        }
        apart.sort_by_key(|&(time, ..)| time);
        // From the end: tags after a late one move there, and it stands before them. The others of
        // its time came before it.
        let mut end = rows;
        for &late in apart.iter().rev() {
            let after = first_after(&self.time[..left], late.0);
            end -= left - after;
            self.copy_within(after..left, end);
            left = after;
            end -= 1;
            self.set(end, late);
        }
    }
}

/// The first of ascending times that is after `limit`, sought from the end on.
fn first_after(times: &[i64], limit: i64) -> usize {
    let (mut end, mut step) = (times.len(), 1);
    while step <= end && times[end - step] > limit {
        end -= step;
        step *= 2;
    }
    let start = end.saturating_sub(step);
    start + times[start..end].partition_point(|&time| time <= limit)
}
