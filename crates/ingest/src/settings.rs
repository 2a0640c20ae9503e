//! How to read a file: where to begin, the columns, the format, threads.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tagq_store::{Tick, TimeUnit, threads};

use crate::{
    error::Error,
    formats::{
        columns::{ColumnNames, Columns},
        name::FormatName,
        times::ToTicks,
    },
};

/// How to read a file.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Begin at this byte, where a message begins, and a member if the file is compressed.
    pub start_byte: u64,
    /// Sum of the overflows of the counter before that byte, in the unit of the counter.
    pub start_overflow: i64,
    /// Bytes before this one are in the checksum of the source already.
    pub known_bytes: u64,
    /// Stop after so many messages: for a file whose next message is known to be torn.
    pub messages_max: Option<u64>,
    /// The last member of a compressed file begins at this byte and is torn, see [`Error::TornMember`]. Not for
    /// Zstandard, whose frames say where they end.
    pub torn_byte: Option<u64>,
    /// Take what can be read of a torn last member or message, too.
    pub salvage: bool,
    /// Threads that decode; one for each core when 0. Any number gives the same tags in the same order.
    pub threads: usize,
    /// Counts the bytes read, to show progress.
    pub bytes_read: Option<Arc<AtomicU64>>,
    /// Commit inside a source when so many rows came since the last commit; never if `None`.
    pub commit_rows: Option<u64>,
    /// Keep back tags that are no more than so many ticks older than the newest: later ones can
    /// still come before them. They are taken when the source is ingested again.
    pub hold_back: Option<i64>,
    /// With `hold_back`: hand older tags to the store while the rest is read. A tag that comes later than by
    /// `hold_back` is then refused ([`Error::Late`]), though it can be put in order without this.
    pub eager: bool,
    /// The format of the file, whatever its content says; recognised if `None`.
    pub format: Option<FormatName>,
    /// The columns of tags in a text or a table; a header of text that says otherwise is an error.
    pub columns: Option<Columns>,
    /// The columns by which the same file was read before. A header overrules their order.
    pub columns_before: Option<Columns>,
    /// The names that channels got when the same file was read before, for text whose channels are names.
    pub names_before: Vec<(u16, String)>,
    /// The tick of the times that are handed on, for columns of times in another unit. A table may state it itself;
    /// without either it is a picosecond.
    pub tick: Option<Tick>,
    /// The unit of the micro times that the store has.
    pub stored_micro_tick: Option<Tick>,
    /// Another thread sets this to stop the reading.
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl Settings {
    pub(crate) fn decoders(&self) -> usize {
        threads(self.threads)
    }

    /// The names of the columns of tags; the usual ones if none are given.
    pub(crate) fn column_names(&self) -> ColumnNames {
        Columns::names(self.columns.as_ref(), self.columns_before.as_ref())
    }

    /// The unit of times in a text or a table, whose column has a name with this unit; `None` if they are ticks.
    pub(crate) fn time_unit(&self, of_name: Option<TimeUnit>) -> Option<TimeUnit> {
        Columns::unit(self.columns.as_ref(), self.columns_before.as_ref(), of_name)
    }

    /// The lines of a text before its header and its tags.
    pub(crate) fn skip_lines(&self) -> u64 {
        Columns::skipped(self.columns.as_ref(), self.columns_before.as_ref())
    }

    /// The unit of the micro times of a file that does not say it.
    pub(crate) fn micro_tick(&self) -> Option<Tick> {
        Columns::micro_unit(self.columns.as_ref(), self.columns_before.as_ref())
    }

    /// How times in `unit` become ticks; `None` if they are ticks. The file may state its tick.
    pub(crate) fn to_ticks(&self, unit: Option<TimeUnit>, stated: Option<Tick>) -> Option<ToTicks> {
        unit.and_then(|unit| ToTicks::new(unit, self.tick_in_unit(stated)))
    }

    /// The tick of times in a unit. Without one that is stated or given it is the same for all units and all digits,
    /// so that the files of a run have one, and a file keeps it as it grows.
    pub(crate) fn tick_in_unit(&self, stated: Option<Tick>) -> Tick {
        stated.or(self.tick).unwrap_or(TimeUnit::Ps.length())
    }

    /// Returns [`Error::Cancelled`] after cancellation.
    pub fn check_wanted(&self) -> Result<(), Error> {
        match &self.cancelled {
            Some(cancelled) if cancelled.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}
