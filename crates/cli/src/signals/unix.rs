//! The signals of Linux, macOS and their relatives.

use std::{
    io,
    sync::{
        Arc, Once,
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
use tagq::store::os::{is_ignored, restore_terminal};

static WATCHING: Once = Once::new();

/// Turns the signal for a file beyond the shell's size limit into a write error. Without this the signal ends
/// the program without a message.
pub(crate) fn outlive_file_limits() {
    // A handled signal gives a write error. If it cannot be handled, the default stays in place.
    drop(flag::register(SIGXFSZ, Arc::default()));
}

/// Calls `remove_all` when a signal ends the program. If the thread for this cannot be started, nothing is called, as
/// after SIGKILL.
pub(super) fn at_end(remove_all: fn()) {
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

/// Starts a thread that writes the first signal that ends the program into `came`; the second ends it.
pub(super) fn watch(came: Arc<AtomicUsize>) -> io::Result<()> {
    let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGQUIT, SIGTSTP]))?;
    let watch = move || {
        for signal in signals.forever() {
            let is_end = signal == SIGINT || signal == SIGTERM;
            let number = usize::try_from(signal).unwrap_or_default();
            if is_end && came.fetch_max(number, Ordering::Relaxed) == 0 {
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
    thread::Builder::new().name("stop".into()).spawn(watch).map(drop)
}

/// Returns these signals, without those that the shell ignores for a background job: they stay ignored.
fn not_ignored(signals: &[i32]) -> impl Iterator<Item = i32> {
    signals.iter().copied().filter(|signal| !is_ignored(*signal))
}
