//! The index of a store: its blocks of rows, and their checks.
//!
//! `mark(131_072)` is the end of block 1, and `mark(100_000)` is `None`, because no full block ends there. Each entry
//! has a checksum over the one of the entry before it, so the checksum at a mark covers the entries of all rows before.

use std::ops::Range;

use super::Store;
use crate::{
    ChannelRows, Error,
    encode::DistancePart,
    files::{Checksum, FileKind, PerFile},
    format::{self, BLOCK_ENTRY_BYTES, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES},
};

/// The entry of one block of rows in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its rows.
    pub rows: Range<u64>,
    /// Its first time in ticks.
    pub time_min: i64,
    /// Its last time in ticks.
    pub time_max: i64,
    /// crc32c of its bytes in each column that the store has.
    pub checksums: PerFile<Option<u32>>,
    /// Its rows by channel, ascending by label.
    pub channels: Vec<ChannelRows>,
}

/// A point between two full blocks of rows, and the checksum of the rows before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Rows before it.
    pub rows: u64,
    /// The time of the last of them in ticks. No row after it has an earlier one.
    pub time: i64,
    /// The chained crc32c of the index there: equal in two states of a run when the rows before it
    /// are the same.
    pub chain: u32,
}

impl Store {
    /// The index: one block for each 65,536 rows, the last may be shorter. The whole chain is
    /// checked, and that the times of the blocks follow each other.
    ///
    /// # Errors
    /// [`Error::Damaged`] naming the first block whose entry or counts are not what was committed.
    pub fn blocks(&self) -> Result<Vec<Block>, Error> {
        let damaged = |block: usize, what: &str| Error::Damaged {
            path: self.folder.join(self.manifest.name_of(FileKind::Blocks)),
            what: format!("{what} of block {block}"),
            expected: "as committed".into(),
            found: "something else".into(),
        };
        let mut chain = 0;
        let mut blocks = Vec::new();
        for (i, bytes) in self.blocks.as_chunks::<BLOCK_ENTRY_BYTES>().0.iter().enumerate() {
            let entry = self.entry_of(bytes).ok_or_else(|| damaged(i, "the entry"))?;
            let counts =
                self.counts_of(&entry).ok_or_else(|| damaged(i, "the place of the counts"))?;
            if entry.chained(chain, counts) != entry.chain {
                return Err(damaged(i, "the checksum of entry and counts"));
            }
            chain = entry.chain;
            let start = (i * BLOCK_ROWS) as u64;
            blocks.push(Block {
                rows: start..start + BLOCK_ROWS as u64,
                time_min: entry.time_min,
                time_max: entry.time_max,
                checksums: self.with_distances(entry.checksums, i),
                channels: decode_counts(counts),
            });
        }
        if chain != self.manifest.chain {
            return Err(damaged(blocks.len(), "the chain before the entry"));
        }
        if let Some(last) = &self.manifest.last_block {
            let start = (blocks.len() * BLOCK_ROWS) as u64;
            blocks.push(Block {
                rows: start..start + u64::from(last.rows),
                time_min: last.time_min,
                time_max: last.time_max,
                checksums: self.with_distances(last.checksums, blocks.len()),
                channels: last.counts.clone(),
            });
        }
        let mut before = self.manifest.time_first;
        for (i, block) in blocks.iter().enumerate() {
            let begins = Some(block.time_min);
            let follows = if i == 0 { begins == before } else { begins >= before };
            if !follows || block.time_max < block.time_min {
                return Err(damaged(i, "the times"));
            }
            before = Some(block.time_max);
        }
        if before != self.manifest.time_last {
            return Err(damaged(blocks.len().saturating_sub(1), "the last time"));
        }
        Ok(blocks)
    }

    /// The last time of each block, in ticks, as the index says: nothing is checked.
    pub fn last_times(&self) -> Vec<i64> {
        let (entries, _) = self.blocks.as_chunks::<BLOCK_ENTRY_BYTES>();
        let last = self.manifest.last_block.as_ref().map(|last| last.time_max);
        entries.iter().map(format::last_time).chain(last).collect()
    }

