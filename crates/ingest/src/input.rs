//! The bytes of messages, from a file that may be compressed.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    ops::Range,
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use xxhash_rust::xxh3::Xxh3Default;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use crate::{
    Settings,
    frames::{Frame, Tail, Walk},
};

/// The largest window of a frame that is decompressed (128 MiB): the default of `zstd` itself.
const WINDOW_LOG_MAX: u32 = 27;
const INPUT_BYTES: usize = 128 * 1024;

/// The bytes of messages, from a file that may be compressed.
pub(crate) trait Input: Read {
    /// The byte of the file at which reading could begin anew to get what follows all but the
    /// last `ahead` bytes handed out.
    fn border(&self, ahead: u64) -> Option<u64>;

    /// A byte of the file up to which it was there, in complete frames if it has any, when all but
    /// the last `ahead` bytes handed out were.
    fn read_byte(&self, ahead: u64) -> u64;

    /// The frame being read, counted from 1.
    fn frame(&self) -> Option<(usize, Frame)>;
}

pub(crate) fn buffered<I: Input>(input: I) -> BufReader<I> {
    BufReader::with_capacity(INPUT_BYTES, input)
}

/// The bytes of a file that is not compressed.
pub(crate) struct PlainInput<'a> {
    file: &'a File,
    position: u64,
    size: u64,
    counted: Option<Arc<AtomicU64>>,
}

impl<'a> PlainInput<'a> {
    /// Reads these bytes of `file`.
    pub(crate) fn new(file: &'a File, bytes: Range<u64>, counted: Option<Arc<AtomicU64>>) -> Self {
        Self { file, position: bytes.start, size: bytes.end, counted }
    }
}

impl Read for PlainInput<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = clamp(bytes.len(), self.size - self.position);
        let n = read_at(self.file, &mut bytes[..len], self.position)?;
        self.position += n as u64;
        count(self.counted.as_ref(), n);
        Ok(n)
    }
}

impl Input for PlainInput<'_> {
    fn border(&self, ahead: u64) -> Option<u64> {
        Some(self.read_byte(ahead))
    }

    fn read_byte(&self, ahead: u64) -> u64 {
        self.position - ahead
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
    /// The byte behind the last frame.
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
        let frame = match self.walk.step()? {
            Ok(frame) => frame,
            Err(Tail::None) => return Ok(None),
            Err(Tail::Torn { start }) if self.salvage && self.position < self.end => {
                Frame { start, end: self.end, skippable: false, checksummed: false }
            }
            Err(Tail::Torn { .. }) if self.salvage => return Ok(None),
            Err(Tail::Torn { .. } | Tail::Garbage { .. }) => return Err(changed()),
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
            return Err(changed());
        }
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

    fn read_byte(&self, _: u64) -> u64 {
        self.end
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

fn changed() -> io::Error {
    io::Error::other("the file was changed while it was read")
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

/// xxh3 of the first `end` bytes of `file`.
pub(crate) fn hash_of(file: &File, end: u64) -> io::Result<u64> {
    let mut hash = Xxh3Default::new();
    let mut buffer = vec![0; INPUT_BYTES];
    let mut position = 0;
    while position < end {
        let len = clamp(buffer.len(), end - position);
        match read_at(file, &mut buffer[..len], position)? {
            0 => return Err(changed()),
            n => {
                hash.update(&buffer[..n]);
                position += n as u64;
            }
        }
    }
    Ok(hash.digest())
}
