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

/// As wide as most pages of the book are shown.
const COLUMNS: u16 = 100;

/// What a command left.
pub(super) struct Ran {
    pub success: bool,
    /// What was on the terminal, lines without blanks at their ends.
    pub lines: Vec<String>,
    pub stderr: String,
}

/// Both ends of a new terminal: that of the person, and that of programs.
pub(super) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let name = ptsname(&person, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let programs = rustix::fs::open(name, flags, Mode::empty())?;
    let size = Winsize { ws_row: 50, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&programs, size)?;
    Ok((person, programs))
}

/// Runs a command with its standard output on a terminal of 100 columns without colours.
pub(super) fn run(mut command: Command, folder: &Path) -> io::Result<Ran> {
    let (person, programs) = open()?;
    let errors = folder.join(".stderr");
    command.stdin(Stdio::null()).stdout(programs).stderr(File::create(&errors)?);
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
    let stderr = std::fs::read_to_string(&errors)?;
    std::fs::remove_file(&errors)?;
    let lines = shown.lines().map(|line| line.trim_end().to_owned()).collect();
    Ok(Ran { success, lines, stderr })
}
