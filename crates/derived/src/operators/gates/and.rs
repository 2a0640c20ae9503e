//! `g and h`: open while all of several gates are open.
//!
//! With g open from 0 to 20 and h open from 10 to 30, `g and h` is open from 10 to 20.

use super::together;
use crate::{
    error::Error,
    operators::operator::{Operation, Operator, OperatorForm, Role, Setting},
    units::TimeUnits,
};

pub(crate) struct And;

impl Operator for And {
    fn key(&self) -> &'static str {
        "and"
    }

    fn summary(&self) -> &'static str {
        "Open while all of several gates are open"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A and B …", example: "g and h" }]
    }

    fn makes(&self) -> Role {
        Role::Gate
    }

    fn takes(&self) -> Role {
        Role::Gate
    }

    fn start(&self, operands: usize, _: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        Ok(together::start(operands, operands))
    }
}
