//! The trait of every operator, and of its evaluation.
//!
//! An operation that depends on tags up to 5 ticks later outputs its tags before 95 once all tags before 100 are
//! known. Its output must not depend on where batches end, and a saved state must continue to the same output.

use std::ops::RangeInclusive;

use tagq_store::{Duration, sealed::Reader};

use crate::{
    error::Error,
    frontier::Frontier,
    tags::{TagList, TagSlice},
    units::TimeUnits,
};

/// Operands of an operator that has no limit of its own.
const OPERANDS_MAX: usize = 4096;

/// A channel or a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A list of tags.
    Channel,
    /// A set of intervals of time.
    Gate,
}

impl Role {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Gate => "gate",
        }
    }

    /// Returns the section of a setup with its definitions.
    pub fn section(self) -> &'static str {
        match self {
            Self::Channel => "[derived]",
            Self::Gate => "[gates]",
        }
    }
}

/// One way to write an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorForm {
    /// Words separated by blanks: `A` and `B` are operands, `…` more of the operand before it, `N` a whole number, `D`
    /// a duration, `LO..HI` a range of durations. All others stand for themselves; the first of them identifies the
    /// operator.
    pub pattern: &'static str,
    /// A definition of this form.
    pub example: &'static str,
}

/// The number or duration in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// No number or duration.
    None,
    /// A whole number.
    Number(u64),
    /// A duration.
    Length(Duration),
    /// A half-open range of durations.
    Range(Duration, Duration),
}

/// An operator of definitions.
pub trait Operator: Sync {
    /// Returns its name.
    fn key(&self) -> &'static str;

    /// Returns the result in one line, for help texts.
    fn summary(&self) -> &'static str;

    /// Returns the ways to write it.
    fn forms(&self) -> &'static [OperatorForm];

    /// Returns whether it makes a channel or a gate.
    fn makes(&self) -> Role {
        Role::Channel
    }

    /// Returns whether it takes channels or gates.
    fn takes(&self) -> Role {
        Role::Channel
    }

    /// Returns the largest number of operands.
    fn operands_max(&self) -> usize {
        OPERANDS_MAX
    }

    /// Returns the numbers that it takes.
    fn numbers(&self) -> RangeInclusive<u64> {
        1..=u32::MAX.into()
    }

    /// Returns whether one operand can stand in two places.
    fn allows_same_operand(&self) -> bool {
        false
    }

    /// Returns whether it needs micro times, which only channels of the run have.
    fn needs_micro(&self) -> bool {
        false
    }

    /// Returns whether its output has the statistics of light if its operands have: formulas of errors hold then.
    fn keeps_statistics(&self) -> bool {
        true
    }

    /// Returns whether intervals that touch are different ones: from a tag of the first operand to one of the second.
    fn is_from_tag_to_tag(&self) -> bool {
        false
    }

    /// Starts the evaluation with `operands` operands, before their first tag.
    fn start(
        &self,
        operands: usize,
        setting: &Setting,
        units: &TimeUnits,
    ) -> Result<Operation, Error>;
}

/// The evaluation of an operator.
pub enum Operation {
    /// It makes tags.
    Channel(Box<dyn ChannelOperation>),
    /// It makes intervals.
    Gate(Box<dyn GateOperation>),
}

impl Operation {
    pub(crate) fn channel(operation: impl ChannelOperation + 'static) -> Self {
        Self::Channel(Box::new(operation))
    }

    pub(crate) fn gate(operation: impl GateOperation + 'static) -> Self {
        Self::Gate(Box::new(operation))
    }
}

/// The largest distances in ticks at which other tags decide about the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReachInTicks {
    /// Distance to earlier tags.
    pub before: i64,
    /// Distance to later tags.
    pub after: i64,
}

/// Tags of an operand that are not used up yet, in order.
#[derive(Debug)]
pub struct OperandTags<'a> {
    /// The tags: all before the frontier, and possibly some after it.
    pub tags: TagSlice<'a>,
    /// How many of the first tags are not needed again; the operation sets it.
    pub used: usize,
}

impl OperandTags<'_> {
    /// Uses up all tags before the frontier, and returns them.
    pub(crate) fn take(&mut self, until: Frontier) -> TagSlice<'_> {
        self.used = until.count(self.tags.times);
        self.tags.first(self.used)
    }
}

/// Evaluates an operator that makes tags, over lists that grow.
pub trait ChannelOperation: Send {
    /// Returns how far before and after a tag other tags can decide about it.
    fn reach(&self) -> ReachInTicks {
        ReachInTicks::default()
    }

    /// Appends the tags with a time before `until` less its reach to later tags that were not output yet. All tags
    /// of the operands before `until` are there.
    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList);

    /// Appends the state beside the operands' tags.
    fn save(&self, _out: &mut Vec<u8>) {}

    /// Reads a state that [`ChannelOperation::save`] wrote when the operands' frontier was `until`; `None` if the bytes
    /// are damaged.
    fn restore(&mut self, _reader: &mut Reader<'_>, _until: Frontier) -> Option<()> {
        Some(())
    }

    /// Returns whether tags of an operand are needed again after the output reached their time.
    fn keeps(&self, _operand: usize) -> bool {
        false
    }

    /// Returns the number of the operand's tags so far, if output depends on it.
    fn counted(&mut self) -> Option<&mut u64> {
        None
    }
}

/// Evaluates an operator that makes intervals. A gate is a list of bounds in ascending order: at the first one it
/// opens, at the second it closes, and so on.
pub trait GateOperation: Send {
    /// Appends the bounds before `until` that were not output yet. The operands have the new times of tags, or the new
    /// bounds, all before `until`.
    fn advance(&mut self, operands: &[&[i64]], until: Frontier, out: &mut Vec<i64>);

    /// Appends the state.
    fn save(&self, out: &mut Vec<u8>);

    /// Reads a state that [`GateOperation::save`] wrote; `None` if the bytes are damaged.
    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()>;
}

/// Reads a byte that is 0 or 1.
pub(crate) fn restore_flag(reader: &mut Reader<'_>) -> Option<bool> {
    match reader.array()? {
        [0] => Some(false),
        [1] => Some(true),
        [_] => None,
    }
}
