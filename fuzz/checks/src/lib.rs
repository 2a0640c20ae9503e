//! What must hold whatever the input: the properties that the fuzzer tries to break.
//!
//! Each function takes the bytes of one input and panics where its property does not hold. The
//! fuzz targets call them with what the fuzzer makes up, the test `replay` with the inputs that are
//! committed. Most inputs are recipes: a valid file or store is made of them and then mutated, so
//! that the fuzzer gets past the checksums.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a property says so by failing"
)]

mod recipe;

mod bodies;

mod messages;
mod questions;
mod sources;
mod stores;

mod durations;
mod instruments;
mod partials;
mod tables;

#[expect(dead_code, reason = "the rest is for the tests of the ingest crate")]
#[path = "../../../crates/ingest/tests/files/support.rs"]
mod support;

#[expect(dead_code, reason = "the rest is for the tests of the ingest crate")]
#[path = "../../../crates/ingest/tests/files/sdt_writer.rs"]
mod sdt_writer;

#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
#[path = "../../../crates/ingest/tests/schema/tags_capnp.rs"]
mod tags_capnp;

pub use bodies::bodies;
pub use durations::durations;
pub use instruments::instruments;
pub use messages::messages;
pub use partials::partials;
pub use questions::questions;
pub use sources::sources;
pub use stores::stores;
pub use tables::tables;
