//! The payload of a file: its bytes, or what its compressed members contain. Formats read a file through this
//! alone.

pub(crate) mod compression;
pub(crate) mod crc;
pub(crate) mod cut;
pub(crate) mod frames;
pub(crate) mod input;
mod members;
pub(crate) mod opened;
pub(crate) mod plain;

use std::{
    fs::File,
    io::{self, Read as _},
    ops::Range,
    path::Path,
};

use compression::interface::Compression;
use frames::{FrameWalk, Frames, Tail};
use input::{AnyInput, INPUT_BYTES, Member, Stopped};
use members::MemberInput;
use opened::{Opened, START_BYTES, first_bytes};
use plain::PlainInput;

use crate::{
    Settings,
    error::{Error, io_error},
};

/// Memory for what the frames refer back to that are decompressed side by side.
const WINDOWS_BYTES: u64 = 128 << 20;
/// Files below this are decoded on the calling thread.
const SMALL_BYTES: u64 = 512 * 1024;

/// The payload of a file that was opened.
pub(crate) struct Payload<'a> {
    pub path: &'a Path,
    pub file: &'a File,
    /// Length of the file when it was opened.
    pub size: u64,
    /// Its first bytes.
    start: &'a [u8],
    /// The bytes to read. Of a compressed file, these are its complete members, and a torn one that is salvaged.
    pub bytes: Range<u64>,
    compression: Option<&'static dyn Compression>,
    /// The complete frames from [`Settings::start_byte`] on. Other members are not counted, and end where the
    /// file does or [`Settings::torn_byte`] says.
    pub frames: Frames,
    pub decoding: Decoding,
}

/// How a payload is to be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// Into tags, on the calling thread.
    Here,
    /// Into tags, on threads of their own if it is large.
    Tags,
    /// Into rows of a store, on threads of their own if it is large.
    Rows,
    /// Into rows of a store, on the calling thread.
    RowsHere,
}

impl<'a> Payload<'a> {
    /// Finds the payload of `source` from [`Settings::start_byte`] on.
    pub(crate) fn find(
        source: &'a Opened,
        settings: &Settings,
        decoding: Decoding,
    ) -> Result<Self, Error> {
        let mut payload = Self { decoding, ..Self::of(source) };
        let start = settings.start_byte;
        payload.bytes = start..payload.size.max(start);
        if payload.has_frames() {
            payload.frames =
                frames::scan(payload.file, start, payload.size).map_err(payload.unreadable())?;
        } else if let Some(byte) = settings.torn_byte.filter(|_| payload.is_compressed()) {
            (payload.frames.end, payload.frames.tail) = (byte, Tail::Torn { start: byte });
        }
        payload.bytes.end = match payload.frames.tail {
            Tail::Torn { .. } if settings.salvage => payload.size,
            Tail::None | Tail::Torn { .. } => payload.frames.end.max(start),
            Tail::Garbage { start, found } => {
                let members = payload.members().unwrap_or_default();
                let garbage =
                    Stopped::Garbage { start, found, before: payload.frames.count, members };
                return Err(garbage.name(payload.path));
            }
        };
        Ok(payload)
    }

    /// Finds the payload of `source` from its first byte on, to look at its beginning: later frames are not
    /// counted.
    pub(crate) fn begin(source: &'a Opened) -> Result<Self, Error> {
        let mut payload = Self::of(source);
        if let Some(mut walk) = payload.walk()
            && walk.step().map_err(payload.unreadable())?.is_err()
        {
            payload.bytes.end = 0;
        }
        Ok(payload)
    }

    /// The whole file, frames not counted.
    fn of(source: &'a Opened) -> Self {
        let (path, file, size, start) =
            (&*source.path, &source.file, source.size(), &source.start[..]);
        let compression = compression::of_start(start);
        let checksummed = compression.is_some_and(|compression| compression.is_checksummed(start));
        let window_max = compression.map_or(0, |compression| compression.window(start));
        let frames = Frames { count: 0, end: size, checksummed, window_max, tail: Tail::None };
        let (bytes, decoding) = (0..size, Decoding::Here);
        Self { path, file, size, start, bytes, compression, frames, decoding }
    }

