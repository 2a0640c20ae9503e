//! Puts the tags of one source in order of time.
//!
//! Recorders hand over tags nearly in order: the times 10, 30, 20 become 10, 20, 30. A tag may be late by up to
//! [`HORIZON`] tags; equal times keep the order they arrived in. Rows that are in order are handed on as they came, and
//! no value of theirs is read. Tags are released at the same tags of a source wherever reading began, so an interrupted
//! ingest gives the same rows.

use std::mem;

use tagq_store::{ResumePoint, Rows};

use super::columns::{Row, TagColumns};
use crate::formats::format::Checkpoint;

/// Tags within which order is repaired.
pub(crate) const HORIZON: usize = 1 << 20;
/// How often within a horizon an eager [`Order`] releases tags.
const STEPS: usize = 8;
/// Parts with fewer rows are joined with such a part before them.
const FEW_ROWS: usize = 4_096;

/// A tag that came too late. `number` counts the tags of the source from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late {
    pub number: u64,
    pub time: i64,
    pub after: i64,
}

/// Tags on their way into order.
pub(crate) struct Order {
    horizon: usize,
    /// Tags older than the newest by more than so many ticks are released long before the horizon.
    eager: Option<i64>,
    /// Full, in order, and released when the newer one is full too.
    older: HeldRows,
    newer: HeldRows,
    /// The rows of the newer one that come before an earlier row of the two.
    late_rows: Vec<usize>,
    time_max: i64,
    released: Option<i64>,
    /// Tags after so many do not come before this time: the rows up to it are committed.
    committed: Option<(u64, i64)>,
    /// The earliest tag that came after a later one, since it was asked for.
    late: Option<i64>,
    /// Tags of the source seen.
    pub number: u64,
    /// Tags that came after a later one.
    pub reordered: u64,
}

/// Rows that follow each other.
#[derive(Default)]
struct HeldRows {
    rows: Vec<Rows>,
    len: usize,
}

impl HeldRows {
    fn of(columns: TagColumns) -> Self {
        let rows = columns.into_rows();
        Self { len: rows.iter().map(Rows::len).sum(), rows }
    }

    fn push(&mut self, rows: Rows) {
        self.len += rows.len();
        let is_few = |part: &Rows| part.len() < FEW_ROWS;
        match self.rows.last_mut().filter(|last| is_few(last) && is_few(&rows)) {
            Some(last) => last.extend(&rows),
            None => self.rows.push(rows),
        }
    }

    fn last_time(&self) -> Option<i64> {
        self.rows.last().and_then(|rows| rows.times().last().copied())
    }

    /// Splits off the rows from the first one on that is not before `time`. They are in order.
    fn split_off_from(&mut self, time: i64) -> Self {
        let is_before = |rows: &Rows| rows.times().last().is_some_and(|&last| last < time);
        let mut later = self.rows.split_off(self.rows.partition_point(is_before));
        if let Some(rows) = later.first_mut() {
            let row = rows.times().partition_point(|&earlier| earlier < time);
            if row > 0 {
                let after = rows.split_off(row);
                self.rows.push(mem::replace(rows, after));
            }
        }
        let len = later.iter().map(Rows::len).sum();
        self.len -= len;
        Self { rows: later, len }
    }
}

impl Order {
    pub(crate) fn new(horizon: usize) -> Self {
        Self {
            horizon,
            eager: None,
            older: HeldRows::default(),
            newer: HeldRows::default(),
            late_rows: Vec::new(),
            time_max: i64::MIN,
            released: None,
            committed: None,
            late: None,
            number: 0,
            reordered: 0,
        }
    }

    /// Returns the latest time of the tags so far.
    pub(crate) fn latest(&self) -> Option<i64> {
        (self.number > 0).then_some(self.time_max)
    }

    /// Continues at `point`. Tags after the first `read` are not put before the time `committed`.
    ///
    /// Tags are released at the same tags of the source wherever reading began, so that what can be
    /// put in order does not depend on it.
    pub(crate) fn resumed(
        horizon: usize,
        point: &ResumePoint,
        read: u64,
        committed: Option<i64>,
    ) -> Self {
        Self {
            time_max: point.time.unwrap_or(i64::MIN),
            committed: committed.map(|time| (read, time)),
            number: point.rows,
            reordered: point.reordered,
            ..Self::new(horizon)
        }
    }

    /// From here on tags older than the newest by more than `hold_back` ticks are released as they come.
    /// One that is later still is refused then, though it could be put in order without.
    pub(crate) fn set_eager(&mut self, hold_back: Option<i64>) {
        self.eager = hold_back;
    }

