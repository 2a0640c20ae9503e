//! A release, made and tried up to the upload: `cargo xtask release VERSION`. Nothing leaves this machine; the last lines
//! are the commands that only the owner of the project can run.
//!
//! All is made in a clone of the commit, with the new version, so that the checkout stays as it is. A version that is not
//! committed cannot be published: without `--dry-run` the checkout must have it already.

mod trials;

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, ExitCode},
};

use crate::{
    dist,
    steps::Steps,
    tools::{output, succeed},
    workspace::{cargo, root, target},
};

/// Texts that a person replaces before the first release, and with what.
const TO_FILL_IN: [(&str, &str); 3] = [
    ("name: \"The tagq authors\"", "the names of the authors"),
    ("to the maintainers in private", "an address to which problems are reported"),
    ("github.com/OWNER/", "the address of the repository"),
];

/// The files that have the version, each with the text around it, and what the release writes after it.
const VERSIONS: [(&str, &str, &str); 4] = [
    ("Cargo.toml", "version = \"{version}\"", ""),
    ("CITATION.cff", "version: {version}\n", "date-released: {date}\n"),
    ("packaging/conda/recipe.yaml", "version: \"{version}\"\n", ""),
    ("CHANGELOG.md", "## Unreleased\n", ""),
];

/// The targets whose files can be tried on this machine.
const TRIED: [&str; 2] = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"];

pub(crate) fn run(args: &[&str]) -> ExitCode {
    let (version, is_dry) = match args {
        [version] => (*version, false),
        [version, "--dry-run"] | ["--dry-run", version] => (*version, true),
        _ => {
            eprintln!("usage: cargo xtask release VERSION [--dry-run]");
            return ExitCode::FAILURE;
        }
    };
    let mut steps = Steps::default();
    let home = target().join("publish");
    // Cargo builds the clone in a folder of its own.
    let (tree, build) = (home.join("tree"), home.join("build"));
    steps.run("the checkout is clean, and says who made it", || checked(is_dry));
    steps.run("a clone with the version", || cloned(&tree, version, is_dry));
    if !steps.has_passed() {
        return steps.finish();
    }
    steps.run("each crate from its package alone", || packaged(&tree, &build));
    steps.run("archives, packages, wheels, images, sources", || {
        dist::make(tree.clone(), &build, &TRIED).map(drop)
    });
    if !steps.has_passed() {
        return steps.finish();
    }
    let made = target().join("dist");
    steps.run("the archives, without a PATH", || {
        TRIED.iter().try_for_each(|target| trials::archive(&made, target))
    });
    steps.run("the .deb, in a root of its own", || trials::debian(&made));
    steps.run("the conda package, in a prefix of its own", || trials::conda(&made));
    steps.run("the container image", || trials::image(&made));
    steps.run("the wheel, in an environment of its own", || trials::wheel(&made, &home));
    steps.run("the sources, built by pip", || trials::sources(&made, version, &home));
    if steps.has_passed() {
        drop(report(&made, version));
    }
    steps.finish()
}

/// Refuses files that are not committed, and texts that a person has to replace.
fn checked(is_dry: bool) -> io::Result<()> {
    let changed = output(Command::new("git").args(["status", "--porcelain"]).current_dir(root()))?;
    if !changed.is_empty() {
        return Err(io::Error::other(format!("commit these files first:\n{changed}")));
    }
    let mut missing = Vec::new();
    for (text, what) in TO_FILL_IN {
        // Not in this file.
        let mut find = Command::new("git");
        find.args(["grep", "--files-with-matches", "--fixed-strings", text, "--", ":!xtask"]);
        let found = find.current_dir(root()).output()?.stdout;
        let found = String::from_utf8_lossy(&found);
        if !found.is_empty() {
            missing.push(format!("{what} ({})", found.trim_end().replace('\n', ", ")));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join("; ");
    if is_dry {
        eprintln!("to be filled in before a release: {missing}");
        return Ok(());
    }
    Err(io::Error::other(format!("to be filled in: {missing}")))
}

/// Clones the commit to `tree`. A dry run writes the version into it and commits; otherwise it must be there.
fn cloned(tree: &Path, version: &str, is_dry: bool) -> io::Result<()> {
    drop(fs::remove_dir_all(tree));
    fs::create_dir_all(tree)?;
    let git = |args: &[&str]| succeed(Command::new("git").args(args).current_dir(tree));
    succeed(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(root()).arg(tree))?;
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    for (file, text, after) in VERSIONS {
        let path = tree.join(file);
        let content = fs::read_to_string(&path)?;
        let before = text.replace("{version}", env!("CARGO_PKG_VERSION"));
        let new = match text {
            "## Unreleased\n" => format!("## {version}, {}\n", date.trim()),
            _ => text.replace("{version}", version) + &after.replace("{date}", date.trim()),
        };
        // The date may be that of another day.
        let has_version = content.contains(new.split(date.trim()).next().unwrap_or_default());
        if !is_dry && !has_version {
            return Err(io::Error::other(format!("{file} has no `{}`: commit it", new.trim_end())));
        }
        if is_dry && !content.contains(&before) {
            return Err(io::Error::other(format!("{file} has no `{}`", before.trim_end())));
        }
        if is_dry {
            fs::write(path, content.replace(&before, &new))?;
        }
    }
    if !is_dry {
        return Ok(());
    }
    succeed(cargo().args(["update", "--workspace", "--quiet"]).current_dir(tree))?;
    git(&[
        "-c",
        "user.name=tagq",
        "-c",
        "user.email=tagq",
        "commit",
        "--quiet",
        "--all",
        "--message",
        version,
    ])
}

/// Packages all crates that are published, and builds each from the package alone, with the packages of the others.
fn packaged(tree: &Path, build: &Path) -> io::Result<()> {
    let mut publish = cargo();
    publish.args(["publish", "--workspace", "--dry-run", "--quiet"]);
    succeed(publish.current_dir(tree).env("CARGO_TARGET_DIR", build))
}

/// Prints the files with their sizes, and the commands that only the owner can run.
fn report(made: &Path, version: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut files: Vec<_> = fs::read_dir(made)?.collect::<io::Result<_>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for entry in files {
        let kib = entry.metadata()?.len().div_ceil(1024);
        writeln!(out, "{kib:9} KiB  {}", entry.path().display())?;
    }
    writeln!(
        out,
        "\nOnly the owner can run these (docs/release.md):
  git tag v{version} && git push origin v{version}     release.yml builds, tries and drafts
  gh release edit v{version} --draft=false        publish.yml takes the Python package to its index
  cargo publish --workspace                 needs a token of the registry
  skopeo copy oci-archive:tagq-{version}-amd64.oci.tar docker://REGISTRY/tagq:{version}
and send recipe.yaml to conda-forge"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_a_release_has_the_version() {
        for (file, text, _) in VERSIONS {
            let content = fs::read_to_string(root().join(file)).unwrap();
            let text = text.replace("{version}", env!("CARGO_PKG_VERSION"));
            assert!(content.contains(&text), "{file} has no `{text}`");
        }
    }
}
