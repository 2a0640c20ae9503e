//! `3 if 7 in 0ns..100ns`: tags with a tag of another channel near them.
//!
//! Tags of 3 at 50 and 200, a tag of 7 at 149, tick 1 ns: the tag at 50 is kept.

use super::{
    near,
    operator::{Operation, Operator, OperatorForm, Setting},
};
use crate::{error::Error, units::TimeUnits};

pub(super) struct If;

impl Operator for If {
    fn key(&self) -> &'static str {
        "if"
    }

    fn summary(&self) -> &'static str {
        "Tags with a tag of another channel near them"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[
            OperatorForm { pattern: "A if B in LO..HI", example: "3 if 7 in 0ns..100ns" },
            OperatorForm { pattern: "A if B within D", example: "3 if 7 within 10ns" },
        ]
    }

    /// Tags are then compared with the other tags of their own channel.
    fn allows_same_operand(&self) -> bool {
        true
    }

    fn start(&self, _: usize, setting: &Setting, units: &TimeUnits) -> Result<Operation, Error> {
        near::start(setting, units, true)
    }
}