    /// The end of the full block that ends with row `rows`; `None` when none does. Reads two entries of
    /// the index, whatever its length.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the entry or its counts are not what was committed.
    pub fn mark(&self, rows: u64) -> Result<Option<Mark>, Error> {
        let block_rows = BLOCK_ROWS as u64;
        if rows == 0 || !rows.is_multiple_of(block_rows) || rows > self.manifest.rows {
            return Ok(None);
        }
        let number = rows / block_rows - 1;
        let damaged = || Error::Damaged {
            path: self.folder.join(self.manifest.name_of(FileKind::Blocks)),
            what: format!("the entry of block {number}"),
            expected: "as committed".into(),
            found: "something else".into(),
        };
        let (entries, _) = self.blocks.as_chunks::<BLOCK_ENTRY_BYTES>();
        let entry = |number: u64| {
            let number = usize::try_from(number).ok()?;
            self.entry_of(entries.get(number)?)
        };
        let last = entry(number).ok_or_else(damaged)?;
        let before = match number.checked_sub(1) {
            Some(number) => entry(number).ok_or_else(damaged)?.chain,
            None => 0,
        };
        let counts = self.counts_of(&last).ok_or_else(damaged)?;
        let is_last = rows == self.manifest.full_blocks() * block_rows;
        if last.chained(before, counts) != last.chain
            || (is_last && last.chain != self.manifest.chain)
        {
            return Err(damaged());
        }
        Ok(Some(Mark { rows, time: last.time_max, chain: last.chain }))
    }

    fn entry_of(&self, bytes: &[u8; BLOCK_ENTRY_BYTES]) -> Option<BlockEntry> {
        BlockEntry::decode(bytes, |kind| self.manifest.is_chained(kind))
    }

    /// The checksums of the columns of a block: those of its entry, and those of its gaps and distances.
    fn with_distances(
        &self,
        mut checksums: PerFile<Option<u32>>,
        block: usize,
    ) -> PerFile<Option<u32>> {
        for kind in
            FileKind::all().filter(|kind| matches!(kind.layout().checksum, Checksum::InFile(..)))
        {
            checksums[kind] = self.checks.checksum(kind, block).filter(|_| self.manifest.has(kind));
        }
        checksums
    }

    /// The bytes of a block's pairs of channel and rows.
    fn counts_of(&self, entry: &BlockEntry) -> Option<&[u8]> {
        let start = usize::try_from(entry.counts_start).ok()?.checked_mul(COUNT_ENTRY_BYTES)?;
        let len = (entry.counts_len as usize).checked_mul(COUNT_ENTRY_BYTES)?;
        self.counts.get(start..start.checked_add(len)?)
    }

    /// Verifies the checksums of `block`, that its rows are in order of time from its first time to its last, and that
    /// gaps, far distances and steps are those of its times.
    ///
    /// # Errors
    /// [`Error::Damaged`] naming the column and the block.
    pub fn check_block(&self, block: &Block) -> Result<(), Error> {
        let has_file = |&(kind, _): &(FileKind, &u32)| self.manifest.has(kind);
        for (kind, &expected) in block.checksums.present().filter(has_file) {
            let number = usize::try_from(block.rows.start).unwrap_or(usize::MAX) / BLOCK_ROWS;
            let found = self.block_bytes(kind, number).map(crate::checksum::crc32c);
            self.check_checksum(block, kind, expected, found)?;
        }
        #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
        let rows = block.rows.start as usize..block.rows.end as usize;
        let mut buffer = Vec::new();
        let times = self.tags().time.read(rows.clone(), &mut buffer);
        if !self.manifest.has_times() {
            self.check_checksum_of_times(block, times)?;
        }
        self.check_times(block, times)?;
        self.check_distances(block, &rows, times)
    }

    /// Verifies that the times of a block have their checksum, which is also known if there is no column of times.
    pub(super) fn check_checksum_of_times(
        &self,
        block: &Block,
        times: &[i64],
    ) -> Result<(), Error> {
        let Some(expected) = block.checksums[FileKind::Time] else { return Ok(()) };
        let found = crate::checksum::crc32c(bytemuck::cast_slice(times));
        self.check_checksum(block, self.manifest.kind_of_times(), expected, Some(found))
    }

    fn check_checksum(
        &self,
        block: &Block,
        kind: FileKind,
        expected: u32,
        found: Option<u32>,
    ) -> Result<(), Error> {
        if found == Some(expected) {
            return Ok(());
        }
        let found = found.map_or("no such rows".into(), |found| format!("{found:08x}"));
        let named = (self.manifest.name_of(kind), "the checksum");
        Err(self.damaged_block(block, named, format!("{expected:08x}"), found))
    }

