//! Opening a store for writing: a new one, the one that is there, or that one from scratch.
//!
//! The manifest is read again once the lock is held, because another writer may have committed. All files are checked
//! before one of them is cut or removed: a file of another run must stay as it is.

use std::{path::Path, sync::Arc};

use super::{
    Creation, Writer,
    lock::Lock,
    planned::Planned,
    tally::{BlockTally, OpenBlock, by_label},
};
use crate::{
    Error, Folder, Manifest, RunId,
    checked::CheckedFile,
    disk::{self, Disk, RealDisk},
    files::{FileKind, PerFile},
    folder::random_bytes,
    format,
    growing::Growing,
    leftovers::{check_only_ours, files_in},
    names::LOCK_NAME,
};

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
        let is_made = disk::create_folder(&*disk, path)?;
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
        // Files are created, never overwritten. Files with their names were never committed.
        for file in files_in(&folder)? {
            disk.remove(&folder, &file.name)?;
        }
        let manifest = new_manifest(path, creation)?;
        let created = Self::create(Arc::clone(&disk), folder, manifest, lock);
        if created.is_err()
            && let Ok(folder) = Folder::open(path)
            && let Ok(lock) = Lock::take(&folder)
        {
            remove_uncommitted(&*disk, folder, lock, is_made);
        }
        Ok(Self { is_made, ..created? })
    }

    /// Gives up what was not committed. A store that was never committed is removed, with its folder if
    /// this writer made it.
    pub fn discard(self) {
        if self.manifest.commit == 0 {
            let Self { disk, folder, files, lock, is_made, .. } = self;
            drop(files);
            remove_uncommitted(&*disk, folder, lock, is_made);
        }
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
        let obsolete = old.file_names();
        let Self { disk, folder, manifest: before, lock, .. } = old;
        let tick = Creation {
            tick: before.tick,
            tick_assumed: before.tick_assumed,
            run_id: creation.run_id,
        };
        let mut manifest = new_manifest(folder.path(), &tick)?;
        manifest.commit = before.commit;
        for kind in FileKind::all() {
            if let Some(file) = &mut manifest.files[kind] {
                file.name = kind.layout().unused_name(&folder, before.commit + 1)?;
            }
        }
        let mut writer = Self::create(disk, folder, manifest, lock)?;
        writer.obsolete = obsolete;
        if !before.has_times() {
            writer.drop_times()?;
        } else if before.has_gaps() {
            writer.make_gaps()?;
        }
        Ok(writer)
    }

    fn create(
        disk: Arc<dyn Disk>,
        folder: Folder,
        manifest: Manifest,
        lock: Lock,
    ) -> Result<Self, Error> {
        let run_id = manifest.run_id;
        let mut files = PerFile::default();
        for (kind, file) in manifest.files.present() {
            let header = format::encode_header(kind, file.width, run_id);
            files[kind] = Some(Growing::create(&disk, &folder, &file.name, &header)?);
        }
        Ok(Self {
            files,
            micro_tick: None,
            folder,
            planned: Planned::default(),
            open_block: OpenBlock::default(),
            open_source: BlockTally::default(),
            run: BlockTally::default(),
            chain: 0,
            count_entries: 0,
            far_entries: 0,
            sources: Vec::new(),
            obsolete: Vec::new(),
            names_changed: true,
            poisoned: false,
            failed: None,
            threads: 1,
            workers: None,
            is_made: false,
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
        let mut files = PerFile::default();
        for committed in manifest.committed() {
            let file = disk.open(&folder, &committed.file.name)?;
            let checked = CheckedFile::new(&folder, file, &committed, manifest.run_id)?;
            files[committed.kind] = Some(Growing::resume(&disk, checked));
        }
        let debris = manifest.debris(&folder)?;
        // Only now it is known that a writer of this run left all of it.
        files.present().try_for_each(|(_, file): (_, &Growing)| file.cut())?;
        for name in debris {
            disk.remove(&folder, &name)?;
        }
        Ok(Self {
            folder,
            files,
            micro_tick: manifest.micro_tick,
            planned: Planned::new(manifest.rows, manifest.time_first.zip(manifest.time_last)),
            open_block: manifest.last_block.as_ref().map(OpenBlock::resume).unwrap_or_default(),
            open_source: BlockTally::default(),
            run: BlockTally {
                rows: manifest.rows,
                span: manifest.time_first.zip(manifest.time_last),
                by_channel: by_label(&manifest.channels),
            },
            chain: manifest.chain,
            count_entries: manifest.count_entries,
            far_entries: manifest.far_entries.unwrap_or(0),
            sources: manifest.sources.clone(),
            obsolete: Vec::new(),
            names_changed: false,
            poisoned: false,
            failed: None,
            threads: 1,
            workers: None,
            is_made: false,
            manifest,
            disk,
            lock,
        })
    }

    /// Makes the last commit of the store in `folder` durable: its writer may have been killed after the rename and
    /// before the sync of the folder.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn make_durable(folder: &Path) -> Result<(), Error> {
        disk::sync_folder(&RealDisk, &Folder::open(folder)?)?;
        disk::sync_name(&RealDisk, folder)
    }
}

/// Removes the files of a store without a commit, and its folder if `is_made`. No other process writes it, because of
/// the lock. The next writer removes files that stay.
fn remove_uncommitted(disk: &dyn Disk, folder: Folder, lock: Lock, is_made: bool) {
    let (Ok(None), Ok(files)) = (Manifest::read_in(&folder), files_in(&folder)) else { return };
    for name in files.iter().map(|file| &*file.name).chain([LOCK_NAME]) {
        drop(disk.remove(&folder, name));
    }
    // On Windows the lock and the folder go only when they are closed. A folder with the lock of another writer is not
    // empty.
    let path = folder.path().to_owned();
    drop((lock, folder));
    if is_made {
        drop(disk.remove_folder(&path));
    }
}

fn new_manifest(folder: &Path, creation: &Creation) -> Result<Manifest, Error> {
    let run_id = match creation.run_id {
        Some(run_id) => run_id,
        None => RunId(random_bytes(folder)?),
    };
    Ok(Manifest::new(run_id, creation.tick, creation.tick_assumed))
}
