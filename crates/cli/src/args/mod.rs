//! The command line, word for word: this folder alone names clap.

mod command;
mod files;
mod help;
mod options;
mod pages;
mod plots;
mod queries;
mod setup;
mod simulate;
mod stores;
mod values;
mod watch;
mod watched;

pub(crate) use command::{Command, parse, program};
pub(crate) use files::{CatArgs, ConvertArgs, ExportArgs};
pub(crate) use options::{OutputArgs, QueryArgs, SelectionArgs, SetupArgs};
pub(crate) use plots::{PlotArgs, PlotTo};
pub(crate) use queries::{BinsArgs, CoincidencesArgs, G2Args, HistogramArgs, RatesArgs};
pub(crate) use setup::{DelaysArgs, NameArgs};
pub(crate) use simulate::SimulateArgs;
pub(crate) use stores::{InfoArgs, IngestArgs, SetArgs, VerifyArgs};
pub(crate) use values::{AccidentalsName, ForChannel, Format, Io, ModeName, NamedDelay, RuleName};
pub(crate) use watch::WatchArgs;
