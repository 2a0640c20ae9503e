//! A terminal for tests.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::Path,
    process::{Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// Size of a terminal, and which stream of a program it shows.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub rows: u16,
    pub columns: u16,
    pub shows: Shows,
}

/// Standard output or standard error.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    Stdout,
    Stderr,
}

/// Output of a command.
pub(crate) struct Ran {
    pub success: bool,
    /// Lines on the terminal, without trailing blanks.
    pub lines: Vec<String>,
    /// Text of the other stream.
    pub apart: String,
}

/// Opens a new terminal. Returns the end of the user and the end of programs.
pub(crate) fn open(screen: Screen) -> io::Result<(OwnedFd, OwnedFd)> {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let name = ptsname(&person, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let programs = rustix::fs::open(name, flags, Mode::empty())?;
    let size = Winsize { ws_row: screen.rows, ws_col: screen.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&programs, size)?;
    Ok((person, programs))
}

/// Runs a command with one of its outputs on a terminal without colours.
pub(crate) fn run(mut command: Command, folder: &Path, screen: Screen) -> io::Result<Ran> {
    let (person, programs) = open(screen)?;
    let apart = folder.join(".apart");
    let file = File::create(&apart)?;
    command.stdin(Stdio::null());
    match screen.shows {
        Shows::Stdout => command.stdout(programs).stderr(file),
        Shows::Stderr => command.stdout(file).stderr(programs),
    };
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "TAGQ_REAL_DATA"] {
        command.env_remove(name);
    }
    let mut child = command.env("NO_COLOR", "1").env("TERM", "xterm").spawn()?;
    // Otherwise the program's end of the terminal stays open.
    drop(command);
    let mut shown = Vec::new();
    // When the last writer of a terminal closes, reading gives an error in place of an end.
    let _ = File::from(person).read_to_end(&mut shown);
    let success = child.wait()?.success();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let text = std::fs::read_to_string(&apart)?;
    std::fs::remove_file(&apart)?;
    let lines = shown.lines().map(|line| line.trim_end().to_owned()).collect();
    Ok(Ran { success, lines, apart: text })
}
