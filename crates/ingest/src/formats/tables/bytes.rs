//! Bytes of a file at any place. A range is checked against the length of the file before memory is taken for it.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
};

use tagq_store::os::read_at;

use super::fault::{TableFault, damaged};
use crate::payload::{
    Payload,
    input::{Stopped, clamp},
};

/// A file whose length is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a> {
    file: &'a File,
    pub size: u64,
}

impl<'a> Bytes<'a> {
    pub fn of(payload: &Payload<'a>) -> Self {
        Self { file: payload.file, size: payload.size }
    }

    /// Those of a file of `size` bytes.
    pub fn of_file(file: &'a File, size: u64) -> Self {
        Self { file, size }
    }

    /// Reads `len` bytes from byte `at` on. They are inside the file before memory is taken for them.
    pub fn read(&self, at: u64, len: u64) -> Result<Vec<u8>, TableFault> {
        let mut bytes = Vec::new();
        self.section(at, len)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The `len` bytes from byte `at` on, to read one after the other.
    pub fn section(&self, at: u64, len: u64) -> Result<Section<'a>, TableFault> {
        match at.checked_add(len) {
            Some(end) if end <= self.size => Ok(Section { file: self.file, at, end }),
            _ => damaged(format!("it points to {len} bytes at byte {at}, after its end")),
        }
    }
}

impl<'a> Bytes<'a> {
    /// All bytes.
    pub fn all(&self) -> Section<'a> {
        Section { file: self.file, at: 0, end: self.size }
    }
}

/// Refuses a file whose description puts several of its parts in the same bytes: a few bytes could stand for any
/// number of rows.
pub(crate) fn check_apart(mut places: Vec<Range<u64>>, parts: &str) -> Result<(), TableFault> {
    places.sort_unstable_by_key(|place| (place.start, place.end));
    match places.windows(2).find(|pair| pair[1].start < pair[0].end) {
        Some(pair) => {
            damaged(format!("two of its {parts} share the bytes from {} on", pair[1].start))
        }
        None => Ok(()),
    }
}

/// Some bytes of a file.
pub(crate) struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = clamp(bytes.len(), self.end.saturating_sub(self.at));
        let n = read_at(self.file, &mut bytes[..len], self.at)?;
        if n == 0 && len > 0 {
            return Err(Stopped::Shrunk.into());
        }
        self.at += n as u64;
        Ok(n)
    }
}

/// Places are those of the file.
impl Seek for Section<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
