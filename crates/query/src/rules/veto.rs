//! Veto channels: a coincidence with a veto tag nearby does not count.
//!
//! Guard 2 and a coincidence from 10 to 14: veto tags from 8 to 16 reject it, those at 7 and 17 do not. Scans change
//! their input instead of testing each coincidence: they remove tags near a veto and move those on its two sides
//! further apart than the window. Both must reject what [`Guard`] rejects.

use std::ops::Range;

use tagq_store::{RowValues, TimeReader, Times, format::GAP_MAX};

use crate::{
    error::Error,
    kernels::{
        matching,
        neighbours::{ComparedRows, DistanceColumn},
        rows::{MASK_ROWS, bits},
        simd::Simd,
    },
    run::{recording::Source, scope::Scope},
    scan::{
        column::StoredColumn,
        morsels::Interval,
        selection::{Buffers, List, Selection},
    },
};

/// Rejects coincidences near tags of the veto channels (docs/queries.md, section "Vetoes").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Veto {
    /// The veto channels. The delays of the query apply to their tags.
    pub channels: Vec<u16>,
    /// The reach of a veto in ticks: a veto tag at most this long before the earliest or after the latest tag
    /// of a coincidence rejects it.
    pub guard: i64,
}

/// The widest window that a veto supports: about 10 s at 156.25 ps per tick. Times between vetoes are moved
/// apart by more than the window.
const MOST_WINDOW: i64 = 1 << 36;

impl Veto {
    /// Rejects a negative guard, a window that is too wide, and veto channels that are counted.
    pub(crate) fn check(&self, window: i64, groups: &[Vec<u16>]) -> Result<(), Error> {
        if self.guard < 0 {
            return Err(Error::NegativeGuard { guard: self.guard });
        }
        if window > MOST_WINDOW {
            return Err(Error::VetoWindow { window, most: MOST_WINDOW });
        }
        let inside = |&&channel: &&u16| groups.iter().any(|group| group.contains(&channel));
        match self.channels.iter().find(inside) {
            Some(&channel) => Err(Error::VetoInGroup { channel }),
            None => Ok(()),
        }
    }
}

/// Searches the rows of one source for veto tags, starting near the previous result.
#[derive(Clone)]
pub(crate) struct Guard<'a> {
    source: &'a Source<'a>,
    times: TimeReader<'a>,
    reach: i128,
    /// Each veto channel, its delay, and the row visited last.
    channels: Vec<(u16, i128, usize)>,
}

