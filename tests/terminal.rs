//! A terminal for tests.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    process::{Command, Stdio},
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
    /// All that was written to the terminal.
    pub written: String,
    /// Its lines, without trailing blanks.
    pub lines: Vec<String>,
    /// Text of the other stream.
    pub apart: String,
}

/// Opens a new terminal. Returns the end of the user and the end of programs.
#[cfg(unix)]
pub(crate) fn open(screen: Screen) -> io::Result<(File, File)> {
    use rustix::{
        fs::{Mode, OFlags},
        pty::{grantpt, ptsname, unlockpt},
        termios::{Winsize, tcgetattr, tcsetwinsize},
    };

    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    // `openpt` cannot close it in child processes on macOS.
    let person = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let name = ptsname(&person, Vec::new())?;
    let programs = rustix::fs::open(name, flags, Mode::empty())?;
    let size = Winsize { ws_row: screen.rows, ws_col: screen.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&programs, size)?;
    // An emulator may not support the settings of a terminal.
    tcgetattr(&programs)?;
    Ok((person.into(), programs.into()))
}

/// Windows has no terminal that a program can read.
#[cfg(windows)]
pub(crate) fn open(_: Screen) -> io::Result<(File, File)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Runs a command with one of its outputs on a terminal without colours.
pub(crate) fn run(mut command: Command, folder: &Path, screen: Screen) -> io::Result<Ran> {
    let (mut person, programs) = open(screen)?;
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
    let _ = person.read_to_end(&mut shown);
    let success = child.wait()?.success();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let text = std::fs::read_to_string(&apart)?;
    std::fs::remove_file(&apart)?;
    let lines = shown.lines().map(|line| line.trim_end().to_owned()).collect();
    Ok(Ran { success, written: shown, lines, apart: text })
}

/// Returns the lines that a terminal with this many columns shows after `written`, and the most that it showed.
pub(crate) fn screen_after(written: &str, columns: usize) -> (Vec<String>, usize) {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column, mut most) = (0_usize, 0, 0);
    let mut rest = written.chars();
    while let Some(next) = rest.next() {
        match next {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                let sequence: String =
                    rest.by_ref().take_while(|c| !c.is_ascii_alphabetic()).collect();
                // The letter is gone; those without a number erase, as [2K, [K and [J do.
                let number = sequence.trim_start_matches('[').parse().unwrap_or(0);
                let done = written.len() - rest.as_str().len();
                match written.as_bytes()[done - 1] {
                    b'A' => row = row.saturating_sub(number.max(1)),
                    b'B' => row += number.max(1),
                    b'K' if number == 2 => lines[row].clear(),
                    b'K' => lines[row].truncate(column),
                    b'J' => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    b'm' | b'h' | b'l' => {}
                    other => panic!("{sequence}{}", other as char),
                }
            }
            shown => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                lines.resize(lines.len().max(row + 1), Vec::new());
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = shown;
                column += 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
        most = most.max(lines.iter().filter(|line| !line.is_empty()).count());
    }
    let text = |line: Vec<char>| line.into_iter().collect::<String>().trim_end().to_owned();
    (lines.into_iter().map(text).filter(|line| !line.is_empty()).collect(), most)
}
