//! Appending to a store: rows, then a commit that makes them visible and durable at once.

mod lock;
mod tally;
mod widen;

use std::{path::Path, sync::Arc};

use lock::Lock;
use tally::{OpenBlock, Tally, by_label, joined};

use crate::{
    ChannelRows, Error, Folder, MANIFEST_NAME, Manifest, RunId, Source, SourceFacts, Tick,
    checked::CheckedFile,
    disk::{self, Disk, RealDisk},
    folder::random_bytes,
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, FileKind},
    growing::Growing,
    leftovers::{check_only_ours, files_in},
    manifest::LastBlock,
    names::STEMS,
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
    narrow: Vec<u8>,
    lock: Lock,
}

impl Writer {
    /// Locks the store in `folder` for writing, and makes it when there is none. Rows that an
    /// earlier writer left without a commit are cut off.
    ///
    /// # Errors
    /// [`Error::Busy`] when another writer is at work, [`Error::NotEmpty`] when a store would be
    /// made among other files, the errors of opening a store otherwise.
    pub fn open(folder: &Path, creation: &Creation) -> Result<Self, Error> {
        Self::open_on(Arc::new(RealDisk), folder, creation)
    }

    pub(crate) fn open_on(
        disk: Arc<dyn Disk>,
        path: &Path,
        creation: &Creation,
    ) -> Result<Self, Error> {
        disk::create_folder(&*disk, path)?;
        let folder = Folder::open(path)?;
        match Manifest::read_in(&folder)? {
            Some(_) => _ = files_in(&folder)?,
            None => check_only_ours(&folder)?,
        }
        let lock = Lock::take(&folder)?;
        // Another writer may have committed before the lock was ours.
        if let Some(manifest) = Manifest::read_in(&folder)? {
            return Self::resume(disk, folder, manifest, lock);
        }
        // The process that made the folder may be gone before its name was durable.
        disk::sync_name(&*disk, path)?;
        // Files are made, never written over: what has their names was never committed.
        for file in files_in(&folder)? {
            disk.remove(&folder, &file.name)?;
        }
        let manifest = new_manifest(path, creation)?;
        Self::create(disk, folder, manifest, lock)
    }

