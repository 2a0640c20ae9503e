//! The walk of `if` and `unless`: tags of one list with a tag of another list near them.
//!
//! Differences 0 to 99, a tag of A at 50: it is near if B has a tag from 50 to 149. A tag is never near itself, also
//! if A and B are one channel: tags of equal time are told apart by their rows.

use super::operator::{ChannelOperation, OperandTags, Operation, ReachInTicks, Setting};
use crate::{
    error::Error,
    frontier::Frontier,
    search::gallop,
    tags::{TagList, TagSlice},
    units::{Differences, TimeUnits},
};

/// If a list has more than this many times the tags of the other one, it is searched instead of walked through.
const SPARSE: usize = 8;

/// Starts `if` (`keeps_near`) or `unless`.
pub(super) fn start(
    setting: &Setting,
    units: &TimeUnits,
    keeps_near: bool,
) -> Result<Operation, Error> {
    let differences = match setting {
        Setting::Range(low, high) => Differences::in_range(low, high, units.tick)?,
        Setting::Length(window) => Differences::within(window, units.tick)?,
        Setting::None | Setting::Number(_) => Differences { low: 0, high: 0 },
    };
    let select = match (differences.have_zero(), keeps_near) {
        (false, false) => select::<false, false>,
        (false, true) => select::<false, true>,
        (true, false) => select::<true, false>,
        (true, true) => select::<true, true>,
    };
    Ok(Operation::channel(Near { differences, select }))
}

/// Appends the selected tags of the first list. All tags of the second list that can be near them are there.
type Select = fn(TagSlice<'_>, TagSlice<'_>, Differences, &mut TagList);

struct Near {
    differences: Differences,
    select: Select,
}

impl ChannelOperation for Near {
    fn reach(&self) -> ReachInTicks {
        let Differences { low, high } = self.differences;
        ReachInTicks { before: (-low).max(0), after: high.max(0) }
    }

    fn keeps(&self, operand: usize) -> bool {
        operand == 1
    }

    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let [of, near] = operands else { return };
        let decided = until.less(self.reach().after);
        (self.select)(of.take(decided), near.tags, self.differences, out);
        near.used = match decided {
            Frontier::Before(next) => {
                let low = self.differences.low;
                near.tags.times.partition_point(|time| time.saturating_sub(next) < low)
            }
            Frontier::End => near.tags.times.len(),
        };
    }
}

/// Selects tags. `ZERO`: the differences include zero, at which a tag meets itself. `KEEP`: tags with a tag near them
/// are kept, else the others.
fn select<const ZERO: bool, const KEEP: bool>(
    of: TagSlice<'_>,
    near: TagSlice<'_>,
    differences: Differences,
    out: &mut TagList,
) {
    let (Some(&first), Some(&last)) = (of.times.first(), of.times.last()) else { return };
    let Differences { low, high } = differences;
    let start = near.times.partition_point(|time| time.saturating_sub(first) < low);
    let near = near.since(start);
    let end = near.times.partition_point(|time| time.saturating_sub(last) <= high);
    let near = near.first(end);
    // The smallest and the largest of all sums of a time and a difference.
    let fits = first.checked_add(low).is_some() && last.checked_add(high).is_some();
    let (tags, near_tags) = (of.times.len(), near.times.len());
    if !fits || tags > SPARSE * near_tags || near_tags > SPARSE * tags {
        search::<ZERO, KEEP>(of, near, differences, out);
    } else {
        walk::<ZERO, KEEP>(of, near, differences, out);
    }
}

/// Walks through both lists in one loop, without a branch that depends on which list is next. Times plus differences
/// fit.
#[expect(clippy::needless_bitwise_bool, reason = "a lazy operator would be a branch")]
fn walk<const ZERO: bool, const KEEP: bool>(
    of: TagSlice<'_>,
    near: TagSlice<'_>,
    differences: Differences,
    out: &mut TagList,
) {
    let Differences { low, high } = differences;
    let (mut at, mut at_near) = (0, 0);
    out.fill(of.times.len(), |times, rows| {
        let of_rows = &of.rows[..of.times.len()];
        let mut len = 0;
        while let (Some(&time), Some(&near_time)) = (of.times.get(at), near.times.get(at_near)) {
            let row = of_rows[at];
            let is_before = near_time < time.wrapping_add(low);
            let mut is_near = near_time <= time.wrapping_add(high);
            if ZERO && near_time == time && near.rows[at_near] == row {
                is_near = has_other(near.since(at_near), time, row, high);
            }
            times[len] = time;
            rows[len] = row;
            len += usize::from(!is_before & (is_near == KEEP));
            at += usize::from(!is_before);
            at_near += usize::from(is_before);
        }
        len
    });
    // No tag is near the rest.
    if !KEEP {
        out.extend(of.since(at));
    }
}

/// Searches the tags near each tag of the second list. Differences that do not fit are replaced by the nearest number
/// that does. This changes no comparison, because limits are at most 2⁶².
fn search<const ZERO: bool, const KEEP: bool>(
    of: TagSlice<'_>,
    near: TagSlice<'_>,
    differences: Differences,
    out: &mut TagList,
) {
    let Differences { low, high } = differences;
    let mut rest = of;
    let mut at_near = 0;
    while let (Some(&time), Some(&near_time)) = (rest.times.first(), near.times.get(at_near)) {
        let is_after = |near: i64, time: i64| near.saturating_sub(time) > high;
        let is_before = |near: i64, time: i64| near.saturating_sub(time) < low;
        if is_before(near_time, time) {
            at_near += gallop(&near.times[at_near..], |near| is_before(near, time));
            continue;
        }
        let far = gallop(rest.times, |time| is_after(near_time, time));
        if !KEEP {
            out.extend(rest.first(far));
        }
        rest = rest.since(far);
        let close = gallop(rest.times, |time| !is_before(near_time, time));
        let tags = rest.first(close);
        if ZERO {
            for (&time, &row) in tags.times.iter().zip(tags.rows) {
                let is_same = time == near_time && row == near.rows[at_near];
                let is_near = !is_same || has_other(near.since(at_near), time, row, high);
                if is_near == KEEP {
                    out.push(time, row);
                }
            }
        } else if KEEP {
            out.extend(tags);
        }
        rest = rest.since(close);
    }
    if !KEEP {
        out.extend(rest);
    }
}

/// Returns whether a tag other than that of `row` is at most `high` after `time`.
fn has_other(near: TagSlice<'_>, time: i64, row: u64, high: i64) -> bool {
    let tags = near.times.iter().zip(near.rows);
    let mut close = tags.take_while(|&(near, _)| near.saturating_sub(time) <= high);
    close.any(|(_, &other)| other != row)
}
