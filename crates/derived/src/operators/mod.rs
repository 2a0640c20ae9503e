//! The operators of definitions.
//!
//! Each operator is one file that implements [`operator::Operator`]; [`list`] is the list of operators. [`near`] is
//! the walk that `if` and `unless` share. [`gates`] has the operators that make gates.

mod coincide;
mod dead;
mod divide;
mod gates;
mod merge;
mod micro;
mod near;
mod only_if;
mod unless;

pub(crate) mod list;
pub(crate) mod operator;

pub use list::ALL;
pub use operator::{
    ChannelOperation, GateOperation, OperandTags, Operation, Operator, OperatorForm, ReachInTicks,
    Role, Setting,
};