    /// Locks the store in `folder` and begins it from scratch, under its tick: nothing is in it, and the
    /// next commit replaces all that was. Until then readers see the old commit.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_for_rebuild(folder: &Path, creation: &Creation) -> Result<Self, Error> {
        let old = Self::open(folder, creation)?;
        if old.manifest.commit == 0 {
            return Ok(old);
        }
        let Self { disk, folder, manifest: before, lock, time, channel, blocks, counts, .. } = old;
        let tick = Creation {
            tick: before.tick,
            tick_assumed: before.tick_assumed,
            run_id: creation.run_id,
        };
        let mut manifest = new_manifest(folder.path(), &tick)?;
        manifest.commit = before.commit;
        let files = &mut manifest.files;
        let files = [&mut files.time, &mut files.channel, &mut files.blocks, &mut files.counts];
        for (file, stem) in files.into_iter().zip(&STEMS) {
            file.name = stem.unused_name(&folder, before.commit + 1)?;
        }
        let mut writer = Self::create(disk, folder, manifest, lock)?;
        writer.obsolete = [time, channel, blocks, counts].map(|file| file.name().into()).into();
        Ok(writer)
    }

    fn create(
        disk: Arc<dyn Disk>,
        folder: Folder,
        manifest: Manifest,
        lock: Lock,
    ) -> Result<Self, Error> {
        let run_id = manifest.run_id;
        let create = |name: &str, kind, width| {
            Growing::create(&disk, &folder, name, &format::encode_header(kind, width, run_id))
        };
        let files = &manifest.files;
        Ok(Self {
            time: create(&files.time.name, FileKind::Time, 8)?,
            channel: create(&files.channel.name, FileKind::Channel, 1)?,
            blocks: create(&files.blocks.name, FileKind::Blocks, 64)?,
            counts: create(&files.counts.name, FileKind::Counts, 6)?,
            folder,
            pending: Tally::default(),
            open_block: OpenBlock::default(),
            open_source: Tally::default(),
            run: Tally::default(),
            chain: 0,
            count_entries: 0,
            sources: Vec::new(),
            obsolete: Vec::new(),
            names_changed: true,
            poisoned: false,
            narrow: Vec::new(),
            manifest,
            disk,
            lock,
        })
    }

    fn resume(
        disk: Arc<dyn Disk>,
        folder: Folder,
        manifest: Manifest,
        lock: Lock,
    ) -> Result<Self, Error> {
        let mut files = Vec::new();
        for committed in manifest.committed() {
            let file = disk.open(&folder, &committed.file.name)?;
            let checked = CheckedFile::new(&folder, file, &committed, manifest.run_id)?;
            files.push(Growing::resume(&disk, checked));
        }
        let debris = manifest.debris(&folder)?;
        // Only now it is known that a writer of this run left all of it.
        files.iter().try_for_each(Growing::cut)?;
        for name in debris {
            disk.remove(&folder, &name)?;
        }
        let files: [Growing; 4] = match files.try_into() {
            Ok(files) => files,
            Err(_) => unreachable!("a store has four files"),
        };
        let [time, channel, blocks, counts] = files;
        Ok(Self {
            folder,
            time,
            channel,
            blocks,
            counts,
            pending: Tally::default(),
            open_block: manifest.last_block.as_ref().map(OpenBlock::resume).unwrap_or_default(),
            open_source: Tally::default(),
            run: Tally {
                rows: manifest.rows,
                span: manifest.time_first.zip(manifest.time_last),
                by_channel: by_label(&manifest.channels),
            },
            chain: manifest.chain,
            count_entries: manifest.count_entries,
            sources: manifest.sources.clone(),
            obsolete: Vec::new(),
            names_changed: false,
            poisoned: false,
            narrow: Vec::new(),
            manifest,
            disk,
            lock,
        })
    }

    /// Makes the last commit of the store in `folder` durable, when the one who made it did not
    /// live to do so.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn make_durable(folder: &Path) -> Result<(), Error> {
        disk::sync_folder(&RealDisk, &Folder::open(folder)?)?;
        disk::sync_name(&RealDisk, folder)
    }

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
            for file in [&self.time, &self.channel, &self.blocks, &self.counts] {
                // The next writer removes files that stay.
                drop(self.disk.remove(&self.folder, file.name()));
            }
        }
    }

    /// Begins a source: the rows appended from here to [`Writer::finish_source`] are its own.
    pub fn begin_source(&mut self) {
        self.settle();
        self.open_source = Tally::default();
    }

    /// Appends rows: `times[i]` in ticks and `channels[i]` are one tag. Equal lengths, times in
    /// order and not before the last row.
    ///
    /// # Errors
    /// [`Error::Unsorted`] and [`Error::Span`] before anything is written; after an error of the
    /// disk the writer refuses everything else.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn append(&mut self, times: &[i64], channels: &[u16]) -> Result<(), Error> {
        assert_eq!(times.len(), channels.len(), "a tag has one time and one channel");
        self.check_order(times)?;
        let result = self.append_checked(times, channels);
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

    fn append_checked(&mut self, times: &[i64], channels: &[u16]) -> Result<(), Error> {
        let (mut times, mut channels) = (times, channels);
        while !times.is_empty() {
            let room = BLOCK_ROWS - self.rows_in_block();
            let (now, later) = times.split_at(room.min(times.len()));
            let (now_channels, later_channels) = channels.split_at(now.len());
            self.append_in_block(now, now_channels)?;
            (times, channels) = (later, later_channels);
        }
        Ok(())
    }

    fn append_in_block(&mut self, times: &[i64], channels: &[u16]) -> Result<(), Error> {
        let label_max = channels.iter().copied().max().unwrap_or(0);
        if label_max > u8::MAX.into() && self.manifest.files.channel.width == 1 {
            self.widen()?;
        }
        let time_bytes: &[u8] = bytemuck::cast_slice(times);
        let channel_bytes: &[u8] = if self.manifest.files.channel.width == 1 {
            self.narrow.clear();
            #[expect(clippy::cast_possible_truncation, reason = "no label above 255 here")]
            self.narrow.extend(channels.iter().map(|&channel| channel as u8));
            &self.narrow
        } else {
            bytemuck::cast_slice(channels)
        };
        self.time.append(time_bytes)?;
        self.channel.append(channel_bytes)?;
        let block = &mut self.open_block;
        block.crc_time = crc32c::crc32c_append(block.crc_time, time_bytes);
        block.crc_channel = crc32c::crc32c_append(block.crc_channel, channel_bytes);
        self.pending.add(times, channels);
        if self.rows_in_block() == BLOCK_ROWS { self.close_block() } else { Ok(()) }
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
        };
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
        for file in [&self.time, &self.channel, &self.counts, &self.blocks] {
            file.sync()?;
        }
        if self.names_changed {
            disk::sync_folder(&*self.disk, &self.folder)?;
        }
        let last_block = &self.open_block;
        self.manifest = Manifest {
            commit: self.manifest.commit + 1,
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

fn encode_counts(channels: &[ChannelRows]) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "a block has 65,536 rows")]
    channels.iter().flat_map(|c| format::encode_count(c.channel, c.rows as u32)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a block has at most 65,536 channels")]
fn count_len(counts: &[u8]) -> u32 {
    (counts.len() / COUNT_ENTRY_BYTES) as u32
}

fn new_manifest(folder: &Path, creation: &Creation) -> Result<Manifest, Error> {
    let run_id = match creation.run_id {
        Some(run_id) => run_id,
        None => RunId(random_bytes(folder)?),
    };
    Ok(Manifest::new(run_id, creation.tick, creation.tick_assumed))
}
