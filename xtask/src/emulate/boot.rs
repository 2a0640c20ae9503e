//! A bootable disc: ISOLINUX, a Linux kernel and its initial files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Checked, succeed};

/// Folders in which systems keep the two files of ISOLINUX.
const FOLDERS: [&str; 5] = [
    "/usr/lib/ISOLINUX",
    "/usr/lib/syslinux/modules/bios",
    "/usr/lib/syslinux/bios",
    "/usr/share/syslinux",
    "/usr/lib/syslinux",
];
/// Kernel parameters: no mitigations, and no output but errors and that of the tests. XSAVEC and XSAVES (bits
/// 321 and 323) are disabled, because Bochs 2.7 reports another size for them than kernels expect, and
/// kernels would then disable all vector instructions.
const PARAMETERS: &str = "console=ttyS0 rdinit=/init quiet panic=-1 mitigations=off nokaslr nowatchdog \
     clearcpuid=321,323";

/// Files of a boot loader.
pub(super) struct Loader {
    files: [PathBuf; 2],
}

impl Loader {
    /// Finds the boot loader and the program that writes the disc.
    ///
    /// # Errors
    /// Fails if one of them is not installed, and names the package to install.
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
