//! Release files: for each target an archive of the program, the wheel and, for Linux with glibc, a package for Debian
//! and Ubuntu.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use object::{
    Endianness,
    read::macho::{LoadCommandVariant, MachOFile64},
};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    python::{self, PACKAGE},
    targets::{System, TARGETS, Target},
    tools::{Tools, can, made_in, output, succeed},
    workspace::{cargo, root, target},
};

/// Builds all release files below target/dist, for the named targets or for all.
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

/// The oldest glibc that runs the program and loads the wheel, 2.x: that of Debian 10, RHEL 8 and Ubuntu 18.10.
const GLIBC: u32 = 28;

/// Content of each package.
struct Goods {
    root: PathBuf,
    target: &'static Target,
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

/// Shells, each with the name of its completions and their folder on Debian, if it has one.
const SHELLS: [(&str, &str, Option<&str>); 4] = [
    ("bash", "tagq", Some("usr/share/bash-completion/completions")),
    ("zsh", "_tagq", Some("usr/share/zsh/vendor-completions")),
    ("fish", "tagq.fish", Some("usr/share/fish/vendor_completions.d")),
    ("powershell", "_tagq.ps1", None),
];

fn make(targets: &[String]) -> io::Result<Vec<PathBuf>> {
    let targets: Vec<&'static Target> = if targets.is_empty() {
        TARGETS.iter().collect()
    } else {
        targets.iter().map(|triple| Target::named(triple)).collect::<io::Result<_>>()?
    };
    let root = root().canonicalize()?;
    let target_folder = target();
    let tools = Tools::installed(&target_folder)?;
    let dist = target_folder.join("dist");
    match fs::remove_dir_all(&dist) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&dist)?,
    }
    let work = tempfile::tempdir_in(&dist)?;
    let mut goods = goods(root, targets[0], &target_folder, work.path())?;
    let mut made = Vec::new();
    for target in targets {
        eprintln!("building for {}", target.triple);
        let mut build = target.cargo("zigbuild", &tools)?;
        build.args(["--profile", PROFILE, "--bin", "tagq"]).current_dir(&goods.root);
        succeed(build.env("CARGO_TARGET_DIR", &target_folder))?;
        let built = target_folder.join(target.triple).join(PROFILE);
        (goods.target, goods.program) = (target, built.join(format!("tagq{}", target.exe())));
        check_system(target, &fs::read(&goods.program)?)?;
        let work = tempfile::tempdir_in(&dist)?;
        made.push(archive(&goods, work.path(), &dist)?);
        if target.system == System::Glibc {
            if can("dpkg-deb", "--version") {
                made.push(debian(&goods, work.path(), &dist)?);
            } else {
                eprintln!("skipped: there is no dpkg-deb, and no .deb is made");
            }
        }
        let wheel = wheel(&goods, &tools, &target_folder, &dist)?;
        if target.is_of_this_machine() {
            python::ask(&tools.interpreter, &wheel)?;
        }
        made.push(wheel);
    }
    let mut sources = tools.command("maturin")?;
    sources.args(["sdist", "--manifest-path"]);
    made.push(made_in(sources.arg(goods.root.join(PACKAGE)), &dist)?);
    let sums = output(
        Command::new("sha256sum")
            .args(made.iter().filter_map(|p| p.file_name()))
            .current_dir(&dist),
    )?;
    fs::write(dist.join("SHA256SUMS"), sums)?;
    made.push(dist.join("SHA256SUMS"));
    Ok(made)
}

/// Checks that a program needs no newer system than PLATFORMS.md says: glibc 2.[`GLIBC`], or the oldest macOS of the target.
fn check_system(target: &Target, program: &[u8]) -> io::Result<()> {
    let (needs, allowed) = match target.system {
        System::Glibc => (glibc(program).map(|minor| (2, minor)), Some((2, GLIBC))),
        System::MacOs => (macos(program)?, Some(target.oldest_macos())),
        // No glibc.
        System::Musl | System::Windows => (glibc(program).map(|minor| (2, minor)), None),
    };
    if needs.is_some() == allowed.is_some() && needs <= allowed {
        return Ok(());
    }
    let version = |version: Option<(u32, u32)>| {
        version.map_or_else(|| "none".into(), |(major, minor)| format!("{major}.{minor}"))
    };
    let why = format!(
        "{}: the program needs version {} of the system's libraries; allowed is {}",
        target.triple,
        version(needs),
        version(allowed)
    );
    Err(io::Error::other(why))
}

