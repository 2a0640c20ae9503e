//! A disc that boots: ISOLINUX, a Linux kernel and the files that it begins with.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Checked, succeed};

/// Where systems keep the two files of ISOLINUX.
const FOLDERS: [&str; 5] = [
    "/usr/lib/ISOLINUX",
    "/usr/lib/syslinux/modules/bios",
    "/usr/lib/syslinux/bios",
    "/usr/share/syslinux",
    "/usr/lib/syslinux",
];
/// No time on defences that nobody attacks, and nothing but errors and what the tests print. Without XSAVEC and
/// XSAVES (bits 321 and 323), of which Bochs 2.7 names another size than kernels expect: they would turn all
/// vectors off.
const PARAMETERS: &str = "console=ttyS0 rdinit=/init quiet panic=-1 mitigations=off nokaslr nowatchdog \
     clearcpuid=321,323";

/// The files of a boot loader.
pub(super) struct Loader {
    files: [PathBuf; 2],
}

impl Loader {
    /// Finds the boot loader and what writes the disc.
    ///
    /// # Errors
    /// Where one of them is not installed, with what to install.
    pub(super) fn find() -> Checked<Self> {
        let missing = "xorriso and ISOLINUX make the disc to boot from: \
             apt install xorriso isolinux syslinux-common";
        succeed(Command::new("xorriso").arg("-version")).map_err(|_| missing)?;
        let find = |name: &str| {
            let paths = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
            paths.into_iter().find(|path| path.is_file())
        };
        match [find("isolinux.bin"), find("ldlinux.c32")] {
            [Some(first), Some(second)] => Ok(Self { files: [first, second] }),
            _ => Err(missing.into()),
        }
    }

    /// Writes the disc to a file in `folder`.
    pub(super) fn write(&self, folder: &Path, kernel: &Path, archive: &[u8]) -> Checked<PathBuf> {
        let content = folder.join("disc");
        fs::create_dir(&content)?;
        for file in &self.files {
            fs::copy(file, content.join(file.file_name().ok_or("an odd file name")?))?;
        }
        let named = |error| format!("{}: {error}", kernel.display());
        fs::copy(kernel, content.join("kernel")).map_err(named)?;
        fs::write(content.join("files"), archive)?;
        let entry =
            format!("DEFAULT it\nLABEL it\nKERNEL kernel\nINITRD files\nAPPEND {PARAMETERS}\n");
        fs::write(content.join("isolinux.cfg"), entry)?;
        let disc = folder.join("disc.iso");
        let mut make = Command::new("xorriso");
        make.args(["-as", "mkisofs", "-quiet", "-b", "isolinux.bin", "-c", "boot.cat"]);
        make.args(["-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", "-o"]);
        succeed(make.arg(&disc).arg(&content))?;
        Ok(disc)
    }
}
