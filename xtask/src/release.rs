//! A release, made and tried up to the upload: `cargo xtask release VERSION`. Nothing leaves this machine; the last lines
//! are the commands that only the owner of the project can run.
//!
//! All is made in a copy of the commit, with the new version, so that the checkout stays as it is. A version that is not
//! committed cannot be published: without `--dry-run` the checkout must have it already.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use crate::{
    python,
    steps::Steps,
    tools::{can, output, succeed},
    workspace::{cargo, root, target},
};

/// Texts that a person replaces before the first release, and the file of each.
const TO_FILL_IN: [(&str, &str, &str); 2] = [
    ("CITATION.cff", "name: \"The tagq authors\"", "the names of the authors"),
    ("SECURITY.md", "to the maintainers in private", "an address to which problems are reported"),
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
    let home = target().join("release");
    let tree = home.join("tree");
    steps.run("the checkout is clean, and says who made it", || checked(is_dry));
    steps.run("a copy with the version", || copied(&tree, version, is_dry));
    steps.run("each crate from its package alone", || packaged(&tree));
    steps.run("archives, .deb, wheels, sources", || {
        let mut make = cargo();
        make.args(["xtask", "dist"]).args(TRIED).current_dir(&tree);
        succeed(make.env("CARGO_TARGET_DIR", home.join("build")))
    });
    let made = home.join("build/dist");
    steps
        .run("the archives, without a PATH", || TRIED.iter().try_for_each(|of| archive(&made, of)));
    steps.run("the .deb, in a root of its own", || debian(&made));
    steps.run("the wheel, in an environment of its own", || wheel(&made, &home));
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
    for (file, text, what) in TO_FILL_IN {
        if fs::read_to_string(root().join(file))?.contains(text) {
            missing.push(format!("{file}: {what}"));
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

/// Copies the commit to `tree`, and writes the version into it.
fn copied(tree: &Path, version: &str, is_dry: bool) -> io::Result<()> {
    drop(fs::remove_dir_all(tree));
    fs::create_dir_all(tree)?;
    let mut archive = Command::new("git");
    archive.args(["archive", "HEAD"]).current_dir(root()).stdout(Stdio::piped());
    let mut archive = archive.spawn()?;
    let tags = archive.stdout.take().ok_or_else(|| io::Error::other("git wrote nothing"))?;
    succeed(Command::new("tar").arg("-x").arg("-C").arg(tree).stdin(tags))?;
    if !archive.wait()?.success() {
        return Err(io::Error::other("git archive failed"));
    }
    let now = env!("CARGO_PKG_VERSION");
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let date = date.trim();
    // What stands in each file before a release, and after it.
    let edits = [
        ("Cargo.toml", format!("version = \"{now}\""), format!("version = \"{version}\"")),
        (
            "CITATION.cff",
            format!("version: {now}"),
            format!("version: {version}\ndate-released: {date}"),
        ),
        ("CHANGELOG.md", "## Unreleased".into(), format!("## {version}, {date}")),
    ];
    for (file, before, after) in edits {
        let path = tree.join(file);
        let text = fs::read_to_string(&path)?;
        if !is_dry {
            // The date may be that of another day.
            let dated = after.split(date).next().unwrap_or_default();
            if !text.contains(dated) {
                return Err(io::Error::other(format!(
                    "{file} has no `{dated}`: write and commit it"
                )));
            }
        } else if text.contains(&before) {
            fs::write(path, text.replace(&before, &after))?;
        } else {
            return Err(io::Error::other(format!("{file} has no `{before}`")));
        }
    }
    succeed(cargo().args(["update", "--workspace", "--quiet"]).current_dir(tree))
}

/// Packages all crates that are published, and builds each from the package alone, with the packages of the others.
fn packaged(tree: &Path) -> io::Result<()> {
    let mut publish = cargo();
    publish.args(["publish", "--workspace", "--dry-run", "--quiet", "--allow-dirty"]);
    succeed(publish.current_dir(tree).env("CARGO_TARGET_DIR", target().join("release/build")))
}

/// Returns the only file in `made` whose name begins and ends like this.
fn file(made: &Path, begin: &str, end: &str) -> io::Result<PathBuf> {
    let mut found = None;
    for entry in fs::read_dir(made)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(begin) && name.ends_with(end) {
            found = Some(made.join(&*name));
        }
    }
    found.ok_or_else(|| io::Error::other(format!("{} has no {begin}…{end}", made.display())))
}

/// Asks a program for the pairs of the fixture, without any environment.
fn asked(program: &Path, work: &Path) -> io::Result<()> {
    let run = work.join("run");
    fs::create_dir(&run)?;
    for name in ["1.tags.zst", "2.tags.zst"] {
        fs::copy(root().join("data/fixtures/pairs").join(name), run.join(name))?;
    }
    let mut ask = Command::new(program);
    ask.args(["coincidences", "1,2", "--window", "2ns", "--format", "csv"]).arg(&run).env_clear();
    let answer = output(&mut ask)?;
    println!("{answer}");
    if answer.lines().any(|line| line.starts_with("1,2,1976,")) {
        return Ok(());
    }
    Err(io::Error::other(format!("{} counts other pairs than 1,976", program.display())))
}

fn archive(made: &Path, triple: &str) -> io::Result<()> {
    let work = tempfile::tempdir()?;
    let file = file(made, "tagq-", &format!("{triple}.tar.gz"))?;
    succeed(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(work.path()))?;
    let folder =
        fs::read_dir(work.path())?.next().ok_or_else(|| io::Error::other("no folder"))??;
    asked(&folder.path().join("tagq"), work.path())
}

fn debian(made: &Path) -> io::Result<()> {
    if !can("dpkg", "--version") {
        return Err(io::Error::other("there is no dpkg"));
    }
    let work = tempfile::tempdir()?;
    let place = work.path().join("root");
    for folder in ["info", "updates"] {
        fs::create_dir_all(place.join("var/lib/dpkg").join(folder))?;
    }
    fs::write(place.join("var/lib/dpkg/status"), "")?;
    let mut install = Command::new("dpkg");
    // The C library that it needs is that of the system around this root.
    install.arg(format!("--root={}", place.display())).arg("--force-depends");
    install.args(["--force-not-root", "--log=/dev/null", "-i"]);
    succeed(install.arg(file(made, "tagq_", "_amd64.deb")?))?;
    asked(&place.join("usr/bin/tagq"), work.path())
}

fn wheel(made: &Path, home: &Path) -> io::Result<()> {
    let start = Instant::now();
    let place = home.join("venv");
    drop(fs::remove_dir_all(&place));
    succeed(Command::new(python::program()).args(["-m", "venv"]).arg(&place))?;
    let python = place.join("bin/python");
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--only-binary", "tagq"]);
    succeed(install.arg("--find-links").arg(made).arg("tagq"))?;
    let smoke = root().join("crates/python/tests/smoke.py");
    succeed(Command::new(&python).arg(smoke).arg(root().join("data/fixtures/pairs")))?;
    println!("from nothing to an answer by the wheel: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Prints the files with their sizes, and what is left to the owner.
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
        "\nOnly the owner can run these:\n  git tag v{version} && git push origin v{version}   # release.yml builds, tries and drafts\n  \
         cargo publish --workspace                          # needs a token of the registry\n  \
         gh release edit v{version} --draft=false"
    )
}
