//! Operators, networks and gates against plain loops.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod gates;
mod grammar;
mod identities;
mod network;
mod operators;
mod plain;
mod scenario;
