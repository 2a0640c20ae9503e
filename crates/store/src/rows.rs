//! Rows on their way into a store, with the facts that decide widths of columns.
//!
//! Micro times 7 and none need two bytes, 65,535 needs four, because 65,535 in two bytes means none. Rows without micro
//! times that join rows with them get the value for none.

use std::{
    mem,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Error,
    format::{MICRO_NONE, MICRO_NONE_U16},
    simd::{Simd, Work},
};

/// Rows as columns in memory, with the facts that a writer needs. The thread that makes them computes the facts, so
/// that the one writer need not read each value. Clones and parts share the columns.
#[derive(Debug, Clone)]
pub struct Rows {
    columns: Arc<SharedColumns>,
    range: Range<usize>,
    facts: Facts,
}

/// Columns of rows: `times[i]` in ticks and `channels[i]` are one tag, and `micro[i]` is its micro time, [`MICRO_NONE`]
/// for none. `micro` is empty if none of the tags has one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RowColumns {
    /// The times in ticks.
    pub times: Vec<i64>,
    /// The channels.
    pub channels: Vec<u16>,
    /// The micro times.
    pub micro: Vec<u32>,
}

/// Memory of rows that are gone, to be filled again.
#[derive(Debug, Default)]
pub struct SpareColumns(Mutex<Vec<RowColumns>>);

impl SpareColumns {
    /// Returns empty columns, with memory if there is some.
    pub fn take(&self) -> RowColumns {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps the memory of these columns.
    pub fn put(&self, mut columns: RowColumns) {
        let RowColumns { times, channels, micro } = &mut columns;
        times.clear();
        channels.clear();
        micro.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(columns);
    }
}

/// The columns that clones and parts share. Their memory goes to `spare` with the last of them.
#[derive(Debug, Default)]
struct SharedColumns {
    columns: RowColumns,
    spare: Option<Arc<SpareColumns>>,
}

impl Drop for SharedColumns {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare
            && self.columns.times.capacity() > 0
        {
            spare.put(mem::take(&mut self.columns));
        }
    }
}

/// Facts about the values of some rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    is_sorted: bool,
    channel_max: u16,
    /// Bytes that a micro time needs: 0 if all are none.
    micro_width: u16,
}

/// Rows as slices of equal length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSlices<'a> {
    pub times: &'a [i64],
    pub channels: &'a [u16],
    /// Empty if no row has a micro time.
    pub micro: &'a [u32],
}

impl Rows {
    /// Makes rows of [columns](RowColumns).
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn new(times: Vec<i64>, channels: Vec<u16>, micro: Vec<u32>) -> Self {
        Self::of(RowColumns { times, channels, micro }, None)
    }

