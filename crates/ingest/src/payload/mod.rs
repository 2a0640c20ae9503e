//! The payload of a file: its bytes, or what its Zstandard frames contain. Formats read a file through this
//! alone.

pub(crate) mod crc;
pub(crate) mod cut;
mod framed;
pub(crate) mod frames;
pub(crate) mod input;
pub(crate) mod opened;
pub(crate) mod plain;

use std::{
    fs::File,
    io::{self, Read as _},
    ops::Range,
    path::Path,
};

use framed::{FrameInput, WINDOW_LOG_MAX};
use frames::{Frame, Frames, Tail, Walk};
use input::{AnyInput, is_shrunk, read_at};
use opened::Opened;
use plain::PlainInput;

use crate::{
    Settings,
    error::{Error, io_error},
};

/// Enough of the first bytes of a file to tell its format.
pub(crate) const START_BYTES: usize = 12;
/// Files below this are decoded on the calling thread.
const SMALL_BYTES: u64 = 512 * 1024;

/// The payload of a file that was opened.
#[derive(Debug)]
pub(crate) struct Payload<'a> {
    pub path: &'a Path,
    pub file: &'a File,
    /// Length of the file when it was opened.
    pub size: u64,
    /// The bytes to read. Of a file in frames, these are its complete frames, and a torn one that is salvaged.
    pub bytes: Range<u64>,
    pub is_framed: bool,
    /// The complete frames from [`Settings::start_byte`] on; a file without frames is one frame up to its end.
    pub frames: Frames,
    may_thread: bool,
}

impl<'a> Payload<'a> {
    /// Finds the payload of `source` from [`Settings::start_byte`] on, to be decoded on the calling thread
    /// unless `may_thread`.
    pub(crate) fn find(
        source: &'a Opened<'_>,
        settings: &Settings,
        may_thread: bool,
    ) -> Result<Self, Error> {
        let mut payload = Self { may_thread, ..Self::of(source)? };
        let start = settings.start_byte;
        payload.bytes = start..payload.size.max(start);
        if payload.is_framed {
            payload.frames =
                frames::scan(payload.file, start, payload.size).map_err(payload.unreadable())?;
            payload.bytes.end = match payload.frames.tail {
                Tail::Torn { .. } if settings.salvage => payload.size,
                Tail::None | Tail::Torn { .. } => payload.frames.end,
                Tail::Garbage { start: byte, found: magic } => {
                    let (path, frames) = (payload.path.into(), payload.frames.count);
                    return Err(Error::Garbage { path, byte, frames, found: describe(magic) });
                }
            };
        }
        Ok(payload)
    }

    /// Finds the payload of `source` from its first byte on, to look at its beginning: later frames are not
    /// counted.
    pub(crate) fn begin(source: &'a Opened<'_>) -> Result<Self, Error> {
        let mut payload = Self::of(source)?;
        if payload.is_framed {
            let mut walk = Walk::new(payload.file, payload.bytes.clone());
            if walk.step().map_err(payload.unreadable())?.is_err() {
                payload.bytes.end = 0;
            }
        }
        Ok(payload)
    }

    /// The whole file, frames not counted.
    fn of(source: &'a Opened<'_>) -> Result<Self, Error> {
        let (path, file, size) = (source.path, &source.file, source.size());
        let is_framed = frames::is_frame_start(
            &first_bytes(file, START_BYTES).map_err(io_error(path, "read"))?,
        );
        let frames = Frames { count: 0, end: size, checksummed: false, tail: Tail::None };
        Ok(Self { path, file, size, bytes: 0..size, is_framed, frames, may_thread: false })
    }

    fn unreadable(&self) -> impl FnOnce(io::Error) -> Error + use<'_> {
        io_error(self.path, "read")
    }

    /// The bytes that tell the format.
    pub(crate) fn start(&self) -> Result<Vec<u8>, Error> {
        self.first(START_BYTES)
    }

    /// The first bytes of the payload, from the beginning of the file; fewer if no more can be decompressed.
    pub(crate) fn first(&self, len: usize) -> Result<Vec<u8>, Error> {
        if !self.is_framed {
            return first_bytes(self.file, len).map_err(self.unreadable());
        }
        let input = PlainInput::new(self.file, 0..self.bytes.end, &Settings::default());
        let decoder = zstd::stream::read::Decoder::new(input).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Ok(decoder)
        });
        let mut start = Vec::new();
        let read = decoder.and_then(|input| input.take(len as u64).read_to_end(&mut start));
        // Damage is named when the frame is read.
        Ok(read.map_or(Vec::new(), |_| start))
    }

    /// Reads these bytes of the file; `frames_before` frames stand before them.
    pub(crate) fn input(
        &self,
        bytes: Range<u64>,
        frames_before: usize,
        settings: &Settings,
    ) -> Result<AnyInput<'a>, Error> {
        if !self.is_framed {
            return Ok(Box::new(PlainInput::new(self.file, bytes, settings)));
        }
        let input = FrameInput::new(self.file, bytes, frames_before, settings);
        Ok(Box::new(input.map_err(io_error(self.path, "start the decompressor for"))?))
    }

    /// Whether to decode on threads of their own.
    pub(crate) fn is_threaded(&self) -> bool {
        self.may_thread && self.bytes.end - self.bytes.start >= SMALL_BYTES
    }

    /// Where the torn last frame begins, if there is one.
    pub(crate) fn torn_frame(&self) -> Option<u64> {
        match self.frames.tail {
            Tail::Torn { start } => Some(start),
            Tail::None | Tail::Garbage { .. } => None,
        }
    }

    /// The error for a payload that begins like that of no format.
    pub(crate) fn not_tags(&self, start: &[u8]) -> Error {
        let inside = if self.is_framed { "inside its Zstandard frames is " } else { "it is " };
        let found = describe(std::array::from_fn(|at| start.get(at).copied().unwrap_or(0)));
        Error::NotTags { path: self.path.into(), found: format!("{inside}{found}") }
    }
}

/// The error for a file at `path` that cannot be read, in this frame.
pub(crate) fn input_error(path: &Path, source: io::Error, frame: Option<(usize, Frame)>) -> Error {
    let path = path.to_path_buf();
    match frame {
        _ if is_shrunk(&source) => Error::Shrunk { path },
        Some((frame, _)) if source.kind() == io::ErrorKind::Unsupported => {
            Error::Unsupported { path, frame, source }
        }
        Some((frame, Frame { start, end, .. })) if source.raw_os_error().is_none() => {
            Error::Frame { path, frame, start, end, source }
        }
        _ => Error::Io { path, action: "read", source },
    }
}

/// The first bytes of a file, whatever its length is said to be.
fn first_bytes(file: &File, bytes: usize) -> io::Result<Vec<u8>> {
    let (mut start, mut len) = (vec![0; bytes], 0);
    while len < bytes {
        match read_at(file, &mut start[len..], len as u64)? {
            0 => break,
            n => len += n,
        }
    }
    start.truncate(len);
    Ok(start)
}

/// Describes four bytes for a reader.
fn describe(bytes: [u8; 4]) -> String {
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
        return "text in UTF-16; save it as UTF-8".into();
    }
    let is_text = bytes.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace());
    if is_text {
        return format!("text that begins \"{}\"", bytes.escape_ascii());
    }
    let [a, b, c, d] = bytes;
    format!("something that begins with bytes {a:02x} {b:02x} {c:02x} {d:02x}")
}
