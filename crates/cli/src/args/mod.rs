//! The command line: the only folder that uses clap. Other files of this crate see typed arguments alone.

mod answer;
mod channels;
mod command;
mod derive;
mod files;
mod fit;
mod fitted;
mod help;
mod mistakes;
mod nested;
mod options;
mod pages;
mod parts;
mod plots;
mod questions;
mod reproduce;
mod scan;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod setup;
mod simulate;
mod stores;
mod table;
mod values;
mod watch;
mod watched;

pub(crate) use answer::AnswerArgs;
pub(crate) use command::{Command, parse, program};
pub(crate) use derive::DeriveArgs;
pub(crate) use files::{CatArgs, ConvertArgs, ExportArgs};
pub(crate) use fit::FitArgs;
pub(crate) use fitted::FittedQuery;
pub(crate) use options::{OutputArgs, QueryArgs, SetupArgs};
pub(crate) use parts::{MergeArgs, PartialArgs, PlanArgs, RunsArgs};
pub(crate) use plots::{PlotArgs, PlotTo};
pub(crate) use questions::QuestionCommand;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use scan::ScanArgs;
pub(crate) use search::SearchArgs;
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use setup::{InitArgs, NameArgs};
pub(crate) use simulate::{DemoArgs, SimulateArgs};
pub(crate) use stores::{
    DoctorArgs, FormatsArgs, InfoArgs, IngestArgs, SetArgs, Switch, VerifyArgs,
};
pub(crate) use table::with_flags;
pub(crate) use values::Io;
pub(crate) use watch::{KEYS, WatchArgs};