impl Guard<'_> {
    /// Returns whether a veto tag rejects a coincidence from `earliest` to `latest`, in delayed times.
    pub(crate) fn forbids(&mut self, earliest: i64, latest: i64) -> bool {
        let Self { source, times, reach, channels } = self;
        let (tags, reach) = (source.tags, *reach);
        channels.iter_mut().any(|(channel, delay, row)| {
            // Converted to recorded times, so that the rows can be compared as stored.
            let first = i128::from(earliest) - reach - *delay;
            let last = i128::from(latest) + reach - *delay;
            *row = tags.time.seek(*row, |time| i128::from(time) < first);
            (*row..tags.len())
                .take_while(|&row| i128::from(times.at(row)) <= last)
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
    /// The number of the one channel whose tags the veto rejects; `None` if it rejects coincidences.
    only: Option<u8>,
    selection: Selection,
}

impl Forbidding {
    pub(crate) fn new(veto: &Veto, scope: &Scope) -> Self {
        let delays: Vec<i64> = veto.channels.iter().map(|&c| scope.delay_of(c)).collect();
        Self {
            guard: veto.guard,
            only: None,
            selection: Selection::new(&veto.channels, &delays),
            channels: veto.channels.iter().copied().zip(delays).collect(),
        }
    }

    /// Returns the same, rejecting the tags of the channel of this number in place of coincidences.
    pub(crate) fn of_tags(self, only: Option<u8>) -> Self {
        Self { only, ..self }
    }

    /// Prepares the search for veto tags among the rows of `source`.
    pub(crate) fn guard<'a>(&self, source: &'a Source<'a>) -> Guard<'a> {
        let of = |&(channel, delay): &(u16, i64)| (channel, i128::from(delay), 0);
        let channels = self.channels.iter().map(of).collect();
        let times = TimeReader::new(source.tags.time);
        Guard { source, times, reach: self.guard.into(), channels }
    }

    /// Returns the times of the veto tags that can reject coincidences in `interval`.
    pub(crate) fn times<'b>(
        &self,
        simd: Simd,
        source: &Source<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> &'b [i64] {
        self.selection.select(simd, source, self.reaching(interval), buffers).time
    }

    /// Returns the rows that [`Forbidding::times`] reads.
    pub(crate) fn row_ranges(&self, time: Times<'_>, interval: Interval) -> Vec<Range<usize>> {
        self.selection.row_ranges(time, self.reaching(interval))
    }

    /// Returns the interval of the veto tags that matter in `interval`.
    fn reaching(&self, interval: Interval) -> Interval {
        Interval {
            start: interval.start.saturating_sub(self.guard),
            end: interval.end.and_then(|end| end.checked_add(self.guard)),
        }
    }

    /// Returns the veto channels that a narrow column can have.
    fn narrow_labels(&self) -> Vec<u8> {
        self.channels.iter().filter_map(|&(channel, _)| u8::try_from(channel).ok()).collect()
    }

    /// Returns whether coincidences are rejected, and all veto channels have this delay.
    pub(crate) fn is_of_neighbours(&self, delay: i64) -> bool {
        self.only.is_none() && self.channels.iter().all(|&(_, of_channel)| of_channel == delay)
    }

    /// Removes from `list` the tags that are near a veto, and, if coincidences are rejected, moves the tags between
    /// one veto and the next apart from the others by more than `window`: a coincidence is accepted if all its tags
    /// lie between the same two vetoes and none of them is near a veto. Times are then counted from `base`. Returns
    /// how many tags before `start` are left, or `None` if times do not fit in 64 bits.
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
            if is_near && self.only.is_none_or(|only| only == number) {
                continue;
            }
            times[len] = if self.only.is_none() {
                let apart = i64::try_from(passed).ok()?.checked_mul(window + 1)?;
                time.checked_sub(base)?.checked_add(apart)?
            } else {
                time
            };
            numbers[len] = number;
            head += usize::from(time < start);
            len += 1;
        }
        list.truncate(len);
        Some(head)
    }
}

/// Gaps and labels of rows, changed so that rows near a veto are of no channel in use, and so that no distance spans a
/// veto; the buffers of one thread.
#[derive(Default)]
pub(crate) struct AllowedRows {
    gaps: Vec<u16>,
    labels: Vec<u8>,
    masks: Vec<u64>,
}

