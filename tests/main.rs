//! The program as users run it, and the rules of the repository.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]
#![cfg_attr(windows, allow(unused_imports, dead_code, reason = "some tests are not for Windows"))]

mod support;
mod tables;
mod terminal;

mod book;
mod cases;
mod convert;
mod cut;
mod damage;
mod damaged;
mod defaults;
mod delays;
mod demo;
mod derived;
mod destinations;
mod doctor;
mod documents;
mod escapes;
mod explain;
mod export;
mod faces;
mod fits;
mod fixture;
mod follow;
#[cfg(unix)]
mod foreign;
mod formats;
mod forms;
mod gaps;
mod golden;
mod held;
mod help;
mod hints;
#[cfg(feature = "serve")]
mod hostile;
mod identity;
mod image;
mod image_lifetimes;
mod image_regions;
mod imports;
mod info;
mod kept;
#[cfg(target_os = "linux")]
mod keys;
mod killed;
mod limits;
mod lists;
mod micro;
mod mistakes;
mod notes;
mod numbers;
mod outputs;
mod parts;
mod paths;
mod physics;
mod plots;
mod pulsed;
mod queries;
mod real_data;
mod reproduce;
mod runs;
mod same_bytes;
mod screens;
#[path = "../crates/ingest/tests/files/sdt_writer.rs"]
mod sdt_writer;
#[cfg(feature = "serve")]
mod serve;
mod setup;
mod simulated;
mod simulated_scans;
mod sources;
mod spellings;
mod stores;
mod sum;
mod text;
mod tidy;
mod traces;
mod validation;
mod versions;
mod views;
mod watch;
mod web;
mod wrong_input;
