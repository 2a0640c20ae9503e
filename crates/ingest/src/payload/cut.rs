//! A stream cut into blocks of whole lines or records.
//!
//! With blocks of 8 bytes, the text `1<tab>10`, `2<tab>20` is cut into the line `1<tab>10` with its line feed, and
//! `2<tab>2` waits for its end. No byte is lost or taken twice: a block is noted in the checksum of the source when it
//! is cut, in the order of the file.

use std::io;

use super::{crc::Crc, input::AnyInput};

/// The longest line; more is no text of tags.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes that follow the lines of a block in memory, whatever they are: numbers are read in words of eight
/// bytes.
pub(crate) const PADDING: usize = 64;

/// The kind of parts in a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parts {
    /// Lines, each with its line feed.
    Lines,
    /// Records of `len` bytes. A block shows records of so many bytes `around` it, too.
    Records { len: usize, around: usize },
}

impl Parts {
    /// Length of the whole parts that `bytes` begin with; no line ends before `searched`.
    fn whole(self, bytes: &[u8], searched: usize) -> usize {
        match self {
            Self::Lines => {
                let end = bytes[searched..].iter().rposition(|&byte| byte == b'\n');
                end.map_or(0, |end| searched + end + 1)
            }
            Self::Records { len, .. } => bytes.len() / len * len,
        }
    }

    /// How many bytes around a block it shows.
    fn around(self) -> usize {
        match self {
            Self::Lines => 0,
            Self::Records { around, .. } => around,
        }
    }

    /// Whether a part ends with `bytes`, which begin with one.
    fn end_with(self, bytes: &[u8]) -> bool {
        match self {
            Self::Lines => bytes.last().is_none_or(|&byte| byte == b'\n'),
            Self::Records { len, .. } => bytes.len().is_multiple_of(len),
        }
    }
}

/// Bytes in memory, the first of them whole parts.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// Where the parts begin that are its own, and were not read as a header.
    pub start: usize,
    len: usize,
    /// Where the parts after its own end that it shows.
    around_end: usize,
    crc: Crc,
    end: u64,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: Vec::new(), start: 0, len: 0, around_end: 0, crc: Crc::from(0), end: 0 }
    }
}

impl Block {
    /// The parts, and at least [`PADDING`] bytes after them, of no meaning.
    pub(crate) fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// The parts alone.
    pub(crate) fn parts(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The parts that are its own.
    pub(crate) fn own(&self) -> &[u8] {
        &self.bytes[self.start..self.len]
    }

    /// The parts, and some before and after its own.
    pub(crate) fn with_around(&self) -> &[u8] {
        &self.bytes[..self.around_end]
    }

    /// Where the parts end.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The checksum of the file up to the end of the parts, see [`super::input::Input::crc`].
    pub(crate) fn crc(&self) -> Crc {
        self.crc
    }

    /// Where the parts end in the bytes of the stream.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

/// Why there is no next block.
#[derive(Debug)]
pub(crate) enum CutFault {
    Input(io::Error),
    /// A line is too long; its beginning.
    TooLong(Vec<u8>),
}

/// Cuts an input at the ends of parts.
pub(crate) struct Cutter<'a> {
    pub input: AnyInput<'a>,
    parts: Parts,
    block_bytes: usize,
    /// Parts before the next block that it shows.
    before: Vec<u8>,
    /// The next parts, and the one that was begun and has no end yet.
    begun: Vec<u8>,
    /// The byte of the file at which the input begins.
    start: u64,
    /// Bytes of the stream taken from the input.
    taken: u64,
    /// The last place where reading could begin again, at the start of a part: how many bytes of the
    /// stream come before it, and its byte in the file.
    border: (u64, u64),
}

/// How a stream ended.
#[derive(Debug)]
pub(crate) struct End {
    /// Where reading can continue: a part begins there, and a frame if the file has frames.
    pub resume_byte: u64,
    /// Whether whole parts after that were handed out.
    pub is_beyond: bool,
    /// The last part, if it has no end.
    pub begun: Vec<u8>,
    /// The checksum of the file before that part.
    pub crc: Crc,
}

impl<'a> Cutter<'a> {
    /// Cuts blocks of about `block_bytes`; the input begins at byte `start` of its file.
    pub(crate) fn new(input: AnyInput<'a>, parts: Parts, start: u64, block_bytes: usize) -> Self {
        let (before, begun) = (Vec::new(), Vec::new());
        Self { input, parts, block_bytes, before, begun, start, taken: 0, border: (0, start) }
    }

    /// The first block follows these parts, and shows them.
    pub(crate) fn after(self, before: Vec<u8>) -> Self {
        Self { before, ..self }
    }

    /// Fills `block` with the next whole parts. False at the end of the input.
    pub(crate) fn next(&mut self, block: &mut Block) -> Result<bool, CutFault> {
        let start = self.before.len();
        let mut len = start + self.begun.len();
        let mut searched = len;
        (block.start, block.len, block.around_end) = (start, start, start);
        block.bytes.resize((len + self.block_bytes + PADDING).max(block.bytes.len()), 0);
        block.bytes[..start].copy_from_slice(&self.before);
        block.bytes[start..len].copy_from_slice(&self.begun);
        self.begun.clear();
        loop {
            let goal = searched + self.block_bytes;
            block.bytes.resize((goal + PADDING).max(block.bytes.len()), 0);
            while len < goal {
                match self.take(&mut block.bytes[..goal], len).map_err(CutFault::Input)? {
                    0 => break,
                    n => len += n,
                }
            }
            let is_end = len < goal;
            let around_end = self.parts.whole(&block.bytes[..len], searched);
            // Parts that are shown are those of the next block.
            let around = if is_end { 0 } else { self.parts.around() };
            let whole = around_end.saturating_sub(around).max(start);
            if whole > start || is_end {
                self.begun.extend_from_slice(&block.bytes[whole..len]);
                (block.len, block.around_end) = (whole, around_end.max(whole));
                self.input.note_taken(&block.bytes[start..whole]);
                block.crc = self.input.crc();
                block.end = self.start + self.taken - self.begun.len() as u64;
                let before = whole.saturating_sub(self.parts.around());
                self.before.clear();
                self.before.extend_from_slice(&block.bytes[before..whole]);
            }
            if len > LINE_BYTES_MAX && around_end == 0 {
                return Err(CutFault::TooLong(block.bytes[..len].to_vec()));
            }
            if is_end && let Some(byte) = self.input.border(self.begun.len() as u64) {
                self.border = (self.taken - self.begun.len() as u64, byte);
            }
            if whole > start || is_end {
                return Ok(whole > start);
            }
            searched = len;
        }
    }

    /// Reads on into `bytes[len..]`; nothing at the end.
    fn take(&mut self, bytes: &mut [u8], len: usize) -> io::Result<usize> {
        let n = loop {
            match self.input.read(&mut bytes[len..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        // Nothing is begun only where a part ended.
        if n > 0
            && self.parts.end_with(&bytes[..len])
            && let Some(byte) = self.input.border(n as u64)
        {
            self.border = (self.taken, byte);
        }
        self.taken += n as u64;
        Ok(n)
    }

    /// Describes the end of the stream, once no more blocks come.
    pub(crate) fn end(&mut self) -> End {
        let begun = std::mem::take(&mut self.begun);
        let (before, resume_byte) = self.border;
        let is_beyond = self.taken - begun.len() as u64 > before;
        End { resume_byte, is_beyond, begun, crc: self.input.crc() }
    }
}
