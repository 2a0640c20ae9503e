//! Gates that are open while enough others are: the evaluation of `and` and `or`.
//!
//! `and` takes all operands to be open, `or` one. A bound is output only where the number of open operands passes
//! that limit, so that intervals that touch are joined.

use tagq_store::sealed::Reader;

use crate::{
    frontier::Frontier,
    intervals::combine,
    operators::operator::{GateOperation, Operation, restore_flag},
};

/// Starts a gate that is open while at least `least` of its operands are.
pub(super) fn start(operands: usize, least: usize) -> Operation {
    Operation::gate(Together { least, is_open: vec![false; operands] })
}

struct Together {
    least: usize,
    /// The operands that are open.
    is_open: Vec<bool>,
}

impl GateOperation for Together {
    fn advance(&mut self, operands: &[&[i64]], _: Frontier, out: &mut Vec<i64>) {
        combine(operands, &mut self.is_open, self.least, out);
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.is_open.iter().map(|&is_open| u8::from(is_open)));
    }

    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        for is_open in &mut self.is_open {
            *is_open = restore_flag(reader)?;
        }
        Some(())
    }
}
