//! `1 micro 0ns..3ns`: the tags with a micro time in a range.
//!
//! With micro ticks of 1 ns, micro times 0, 1 and 2 are in 0ns..3ns. Tags without a micro time are dropped.

use tagq_store::format::MICRO_NONE;

use super::operator::{ChannelOperation, OperandTags, Operation, Operator, OperatorForm, Setting};
use crate::{
    error::Error,
    frontier::Frontier,
    tags::TagList,
    units::{Differences, TimeUnits},
};

pub(super) struct Micro;

impl Operator for Micro {
    fn key(&self) -> &'static str {
        "micro"
    }

    fn summary(&self) -> &'static str {
        "Tags of a channel of the run with a micro time in a range"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A micro LO..HI", example: "1 micro 0ns..3ns" }]
    }

    fn needs_micro(&self) -> bool {
        true
    }

    fn start(&self, _: usize, setting: &Setting, units: &TimeUnits) -> Result<Operation, Error> {
        let tick = units.micro_tick.ok_or(Error::NoMicro)?;
        let range = match setting {
            Setting::Range(low, high) => Differences::in_range(low, high, tick)?,
            Setting::None | Setting::Number(_) | Setting::Length(_) => {
                Differences { low: 0, high: 0 }
            }
        };
        Ok(Operation::channel(MicroRange(range)))
    }
}

/// The micro times to keep.
struct MicroRange(Differences);

impl ChannelOperation for MicroRange {
    #[expect(clippy::needless_bitwise_bool, reason = "a lazy operator would be a branch")]
    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let [operand] = operands else { return };
        let tags = operand.take(until);
        let Differences { low, high } = self.0;
        out.fill(tags.times.len(), |times, rows| {
            let mut len = 0;
            for ((&time, &row), &micro) in tags.times.iter().zip(tags.rows).zip(tags.micro) {
                times[len] = time;
                rows[len] = row;
                let is_inside = (low <= micro.into()) & (i64::from(micro) <= high);
                len += usize::from(is_inside & (micro != MICRO_NONE));
            }
            len
        });
    }
}
