//! Counts the tags of one channel in the intervals of a [`Joint`](crate::run::live::Joint), for one lag after
//! another.
//!
//! The rank at 1,005, the number of tags before it, follows from that at 1,000 and the rows between. So each end
//! remembers its last rank.

use super::{counter::Rank, ledger::Ledger};
use crate::run::live::Common;

/// The tags of one channel of a source before each end of the intervals. From one lag to the next an end moves
/// little, so few rows are read each time.
pub(crate) struct Ranks<'a> {
    ledger: &'a Ledger<'a>,
    /// Its number in the ledger.
    source: usize,
    channel: u16,
    /// By set, interval and end; then two for each range. Empty if there are too many.
    known: Vec<Rank>,
    last: Rank,
}

/// The largest number of ends that are remembered, in 64 MiB. Of more ends each is near the one before.
const KNOWN_MAX: usize = 1 << 22;
/// A rank that was never asked for.
const UNKNOWN: Rank = Rank { row: usize::MAX, count: 0 };

impl<'a> Ranks<'a> {
    /// Prepares for joint live times of `sets` moves, in this many ranges.
    pub(crate) fn new(
        (ledger, source): (&'a Ledger<'a>, usize),
        channel: u16,
        sets: usize,
        ranges: usize,
    ) -> Self {
        let ends = 2 * (sets * ledger.facts()[source].live().len() + ranges);
        let known = vec![UNKNOWN; if ends <= KNOWN_MAX { ends } else { 0 }];
        Self { ledger, source, channel, known, last: Rank { row: 0, count: 0 } }
    }

    /// Counts the tags, moved by `moved` half ticks, in an interval; `range` is the number of the range that cuts it.
    pub(crate) fn within(&mut self, common: &Common, moved: i128, range: usize) -> u64 {
        let intervals = self.ledger.facts()[self.source].live().len();
        let [begin, after] = [(common.begin, 0), (common.after, 1)].map(|(edge, end)| {
            let place = match edge.of {
                Some((set, interval)) => set * intervals + interval,
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
        // The first whole tick at or after it.
        let time = half.div_euclid(2) + half.rem_euclid(2);
        self.last = self.ledger.rank(self.source, self.channel, time, near);
        if let Some(known) = self.known.get_mut(place) {
            *known = self.last;
        }
        self.last.count
    }
}

#[cfg(test)]
mod tests {
    use tagq_store::{Channels, Tags};

    use super::*;
    use crate::{
        Execution, Scan,
        run::{recording::Recording, time_range::TimeRange},
    };

    #[test]
    fn ends_that_are_not_remembered_are_counted_as_well() {
        let time: Vec<i64> = (0..3_000).map(|i| i * i % 7 + 5 * i).collect();
        let labels: Vec<u8> = (0..3_000_u32).map(|i| (i * 31 % 5) as u8).collect();
        let dead: Vec<(i64, i64)> = (1..200).map(|i| (70 * i, 70 * i + i % 60 + 1)).collect();
        let mut sorted = time.clone();
        sorted.sort_unstable();
        let tags = Tags { time: sorted[..].into(), channels: Channels::U8((&labels).into()) };
        let source = Recording::from_tags(tags).sources.remove(0).with_dead(&dead);
        let recording = Recording::new(vec![source]);
        let scan = Scan::new(&recording, &Execution::best());
        let ledger = Ledger::of(&scan);
        let source = &recording.sources[0];
        let mut remembered = Ranks::new((&ledger, 0), 3, 2, 1);
        let mut forgotten = Ranks { known: Vec::new(), ..Ranks::new((&ledger, 0), 3, 2, 1) };
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
