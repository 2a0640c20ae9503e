//! The program as a person uses it, and the rules that hold the project together.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod support;
mod terminal;

mod book;
mod convert;
mod delays;
mod documents;
mod explain;
mod export;
mod fixture;
mod follow;
mod golden;
mod help;
mod info;
mod lists;
mod physics;
mod plots;
mod queries;
mod real_data;
mod screens;
mod simulated;
mod sources;
mod stores;
mod sum;
mod text;
mod tidy;
mod watch;
mod wrong_input;
