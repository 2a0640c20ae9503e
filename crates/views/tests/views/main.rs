//! Operators, networks and gates against plain loops.

mod gates;
mod grammar;
mod identities;
mod network;
mod operators;
mod plain;
mod scenario;
