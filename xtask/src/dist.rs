//! Release files: an archive, a package for Debian and Ubuntu, the wheel.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Builds all release files below target/dist, for this machine and for the given targets.
pub(crate) fn run(targets: &[String]) -> ExitCode {
    match make(targets) {
        Ok(made) => {
            for path in made {
                println!("{}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dist: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The build profile of released files.
const PROFILE: &str = "lto";

/// Content of each package.
struct Goods {
    root: PathBuf,
    /// Target triple.
    triple: String,
    /// The program.
    program: PathBuf,
    man: PathBuf,
    completions: PathBuf,
    /// Documents, as paths relative to the root.
    documents: Vec<PathBuf>,
    version: String,
    /// Modification time of the files in seconds since 1970: the time of the commit.
    moment: String,
}

/// Shells, each with the name of its completions and their folder on Debian.
const SHELLS: [(&str, &str, &str); 3] = [
    ("bash", "tagq", "usr/share/bash-completion/completions"),
    ("zsh", "_tagq", "usr/share/zsh/vendor-completions"),
    ("fish", "tagq.fish", "usr/share/fish/vendor_completions.d"),
];

fn make(targets: &[String]) -> io::Result<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let dist = target.join("dist");
    match fs::remove_dir_all(&dist) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&dist)?,
    }
    succeed(&mut build(&root))?;
    let work = tempfile::tempdir_in(&dist)?;
    let mut goods = goods(root, &target.join(PROFILE).join("tagq"), work.path())?;
    let mut made = Vec::new();
    pack(&goods, work.path(), &dist, &mut made)?;
    // Manual pages and completions are printed by the program of this machine.
    for triple in targets {
        let tools = Tools::of(triple)?;
        succeed(tools.linker(&mut build(&goods.root)).args(["--target", triple]))?;
        let work = tempfile::tempdir_in(&dist)?;
        goods.program = work.path().join("tagq");
        goods.triple.clone_from(triple);
        fs::copy(target.join(triple).join(PROFILE).join("tagq"), &goods.program)?;
        pack(&goods, work.path(), &dist, &mut made)?;
    }
    match maturin(&target) {
        Some(maturin) => made.push(wheel(maturin, &goods.root, &target, &dist)?),
        None => eprintln!(
            "skipped: there is no maturin, and no wheel is made; `cargo xtask python` gets one"
        ),
    }
    let sums = output(
        Command::new("sha256sum")
            .args(made.iter().filter_map(|p| p.file_name()))
            .current_dir(&dist),
    )?;
    fs::write(dist.join("SHA256SUMS"), sums)?;
    made.push(dist.join("SHA256SUMS"));
    Ok(made)
}

fn build(root: &Path) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--profile", PROFILE, "--bin", "tagq"]).current_dir(root);
    build
}

/// Linker and related tools for another processor, by the names that GNU and Debian use.
struct Tools {
    triple: String,
    prefix: String,
}

impl Tools {
    /// Returns the tools for `triple`.
    ///
    /// # Errors
    /// Fails if they are not installed, and names the package to install.
    fn of(triple: &str) -> io::Result<Self> {
        let prefix = triple.replace("-unknown-", "-");
        let tools = Self { triple: triple.into(), prefix };
        let gcc = tools.named("gcc");
        if !can(&gcc, "--version") {
            let wanted = format!(
                "{triple} wants {gcc} (on Debian: apt install gcc-{}) and `rustup target add {triple}`",
                tools.prefix.replace('_', "-")
            );
            return Err(io::Error::other(wanted));
        }
        Ok(tools)
    }

    fn named(&self, tool: &str) -> String {
        format!("{}-{tool}", self.prefix)
    }

    /// Sets the linker for `cargo`.
    fn linker<'a>(&self, cargo: &'a mut Command) -> &'a mut Command {
        let name = self.triple.to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{name}_LINKER"), self.named("gcc"))
    }
}

/// Writes the archive and, if possible, the .deb.
fn pack(goods: &Goods, work: &Path, dist: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    made.push(archive(goods, work, dist)?);
    if can("dpkg-deb", "--version") {
        made.push(debian(goods, work, dist)?);
    } else {
        eprintln!("skipped: there is no dpkg-deb, and no .deb is made");
    }
    Ok(())
}

