//! Puts the tags of one source in order of time.
//!
//! Recorders hand over tags nearly in order: some come late by a few. A tag may be late by up to
//! [`HORIZON`] tags; equal times keep the order they arrived in. Tags in order cost one copy into
//! columns, which the store wants anyway.

use tagq_store::{ResumePoint, Tag};

use super::columns::{Columns, Row};
use crate::formats::format::{Checkpoint, Piece};

/// Tags within which order is repaired.
pub(crate) const HORIZON: usize = 1 << 20;
/// So often within a horizon an eager [`Order`] releases what is settled.
const STEPS: usize = 8;

/// Why a tag cannot be taken. `number` counts the tags of the source from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Channel { number: u64, channel: u64 },
    Late { number: u64, time: i64, after: i64 },
}

/// Tags on their way into order.
pub(crate) struct Order {
    horizon: usize,
    /// Tags older than the newest by more than so many ticks are released long before the horizon.
    eager: Option<i64>,
    /// Full, in order, and released when the newer one is full too.
    older: Columns,
    newer: Columns,
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

impl Order {
    pub(crate) fn new(horizon: usize) -> Self {
        Self {
            horizon,
            eager: None,
            older: Columns::default(),
            newer: Columns::default(),
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
        self.number - (self.older.time.len() + self.newer.time.len()) as u64
    }

    /// The time of the earliest tag that came after a later one, since this was asked last.
    pub(crate) fn take_late(&mut self) -> Option<i64> {
        self.late.take()
    }

    /// Takes tags as they arrive; hands columns that nothing can come before any more to `release`.
    pub(crate) fn push<E: From<Refused>>(
        &mut self,
        piece: Piece<'_>,
        mut release: impl FnMut(&Columns) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = piece;
        while !rest.tags.is_empty() {
            let (now, later) = rest.split_at(self.room().min(rest.tags.len()));
            self.take(now)?;
            if self.number.is_multiple_of(self.horizon as u64) {
                self.turn(&mut release)?;
            } else if self.eager.is_some() && self.number.is_multiple_of(self.step()) {
                self.finish(self.eager, &mut release)?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Releases what is left, but for tags no more than `hold_back` ticks older than the newest.
    pub(crate) fn finish<E>(
        &mut self,
        hold_back: Option<i64>,
        mut release: impl FnMut(&Columns) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        let limit = hold_back.map(|ticks| self.time_max.saturating_sub(ticks));
        for columns in [&mut self.older, &mut self.newer] {
            let held = limit.map(|limit| columns.split_off_from(limit));
            if let Some(&last) = columns.time.last() {
                release(columns)?;
                self.released = Some(last);
            }
            *columns = held.unwrap_or_default();
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

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Refused> {
        let Piece { tags, .. } = piece;
        let in_order = tags.first().is_none_or(|first| first.time >= self.time_max)
            && tags.is_sorted_by_key(|tag| tag.time);
        if in_order {
            self.time_max = tags.last().map_or(self.time_max, |last| last.time);
        } else {
            self.take_unordered(tags)?;
        }
        let channel_max = tags.iter().map(|tag| tag.channel).fold(0, u64::max);
        if channel_max > tagq_store::CHANNEL_MAX {
            let mut numbered = (self.number + 1..).zip(tags.iter().map(|tag| tag.channel));
            let wrong = numbered.find(|&(_, channel)| channel > tagq_store::CHANNEL_MAX);
            if let Some((number, channel)) = wrong {
                return Err(Refused::Channel { number, channel });
            }
        }
        self.newer.extend(piece);
        self.number += tags.len() as u64;
        Ok(())
    }

    fn take_unordered(&mut self, tags: &[Tag]) -> Result<(), Refused> {
        for (row, tag) in tags.iter().enumerate() {
            if tag.time >= self.time_max {
                self.time_max = tag.time;
                continue;
            }
            let number = self.number + row as u64 + 1;
            let committed = self.committed.filter(|&(read, _)| number > read);
            let bound = self.released.max(committed.map(|(_, time)| time));
            if let Some(after) = bound.filter(|&after| tag.time < after) {
                return Err(Refused::Late { number, time: tag.time, after });
            }
            self.late_rows.push(self.newer.time.len() + row);
            self.reordered += 1;
            self.late = Some(self.late.map_or(tag.time, |late| late.min(tag.time)));
        }
        Ok(())
    }

    /// Releases the older columns and puts the newer ones in their place.
    fn turn<E>(&mut self, release: &mut impl FnMut(&Columns) -> Result<(), E>) -> Result<(), E> {
        self.sort();
        if let Some(&last) = self.older.time.last() {
            release(&self.older)?;
            self.released = Some(last);
        }
        std::mem::swap(&mut self.older, &mut self.newer);
        self.newer.clear();
        Ok(())
    }

    /// Puts the newer tags in order with the older ones, which are; equal times stay in the order of
    /// arrival.
    fn sort(&mut self) {
        if self.late_rows.is_empty() {
            return;
        }
        self.newer.sort(&self.late_rows);
        self.late_rows.clear();
        let (older, newer) = (&mut self.older, &mut self.newer);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tagq_store::format::MICRO_NONE;

    fn ordered(
        tags: &[Tag],
        horizon: usize,
        piece: usize,
    ) -> Result<(Vec<(i64, u16)>, u64), Refused> {
        let mut order = Order::new(horizon);
        let mut out = Vec::new();
        let mut take = |columns: &Columns| {
            out.extend(columns.time.iter().copied().zip(columns.channel.iter().copied()));
            Ok(())
        };
        for tags in tags.chunks(piece) {
            order.push(tags.into(), &mut take)?;
        }
        order.finish(None, &mut take)?;
        Ok((out, order.reordered))
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
    ) -> Result<(usize, Vec<(i64, u16)>), Refused> {
        let mut order = Order::new(horizon);
        order.set_eager(Some(hold_back));
        let mut out = Vec::new();
        let mut take = |columns: &Columns| {
            out.extend(columns.time.iter().copied().zip(columns.channel.iter().copied()));
            Ok(())
        };
        order.push(tags.into(), &mut take)?;
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
        assert_eq!(refused, Refused::Late { number: 102, time: 83, after: 84 });
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
        assert_eq!(late, Refused::Late { number: 9, time: 1, after: 6 });
        let late = ordered(&tags(&[1, 2, 3, 4, 5, 6, 7, 8, 5]), 2, 3).unwrap_err();
        assert_eq!(late, Refused::Late { number: 9, time: 5, after: 6 });
        let just = ordered(&tags(&[1, 2, 3, 4, 5, 6, 7, 8, 6]), 2, 3).unwrap().0;
        assert_eq!(just[5..], [(6, 5), (6, 8), (7, 6), (8, 7)]);
        let wide = [Tag { time: 0, channel: 65_535 }, Tag { time: 1, channel: 65_536 }];
        assert_eq!(
            ordered(&wide, 4, 2).unwrap_err(),
            Refused::Channel { number: 2, channel: 65_536 }
        );
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
        let mut take = |columns: &Columns| {
            assert!(columns.micro.is_empty() || columns.micro.len() == columns.time.len());
            assert!(!columns.micro.is_empty() || !has_micro.iter().all(|&has_micro| has_micro));
            assert!(columns.micro.is_empty() || has_micro.iter().any(|&has_micro| has_micro));
            out.extend((0..columns.time.len()).map(|row| columns.row(row)));
            Ok::<(), Refused>(())
        };
        let pieces = tags.chunks(piece).zip(micro.chunks(piece)).zip(has_micro.iter().cycle());
        for ((tags, micro), &has_micro) in pieces {
            let micro = if has_micro { micro } else { &[] };
            order.push(Piece { tags, micro }, &mut take).unwrap();
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
