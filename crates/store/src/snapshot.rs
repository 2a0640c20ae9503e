//! Reading a store: its committed rows, as of one commit.

use std::{
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    ChannelRows, Error, Folder, MANIFEST_NAME, Manifest, Source, Tick,
    checked::CheckedFile,
    disk::io_error,
    format::{self, BLOCK_ENTRY_BYTES, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, HEADER_BYTES},
    guard::{Guard, missing_page},
    manifest::starts_as_manifest,
    map::Map,
    writer::check_tick,
};

/// How the columns come into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Mapped: nothing is read before it is used. A file that another program cuts short under the
    /// mapping stops the process.
    Mapped,
    /// Copied when the store is opened: for network file systems, and as the check on the other.
    Copied,
}

/// The committed rows of a store. They never change, also while a writer appends more.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
    time: Column<i64>,
    channel: ChannelColumn,
    blocks: Vec<u8>,
    counts: Vec<u8>,
    /// A page of a column was missing.
    broken: AtomicBool,
}

/// The tags of a run or a part of it, in order of time: `time[i]` and row `i` of `channels` are one
/// tag. Both have the same length.
#[derive(Debug, Clone, Copy)]
pub struct Tags<'a> {
    /// Times in ticks.
    pub time: &'a [i64],
    /// Channel labels.
    pub channels: Channels<'a>,
}

/// The labels of consecutive tags, in the width that the store holds them in.
#[derive(Debug, Clone, Copy)]
pub enum Channels<'a> {
    /// No label of the run is above 255.
    U8(&'a [u8]),
    /// Some label is.
    U16(&'a [u16]),
}

/// What the index says of one block of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its rows.
    pub rows: Range<u64>,
    /// Its first time in ticks.
    pub time_min: i64,
    /// Its last time in ticks.
    pub time_max: i64,
    /// crc32c of its bytes in the time column.
    pub crc_time: u32,
    /// crc32c of its bytes in the channel column.
    pub crc_channel: u32,
    /// Its rows by channel, ascending by label.
    pub channels: Vec<ChannelRows>,
}

/// A point between two full blocks of rows, and what the rows before it are known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Rows before it.
    pub rows: u64,
    /// The time of the last of them in ticks. No row behind it has an earlier one.
    pub time: i64,
    /// The chained crc32c of the index there: equal in two states of a run when the rows before it
    /// are the same.
    pub chain: u32,
}

#[derive(Debug)]
enum Column<T> {
    Mapped {
        map: Map,
        /// The same bytes at another address, which no guard ever touches.
        unguarded: Map,
        rows: usize,
    },
    Copied(Vec<T>),
}

#[derive(Debug)]
enum ChannelColumn {
    U8(Column<u8>),
    U16(Column<u16>),
}

