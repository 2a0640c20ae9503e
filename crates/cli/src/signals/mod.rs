//! Signals, or their replacement on Windows: temporary files are removed when one ends the program.

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(crate) use system::outlive_file_limits;

static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes this file or folder when a signal ends the program.
pub(crate) fn remove_at_end(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
    system::at_end(remove_all);
}

/// Detects the signals that end a program that runs until it is stopped.
pub(crate) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// The exit code of a program that the user interrupted.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// Starts detection: the first signal is recorded, and the second ends the program.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        system::watch(Arc::clone(&came))?;
        Ok(Self(came))
    }

    /// Returns the exit code for the signal that arrived, or `None`.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}

fn remove_all() {
    for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // Other threads may still write into the folder, so removal is retried. On Windows folders that they have open
        // stay, but not the files in them.
        for _ in 0..100 {
            remove_files(path);
            if fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok() || !path.exists() {
                break;
            }
        }
    }
}

/// Removes the files in a folder and in the folders in it.
fn remove_files(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_files(&entry.path());
        } else {
            drop(fs::remove_file(entry.path()));
        }
    }
}
