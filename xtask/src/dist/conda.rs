//! The package for conda, and the recipe for conda-forge.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Goods, SHELLS, copy_folder, place};
use crate::{
    targets::{System, Target},
    tools::{Tools, output, succeed},
    workspace::root,
};

/// The recipe of all packages, and the script that reads it and makes packages.
const RECIPE: &str = "packaging/conda/recipe.yaml";
const SCRIPT: &str = "packaging/conda/conda.py";
/// The checksum of a recipe whose sources are not made yet.
const NO_CHECKSUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Returns conda's name of a target. Those with musl have none.
fn platform(target: &Target) -> Option<&'static str> {
    match (target.system, target.processor()) {
        (System::Glibc, "x86_64") => Some("linux-64"),
        (System::Glibc, _) => Some("linux-aarch64"),
        (System::MacOs, "x86_64") => Some("osx-64"),
        (System::MacOs, _) => Some("osx-arm64"),
        (System::Windows, _) => Some("win-64"),
        (System::Musl, _) => None,
    }
}

/// Makes the package of the program, if conda has this target.
pub(crate) fn conda(
    goods: &Goods,
    tools: &Tools,
    work: &Path,
    dist: &Path,
) -> io::Result<Option<PathBuf>> {
    let Some(platform) = platform(goods.target) else { return Ok(None) };
    let tree = work.join("conda");
    // Windows has its own folders, and no manual pages.
    let (folder, share) = match goods.target.system {
        System::Windows => ("Library/bin", None),
        _ => ("bin", Some(tree.join("share"))),
    };
    place(&goods.program, &tree.join(folder).join(goods.program_name()))?;
    if let Some(share) = share {
        copy_folder(&goods.man, &share.join("man/man1"))?;
        for (_, name, folder) in SHELLS {
            if let Some(folder) = folder.and_then(|folder| folder.strip_prefix("usr/share/")) {
                place(&goods.completions.join(name), &share.join(folder).join(name))?;
            }
        }
    }
    let mut pack = tools.command("python")?;
    pack.arg(goods.root.join(SCRIPT)).args(["pack", &goods.version, platform, &goods.moment]);
    pack.arg(&tree).arg(dist).args(goods.licenses());
    Ok(Some(output(&mut pack)?.trim().into()))
}

/// Installs the package at `package` into a new prefix below `work`, and returns the prefix.
pub(crate) fn installed(tools: &Tools, package: &Path, work: &Path) -> io::Result<PathBuf> {
    let mut install = tools.command("python")?;
    succeed(install.arg(root().join(SCRIPT)).arg("install").arg(package).arg(work))?;
    Ok(work.join("prefix"))
}

/// Writes the recipe for these sources, and renders it on all platforms.
pub(crate) fn recipe(
    goods: &Goods,
    tools: &Tools,
    sha256: &str,
    dist: &Path,
) -> io::Result<PathBuf> {
    let text = fs::read_to_string(goods.root.join(RECIPE))?;
    if !text.contains(NO_CHECKSUM) {
        return Err(io::Error::other(format!("{RECIPE} has no place for the checksum")));
    }
    let path = dist.join("recipe.yaml");
    fs::write(&path, text.replace(NO_CHECKSUM, sha256))?;
    let mut render = tools.command("python")?;
    succeed(render.arg(goods.root.join(SCRIPT)).arg("render").arg(&path))?;
    Ok(path)
}
