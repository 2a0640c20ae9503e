//! Appending to a store: rows, then a commit that makes them visible and durable at once.

mod gap_files;
mod gaps;
mod lock;
mod open;
mod tally;
mod widen;

use std::sync::Arc;

use gap_files::GapFiles;
use lock::Lock;
use tally::{OpenBlock, Tally, by_label, joined};

use crate::{
    ChannelRows, Error, Folder, MANIFEST_NAME, Manifest, RunId, Source, SourceFacts, Tick,
    disk::{self, Disk},
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, MICRO_NONE, MICRO_NONE_U16},
    growing::Growing,
    manifest::LastBlock,
};

/// Properties of a store that is made because there is none yet.
#[derive(Debug, Clone)]
pub struct Creation {
    /// The unit of all times.
    pub tick: Tick,
    /// Whether that is the default, which nobody confirmed.
    pub tick_assumed: bool,
    /// The run id; drawn at random when absent, given for stores that must be equal to the byte.
    pub run_id: Option<RunId>,
}

/// The one writer of a store. It holds the store's lock until it is dropped; rows appended since its last
/// commit are gone then.
#[derive(Debug)]
pub struct Writer {
    disk: Arc<dyn Disk>,
    folder: Folder,
    manifest: Manifest,
    time: Growing,
    channel: Growing,
    blocks: Growing,
    counts: Growing,
    /// The micro times, if the store has them.
    micro: Option<Growing>,
    /// Their unit, also before the first of them comes.
    micro_tick: Option<Tick>,
    /// The gaps, if the store has them.
    gaps: Option<GapFiles>,
    /// Rows not yet added to the three tallies below.
    pending: Tally,
    open_block: OpenBlock,
    open_source: Tally,
    run: Tally,
    chain: u32,
    count_entries: u64,
    sources: Vec<Source>,
    /// Files that the next commit replaces by others.
    obsolete: Vec<String>,
    names_changed: bool,
    poisoned: bool,
    /// Values as they are written.
    buffer: Vec<u8>,
    gap_buffer: Vec<u16>,
    lock: Lock,
}

impl Writer {
    /// The store as of its last commit.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// First and last time of the rows appended, committed or not, in ticks.
    pub fn span(&self) -> Option<(i64, i64)> {
        joined(self.run.span, self.pending.span)
    }

    /// The source finished last, committed or not.
    pub fn last_source(&self) -> Option<&Source> {
        self.sources.last()
    }

    /// Gives up what was not committed. A store that was never committed leaves only its lock.
    pub fn discard(self) {
        if self.manifest.commit == 0 {
            for name in self.file_names().iter().chain(&self.obsolete) {
                // The next writer removes files that stay.
                drop(self.disk.remove(&self.folder, name));
            }
        }
    }

    /// Begins a source: the rows appended from here to [`Writer::finish_source`] are its own.
    pub fn begin_source(&mut self) {
        self.settle();
        self.open_source = Tally::default();
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
    /// micro tick: [`MICRO_NONE`] for none, and no values at all if none of the tags has one. The store gets
    /// its column of micro times with the first of them.
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
        assert_eq!(times.len(), channels.len(), "a tag has one time and one channel");
        assert!(micro.is_empty() || micro.len() == times.len(), "a tag has one micro time");
        self.check_order(times)?;
        let result = self.append_checked(times, channels, micro);
        self.poison(result)
    }

    /// Goes on with the source finished last: the rows appended from here to
    /// [`Writer::finish_source`] are added to its own. Returns what it was; `None` when the run has
    /// no source.
    pub fn continue_source(&mut self) -> Option<Source> {
        self.settle();
        let source = self.sources.pop()?;
        self.open_source = Tally {
            rows: source.rows,
            span: source.time_first.zip(source.time_last),
            by_channel: by_label(&source.channels),
        };
        Some(source)
    }

    /// Lists a source under another name.
    pub fn rename_source(&mut self, from: &str, to: &str) {
        for source in self.sources.iter_mut().filter(|source| source.facts.name == from) {
            source.facts.name = to.into();
        }
    }

    /// Notes the modification time and inode that the file of a source has now, with the same bytes;
    /// written with the next commit.
    pub fn touch_source(&mut self, name: &str, mtime_ns: i64, inode: u64) {
        for source in self.sources.iter_mut().filter(|source| source.facts.name == name) {
            (source.facts.mtime_ns, source.facts.inode) = (mtime_ns, inode);
        }
    }

    /// Ends the source begun last: its rows are listed under `facts` with the next commit.
    pub fn finish_source(&mut self, facts: SourceFacts) {
        self.settle();
        let tally = std::mem::take(&mut self.open_source);
        self.sources.push(Source {
            facts,
            rows: tally.rows,
            time_first: tally.span.map(|(first, _)| first),
            time_last: tally.span.map(|(_, last)| last),
            channels: tally.channels(),
        });
    }

