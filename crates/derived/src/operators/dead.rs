//! `3 dead 40ns`: the tags that a detector with a dead time would keep.
//!
//! Tags at 0, 30, 60 and 100, dead for 40: 0, 60 and 100 are kept. A dropped tag does not make the dead time longer,
//! and a tag exactly 40 after a kept one is kept.

use std::hint::select_unpredictable;

use tagq_store::sealed::Reader;

use super::operator::{
    ChannelOperation, OperandTags, Operation, Operator, OperatorForm, ReachInTicks, Setting,
    restore_flag,
};
use crate::{
    error::Error,
    frontier::Frontier,
    tags::TagList,
    units::{TimeUnits, ticks_below},
};

pub(super) struct Dead;

impl Operator for Dead {
    fn key(&self) -> &'static str {
        "dead"
    }

    fn summary(&self) -> &'static str {
        "Tags without those less than D after a kept one"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A dead D", example: "3 dead 40ns" }]
    }

    fn keeps_statistics(&self) -> bool {
        false
    }

    fn start(&self, _: usize, setting: &Setting, units: &TimeUnits) -> Result<Operation, Error> {
        let dead = match setting {
            Setting::Length(length) => ticks_below(length, units.tick, "dead", 0)?,
            Setting::None | Setting::Number(_) | Setting::Range(..) => 0,
        };
        Ok(Operation::channel(DeadTime { dead, kept: None }))
    }
}

struct DeadTime {
    /// Tags less than this after a kept one are dropped.
    dead: i64,
    /// The time of the last kept tag.
    kept: Option<i64>,
}

impl ChannelOperation for DeadTime {
    fn reach(&self) -> ReachInTicks {
        ReachInTicks { before: (self.dead - 1).max(0), after: 0 }
    }

    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let [operand] = operands else { return };
        let mut tags = operand.take(until);
        let mut kept = match (self.kept, tags.times.first()) {
            (Some(kept), _) => kept,
            (None, None) => return,
            (None, Some(&first)) => {
                out.extend(tags.first(1));
                tags = tags.since(1);
                first
            }
        };
        let dead = self.dead;
        out.fill(tags.times.len(), |times, rows| {
            let mut len = 0;
            for (&time, &row) in tags.times.iter().zip(tags.rows) {
                // Written in any case, and overwritten if the tag is dropped.
                times[len] = time;
                rows[len] = row;
                // A difference that does not fit is longer than any dead time.
                let is_kept = time.saturating_sub(kept) >= dead;
                len += usize::from(is_kept);
                kept = select_unpredictable(is_kept, time, kept);
            }
            len
        });
        self.kept = Some(kept);
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.push(self.kept.is_some().into());
        out.extend(self.kept.unwrap_or(0).to_le_bytes());
    }

    fn restore(&mut self, reader: &mut Reader<'_>, _: Frontier) -> Option<()> {
        let is_some = restore_flag(reader)?;
        let kept = reader.i64()?;
        self.kept = is_some.then_some(kept);
        Some(())
    }
}