    /// Verifies that the times of a block are in order from its first time to its last. The checksums do not tell,
    /// because rows out of order would have right ones.
    pub(super) fn check_times(&self, block: &Block, time: &[i64]) -> Result<(), Error> {
        let ends = (Some(&block.time_min), Some(&block.time_max));
        if (time.first(), time.last()) == ends && time.is_sorted() {
            return Ok(());
        }
        let expected = format!("in order from {} to {} ticks", block.time_min, block.time_max);
        let file = self.manifest.name_of(self.manifest.kind_of_times());
        Err(self.damaged_block(block, (file, "the times"), expected, "something else".into()))
    }

    fn damaged_block(
        &self,
        block: &Block,
        (name, what): (&str, &str),
        expected: String,
        found: String,
    ) -> Error {
        Error::Damaged {
            path: self.folder.join(name),
            what: format!(
                "{what} of block {} (rows {} to {})",
                block.rows.start / BLOCK_ROWS as u64,
                block.rows.start,
                block.rows.end - 1
            ),
            expected,
            found,
        }
    }

    /// Verifies that the gaps, far distances and steps of a block are those of its times, if the store has them.
    fn check_distances(
        &self,
        block: &Block,
        rows: &Range<usize>,
        times: &[i64],
    ) -> Result<(), Error> {
        let Some(gaps) = self.gaps() else { return Ok(()) };
        let before = rows.start.checked_sub(1).and_then(|row| self.tags().time.get(row));
        let far = self.steps().get(rows.start / format::STEP_ROWS).map_or(0, |step| step.far);
        let (expected, expected_gaps) = self.distances_of(rows, times, before, far);
        let is_same = |kind: FileKind, expected: &[u8]| {
            self.block_bytes(kind, rows.start / BLOCK_ROWS) == Some(expected)
        };
        let far = || expected.far.encode(self.manifest.width_of(FileKind::Far));
        let wrong = if expected_gaps != gaps.values()[rows.clone()] {
            Some((FileKind::Gap, "the gaps"))
        } else if self.manifest.has_times() {
            None
        } else if !is_same(FileKind::Steps, bytemuck::cast_slice(&expected.steps)) {
            Some((FileKind::Steps, "the steps"))
        } else if !is_same(FileKind::Far, &far()) {
            Some((FileKind::Far, "the far distances"))
        } else {
            None
        };
        match wrong {
            Some((kind, what)) => {
                let named = (self.manifest.name_of(kind), what);
                let (expected, found) = ("as its times say".into(), "something else".into());
                Err(self.damaged_block(block, named, expected, found))
            }
            None => Ok(()),
        }
    }

    /// Returns the far distances, steps and gaps of rows of one block with these times. `before` is the time of the row
    /// before them, and `far` the number of far distances before them.
    fn distances_of(
        &self,
        rows: &Range<usize>,
        times: &[i64],
        mut before: Option<i64>,
        far: u64,
    ) -> (DistancePart, Vec<u16>) {
        let (mut distances, mut gaps) = (DistancePart::default(), Vec::new());
        for (_, of_source) in self.sources() {
            let part = of_source.start.max(rows.start)..of_source.end.min(rows.end);
            if part.is_empty() {
                continue;
            }
            let last = before.filter(|_| part.start > of_source.start);
            let times = &times[part.start - rows.start..part.end - rows.start];
            distances.add(part.start as u64, last, times, &mut gaps);
            before = times.last().copied();
        }
        distances.steps.iter_mut().for_each(|step| step.far = step.far.saturating_add(far));
        (distances, gaps)
    }

    /// Returns the checksums of the gaps, far distances and steps of the rows after the last full block, which have
    /// these times. `far` is the number of far distances before them.
    pub(super) fn checksums_of_last(
        &self,
        rows: &Range<usize>,
        times: &[i64],
        far: u64,
    ) -> PerFile<Option<u32>> {
        let before = self.mark(rows.start as u64).ok().flatten().map(|mark| mark.time);
        let (distances, gaps) = self.distances_of(rows, times, before, far);
        let far = distances.far.encode(self.manifest.width_of(FileKind::Far));
        PerFile::from_fn(|kind| {
            Some(crate::checksum::crc32c(match kind {
                FileKind::Gap => bytemuck::cast_slice(&gaps),
                FileKind::Steps => bytemuck::cast_slice(&distances.steps),
                FileKind::Far => &far,
                _ => return None,
            }))
        })
    }
}