    /// Makes rows of columns whose memory goes to `spare` when the rows are gone.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn with_spare(columns: RowColumns, spare: &Arc<SpareColumns>) -> Self {
        Self::of(columns, Some(Arc::clone(spare)))
    }

    fn of(columns: RowColumns, spare: Option<Arc<SpareColumns>>) -> Self {
        let RowColumns { times, channels, micro } = &columns;
        let (facts, range) = (RowSlices::new(times, channels, micro).facts(), 0..times.len());
        Self { columns: Arc::new(SharedColumns { columns, spare }), range, facts }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Whether times do not decrease.
    pub fn is_sorted(&self) -> bool {
        self.facts.is_sorted
    }

    /// The times in ticks.
    pub fn times(&self) -> &[i64] {
        &self.columns.columns.times[self.range.clone()]
    }

    /// The channels.
    pub fn channels(&self) -> &[u16] {
        &self.columns.columns.channels[self.range.clone()]
    }

    /// The micro times; empty if no row has one.
    pub fn micro(&self) -> &[u32] {
        self.columns.columns.micro.get(self.range.clone()).unwrap_or_default()
    }

    /// Takes off the rows from this number on.
    ///
    /// # Panics
    /// When there are fewer rows.
    #[must_use]
    pub fn split_off(&mut self, row: usize) -> Self {
        assert!(row <= self.len(), "a part has no more rows than the whole");
        let (middle, end) = (self.range.start + row, self.range.end);
        let later = self.part(middle..end);
        *self = self.part(self.range.start..middle);
        later
    }

    /// Adds rows that follow them.
    pub fn extend(&mut self, later: &Self) {
        let is_all = self.range == (0..self.columns.columns.times.len());
        let mut shared = match Arc::get_mut(&mut self.columns) {
            Some(own) if is_all => mem::take(own),
            _ => {
                let (times, channels) = (self.times().to_vec(), self.channels().to_vec());
                let micro = self.micro().to_vec();
                SharedColumns { columns: RowColumns { times, channels, micro }, spare: None }
            }
        };
        let RowColumns { times, channels, micro } = &mut shared.columns;
        if !(micro.is_empty() && later.micro().is_empty()) {
            micro.resize(times.len(), MICRO_NONE);
            micro.extend_from_slice(later.micro());
            micro.resize(times.len() + later.len(), MICRO_NONE);
        }
        let follows = times.last() <= later.times().first() || later.is_empty();
        times.extend_from_slice(later.times());
        channels.extend_from_slice(later.channels());
        self.range = 0..times.len();
        self.facts = Facts {
            is_sorted: self.facts.is_sorted && later.facts.is_sorted && follows,
            channel_max: self.facts.channel_max.max(later.facts.channel_max),
            micro_width: self.facts.micro_width.max(later.facts.micro_width),
        };
        self.columns = Arc::new(shared);
    }

    fn part(&self, range: Range<usize>) -> Self {
        let is_whole = range == self.range;
        let mut part = Self { columns: Arc::clone(&self.columns), range, facts: self.facts };
        // The rows that need wide values may be in the other part.
        let is_wide = self.facts.channel_max > u8::MAX.into() || self.facts.micro_width > 0;
        if is_wide && !is_whole {
            part.facts = part.slices().facts();
        }
        part
    }

    pub(crate) fn facts(&self) -> Facts {
        self.facts
    }

    pub(crate) fn slices(&self) -> RowSlices<'_> {
        RowSlices { times: self.times(), channels: self.channels(), micro: self.micro() }
    }
}

impl<'a> RowSlices<'a> {
    pub(crate) fn new(times: &'a [i64], channels: &'a [u16], micro: &'a [u32]) -> Self {
        assert_eq!(times.len(), channels.len(), "a tag has one time and one channel");
        assert!(micro.is_empty() || micro.len() == times.len(), "a tag has one micro time");
        Self { times, channels, micro }
    }

    pub(crate) fn len(self) -> usize {
        self.times.len()
    }

    pub(crate) fn split_at(self, row: usize) -> (Self, Self) {
        let (times, later_times) = self.times.split_at(row);
        let (channels, later_channels) = self.channels.split_at(row);
        let (micro, later_micro) = self.micro.split_at(row.min(self.micro.len()));
        (
            Self { times, channels, micro },
            Self { times: later_times, channels: later_channels, micro: later_micro },
        )
    }

    pub(crate) fn facts(self) -> Facts {
        Simd::best().run(FactsOf(self))
    }
}

/// Finds the facts about rows.
struct FactsOf<'a>(RowSlices<'a>);

impl Work for FactsOf<'_> {
    type Output = Facts;

    #[expect(clippy::inline_always, reason = "see the trait")]
    #[inline(always)]
    fn run(self) -> Facts {
        let RowSlices { times, channels, micro } = self.0;
        let pairs = times.iter().zip(times.get(1..).unwrap_or_default());
        // All pairs are compared, without a branch.
        let mut is_sorted = true;
        pairs.for_each(|(before, time)| is_sorted &= before <= time);
        let channel_max = channels.iter().copied().fold(0, u16::max);
        // None is 0, and others are one more than they are.
        let micro_max = micro.iter().map(|micro| micro.wrapping_add(1)).fold(0, u32::max);
        let micro_width = match micro_max {
            0 => 0,
            _ if micro_max <= MICRO_NONE_U16.into() => 2,
            _ => 4,
        };
        Facts { is_sorted, channel_max, micro_width }
    }
}