impl Store {
    /// Opens the last commit of the store in `folder`. Costs nothing per row when mapped.
    ///
    /// # Errors
    /// [`Error::NotAStore`] without a manifest, [`Error::Foreign`] for other formats and versions,
    /// [`Error::Damaged`] or [`Error::Length`] when header, manifest or lengths are not right.
    pub fn open(folder: &Path, access: Access) -> Result<Self, Error> {
        // A writer that widens a column removes the old one after its commit: then the manifest
        // just read is not the last one any more. Each new try has seen a newer commit.
        let (mut at, mut manifest) = last_commit(folder)?;
        loop {
            match Self::open_commit(&at, &manifest, access) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    let newer = last_commit(folder)?;
                    if newer.1.commit == manifest.commit {
                        return Self::open_commit(&newer.0, &newer.1, access);
                    }
                    (at, manifest) = newer;
                }
                result => return result,
            }
        }
    }

    fn open_commit(folder: &Folder, manifest: &Manifest, access: Access) -> Result<Self, Error> {
        // All are looked at before any of them is read.
        let mut checked = Vec::new();
        for committed in manifest.committed() {
            let file = folder.open_file(&committed.file.name)?;
            checked.push(CheckedFile::new(folder, file, &committed, manifest.run_id)?);
        }
        let checked: [CheckedFile; 4] = match checked.try_into() {
            Ok(checked) => checked,
            Err(_) => unreachable!("a store has four files"),
        };
        let [time, channel, blocks, counts] = checked;
        let channel = match manifest.files.channel.width {
            1 => ChannelColumn::U8(channel.column(access)?),
            _ => ChannelColumn::U16(channel.column(access)?),
        };
        Ok(Self {
            folder: folder.path().into(),
            manifest: manifest.clone(),
            time: time.column(access)?,
            channel,
            blocks: blocks.copy()?,
            counts: counts.copy()?,
            broken: AtomicBool::new(false),
        })
    }

    /// Whether the file or folder at `path` is a store: a folder whose `manifest.json` begins with
    /// the key `"format": "tagq"`. Damage further in is for [`Store::open`] to name.
    pub fn is_at(path: &Path) -> bool {
        let mut start = [0; 64];
        let file = Folder::open(path).and_then(|folder| folder.open_file(MANIFEST_NAME));
        let Ok(file) = file else { return false };
        let Ok(len) = file.read_at(&mut start, 0) else { return false };
        starts_as_manifest(&start[..len])
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the store says of itself: rows, spans, sources.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Takes `tick` as the unit of this snapshot's times, without writing it.
    ///
    /// # Errors
    /// [`Error::TickGiven`] when a person set another one before.
    pub fn use_tick(&mut self, tick: Tick) -> Result<(), Error> {
        check_tick(&self.manifest, &self.folder, tick, false)?;
        self.manifest.tick = tick;
        self.manifest.tick_assumed = false;
        Ok(())
    }

    /// All committed tags, in order of time.
    pub fn tags(&self) -> Tags<'_> {
        let channels = match &self.channel {
            ChannelColumn::U8(column) => Channels::U8(column.values()),
            ChannelColumn::U16(column) => Channels::U16(column.values()),
        };
        Tags { time: self.time.values(), channels }
    }

    /// The same tags for views that outlive a scan: in mappings of their own, so that a page which is
    /// missing is never read as zeros while some scan is [guarded](Self::guarded); whoever reads one
    /// meets the system's signal. A store that was copied has one copy for both.
    pub fn unguarded_tags(&self) -> Tags<'_> {
        let channels = match &self.channel {
            ChannelColumn::U8(column) => Channels::U8(column.unguarded_values()),
            ChannelColumn::U16(column) => Channels::U16(column.unguarded_values()),
        };
        Tags { time: self.time.unguarded_values(), channels }
    }

    /// Runs a scan over the tags of this snapshot. When a column turns out to be cut short or
    /// unreadable under its mapping, the scan still ends, its answer is thrown away, and the
    /// process lives. Only this snapshot's own columns are guarded, only until `scan` returns; a
    /// slice of them that is kept and read later meets the system's signal.
    ///
    /// # Errors
    /// [`Error::Io`] when a part of a column could not be read.
    pub fn guarded<T>(&self, scan: impl FnOnce(&Self) -> T) -> Result<T, Error> {
        let mapped = [self.time.mapped(), self.channel.mapped()];
        let guard = Guard::arm(mapped.into_iter().flatten());
        let answer = scan(self);
        self.broken.fetch_or(guard.was_hit(), Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            // Zeros stand in the missing pages of this mapping until it is gone.
            let path = self.time_path();
            return Err(io_error(&path, "read this column or its labels")(missing_page()));
        }
        Ok(answer)
    }

    /// The sources and the rows that each gave, in order of time.
    pub fn sources(&self) -> impl Iterator<Item = (&Source, Range<usize>)> {
        self.manifest.sources.iter().scan(0, |start, source| {
            #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
            let rows = *start..*start + source.rows as usize;
            *start = rows.end;
            Some((source, rows))
        })
    }

    /// The index: one block for each 65,536 rows, the last may be shorter. The whole chain is
    /// checked, and that the times of the blocks follow each other.
    ///
    /// # Errors
    /// [`Error::Damaged`] naming the first block whose entry or counts are not what was committed.
    pub fn blocks(&self) -> Result<Vec<Block>, Error> {
        let damaged = |block: usize, what: &str| Error::Damaged {
            path: self.folder.join(&self.manifest.files.blocks.name),
            what: format!("{what} of block {block}"),
            expected: "as committed".into(),
            found: "something else".into(),
        };
        let mut chain = 0;
        let mut blocks = Vec::new();
        for (i, bytes) in self.blocks.as_chunks::<BLOCK_ENTRY_BYTES>().0.iter().enumerate() {
            let entry = BlockEntry::decode(bytes).ok_or_else(|| damaged(i, "the entry"))?;
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
                crc_time: entry.crc_time,
                crc_channel: entry.crc_channel,
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
                crc_time: last.crc_time,
                crc_channel: last.crc_channel,
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

    /// The end of the full block that ends with row `rows`; nothing when none does. Reads two entries of
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
            path: self.folder.join(&self.manifest.files.blocks.name),
            what: format!("the entry of block {number}"),
            expected: "as committed".into(),
            found: "something else".into(),
        };
        let (entries, _) = self.blocks.as_chunks::<BLOCK_ENTRY_BYTES>();
        let entry = |number: u64| {
            let number = usize::try_from(number).ok()?;
            BlockEntry::decode(entries.get(number)?)
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

    /// The bytes of a block's pairs of channel and rows.
    fn counts_of(&self, entry: &BlockEntry) -> Option<&[u8]> {
        let start = usize::try_from(entry.counts_start).ok()?.checked_mul(COUNT_ENTRY_BYTES)?;
        let len = (entry.counts_len as usize).checked_mul(COUNT_ENTRY_BYTES)?;
        self.counts.get(start..start.checked_add(len)?)
    }

    /// The file of the column of times.
    pub fn time_path(&self) -> PathBuf {
        self.folder.join(&self.manifest.files.time.name)
    }

    /// Holds the rows of `block` against its checksums, and whether they are in order of time from
    /// its first time to its last.
    ///
    /// # Errors
    /// [`Error::Damaged`] naming the column and the block.
    pub fn check_block(&self, block: &Block) -> Result<(), Error> {
        let files = &self.manifest.files;
        #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
        let rows = block.rows.start as usize..block.rows.end as usize;
        let damaged = |name: &str, what: &str, expected: String, found: String| Error::Damaged {
            path: self.folder.join(name),
            what: format!(
                "{what} of block {} (rows {} to {})",
                block.rows.start / BLOCK_ROWS as u64,
                block.rows.start,
                block.rows.end - 1
            ),
            expected,
            found,
        };
        let Tags { time, channels } = self.tags().rows(rows);
        let channel_bytes = match channels {
            Channels::U8(labels) => labels,
            Channels::U16(labels) => bytemuck::cast_slice(labels),
        };
        let columns = [
            (&files.time.name, bytemuck::cast_slice(time), block.crc_time),
            (&files.channel.name, channel_bytes, block.crc_channel),
        ];
        for (name, bytes, expected) in columns {
            let found = crc32c::crc32c(bytes);
            if found != expected {
                let (expected, found) = (format!("{expected:08x}"), format!("{found:08x}"));
                return Err(damaged(name, "the checksum", expected, found));
            }
        }
        // The checksums of rows that a writer took in wrong order are right.
        let ends = (Some(&block.time_min), Some(&block.time_max));
        if (time.first(), time.last()) != ends || !time.is_sorted() {
            let expected = format!("in order from {} to {} ticks", block.time_min, block.time_max);
            let found = "something else".into();
            return Err(damaged(&files.time.name, "the times", expected, found));
        }
        Ok(())
    }
}

impl<'a> Tags<'a> {
    /// How many tags.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// The tags of these rows.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Tags<'a> {
        let channels = match self.channels {
            Channels::U8(labels) => Channels::U8(&labels[rows.clone()]),
            Channels::U16(labels) => Channels::U16(&labels[rows.clone()]),
        };
        Tags { time: &self.time[rows], channels }
    }
}

