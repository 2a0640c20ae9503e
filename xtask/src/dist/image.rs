//! The container image: the static program alone, without a system around it. It is made without a container service.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Goods, place};
use crate::tools::{output, succeed};

/// The folder in which the program starts, where recordings are mounted.
const FOLDER: &str = "/data";

/// Makes the image, an archive in the layout of OCI.
pub(crate) fn image(goods: &Goods, work: &Path, dist: &Path) -> io::Result<PathBuf> {
    let (layout, tree) = (work.join("layout"), work.join("image"));
    place(&goods.program, &tree.join("tagq"))?;
    for license in goods.licenses() {
        place(&license, &tree.join("licenses").join(license.file_name().unwrap_or_default()))?;
    }
    fs::create_dir(tree.join(&FOLDER[1..]))?;
    fs::create_dir(tree.join("tmp"))?;
    // Any user may write there.
    succeed(Command::new("chmod").arg("1777").arg(tree.join("tmp")))?;
    // The same commit gives the same bytes.
    let moment = format!("@{}", goods.moment);
    succeed(Command::new("find").arg(&tree).args(["-exec", "touch", "-d", &moment, "{}", "+"]))?;
    let time = output(Command::new("date").args(["-u", "-d", &moment, "+%FT%TZ"]))?;
    let time = time.trim();
    let name = format!("{}:{}", layout.display(), goods.version);
    let architecture = goods.target.architecture();
    let run = |args: &[&str]| succeed(Command::new("umoci").args(args).current_dir(work));
    run(&["init", "--layout", "layout"])?;
    run(&["new", "--image", &name])?;
    run(&["insert", "--rootless", "--history.created", time, "--image", &name, "image", "/"])?;
    run(&[
        "config",
        "--image",
        &name,
        "--no-history",
        "--created",
        time,
        "--architecture",
        architecture,
        "--config.entrypoint",
        "/tagq",
        "--config.cmd",
        "--help",
        "--config.workingdir",
        FOLDER,
    ])?;
    run(&["gc", "--layout", "layout"])?;
    let path = dist.join(format!("tagq-{}-{architecture}.oci.tar", goods.version));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime={moment}")).arg("-C").arg(layout).arg("-cf").arg(&path).arg(".");
    succeed(&mut tar)?;
    Ok(path)
}
