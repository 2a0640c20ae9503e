//! A shell: the same on all systems.

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
