//! The book: regenerates its outputs and figures, builds pages for a browser, and checks their links.

use std::{
    fs, io,
    process::{Command, ExitCode},
};

use serde_json::json;

use crate::{
    ended, python,
    tools::{from_registry, succeed},
    workspace::{cargo, root, target},
};

/// The version of mdbook that makes the pages.
const MDBOOK: &str = "0.5.4";

/// The version of the program that checks the links between pages.
const HYPERLINK: &str = "0.3.2";

/// The library that reads signatures and docstrings of the Python package.
const GRIFFE: &str = "griffe>=2.4,<3";

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
    let (mdbook, hyperlink) =
        (from_registry("mdbook", MDBOOK, "")?, from_registry("hyperlink", HYPERLINK, "")?);
    let (source, home, book) =
        (root().join("docs/book"), target().join("book-tools"), target().join("book"));
    let python = python::environment(&python::program(), &home, &[GRIFFE])?;
    let script = source.join("pages.py");
    let words = [&python, &script, &home].map(|path| format!("'{}'", path.display()));
    let preprocessor = json!({ "command": words.join(" "), "after": ["links"] });
    let mut build = Command::new(mdbook);
    build.env("MDBOOK_PREPROCESSOR__API", preprocessor.to_string());
    succeed(build.arg("build").arg("--dest-dir").arg(&book).arg(source))?;
    // mdbook has emptied the folder.
    for list in ["llms.txt", "llms-full.txt"] {
        fs::rename(home.join(list), book.join(list))?;
    }
    succeed(Command::new(hyperlink).arg("--check-anchors").arg(&book))?;
    eprintln!("{}", book.join("index.html").display());
    Ok(())
}
