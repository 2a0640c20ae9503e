//! The initial files of a Linux kernel: a cpio archive of the format "newc"
//! (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).

use std::collections::BTreeSet;

/// Mode of every file: a regular file with all permissions.
const FILE: u32 = 0o100_755;
const FOLDER: u32 = 0o040_755;

/// An archive that is built file by file.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    /// Adds a folder and its parents, unless they are already there.
    pub(super) fn folder(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
        if self.folders.insert(path.to_owned()) {
            self.entry(path, FOLDER, &[]);
        }
    }

    /// Adds an executable file; `path` has no leading slash.
    pub(super) fn file(&mut self, path: &str, content: &[u8]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder);
        }
        self.entry(path, FILE, content);
    }

    /// Returns the archive with the trailer that the kernel expects.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        // Inode number, mode, user, group, links, time, size, four device numbers, size of the name,
        // checksum.
        let [bytes, name_bytes] = [content.len(), path.len() + 1];
        let header = format!(
            "070701{:08x}{mode:08x}{:016x}{:08x}{:08x}{bytes:08x}{:032x}{name_bytes:08x}{:08x}",
            self.entries, 0, 1, 0, 0, 0,
        );
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects the output of `printf hello > d/f; printf 'd\nd/f\n' | cpio -o -H newc`, except for numbers
    /// and times.
    #[test]
    fn an_archive_has_the_form_newc() {
        let mut archive = Archive::default();
        archive.file("d/f", b"hello");
        let archive = archive.finish();
        // 6 + 13·8 bytes and the name `d` with its zero byte make 112, a multiple of four.
        let folder = "070701\
             00000001000041ed00000000000000000000000100000000\
             00000000000000000000000000000000000000000000000200000000d\0";
        assert_eq!(archive[..112], *folder.as_bytes());
        // `d/f` and its zero byte make 114, so two zero bytes follow; three follow the five bytes of content.
        let file = "070701\
             00000002000081ed00000000000000000000000100000000\
             00000005000000000000000000000000000000000000000400000000d/f\0\0\0hello\0\0\0";
        assert_eq!(archive[112..112 + 124], *file.as_bytes());
        assert!(archive.len().is_multiple_of(4));
        assert!(archive[236..].windows(11).any(|window| window == b"TRAILER!!!\0"));
    }
}
