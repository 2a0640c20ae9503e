//! The shell for which commands in messages are quoted.

/// A shell, which decides how words of a command are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// That of Unix.
    Posix,
    /// That of Windows.
    PowerShell,
}

/// The shell of this system.
pub const SHELL: Shell = if cfg!(windows) { Shell::PowerShell } else { Shell::Posix };
