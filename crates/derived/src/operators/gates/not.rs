//! `not g`: the times at which a gate is closed.
//!
//! With g open from 10 to 20, `not g` is open before 10 and from 20 on. The first bound is at the beginning of time,
//! unless g opens there.

use tagq_store::sealed::Reader;

use crate::{
    error::Error,
    frontier::Frontier,
    intervals::complement,
    operators::operator::{
        GateOperation, Operation, Operator, OperatorForm, Role, Setting, restore_flag,
    },
    units::TimeUnits,
};

pub(crate) struct Not;

impl Operator for Not {
    fn key(&self) -> &'static str {
        "not"
    }

    fn summary(&self) -> &'static str {
        "Open while another gate is closed"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "not A", example: "not g" }]
    }

    fn makes(&self) -> Role {
        Role::Gate
    }

    fn takes(&self) -> Role {
        Role::Gate
    }

    fn start(&self, _: usize, _: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        Ok(Operation::gate(Complement { has_begun: false }))
    }
}

struct Complement {
    /// Whether the bound at the first time of all was decided.
    has_begun: bool,
}

impl GateOperation for Complement {
    fn advance(&mut self, operands: &[&[i64]], until: Frontier, out: &mut Vec<i64>) {
        let bounds = operands.first().copied().unwrap_or_default();
        if self.has_begun {
            out.extend(bounds);
        } else if until > Frontier::START {
            complement(bounds, out);
            self.has_begun = true;
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.push(self.has_begun.into());
    }

    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        self.has_begun = restore_flag(reader)?;
        Some(())
    }
}
