//! The measurements: each part makes tables of what its child processes measured.

pub mod child;
mod latency;
mod lookups;
mod parent;
mod rows;
mod sizes;
mod steps;
mod suspend;

pub use parent::Rounds;

use std::path::PathBuf;

use crate::{Compression, Result, Source, format::Format, report::Table};

/// What is measured, and on what.
pub struct Plan {
    /// The tags.
    pub source: Source,
    /// The first tags of them, at most [`SIZE_TAGS`], for sizes.
    pub first: Source,
    /// Whether they are a recording, and not simulated.
    pub recorded: bool,
    /// A folder for the files, on the disk that is measured.
    pub folder: PathBuf,
    /// The formats to compare.
    pub formats: Vec<&'static dyn Format>,
    /// Rounds of each measurement.
    pub runs: usize,
    /// Look-ups in a round.
    pub lookups: usize,
    /// Messages of each size whose latency is measured in a round.
    pub messages: usize,
}

/// Tags whose sizes are compared: the slowest compressions take seconds for so many.
pub const SIZE_TAGS: u64 = 500_000;
/// The window of pairs: 2 ns at ticks of 156.25 ps.
const WINDOW: i64 = 12;

/// A part of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Bytes of each format and compression.
    Sizes,
    /// Latency of messages of 1, 10 and 100 tags.
    Latency,
    /// Random look-ups from 4 threads.
    Lookups,
    /// Rows a second of a pass over packed rows, and of tagq's query.
    Rows,
    /// Suspending and resuming a stream after every byte.
    Suspend,
}

impl Part {
    /// All parts, in the order in which they run.
    pub const ALL: [Self; 5] =
        [Self::Sizes, Self::Latency, Self::Lookups, Self::Rows, Self::Suspend];

    /// Measures it, and checks that all formats give the same answers.
    pub fn measure(self, plan: &Plan) -> Result<Vec<Table>> {
        match self {
            Self::Sizes => sizes::measure(plan),
            Self::Latency => latency::measure(plan),
            Self::Lookups => lookups::measure(plan),
            Self::Rows => rows::measure(plan),
            Self::Suspend => suspend::measure(plan),
        }
    }
}

impl Plan {
    /// Returns where the file of a format is.
    fn path(&self, format: &dyn Format, compression: Compression) -> PathBuf {
        self.folder.join(format!("{}.{compression}", format.name()))
    }
}
