//! The bytes in the frames of a file.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    sync::{Arc, atomic::AtomicU64},
};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::{
    crc::Crc,
    frames::{Frame, Tail, Walk},
    input::{INPUT_BYTES, Input, clamp, count, read_at, shrunk},
};
use crate::settings::Settings;

/// The largest window of a frame that is decompressed (128 MiB): the default of `zstd` itself.
pub(crate) const WINDOW_LOG_MAX: u32 = 27;

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
