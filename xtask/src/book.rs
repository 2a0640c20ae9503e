//! The book: regenerates its outputs and figures, and builds pages for a browser.

use std::{
    io,
    process::{Command, ExitCode},
};

use crate::{
    ended,
    tools::{from_registry, succeed},
    workspace::{cargo, root},
};

/// The version of mdbook that makes the pages.
const MDBOOK: &str = "0.5.4";

/// Runs the test of the book in write mode, then builds HTML with mdbook.
pub(crate) fn run() -> ExitCode {
    let args = ["test", "--workspace", "--test", "whole", "book::"];
    let written = cargo().args(args).env("TAGQ_BOOK", "write").status();
    if !written.is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    eprintln!(
        "docs/book has the outputs and figures of now; `git diff docs/book` shows what is new"
    );
    ended(pages())
}

fn pages() -> io::Result<()> {
    let mdbook = from_registry("mdbook", MDBOOK)?;
    succeed(Command::new(mdbook).arg("build").arg(root().join("docs/book")))?;
    eprintln!("target/book/index.html");
    Ok(())
}
