//! Reading a store: its committed rows, as of one commit.
//!
//! Rows are opened in whole blocks, because a checksum covers a block: rows 70,000 to 79,999 are read from rows 65,536
//! to 131,071. Any number of readers need no lock, because committed rows never change and a column that is written
//! again gets another name; a reader whose file is gone reads the manifest again.

mod checks;
pub(crate) mod columns;
mod distances;
pub(crate) mod extract;
mod first;
pub(crate) mod index;
pub(crate) mod tags;
mod whole;

use std::{
    any::Any,
    io,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use checks::BlockChecks;
use columns::{Access, ColumnView, TypedColumn, View};
use distances::{RowFiles, far_before, source_starts};
use tags::{Channels, MicroColumn, Tags};

use crate::{
    Error, Folder, MANIFEST_NAME, Manifest, Source, Tick,
    checked::CheckedFile,
    decode::Far,
    error::io_error,
    files::{Checksum, FileKind, OnePer, PerFile},
    format::{BLOCK_ENTRY_BYTES, BLOCK_ROWS, STEP_ROWS, Step},
    manifest::starts_as_manifest,
    os::{self, Guard, Memory},
    row_values::{CheckRows, Kinds, RowValues},
    simd::Simd,
    times::{Distances, SourceStart, Times},
};

/// The committed rows of a store. They never change, also while a writer appends more.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
    columns: PerFile<Option<TypedColumn>>,
    /// The checksums of the columns.
    checks: BlockChecks,
    /// The whole blocks that hold the opened rows, as rows of the run: columns are opened block by block.
    of_blocks: Range<usize>,
    /// The far distances of these rows.
    far: Range<usize>,
    source_starts: Vec<SourceStart>,
    simd: Simd,
    /// The times of all opened rows, once they were decoded.
    decoded: OnceLock<Memory>,
    /// Held while they are decoded.
    decoding: Mutex<()>,
    blocks: Vec<u8>,
    counts: Vec<u8>,
    /// A page of a column was missing.
    broken: AtomicBool,
    /// The rows that were opened; `None` if there are no rows to read.
    rows: Option<Range<usize>>,
    /// Values that [`Store::facts`] has made, with sources apart and joined.
    facts: [OnceLock<Box<dyn Any + Send + Sync>>; 2],
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
        let (mut at, mut manifest) = last_commit(folder, Manifest::read_in)?;
        loop {
            match Self::open_commit(&at, &manifest, access, None) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    let newer = last_commit(folder, Manifest::read_in)?;
                    if newer.1.commit == manifest.commit {
                        return Self::open_commit(&newer.0, &newer.1, access, None);
                    }
                    (at, manifest) = newer;
                }
                result => return result,
            }
        }
    }

    /// With `times`, checks that the rows are those of the manifest, and opens the rows with these times.
    fn open_commit(
        folder: &Folder,
        manifest: &Manifest,
        access: Access,
        times: Option<&RangeInclusive<i64>>,
    ) -> Result<Self, Error> {
        let access = if os::keep_away(folder.path()) { Access::Copied } else { access };
        // All are looked at before any of them is read.
        let mut files = PerFile::<Option<CheckedFile>>::default();
        for committed in manifest.committed() {
            let file = folder.open_file(&committed.file.name)?;
            let file = CheckedFile::new(folder, file, &committed, manifest.run_id)?;
            files[committed.kind] = Some(file);
        }
        let copied = |file: Option<CheckedFile>| file.map_or(Ok(Vec::new()), CheckedFile::copy);
        let mut store = Self {
            folder: folder.path().into(),
            blocks: copied(files[FileKind::Blocks].take())?,
            counts: copied(files[FileKind::Counts].take())?,
            source_starts: source_starts(manifest),
            ..Self::without_rows(manifest.clone())
        };
        #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
        let committed = manifest.rows as usize;
        let mut rows = 0..committed;
        let all = RowFiles { manifest, files: &files, sources: &store.source_starts };
        let mut of_last = None;
        if let Some(times) = times {
            of_last = store.check_rows_of_manifest(&all)?;
            if *times != (i64::MIN..=i64::MAX) {
                rows = store.rows_between(&all, committed, times)?;
            }
        }
        // Columns are checked, and far distances counted, block by block.
        let start = rows.start / BLOCK_ROWS * BLOCK_ROWS;
        let end = rows.end.next_multiple_of(BLOCK_ROWS).min(committed).max(start);
        let of_blocks = start..end;
        let far = all.far(of_blocks.clone())?;
        let steps = start / STEP_ROWS..end.div_ceil(STEP_ROWS);
        store.checks = store.open_checks(files[FileKind::GapBlocks].take(), of_last)?;
        for (kind, file) in manifest.files.present() {
            let rows = match kind.layout().one_per {
                // Gaps of an earlier commit may have no checksum for the last block: they are not read.
                OnePer::Row if kind == FileKind::Gap && !store.checks.are_of_all_blocks(kind) => {
                    continue;
                }
                OnePer::Row => of_blocks.clone(),
                OnePer::FarRow => far.clone(),
                OnePer::Step => steps.clone(),
                OnePer::FullBlock | OnePer::Count | OnePer::DeadSpan => continue,
            };
            if let Some(checked) = files[kind].take() {
                store.columns[kind] = Some(TypedColumn::open(checked, &file.kind, access, rows)?);
            }
        }
        (store.of_blocks, store.far) = (of_blocks, far);
        store.rows = Some(rows);
        Ok(store)
    }

    /// Opens the checksums of the columns; `beside` has those that are not in the index. `of_last` has those of the
    /// last block that follow from its times, as of an earlier commit, which may have had other files.
    fn open_checks(
        &self,
        beside: Option<CheckedFile>,
        of_last: Option<PerFile<Option<u32>>>,
    ) -> Result<BlockChecks, Error> {
        let manifest = &self.manifest;
        let beside = beside.map_or(Ok(Vec::new()), CheckedFile::copy)?;
        let width_beside = usize::from(manifest.width_of(FileKind::GapBlocks)).max(1);
        let last = manifest.last_block.as_ref().map(|last| last.checksums).unwrap_or_default();
        let checksums = PerFile::from_fn(|kind| {
            let (bytes, width, at) = match kind.layout().checksum {
                Checksum::InEntry(at) => (&self.blocks, BLOCK_ENTRY_BYTES, at),
                Checksum::InFile(_, at) => (&beside, width_beside, at),
                Checksum::NotNeeded => return Vec::new(),
            };
            let full = bytes.chunks_exact(width).filter_map(|of_block| {
                of_block.get(at..)?.first_chunk().map(|&crc| u32::from_le_bytes(crc))
            });
            full.chain(of_last.and_then(|of_last| of_last[kind]).or(last[kind])).collect()
        });
        #[expect(clippy::cast_possible_truncation, reason = "blocks of an opened column")]
        let blocks = manifest.rows.div_ceil(BLOCK_ROWS as u64) as usize;
        Ok(BlockChecks::new(checksums, blocks))
    }

    /// Opens the rows with these times, in ticks, of the store in `folder` as of an earlier commit, whose manifest is
    /// `earlier`. Costs as much as [`Store::open`] for these rows, and reads the rows after the last full block.
    ///
    /// # Errors
    /// Errors of [`Store::open`]; [`Error::OtherRows`] if the first rows of the store are not those of `earlier`;
    /// [`Error::Damaged`] if not all times are wanted and the index is damaged.
    pub fn open_prefix(
        folder: &Path,
        earlier: &Manifest,
        access: Access,
        times: &RangeInclusive<i64>,
    ) -> Result<Self, Error> {
        let (mut at, mut manifest) = Self::prefix_manifest(folder, earlier)?;
        loop {
            match Self::open_commit(&at, &manifest, access, Some(times)) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    let newer = Self::prefix_manifest(folder, earlier)?;
                    if newer.1 == manifest {
                        return Self::open_commit(&newer.0, &manifest, access, Some(times));
                    }
                    (at, manifest) = newer;
                }
                opened => return opened,
            }
        }
    }

    /// Returns the manifest of an earlier commit with the files that the store in `folder` has now.
    fn prefix_manifest(folder: &Path, earlier: &Manifest) -> Result<(Folder, Manifest), Error> {
        Self::prefix_manifest_of(folder, earlier, far_before)
    }

    /// Works like [`Store::prefix_manifest`]; `far_before` counts the far distances of the first rows.
    fn prefix_manifest_of(
        folder: &Path,
        earlier: &Manifest,
        far_before: impl Fn(&Folder, &Manifest, u64) -> Result<Option<u64>, Error>,
    ) -> Result<(Folder, Manifest), Error> {
        let (mut at, mut current) = last_commit(folder, Manifest::read_alone)?;
        let other = |what| Error::OtherRows { path: folder.into(), rows: earlier.rows, what };
        loop {
            if current.run_id != earlier.run_id {
                return Err(other("it is a store of another run"));
            }
            if current.rows < earlier.rows {
                return Err(other("it has fewer rows"));
            }
            // Widths of columns whose checksums are in the chain. That of times is the same without their column.
            let is_same = |kind: FileKind| {
                !current.is_chained(kind)
                    || kind == FileKind::Time
                    || current.width_of(kind) == earlier.width_of(kind)
            };
            if !FileKind::all()
                .all(|kind| is_same(kind) && current.is_chained(kind) == earlier.is_chained(kind))
            {
                return Err(other("its columns were widened since, which changes all checksums"));
            }
            // A copy of a part of a store may not have what these are counted from.
            let known = earlier.far_entries.filter(|_| !current.has_times());
            let far_entries = match known.map_or_else(
                || far_before(&at, &current, earlier.rows),
                |far_entries| Ok(Some(far_entries)),
            ) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    let newer = last_commit(folder, Manifest::read_alone)?;
                    if newer.1.commit == current.commit {
                        return Err(io_error(folder, "open a file of the store")(source));
                    }
                    (at, current) = newer;
                    continue;
                }
                far => far?,
            };
            let manifest = Manifest { files: current.files, far_entries, ..earlier.clone() };
            return Ok((at, manifest.with_all_dead()));
        }
    }

    /// Checks that the chain of the full blocks and the checksums of later rows are those of the manifest. Returns the
    /// checksums of gaps, far distances and steps of these later rows if there are any.
    fn check_rows_of_manifest(
        &self,
        all: &RowFiles<'_>,
    ) -> Result<Option<PerFile<Option<u32>>>, Error> {
        let Manifest { chain, last_block, rows, .. } = &self.manifest;
        let full = self.manifest.full_rows();
        let has_chain =
            full == 0 || self.mark(full).ok().flatten().is_some_and(|mark| mark.chain == *chain);
        let mut is_same = has_chain;
        let mut checksums = None;
        #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
        let of_last = full as usize..*rows as usize;
        for (kind, &expected) in last_block.iter().flat_map(|last| last.checksums.present()) {
            if kind == FileKind::Time {
                let times = all.times(of_last.clone())?;
                is_same &= crate::checksum::crc32c(bytemuck::cast_slice(&times)) == expected;
                if !self.manifest.has_times() {
                    let far = all.far(of_last.start..of_last.start)?.start as u64;
                    checksums = Some(self.checksums_of_last(&of_last, &times, far));
                }
            } else if let Some(file) = &all.files[kind]
                && kind.is_column()
            {
                let width = usize::from(self.manifest.width_of(kind));
                let bytes = file.rows::<u8>(of_last.start * width..of_last.end * width)?;
                is_same &= crate::checksum::crc32c(&bytes) == expected;
            }
        }
        if is_same {
            return Ok(checksums);
        }
        let what = "they have other checksums";
        Err(Error::OtherRows { path: self.folder.clone(), rows: *rows, what })
    }

    /// Returns the rows with these times, from the index and the blocks that the ends cut. `committed` is the number of
    /// all rows.
    fn rows_between(
        &self,
        all: &RowFiles<'_>,
        committed: usize,
        times: &RangeInclusive<i64>,
    ) -> Result<Range<usize>, Error> {
        let blocks = self.blocks()?;
        let first_not = |is_before: &dyn Fn(i64) -> bool| {
            let block = blocks.partition_point(|block| is_before(block.time_max));
            let Some(block) = blocks.get(block) else { return Ok(committed) };
            #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
            let rows = block.rows.start as usize..block.rows.end as usize;
            if !is_before(block.time_min) {
                return Ok(rows.start);
            }
            let of_block = all.times(rows.clone())?;
            self.check_times(block, &of_block)?;
            self.check_checksum_of_times(block, &of_block)?;
            Ok(rows.start + of_block.partition_point(|&time| is_before(time)))
        };
        let start = first_not(&|time| time < *times.start())?;
        Ok(start..first_not(&|time| time <= *times.end())?.max(start))
    }

    /// A store of which only the manifest is known: there are no rows to read.
    pub fn without_rows(manifest: Manifest) -> Self {
        Self {
            folder: PathBuf::new(),
            manifest,
            columns: PerFile::default(),
            checks: BlockChecks::default(),
            of_blocks: 0..0,
            far: 0..0,
            source_starts: Vec::new(),
            simd: Simd::best(),
            decoded: OnceLock::new(),
            decoding: Mutex::new(()),
            blocks: Vec::new(),
            counts: Vec::new(),
            broken: AtomicBool::new(false),
            rows: None,
            facts: Default::default(),
        }
    }

    /// Returns what `make` takes from the manifest, with its sources apart or joined. It is made once for each.
    pub fn facts<T: Clone + Send + Sync + 'static>(
        &self,
        is_joined: bool,
        make: impl Fn() -> T,
    ) -> T {
        let kept = self.facts[usize::from(is_joined)].get_or_init(|| Box::new(make()));
        kept.downcast_ref().cloned().unwrap_or_else(make)
    }

    /// Whether its rows can be read, see [`Store::without_rows`].
    pub fn has_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// The rows of the run that were opened: all, or those with the times that [`Store::open_prefix`] was given.
    pub fn opened(&self) -> Range<usize> {
        self.rows.clone().unwrap_or_default()
    }

    /// Whether the file or folder at `path` is a store: a folder whose `manifest.json` begins with
    /// the key `"format": "tagq"`. Damage further in is for [`Store::open`] to name.
    pub fn is_at(path: &Path) -> bool {
        let mut start = [0; 64];
        let file = Folder::open(path).and_then(|folder| folder.open_file(MANIFEST_NAME));
        let Ok(file) = file else { return false };
        let Ok(len) = os::read_at(&file, &mut start, 0) else { return false };
        starts_as_manifest(&start[..len])
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The manifest: rows, spans, sources.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Takes `tick` as the unit of this snapshot's times, without writing it.
    ///
    /// # Errors
    /// [`Error::TickGiven`] when a person set another one before, unless `overrule`.
    pub fn use_tick(&mut self, tick: Tick, overrule: bool) -> Result<(), Error> {
        self.manifest.set_tick(tick, overrule, &self.folder)
    }

    /// All committed tags that were opened, in order of time.
    pub fn tags(&self) -> Tags<'_> {
        self.tags_in(View::Guarded)
    }

    /// The same tags for views that outlive a scan: in mappings of their own, so that a page which is missing is never
    /// read as zeros while some scan is [guarded](Self::guarded); reading such a page raises the signal of the system.
    /// A store that was copied has one copy for both. Reading them checks nothing: see [`Store::check_tags`].
    pub fn unguarded_tags(&self) -> Tags<'_> {
        self.tags_in(View::Unguarded)
    }

    /// Checks the labels of these opened rows, and their times if they have a column, before they are handed out as
    /// [`Store::unguarded_tags`]. What a mapping shows later is not checked.
    ///
    /// # Errors
    /// Those of [`Store::guarded`].
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn check_tags(&self, rows: Range<usize>) -> Result<(), Error> {
        self.guarded(|store| {
            let Tags { time, channels } = store.tags().rows(rows);
            time.column().is_none_or(|times| times.is_right(0..times.len())) && channels.is_right()
        })?;
        Ok(())
    }

    fn tags_in(&self, view: View) -> Tags<'_> {
        let kind = FileKind::Channel;
        let channels = match &self.columns[kind] {
            Some(TypedColumn::U8(column)) => Channels::U8(self.column(kind, column, view)),
            Some(TypedColumn::U16(column)) => Channels::U16(self.column(kind, column, view)),
            _ => Channels::U8(RowValues::from(&[])),
        };
        Tags { time: self.times_in(view), channels }
    }

    /// The opened rows of a column. Those that no guard touches are not checked.
    fn column<'a, T: bytemuck::Pod>(
        &'a self,
        kind: FileKind,
        column: &'a ColumnView<T>,
        view: View,
    ) -> RowValues<'a, T> {
        let values = column.values(view);
        let column = match view {
            View::Guarded => RowValues::checked(values, self, kind, self.of_blocks.start),
            View::Unguarded => values.into(),
        };
        column.rows(self.opened_in_blocks())
    }

    fn times_in(&self, view: View) -> Times<'_> {
        let columns = &self.columns;
        let far = match &columns[FileKind::Far] {
            Some(TypedColumn::U32(column)) => Far::U32(column.values(view)),
            Some(TypedColumn::U64(column)) => Far::U64(column.values(view)),
            _ => Far::U32(&[]),
        };
        match (&columns[FileKind::Time], &columns[FileKind::Gap], &columns[FileKind::Steps]) {
            (Some(TypedColumn::I64(column)), ..) => {
                self.column(FileKind::Time, column, view).into()
            }
            (_, Some(TypedColumn::U16(gaps)), Some(TypedColumn::Steps(steps))) => {
                let distances = Distances {
                    gaps: gaps.values(view),
                    far,
                    far_before: self.far.start as u64,
                    steps: steps.values(view),
                    sources: &self.source_starts,
                    first_row: self.of_blocks.start,
                    simd: self.simd,
                    check: Some(self),
                };
                Times::of(distances).rows(self.opened_in_blocks())
            }
            _ => Times::from(&[]),
        }
    }

    /// The opened rows, numbered in the whole blocks that hold them.
    fn opened_in_blocks(&self) -> Range<usize> {
        let (opened, first) = (self.opened(), self.of_blocks.start);
        opened.start - first..opened.end - first
    }

    /// The micro times of all committed tags, row by row as [`Store::tags`]; `None` if the store has none.
    pub fn micro(&self) -> Option<MicroColumn<'_>> {
        self.micro_in(View::Guarded)
    }

    /// The same micro times for views that outlive a scan, as [`Store::unguarded_tags`].
    pub fn unguarded_micro(&self) -> Option<MicroColumn<'_>> {
        self.micro_in(View::Unguarded)
    }

    /// Checks the micro times of these opened rows, as [`Store::check_tags`].
    ///
    /// # Errors
    /// Those of [`Store::guarded`].
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn check_micro(&self, rows: Range<usize>) -> Result<(), Error> {
        self.guarded(|store| store.micro().is_none_or(|micro| micro.rows(rows).is_right()))?;
        Ok(())
    }

    fn micro_in(&self, view: View) -> Option<MicroColumn<'_>> {
        let kind = FileKind::Micro;
        match &self.columns[kind] {
            Some(TypedColumn::U16(column)) => {
                Some(MicroColumn::U16(self.column(kind, column, view)))
            }
            Some(TypedColumn::U32(column)) => {
                Some(MicroColumn::U32(self.column(kind, column, view)))
            }
            _ => None,
        }
    }

    /// The gaps of all committed tags, row by row as [`Store::tags`]: the ticks since the row before, at most
    /// [`GAP_MAX`](crate::format::GAP_MAX), which is also that of the first row of a source. `None` if the store has
    /// no such column.
    pub fn gaps(&self) -> Option<RowValues<'_, u16>> {
        match &self.columns[FileKind::Gap] {
            Some(TypedColumn::U16(column)) => {
                Some(self.column(FileKind::Gap, column, View::Guarded))
            }
            _ => None,
        }
    }

    /// Returns how often scans of this snapshot met a block without the right checksum, and the last of these blocks.
    pub fn damage_met(&self) -> (u64, u64) {
        (self.checks.met(), self.checks.damaged().0)
    }

    /// The steps of the blocks that hold the opened rows; none in a store with a column of times.
    fn steps(&self) -> &[Step] {
        match &self.columns[FileKind::Steps] {
            Some(TypedColumn::Steps(steps)) => steps.values(View::Guarded),
            _ => &[],
        }
    }

    /// The bytes that an opened file has for the rows of a block; `None` if they were not opened.
    fn block_bytes(&self, kind: FileKind, block: usize) -> Option<&[u8]> {
        let start = (block * BLOCK_ROWS).max(self.of_blocks.start);
        let end = ((block + 1) * BLOCK_ROWS).min(self.of_blocks.end);
        let first = self.of_blocks.start;
        let rows = match kind.layout().one_per {
            OnePer::Row => start - first..end.checked_sub(first)?,
            OnePer::Step => {
                let first = first / STEP_ROWS;
                start / STEP_ROWS - first..end.div_ceil(STEP_ROWS).checked_sub(first)?
            }
            OnePer::FarRow => {
                let of_step = |row: usize| {
                    let far = self.steps().get((row - first) / STEP_ROWS)?.far;
                    usize::try_from(far).ok()?.checked_sub(self.far.start)
                };
                // The end follows from the last step of the block and its gaps: the step after it is another block's.
                let last = (end.checked_sub(1)?.max(start)) / STEP_ROWS * STEP_ROWS;
                let gaps =
                    self.columns[FileKind::Gap].as_ref()?.bytes(last - first..end - first)?;
                let far = crate::decode::far_rows(bytemuck::try_cast_slice(gaps).ok()?);
                of_step(start)?..of_step(last)?.checked_add(far)?
            }
            OnePer::FullBlock | OnePer::Count | OnePer::DeadSpan => return None,
        };
        self.columns[kind].as_ref()?.bytes(rows)
    }

    /// Runs a scan over the tags of this snapshot. When a column turns out to be cut short or unreadable under its
    /// mapping, the scan still ends, its answer is discarded, and the process lives. Only this snapshot's own columns
    /// are guarded, only until `scan` returns; a slice of them that is kept and read later meets the system's signal.
    ///
    /// # Errors
    /// [`Error::Io`] when a part of a column could not be read; [`Error::Damaged`] when values that this scan or
    /// another one of the same time read do not have their checksums.
    pub fn guarded<T>(&self, scan: impl FnOnce(&Self) -> T) -> Result<T, Error> {
        let before = self.checks.met();
        let answer = self.guarded_pages(scan)?;
        if self.checks.met() != before {
            return Err(self.damage());
        }
        Ok(answer)
    }

    /// Works like [`Store::guarded`], whatever checksums the values have.
    fn guarded_pages<T>(&self, scan: impl FnOnce(&Self) -> T) -> Result<T, Error> {
        let columns = self.columns.present();
        let guard = Guard::arm(columns.filter_map(|(_, column)| column.mapped()));
        let answer = scan(self);
        self.broken.fetch_or(guard.was_hit(), Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            // Zeros stand in the missing pages of this mapping until it is gone.
            let path = self.rows_path();
            return Err(io_error(&path, "read this column or one beside it")(missing_page()));
        }
        Ok(answer)
    }

    /// The error for the last block that was found damaged.
    fn damage(&self) -> Error {
        let (block, kind) = self.checks.damaged();
        let first = block * BLOCK_ROWS as u64;
        let last = (first + BLOCK_ROWS as u64).min(self.manifest.rows).saturating_sub(1);
        let path = self.folder.join(self.manifest.name_of(kind));
        if kind == FileKind::Gap && self.manifest.has_times() {
            return Error::DamagedGaps { path, block };
        }
        Error::Damaged {
            path,
            what: format!("the checksum of block {block} (rows {first} to {last})"),
            expected: "as committed".into(),
            found: "another one".into(),
        }
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

    /// The file from which the times of rows are read: the column of times, or that of gaps.
    pub fn rows_path(&self) -> PathBuf {
        self.folder.join(self.manifest.name_of(self.manifest.kind_of_times()))
    }
}

impl CheckRows for Store {
    fn check_rows(&self, kinds: Kinds, rows: Range<usize>) -> bool {
        let found = |kind, block| self.block_bytes(kind, block).map(crate::checksum::crc32c);
        self.checks.are_right(kinds, rows, found)
    }
}

fn last_commit(
    path: &Path,
    read: impl Fn(&Folder) -> Result<Option<Manifest>, Error>,
) -> Result<(Folder, Manifest), Error> {
    let none = || Error::NotAStore { path: path.into() };
    let folder = Folder::open_if_there(path)?.ok_or_else(none)?;
    let manifest = read(&folder)?.ok_or_else(none)?;
    Ok((folder, manifest))
}

/// The error that a scan over a missing page ends with.
fn missing_page() -> io::Error {
    io::Error::other("a part of it could not be read: it was cut short, or its device failed")
}
