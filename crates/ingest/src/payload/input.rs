//! The interface of the bytes of a payload, from a file that may be compressed.
//!
//! Bytes are handed out ahead of their use. Only those that were noted as taken are in the checksum of the source.

use std::{
    io::{self, Read},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::crc::Crc;

pub(crate) const INPUT_BYTES: usize = 128 * 1024;

/// The bytes of messages, from a file that may be compressed.
pub(crate) trait Input: Read {
    /// The byte of the file at which reading could begin again to get what follows all but the
    /// last `ahead` bytes handed out.
    fn border(&self, ahead: u64) -> Option<u64>;

    /// Notes which of the bytes handed out are taken now: those that follow the last ones.
    fn note_taken(&mut self, bytes: &[u8]);

    /// Checksum of all bytes of the file that what was taken so far came from.
    fn crc(&self) -> Crc;

    /// The member being read.
    fn member(&self) -> Option<Member>;
}

/// A member of a compressed file.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The word for a member: `frame`.
    pub kind: &'static str,
    /// Counted from 1, from where reading began.
    pub number: usize,
    /// Where it stands; if its end is not known, up to where bytes were fetched.
    pub bytes: Range<u64>,
}

pub(crate) type AnyInput<'a> = Box<dyn Input + Send + 'a>;

/// Reads ahead, and tells the input which bytes of it were taken.
pub(crate) struct Buffered<'a> {
    input: AnyInput<'a>,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    /// Bytes that the input was told of.
    told: usize,
}

impl<'a> Buffered<'a> {
    pub(crate) fn new(input: AnyInput<'a>) -> Self {
        Self { input, buffer: vec![0; INPUT_BYTES], used: 0, filled: 0, told: 0 }
    }

    /// The input, told of all that was taken.
    pub(crate) fn input(&mut self) -> &AnyInput<'a> {
        self.input.note_taken(&self.buffer[self.told..self.used]);
        self.told = self.used;
        &self.input
    }

    /// Bytes that were read and not taken; some, unless the input has ended.
    pub(crate) fn ahead(&mut self) -> io::Result<&[u8]> {
        if self.used == self.filled {
            self.input();
            (self.used, self.filled, self.told) = (0, 0, 0);
            self.filled = self.input.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.used..self.filled])
    }

    /// How many bytes were read and not taken.
    pub(crate) fn ahead_len(&self) -> u64 {
        (self.filled - self.used) as u64
    }
}

impl Read for Buffered<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.used == self.filled && bytes.len() >= self.buffer.len() {
            self.input();
            let n = self.input.read(bytes)?;
            self.input.note_taken(&bytes[..n]);
            return Ok(n);
        }
        let ahead = self.ahead()?;
        let n = ahead.len().min(bytes.len());
        bytes[..n].copy_from_slice(&ahead[..n]);
        self.used += n;
        Ok(n)
    }
}

/// Why a file cannot be read to the end that it had when it was opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    #[error("it became shorter while it was read")]
    Shrunk,
    #[error("its last member is not complete")]
    Torn { start: u64 },
    /// Bytes that begin no member.
    #[error("the bytes after its complete members begin no other one")]
    Garbage {
        start: u64,
        found: [u8; 4],
        /// Complete members before them, and what many of them are called.
        before: usize,
        members: &'static str,
    },
}

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        Self::other(stopped)
    }
}

impl Stopped {
    /// Returns this reason if it is that of `error`.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Whether a file could not be read because it became shorter.
pub(crate) fn is_shrunk(error: &io::Error) -> bool {
    matches!(Stopped::of(error), Some(Stopped::Shrunk))
}

pub(crate) fn clamp(len: usize, rest: u64) -> usize {
    usize::try_from(rest).map_or(len, |rest| len.min(rest))
}

pub(super) fn count(counted: Option<&Arc<AtomicU64>>, n: usize) {
    if let Some(counted) = counted {
        counted.fetch_add(n as u64, Ordering::Relaxed);
    }
}
