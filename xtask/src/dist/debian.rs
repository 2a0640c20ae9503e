//! The package for Debian and Ubuntu.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Goods, SHELLS, copy_folder, licenses, place, system::glibc};
use crate::tools::{output, succeed};

/// Writes the package for Debian and Ubuntu.
pub(crate) fn debian(goods: &Goods, work: &Path, dist: &Path) -> io::Result<PathBuf> {
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
    place(&goods.licenses, &about.join(licenses::NAME))?;
    fs::write(about.join("copyright"), COPYRIGHT)?;
    let architecture = goods.target.architecture();
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
                         See LICENSE-MIT and LICENSE-APACHE in this folder, the licence of the font in \
                         crates/plot/fonts, and LICENSES-OF-DEPENDENCIES.txt.\n";