/// Facts about rows that are appended together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    pub rows: u64,
    /// First and last time.
    pub span: Option<(i64, i64)>,
    pub channel_max: u16,
    pub micro_width: u16,
}

impl Appended {
    /// Describes rows that follow `before` rows up to the time `last`. Refuses them if they are out of order.
    pub(crate) fn check<'a>(
        all: impl IntoIterator<Item = (RowSlices<'a>, Facts)>,
        before: u64,
        mut last: Option<i64>,
    ) -> Result<Self, Error> {
        let mut sum = Self { rows: 0, span: None, channel_max: 0, micro_width: 0 };
        for (RowSlices { times, .. }, facts) in all {
            let Some(&first) = times.first() else { continue };
            let row = before + sum.rows;
            if let Some(after) = last.filter(|&last| first < last) {
                return Err(Error::Unsorted { row, time: first, after });
            }
            if !facts.is_sorted
                && let Some(at) = times.windows(2).position(|pair| pair[1] < pair[0])
            {
                let row = row + at as u64 + 1;
                return Err(Error::Unsorted { row, time: times[at + 1], after: times[at] });
            }
            last = times.last().copied();
            let first = sum.span.map_or(first, |(first, _)| first);
            sum = Self {
                rows: sum.rows + times.len() as u64,
                span: last.map(|last| (first, last)),
                channel_max: sum.channel_max.max(facts.channel_max),
                micro_width: sum.micro_width.max(facts.micro_width),
            };
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(rows: &Rows) -> (bool, u16, u16) {
        let Facts { is_sorted, channel_max, micro_width } = rows.facts;
        (is_sorted, channel_max, micro_width)
    }

    #[test]
    fn parts_have_facts_of_their_own() {
        let mut first = Rows::new(vec![1, 2, 5, 4], vec![7, 300, 8, 9], vec![MICRO_NONE; 4]);
        assert_eq!(facts(&first), (false, 300, 0));
        let mut second = first.split_off(2);
        assert_eq!((first.times(), first.channels()), (&[1, 2][..], &[7, 300][..]));
        assert_eq!((second.times(), second.channels()), (&[5, 4][..], &[8, 9][..]));
        assert_eq!((facts(&first), facts(&second)), ((true, 300, 0), (false, 9, 0)));
        let nothing = second.split_off(2);
        assert!(nothing.is_empty() && nothing.micro().is_empty());
        let all = second.split_off(0);
        assert!(second.is_empty());
        assert_eq!((all.times(), facts(&all)), (&[5, 4][..], (false, 9, 0)));
    }

    #[test]
    fn rows_are_extended_by_rows_with_and_without_micro_times() {
        let without = Rows::new(vec![1, 2], vec![1, 2], Vec::new());
        let with = Rows::new(vec![2, 3], vec![3, 256], vec![5, 70_000]);
        let shared = without.clone();
        let mut all = without;
        all.extend(&with);
        all.extend(&shared);
        assert_eq!(all.times(), [1, 2, 2, 3, 1, 2]);
        assert_eq!(all.channels(), [1, 2, 3, 256, 1, 2]);
        assert_eq!(all.micro(), [MICRO_NONE, MICRO_NONE, 5, 70_000, MICRO_NONE, MICRO_NONE]);
        assert_eq!(facts(&all), (false, 256, 4));
        assert_eq!((shared.times(), facts(&shared)), (&[1, 2][..], (true, 2, 0)));
        let mut part = all.split_off(2);
        part.extend(&Rows::new(Vec::new(), Vec::new(), Vec::new()));
        assert_eq!(part.micro(), [5, 70_000, MICRO_NONE, MICRO_NONE]);
    }
}
