//! Texts of definitions. [`expression`] reads and writes them by the patterns of the operators.

pub(crate) mod expression;
mod pattern;
mod token;
