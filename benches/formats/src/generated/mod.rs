//! Code made from the schemas in `schema/`, which has the commands.

/// Protocol Buffers, by prost-build.
#[rustfmt::skip]
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated")]
pub mod tags_proto;

/// flatbuffers, by planus.
#[rustfmt::skip]
#[allow(warnings, unsafe_code, clippy::all, clippy::pedantic, reason = "generated")]
pub mod tags_planus;
