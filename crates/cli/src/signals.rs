//! Signals: temporary files are removed when a signal ends the program.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGXFSZ},
    flag,
    iterator::Signals,
    low_level::{emulate_default_handler, exit},
};
use tagq::store::os::restore_terminal;

static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCHING: Once = Once::new();

/// Turns the signal for a file beyond the shell's size limit into a write error. Without this the signal ends
/// the program without a message.
pub(crate) fn outlive_file_limits() {
    // A handled signal gives a write error. If it cannot be handled, the default stays in place.
    drop(flag::register(SIGXFSZ, Arc::default()));
}

/// Removes this file or folder when a signal ends the program. If the thread for this cannot be started, the
/// file stays, as after SIGKILL.
pub(crate) fn remove_at_end(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
    WATCHING.call_once(|| {
        let Ok(mut signals) = Signals::new(not_ignored(&[SIGINT, SIGTERM])) else { return };
        let watch = move || {
            for signal in signals.forever() {
                remove_all();
                let _restored = restore_terminal();
                // End the program as the signal does by default.
                drop(emulate_default_handler(signal));
            }
        };
        drop(thread::Builder::new().name("signals".into()).spawn(watch));
    });
}

/// Detects the signals that end a program that runs until it is stopped.
pub(crate) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// The exit code of a program that the user interrupted.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// Starts detection: the first signal is recorded, and the second ends the program.
    pub(crate) fn on_signals() -> std::io::Result<Self> {
        let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGQUIT, SIGTSTP]))?;
        let came = Arc::new(AtomicUsize::new(0));
        let first = Arc::clone(&came);
        let watch = move || {
            for signal in signals.forever() {
                let is_end = signal == SIGINT || signal == SIGTERM;
                let number = usize::try_from(signal).unwrap_or_default();
                if is_end && first.fetch_max(number, Ordering::Relaxed) == 0 {
                    continue;
                }
                // The program ends or stops here, and the terminal is for others.
                let _restored = restore_terminal();
                if is_end {
                    exit(128 + signal);
                }
                drop(emulate_default_handler(signal));
            }
        };
        thread::Builder::new().name("stop".into()).spawn(watch)?;
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

/// Returns these signals, without those that the shell ignores for a background job: they stay ignored.
fn not_ignored(signals: &[i32]) -> impl Iterator<Item = i32> {
    let ignored = tagq::store::os::ignored_signals();
    signals.iter().copied().filter(move |signal| ignored >> (signal - 1) & 1 == 0)
}

fn remove_all() {
    for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // Other threads may still write into the folder, so removal is retried.
        for _ in 0..100 {
            if fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok() || !path.exists() {
                break;
            }
        }
    }
}
