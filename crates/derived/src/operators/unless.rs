//! `3 unless 7 in -10ns..10ns`: tags without a tag of another channel near them.
//!
//! Tags of 3 at 50 and 200, a tag of 7 at 195, tick 1 ns: the tag at 50 is kept.

use super::{
    near,
    operator::{Operation, Operator, OperatorForm, Setting},
};
use crate::{error::Error, units::TimeUnits};

pub(super) struct Unless;

impl Operator for Unless {
    fn key(&self) -> &'static str {
        "unless"
    }

    fn summary(&self) -> &'static str {
        "Tags without a tag of another channel near them"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[
            OperatorForm { pattern: "A unless B in LO..HI", example: "3 unless 7 in -10ns..10ns" },
            OperatorForm { pattern: "A unless B within D", example: "3 unless 7 within 10ns" },
        ]
    }

    /// Tags are then compared with the other tags of their own channel.
    fn allows_same_operand(&self) -> bool {
        true
    }

    fn start(&self, _: usize, setting: &Setting, units: &TimeUnits) -> Result<Operation, Error> {
        near::start(setting, units, false)
    }
}
