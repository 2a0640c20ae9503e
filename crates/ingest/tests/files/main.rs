//! Valid and invalid files of every kind, compared with the reference implementation of Cap'n Proto.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test says so by failing"
)]

mod support;

mod becker;
mod compressed;
mod cut;
mod dialects;
mod encode;
mod flips;
mod foreign;
mod hostile;
mod ingest;
mod instruments;
mod messages;
mod numpy;
mod photon_hdf5;
mod picoquant;
mod pulses;
mod pycapnp;
mod qutag;
mod schema;
mod sdt;
mod sdt_writer;
mod singles;
mod swabian;
mod tables;
mod text;
mod threads;
mod timeharp;
mod units;

#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
#[path = "../schema/newer_capnp.rs"]
mod newer_capnp;

#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
#[path = "../schema/old_capnp.rs"]
mod old_capnp;

#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
#[path = "../schema/tags_capnp.rs"]
mod tags_capnp;
