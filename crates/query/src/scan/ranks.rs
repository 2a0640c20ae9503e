//! Counts the tags of one channel in the intervals of a [`Joint`](crate::run::live::Joint), for one lag after another.

use crate::{
    kernels::simd::Simd,
    run::{live::Common, recording::Source},
    scan::{
        morsels::seek,
        singles::{add_rows, row_at},
    },
};

/// The tags of one channel before each end of the intervals. From one lag to the next an end moves little, so few rows
/// are read each time.
pub(crate) struct Ranks<'a> {
    source: &'a Source<'a>,
    channel: u16,
    simd: Simd,
    /// By set, interval and end; then two for each range. Empty if there are too many.
    known: Vec<Rank>,
    last: Rank,
}

/// A row of a source, and the tags of the channel before it.
#[derive(Debug, Clone, Copy)]
struct Rank {
    row: usize,
    count: u64,
}

/// The largest number of ends that are remembered, in 64 MiB. Of more ends each is near the one before.
const KNOWN_MAX: usize = 1 << 22;
/// A rank that was never asked for.
const UNKNOWN: Rank = Rank { row: usize::MAX, count: 0 };

impl<'a> Ranks<'a> {
    /// Prepares for joint live times of `sets` moves, in this many ranges.
    pub(crate) fn new(
        source: &'a Source<'a>,
        channel: u16,
        sets: usize,
        ranges: usize,
        simd: Simd,
    ) -> Self {
        let ends = 2 * (sets * source.live().len() + ranges);
        let known = vec![UNKNOWN; if ends <= KNOWN_MAX { ends } else { 0 }];
        Self { source, channel, simd, known, last: Rank { row: 0, count: 0 } }
    }

    /// Counts the tags, moved by `moved` half ticks, in an interval; `range` is the number of the range that cuts it.
    pub(crate) fn within(&mut self, common: &Common, moved: i128, range: usize) -> u64 {
        let [begin, after] = [(common.begin, 0), (common.after, 1)].map(|(edge, end)| {
            let (set, interval) = edge.of.unwrap_or((0, 0));
            let intervals = self.source.live().len();
            let place = match edge.of {
                Some(_) => set * intervals + interval,
                None => (self.known.len() / 2).saturating_sub(1 + range),
            };
            self.before(2 * place + end, edge.half - moved)
        });
        // A damaged index may contradict itself.
        after.saturating_sub(begin)
    }

    /// Counts the tags before an undelayed time in half ticks.
    fn before(&mut self, place: usize, half: i128) -> u64 {
        let known = self.known.get(place).filter(|known| known.row != UNKNOWN.row);
        let near = *known.unwrap_or(&self.last);
        let row = self.row(half, near.row);
        let mut count = [0];
        let rows = near.row.min(row)..near.row.max(row);
        add_rows(self.source, &[self.channel], rows, self.simd, &mut count);
        let count = if row < near.row {
            near.count.wrapping_sub(count[0])
        } else {
            near.count.wrapping_add(count[0])
        };
        self.last = Rank { row, count };
        if let Some(known) = self.known.get_mut(place) {
            *known = self.last;
        }
        count
    }

    /// Returns the row of the first whole tick at or after a half tick, near another row.
    fn row(&self, half: i128, near: usize) -> usize {
        let source = self.source;
        let Ok(tick) = i64::try_from(half.div_euclid(2) + half.rem_euclid(2)) else {
            return if half < 0 { 0 } else { source.rows() };
        };
        match source.span() {
            Some((first, last)) if source.in_parts().is_none() && first < tick && tick <= last => {
                seek(source.tags.time, near, |time| time < tick)
            }
            _ => row_at(source, tick, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use tagq_store::{Channels, Tags};

    use super::*;
    use crate::run::{recording::Recording, time_range::TimeRange};

    #[test]
    fn ends_that_are_not_remembered_are_counted_as_well() {
        let time: Vec<i64> = (0..3_000).map(|i| i * i % 7 + 5 * i).collect();
        let labels: Vec<u8> = (0..3_000_u32).map(|i| (i * 31 % 5) as u8).collect();
        let dead: Vec<(i64, i64)> = (1..200).map(|i| (70 * i, 70 * i + i % 60 + 1)).collect();
        let mut sorted = time.clone();
        sorted.sort_unstable();
        let tags = Tags { time: &sorted, channels: Channels::U8(&labels) };
        let source = Recording::from_tags(tags).sources.remove(0).with_dead(&dead);
        let mut remembered = Ranks::new(&source, 3, 2, 1, Simd::best());
        let mut forgotten =
            Ranks { known: Vec::new(), ..Ranks::new(&source, 3, 2, 1, Simd::best()) };
        let range = TimeRange { from: Some(40), to: Some(14_000) };
        let mut all = 0;
        for lag in [0_i64, 1, 37, 38, 5, 900, 901] {
            for common in source.live().joint(&[0, lag], range) {
                let plain = (0..sorted.len())
                    .filter(|&row| labels[row] == 3 && common.tags().contains(sorted[row] + lag));
                let expected = plain.count() as u64;
                let moved = 2 * i128::from(lag);
                assert_eq!(remembered.within(&common, moved, 0), expected, "{lag}");
                assert_eq!(forgotten.within(&common, moved, 0), expected, "{lag}");
                all += expected;
            }
        }
        assert!(all > 1_000);
    }
}