fn goods(root: PathBuf, released: &Path, work: &Path) -> io::Result<Goods> {
    let program = work.join("tagq");
    fs::copy(released, &program)?;
    let (man, completions) = (work.join("man"), work.join("completions"));
    fs::create_dir(&man)?;
    fs::create_dir(&completions)?;
    succeed(Command::new(&program).arg("man").arg(&man))?;
    for (shell, name, _) in SHELLS {
        let text = output(Command::new(&program).args(["completions", shell]))?;
        fs::write(completions.join(name), text)?;
    }
    let mut documents: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"].map(Into::into).into();
    for entry in fs::read_dir(root.join("docs"))? {
        let name = PathBuf::from("docs").join(entry?.file_name());
        if name.extension().is_some_and(|end| end == "md") {
            documents.push(name);
        }
    }
    let version = output(Command::new(&program).arg("--version"))?;
    let version = version.split_whitespace().last().unwrap_or_default().to_owned();
    let of_commit =
        Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&root).output();
    let moment = of_commit.ok().filter(|of| of.status.success()).map(|of| of.stdout);
    let moment =
        moment.map_or_else(|| "0".into(), |of| String::from_utf8_lossy(&of).trim().to_owned());
    let triple = triple()?;
    Ok(Goods { root, triple, program, man, completions, documents, version, moment })
}

/// Writes the archive: one folder. The same commit gives the same bytes.
fn archive(goods: &Goods, work: &Path, dist: &Path) -> io::Result<PathBuf> {
    let name = format!("tagq-{}-{}", goods.version, goods.triple);
    let folder = work.join(&name);
    fs::create_dir(&folder)?;
    place(&goods.program, &folder.join("tagq"))?;
    copy_folder(&goods.man, &folder.join("man"))?;
    copy_folder(&goods.completions, &folder.join("completions"))?;
    for document in &goods.documents {
        place(&goods.root.join(document), &folder.join(document))?;
    }
    let path = dist.join(format!("{name}.tar.gz"));
    let tar = dist.join(format!("{name}.tar"));
    succeed(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .arg(format!("--mtime=@{}", goods.moment))
            .arg("-C")
            .arg(work)
            .arg("-cf")
            .arg(&tar)
            .arg(&name),
    )?;
    succeed(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(tar))?;
    Ok(path)
}

/// Writes the package for Debian and Ubuntu.
fn debian(goods: &Goods, work: &Path, dist: &Path) -> io::Result<PathBuf> {
    let tree = work.join("deb");
    let about = tree.join("usr/share/doc/tagq");
    place(&goods.program, &tree.join("usr/bin/tagq"))?;
    let man = tree.join("usr/share/man/man1");
    copy_folder(&goods.man, &man)?;
    for page in fs::read_dir(&man)? {
        succeed(Command::new("gzip").args(["-9", "--no-name"]).arg(page?.path()))?;
    }
    for (_, name, folder) in SHELLS {
        place(&goods.completions.join(name), &tree.join(folder).join(name))?;
    }
    for document in &goods.documents {
        place(&goods.root.join(document), &about.join(document))?;
    }
    fs::write(about.join("copyright"), COPYRIGHT)?;
    let processor = goods.triple.split('-').next().unwrap_or_default();
    let architecture = match processor {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let libc = glibc(&fs::read(&goods.program)?);
    let libc = libc.map_or_else(|| "libc6".to_owned(), |minor| format!("libc6 (>= 2.{minor})"));
    let kilobytes = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(&tree))?;
    let kilobytes = kilobytes.split_whitespace().next().unwrap_or("0").to_owned();
    let control = format!(
        "Package: tagq\nVersion: {}\nArchitecture: {architecture}\nMaintainer: the developers of tagq\n\
         Installed-Size: {kilobytes}\nDepends: {libc}, libgcc-s1\nSection: science\nPriority: optional\n\
         Description: exact questions to photon time tags\n {DESCRIPTION}\n",
        goods.version
    );
    fs::create_dir_all(tree.join("DEBIAN"))?;
    fs::write(tree.join("DEBIAN/control"), control)?;
    let path = dist.join(format!("tagq_{}_{architecture}.deb", goods.version));
    succeed(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .arg(&tree)
            .arg(&path)
            .env("SOURCE_DATE_EPOCH", &goods.moment)
            .stdout(std::process::Stdio::null()),
    )?;
    Ok(path)
}

