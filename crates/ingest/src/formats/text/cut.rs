//! A stream of text cut into blocks of whole lines.

use std::io;

use super::line::{LINE_BYTES_MAX, PADDING};
use crate::payload::{crc::Crc, input::AnyInput};

/// Bytes in memory, the first of them whole lines.
#[derive(Debug)]
pub(super) struct Block {
    bytes: Vec<u8>,
    /// Where the lines begin that were not read as a header.
    pub start: usize,
    len: usize,
    crc: Crc,
    end: u64,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: Vec::new(), start: 0, len: 0, crc: Crc::from(0), end: 0 }
    }
}

impl Block {
    /// The lines, and at least [`PADDING`] bytes after them, of no meaning.
    pub(super) fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// The lines alone.
    pub(super) fn lines(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Where the lines end.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The checksum of the file up to the end of the lines, see [`crate::input::Input::crc`].
    pub(super) fn crc(&self) -> Crc {
        self.crc
    }

    /// Where the lines end in the bytes of the text.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

/// Why there is no next block.
#[derive(Debug)]
pub(super) enum CutFault {
    Input(io::Error),
    /// A line is too long; its beginning.
    TooLong(Vec<u8>),
}

/// Cuts an input at line ends.
pub(super) struct Cutter<'a> {
    pub input: AnyInput<'a>,
    block_bytes: usize,
    /// The line that was begun and has no end yet.
    begun: Vec<u8>,
    /// The byte of the file at which the input begins.
    start: u64,
    /// Bytes of the stream taken from the input.
    taken: u64,
    /// The last place where reading could begin again, at the start of a line: how many bytes of the
    /// stream come before it, and its byte in the file.
    border: (u64, u64),
}

/// How a stream ended.
#[derive(Debug)]
pub(super) struct End {
    /// Where reading can go on: a line begins there, and a frame if the file has frames.
    pub resume_byte: u64,
    /// Whether whole lines after that were handed out.
    pub is_beyond: bool,
    /// The last line, if it has no end.
    pub begun: Vec<u8>,
    /// The checksum of the file before that line.
    pub crc: Crc,
}

impl<'a> Cutter<'a> {
    /// Cuts blocks of about `block_bytes`; the input begins at byte `start` of its file.
    pub(super) fn new(input: AnyInput<'a>, start: u64, block_bytes: usize) -> Self {
        Self { input, block_bytes, begun: Vec::new(), start, taken: 0, border: (0, start) }
    }

    /// Fills `block` with the next whole lines. False at the end of the input.
    pub(super) fn next(&mut self, block: &mut Block) -> Result<bool, CutFault> {
        let mut len = self.begun.len();
        let mut searched = len;
        (block.start, block.len) = (0, 0);
        block.bytes.resize((len + self.block_bytes + PADDING).max(block.bytes.len()), 0);
        block.bytes[..len].copy_from_slice(&self.begun);
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
            let end = block.bytes[searched..len].iter().rposition(|&byte| byte == b'\n');
            let lines = end.map_or(0, |end| searched + end + 1);
            if lines > 0 || is_end {
                self.begun.extend_from_slice(&block.bytes[lines..len]);
                block.len = lines;
                self.input.note_taken(&block.bytes[..lines]);
                block.crc = self.input.crc();
                block.end = self.start + self.taken - self.begun.len() as u64;
            }
            if len - lines > LINE_BYTES_MAX && lines == 0 {
                return Err(CutFault::TooLong(block.bytes[..len].to_vec()));
            }
            if is_end && let Some(byte) = self.input.border(self.begun.len() as u64) {
                self.border = (self.taken - self.begun.len() as u64, byte);
            }
            if lines > 0 || is_end {
                return Ok(lines > 0);
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
        // Nothing is begun only where a line ended.
        let begins_line = len == 0 || bytes[len - 1] == b'\n';
        if n > 0
            && begins_line
            && let Some(byte) = self.input.border(n as u64)
        {
            self.border = (self.taken, byte);
        }
        self.taken += n as u64;
        Ok(n)
    }

    /// Describes the end of the stream, once no more blocks come.
    pub(super) fn end(&mut self) -> End {
        let begun = std::mem::take(&mut self.begun);
        let (before, resume_byte) = self.border;
        let is_beyond = self.taken - begun.len() as u64 > before;
        End { resume_byte, is_beyond, begun, crc: self.input.crc() }
    }
}
