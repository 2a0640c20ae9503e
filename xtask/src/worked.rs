//! The worked examples of CONTRIBUTING.md: patches that add a file format and a kind of query, applied to a copy of the
//! tree, built and tested there as a contributor would.

use std::{fs, io, process::Command};

use crate::{
    tools::{output, succeed},
    workspace::{cargo, root, target},
};

/// The folder of the patches.
const PATCHES: &str = "docs/examples";

/// Applies all patches to one copy of the files that git does not ignore, as they are now, writes what is generated, and runs the
/// quick tests.
pub(crate) fn run() -> io::Result<()> {
    let home = target().join("examples");
    let tree = home.join("tree");
    drop(fs::remove_dir_all(&tree));
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = output(&mut list)?;
    for name in listed.split_terminator('\0') {
        let (from, to) = (root().join(name), tree.join(name));
        // A file may be removed and not committed yet.
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(&tree))?;
            fs::copy(from, to)?;
        }
    }
    let mut patches: Vec<_> = fs::read_dir(root().join(PATCHES))?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    patches.retain(|path| path.extension().is_some_and(|end| end == "patch"));
    patches.sort();
    if patches.is_empty() {
        return Err(io::Error::other(format!("{PATCHES} has no patches")));
    }
    for patch in &patches {
        // Without the ceiling git finds the repository around the copy, and leaves out files that are ignored there.
        let mut apply = Command::new("git");
        apply.arg("apply").arg(patch).current_dir(&tree).env("GIT_CEILING_DIRECTORIES", &home);
        succeed(&mut apply)?;
    }
    let there = |args: &[&str]| {
        let mut command = cargo();
        command.args(args).current_dir(&tree).env("CARGO_TARGET_DIR", home.join("build"));
        command
    };
    let generated = [
        "test",
        "--workspace",
        "--test",
        "whole",
        "--",
        "outputs::",
        "cases::",
        "faces::",
        "book::",
    ];
    succeed(there(&generated).env("TAGQ_OUTPUTS", "write").env("TAGQ_BOOK", "write"))?;
    succeed(&mut there(&["xtask", "test", "--quick"]))
}