const DESCRIPTION: &str = "Coincidences, histograms, g2 and rates of single-photon recordings, with a rule\n \
                           that is stated in every output.";
const COPYRIGHT: &str = "License: MIT OR Apache-2.0, as you prefer.\n\
                         See LICENSE-MIT and LICENSE-APACHE in this folder.\n";

/// Returns the newest glibc 2.x whose symbols a program needs.
fn glibc(program: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"GLIBC_2.";
    let minors = program.windows(MARK.len() + 2).filter(|bytes| bytes.starts_with(MARK));
    let minor = |bytes: &[u8]| {
        let digits = bytes[MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(None, |number: Option<u32>, byte| {
            Some(number.unwrap_or(0) * 10 + u32::from(byte - b'0'))
        })
    };
    minors.filter_map(minor).max()
}

/// Builds the wheel of the Python package in release mode.
fn wheel(mut maturin: Command, root: &Path, target: &Path, dist: &Path) -> io::Result<PathBuf> {
    let folder = dist.join("wheel");
    succeed(
        maturin
            .args(["build", "--quiet", "--profile", PROFILE, "--out"])
            .arg(&folder)
            .arg("--manifest-path")
            .arg(root.join("crates/python/Cargo.toml"))
            .env("CARGO_TARGET_DIR", target),
    )?;
    let none = || io::Error::other("maturin made no wheel");
    let made = fs::read_dir(&folder)?.next().ok_or_else(none)??;
    let path = dist.join(made.file_name());
    fs::rename(made.path(), &path)?;
    fs::remove_dir(&folder)?;
    Ok(path)
}

/// Returns maturin from the environment of the package's tests, or else from the path.
fn maturin(target: &Path) -> Option<Command> {
    let inside = target.join("python/venv/bin/maturin");
    let program = if inside.exists() { inside } else { "maturin".into() };
    can(&program, "--version").then(|| Command::new(program))
}

/// Returns the default target of the compiler.
fn triple() -> io::Result<String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| io::Error::other("rustc does not say what it builds for"))
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        place(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Copies a file and creates the folders above it.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    let named = |error: io::Error| io::Error::other(format!("{}: {error}", from.display()));
    fs::create_dir_all(to.parent().unwrap_or(Path::new("")))?;
    fs::copy(from, to).map(|_| ()).map_err(named)
}

fn can(program: impl AsRef<std::ffi::OsStr>, arg: &str) -> bool {
    Command::new(program).arg(arg).output().is_ok_and(|output| output.status.success())
}

fn succeed(command: &mut Command) -> io::Result<()> {
    let status = command.status().map_err(|error| failed(command, &error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(command, &status.to_string())) }
}

fn output(command: &mut Command) -> io::Result<String> {
    let output = command.output().map_err(|error| failed(command, &error.to_string()))?;
    if !output.status.success() {
        return Err(failed(command, &String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn failed(command: &Command, why: &str) -> io::Error {
    io::Error::other(format!("{}: {}", command.get_program().display(), why.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_processor_needs_is_named() {
        let refused = Tools::of("z80_64-unknown-linux-gnu").err().map(|error| error.to_string());
        let refused = refused.unwrap_or_default();
        assert!(refused.contains("gcc-z80-64-linux-gnu"), "{refused}");
        assert!(refused.contains("rustup target add z80_64-unknown-linux-gnu"), "{refused}");
        let tools = Tools { triple: "a-unknown-linux-gnu".into(), prefix: "a-linux-gnu".into() };
        let mut cargo = Command::new("cargo");
        tools.linker(&mut cargo);
        let set: Vec<_> = cargo.get_envs().collect();
        let linker = Some(std::ffi::OsStr::new("a-linux-gnu-gcc"));
        assert_eq!(set, [("CARGO_TARGET_A_UNKNOWN_LINUX_GNU_LINKER".as_ref(), linker)]);
    }

    #[test]
    fn the_newest_glibc_is_found() {
        assert_eq!(glibc(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE"), Some(34));
        assert_eq!(glibc(b"no such thing"), None);
    }
}
