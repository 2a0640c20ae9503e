//! Appending rows: they are divided into tasks, which any thread runs, and taken into the index in their order.
//!
//! 1,200,000 rows appended to an empty store on several threads are tasks of 524,288, 524,288 and 151,424 rows. Columns
//! with a fixed width are written at the places of their rows by any thread; far distances, steps and the index depend
//! on all rows before and are appended in order. So the files are the same for any number of threads.

use std::{mem, sync::Arc};

use super::{
    Writer,
    block_part::{BlockPart, OpenColumn, Place, RowFiles},
    planned::{InFlight, Planned},
    workers::Workers,
};
use crate::{
    Error,
    encode::DistancePart,
    files::{Checksum, FileKind, PerFile},
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, Step},
    manifest::source::ChannelRows,
    rows::{Appended, Facts, RowSlices, Rows},
};

/// Rows that one thread writes: 8 blocks.
const TASK_ROWS: usize = 8 * BLOCK_ROWS;
/// Rows that may be in memory until they are written: about 30 MiB.
const IN_FLIGHT_ROWS: u64 = 3 << 20;

impl Writer {
    /// Writes long appends on so many threads of its own from here on, on the calling one if it is 1. Any number
    /// gives the same files.
    pub fn set_threads(&mut self, threads: usize) {
        if threads != self.threads {
            (self.threads, self.workers) = (threads, None);
        }
    }

