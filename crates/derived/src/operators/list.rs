//! The list of operators.

use super::{
    coincide::Coincide,
    dead::Dead,
    divide::Divide,
    gates::{And, Between, Following, Not, Or},
    merge::Merge,
    micro::Micro,
    only_if::If,
    operator::Operator,
    unless::Unless,
};

/// All operators, in the order of help texts.
pub const ALL: [&dyn Operator; 12] = [
    &Merge, &Coincide, &Divide, &Dead, &If, &Unless, &Micro, &Between, &Following, &Not, &And, &Or,
];
