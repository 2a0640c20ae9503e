//! Requests: queries as a user states them, with names, durations and times.
//!
//! A request is resolved in a [`tagq_run::Run`]: names and durations become channel numbers and ticks, a
//! query of [`tagq_query`] counts, and a [`crate::Answer`] states the query, the run and the rows.
//! The command line, Python and `watch` fill in a request and show its answer. `kind` is the interface
//! of all kinds of requests, `request` the list of kinds; to add one, add its folder and a line there.

#[cfg(test)]
mod asks;
mod blocks;
mod coarse;
mod coincidences;
mod columns;
mod command;
pub(crate) mod context;
pub(crate) mod detectors;
mod division;
mod explain;
mod header;
mod held;
mod histogram;
mod histogram2d;
mod image;
mod instrument;
mod kind;
mod last_interval;
mod limits;
mod micro;
mod names;
pub mod options;
mod rates;
mod request;
mod schema;
pub(crate) mod selection;
mod unlikely;
mod used;
mod viewed;

pub use blocks::Errors;
pub use coincidences::{Accidentals, Coincidences, Listing};
pub use command::{Asking, keyword};
pub use context::QueryContext;
pub use explain::{Explained, PlanFacts};
pub use histogram::{Histogram, KeptBins, PulsePeriod, Reach};
pub use histogram2d::Histogram2d;
pub use image::{Image, ScanPath, SineOf, Together};
pub use instrument::{
    ResponseAsked, ResponseSource, ask_response, counted_response, response_of, response_of_text,
};
pub use kind::{Gap, Seams, windows};
pub use micro::MicroTimes;
pub use names::renamed;
pub use options::{ChannelArgument, OptionValues, RequestOption, RequestType, Section, ValueType};
pub use rates::Rates;
pub(crate) use request::cases_of;
pub use request::{REQUEST_TYPES, Request, cases};
pub use selection::{DelayAsked, Selection};

pub use tagq_run::{BinWidth, Channel, Moment, Setup, SetupFile, definition};
