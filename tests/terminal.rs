//! A terminal without a person.

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

/// How large a terminal is, and what of a program is shown on it.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub rows: u16,
    pub columns: u16,
    pub shows: Shows,
}

/// What a program prints, or what it tells of itself.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    Stdout,
    Stderr,
}

/// What a command left.
pub(crate) struct Ran {
    pub success: bool,
    /// What was on the terminal, lines without blanks at their ends.
    pub lines: Vec<String>,
    /// What was not on the terminal.
    pub apart: String,
}

/// Both ends of a new terminal: that of the person, and that of programs.
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
    // Its end of the terminal would stay open with it.
    drop(command);
    let mut shown = Vec::new();
    // A terminal whose last writer has gone is an error, not an end.
    let _ = File::from(person).read_to_end(&mut shown);
    let success = child.wait()?.success();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let text = std::fs::read_to_string(&apart)?;
    std::fs::remove_file(&apart)?;
    let lines = shown.lines().map(|line| line.trim_end().to_owned()).collect();
    Ok(Ran { success, lines, apart: text })
}
