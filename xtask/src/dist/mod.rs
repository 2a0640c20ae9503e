//! Release files: for each target an archive of the program and the wheel; packages for Debian and conda, container images;
//! the sources, the recipe for conda-forge, licences and checksums.

mod archive;
mod conda;
mod debian;
mod image;
mod licenses;
mod system;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

pub(crate) use conda::installed;
use system::{GLIBC, check_system};

use crate::{
    python::{self, PACKAGE},
    targets::{System, TARGETS, Target},
    tools::{Tools, can, made_in, output, succeed},
    workspace::{cargo, root, target},
};

/// Builds all release files below target/dist, for the named targets or for all.
pub(crate) fn run(targets: &[String]) -> ExitCode {
    let (root, build) = (root().to_path_buf(), target());
    match root.canonicalize().and_then(|root| make(root, &build, targets)) {
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
    target: &'static Target,
    /// The program.
    program: PathBuf,
    man: PathBuf,
    completions: PathBuf,
    /// Documents, as paths relative to the root.
    documents: Vec<PathBuf>,
    /// The licences of all dependencies.
    licenses: PathBuf,
    version: String,
    /// Modification time of the files in seconds since 1970: the time of the commit.
    moment: String,
}

impl Goods {
    fn program_name(&self) -> String {
        format!("tagq{}", self.target.exe())
    }

    /// Returns the files with licences: of the project, of the font and of the dependencies.
    fn licenses(&self) -> Vec<PathBuf> {
        let own = ["LICENSE-MIT", "LICENSE-APACHE", "crates/python/LICENSE-FONT"];
        let own = own.iter().map(|name| self.root.join(name));
        own.chain([self.licenses.clone()]).collect()
    }
}

/// Shells, each with the name of its completions and their folder on Debian, if it has one.
const SHELLS: [(&str, &str, Option<&str>); 4] = [
    ("bash", "tagq", Some("usr/share/bash-completion/completions")),
    ("zsh", "_tagq", Some("usr/share/zsh/vendor-completions")),
    ("fish", "tagq.fish", Some("usr/share/fish/vendor_completions.d")),
    ("powershell", "_tagq.ps1", None),
];

/// Makes the files of the tree at `root` for these targets, or for all, below target/dist. Cargo builds in `build`.
pub(crate) fn make(
    root: PathBuf,
    build_folder: &Path,
    targets: &[impl AsRef<str>],
) -> io::Result<Vec<PathBuf>> {
    let targets: Vec<&'static Target> = if targets.is_empty() {
        TARGETS.iter().collect()
    } else {
        targets.iter().map(|triple| Target::named(triple.as_ref())).collect::<io::Result<_>>()?
    };
    let tools = Tools::installed(&target())?;
    let dist = target().join("dist");
    match fs::remove_dir_all(&dist) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&dist)?,
    }
    let work = tempfile::tempdir_in(&dist)?;
    let mut goods = goods(root, targets[0], build_folder, work.path())?;
    let mut made = Vec::new();
    for target in targets {
        eprintln!("building for {}", target.triple);
        let mut build = target.cargo("zigbuild", &tools)?;
        build.args(["--profile", PROFILE, "--bin", "tagq"]).current_dir(&goods.root);
        succeed(build.env("CARGO_TARGET_DIR", build_folder))?;
        let built = build_folder.join(target.triple).join(PROFILE);
        (goods.target, goods.program) = (target, built.join(format!("tagq{}", target.exe())));
        check_system(target, &fs::read(&goods.program)?)?;
        let work = tempfile::tempdir_in(&dist)?;
        made.push(archive::archive(&goods, work.path(), &dist)?);
        made.extend(conda::conda(&goods, &tools, work.path(), &dist)?);
        match target.system {
            System::Glibc if can("dpkg-deb", "--version") => {
                made.push(debian::debian(&goods, work.path(), &dist)?);
            }
            System::Musl if can("umoci", "--version") => {
                made.push(image::image(&goods, work.path(), &dist)?);
            }
            System::Glibc => eprintln!("skipped: there is no dpkg-deb, and no .deb is made"),
            System::Musl => eprintln!("skipped: there is no umoci, and no container image is made"),
            System::Windows | System::MacOs => {}
        }
        let wheel = wheel(&goods, &tools, build_folder, &dist)?;
        if target.is_of_this_machine() {
            python::ask(&tools.interpreter, &wheel)?;
        }
        made.push(wheel);
    }
    let mut sources = tools.command("maturin")?;
    sources.args(["sdist", "--manifest-path"]);
    made.push(made_in(sources.arg(goods.root.join(PACKAGE)), &dist)?);
    let all = all_sources(&goods, &dist)?;
    let sum = output(Command::new("sha256sum").arg(&all))?;
    made.push(all);
    made.push(conda::recipe(&goods, &tools, sum.split(' ').next().unwrap_or_default(), &dist)?);
    made.push(dist.join(licenses::NAME));
    fs::copy(&goods.licenses, dist.join(licenses::NAME))?;
    let sums = output(
        Command::new("sha256sum")
            .args(made.iter().filter_map(|p| p.file_name()))
            .current_dir(&dist),
    )?;
    fs::write(dist.join("SHA256SUMS"), sums)?;
    made.push(dist.join("SHA256SUMS"));
    Ok(made)
}

