//! Maps files of this program.
#![expect(unsafe_code, reason = "mapping a file is unsafe; this file is the only one that does it")]

use std::{fs::File, io, path::Path};

/// Maps a whole file read-only.
pub fn map(path: &Path) -> io::Result<memmap2::Mmap> {
    let file = File::open(path)?;
    // SAFETY: the bytes must not change while the map lives. The files are in a folder of this program, which
    // writes each of them once, before it is mapped.
    unsafe { memmap2::Mmap::map(&file) }
}