impl Channels<'_> {
    /// The label of one row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn label(&self, row: usize) -> u16 {
        match self {
            Self::U8(labels) => labels[row].into(),
            Self::U16(labels) => labels[row],
        }
    }
}

fn last_commit(path: &Path) -> Result<(Folder, Manifest), Error> {
    let none = || Error::NotAStore { path: path.into() };
    let folder = Folder::open_if_there(path)?.ok_or_else(none)?;
    let manifest = Manifest::read_in(&folder)?.ok_or_else(none)?;
    Ok((folder, manifest))
}

impl CheckedFile {
    fn column<T: bytemuck::Pod>(self, access: Access) -> Result<Column<T>, Error> {
        Ok(match access {
            Access::Mapped => Column::Mapped {
                map: Map::new(&self.file, &self.path, self.bytes())?,
                unguarded: Map::new(&self.file, &self.path, self.bytes())?,
                rows: self.values,
            },
            Access::Copied => {
                let mut values = vec![T::zeroed(); self.values];
                self.file
                    .read_exact_at(bytemuck::cast_slice_mut(&mut values), HEADER_BYTES as u64)
                    .map_err(io_error(&self.path, "read the rows"))?;
                Column::Copied(values)
            }
        })
    }

    fn copy(self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.bytes() - HEADER_BYTES];
        self.file
            .read_exact_at(&mut bytes, HEADER_BYTES as u64)
            .map_err(io_error(&self.path, "read the index"))?;
        Ok(bytes)
    }
}

