//! The veto tags found on the walk through a source.
//!
//! Guard 2 and a veto tag at 10: tuples whose latest tag is at 8 to 12 are rejected; those whose latest tag is at 15
//! are rejected if they have a tag before 13, the floor. A floor suffices, because tuples are found in order of their
//! latest tag.

use tagq_store::TimeReader;

use super::feed::FeedSource;
use crate::{rules::veto::Veto, run::scope::Scope};

/// The veto tags of a source, visited in order.
pub(super) struct Vetoes<'a> {
    source: FeedSource<'a>,
    times: TimeReader<'a>,
    guard: i64,
    /// Each veto channel, its delay, and the first row not yet visited.
    channels: Vec<(u16, i64, usize)>,
    /// The latest veto tag so far.
    latest: Option<i64>,
}

impl<'a> Vetoes<'a> {
    pub(super) fn new(source: FeedSource<'a>, veto: &Veto, scope: &Scope) -> Self {
        let of = |&channel: &u16| (channel, scope.delay_of(channel), 0);
        let channels = veto.channels.iter().map(of).collect();
        let times = TimeReader::new(source.tags.tags.time);
        Self { source, times, guard: veto.guard, channels, latest: None }
    }

    /// Discards veto tags that are too far before `time` to forbid anything.
    pub(super) fn start_at(&mut self, time: i64) {
        let time = i128::from(time) - i128::from(self.guard);
        for (_, delay, row) in &mut self.channels {
            let first = time - i128::from(*delay);
            let times = self.source.tags.tags.time;
            *row = times.partition_point(|time| i128::from(time) < first);
        }
    }

    /// Returns the first time that the tags of a tuple may have if its latest tag is at `time`; `None` if no
    /// tuple may end there. Times must ascend from call to call.
    pub(super) fn floor(&mut self, time: i64) -> Option<i64> {
        let Some(latest) = self.up_to(time) else { return Some(i64::MIN) };
        let floor = i128::from(latest) + i128::from(self.guard) + 1;
        i64::try_from(floor).ok().filter(|&floor| floor <= time)
    }

    /// Returns the latest veto tag up to `time` plus the guard.
    fn up_to(&mut self, time: i64) -> Option<i64> {
        let Self { times, .. } = self;
        let tags = self.source.tags.tags;
        let last = i128::from(time) + i128::from(self.guard);
        for (channel, delay, row) in &mut self.channels {
            let last = last - i128::from(*delay);
            while let Some(time) = times.get(*row).filter(|&time| i128::from(time) <= last) {
                if tags.channels.label(*row) == *channel {
                    self.latest = self.latest.max(Some(time.saturating_add(*delay)));
                }
                *row += 1;
            }
        }
        self.latest
    }
}
