//! Veto channels: a coincidence with a tag of theirs near it does not count.

use std::ops::Range;

use crate::{
    kernels::simd::Simd,
    run::{recording::Acquisition, scope::Scope},
    scan::{
        morsels::{Interval, seek},
        selection::{Buffers, List, Selection},
    },
};

/// What forbids a coincidence (docs/queries.md, section "Vetoes").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Veto {
    /// The veto channels. Their tags carry the delays of the query.
    pub channels: Vec<u16>,
    /// A tag of theirs so many ticks before the earliest or behind the latest tag of a coincidence, or
    /// nearer, forbids it.
    pub guard: i64,
}

/// Looks for veto tags in the rows of one source, near where it looked last.
#[derive(Clone)]
pub(crate) struct Guard<'a> {
    source: &'a Acquisition<'a>,
    reach: i128,
    /// Each veto channel, its delay, and the row looked at last.
    channels: Vec<(u16, i128, usize)>,
}

impl Guard<'_> {
    /// Whether a veto tag forbids a coincidence from `earliest` to `latest`, in delayed times.
    pub(crate) fn forbids(&mut self, earliest: i64, latest: i64) -> bool {
        let tags = self.source.tags;
        let reach = self.reach;
        self.channels.iter_mut().any(|(channel, delay, row)| {
            // As recorded, so that the rows can be looked at as they are.
            let first = i128::from(earliest) - reach - *delay;
            let last = i128::from(latest) + reach - *delay;
            *row = seek(tags.time, *row, |time| i128::from(time) < first);
            (*row..tags.len())
                .take_while(|&row| i128::from(tags.time[row]) <= last)
                .any(|row| tags.channels.label(row) == *channel)
        })
    }
}

/// The veto tags of a scan.
#[derive(Debug)]
pub(crate) struct Forbidding {
    guard: i64,
    /// Each veto channel and its delay.
    channels: Vec<(u16, i64)>,
    selection: Selection,
}

impl Forbidding {
    pub(crate) fn new(veto: &Veto, scope: &Scope) -> Self {
        let delays: Vec<i64> = veto.channels.iter().map(|&c| scope.delay_of(c)).collect();
        Self {
            guard: veto.guard,
            selection: Selection::new(&veto.channels, &delays),
            channels: veto.channels.iter().copied().zip(delays).collect(),
        }
    }

    /// Looks for veto tags among the rows of `source`.
    pub(crate) fn guard<'a>(&self, source: &'a Acquisition<'a>) -> Guard<'a> {
        let of = |&(channel, delay): &(u16, i64)| (channel, i128::from(delay), 0);
        let channels = self.channels.iter().map(of).collect();
        Guard { source, reach: self.guard.into(), channels }
    }

    /// The times of the veto tags that can forbid coincidences in `interval`.
    pub(crate) fn times<'b>(
        &self,
        simd: Simd,
        source: &Acquisition<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> &'b [i64] {
        self.selection.select(simd, source, self.reaching(interval), buffers).time
    }

    /// The rows that [`Forbidding::times`] goes through.
    pub(crate) fn stretches(&self, time: &[i64], interval: Interval) -> Vec<Range<usize>> {
        self.selection.stretches(time, self.reaching(interval))
    }

    /// The times of vetoes that matter in `interval`.
    fn reaching(&self, interval: Interval) -> Interval {
        Interval {
            start: interval.start.saturating_sub(self.guard),
            end: interval.end.and_then(|end| end.checked_add(self.guard)),
        }
    }

    /// Takes the tags out of `list` that a veto is near to, and moves those between one veto and the
    /// next apart from the others by more than `window`: a coincidence is allowed where all its tags
    /// lie between the same two vetoes, none of them near. Times are then counted from `base`. Returns how
    /// many tags before `start` are left, or nothing where times would leave 64 bits.
    pub(crate) fn part(
        &self,
        list: &mut List,
        vetoes: &[i64],
        base: i64,
        start: i64,
        window: i64,
    ) -> Option<usize> {
        let (times, numbers) = list.rows_mut();
        let (mut len, mut head, mut passed) = (0, 0, 0);
        for row in 0..times.len() {
            let (time, number) = (times[row], numbers[row]);
            let near = time.saturating_sub(self.guard);
            while vetoes.get(passed).is_some_and(|&veto| veto < near) {
                passed += 1;
            }
            let is_near =
                vetoes.get(passed).is_some_and(|&veto| veto <= time.saturating_add(self.guard));
            if is_near {
                continue;
            }
            let apart = i64::try_from(passed).ok()?.checked_mul(window + 1)?;
            times[len] = time.checked_sub(base)?.checked_add(apart)?;
            numbers[len] = number;
            head += usize::from(time < start);
            len += 1;
        }
        list.truncate(len);
        Some(head)
    }
}
