//! Channels made from channels, and gates.
//!
//! A definition such as `1 & 2 within 2ns` makes a channel, and `marker1 .. marker2` makes a gate, a set of intervals
//! of time. [`Definitions`] reads a set of them. A [`Network`] evaluates derived channels over batches of tags, a
//! [`GateNetwork`] makes [`Intervals`]. The definition of each operator is stated in docs/queries.md, "Derived
//! channels and gates"; [`OPERATORS`] is the list of operators.
//!
//! ```
//! use tagq_derived::{Definitions, LabelledOrigin, LabelledTags, Network, Operand, Origin, TagBatch, TimeUnits};
//!
//! let resolve = |operand: &Operand| match operand {
//!     Operand::Number(number) => Some(*number),
//!     Operand::Name(_) => None,
//! };
//! let definitions = Definitions::new([("pair", "1 & 2 within 2t")], [], resolve)?;
//! let outputs = [LabelledOrigin { origin: Origin::Definition(0), label: 100 }];
//! let units = TimeUnits { tick: tagq_store::Tick::DEFAULT, micro_tick: None };
//! let mut network = Network::new(&definitions, &outputs, &units)?;
//! let batch = TagBatch { times: &[0, 2, 9, 12], rows: &[0, 1, 2, 3], labels: &[1, 2, 1, 2], micro: None };
//! let mut out = LabelledTags::default();
//! network.advance(batch, tagq_derived::Frontier::Before(13), &mut out)?;
//! network.finish(&mut out)?;
//! assert_eq!((out.times, out.rows, out.labels), (vec![2], vec![1], vec![100]));
//! # Ok::<(), tagq_derived::Error>(())
//! ```

mod error;
mod frontier;
mod intervals;
mod search;
mod tags;
mod units;

mod operators;

mod grammar;

mod definitions;

mod network;
mod output;

mod gate_network;

pub use definitions::{Closure, Definitions, NamedDefinition, Origin};
pub use error::Error;
pub use frontier::Frontier;
pub use gate_network::GateNetwork;
pub use grammar::expression::{Expression, Operand};
pub use intervals::{Inside, Intervals};
pub use network::{LabelledOrigin, Network, WAITING_MAX};
pub use operators::{
    ALL as OPERATORS, ChannelOperation, GateOperation, OperandTags, Operation, Operator,
    OperatorForm, ReachInTicks, Role, Setting,
};
pub use tags::{LabelledTags, TagBatch, TagList, TagSlice};
pub use units::TimeUnits;
