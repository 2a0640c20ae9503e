//! Questions and their answers.
//!
//! A [`Question`] is stated with names, durations and times ([`requests`]), or searches ([`Search`]). In a
//! [`tagq_run::Run`] it becomes channel numbers and ticks, a query counts, and an [`Answer`] states the query, the run,
//! a [`Table`] and how it was counted ([`Provenance`]).
//!
//! An answer states everything that decides about its numbers: no default is applied that it does not state.

mod error;

mod cell;
mod cells;
mod figure;
mod table;

mod provenance;

mod answer;

mod lanes;
mod pulses;
mod unsteady;

mod peaks;

mod catalogue;
pub mod requests;

mod search;

mod delays;

mod question;

pub use answer::{Answer, ChannelFacts, RunFacts, SCHEMA_VERSION};
pub use catalogue::{FoundRun, Moment, RunFilter, RunState, runs};
pub use cell::{Cell, CellList, CountsPart};
pub use cells::Cells;
pub use delays::Delays;
pub use error::Error;
pub use figure::{FigureKind, FittedSeries, SeriesOf};
pub use lanes::lanes;
pub use provenance::{CountedRun, Provenance, Together};
pub use question::{Asked, QUERY_TYPES, Question, SEARCH_TYPES, cases, is_search};
pub use search::{Search, Searched};
pub use table::{CellType, Column, Priority, Row, Shown, Table, Unit};