/// The licence of the font that is compiled into the program.
const FONT_LICENSE: &str = "crates/plot/fonts/LICENSE";

/// Collects what all packages have. Manual pages and completions are printed by the program of this machine.
fn goods(
    root: PathBuf,
    target: &'static Target,
    target_folder: &Path,
    work: &Path,
) -> io::Result<Goods> {
    succeed(cargo().args(["build", "--quiet", "--bin", "tagq"]).current_dir(&root))?;
    let program = target_folder.join("debug/tagq").with_extension(env::consts::EXE_EXTENSION);
    let (man, completions) = (work.join("man"), work.join("completions"));
    fs::create_dir(&man)?;
    fs::create_dir(&completions)?;
    succeed(Command::new(&program).arg("man").arg(&man))?;
    for (shell, name, _) in SHELLS {
        let text = output(Command::new(&program).args(["completions", shell]))?;
        fs::write(completions.join(name), text)?;
    }
    let mut documents: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "PLATFORMS.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        FONT_LICENSE,
    ]
    .map(Into::into)
    .into();
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
    Ok(Goods { root, target, program, man, completions, documents, version, moment })
}

/// Writes the archive: one folder. The same commit gives the same bytes.
fn archive(goods: &Goods, work: &Path, dist: &Path) -> io::Result<PathBuf> {
    let name = format!("tagq-{}-{}", goods.version, goods.target.triple);
    let folder = work.join(&name);
    fs::create_dir(&folder)?;
    place(&goods.program, &folder.join(format!("tagq{}", goods.target.exe())))?;
    copy_folder(&goods.completions, &folder.join("completions"))?;
    for document in &goods.documents {
        place(&goods.root.join(document), &folder.join(document))?;
    }
    if goods.target.system == System::Windows {
        return zip(work, &name, dist);
    }
    copy_folder(&goods.man, &folder.join("man"))?;
    let path = dist.join(format!("{name}.tar.gz"));
    let tar = dist.join(format!("{name}.tar"));
    succeed(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .arg("--mode=u=rwX,go=rX")
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

/// Writes the folder `name` in `work` as a ZIP file.
fn zip(work: &Path, name: &str, dist: &Path) -> io::Result<PathBuf> {
    let path = dist.join(format!("{name}.zip"));
    let mut zip = ZipWriter::new(fs::File::create(&path)?);
    let (mut folders, mut files) = (vec![PathBuf::from(name)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(work.join(&folder))? {
            let entry = entry?;
            let inside = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() { folders.push(inside) } else { files.push(inside) }
        }
    }
    files.sort();
    for file in files {
        // Without a time of its own each file has that of 1980.
        let options = SimpleFileOptions::default().last_modified_time(zip::DateTime::default());
        zip.start_file(file.to_string_lossy().replace('\\', "/"), options)?;
        zip.write_all(&fs::read(work.join(file))?)?;
    }
    zip.finish()?;
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
        if let Some(folder) = folder {
            place(&goods.completions.join(name), &tree.join(folder).join(name))?;
        }
    }
    for document in &goods.documents {
        place(&goods.root.join(document), &about.join(document))?;
    }
    fs::write(about.join("copyright"), COPYRIGHT)?;
    let architecture = match goods.target.processor() {
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
         Installed-Size: {kilobytes}\nDepends: {libc}\nSection: science\nPriority: optional\n\
         Description: fast, exact queries over photon time tags\n {DESCRIPTION}\n",
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
                         See LICENSE-MIT and LICENSE-APACHE in this folder, and the licence of the font in \
                         crates/plot/fonts.\n";

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

/// Returns the oldest macOS that a program says that it runs on, as major and minor version.
fn macos(program: &[u8]) -> io::Result<Option<(u32, u32)>> {
    let file = MachOFile64::<Endianness>::parse(program).map_err(io::Error::other)?;
    let mut commands = file.macho_load_commands().map_err(io::Error::other)?;
    while let Some(command) = commands.next().map_err(io::Error::other)? {
        let version = match command.variant().map_err(io::Error::other)? {
            LoadCommandVariant::BuildVersion(build) => build.minos.get(file.endian()),
            LoadCommandVariant::VersionMin(oldest) => oldest.version.get(file.endian()),
            _ => continue,
        };
        return Ok(Some((version >> 16, version >> 8 & 0xff)));
    }
    Ok(None)
}

/// Builds the wheel of the Python package.
fn wheel(goods: &Goods, tools: &Tools, target_folder: &Path, dist: &Path) -> io::Result<PathBuf> {
    let target = goods.target;
    // The same compiler and linker as for the program.
    let build = target.cargo("build", tools)?;
    let mut maturin = tools.command("maturin")?;
    maturin.envs(build.get_envs().filter_map(|(name, value)| Some((name, value?))));
    maturin.args(["build", "--quiet", "--profile", PROFILE, "--target", target.triple]);
    match target.system {
        System::Glibc => maturin.arg("--zig").arg(format!("--compatibility=manylinux_2_{GLIBC}")),
        System::Musl => maturin.args(["--zig", "--compatibility=musllinux_1_2"]),
        System::MacOs => maturin.arg("--zig"),
        System::Windows => &mut maturin,
    };
    maturin.env("CARGO_TARGET_DIR", target_folder).arg("--manifest-path");
    made_in(maturin.arg(goods.root.join(PACKAGE)), dist)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(triple: &str, program: &[u8]) -> Result<(), String> {
        check_system(Target::named(triple).unwrap(), program).map_err(|error| error.to_string())
    }

    #[test]
    fn the_glibc_of_a_release_is_checked() {
        checked("x86_64-unknown-linux-gnu", b"\0GLIBC_2.28\0GLIBC_2.2.5").unwrap();
        let newer = checked("x86_64-unknown-linux-gnu", b"\0GLIBC_2.29\0").unwrap_err();
        assert!(newer.contains("2.29") && newer.contains("2.28"), "{newer}");
        checked("x86_64-unknown-linux-gnu", b"static").unwrap_err();
        checked("x86_64-unknown-linux-musl", b"\0GLIBC_2.17\0").unwrap_err();
        checked("x86_64-pc-windows-gnu", b"MZ").unwrap();
    }

    /// A program for macOS with one command, which says what system it needs.
    fn mach_o(command: &[u32]) -> Vec<u8> {
        let size = u32::try_from(command.len() * 4).unwrap();
        let header = [0xfeed_facf, 0x0100_000c, 0, 2, 1, size, 0, 0];
        header.iter().chain(command).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_macos_of_a_release_is_checked() {
        let build = |version| mach_o(&[0x32, 24, 1, version, 0, 0]);
        let oldest = |version| mach_o(&[0x24, 16, version, 0]);
        checked("aarch64-apple-darwin", &build(11 << 16)).unwrap();
        checked("x86_64-apple-darwin", &oldest(10 << 16 | 12 << 8)).unwrap();
        let newer = checked("aarch64-apple-darwin", &build(15 << 16)).unwrap_err();
        assert!(newer.contains("15.0") && newer.contains("11.0"), "{newer}");
        checked("x86_64-apple-darwin", &oldest(10 << 16 | 13 << 8)).unwrap_err();
        checked("aarch64-apple-darwin", &mach_o(&[0x1b, 24, 0, 0, 0, 0])).unwrap_err();
        checked("aarch64-apple-darwin", b"no program").unwrap_err();
    }

    #[test]
    fn the_newest_glibc_is_found() {
        assert_eq!(glibc(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE"), Some(34));
        assert_eq!(glibc(b"no such thing"), None);
    }
}
