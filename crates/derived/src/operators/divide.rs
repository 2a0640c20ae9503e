//! `8 / 1000`: every 1000th tag, the first one included.
//!
//! Every third tag of 0, 1, 2, 3, 4 is 0 and 3. The count goes on from batch to batch and begins with each source.

use tagq_store::sealed::Reader;

use super::operator::{ChannelOperation, OperandTags, Operation, Operator, OperatorForm, Setting};
use crate::{error::Error, frontier::Frontier, tags::TagList, units::TimeUnits};

pub(super) struct Divide;

impl Operator for Divide {
    fn key(&self) -> &'static str {
        "divide"
    }

    fn summary(&self) -> &'static str {
        "Every Nth tag, beginning with the first tag of a source"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A / N", example: "8 / 1000" }]
    }

    fn keeps_statistics(&self) -> bool {
        false
    }

    fn start(&self, _: usize, setting: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        let by = match *setting {
            Setting::Number(number) => number.max(1),
            Setting::None | Setting::Length(_) | Setting::Range(..) => 1,
        };
        Ok(Operation::channel(Dividing { by, counted: 0 }))
    }
}

struct Dividing {
    by: u64,
    /// The tags of the operand before the next one.
    counted: u64,
}

impl ChannelOperation for Dividing {
    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let [operand] = operands else { return };
        let tags = operand.take(until);
        let since = self.counted % self.by;
        let first = if since == 0 { 0 } else { self.by - since };
        self.counted = self.counted.wrapping_add(tags.times.len() as u64);
        let Ok(first) = usize::try_from(first) else { return };
        let by = usize::try_from(self.by).unwrap_or(usize::MAX);
        out.times.extend(tags.times.iter().skip(first).step_by(by));
        out.rows.extend(tags.rows.iter().skip(first).step_by(by));
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.counted.to_le_bytes());
    }

    fn restore(&mut self, reader: &mut Reader<'_>, _: Frontier) -> Option<()> {
        self.counted = reader.u64()?;
        Some(())
    }

    fn counted(&mut self) -> Option<&mut u64> {
        Some(&mut self.counted)
    }
}
