//! The only mapping of a file: committed bytes, read-only.
#![expect(unsafe_code, reason = "mapping a file is unsafe; this file is the only one that does it")]

use std::{fs::File, io, path::Path};

use crate::{Error, error::io_error};

/// The first bytes of a file, mapped read-only.
#[derive(Debug)]
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    /// Maps the first `len` bytes of `file`, which is at least that long.
    pub(crate) fn new(file: &File, path: &Path, len: usize) -> Result<Self, Error> {
        // SAFETY: the bytes below must not change while the map lives. A store's files are only
        // ever appended to after its committed length by the one writer that holds its lock, a
        // rewritten column gets a new name, and `len` is a committed length. A foreign process
        // that writes into or cuts the file breaks this contract, as docs/format.md states.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map(file) };
        map.map(Self).map_err(io_error(path, "map the file"))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Memory of this process in whole pages, read-only.
#[derive(Debug)]
pub(crate) struct Memory(memmap2::Mmap);

impl Memory {
    /// Makes memory of so many bytes, which `fill` writes.
    pub(crate) fn filled(len: usize, fill: impl FnOnce(&mut [u8])) -> io::Result<Self> {
        let mut memory = memmap2::MmapMut::map_anon(len)?;
        fill(&mut memory);
        memory.make_read_only().map(Self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
