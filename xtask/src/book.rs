//! The book: regenerates its outputs and figures, and builds pages for a browser.

use std::process::{Command, ExitCode};

use crate::workspace::{cargo, root};

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
    let book = root().join("docs/book");
    match Command::new("mdbook").arg("build").arg(&book).status() {
        Ok(status) if status.success() => {
            eprintln!("target/book/index.html");
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(_) => {
            eprintln!(
                "skipped: there is no mdbook, and no HTML is made; `cargo install mdbook --locked` gets one"
            );
            ExitCode::SUCCESS
        }
    }
}
