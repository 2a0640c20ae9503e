//! Temporary file systems for the trials.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{Checked, program};

/// How long a file system may stay busy after a process was killed.
const BUSY: Duration = Duration::from_secs(10);

/// A mounted file system; unmounted when dropped.
#[derive(Debug)]
pub(super) struct Mounted {
    at: PathBuf,
}

impl Mounted {
    /// Runs `mount ARGS… AT`. Creates the folder if necessary.
    pub(super) fn new<S: AsRef<OsStr>>(
        args: impl IntoIterator<Item = S>,
        at: &Path,
    ) -> Checked<Self> {
        fs::create_dir_all(at)?;
        program::run_well(Command::new("mount").args(args).arg(at))?;
        Ok(Self { at: at.into() })
    }

    /// Mounts a file system in memory of `bytes` bytes, rounded up to pages.
    pub(super) fn tmpfs(options: &str, at: &Path) -> Checked<Self> {
        Self::new(["-t", "tmpfs", "-o", options, "tmpfs"], at)
    }

    pub(super) fn remount(&self, options: &str) -> Checked<()> {
        let options = format!("remount,{options}");
        program::run_well(Command::new("mount").arg("-o").arg(options).arg(&self.at))?;
        Ok(())
    }

    pub(super) fn unmount(self) -> Checked<()> {
        // A killed process may need a moment to exit.
        let begun = Instant::now();
        loop {
            match program::run_well(Command::new("umount").arg(&self.at)) {
                Err(error) if begun.elapsed() > BUSY => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(20)),
                Ok(_) => break,
            }
        }
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // After a failure a process may still use it.
        drop(Command::new("umount").arg("-l").arg(&self.at).output());
    }
}

/// Returns why nothing can be mounted here, or `None` if mounting works.
pub(super) fn refusal(folder: &Path) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root".to_owned());
    }
    let tried = Mounted::tmpfs("size=4k", &folder.join("mount")).and_then(Mounted::unmount);
    tried.err().map(|error| format!("no mount: {error}"))
}