/// The licence of the font that is compiled into the program.
const FONT_LICENSE: &str = "crates/plot/fonts/LICENSE";

/// Collects what all packages have. Manual pages and completions are printed by the program of this machine.
fn goods(
    root: PathBuf,
    target: &'static Target,
    build_folder: &Path,
    work: &Path,
) -> io::Result<Goods> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--bin", "tagq"]).current_dir(&root);
    succeed(build.env("CARGO_TARGET_DIR", build_folder))?;
    let program = build_folder.join("debug/tagq").with_extension(env::consts::EXE_EXTENSION);
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
    let licenses = licenses::collected(&root, work)?;
    let version = output(Command::new(&program).arg("--version"))?;
    let version = version.split_whitespace().last().unwrap_or_default().to_owned();
    let of_commit =
        Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&root).output();
    let moment = of_commit.ok().filter(|of| of.status.success()).map(|of| of.stdout);
    let moment =
        moment.map_or_else(|| "0".into(), |of| String::from_utf8_lossy(&of).trim().to_owned());
    Ok(Goods { root, target, program, man, completions, documents, licenses, version, moment })
}

/// Writes the sources of this commit: what the recipe for conda-forge builds.
fn all_sources(goods: &Goods, dist: &Path) -> io::Result<PathBuf> {
    let path = dist.join(format!("tagq-{}-source.tar.gz", goods.version));
    let mut archive = Command::new("git");
    archive.args(["archive", "HEAD", "--format=tar.gz", "--output"]).arg(&path);
    archive.arg(format!("--prefix=tagq-{}/", goods.version)).current_dir(&goods.root);
    succeed(&mut archive)?;
    Ok(path)
}

/// Builds the wheel of the Python package, which also has the program.
fn wheel(goods: &Goods, tools: &Tools, build_folder: &Path, dist: &Path) -> io::Result<PathBuf> {
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
    maturin.env("CARGO_TARGET_DIR", build_folder).arg("--manifest-path");
    maturin.arg(goods.root.join(PACKAGE));
    // Maturin takes both from the folder of the package, by their names.
    let package = goods.root.join("crates/python");
    let (data, licenses) = (package.join("tagq._tagq.data"), package.join(licenses::NAME));
    place(&goods.program, &data.join("scripts").join(goods.program_name()))?;
    place(&goods.licenses, &licenses)?;
    let made = made_in(&mut maturin, dist);
    fs::remove_dir_all(data)?;
    fs::remove_file(licenses)?;
    made
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
