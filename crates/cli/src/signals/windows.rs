//! Ctrl-C, Ctrl-Break and the end of the console on Windows, all as an interrupt.

use std::{
    io, process,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tagq::store::os::restore_terminal;

use super::Stop;

/// The number of the signal of Ctrl-C on other systems.
const INTERRUPT: usize = 2;

/// The action of an interrupt: there is one handler in a process.
#[derive(Default)]
struct Interrupt {
    /// Called before the program ends.
    remove_all: Option<fn()>,
    /// Takes the first interrupt, if nothing is to be removed.
    came: Option<Arc<AtomicUsize>>,
}

static INTERRUPTS: Mutex<Interrupt> = Mutex::new(Interrupt { remove_all: None, came: None });
static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();

/// There is no such limit.
pub(crate) fn outlive_file_limits() {}

/// Calls `remove_all` when an interrupt ends the program. If that cannot be detected, nothing is called.
pub(super) fn at_end(remove_all: fn()) {
    set(|interrupt| interrupt.remove_all = Some(remove_all));
    drop(handle());
}

/// Writes the first interrupt into `came`; the second ends the program.
pub(super) fn watch(came: Arc<AtomicUsize>) -> io::Result<()> {
    set(|interrupt| interrupt.came = Some(came));
    handle()
}

fn set(change: impl FnOnce(&mut Interrupt)) {
    change(&mut INTERRUPTS.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Installs the handler once in a process.
fn handle() -> io::Result<()> {
    let set = || ctrlc::set_handler(interrupted).map_err(|error| error.to_string());
    HANDLER.get_or_init(set).clone().map_err(io::Error::other)
}

fn interrupted() {
    let interrupts = INTERRUPTS.lock().unwrap_or_else(PoisonError::into_inner);
    match (interrupts.remove_all, &interrupts.came) {
        (Some(remove_all), _) => remove_all(),
        (None, Some(came)) if came.fetch_max(INTERRUPT, Ordering::Relaxed) == 0 => return,
        (None, _) => {}
    }
    let _restored = restore_terminal();
    process::exit(Stop::INTERRUPTED.into());
}