    /// Released tags are committed, up to the time `last`: no later tag is put before that.
    pub(crate) fn commit(&mut self, last: Option<i64>) {
        self.committed = last.map(|time| (self.number, time));
    }

    /// The place in the source after the tags seen, which is this place in the file.
    pub(crate) fn point(&self, Checkpoint { byte, overflow }: Checkpoint) -> ResumePoint {
        let (rows, time) = (self.number, self.latest());
        ResumePoint { byte, rows, time, reordered: self.reordered, overflow }
    }

    /// Tags of the source that are released.
    pub(crate) fn released_rows(&self) -> u64 {
        self.number - (self.older.len + self.newer.len) as u64
    }

    /// The time of the earliest tag that came after a later one, since this was asked last.
    pub(crate) fn take_late(&mut self) -> Option<i64> {
        self.late.take()
    }

    /// Takes tags as they arrive; hands rows that nothing can come before any more to `release`.
    pub(crate) fn push<E: From<Late>>(
        &mut self,
        mut rows: Rows,
        mut release: impl FnMut(Vec<Rows>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !rows.is_empty() {
            let later = (self.room() < rows.len()).then(|| rows.split_off(self.room()));
            self.take(rows)?;
            if self.number.is_multiple_of(self.horizon as u64) {
                self.turn(&mut release)?;
            } else if self.eager.is_some() && self.number.is_multiple_of(self.step()) {
                self.finish(self.eager, &mut release)?;
            }
            let Some(later) = later else { break };
            rows = later;
        }
        Ok(())
    }

    /// Releases what is left, but for tags no more than `hold_back` ticks older than the newest.
    pub(crate) fn finish<E>(
        &mut self,
        hold_back: Option<i64>,
        mut release: impl FnMut(Vec<Rows>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        let limit = hold_back.map(|ticks| self.time_max.saturating_sub(ticks));
        for part in [&mut self.older, &mut self.newer] {
            let held = limit.map(|limit| part.split_off_from(limit)).unwrap_or_default();
            let HeldRows { rows, .. } = mem::replace(part, held);
            if let Some(last) = rows.last().and_then(|rows| rows.times().last().copied()) {
                release(rows)?;
                self.released = Some(last);
            }
        }
        Ok(())
    }

    /// Tags until some may be released.
    fn room(&self) -> usize {
        let until = |step: u64| step - self.number % step;
        let steps = self.eager.map_or(u64::MAX, |_| until(self.step()));
        #[expect(clippy::cast_possible_truncation, reason = "at most the horizon")]
        let room = steps.min(until(self.horizon as u64)) as usize;
        room
    }

    fn step(&self) -> u64 {
        (self.horizon / STEPS).max(1) as u64
    }

    fn take(&mut self, rows: Rows) -> Result<(), Late> {
        let times = rows.times();
        if rows.is_sorted() && times.first().is_none_or(|&first| first >= self.time_max) {
            self.time_max = times.last().map_or(self.time_max, |&last| last);
        } else {
            self.take_unordered(times)?;
        }
        self.number += rows.len() as u64;
        self.newer.push(rows);
        Ok(())
    }

    fn take_unordered(&mut self, times: &[i64]) -> Result<(), Late> {
        for (row, &time) in times.iter().enumerate() {
            if time >= self.time_max {
                self.time_max = time;
                continue;
            }
            let number = self.number + row as u64 + 1;
            let committed = self.committed.filter(|&(read, _)| number > read);
            let bound = self.released.max(committed.map(|(_, time)| time));
            if let Some(after) = bound.filter(|&after| time < after) {
                return Err(Late { number, time, after });
            }
            self.late_rows.push(self.newer.len + row);
            self.reordered += 1;
            self.late = Some(self.late.map_or(time, |late| late.min(time)));
        }
        Ok(())
    }

    /// Releases the older rows and puts the newer ones in their place.
    fn turn<E>(&mut self, release: &mut impl FnMut(Vec<Rows>) -> Result<(), E>) -> Result<(), E> {
        self.sort();
        let newer = mem::take(&mut self.newer);
        let older = mem::replace(&mut self.older, newer);
        if let Some(last) = older.last_time() {
            release(older.rows)?;
            self.released = Some(last);
        }
        Ok(())
    }

    /// Puts the newer tags in order with the older ones, which are; equal times stay in the order of
    /// arrival.
    fn sort(&mut self) {
        if self.late_rows.is_empty() {
            return;
        }
        let mut newer = TagColumns::join(&mem::take(&mut self.newer).rows);
        newer.sort(&self.late_rows);
        self.late_rows.clear();
        let first = newer.time.first().copied();
        if first.zip(self.older.last_time()).is_some_and(|(first, last)| first < last) {
            let mut older = TagColumns::join(&mem::take(&mut self.older).rows);
            merge(&mut older, &mut newer);
            self.older = HeldRows::of(older);
        }
        self.newer = HeldRows::of(newer);
    }
}

/// Merges two lists of rows, each of them in order of time: afterwards no row of `newer` is before one of `older`.
fn merge(older: &mut TagColumns, newer: &mut TagColumns) {
    let (Some(&last), Some(&first)) = (older.time.last(), newer.time.first()) else { return };
    // Few reach over from one to the other.
    let start = older.time.partition_point(|&time| time <= first);
    let end = newer.time.partition_point(|&time| time < last);
    if start < older.time.len() && older.micro.is_empty() != newer.micro.is_empty() {
        older.make_micro();
        newer.make_micro();
    }
    let rows = start..older.time.len();
    let mut tags: Vec<Row> = rows.clone().map(|row| older.row(row)).collect();
    tags.extend((0..end).map(|row| newer.row(row)));
    tags.sort_by_key(|&(time, ..)| time);
    let (earlier, later) = tags.split_at(rows.len());
    rows.zip(earlier).for_each(|(row, &tag)| older.set(row, tag));
    (0..end).zip(later).for_each(|(row, &tag)| newer.set(row, tag));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::format::Piece;
    use proptest::prelude::*;
    use tagq_store::{Tag, format::MICRO_NONE};

    /// Time, label and micro time of each row.
    fn values(all: &[Rows]) -> Vec<Row> {
        let columns = TagColumns::join(all);
        (0..columns.time.len()).map(|row| columns.row(row)).collect()
    }

    fn ordered(tags: &[Tag], horizon: usize, piece: usize) -> Result<(Vec<(i64, u16)>, u64), Late> {
        let mut order = Order::new(horizon);
        let mut out = Vec::new();
        let mut take = |rows: Vec<Rows>| {
            out.extend(values(&rows).into_iter().map(|(time, label, _)| (time, label)));
            Ok(())
        };
        for tags in tags.chunks(piece) {
            order.push(rows_of(tags), &mut take)?;
        }
        order.finish(None, &mut take)?;
        Ok((out, order.reordered))
    }

    fn rows_of(tags: &[Tag]) -> Rows {
        Piece::new(tags, &[]).rows().unwrap()
    }

    fn tags(times: &[i64]) -> Vec<Tag> {
        (0..).zip(times).map(|(channel, &time)| Tag { time, channel }).collect()
    }

    /// The rows that are released before the end when those older than the newest by more than `hold_back`
    /// are at once, and all of them.
    fn released_eagerly(
        tags: &[Tag],
        horizon: usize,
        hold_back: i64,
    ) -> Result<(usize, Vec<(i64, u16)>), Late> {
        let mut order = Order::new(horizon);
        order.set_eager(Some(hold_back));
        let mut out = Vec::new();
        let mut take = |rows: Vec<Rows>| {
            out.extend(values(&rows).into_iter().map(|(time, label, _)| (time, label)));
            Ok(())
        };
        order.push(rows_of(tags), &mut take)?;
        let before = usize::try_from(order.released_rows()).unwrap();
        order.finish(None, &mut take)?;
        Ok((before, out))
    }

    #[test]
    fn what_is_settled_need_not_wait_for_the_horizon() {
        let ascending: Vec<i64> = (0..100).collect();
        // Behind the last multiple of 8 nothing was released, and 10 ticks are held.
        let (before, out) = released_eagerly(&tags(&ascending), 64, 10).unwrap();
        assert_eq!((before, out.len()), (85, 100));
        // Two horizons after the end nothing is held.
        let (before, _) = released_eagerly(&tags(&ascending), 24, 1_000).unwrap();
        assert_eq!(before, 72);
        let mut late = ascending;
        late.push(85);
        let (_, out) = released_eagerly(&tags(&late), 64, 10).unwrap();
        assert_eq!(out[85..88], [(85, 85), (85, 100), (86, 86)]);
        late.push(83);
        let refused = released_eagerly(&tags(&late), 64, 10).unwrap_err();
        assert_eq!(refused, Late { number: 102, time: 83, after: 84 });
        assert!(ordered(&tags(&late), 64, 7).is_ok(), "without it could be put in order");
    }

    #[test]
    fn equal_times_keep_the_order_they_arrived_in() {
        let (out, reordered) = ordered(&tags(&[5, 5, 3, 5, 3]), 8, 2).unwrap();
        assert_eq!(out, [(3, 2), (3, 4), (5, 0), (5, 1), (5, 3)]);
        assert_eq!(reordered, 2);
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        let late = ordered(&tags(&[1, 2, 3, 4, 5, 6, 7, 8, 1]), 2, 3).unwrap_err();
        // Tags 1 to 6 are released when tag 8 fills the second pair of columns.
        assert_eq!(late, Late { number: 9, time: 1, after: 6 });
        let late = ordered(&tags(&[1, 2, 3, 4, 5, 6, 7, 8, 5]), 2, 3).unwrap_err();
        assert_eq!(late, Late { number: 9, time: 5, after: 6 });
        let just = ordered(&tags(&[1, 2, 3, 4, 5, 6, 7, 8, 6]), 2, 3).unwrap().0;
        assert_eq!(just[5..], [(6, 5), (6, 8), (7, 6), (8, 7)]);
        assert_eq!(ordered(&tags(&[i64::MAX, i64::MIN]), 4, 1).unwrap().0.len(), 2);
    }

    /// The rows with their micro times, released eagerly or not. Pieces come with and without micro times, as
    /// `has_micro` says, again and again.
    fn ordered_with_micro(
        tags: &[Tag],
        micro: &[u32],
        (horizon, piece, has_micro): (usize, usize, &[bool]),
        hold_back: Option<i64>,
    ) -> Vec<Row> {
        let mut order = Order::new(horizon);
        order.set_eager(hold_back);
        let mut out = Vec::new();
        let mut take = |rows: Vec<Rows>| {
            for rows in &rows {
                assert!(!rows.micro().is_empty() || !has_micro.iter().all(|&has_micro| has_micro));
                assert!(rows.micro().is_empty() || has_micro.iter().any(|&has_micro| has_micro));
            }
            out.extend(values(&rows));
            Ok::<(), Late>(())
        };
        let pieces = tags.chunks(piece).zip(micro.chunks(piece)).zip(has_micro.iter().cycle());
        for ((tags, micro), &has_micro) in pieces {
            let micro = if has_micro { micro } else { &[] };
            order.push(Piece::new(tags, micro).rows().unwrap(), &mut take).unwrap();
        }
        order.finish(None, &mut take).unwrap();
        out
    }

    proptest! {
        #[test]
        fn micro_times_stay_with_their_tags(
            late in prop::collection::vec((0_i64..8, 0_u32..9), 0..200),
            horizon in 8_usize..20,
            piece in 1_usize..30,
            has_micro in prop::collection::vec(any::<bool>(), 1..5),
        ) {
            let tags: Vec<Tag> = (0..).zip(&late)
                .map(|(i, &(late, _))| Tag { time: i - late, channel: i.unsigned_abs() })
                .collect();
            let micro: Vec<u32> = late.iter().map(|&(_, micro)| micro).collect();
            let has = |row: usize| has_micro[row / piece % has_micro.len()];
            let mut expected: Vec<Row> = tags.iter().zip(&micro).enumerate()
                .map(|(row, (tag, &micro))| {
                    let micro = if has(row) { micro } else { MICRO_NONE };
                    (tag.time, u16::try_from(tag.channel).unwrap(), micro)
                })
                .collect();
            expected.sort_by_key(|&(time, ..)| time);
            for hold_back in [None, Some(7)] {
                let found =
                    ordered_with_micro(&tags, &micro, (horizon, piece, &has_micro), hold_back);
                prop_assert_eq!(&found, &expected);
            }
        }

        #[test]
        fn tags_late_within_the_horizon_are_sorted_stably(
            late in prop::collection::vec(0_i64..8, 0..200),
            horizon in 8_usize..20,
            piece in 1_usize..30,
        ) {
            // Tag i carries a time of at most 7 tags before its place.
            let tags: Vec<Tag> = (0..).zip(&late)
                .map(|(i, &late)| Tag { time: i - late, channel: i.unsigned_abs() })
                .collect();
            let mut expected: Vec<(i64, u16)> =
                tags.iter().map(|tag| (tag.time, u16::try_from(tag.channel).unwrap())).collect();
            expected.sort_by_key(|&(time, _)| time);
            prop_assert_eq!(&ordered(&tags, horizon, piece).unwrap().0, &expected);
            prop_assert_eq!(released_eagerly(&tags, horizon, 7).unwrap().1, expected);
        }
    }
}
