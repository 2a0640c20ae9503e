//! Reading a store: its committed rows, as of one commit.

pub(crate) mod columns;
pub(crate) mod extract;
mod first;
mod gaps;
pub(crate) mod index;
pub(crate) mod tags;

use std::{
    io,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use columns::{Access, TypedColumn, View};
use gaps::Gaps;
use tags::{Channels, MicroColumn, Tags};

use crate::{
    Error, Folder, MANIFEST_NAME, Manifest, Source, Tick,
    checked::CheckedFile,
    error::io_error,
    files::{FileKind, PerFile},
    format::BLOCK_ROWS,
    manifest::starts_as_manifest,
    os::{self, Guard},
};

/// The committed rows of a store. They never change, also while a writer appends more.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
    columns: PerFile<Option<TypedColumn>>,
    gaps: Option<Gaps>,
    blocks: Vec<u8>,
    counts: Vec<u8>,
    /// A page of a column was missing.
    broken: AtomicBool,
    /// The rows that were opened; `None` if there are no rows to read.
    rows: Option<Range<usize>>,
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
            match Self::open_commit(&at, &manifest, access, None) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    let newer = last_commit(folder)?;
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
        // All are looked at before any of them is read.
        let mut checked = PerFile::<Option<CheckedFile>>::default();
        for committed in manifest.committed() {
            let file = folder.open_file(&committed.file.name)?;
            let file = CheckedFile::new(folder, file, &committed, manifest.run_id)?;
            checked[committed.kind] = Some(file);
        }
        let mut take = |kind: FileKind| checked[kind].take();
        let copied = |file: Option<CheckedFile>| file.map_or(Ok(Vec::new()), CheckedFile::copy);
        let mut index = Self {
            folder: folder.path().into(),
            blocks: copied(take(FileKind::Blocks))?,
            counts: copied(take(FileKind::Counts))?,
            ..Self::without_rows(manifest.clone())
        };
        let gap_blocks = take(FileKind::GapBlocks);
        let Some(time) = &checked[FileKind::Time] else { unreachable!("every store has times") };
        let committed = time.values;
        let mut rows = 0..committed;
        if let Some(times) = times {
            index.check_rows_of_manifest(&checked)?;
            if *times != (i64::MIN..=i64::MAX) {
                rows = index.rows_between(time, times)?;
            }
        }
        // An earlier commit may not have had gaps: then the checksum of a block that was not full is unknown.
        let last = manifest.last_block.as_ref();
        let crc_last = last.map(|last| last.checksums[FileKind::Gap]);
        let gaps = gap_blocks.filter(|_| crc_last != Some(None));
        let gaps = gaps.map(|file| Gaps::open(committed, file, crc_last.flatten(), rows.clone()));
        index.gaps = gaps.transpose()?;
        for (kind, file) in manifest.files.present().filter(|(kind, _)| kind.is_column()) {
            let rows = match (kind, &index.gaps) {
                (FileKind::Gap, Some(gaps)) => gaps.rows.clone(),
                (FileKind::Gap, None) => continue,
                _ => rows.clone(),
            };
            if let Some(checked) = checked[kind].take() {
                let column = TypedColumn::open(checked, &file.kind, access, rows)?;
                index.columns[kind] = Some(column);
            }
        }
        index.rows = Some(rows);
        Ok(index)
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
        let (at, current) = last_commit(folder)?;
        let other = |what| Error::OtherRows { path: folder.into(), rows: earlier.rows, what };
        if current.run_id != earlier.run_id {
            return Err(other("it is a store of another run"));
        }
        if current.rows < earlier.rows {
            return Err(other("it has fewer rows"));
        }
        // Widths of columns whose checksums are in the chain.
        let is_same = |kind: FileKind| current.width_of(kind) == earlier.width_of(kind);
        if !FileKind::all().all(|kind| kind.at_in_entry().is_none() || is_same(kind)) {
            return Err(other("its columns were widened since, which changes all checksums"));
        }
        let mut manifest = Manifest { files: current.files, ..earlier.clone() };
        manifest.set_version();
        Ok((at, manifest))
    }

    /// Checks that the chain of the full blocks and the checksums of later rows are those of the manifest.
    fn check_rows_of_manifest(&self, files: &PerFile<Option<CheckedFile>>) -> Result<(), Error> {
        let Manifest { chain, last_block, rows, .. } = &self.manifest;
        let full = self.manifest.full_rows();
        let has_chain =
            full == 0 || self.mark(full).ok().flatten().is_some_and(|mark| mark.chain == *chain);
        let mut is_same = has_chain;
        for (kind, &expected) in last_block.iter().flat_map(|last| last.checksums.present()) {
            let Some(file) = &files[kind] else { continue };
            let full = usize::try_from(full).unwrap_or(usize::MAX);
            let width = usize::from(self.manifest.width_of(kind));
            let bytes = file.rows::<u8>(full * width..file.values * width)?;
            is_same &= crate::checksum::crc32c(&bytes) == expected;
        }
        if is_same {
            return Ok(());
        }
        let what = "they have other checksums";
        Err(Error::OtherRows { path: self.folder.clone(), rows: *rows, what })
    }

    /// Returns the rows with these times, from the index and the blocks that the ends cut.
    fn rows_between(
        &self,
        time: &CheckedFile,
        times: &RangeInclusive<i64>,
    ) -> Result<Range<usize>, Error> {
        let blocks = self.blocks()?;
        let first_not = |is_before: &dyn Fn(i64) -> bool| {
            let block = blocks.partition_point(|block| is_before(block.time_max));
            let Some(block) = blocks.get(block) else { return Ok(time.values) };
            #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
            let rows = block.rows.start as usize..block.rows.end as usize;
            if !is_before(block.time_min) {
                return Ok(rows.start);
            }
            let of_block = time.rows::<i64>(rows.clone())?;
            self.check_times(block, &of_block)?;
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
            gaps: None,
            blocks: Vec::new(),
            counts: Vec::new(),
            broken: AtomicBool::new(false),
            rows: None,
        }
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

    /// The same tags for views that outlive a scan: in mappings of their own, so that a page which is
    /// missing is never read as zeros while some scan is [guarded](Self::guarded); whoever reads one
    /// meets the system's signal. A store that was copied has one copy for both.
    pub fn unguarded_tags(&self) -> Tags<'_> {
        self.tags_in(View::Unguarded)
    }

    fn tags_in(&self, view: View) -> Tags<'_> {
        let channels = match &self.columns[FileKind::Channel] {
            Some(TypedColumn::U8(column)) => Channels::U8(column.values(view)),
            Some(TypedColumn::U16(column)) => Channels::U16(column.values(view)),
            _ => Channels::U8(&[]),
        };
        Tags { time: self.times_in(view), channels }
    }

    fn times_in(&self, view: View) -> &[i64] {
        match &self.columns[FileKind::Time] {
            Some(TypedColumn::I64(column)) => column.values(view),
            _ => &[],
        }
    }

    /// The micro times of all committed tags, row by row as [`Store::tags`]; `None` if the store has none.
    pub fn micro(&self) -> Option<MicroColumn<'_>> {
        self.micro_in(View::Guarded)
    }

    /// The same micro times for views that outlive a scan, as [`Store::unguarded_tags`].
    pub fn unguarded_micro(&self) -> Option<MicroColumn<'_>> {
        self.micro_in(View::Unguarded)
    }

    fn micro_in(&self, view: View) -> Option<MicroColumn<'_>> {
        match &self.columns[FileKind::Micro] {
            Some(TypedColumn::U16(column)) => Some(MicroColumn::U16(column.values(view))),
            Some(TypedColumn::U32(column)) => Some(MicroColumn::U32(column.values(view))),
            _ => None,
        }
    }

    /// The gaps of all committed tags, row by row as [`Store::tags`]: the ticks since the row before, at most
    /// [`GAP_MAX`](crate::format::GAP_MAX), which is also that of the first row of a source. `None` if the store has
    /// no such column.
    pub fn gaps(&self) -> Option<&[u16]> {
        match (&self.columns[FileKind::Gap], &self.gaps) {
            (Some(TypedColumn::U16(column)), Some(gaps)) => {
                Some(&column.values(View::Guarded)[gaps.opened()])
            }
            _ => None,
        }
    }

    /// Whether the gaps of the block that holds the opened row `row` have their checksum. It is computed when it is first
    /// asked for.
    pub fn has_right_gaps(&self, row: usize) -> bool {
        let row = self.opened().start + row;
        let gaps = self.gaps.as_ref().zip(self.columns[FileKind::Gap].as_ref());
        gaps.is_some_and(|(gaps, column)| gaps.has_checksum(column, row / BLOCK_ROWS))
    }

    /// Runs a scan over the tags of this snapshot. When a column turns out to be cut short or
    /// unreadable under its mapping, the scan still ends, its answer is thrown away, and the
    /// process lives. Only this snapshot's own columns are guarded, only until `scan` returns; a
    /// slice of them that is kept and read later meets the system's signal.
    ///
    /// # Errors
    /// [`Error::Io`] when a part of a column could not be read.
    pub fn guarded<T>(&self, scan: impl FnOnce(&Self) -> T) -> Result<T, Error> {
        let columns = self.columns.present();
        let guard = Guard::arm(columns.filter_map(|(_, column)| column.mapped()));
        let answer = scan(self);
        self.broken.fetch_or(guard.was_hit(), Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            // Zeros stand in the missing pages of this mapping until it is gone.
            let path = self.time_path();
            return Err(io_error(&path, "read this column or one beside it")(missing_page()));
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

    /// The file of the column of gaps; `None` if the store has none.
    pub fn gaps_path(&self) -> Option<PathBuf> {
        self.manifest.has_gaps().then(|| self.folder.join(self.manifest.name_of(FileKind::Gap)))
    }

    /// The file of the column of times.
    pub fn time_path(&self) -> PathBuf {
        self.folder.join(self.manifest.name_of(FileKind::Time))
    }
}

fn last_commit(path: &Path) -> Result<(Folder, Manifest), Error> {
    let none = || Error::NotAStore { path: path.into() };
    let folder = Folder::open_if_there(path)?.ok_or_else(none)?;
    let manifest = Manifest::read_in(&folder)?.ok_or_else(none)?;
    Ok((folder, manifest))
}

/// The error that a scan over a missing page ends with.
fn missing_page() -> io::Error {
    io::Error::other("a part of it could not be read: it was cut short, or its device failed")
}
