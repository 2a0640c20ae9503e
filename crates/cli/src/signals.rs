//! Signals: temporary files are removed when a signal ends the program.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM, SIGXFSZ},
    flag,
    iterator::Signals,
    low_level::emulate_default_handler,
};

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
        let ignored = tagq::store::os::ignored_signals();
        // Signals that the shell ignores for a background job stay ignored.
        let signals =
            [SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let Ok(mut signals) = Signals::new(signals) else { return };
        let watch = move || {
            for signal in signals.forever() {
                remove_all();
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
    /// Starts detection: the first signal is recorded, and the second ends the program.
    pub(crate) fn on_signals() -> std::io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        let ignored = tagq::store::os::ignored_signals();
        for (signal, number) in [(SIGINT, 2), (SIGTERM, 15)] {
            // Signals that the shell ignores for a background job stay ignored.
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            // The order matters: the first signal must not count as the second.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second))?;
            flag::register(signal, Arc::clone(&is_second))?;
            flag::register_usize(signal, Arc::clone(&came), number)?;
        }
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
        // Other threads may still write into the folder, so removal is retried.
        for _ in 0..100 {
            if fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok() || !path.exists() {
                break;
            }
        }
    }
}
