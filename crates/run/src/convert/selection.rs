//! Which tags of a run are written, and which columns a table has.

use tagq_query::TimeRange;
use tagq_store::TimeUnit;

use crate::{Run, error::Error, left_out::LeftOut, recorded::Recorded};

/// A selection of tags and of their columns.
#[derive(Debug, Clone, Default)]
pub struct TagSelection {
    /// Range of recorded times in ticks, half-open.
    pub range: TimeRange,
    /// Only these channels.
    pub channels: Option<Vec<u16>>,
    /// Only the first tags of the run, up to this number.
    pub first: Option<usize>,
    /// The columns of a table; files have all of them.
    pub columns: Projection,
    /// No tags of these blocks, because they are damaged.
    pub left_out: LeftOut,
    /// Names of channels; those of the sources name the others.
    pub names: Vec<(u16, String)>,
    /// An additional column of a table: floats, relative to the first tag of the run.
    pub time_unit: Option<TimeUnit>,
}

/// The columns of tags that are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection {
    /// The times in ticks.
    pub time: bool,
    /// The channels.
    pub channel: bool,
    /// The micro times, if the run has them.
    pub micro: bool,
}

impl Default for Projection {
    fn default() -> Self {
        Self { time: true, channel: true, micro: true }
    }
}

impl TagSelection {
    /// Selects all tags but those of damaged blocks, if these are to be left out.
    ///
    /// # Errors
    /// Those of [`Run::left_out`].
    pub fn of_intact(run: &Run, salvage: bool) -> Result<Self, Error> {
        let left_out = if salvage { run.left_out()? } else { LeftOut::default() };
        Ok(Self { left_out, ..Self::default() })
    }

    /// Returns the recording of `run` with the names and without the blocks that are left out.
    pub fn recorded(&self, run: &Run) -> Recorded {
        let mut recorded = Recorded::of(run);
        self.left_out.add_to(&mut recorded.recording);
        let names = &mut recorded.recording.channel_names;
        names.retain(|of| !self.names.iter().any(|given| given.0 == of.0 || given.1 == of.1));
        names.extend(self.names.iter().cloned());
        names.sort_unstable();
        recorded
    }

    /// Whether only tables can be written of it: it has other columns than files have.
    pub fn is_of_tables(&self) -> bool {
        self.columns != Projection::default() || self.time_unit.is_some()
    }
}
