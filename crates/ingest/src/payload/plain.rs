//! The bytes of a file that is not compressed.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    sync::{Arc, atomic::AtomicU64},
};

use tagq_store::os::read_at;

use super::{
    crc::Crc,
    input::{Input, Member, Stopped, clamp, count},
};
use crate::settings::Settings;

/// The bytes of a file that is not compressed.
pub(crate) struct PlainInput<'a> {
    file: &'a File,
    position: u64,
    size: u64,
    /// Bytes of the file that were taken.
    taken: u64,
    crc: Crc,
    counted: Option<Arc<AtomicU64>>,
}

impl<'a> PlainInput<'a> {
    /// Reads these bytes of `file`.
    pub(crate) fn new(file: &'a File, bytes: Range<u64>, settings: &Settings) -> Self {
        Self {
            file,
            position: bytes.start,
            size: bytes.end,
            taken: bytes.start,
            crc: Crc::from(bytes.start.max(settings.known_bytes)),
            counted: settings.bytes_read.clone(),
        }
    }
}

impl Read for PlainInput<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = clamp(bytes.len(), self.size - self.position);
        let n = read_at(self.file, &mut bytes[..len], self.position)?;
        if n == 0 && len > 0 {
            return Err(Stopped::Shrunk.into());
        }
        self.position += n as u64;
        count(self.counted.as_ref(), n);
        Ok(n)
    }
}

impl Input for PlainInput<'_> {
    fn border(&self, ahead: u64) -> Option<u64> {
        Some(self.position - ahead)
    }

    fn note_taken(&mut self, bytes: &[u8]) {
        self.crc.add(self.taken, bytes);
        self.taken += bytes.len() as u64;
    }

    fn crc(&self) -> Crc {
        self.crc
    }

    fn member(&self) -> Option<Member> {
        None
    }
}
