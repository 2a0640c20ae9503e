//! The bytes in the members of a compressed file.
//!
//! Reading can begin again only where a member begins. The checksum of the source grows member by member, so a member
//! that is not complete is read again from its beginning.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    sync::{Arc, atomic::AtomicU64},
};

use tagq_store::os::read_at;

use super::{
    compression::interface::{AnyDecompressor, Compression},
    crc::Crc,
    frames::FrameWalk,
    input::{INPUT_BYTES, Input, Member, Stopped, clamp, count},
};
use crate::settings::Settings;

/// Bytes that tell what begins there.
const MAGIC_BYTES: usize = 6;

/// The decompressed bytes of the members of a file, one member after the other. A read never hands out bytes of
/// two members.
pub(crate) struct MemberInput<'a> {
    file: &'a File,
    compression: &'static dyn Compression,
    decompressor: AnyDecompressor,
    /// Where the current member begins; `None` before the first and between two.
    member: Option<u64>,
    /// Members begun.
    begun: usize,
    /// The next byte of the file to fetch, and the byte after the last one.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    /// Bytes handed out.
    handed: u64,
    /// Bytes handed out before the member begun last, and where that begins.
    border: (u64, u64),
    /// The checksum of the bytes decompressed, and of those before that member.
    decompressed: Crc,
    crc: Crc,
    /// Where the torn last member begins, if its beginning was handed out.
    torn: Option<u64>,
    /// Whether a torn last member is read as far as it goes.
    is_lenient: bool,
    counted: Option<Arc<AtomicU64>>,
}

impl<'a> MemberInput<'a> {
    /// Reads the members that make up these bytes of `file`; `before` members stand before them.
    pub(crate) fn new(
        file: &'a File,
        compression: &'static dyn Compression,
        bytes: Range<u64>,
        before: usize,
        settings: &Settings,
    ) -> io::Result<Self> {
        let crc = Crc::from(bytes.start.max(settings.known_bytes));
        Ok(Self {
            file,
            compression,
            decompressor: compression.decompressor()?,
            member: None,
            begun: before,
            next: bytes.start,
            end: bytes.end,
            buffer: vec![0; INPUT_BYTES],
            used: 0,
            filled: 0,
            handed: 0,
            border: (0, bytes.start),
            decompressed: crc,
            crc,
            torn: None,
            is_lenient: false,
            counted: settings.bytes_read.clone(),
        })
    }

    /// Reads a torn last member as far as it goes.
    pub(crate) fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Where the torn last member begins that was read as far as it goes.
    pub(crate) fn torn(&self) -> Option<u64> {
        self.torn
    }

    /// The byte of the file up to which bytes were decompressed.
    fn position(&self) -> u64 {
        self.next - (self.filled - self.used) as u64
    }

    /// Begins the next member unless one is begun. False at the end.
    fn begin(&mut self) -> io::Result<bool> {
        if self.member.is_some() {
            return Ok(true);
        }
        let start = self.position();
        self.border = (self.handed, start);
        self.crc = self.decompressed;
        if start == self.end {
            return Ok(false);
        }
        self.fill(MAGIC_BYTES)?;
        let bytes = &self.buffer[self.used..self.filled];
        if !self.compression.is_next(bytes) {
            let found = std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0));
            let (before, members) = (self.begun, self.compression.members());
            return Err(Stopped::Garbage { start, found, before, members }.into());
        }
        self.begun += usize::from(self.compression.is_start(bytes));
        self.decompressor.begin()?;
        self.member = Some(start);
        Ok(true)
    }

    /// Fetches so many bytes, or all that are left.
    fn fill(&mut self, len: usize) -> io::Result<()> {
        if self.filled - self.used >= len {
            return Ok(());
        }
        self.buffer.copy_within(self.used..self.filled, 0);
        (self.used, self.filled) = (0, self.filled - self.used);
        while self.filled < len && self.next < self.end {
            let room = clamp(self.buffer.len() - self.filled, self.end - self.next);
            let rest = &mut self.buffer[self.filled..][..room];
            let n = read_at(self.file, rest, self.next)?;
            if n == 0 {
                return Err(Stopped::Shrunk.into());
            }
            self.next += n as u64;
            self.filled += n;
            count(self.counted.as_ref(), n);
        }
        Ok(())
    }
}

impl Read for MemberInput<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !bytes.is_empty() && self.begin()? {
            self.fill(1)?;
            let input = &self.buffer[self.used..self.filled];
            let step = self.decompressor.run(input, bytes)?;
            let position = self.position();
            self.decompressed.add(position, &self.buffer[self.used..][..step.used]);
            self.used += step.used;
            self.handed += step.written as u64;
            if step.is_end {
                self.member = None;
            } else if (step.used, step.written) == (0, 0) {
                if self.position() < self.end {
                    return Err(io::Error::other("its blocks do not add up"));
                }
                let start = self.member.take().unwrap_or(self.end);
                self.torn = Some(start);
                if !self.is_lenient {
                    return Err(Stopped::Torn { start }.into());
                }
            }
            if step.written > 0 {
                return Ok(step.written);
            }
        }
        Ok(0)
    }
}

impl Input for MemberInput<'_> {
    fn border(&self, ahead: u64) -> Option<u64> {
        let (handed, byte) = self.border;
        (handed == self.handed - ahead).then_some(byte)
    }

    fn note_taken(&mut self, _: &[u8]) {}

    fn crc(&self) -> Crc {
        self.crc
    }

    fn member(&self) -> Option<Member> {
        let start = self.member?;
        let mut walk = self.compression.walk(self.file, start..self.end);
        let end = match walk.as_mut().map(FrameWalk::step) {
            Some(Ok(Ok(frame))) => frame.end,
            _ => self.next,
        };
        Some(Member { kind: self.compression.member(), number: self.begun, bytes: start..end })
    }
}