impl<T: bytemuck::Pod> Column<T> {
    fn values(&self) -> &[T] {
        match self {
            Self::Mapped { map, rows, .. } => values_of(map, *rows),
            Self::Copied(values) => values,
        }
    }

    fn unguarded_values(&self) -> &[T] {
        match self {
            Self::Mapped { unguarded, rows, .. } => values_of(unguarded, *rows),
            Self::Copied(values) => values,
        }
    }

    /// All bytes that a guard may touch; nothing for a copy.
    fn mapped(&self) -> Option<&[u8]> {
        match self {
            Self::Mapped { map, .. } => Some(map.bytes()),
            Self::Copied(_) => None,
        }
    }
}

/// The rows behind the header page. A page is a multiple of every alignment, so that the cast cannot fail.
fn values_of<T: bytemuck::Pod>(map: &Map, rows: usize) -> &[T] {
    bytemuck::cast_slice(&map.bytes()[HEADER_BYTES..][..rows * size_of::<T>()])
}

impl ChannelColumn {
    fn mapped(&self) -> Option<&[u8]> {
        match self {
            Self::U8(column) => column.mapped(),
            Self::U16(column) => column.mapped(),
        }
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
    use super::*;
    use crate::{Creation, RunId, SourceFacts, Writer, manifest::LastBlock};
    use std::fs::File;

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
        let (_, mut manifest) = last_commit(folder).unwrap();
        change(manifest.last_block.as_mut().unwrap());
        std::fs::write(folder.join(MANIFEST_NAME), manifest.encode().unwrap()).unwrap();
        let store = Store::open(folder, Access::Mapped)?;
        store.blocks()?.iter().try_for_each(|block| store.check_block(block))
    }

    #[test]
    fn rows_out_of_order_are_found_though_their_checksums_are_right() {
        // 65,536 · 10: the first time behind the full block.
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
            file.write_all_at(bytes, (HEADER_BYTES + BLOCK_ROWS * 8) as u64).unwrap();
            let found = checked(folder.path(), |last| last.crc_time = crc32c::crc32c(bytes));
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
        blocks.write_all_at(&[1], HEADER_BYTES as u64 + 8).unwrap();
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
        let (_, mut manifest) = last_commit(folder.path()).unwrap();
        manifest.time_first = Some(-1);
        manifest.sources[0].time_first = Some(-1);
        std::fs::write(folder.path().join(MANIFEST_NAME), manifest.encode().unwrap()).unwrap();
        let found = checked(folder.path(), |_| {}).unwrap_err().to_string();
        assert!(found.contains("the times of block 0"), "{found}");
    }
}
