//! The operators that make gates: from tags (`between`, `following`), and from other gates.

mod and;
mod between;
mod following;
mod not;
mod or;
mod together;

pub(super) use and::And;
pub(super) use between::Between;
pub(super) use following::Following;
pub(super) use not::Not;
pub(super) use or::Or;
