//! Output through a pager.

use std::{
    env,
    io::Write,
    process::{Child, Command, Stdio},
};

use anyhow::Context as _;

/// The pager if PAGER names none, with the options that it has if LESS names none: quit if all fits on the screen, keep
/// colours, cut long lines, leave the text on the screen.
const PAGER: &str = "less";
const LESS: &str = "FRSX";

/// Passes what `write` writes to the pager, and waits until the user ends it.
pub(super) fn page(
    write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let named = env::var("PAGER").unwrap_or_default();
    let mut words = named.split_whitespace();
    let program = words.next().unwrap_or(PAGER);
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let refused = || format!("the pager `{program}` cannot be started; PAGER names another one");
    let mut child: Child = command.spawn().with_context(refused)?;
    let written = match child.stdin.take() {
        Some(mut input) => write(&mut input),
        None => Ok(()),
    };
    child.wait().with_context(|| format!("the pager `{program}`"))?;
    // A user who ends the pager needs no more output; that the pipe is closed then is no failure of the program.
    written
}