    /// Appends rows: `times[i]` in ticks and `channels[i]` are one tag, which has no micro time. Equal
    /// lengths, times in order and not before the last row.
    ///
    /// # Errors
    /// [`Error::Unsorted`] and [`Error::Span`] before anything is written; after an error of the
    /// disk the writer refuses everything else.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn append(&mut self, times: &[i64], channels: &[u16]) -> Result<(), Error> {
        self.append_with_micro(times, channels, &[])
    }

    /// Appends rows as [`Writer::append`] does, `micro[i]` being the micro time of a tag, in units of the
    /// micro tick: [`MICRO_NONE`](format::MICRO_NONE) for none, and no values at all if none of the tags has one.
    /// The store gets its column of micro times with the first of them.
    ///
    /// # Errors
    /// As [`Writer::append`].
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn append_with_micro(
        &mut self,
        times: &[i64],
        channels: &[u16],
        micro: &[u32],
    ) -> Result<(), Error> {
        let rows = RowSlices::new(times, channels, micro);
        let Some((files, place)) = self.plan([(rows, rows.facts())])? else { return Ok(()) };
        let written = self.write_here(&files, [rows], place);
        self.poison(written)
    }

    /// Appends rows as [`Writer::append_with_micro`] does. Other threads may write them while the calling one goes
    /// on, see [`Writer::set_threads`]: an error of the disk may then be returned by a later call.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_rows(&mut self, rows: Vec<Rows>) -> Result<(), Error> {
        let described = rows.iter().map(|rows| (rows.slices(), rows.facts()));
        let Some((files, mut place)) = self.plan(described)? else { return Ok(()) };
        let total: usize = rows.iter().map(Rows::len).sum();
        let is_given = self.threads > 1 && total >= TASK_ROWS;
        for task in tasks(rows, place.row) {
            let count: usize = task.iter().map(Rows::len).sum();
            let next = Place {
                row: place.row + count as u64,
                before: task.last().and_then(|rows| rows.times().last().copied()),
            };
            let place = mem::replace(&mut place, next);
            let given = if is_given {
                self.give(task, &files, place)
            } else {
                self.write_here(&files, task.iter().map(Rows::slices), place)
            };
            self.poison(given)?;
        }
        Ok(())
    }

    /// Writes rows on the calling thread.
    fn write_here<'a>(
        &mut self,
        files: &RowFiles,
        rows: impl IntoIterator<Item = RowSlices<'a>>,
        place: Place,
    ) -> Result<(), Error> {
        let parts = files.write(rows, place)?;
        self.drain()?;
        self.take(parts)
    }

    /// Gives rows to a thread that writes them. Waits for earlier ones if there are too many.
    fn give(&mut self, task: Vec<Rows>, files: &Arc<RowFiles>, place: Place) -> Result<(), Error> {
        let rows = task.iter().map(|rows| rows.len() as u64).sum();
        let workers = self.workers.get_or_insert_with(|| Workers::start(self.threads));
        let files = Arc::clone(files);
        let written = workers.run(move || files.write(task.iter().map(Rows::slices), place));
        self.planned.in_flight.push_back(InFlight { rows, written });
        while self.planned.rows_in_flight() > IN_FLIGHT_ROWS {
            self.take_first()?;
        }
        Ok(())
    }

    /// Checks rows that are to be appended, and makes columns that they need. Returns the files and where the
    /// rows belong; `None` if there are none.
    fn plan<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (RowSlices<'a>, Facts)>,
    ) -> Result<Option<(Arc<RowFiles>, Place)>, Error> {
        self.check()?;
        let Planned { rows: before, span, source_last, .. } = self.planned;
        let appended = Appended::check(rows, before, span.map(|(_, last)| last))?;
        let Some((first, last)) = appended.span else { return Ok(None) };
        let first = span.map_or(first, |(first, _)| first);
        if last.checked_sub(first).is_none() {
            return Err(Error::Span { first, last });
        }
        let widened = self.widen_for(&appended);
        self.poison(widened)?;
        self.planned.rows += appended.rows;
        self.planned.span = Some((first, last));
        self.planned.source_last = Some(last);
        let columns = self.files.present().filter(|(kind, _)| kind.is_column());
        let columns = columns.map(|(kind, file)| OpenColumn {
            kind,
            file: file.file(),
            width: self.manifest.width_of(kind),
        });
        let files = RowFiles { columns: columns.collect(), has_times: self.manifest.has_times() };
        Ok(Some((Arc::new(files), Place { row: before, before: source_last })))
    }

    fn widen_for(&mut self, appended: &Appended) -> Result<(), Error> {
        let channel_width = if appended.channel_max > u8::MAX.into() { 2 } else { 1 };
        for (kind, width) in
            [(FileKind::Channel, channel_width), (FileKind::Micro, appended.micro_width)]
        {
            if width > self.manifest.width_of(kind) {
                self.drain()?;
                self.widen(kind, width)?;
            }
        }
        Ok(())
    }

    /// Waits until all rows appended are written, and takes them into the index.
    pub(super) fn drain(&mut self) -> Result<(), Error> {
        let mut drained = Ok(());
        while drained.is_ok() && !self.planned.in_flight.is_empty() {
            drained = self.take_first();
        }
        self.poison(drained)
    }

    /// Waits for the rows that were appended first.
    fn take_first(&mut self) -> Result<(), Error> {
        let Some(InFlight { written, .. }) = self.planned.in_flight.pop_front() else {
            return Ok(());
        };
        // Without a result, its thread panicked.
        let written = written.recv().unwrap_or_else(|_| Err(self.poisoned_error()));
        self.take(written?)
    }

    /// Takes rows into the index and the totals, in their order.
    fn take(&mut self, parts: Vec<BlockPart>) -> Result<(), Error> {
        for part in parts {
            if !self.manifest.has_times() {
                self.append_distances(&part.distances, self.run.rows)?;
            }
            self.open_block.add(&part, &self.manifest);
            for tally in [&mut self.open_source, &mut self.run] {
                tally.add(&part);
            }
            if self.open_block.tally.rows == BLOCK_ROWS as u64 {
                self.close_block()?;
            }
        }
        Ok(())
    }

    /// Appends the far distances and the steps of rows in one block, which come after so many rows.
    pub(super) fn append_distances(
        &mut self,
        part: &DistancePart,
        rows_before: u64,
    ) -> Result<(), Error> {
        if part.far.width() > self.manifest.width_of(FileKind::Far) {
            self.widen_far(rows_before)?;
        }
        let before = self.far_entries;
        let counted = |step: &Step| Step { far: step.far + before, ..*step };
        let steps: Vec<Step> = part.steps.iter().map(counted).collect();
        let far = part.far.encode(self.manifest.width_of(FileKind::Far));
        for (kind, bytes) in
            [(FileKind::Far, &*far), (FileKind::Steps, bytemuck::cast_slice(&steps))]
        {
            let crc = &mut self.open_block.checksums[kind];
            *crc = crate::checksum::crc32c_append(*crc, bytes);
            self.append_to(kind, bytes)?;
        }
        self.far_entries += part.far.len();
        Ok(())
    }

    /// Appends the checksums of the gaps of a full block, and of its far distances and steps in a store without times.
    pub(super) fn append_gap_checksums(&mut self, checksums: &PerFile<u32>) -> Result<(), Error> {
        let mut bytes = vec![0; self.manifest.width_of(FileKind::GapBlocks).into()];
        for kind in FileKind::all().filter(|&kind| self.manifest.has(kind)) {
            if let Checksum::InFile(_, at) = kind.layout().checksum {
                bytes[at..at + 4].copy_from_slice(&checksums[kind].to_le_bytes());
            }
        }
        self.append_to(FileKind::GapBlocks, &bytes)
    }

    /// Moves the full block into the indexes.
    fn close_block(&mut self) -> Result<(), Error> {
        let block = mem::take(&mut self.open_block);
        let counts = encode_counts(&block.tally.channels());
        let (time_min, time_max) = block.tally.span.unwrap_or_default();
        let mut entry = BlockEntry {
            time_min,
            time_max,
            counts_start: self.count_entries,
            counts_len: count_len(&counts),
            checksums: PerFile::default(),
            chain: 0,
        };
        for kind in FileKind::all().filter(|&kind| self.manifest.is_chained(kind)) {
            entry.checksums[kind] = Some(block.checksums[kind]);
        }
        self.append_gap_checksums(&block.checksums)?;
        entry.chain = entry.chained(self.chain, &counts);
        self.append_to(FileKind::Counts, &counts)?;
        self.append_to(FileKind::Blocks, &entry.encode())?;
        self.chain = entry.chain;
        self.count_entries += u64::from(entry.counts_len);
        Ok(())
    }
}

/// Divides rows, of which the first has the number `row`, where blocks begin.
fn tasks(all: Vec<Rows>, mut row: u64) -> Vec<Vec<Rows>> {
    let mut tasks = vec![Vec::new()];
    for mut rest in all {
        while !rest.is_empty() {
            #[expect(clippy::cast_possible_truncation, reason = "at most the rows of a task")]
            let room = TASK_ROWS - (row % TASK_ROWS as u64) as usize;
            let later = (room < rest.len()).then(|| rest.split_off(room));
            row += rest.len() as u64;
            if let Some(task) = tasks.last_mut() {
                task.push(rest);
            }
            if row.is_multiple_of(TASK_ROWS as u64) {
                tasks.push(Vec::new());
            }
            let Some(later) = later else { break };
            rest = later;
        }
    }
    tasks.retain(|task| !task.is_empty());
    tasks
}

fn encode_counts(channels: &[ChannelRows]) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "a block has 65,536 rows")]
    channels.iter().flat_map(|c| format::encode_count(c.channel, c.rows as u32)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a block has at most 65,536 channels")]
fn count_len(counts: &[u8]) -> u32 {
    (counts.len() / COUNT_ENTRY_BYTES) as u32
}
