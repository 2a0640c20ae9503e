//! What is temporary goes when a signal ends the program.

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

/// From now on a file that grows beyond the limit of the shell is an error of writing it, and not the
/// silent end of the program.
pub(crate) fn outlive_file_limits() {
    // Whoever handles the signal gets the error. Where that cannot be, it stays as it was.
    drop(flag::register(SIGXFSZ, Arc::default()));
}

/// From now on a signal that ends the program removes this file or folder first. Without a thread to
/// do so it stays, as it does when the program is killed.
pub(crate) fn remove_at_end(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
    WATCHING.call_once(|| {
        let ignored = ignored_signals();
        // What the shell has ignored for a job in the background stays ignored.
        let signals =
            [SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let Ok(mut signals) = Signals::new(signals) else { return };
        let watch = move || {
            for signal in signals.forever() {
                remove_all();
                // Ends the program as the signal would have done.
                drop(emulate_default_handler(signal));
            }
        };
        drop(thread::Builder::new().name("signals".into()).spawn(watch));
    });
}

/// Notices the signals that end a program that goes on until it is told to stop.
pub(crate) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From now on the first such signal is noticed, and the second ends the program.
    pub(crate) fn on_signals() -> std::io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        let ignored = ignored_signals();
        for (signal, number) in [(SIGINT, 2), (SIGTERM, 15)] {
            // What the shell has ignored for a job in the background stays ignored.
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            // In this order: the first one is not the second.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second))?;
            flag::register(signal, Arc::clone(&is_second))?;
            flag::register_usize(signal, Arc::clone(&came), number)?;
        }
        Ok(Self(came))
    }

    /// The exit code of the signal that came.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}

fn remove_all() {
    for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // Others still write into it: what they make in between takes another round.
        for _ in 0..100 {
            if fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok() || !path.exists() {
                break;
            }
        }
    }
}

/// The signals that this process ignores, as the system shows them: bit 0 is signal 1.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
