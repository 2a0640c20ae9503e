//! The terminal that is standard input, key by key.

use std::{
    env,
    io::{self, IsTerminal as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    },
};

/// The settings to restore, while keys are read.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The keys of the terminal that is standard input: they come at once and are not shown. Ctrl-C and Ctrl-Z stay
/// signals. The terminal is restored when this is dropped.
#[derive(Debug)]
pub struct Keyboard(());

impl Keyboard {
    /// Returns the keyboard; `None` if standard input is not the terminal of this session, or is one that cannot show
    /// what its keys change.
    pub fn open() -> Option<Self> {
        let stdin = io::stdin();
        let is_plain = env::var_os("TERM").is_none_or(|term| term == "dumb");
        (!is_plain && stdin.is_terminal() && tcgetpgrp(&stdin).is_ok()).then_some(Self(()))
    }

    /// Sets the terminal for keys unless it is. Returns whether it had to: at first, and after another program
    /// had it. In the background, where a program may neither read nor set it, nothing is done.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take(&mut self) -> io::Result<bool> {
        let stdin = io::stdin();
        let mut before = before();
        if !is_in_foreground() {
            return Ok(false);
        }
        let modes = LocalModes::ICANON | LocalModes::ECHO;
        let now = tcgetattr(&stdin)?;
        if before.is_some() && !now.local_modes.intersects(modes) {
            return Ok(false);
        }
        let mut keys = now.clone();
        keys.local_modes -= modes;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        *before = Some(now);
        tcsetattr(&stdin, OptionalActions::Now, &keys)?;
        Ok(true)
    }

    /// Waits for keys, and returns the bytes that they send; none when the time is over, at a signal, and in the
    /// background.
    ///
    /// # Errors
    /// Those of the system; of the kind [`io::ErrorKind::UnexpectedEof`] if the terminal is gone.
    pub fn read(&mut self, wait: Duration) -> io::Result<Vec<u8>> {
        let stdin = io::stdin();
        if !is_in_foreground() {
            std::thread::sleep(wait);
            return Ok(Vec::new());
        }
        let wait = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 64];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => Ok(bytes[..read].to_vec()),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        drop(restore_terminal());
    }
}

/// The terminal as it was before its keys were read. Until this is dropped, [`Keyboard::take`] waits.
#[must_use = "the thread that reads keys may set the terminal again once this is dropped"]
#[derive(Debug)]
pub struct Restored(
    #[expect(dead_code, reason = "held, not read")] MutexGuard<'static, Option<Termios>>,
);

/// Restores the terminal if keys are read from it. A program that ends or stops in another way than by dropping the
/// [`Keyboard`] calls it before, and holds what it returns until the end or the stop is over.
pub fn restore_terminal() -> Restored {
    let mut before = before();
    if let Some(settings) = before.take()
        && is_in_foreground()
    {
        // There is nothing to restore on a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &settings);
    }
    Restored(before)
}

/// Whether the terminal gives its keys to this program.
fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
