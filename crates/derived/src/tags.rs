//! Columns of tags: times and rows, in order of time, then of rows.
//!
//! Tags of equal time are in order of their rows. Every merge and search relies on this order; restored lists are
//! checked for it.

use std::ops::Range;

use tagq_store::sealed::{Reader, put_len};

/// The tags of one channel, real or derived, in order of time, then of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagList {
    /// The delayed times.
    pub times: Vec<i64>,
    /// The row of the real tag that each tag comes from.
    pub rows: Vec<u64>,
    /// The micro time of each tag; empty for lists whose micro times no definition needs.
    pub micro: Vec<u32>,
}

impl TagList {
    /// Returns the number of tags.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns whether there are no tags.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Removes all tags and keeps the memory.
    pub fn clear(&mut self) {
        self.times.clear();
        self.rows.clear();
        self.micro.clear();
    }

    /// Returns the tags from index `from` on.
    pub(crate) fn since(&self, from: usize) -> TagSlice<'_> {
        let micro = self.micro.get(from..).unwrap_or_default();
        TagSlice { times: &self.times[from..], rows: &self.rows[from..], micro }
    }

    /// Returns the time and the row of the last tag.
    pub(crate) fn last(&self) -> Option<(i64, u64)> {
        self.times.last().copied().zip(self.rows.last().copied())
    }

    pub(crate) fn push(&mut self, time: i64, row: u64) {
        self.times.push(time);
        self.rows.push(row);
    }

    /// Appends tags without their micro times.
    pub(crate) fn extend(&mut self, tags: TagSlice<'_>) {
        self.times.extend_from_slice(tags.times);
        self.rows.extend_from_slice(tags.rows);
    }

    /// Appends the tags that `write` writes into room for `most` tags; it returns how many these are.
    pub(crate) fn fill(
        &mut self,
        most: usize,
        write: impl FnOnce(&mut [i64], &mut [u64]) -> usize,
    ) {
        let start = self.len();
        self.times.resize(start + most, 0);
        self.rows.resize(start + most, 0);
        let written = write(&mut self.times[start..], &mut self.rows[start..]);
        self.times.truncate(start + written);
        self.rows.truncate(start + written);
    }

    /// Removes the first `count` tags.
    pub(crate) fn remove_first(&mut self, count: usize) {
        self.times.drain(..count);
        self.rows.drain(..count);
        if !self.micro.is_empty() {
            self.micro.drain(..count);
        }
    }

    /// Writes the tags from index `from` on.
    pub(crate) fn save(&self, from: usize, out: &mut Vec<u8>) {
        let tags = self.since(from);
        put_len(out, tags.times.len());
        tags.times.iter().for_each(|time| out.extend(time.to_le_bytes()));
        tags.rows.iter().for_each(|row| out.extend(row.to_le_bytes()));
        tags.micro.iter().for_each(|micro| out.extend(micro.to_le_bytes()));
    }

    /// Reads tags, with micro times if the list has them; `None` also if they are out of order.
    pub(crate) fn restore(has_micro: bool, reader: &mut Reader<'_>) -> Option<Self> {
        let len = reader.len(16)?;
        let times = numbers(reader, len, i64::from_le_bytes)?;
        let rows = numbers(reader, len, u64::from_le_bytes)?;
        let micro = if has_micro { numbers(reader, len, u32::from_le_bytes)? } else { Vec::new() };
        is_in_order(&times, &rows).then_some(Self { times, rows, micro })
    }
}

/// Returns whether tags are in order of time, then of rows. It reads all of them without a branch for each.
#[expect(clippy::needless_bitwise_bool, reason = "a lazy operator would be a branch")]
pub(crate) fn is_in_order(times: &[i64], rows: &[u64]) -> bool {
    let times = times.iter().zip(times.get(1..).unwrap_or_default());
    let rows = rows.iter().zip(rows.get(1..).unwrap_or_default());
    times.zip(rows).fold(true, |is_in_order, ((time, next), (row, next_row))| {
        is_in_order & ((time < next) | ((time == next) & (row <= next_row)))
    })
}

/// Reads `len` numbers of `N` bytes; `None` if fewer are left.
fn numbers<const N: usize, T>(
    reader: &mut Reader<'_>,
    len: usize,
    of: fn([u8; N]) -> T,
) -> Option<Vec<T>> {
    let bytes = reader.take(len.checked_mul(N)?)?;
    Some(bytes.as_chunks().0.iter().map(|&bytes| of(bytes)).collect())
}

/// A part of a [`TagList`].
#[derive(Debug, Clone, Copy)]
pub struct TagSlice<'a> {
    /// The delayed times.
    pub times: &'a [i64],
    /// The rows.
    pub rows: &'a [u64],
    /// The micro times, or nothing.
    pub micro: &'a [u32],
}

impl<'a> TagSlice<'a> {
    /// Returns the first `len` tags.
    pub(crate) fn first(self, len: usize) -> TagSlice<'a> {
        let micro = self.micro.get(..len).unwrap_or_default();
        TagSlice { times: &self.times[..len], rows: &self.rows[..len], micro }
    }

    /// Returns the tags from index `from` on.
    pub(crate) fn since(self, from: usize) -> TagSlice<'a> {
        let micro = self.micro.get(from..).unwrap_or_default();
        TagSlice { times: &self.times[from..], rows: &self.rows[from..], micro }
    }
}

/// Tags of real channels, in order of delayed time, then of rows.
#[derive(Debug, Clone, Copy)]
pub struct TagBatch<'a> {
    /// The delayed times.
    pub times: &'a [i64],
    /// The rows.
    pub rows: &'a [u64],
    /// The labels of the channels; tags of channels that are not needed are ignored.
    pub labels: &'a [u16],
    /// The micro times, if a definition needs them.
    pub micro: Option<&'a [u32]>,
}

/// Tags of several channels, real and derived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelledTags {
    /// The delayed times.
    pub times: Vec<i64>,
    /// The row of the real tag that each tag comes from.
    pub rows: Vec<u64>,
    /// The labels.
    pub labels: Vec<u16>,
}

impl LabelledTags {
    /// Returns the number of tags.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns whether there are no tags.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Appends the tags of a range of others.
    pub fn append(&mut self, from: &Self, tags: Range<usize>) {
        self.times.extend_from_slice(&from.times[tags.clone()]);
        self.rows.extend_from_slice(&from.rows[tags.clone()]);
        self.labels.extend_from_slice(&from.labels[tags]);
    }

    /// Keeps the first `len` tags.
    pub fn truncate(&mut self, len: usize) {
        self.times.truncate(len);
        self.rows.truncate(len);
        self.labels.truncate(len);
    }

    /// Removes the first `count` tags.
    pub fn remove_first(&mut self, count: usize) {
        self.times.drain(..count);
        self.rows.drain(..count);
        self.labels.drain(..count);
    }

    /// Keeps the tags whose label is wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(u16) -> bool) {
        let mut kept = 0;
        for at in 0..self.labels.len() {
            if is_wanted(self.labels[at]) {
                self.times[kept] = self.times[at];
                self.rows[kept] = self.rows[at];
                self.labels[kept] = self.labels[at];
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Removes all tags and keeps the memory.
    pub fn clear(&mut self) {
        self.times.clear();
        self.rows.clear();
        self.labels.clear();
    }
}
