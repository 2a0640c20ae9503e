//! Look-ups: the first row at or after a time.
//!
//! The row is guessed from the times at the ends of its block; a wrong guess makes a search longer, and never changes
//! the row.

use tagq_store::{Store, Times, format::BLOCK_ROWS};

use crate::error::Error;

/// Finds rows by their times: the index gives the block, and a search the row in it.
///
/// ```
/// # use tagq_store::{Access, Creation, SourceFacts, Store, Tick, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
/// # let mut writer = Writer::open(&folder.path().join("run.tagq"), &creation)?;
/// # writer.begin_source();
/// writer.append(&[10, 20, 20, 50], &[1, 2, 3, 1])?;
/// # writer.finish_source(SourceFacts::named("by hand"));
/// # writer.commit()?;
/// # let store = Store::open(&folder.path().join("run.tagq"), Access::Mapped)?;
/// let lookup = tagq_query::Lookup::of(&store);
/// assert_eq!((lookup.row(20)?, lookup.row(21)?, lookup.row(51)?), (1, 3, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lookup<'a> {
    time: Times<'a>,
    /// The last time of each block.
    ends: Vec<i64>,
}

impl<'a> Lookup<'a> {
    /// Prepares look-ups in a store. Reads the index, and no row.
    pub fn of(store: &'a Store) -> Self {
        Self { time: store.tags().time, ends: store.last_times() }
    }

    /// Returns the first row whose time is `time`, in ticks, or later; the number of rows if all are earlier.
    ///
    /// # Errors
    /// [`Error::Unordered`] if the rows around it, or the index, are out of order. Damage of a store without a column
    /// of times is known to [`Store::damage_met`].
    pub fn row(&self, time: i64) -> Result<usize, Error> {
        let block = self.ends.partition_point(|&end| end < time);
        let first = (block * BLOCK_ROWS).min(self.time.len());
        let of_block = self.time.rows(first..(first + BLOCK_ROWS).min(self.time.len()));
        let row = first + of_block.seek(self.guess(block, time, of_block.len()), |at| at < time);
        // Decoded times in a block are in order unless its files are damaged, which has been noticed. The index may
        // have named another block.
        let is_sure = self.time.column().is_none() && row > first && row < first + of_block.len();
        let is_found = || {
            self.time.get(row).is_none_or(|at| at >= time)
                && row.checked_sub(1).is_none_or(|before| self.time.at(before) < time)
        };
        if is_sure || is_found() {
            Ok(row)
        } else {
            let row = row as u64;
            Err(Error::Unordered { row, block: row / BLOCK_ROWS as u64 })
        }
    }

    /// Returns about which row of a block has a time: tags of a steady rate are a line.
    fn guess(&self, block: usize, time: i64, rows: usize) -> usize {
        let before = match block.checked_sub(1) {
            Some(block) => self.ends.get(block).copied(),
            None => self.time.first(),
        };
        let Some((before, &end)) = before.zip(self.ends.get(block)) else { return 0 };
        let part = u128::from(time.abs_diff(before.min(time))) * rows as u128;
        usize::try_from(part / u128::from(end.abs_diff(before).max(1))).unwrap_or(rows)
    }
}
