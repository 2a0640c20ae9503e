//! A store of rows that a program has in memory; like a new file, it appears complete or not at all.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use tagq_store::{Creation, MicroColumn, SourceFacts, Store, Tick, Writer, format::MICRO_NONE, os};

use crate::{
    Run, destination::check_outside_stores, destination::folder_of, error::Error, open::open,
    options::OpenOptions, progress::Silent, unfinished::UnfinishedFolder, writer::choose_columns,
};

/// An unfinished store: created next to its target, and renamed when it is complete and durable. If it
/// is dropped before that, nothing is left of it.
#[derive(Debug)]
pub struct NewStore {
    writer: Writer,
    folder: UnfinishedFolder,
    at: Option<PathBuf>,
}

impl NewStore {
    /// Checks that a store can be made at `at`.
    ///
    /// # Errors
    /// [`Error::StoreThere`], [`Error::InStore`].
    pub fn check(at: &Path) -> Result<(), Error> {
        check_outside_stores(at)?;
        match fs::symlink_metadata(at) {
            Ok(_) => Err(Error::StoreThere { path: at.into() }),
            Err(_) => Ok(()),
        }
    }

    /// Starts a store at `at` with one source that has no file and is listed as `name`; without `at`
    /// the store is temporary and is removed with the run. If no tick is given, the default tick is
    /// assumed.
    ///
    /// # Errors
    /// [`Error::StoreThere`], [`Error::InStore`], and errors from creating a folder.
    pub fn create(at: Option<&Path>, tick: Option<Tick>) -> Result<Self, Error> {
        at.map_or(Ok(()), Self::check)?;
        let around = at.map_or_else(env::temp_dir, |at| folder_of(at).into());
        let folder = UnfinishedFolder::create_in(&around);
        let folder = folder.map_err(io_error(&around, "make a folder in it"))?;
        let tick_assumed = tick.is_none();
        let creation = Creation { tick: tick.unwrap_or(Tick::DEFAULT), tick_assumed, run_id: None };
        let mut writer = Writer::open(&folder.path().join("run"), &creation)?;
        choose_columns(&mut writer, &OpenOptions::default())?;
        writer.begin_source();
        Ok(Self { writer, folder, at: at.map(Into::into) })
    }

    /// Appends tags: `times[i]` in ticks and `channels[i]` are one tag. They must be in time order and
    /// not before the last tag.
    ///
    /// # Errors
    /// [`tagq_store::Error::Unsorted`], [`tagq_store::Error::Span`], and errors of the disk.
    ///
    /// # Panics
    /// Panics if the lengths differ.
    pub fn append(&mut self, times: &[i64], channels: &[u16]) -> Result<(), Error> {
        Ok(self.writer.append(times, channels)?)
    }

    /// Appends tags as [`NewStore::append`] does, `micro[i]` being the micro time of a tag:
    /// [`MICRO_NONE`] for none, and no values at all if none of the tags has one.
    ///
    /// # Errors
    /// As [`NewStore::append`].
    ///
    /// # Panics
    /// Panics if the lengths differ.
    pub fn append_with_micro(
        &mut self,
        times: &[i64],
        channels: &[u16],
        micro: &[u32],
    ) -> Result<(), Error> {
        Ok(self.writer.append_with_micro(times, channels, micro)?)
    }

    /// Sets the unit of micro times.
    ///
    /// # Errors
    /// [`tagq_store::Error::MicroTick`] if another one was set.
    pub fn set_micro_tick(&mut self, tick: Tick) -> Result<(), Error> {
        Ok(self.writer.set_micro_tick(tick)?)
    }

    /// Returns the writer, for sources that are begun and ended there.
    pub(crate) fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Makes the store durable, moves it to its target, and opens it. `name` is the name of the source
    /// in the manifest.
    ///
    /// # Errors
    /// [`Error::StoreThere`] if something else took the target in the meantime; errors of the disk.
    pub fn finish(self, name: &str, options: &OpenOptions) -> Result<Run, Error> {
        self.finish_as(SourceFacts::named(name), options)
    }

    /// Same as [`NewStore::finish`], with all facts of the source.
    pub(crate) fn finish_as(
        mut self,
        facts: SourceFacts,
        options: &OpenOptions,
    ) -> Result<Run, Error> {
        self.writer.finish_source(facts);
        self.place(options)
    }

    /// Makes the store durable, moves it to its target, and opens it. All sources have ended.
    ///
    /// # Errors
    /// As [`NewStore::finish`].
    pub(crate) fn place(mut self, options: &OpenOptions) -> Result<Run, Error> {
        self.writer.commit()?;
        drop(self.writer);
        let made = self.folder.path().join("run");
        let options = OpenOptions { ingest: false, tick: None, ..options.clone() };
        let Some(at) = self.at else {
            // Nothing of it is left after the folder is removed, not even by a process that is killed.
            return open(&made, &options.of_removed_store(), &Silent);
        };
        os::rename_new(&made, &at).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory => Error::StoreThere { path: at.clone() },
            _ => io_error(&at, "put the store in its place")(source),
        })?;
        os::sync_folder(folder_of(&at)).map_err(io_error(&at, "make its name durable"))?;
        debug_assert!(Store::is_at(&at), "a store was made");
        open(&at, &options, &Silent)
    }
}

fn io_error(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}

/// Returns the micro time of a row as a new store takes it.
pub(crate) fn micro_of(column: Option<MicroColumn<'_>>, row: u64) -> u32 {
    let of = |column: MicroColumn<'_>| column.get(usize::try_from(row).ok()?);
    column.and_then(of).unwrap_or(MICRO_NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_there_whole_or_not_at_all() {
        let around = tempfile::tempdir().unwrap();
        let at = around.path().join("made.tagq");
        let mut store = NewStore::create(Some(&at), None).unwrap();
        store.append(&[1, 2, 2], &[3, 300, 3]).unwrap();
        assert!(store.append(&[1], &[3]).is_err());
        drop(store);
        assert_eq!(fs::read_dir(around.path()).unwrap().count(), 0);

        let mut store = NewStore::create(Some(&at), "4ps".parse().ok()).unwrap();
        store.append(&[1, 2, 2], &[3, 300, 3]).unwrap();
        let run = store.finish("arrays", &OpenOptions::default()).unwrap();
        assert_eq!(run.store().tags().time, [1, 2, 2]);
        assert_eq!(run.store().manifest().tick, "4ps".parse().unwrap());
        assert_eq!(fs::read_dir(around.path()).unwrap().count(), 1);
        let there = NewStore::create(Some(&at), None).unwrap_err().to_string();
        assert!(there.contains("is there already"), "{there}");
    }

    #[test]
    fn a_store_without_a_place_lives_as_long_as_its_run() {
        let mut store = NewStore::create(None, None).unwrap();
        store.append(&[7], &[1]).unwrap();
        let run = store.finish("arrays", &OpenOptions::default()).unwrap();
        assert!(!run.store().folder().exists());
        assert_eq!(run.store().tags().time, [7]);
    }
}
