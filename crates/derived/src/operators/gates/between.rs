//! `marker1 .. marker2`: open from each tag of the first channel to the next later tag of the second.
//!
//! Openings at 0 and 20, closings at 10, 20 and 30: open from 0 to 10 and from 20 to 30. At equal times the opening
//! wins; an opening of an open gate changes nothing.

use tagq_store::sealed::Reader;

use crate::{
    error::Error,
    frontier::Frontier,
    operators::operator::{
        GateOperation, Operation, Operator, OperatorForm, Role, Setting, restore_flag,
    },
    units::TimeUnits,
};

pub(crate) struct Between;

impl Operator for Between {
    fn key(&self) -> &'static str {
        "between"
    }

    fn summary(&self) -> &'static str {
        "Open from a tag of the first channel to the next later tag of the second"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A .. B", example: "marker1 .. marker2" }]
    }

    fn makes(&self) -> Role {
        Role::Gate
    }

    fn is_from_tag_to_tag(&self) -> bool {
        true
    }

    fn start(&self, _: usize, _: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        Ok(Operation::gate(Markers { is_open: false }))
    }
}

struct Markers {
    is_open: bool,
}

impl GateOperation for Markers {
    fn advance(&mut self, operands: &[&[i64]], _: Frontier, out: &mut Vec<i64>) {
        let &[mut openings, mut closings] = operands else { return };
        loop {
            // Only the first tag that changes the state matters.
            let changes = if self.is_open { &mut closings } else { &mut openings };
            let Some((&time, rest)) = changes.split_first() else { return };
            *changes = rest;
            if self.is_open {
                // Openings up to here found the gate open.
                while openings.first().is_some_and(|&opening| opening < time) {
                    openings = &openings[1..];
                }
                // At equal times the gate stays open.
                if openings.first() == Some(&time) {
                    continue;
                }
            } else {
                while closings.first().is_some_and(|&closing| closing <= time) {
                    closings = &closings[1..];
                }
            }
            self.is_open = !self.is_open;
            out.push(time);
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.push(self.is_open.into());
    }

    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        self.is_open = restore_flag(reader)?;
        Some(())
    }
}