impl AllowedRows {
    /// Copies the rows, and those up to `reach` ticks before them. Veto channels must have the delay of all others.
    /// `source` is that of the rows. Returns `None` if its times are needed and out of order.
    pub(crate) fn fill<'b>(
        &'b mut self,
        simd: Simd,
        veto: &Forbidding,
        source: &Source<'_>,
        (gaps, labels): (RowValues<'b, u16>, RowValues<'b, u8>),
        (rows, number_of): (Range<usize>, &'b [u8; 256]),
        reach: i64,
    ) -> Option<ComparedRows<'b>> {
        let Self { gaps: own_gaps, labels: own_labels, masks } = self;
        let Range { start, end } = rows;
        if start == end {
            let column = DistanceColumn::Gaps(&[]);
            return Some(ComparedRows { column, labels: &[], range: 0..0, number_of });
        }
        let head = start - StoredColumn::Gaps(gaps).rows_before(start, reach);
        own_gaps.clear();
        own_gaps.extend_from_slice(gaps.read(head..end));
        own_labels.clear();
        own_labels.extend_from_slice(labels.read(head..end));
        // Gaps decide about all distances below the largest gap.
        let is_exact = veto.guard < GAP_MAX.into();
        let column =
            if is_exact { StoredColumn::Gaps(gaps) } else { StoredColumn::Times(source.tags.time) };
        let first = head - column.rows_before(head, veto.guard);
        let last = end + column.rows_after(end - 1, veto.guard);
        if !is_exact && !source.is_in_order(simd, first..last) {
            return None;
        }
        let near_gaps = gaps.read(first..last);
        let labels = labels.read(first..last);
        masks.resize(labels.len().div_ceil(MASK_ROWS), 0);
        matching(simd, labels, &veto.narrow_labels(), masks);
        let mut remove = |row: usize, near: Range<usize>| {
            own_labels[near.start.clamp(head, end) - head..near.end.clamp(head, end) - head]
                .fill(labels[row - first]);
            if (head..end).contains(&near.end) {
                own_gaps[near.end - head] = GAP_MAX;
            }
        };
        let (rows, guard) = (first..last, veto.guard);
        if is_exact {
            let gap = |row: usize| i64::from(near_gaps[row - first]);
            Near::new(gap, guard, rows).of_all(masks, &mut remove);
        } else {
            // The times were read for their order.
            let times = source.tags.time.unchecked();
            let gap = |row: usize| times.gap(row).unwrap_or(i64::MAX);
            Near::new(gap, guard, rows).of_all(masks, &mut remove);
        }
        Some(ComparedRows {
            column: DistanceColumn::Gaps(own_gaps),
            labels: own_labels,
            range: start - head..end - head,
            number_of,
        })
    }
}

/// Finds the rows near one veto after the other.
struct Near<G> {
    /// The distance of a row from the row before it, for rows after the first one.
    gap: G,
    guard: i64,
    /// The row after the last one.
    end: usize,
    /// The first row after those near the vetoes so far.
    done: usize,
    /// The row of the last veto.
    last: usize,
    /// The distance from the last veto to the first row after those near it.
    ahead: i64,
}

impl<G: Fn(usize) -> i64> Near<G> {
    fn new(gap: G, guard: i64, rows: Range<usize>) -> Self {
        let Range { start, end } = rows;
        Self { gap, guard, end, done: start, last: start, ahead: 0 }
    }

    /// Passes each veto and the rows near it to `take`. A set bit of `masks` is a row with a veto.
    fn of_all(mut self, masks: &[u64], take: &mut impl FnMut(usize, Range<usize>)) {
        let first = self.done;
        for (step, &mask) in masks.iter().enumerate() {
            for bit in bits(mask) {
                let row = first + step * MASK_ROWS + bit;
                let near = self.around(row);
                take(row, near);
            }
        }
    }

    /// Returns the rows near the veto in `row`, which is after those of earlier vetoes, without those near an earlier
    /// one.
    #[inline]
    fn around(&mut self, row: usize) -> Range<usize> {
        let Self { guard, end, .. } = *self;
        let begin = if row < self.done {
            let apart = (self.last + 1..=row).map(&self.gap).fold(0, i64::saturating_add);
            self.ahead = self.ahead.saturating_sub(apart);
            self.done
        } else {
            let (mut begin, mut distance) = (row, 0_i64);
            while begin > self.done {
                distance = distance.saturating_add((self.gap)(begin));
                if distance > guard {
                    break;
                }
                begin -= 1;
            }
            self.done = row;
            self.ahead = 0;
            begin
        };
        self.last = row;
        while self.done < end && self.ahead <= guard {
            self.done += 1;
            let more = if self.done < end { (self.gap)(self.done) } else { 0 };
            self.ahead = self.ahead.saturating_add(more);
        }
        begin..self.done
    }
}
