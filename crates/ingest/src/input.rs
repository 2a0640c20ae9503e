//! The bytes of messages, from a file that may be compressed.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use crate::{
    Settings,
    crc::Crc,
    frames::{Frame, Tail, Walk},
};

/// The largest window of a frame that is decompressed (128 MiB): the default of `zstd` itself.
pub(crate) const WINDOW_LOG_MAX: u32 = 27;
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

    /// The frame being read, counted from 1.
    fn frame(&self) -> Option<(usize, Frame)>;
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
            return Err(shrunk());
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

    fn frame(&self) -> Option<(usize, Frame)> {
        None
    }
}

/// The decompressed bytes of the complete frames of a file, one frame after the other. A read never
/// hands out bytes of two frames.
pub(crate) struct FrameInput<'a> {
    file: &'a File,
    walk: Walk<'a>,
    /// The current frame; nothing before the first and between two.
    frame: Option<Frame>,
    /// Frames begun.
    begun: usize,
    /// The next byte of the current frame to fetch.
    position: u64,
    decoder: Decoder<'static>,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    /// Bytes handed out.
    handed: u64,
    /// Bytes handed out before the frame begun last, and where that begins.
    border: (u64, u64),
    /// The checksum of the bytes fetched, and of those before that frame.
    fetched: Crc,
    crc: Crc,
    /// The byte after the last frame.
    end: u64,
    /// Whether the last frame may be torn.
    salvage: bool,
    counted: Option<Arc<AtomicU64>>,
}

impl<'a> FrameInput<'a> {
    /// Reads the frames that make up these bytes of `file`; `before` frames stand before them. The
    /// last one may be torn when it is to be salvaged.
    pub(crate) fn new(
        file: &'a File,
        bytes: Range<u64>,
        before: usize,
        settings: &Settings,
    ) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        let crc = Crc::from(bytes.start.max(settings.known_bytes));
        Ok(Self {
            file,
            walk: Walk::new(file, bytes.clone()),
            frame: None,
            begun: before,
            position: bytes.start,
            decoder,
            buffer: vec![0; INPUT_BYTES],
            used: 0,
            filled: 0,
            handed: 0,
            border: (0, bytes.start),
            fetched: crc,
            crc,
            end: bytes.end,
            salvage: settings.salvage,
            counted: settings.bytes_read.clone(),
        })
    }

    /// The current frame, or the next one; nothing at the end.
    fn current(&mut self) -> io::Result<Option<Frame>> {
        if self.frame.is_some() {
            return Ok(self.frame);
        }
        self.border = (self.handed, self.walk.next());
        self.crc = self.fetched;
        let frame = match self.walk.step()? {
            Ok(frame) => frame,
            Err(Tail::None) => return Ok(None),
            Err(Tail::Torn { start }) if self.salvage && self.position < self.end => {
                Frame { start, end: self.end, skippable: false, checksummed: false }
            }
            Err(Tail::Torn { .. }) if self.salvage => return Ok(None),
            Err(Tail::Torn { .. } | Tail::Garbage { .. }) => return Err(shrunk()),
        };
        self.decoder.reinit()?;
        self.position = frame.start;
        self.begun += 1;
        self.frame = Some(frame);
        Ok(self.frame)
    }

    /// Fetches more of the current frame.
    fn fill(&mut self, end: u64) -> io::Result<()> {
        let len = clamp(self.buffer.len(), end - self.position);
        let n = read_at(self.file, &mut self.buffer[..len], self.position)?;
        if n == 0 {
            return Err(shrunk());
        }
        self.fetched.add(self.position, &self.buffer[..n]);
        self.position += n as u64;
        (self.used, self.filled) = (0, n);
        count(self.counted.as_ref(), n);
        Ok(())
    }
}

impl Read for FrameInput<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = self.current()? {
            if self.used == self.filled && self.position < frame.end {
                self.fill(frame.end)?;
            }
            let mut input = InBuffer::around(&self.buffer[self.used..self.filled]);
            let mut output = OutBuffer::around(&mut *bytes);
            let hint = self.decoder.run(&mut input, &mut output).map_err(named)?;
            let (used, written) = (input.pos(), output.pos());
            self.used += used;
            self.handed += written as u64;
            if hint == 0 && self.used == self.filled && self.position == frame.end {
                self.frame = None;
            } else if used == 0 && written == 0 && self.salvage && self.position == self.end {
                // All that is there of a torn frame.
                self.frame = None;
            } else if used == 0 && written == 0 {
                return Err(io::Error::other("its blocks do not add up to the frame"));
            }
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}

impl Input for FrameInput<'_> {
    fn border(&self, ahead: u64) -> Option<u64> {
        let (handed, byte) = self.border;
        (handed == self.handed - ahead).then_some(byte)
    }

    fn note_taken(&mut self, _: &[u8]) {}

    fn crc(&self) -> Crc {
        self.crc
    }

    fn frame(&self) -> Option<(usize, Frame)> {
        Some((self.begun, self.frame?))
    }
}

/// Tells a frame that asks for more than it gets from one that is damaged.
fn named(error: io::Error) -> io::Error {
    let text = error.to_string();
    let is_beyond = ["requires too much memory", "Dictionary mismatch"]
        .iter()
        .any(|reason| text.contains(reason));
    if is_beyond { io::Error::new(io::ErrorKind::Unsupported, text) } else { error }
}

/// Why a file cannot be read to the end that it had when it was opened.
#[derive(Debug, thiserror::Error)]
#[error("it became shorter while it was read")]
pub(crate) struct Shrunk;

pub(crate) fn shrunk() -> io::Error {
    io::Error::other(Shrunk)
}

/// Whether a file could not be read because it became shorter.
pub(crate) fn is_shrunk(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Shrunk>)
}

fn clamp(len: usize, rest: u64) -> usize {
    usize::try_from(rest).map_or(len, |rest| len.min(rest))
}

fn count(counted: Option<&Arc<AtomicU64>>, n: usize) {
    if let Some(counted) = counted {
        counted.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// Reads again when a signal came in between.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(bytes, at) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