fn decode_counts(bytes: &[u8]) -> Vec<ChannelRows> {
    let (entries, _) = bytes.as_chunks::<COUNT_ENTRY_BYTES>();
    entries
        .iter()
        .map(|&entry| {
            let (channel, rows) = format::decode_count(entry);
            ChannelRows { channel, rows: rows.into() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{fs::File, path::Path};

    use super::*;
    use crate::{
        Access, Creation, MANIFEST_NAME, RunId, SourceFacts, Tick, Writer, format::HEADER_BYTES,
        manifest::LastBlock, os, snapshot::last_commit,
    };

    /// A store of one full block and three rows, its times 0, 10, 20 and so on.
    fn store() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let creation =
            Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([5; 16])) };
        let mut writer = Writer::open(folder.path(), &creation).unwrap();
        let times: Vec<i64> = (0..).step_by(10).take(BLOCK_ROWS + 3).collect();
        writer.begin_source();
        writer.append(&times, &vec![1; times.len()]).unwrap();
        writer.finish_source(SourceFacts::named("a"));
        writer.commit().unwrap();
        folder
    }

    /// Changes the entry of the last block, then looks at all of them.
    fn checked(folder: &Path, change: impl FnOnce(&mut LastBlock)) -> Result<(), Error> {
        let (_, mut manifest) = last_commit(folder, crate::Manifest::read_in).unwrap();
        change(manifest.last_block.as_mut().unwrap());
        std::fs::write(folder.join(MANIFEST_NAME), manifest.encode().unwrap()).unwrap();
        let store = Store::open(folder, Access::Mapped)?;
        store.blocks()?.iter().try_for_each(|block| store.check_block(block))
    }

    #[test]
    fn rows_out_of_order_are_found_though_their_checksums_are_right() {
        // 65,536 · 10: the first time after the full block.
        const LAST: i64 = 655_360;
        let folder = store();
        checked(folder.path(), |_| {}).unwrap();
        let file = File::options().write(true).open(folder.path().join("time.col")).unwrap();
        for (times, is_right) in [
            ([LAST, LAST + 20, LAST + 20], true),
            ([LAST, LAST, LAST + 20], true),
            ([LAST, LAST + 21, LAST + 20], false),
            ([LAST, LAST - 1, LAST + 20], false),
            ([LAST + 1, LAST + 1, LAST + 20], false),
            ([LAST, LAST + 10, LAST + 21], false),
        ] {
            let bytes: &[u8] = bytemuck::cast_slice(&times);
            os::write_all_at(&file, bytes, (HEADER_BYTES + BLOCK_ROWS * 8) as u64).unwrap();
            let found = checked(folder.path(), |last| {
                last.checksums[FileKind::Time] = Some(crc32c::crc32c(bytes));
            });
            assert_eq!(found.is_ok(), is_right, "{times:?}: {found:?}");
            let named = "the times of block 1 (rows 65536 to 65538)";
            assert!(found.is_ok() || found.unwrap_err().to_string().contains(named));
        }
    }

    #[test]
    fn the_end_of_each_full_block_is_marked() {
        let folder = store();
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        let rows = BLOCK_ROWS as u64;
        let mark = store.mark(rows).unwrap().unwrap();
        // Row 65,535 has time 655,350.
        assert_eq!((mark.rows, mark.time, mark.chain), (rows, 655_350, store.manifest.chain));
        for none in [0, 1, rows - 1, rows + 3, 2 * rows] {
            assert_eq!(store.mark(none).unwrap(), None);
        }
        drop(store);
        // The last time in the entry of block 0.
        let blocks = File::options().write(true).open(folder.path().join("blocks.idx")).unwrap();
        os::write_all_at(&blocks, &[1], HEADER_BYTES as u64 + 8).unwrap();
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        let error = store.mark(rows).unwrap_err().to_string();
        assert!(error.contains("the entry of block 0"), "{error}");
    }

    #[test]
    fn blocks_that_do_not_follow_each_other_are_found() {
        // The block before ends at 655,350, the run at 655,380.
        for (time_min, time_max, named) in [
            (655_349, 655_380, "the times of block 1"),
            (655_360, 655_359, "the times of block 1"),
            (655_360, 655_381, "the last time of block 1"),
        ] {
            let folder = store();
            let found = checked(folder.path(), |last| {
                (last.time_min, last.time_max) = (time_min, time_max);
            });
            let found = found.unwrap_err().to_string();
            assert!(found.contains(named), "{found}");
        }
        let folder = store();
        let (_, mut manifest) = last_commit(folder.path(), crate::Manifest::read_in).unwrap();
        manifest.time_first = Some(-1);
        manifest.sources[0].time_first = Some(-1);
        std::fs::write(folder.path().join(MANIFEST_NAME), manifest.encode().unwrap()).unwrap();
        let found = checked(folder.path(), |_| {}).unwrap_err().to_string();
        assert!(found.contains("the times of block 0"), "{found}");
    }
}
