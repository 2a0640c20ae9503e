//! The console that is standard input, key by key.

use std::{
    io::{self, IsTerminal as _, Read as _},
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use winapi_util::{HandleRef, console};

/// `ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT`.
const LINES: u32 = 0x2 | 0x4;
/// `ENABLE_VIRTUAL_TERMINAL_INPUT`: arrows and other keys send the bytes that they send on other systems.
const SEQUENCES: u32 = 0x200;

const CTRL_Z: u8 = 0x1a;

/// The mode to restore, while keys are read.
static BEFORE: Mutex<Option<u32>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<u32>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The keys of the console that is standard input: they come at once and are not shown. Ctrl-C ends the program as
/// before. The console is restored when this is dropped.
#[derive(Debug)]
pub struct Keyboard {
    /// Bytes that the thread that waits for keys has read.
    keys: Option<Receiver<io::Result<Vec<u8>>>>,
}

impl Keyboard {
    /// Returns the keyboard; `None` if standard input is no console.
    pub fn open() -> Option<Self> {
        let is_console = io::stdin().is_terminal() && console::mode(HandleRef::stdin()).is_ok();
        is_console.then_some(Self { keys: None })
    }

    /// Sets the console for keys unless it is. Returns whether it had to.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take(&mut self) -> io::Result<bool> {
        let mut before = before();
        let now = console::mode(HandleRef::stdin())?;
        if before.is_some() && now & LINES == 0 {
            return Ok(false);
        }
        console::set_mode(HandleRef::stdin(), now & !LINES | SEQUENCES)?;
        *before = Some(now);
        Ok(true)
    }

    /// Waits for keys, and returns the bytes that they send; none when the time is over.
    ///
    /// # Errors
    /// Those of the system; of the kind [`io::ErrorKind::UnexpectedEof`] if the console is gone.
    pub fn read(&mut self, wait: Duration) -> io::Result<Vec<u8>> {
        match self.keys.get_or_insert_with(start_reading).recv_timeout(wait) {
            Ok(keys) => keys,
            Err(RecvTimeoutError::Timeout) => Ok(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Starts the thread that waits for keys: the standard library cannot wait for a limited time. Where no thread can be
/// started, the console counts as gone.
fn start_reading() -> Receiver<io::Result<Vec<u8>>> {
    let (send, keys) = mpsc::channel();
    let read = move || {
        let mut bytes = [0; 64];
        loop {
            let read = match io::stdin().read(&mut bytes) {
                // The standard library returns no bytes for Ctrl-Z, as if the input had ended.
                Ok(0) if console::mode(HandleRef::stdin()).is_ok() => Ok(vec![CTRL_Z]),
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                read => read.map(|read| bytes[..read].to_vec()),
            };
            let is_end = read.is_err();
            if send.send(read).is_err() || is_end {
                return;
            }
        }
    };
    drop(thread::Builder::new().name("keys".into()).spawn(read));
    keys
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        drop(restore_terminal());
    }
}

/// The console as it was before its keys were read. Until this is dropped, [`Keyboard::take`] waits.
#[must_use = "the thread that reads keys may set the console again once this is dropped"]
#[derive(Debug)]
pub struct Restored(
    #[expect(dead_code, reason = "held, not read")] MutexGuard<'static, Option<u32>>,
);

/// Restores the console if keys are read from it.
pub fn restore_terminal() -> Restored {
    let mut before = before();
    if let Some(mode) = before.take() {
        // There is nothing to restore on a console that is gone.
        let _ = console::set_mode(HandleRef::stdin(), mode);
    }
    Restored(before)
}
