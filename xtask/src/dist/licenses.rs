//! The licences of all dependencies with their texts, in one file.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    tools::{from_registry, succeed},
    workspace::cargo,
};

/// The version of cargo-about that collects them.
const CARGO_ABOUT: &str = "0.9.3";
/// The file. Maturin takes files whose names begin with LICENSE into the wheel.
pub(crate) const NAME: &str = "LICENSES-OF-DEPENDENCIES.txt";

/// Collects the licences of the crates that the workspace needs, from their sources. Those that deny.toml does not allow
/// are errors.
pub(crate) fn collected(root: &Path, work: &Path) -> io::Result<PathBuf> {
    let allowed = fs::read_to_string(root.join("deny.toml"))?;
    let allowed = allowed.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    let (allowed, _) = allowed.ok_or_else(|| io::Error::other("deny.toml allows no licences"))?;
    let config = work.join("about.toml");
    fs::write(&config, format!("accepted = [{allowed}]\nignore-dev-dependencies = true\n"))?;
    // Without `--offline`, licences are asked of a service.
    succeed(cargo().args(["fetch", "--locked", "--quiet"]).current_dir(root))?;
    let mut about = Command::new(from_registry("cargo-about", CARGO_ABOUT, "cli")?);
    about.args(["about", "generate", "--offline", "--fail", "--workspace", "--config"]);
    about.arg(config).arg(root.join("xtask/src/dist/licenses.hbs"));
    let path = work.join(NAME);
    succeed(about.arg("--output-file").arg(&path).current_dir(root))?;
    Ok(path)
}