    /// Whether the file is compressed: reading can begin again only where a member begins.
    pub(crate) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// The words for several members of the file; `None` if it is not compressed.
    pub(crate) fn members(&self) -> Option<&'static str> {
        self.compression.map(Compression::members)
    }

    /// Whether the members say where they end.
    pub(crate) fn has_frames(&self) -> bool {
        self.walk().is_some()
    }

    /// Walks over the members to be read, if they say where they end.
    pub(crate) fn walk(&self) -> Option<FrameWalk<'a>> {
        self.compression?.walk(self.file, self.bytes.clone())
    }

    /// Whether the last member may turn out to be torn.
    pub(crate) fn may_be_torn(&self) -> bool {
        self.is_compressed() && !self.has_frames() && self.frames.tail == Tail::None
    }

    /// Where the torn last member begins, if there is one and its header does not say it; found by decompressing
    /// all members. Damage is named when the member is read.
    pub(crate) fn find_torn(&self, settings: &Settings) -> Result<Option<u64>, Error> {
        let Some(compression) = self.compression.filter(|_| self.may_be_torn()) else {
            return Ok(None);
        };
        let bytes = settings.start_byte..self.size;
        let mut input = self.member_input(compression, bytes, 0, &Settings::default())?.lenient();
        let mut buffer = vec![0; INPUT_BYTES];
        loop {
            settings.check_wanted()?;
            match input.read(&mut buffer) {
                Ok(0) | Err(_) => return Ok(input.torn()),
                Ok(_) => {}
            }
        }
    }

    fn unreadable(&self) -> impl FnOnce(io::Error) -> Error + use<'_> {
        io_error(self.path, "read")
    }

    /// The bytes that tell the format.
    pub(crate) fn start(&self) -> Result<Vec<u8>, Error> {
        if self.is_compressed() { self.first(START_BYTES) } else { Ok(self.start.to_vec()) }
    }

    /// The first bytes of the payload, from the beginning of the file; fewer if no more can be decompressed.
    pub(crate) fn first(&self, len: usize) -> Result<Vec<u8>, Error> {
        let Some(compression) = self.compression else {
            return first_bytes(self.file, len).map_err(self.unreadable());
        };
        let bytes = 0..self.bytes.end;
        let input = self.member_input(compression, bytes, 0, &Settings::default())?.lenient();
        let mut start = Vec::new();
        let read = input.take(len as u64).read_to_end(&mut start);
        // Damage is named when the member is read.
        Ok(read.map_or(Vec::new(), |_| start))
    }

    /// Reads these bytes of the file; `members_before` members stand before them.
    pub(crate) fn input(
        &self,
        bytes: Range<u64>,
        members_before: usize,
        settings: &Settings,
    ) -> Result<AnyInput<'a>, Error> {
        let Some(compression) = self.compression else {
            return Ok(Box::new(PlainInput::new(self.file, bytes, settings)));
        };
        let input = self.member_input(compression, bytes, members_before, settings)?;
        let is_salvaged = settings.salvage && !self.may_be_torn();
        Ok(Box::new(if is_salvaged { input.lenient() } else { input }))
    }

    fn member_input(
        &self,
        compression: &'static dyn Compression,
        bytes: Range<u64>,
        before: usize,
        settings: &Settings,
    ) -> Result<MemberInput<'a>, Error> {
        MemberInput::new(self.file, compression, bytes, before, settings)
            .map_err(io_error(self.path, "start the decompressor for"))
    }

    /// Whether to decode on threads of their own.
    pub(crate) fn is_threaded(&self) -> bool {
        let is_here = matches!(self.decoding, Decoding::Here | Decoding::RowsHere);
        !is_here && self.bytes.end - self.bytes.start >= SMALL_BYTES
    }

    /// How many threads may decompress it, so that what they refer back to fits in memory.
    pub(crate) fn threads(&self, threads: usize) -> usize {
        let most = WINDOWS_BYTES / self.frames.window_max.max(1);
        threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
    }

    /// Whether tags become rows of a store where they are decoded.
    pub(crate) fn is_for_rows(&self) -> bool {
        matches!(self.decoding, Decoding::Rows | Decoding::RowsHere)
    }

    /// About how many parts several threads can decode side by side.
    pub(crate) fn parts(&self) -> u64 {
        match self.compression {
            None => (self.bytes.end - self.bytes.start) / SMALL_BYTES,
            Some(_) if self.has_frames() => self.frames.count as u64,
            Some(_) => 1,
        }
    }

    /// Describes the torn last member, if there is one, and the fate of its bytes.
    pub(crate) fn torn(&self, fate: &str) -> Option<String> {
        let Tail::Torn { start } = self.frames.tail else { return None };
        let bytes = self.size.saturating_sub(start);
        let member = match self.compression.filter(|_| !self.has_frames()) {
            Some(compression) => format!("the last {}", compression.member()),
            None => format!("frame {}", self.frames.count + 1),
        };
        Some(format!("{member} begins at byte {start} and is not complete ({bytes} bytes {fate})"))
    }

    /// The error for a payload that begins like that of no format.
    pub(crate) fn not_tags(&self, start: &[u8]) -> Error {
        let inside =
            self.members().map_or("it is ".into(), |members| format!("inside its {members} is "));
        let bytes = std::array::from_fn(|at| start.get(at).copied().unwrap_or(0));
        let untold = if is_utf_16(bytes) { "" } else { UNTOLD };
        let found = format!("{inside}{}{untold}", describe(bytes));
        Error::NotTags { path: self.path.into(), found }
    }
}

/// The error for a file at `path` that cannot be read, in this member.
pub(crate) fn input_error(path: &Path, source: io::Error, member: Option<Member>) -> Error {
    if let Some(stopped) = Stopped::of(&source) {
        return stopped.name(path);
    }
    let path = path.to_path_buf();
    match member {
        Some(Member { kind, number, .. }) if source.kind() == io::ErrorKind::Unsupported => {
            Error::Unsupported { path, kind, number, source }
        }
        Some(Member { kind, number, bytes }) if source.raw_os_error().is_none() => {
            Error::Frame { path, kind, number, start: bytes.start, end: bytes.end, source }
        }
        _ => Error::Io { path, action: "read", source },
    }
}

impl Stopped {
    /// The error for the file at `path`.
    fn name(&self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match *self {
            Self::Shrunk => Error::Shrunk { path },
            Self::Torn { start } => Error::TornMember { path, start },
            Self::Garbage { start: byte, found, before, members } => {
                Error::Garbage { path, byte, before, members, found: describe(found) }
            }
        }
    }
}

/// The way out for a file that nothing tells.
const UNTOLD: &str = "; neither this nor the end of its name tells a format: `tagq formats` lists them, and \
    --source-format names one";

/// Describes four bytes for a reader.
fn describe(bytes: [u8; 4]) -> String {
    if is_utf_16(bytes) {
        return "text in UTF-16; save it as UTF-8".into();
    }
    let is_text = bytes.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace());
    if is_text {
        return format!("text that begins \"{}\"", bytes.escape_ascii());
    }
    let [a, b, c, d] = bytes;
    format!("something that begins with bytes {a:02x} {b:02x} {c:02x} {d:02x}")
}

fn is_utf_16(bytes: [u8; 4]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}
