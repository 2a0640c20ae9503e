//! All opened rows at once: their times in memory, for views that outlive a scan, and the check of all blocks.
//!
//! Decoded times stay at one address as long as the store is open, because arrays outside may refer to them.

use std::{
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{Store, columns::View};
use crate::{
    Error,
    files::FileKind,
    format::BLOCK_ROWS,
    os::{self, Memory},
    row_values::{CheckRows as _, Kinds},
    threads,
};

/// Rows that a thread decodes before it takes others.
const PIECE_ROWS: usize = BLOCK_ROWS;

impl Store {
    /// Returns the times of all opened rows in ticks: the column, or where there is none, memory into which they are
    /// decoded when they are first asked for. It has the same address each time, and is read-only.
    ///
    /// # Errors
    /// [`Error::Memory`] if they would take more than half of the memory that is available; those of
    /// [`Store::guarded`].
    pub fn whole_times(&self) -> Result<&[i64], Error> {
        if self.manifest.has_times() {
            self.guarded(|store| store.tags().time.column().map(|times| times.all().len()))?;
            return Ok(self.decoded_times().unwrap_or_default());
        }
        if self.opened().is_empty() {
            return Ok(&[]);
        }
        let _decoding = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = self.decoded_times() {
            return Ok(times);
        }
        let decoded = self.guarded(Self::decode_all)??;
        Ok(bytemuck::cast_slice(self.decoded.get_or_init(|| decoded).bytes()))
    }

    /// Returns the times of all opened rows if they are in memory.
    pub fn decoded_times(&self) -> Option<&[i64]> {
        let decoded = || Some(bytemuck::cast_slice(self.decoded.get()?.bytes()));
        self.times_in(View::Unguarded).column().map(|times| times.all()).or_else(decoded)
    }

    /// Checks the index, and compares all blocks of the opened rows with their checksums.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`].
    pub fn check(&self) -> Result<(), Error> {
        self.blocks()?;
        self.guarded(|store| store.wrong_blocks(|_| true))?;
        Ok(())
    }

    /// Returns the numbers of the blocks of the opened rows that do not have their checksums, ascending. Gaps beside a
    /// column of times are not looked at.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn damaged_blocks(&self) -> Result<Vec<usize>, Error> {
        let is_needed = |kind| kind != FileKind::Gap || !self.manifest.has_times();
        self.guarded_pages(|store| store.wrong_blocks(is_needed))
    }

    /// Compares all blocks of the opened rows with their checksums, in the files of these kinds.
    fn wrong_blocks(&self, is_wanted: impl Fn(FileKind) -> bool) -> Vec<usize> {
        let kinds = self.kinds(is_wanted);
        let (next, wrong) = (AtomicUsize::new(self.of_blocks.start), Mutex::default());
        on_all_threads(|| {
            loop {
                let row = next.fetch_add(BLOCK_ROWS, Ordering::Relaxed);
                if row >= self.of_blocks.end {
                    break;
                }
                if !self.check_rows(kinds, row..row + 1) {
                    let mut wrong: MutexGuard<'_, Vec<usize>> =
                        wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    wrong.push(row / BLOCK_ROWS);
                }
            }
        });
        let mut wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
        wrong.sort_unstable();
        wrong
    }

    /// Returns those of the opened files that are wanted.
    pub(super) fn kinds(&self, is_wanted: impl Fn(FileKind) -> bool) -> Kinds {
        let opened = self.columns.present().map(|(kind, _)| kind).filter(|&kind| is_wanted(kind));
        opened.map(Kinds::from).fold(Kinds::default(), |all, kind| all | kind)
    }

    fn decode_all(&self) -> Result<Memory, Error> {
        let times = self.tags().time;
        let bytes = times.len() as u64 * size_of::<i64>() as u64;
        check_memory(self.folder(), bytes, os::available_memory())?;
        let path = self.rows_path();
        let memory = Memory::filled(times.len() * size_of::<i64>(), |bytes| {
            let decoded: &mut [i64] = bytemuck::cast_slice_mut(bytes);
            let pieces = (0..).step_by(PIECE_ROWS).zip(decoded.chunks_mut(PIECE_ROWS));
            let pieces = Mutex::new(pieces);
            let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
            on_all_threads(|| {
                let mut buffer = Vec::new();
                while let Some((first, piece)) = next() {
                    let rows = first..first + piece.len();
                    piece.copy_from_slice(times.read(rows, &mut buffer));
                }
            });
        });
        memory.map_err(crate::error::io_error(&path, "get memory for its times"))
    }
}

/// Does the same work on all threads, which share it.
fn on_all_threads(work: impl Fn() + Sync) {
    thread::scope(|scope| {
        // The work of threads that cannot be started is done here.
        for _ in 1..threads(0) {
            drop(thread::Builder::new().spawn_scoped(scope, &work));
        }
        work();
    });
}

/// Refuses memory that would leave less than half of the available memory to others.
fn check_memory(folder: &Path, bytes: u64, available: u64) -> Result<(), Error> {
    if bytes > available / 2 {
        return Err(Error::Memory { path: folder.into(), bytes, available });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_half_of_the_available_memory_at_most() {
        for (bytes, available, is_refused) in
            [(0, 0, false), (8, 16, false), (8, 15, true), (u64::MAX, u64::MAX, true)]
        {
            let checked = check_memory(Path::new("run/.tagq"), bytes, available);
            assert_eq!(checked.is_err(), is_refused, "{bytes} of {available}");
            if let Err(error) = checked {
                let text = error.to_string();
                assert!(text.contains("run/.tagq") && text.contains("--times on"), "{text}");
            }
        }
    }
}
