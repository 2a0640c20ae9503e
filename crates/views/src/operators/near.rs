//! The walk of `if` and `unless`: tags of one list with a tag of another list near them.

use super::operator::{ChannelOperation, OperandTags, Operation, ReachInTicks, Setting};
use crate::{
    error::Error,
    frontier::Frontier,
    tags::{TagList, TagSlice},
    units::{Differences, TimeUnits},
};

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
    let walk = match (differences.have_zero(), keeps_near) {
        (false, false) => walk::<false, false>,
        (false, true) => walk::<false, true>,
        (true, false) => walk::<true, false>,
        (true, true) => walk::<true, true>,
    };
    Ok(Operation::channel(Near { differences, walk }))
}

/// Appends the selected tags of the first list. Returns how many tags of the second are before all that later tags of
/// the first can need.
type Walk = fn(TagSlice<'_>, TagSlice<'_>, Differences, &mut TagList) -> usize;

struct Near {
    differences: Differences,
    walk: Walk,
}

impl ChannelOperation for Near {
    fn reach(&self) -> ReachInTicks {
        let Differences { low, high } = self.differences;
        ReachInTicks { before: (-low).max(0), after: high.max(0) }
    }

    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let [of, near] = operands else { return };
        let decided = until.less(self.reach().after);
        let passed = (self.walk)(of.take(decided), near.tags, self.differences, out);
        let left = &near.tags.times[passed..];
        near.used = match decided {
            Frontier::Before(next) => {
                let low = self.differences.low;
                passed + left.partition_point(|time| time.saturating_sub(next) < low)
            }
            Frontier::End => near.tags.times.len(),
        };
    }
}

/// Walks through both lists in one loop, without a branch that depends on which list is next. `ZERO`: the differences
/// include zero, at which a tag meets itself. `KEEP`: tags with a tag near them are kept, else the others.
///
/// Sums and differences that do not fit are replaced by the nearest number that does. This changes no comparison of a
/// difference, because limits are at most 2⁶².
#[expect(clippy::needless_bitwise_bool, reason = "a lazy operator would be a branch")]
fn walk<const ZERO: bool, const KEEP: bool>(
    of: TagSlice<'_>,
    near: TagSlice<'_>,
    differences: Differences,
    out: &mut TagList,
) -> usize {
    let Differences { low, high } = differences;
    let (mut at, mut at_near) = (0, 0);
    out.fill(of.times.len(), |times, rows| {
        let of_rows = &of.rows[..of.times.len()];
        let mut len = 0;
        while let (Some(&time), Some(&near_time)) = (of.times.get(at), near.times.get(at_near)) {
            let row = of_rows[at];
            let is_before = near_time < time.saturating_add(low);
            let difference = near_time.saturating_sub(time);
            let mut is_near = (low <= difference) & (difference <= high);
            if ZERO && is_near && near.rows[at_near] == row {
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
    at_near
}

/// Returns whether a tag other than that of `row` is at most `high` after `time`.
fn has_other(near: TagSlice<'_>, time: i64, row: u64, high: i64) -> bool {
    let tags = near.times.iter().zip(near.rows);
    let mut close = tags.take_while(|&(near, _)| near.saturating_sub(time) <= high);
    close.any(|(_, &other)| other != row)
}
