//! The workspace: its folders, and the cargo that started this program.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the command `cargo`.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the root of the repository.
pub(crate) fn root() -> &'static Path {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    home.parent().unwrap_or(home)
}

/// Returns the folder in which cargo builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