    /// Sets the tick of the run; written with the next commit.
    ///
    /// # Errors
    /// [`Error::TickGiven`] when a person set another one before, unless `overrule`.
    pub fn set_tick(&mut self, tick: Tick, overrule: bool) -> Result<(), Error> {
        self.manifest.set_tick(tick, overrule, self.folder.path())
    }

    /// Sets the unit of micro times; written with the next commit if the store has any then.
    ///
    /// # Errors
    /// [`Error::MicroTick`] when the store has another one.
    pub fn set_micro_tick(&mut self, tick: Tick) -> Result<(), Error> {
        if let Some(set) = self.micro_tick.filter(|&set| set != tick) {
            let path = self.folder.path().into();
            return Err(Error::MicroTick { path, set: set.to_string(), asked: tick.to_string() });
        }
        self.micro_tick = Some(tick);
        Ok(())
    }

    /// Makes everything appended so far durable, then visible: columns and indexes first, the
    /// manifest last. When this returns, the rows survive a power loss.
    pub fn commit(&mut self) -> Result<(), Error> {
        let result = self.commit_checked();
        self.poison(result)
    }

    fn poison(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        self.poisoned |= result.is_err();
        result
    }

    fn check_order(&self, times: &[i64]) -> Result<(), Error> {
        if self.poisoned {
            return Err(Error::Poisoned { path: self.folder.path().into() });
        }
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Ok(()) };
        let span = self.span();
        let rows = self.rows();
        let before = span.map_or(first, |(_, last)| last);
        if first < before {
            return Err(Error::Unsorted { row: rows, time: first, after: before });
        }
        if let Some(i) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            let row = rows + i as u64 + 1;
            return Err(Error::Unsorted { row, time: times[i + 1], after: times[i] });
        }
        let run_first = span.map_or(first, |(first, _)| first);
        if last.checked_sub(run_first).is_none() {
            return Err(Error::Span { first: run_first, last });
        }
        Ok(())
    }

    /// Rows appended since the last commit.
    pub fn uncommitted_rows(&self) -> u64 {
        self.rows() - self.manifest.rows
    }

    /// Rows appended, committed or not.
    fn rows(&self) -> u64 {
        self.run.rows + self.pending.rows
    }

    /// Adds the pending rows to the block, the source and the run that they belong to.
    fn settle(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for tally in [&mut self.open_block.tally, &mut self.open_source, &mut self.run] {
            tally.merge(&pending);
        }
    }

    fn append_checked(
        &mut self,
        times: &[i64],
        channels: &[u16],
        micro: &[u32],
    ) -> Result<(), Error> {
        let (mut times, mut channels, mut micro) = (times, channels, micro);
        while !times.is_empty() {
            let room = BLOCK_ROWS - self.rows_in_block();
            let (now, later) = times.split_at(room.min(times.len()));
            let (now_channels, later_channels) = channels.split_at(now.len());
            let (now_micro, later_micro) = micro.split_at(now.len().min(micro.len()));
            self.append_in_block(now, now_channels, now_micro)?;
            (times, channels, micro) = (later, later_channels, later_micro);
        }
        Ok(())
    }

    fn append_in_block(
        &mut self,
        times: &[i64],
        channels: &[u16],
        micro: &[u32],
    ) -> Result<(), Error> {
        let label_max = channels.iter().copied().max().unwrap_or(0);
        if label_max > u8::MAX.into() && self.manifest.files.channel.width == 1 {
            self.widen_channel()?;
        }
        let micro_width = width_of_micro(micro);
        if micro_width > self.micro_width() {
            self.widen_micro(micro_width)?;
        }
        let time_bytes: &[u8] = bytemuck::cast_slice(times);
        let channel_bytes: &[u8] = if self.manifest.files.channel.width == 1 {
            self.buffer.clear();
            #[expect(clippy::cast_possible_truncation, reason = "no label above 255 here")]
            self.buffer.extend(channels.iter().map(|&channel| channel as u8));
            &self.buffer
        } else {
            bytemuck::cast_slice(channels)
        };
        self.time.append(time_bytes)?;
        self.channel.append(channel_bytes)?;
        let block = &mut self.open_block;
        block.crc_time = crc32c::crc32c_append(block.crc_time, time_bytes);
        block.crc_channel = crc32c::crc32c_append(block.crc_channel, channel_bytes);
        self.append_micro(times.len(), micro)?;
        self.append_gaps(times)?;
        self.pending.add(times, channels);
        if self.rows_in_block() == BLOCK_ROWS { self.close_block() } else { Ok(()) }
    }

    /// Appends the micro times of so many rows, if the store has micro times.
    fn append_micro(&mut self, rows: usize, micro: &[u32]) -> Result<(), Error> {
        let width = self.micro_width();
        let Some(file) = &mut self.micro else { return Ok(()) };
        if micro.is_empty() {
            let none = MICRO_NONE.to_le_bytes()[0];
            self.buffer.clear();
            self.buffer.resize(rows * usize::from(width), none);
        } else {
            format::encode_unsigned(micro, width, &mut self.buffer);
        }
        file.append(&self.buffer)?;
        let block = &mut self.open_block;
        block.crc_micro = crc32c::crc32c_append(block.crc_micro, &self.buffer);
        Ok(())
    }

    /// Bytes of a micro time in the store, 0 if it has none.
    fn micro_width(&self) -> u16 {
        self.manifest.files.micro.as_ref().map_or(0, |file| file.width)
    }

    /// The names of the files that the next commit names.
    fn file_names(&self) -> Vec<String> {
        let files = [&self.time, &self.channel, &self.blocks, &self.counts];
        let gaps = self.gaps.iter().flat_map(GapFiles::files);
        let files = files.into_iter().chain(&self.micro).chain(gaps);
        files.map(|file| file.name().to_owned()).collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "a remainder below 65,536")]
    fn rows_in_block(&self) -> usize {
        let rows = self.open_block.tally.rows + self.pending.rows;
        debug_assert!(rows <= BLOCK_ROWS as u64);
        rows as usize
    }

    /// Moves the full block into the indexes, its rows into the totals.
    fn close_block(&mut self) -> Result<(), Error> {
        self.settle();
        let block = std::mem::take(&mut self.open_block);
        let counts = encode_counts(&block.tally.channels());
        let (time_min, time_max) = block.tally.span.unwrap_or_default();
        let mut entry = BlockEntry {
            time_min,
            time_max,
            counts_start: self.count_entries,
            counts_len: count_len(&counts),
            crc_time: block.crc_time,
            crc_channel: block.crc_channel,
            chain: 0,
            crc_micro: self.micro.as_ref().map(|_| block.crc_micro),
        };
        if let Some(gaps) = &mut self.gaps {
            gaps.blocks.append(&block.crc_gap.to_le_bytes())?;
        }
        entry.chain = entry.chained(self.chain, &counts);
        self.counts.append(&counts)?;
        self.blocks.append(&entry.encode())?;
        self.chain = entry.chain;
        self.count_entries += u64::from(entry.counts_len);
        Ok(())
    }

    fn commit_checked(&mut self) -> Result<(), Error> {
        if self.poisoned {
            return Err(Error::Poisoned { path: self.folder.path().into() });
        }
        self.settle();
        let files = [&self.time, &self.channel, &self.counts, &self.blocks];
        let gaps = self.gaps.iter().flat_map(GapFiles::files);
        for file in files.into_iter().chain(&self.micro).chain(gaps) {
            file.sync()?;
        }
        if self.names_changed {
            disk::sync_folder(&*self.disk, &self.folder)?;
        }
        let last_block = &self.open_block;
        self.manifest = Manifest {
            commit: self.manifest.commit + 1,
            micro_tick: self.micro_tick.filter(|_| self.micro.is_some()),
            rows: self.run.rows,
            time_first: self.run.span.map(|(first, _)| first),
            time_last: self.run.span.map(|(_, last)| last),
            channels: self.run.channels(),
            count_entries: self.count_entries,
            chain: self.chain,
            last_block: last_block.tally.span.map(|(time_min, time_max)| LastBlock {
                #[expect(clippy::cast_possible_truncation, reason = "below 65,536")]
                rows: last_block.tally.rows as u32,
                time_min,
                time_max,
                crc_time: last_block.crc_time,
                crc_channel: last_block.crc_channel,
                crc_micro: self.micro.as_ref().map(|_| last_block.crc_micro),
                crc_gap: self.gaps.as_ref().map(|_| last_block.crc_gap),
                counts: last_block.tally.channels(),
            }),
            sources: self.sources.clone(),
            ..self.manifest.clone()
        };
        let bytes = self.manifest.encode().map_err(|e| Error::Io {
            path: self.folder.path().join(MANIFEST_NAME),
            action: "write the manifest",
            source: e.into(),
        })?;
        disk::replace(&*self.disk, &self.folder, MANIFEST_NAME, &bytes)?;
        self.names_changed = false;
        for name in self.obsolete.drain(..) {
            self.disk.remove(&self.folder, &name)?;
        }
        Ok(())
    }
}

/// Bytes that a value of these micro times needs at least: 0 if all are none.
fn width_of_micro(micro: &[u32]) -> u16 {
    match micro.iter().copied().filter(|&value| value != MICRO_NONE).max() {
        None => 0,
        Some(value) if value < MICRO_NONE_U16.into() => 2,
        Some(_) => 4,
    }
}

fn encode_counts(channels: &[ChannelRows]) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "a block has 65,536 rows")]
    channels.iter().flat_map(|c| format::encode_count(c.channel, c.rows as u32)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a block has at most 65,536 channels")]
fn count_len(counts: &[u8]) -> u32 {
    (counts.len() / COUNT_ENTRY_BYTES) as u32
}
