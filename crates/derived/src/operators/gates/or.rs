//! `g or h`: open while at least one of several gates is open.
//!
//! With g open from 0 to 20 and h open from 10 to 30, `g or h` is open from 0 to 30.

use super::together;
use crate::{
    error::Error,
    operators::operator::{Operation, Operator, OperatorForm, Role, Setting},
    units::TimeUnits,
};

pub(crate) struct Or;

impl Operator for Or {
    fn key(&self) -> &'static str {
        "or"
    }

    fn summary(&self) -> &'static str {
        "Open while at least one of several gates is open"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A or B …", example: "g or h" }]
    }

    fn makes(&self) -> Role {
        Role::Gate
    }

    fn takes(&self) -> Role {
        Role::Gate
    }

    fn start(&self, operands: usize, _: &Setting, _: &TimeUnits) -> Result<Operation, Error> {
        Ok(together::start(operands, 1))
    }
}
