//! `8 for 500ns`: open for a time after each tag.
//!
//! Tags at 0, 8, 18 and 40 for 10: open from 0 to 28 and from 40 to 50. A tag at the very end of an interval
//! continues it, so the end is output only when all tags at that time are known.

use tagq_store::sealed::Reader;

use crate::{
    error::Error,
    frontier::Frontier,
    operators::operator::{GateOperation, Operation, Operator, OperatorForm, Role, Setting},
    units::{TimeUnits, ticks_below},
};

pub(crate) struct Following;

impl Operator for Following {
    fn key(&self) -> &'static str {
        "for"
    }

    fn summary(&self) -> &'static str {
        "Open from each tag on for D"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A for D", example: "8 for 500ns" }]
    }

    fn makes(&self) -> Role {
        Role::Gate
    }

    fn start(&self, _: usize, setting: &Setting, units: &TimeUnits) -> Result<Operation, Error> {
        let length = match setting {
            Setting::Length(length) => ticks_below(length, units.tick, "for", 1)?,
            Setting::None | Setting::Number(_) | Setting::Range(..) => 1,
        };
        Ok(Operation::gate(OpenFor { length, state: State::Closed }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// Open until this time, or longer if a tag comes before it or at it.
    Until(i64),
    /// Open until after the last time of 64 bits.
    ForEver,
}

struct OpenFor {
    length: i64,
    state: State,
}

impl OpenFor {
    fn opened_at(&self, time: i64) -> State {
        time.checked_add(self.length).map_or(State::ForEver, State::Until)
    }
}

impl GateOperation for OpenFor {
    fn advance(&mut self, operands: &[&[i64]], until: Frontier, out: &mut Vec<i64>) {
        for &time in operands.first().copied().unwrap_or_default() {
            match self.state {
                State::Closed => out.push(time),
                State::Until(end) if end < time => out.extend([end, time]),
                State::Until(_) | State::ForEver => {}
            }
            self.state = match self.state {
                State::ForEver => State::ForEver,
                State::Closed | State::Until(_) => self.opened_at(time),
            };
        }
        // A tag at the frontier can still continue an interval that ends there.
        if let State::Until(end) = self.state
            && until.is_after(end)
        {
            out.push(end);
            self.state = State::Closed;
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        let (kind, end) = match self.state {
            State::Closed => (0, 0),
            State::Until(end) => (1, end),
            State::ForEver => (2, 0),
        };
        out.push(kind);
        out.extend(end.to_le_bytes());
    }

    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let [kind] = reader.array()?;
        let end = reader.i64()?;
        self.state = match kind {
            0 => State::Closed,
            1 => State::Until(end),
            2 => State::ForEver,
            _ => return None,
        };
        Some(())
    }
}
