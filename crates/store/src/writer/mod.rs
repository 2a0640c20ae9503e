//! Appending to a store: rows, then a commit that makes them visible and durable at once.
//!
//! A commit syncs the columns and indexes, then the folder if names are new, and replaces the manifest last. So the
//! manifest never names rows that are not on the disk. Files that it no longer names are removed after that. After a
//! failed write or sync the writer refuses everything else, because the content of the disk is unknown.

mod append;
mod block_part;
mod dead;
mod gaps;
mod lock;
mod open;
mod planned;
pub mod remove;
mod tally;
mod times;
mod widen;
mod workers;

use std::sync::Arc;

use lock::Lock;
use planned::Planned;
use tally::{BlockTally, OpenBlock, by_label};
use workers::Workers;

use crate::{
    Error, Folder, MANIFEST_NAME, Manifest, RunId, Source, SourceFacts, Tick,
    disk::{self, Disk},
    files::{FileKind, PerFile},
    growing::Growing,
    manifest::LastBlock,
};

/// Properties of a store that is made because there is none yet.
#[derive(Debug, Clone)]
pub struct Creation {
    /// The unit of all times.
    pub tick: Tick,
    /// Whether that is the default, which no user has confirmed.
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
    /// The files of the store, those that the manifest names.
    files: PerFile<Option<Growing>>,
    /// The unit of micro times, also before the first of them comes.
    micro_tick: Option<Tick>,
    /// Rows appended. The three tallies below lack those that are not written yet.
    planned: Planned,
    open_block: OpenBlock,
    open_source: BlockTally,
    run: BlockTally,
    chain: u32,
    count_entries: u64,
    /// Far distances written; 0 in a store with a column of times.
    far_entries: u64,
    sources: Vec<Source>,
    /// Files that the next commit replaces by others.
    obsolete: Vec<String>,
    names_changed: bool,
    poisoned: bool,
    /// The error that no call has returned yet.
    failed: Option<Error>,
    threads: usize,
    /// Whether it made the folder.
    is_made: bool,
    /// Stops before the lock is given back, because other writers cut these files.
    workers: Option<Workers>,
    lock: Lock,
}

impl Writer {
    /// The store as of its last commit.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// First and last time of the rows appended, committed or not, in ticks.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.planned.span
    }

    /// The sources that were finished, committed or not.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The source finished last, committed or not.
    pub fn last_source(&self) -> Option<&Source> {
        self.sources.last()
    }

    /// Begins a source: the rows appended from here to [`Writer::finish_source`] are its own.
    pub fn begin_source(&mut self) {
        self.settle();
        self.open_source = BlockTally::default();
        self.planned.source_last = None;
    }

    /// Continues the source finished last: the rows appended from here to [`Writer::finish_source`] are added to its
    /// own. Returns what it was; `None` when the run has no source.
    pub fn continue_source(&mut self) -> Option<Source> {
        self.settle();
        let source = self.sources.pop()?;
        self.planned.source_last = source.time_last;
        self.open_source = BlockTally {
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
        self.planned.source_last = None;
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
            return Err(Error::MicroTick { path, set: set.exact(), asked: tick.exact() });
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
        if result.is_err() {
            self.poisoned = true;
            // No result of a later task is taken without those before it.
            self.planned.in_flight.clear();
        }
        result
    }

    /// Refuses everything after an error, which it returns if no call has.
    fn check(&mut self) -> Result<(), Error> {
        match self.failed.take() {
            Some(error) => Err(error),
            None if self.poisoned => Err(self.poisoned_error()),
            None => Ok(()),
        }
    }

    fn poisoned_error(&self) -> Error {
        Error::Poisoned { path: self.folder.path().into() }
    }

    /// Rows appended since the last commit.
    pub fn uncommitted_rows(&self) -> u64 {
        self.planned.rows - self.manifest.rows
    }

    /// Adds the rows appended to the totals; the next call that can fail returns the error of one that could not
    /// be written.
    fn settle(&mut self) {
        if let Err(error) = self.drain() {
            self.failed.get_or_insert(error);
        }
    }

    /// The file of a kind that every store has, or that this one is known to have.
    fn file(&self, kind: FileKind) -> &Growing {
        self.files[kind].as_ref().unwrap_or_else(|| unreachable!("the store has this file"))
    }

    fn append_to(&mut self, kind: FileKind, bytes: &[u8]) -> Result<(), Error> {
        self.files[kind].as_mut().map_or(Ok(()), |file| file.append(bytes))
    }

    /// The names of the files that the next commit names.
    fn file_names(&self) -> Vec<String> {
        self.files.present().map(|(_, file)| file.name().to_owned()).collect()
    }

    fn commit_checked(&mut self) -> Result<(), Error> {
        self.check()?;
        self.drain()?;
        self.workers = None;
        self.write_dead()?;
        for (_, file) in self.files.present() {
            file.sync()?;
        }
        if self.names_changed {
            disk::sync_folder(&*self.disk, &self.folder)?;
        }
        let last_block = &self.open_block;
        self.manifest = Manifest {
            commit: self.manifest.commit + 1,
            micro_tick: self.micro_tick.filter(|_| self.manifest.has_micro()),
            rows: self.run.rows,
            time_first: self.run.span.map(|(first, _)| first),
            time_last: self.run.span.map(|(_, last)| last),
            channels: self.run.channels(),
            count_entries: self.count_entries,
            far_entries: (!self.manifest.has_times()).then_some(self.far_entries),
            chain: self.chain,
            last_block: last_block.tally.span.map(|(time_min, time_max)| LastBlock {
                #[expect(clippy::cast_possible_truncation, reason = "below 65,536")]
                rows: last_block.tally.rows as u32,
                time_min,
                time_max,
                checksums: PerFile::from_fn(|kind| {
                    self.manifest.is_checksummed(kind).then_some(last_block.checksums[kind])
                }),
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
