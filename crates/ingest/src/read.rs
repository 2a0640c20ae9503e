//! The tags of one file, as a stream, whatever the file's form and size.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tagq_store::Tag;
use xxhash_rust::xxh3::Xxh3Default;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use crate::{
    Error,
    error::io_error,
    frames::{self, Frame, Tail, Walk},
    message::{Fault, Messages, SEGMENTS_MAX},
};

/// The largest window of a frame that is decompressed (128 MiB): the default of `zstd` itself.
const WINDOW_LOG_MAX: u32 = 27;
const INPUT_BYTES: usize = 128 * 1024;
/// Tags compress about 6 : 1. What a message makes us set aside on disk stays in proportion to its
/// file, so that a bomb of a few kilobytes cannot fill the disk.
const KEPT_PER_BYTE: u64 = 64;
/// What any file may set aside.
const KEPT_BYTES: u64 = 64 << 20;

/// How to read a file.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Stop after so many messages: for a file whose next message is known to be torn.
    pub messages_max: Option<u64>,
    /// Counts the bytes read, for whoever shows progress.
    pub bytes_read: Option<Arc<AtomicU64>>,
}

/// What was read of a file.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Tags handed on.
    pub tags: u64,
    /// Messages they came in.
    pub messages: u64,
    /// Complete Zstandard frames; 0 for a file that is not compressed.
    pub frames: usize,
    /// Where reading can go on: up to here the file consists of complete messages, and here one
    /// begins, and a frame if the file has frames.
    pub resume_byte: u64,
    /// Length of the file when it was opened.
    pub size: u64,
    /// Whether the file carries checksums over all of its data.
    pub checksummed: bool,
    /// What was left out at the end, in words.
    pub torn: Option<String>,
    /// xxh3 of the file, when all of it was taken.
    pub(crate) xxh3: Option<u64>,
}

/// Hands all tags of the file at `path` to `sink`, in the order they stand in, in pieces of at most
/// 16,384. Memory is bounded whatever the file says.
///
/// # Errors
/// [`Error::NotTags`] for other files, [`Error::Frame`] and [`Error::Message`] for damaged ones,
/// [`Error::TornMessage`] when complete frames end inside a message: read again with
/// [`Settings::messages_max`] for what comes before. A torn last frame is no error.
pub fn read_tags(
    path: &Path,
    settings: &Settings,
    mut sink: impl FnMut(&[Tag]) -> Result<(), Error>,
) -> Result<Summary, Error> {
    let (file, size) = open(path)?;
    let mut start = [0; 4];
    let start_len = read_start(&file, &mut start).map_err(io_error(path, "read"))?;
    if frames::is_frame_start(&start[..start_len]) {
        return read_frames(path, &file, size, settings, &mut sink);
    }
    check_table(path, start, false)?;
    let input = PlainInput {
        file: &file,
        position: 0,
        size,
        hash: Xxh3Default::new(),
        counted: settings.bytes_read.clone(),
    };
    let (pumped, input) = pump(path, buffered(input), size, settings, &mut sink)?;
    let is_whole = pumped.resume_byte == size;
    Ok(Summary {
        tags: pumped.tags,
        messages: pumped.messages,
        frames: 0,
        resume_byte: pumped.resume_byte,
        size,
        checksummed: false,
        torn: (!is_whole).then(|| ends_inside(pumped.messages + 1)),
        xxh3: is_whole.then(|| input.hash.digest()),
    })
}

/// The time of the first tag of a file, in ticks; nothing when it has none.
pub fn first_time(path: &Path) -> Result<Option<i64>, Error> {
    let mut first = None;
    let result = read_tags(path, &Settings::default(), |tags| match tags.first() {
        Some(tag) => {
            first = Some(tag.time);
            Err(Error::Sink(io::Error::other("enough")))
        }
        None => Ok(()),
    });
    match result {
        Err(_) if first.is_some() => Ok(first),
        // The file ends inside its first message: what is complete has no tags.
        Ok(_) | Err(Error::TornMessage { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_frames(
    path: &Path,
    file: &File,
    size: u64,
    settings: &Settings,
    sink: &mut impl FnMut(&[Tag]) -> Result<(), Error>,
) -> Result<Summary, Error> {
    let found = frames::scan(file, size).map_err(io_error(path, "read"))?;
    let torn = match found.tail {
        Tail::None => None,
        Tail::Torn { start } => Some(format!(
            "frame {} begins at byte {start} and is not complete ({} bytes left out)",
            found.count + 1,
            size - start
        )),
        Tail::Garbage { start: byte, found: magic } => {
            let (path, frames, found) = (path.into(), found.count, describe(magic));
            return Err(Error::Garbage { path, byte, frames, found });
        }
    };
    let input = FrameInput::new(file, found.end, settings.bytes_read.clone())
        .map_err(io_error(path, "start the decompressor for"))?;
    let mut input = buffered(input);
    // A file in another form is named as such, not as a damaged message.
    match input.fill_buf() {
        Ok(bytes) => {
            if let Some(start) = bytes.first_chunk() {
                check_table(path, *start, true)?;
            }
        }
        Err(e) => return Err(name_fault(path, Fault::Input(e), 1, input.get_ref().frame())),
    }
    let (pumped, input) = pump(path, input, size, settings, sink)?;
    let torn =
        if pumped.resume_byte < found.end { Some(ends_inside(pumped.messages + 1)) } else { torn };
    Ok(Summary {
        tags: pumped.tags,
        messages: pumped.messages,
        frames: found.count,
        resume_byte: pumped.resume_byte,
        size,
        checksummed: found.checksummed,
        xxh3: torn.is_none().then(|| input.hash.digest()),
        torn,
    })
}

fn ends_inside(message: u64) -> String {
    format!("the file ends inside message {message}")
}

/// The bytes of messages, from a file that may be compressed.
trait Input: Read {
    /// The byte of the file at which reading could begin anew to get what follows all but the
    /// last `ahead` bytes handed out.
    fn border(&self, ahead: u64) -> Option<u64>;

    /// The frame being read, counted from 1.
    fn frame(&self) -> Option<(usize, Frame)>;
}

fn buffered<I: Input>(input: I) -> BufReader<I> {
    BufReader::with_capacity(INPUT_BYTES, input)
}

/// What was handed on.
struct Pumped {
    tags: u64,
    messages: u64,
    resume_byte: u64,
}

/// Hands message after message to `sink`.
fn pump<I: Input>(
    path: &Path,
    input: BufReader<I>,
    size: u64,
    settings: &Settings,
    sink: &mut impl FnMut(&[Tag]) -> Result<(), Error>,
) -> Result<(Pumped, I), Error> {
    let kept_bytes_max = size.saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_BYTES);
    let mut messages = Messages::new(input, kept_bytes_max);
    let mut pumped = Pumped { tags: 0, messages: 0, resume_byte: 0 };
    loop {
        // Looks ahead, since a frame shows its end only when more is asked for.
        let input = messages.input();
        let looked = input.fill_buf().map(|_| ());
        let ahead = input.buffer().len() as u64;
        if let Some(byte) = input.get_ref().border(ahead) {
            pumped.resume_byte = byte;
        }
        if settings.messages_max == Some(pumped.messages) {
            break;
        }
        let mut counting = |part: &[Tag]| {
            pumped.tags += part.len() as u64;
            sink(part)
        };
        match looked.map_err(Fault::Input).and_then(|()| messages.next(&mut counting)) {
            Ok(true) => pumped.messages += 1,
            Ok(false) => break,
            Err(fault) => {
                let frame = messages.input().get_ref().frame();
                return Err(name_fault(path, fault, pumped.messages + 1, frame));
            }
        }
    }
    Ok((pumped, messages.into_input().into_inner()))
}

fn name_fault(path: &Path, fault: Fault, message: u64, frame: Option<(usize, Frame)>) -> Error {
    let path = path.to_path_buf();
    match (fault, frame) {
        (Fault::Torn, _) => Error::TornMessage { path, message },
        (Fault::Malformed { word, reason }, _) => Error::Message { path, message, word, reason },
        (Fault::Input(source), Some((frame, Frame { start, end, .. }))) => {
            Error::Frame { path, frame, start, end, source }
        }
        (Fault::Input(source), None) => Error::Io { path, action: "read", source },
        (Fault::Spill(source), _) => {
            Error::Io { path, action: "set aside a part of a message of", source }
        }
        (Fault::Sink(error), _) => error,
    }
}

fn open(path: &Path) -> Result<(File, u64), Error> {
    // Before it is opened: to open a pipe means to wait for whoever writes to it.
    let metadata = fs::metadata(path).map_err(io_error(path, "open"))?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a folder" } else { "a device or pipe" };
        return Err(Error::NotTags { path: path.into(), found: found.into() });
    }
    let file = File::open(path).map_err(io_error(path, "open"))?;
    let size = file.metadata().map_err(io_error(path, "read the length of"))?.len();
    Ok((file, size))
}

fn read_start(file: &File, start: &mut [u8; 4]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < start.len() {
        match read_at(file, &mut start[filled..], filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// Reads again when a signal came in between.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(bytes, at) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Whether a stream that begins like this can begin with a segment table.
fn check_table(path: &Path, start: [u8; 4], compressed: bool) -> Result<(), Error> {
    if u32::from_le_bytes(start) < SEGMENTS_MAX {
        return Ok(());
    }
    let inside = if compressed { "inside its Zstandard frames is " } else { "it is " };
    Err(Error::NotTags { path: path.into(), found: format!("{inside}{}", describe(start)) })
}

/// Four bytes for a reader.
fn describe(bytes: [u8; 4]) -> String {
    let is_text = bytes.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace());
    if is_text {
        return format!("text that begins \"{}\"", bytes.escape_ascii());
    }
    let [a, b, c, d] = bytes;
    format!("something that begins with bytes {a:02x} {b:02x} {c:02x} {d:02x}")
}

/// The bytes of a file that is not compressed.
struct PlainInput<'a> {
    file: &'a File,
    position: u64,
    size: u64,
    hash: Xxh3Default,
    counted: Option<Arc<AtomicU64>>,
}

impl Read for PlainInput<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = clamp(bytes.len(), self.size - self.position);
        let n = read_at(self.file, &mut bytes[..len], self.position)?;
        self.hash.update(&bytes[..n]);
        self.position += n as u64;
        count(self.counted.as_ref(), n);
        Ok(n)
    }
}

impl Input for PlainInput<'_> {
    fn border(&self, ahead: u64) -> Option<u64> {
        Some(self.position - ahead)
    }

    fn frame(&self) -> Option<(usize, Frame)> {
        None
    }
}

/// The decompressed bytes of the complete frames of a file, one frame after the other. A read never
/// hands out bytes of two frames.
struct FrameInput<'a> {
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
    hash: Xxh3Default,
    counted: Option<Arc<AtomicU64>>,
}

impl<'a> FrameInput<'a> {
    /// Reads the frames in the first `end` bytes of `file`.
    fn new(file: &'a File, end: u64, counted: Option<Arc<AtomicU64>>) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(Self {
            file,
            walk: Walk::new(file, end),
            frame: None,
            begun: 0,
            position: 0,
            decoder,
            buffer: vec![0; INPUT_BYTES],
            used: 0,
            filled: 0,
            handed: 0,
            border: (0, 0),
            hash: Xxh3Default::new(),
            counted,
        })
    }

    /// The current frame, or the next one; nothing at the end.
    fn current(&mut self) -> io::Result<Option<Frame>> {
        if self.frame.is_some() {
            return Ok(self.frame);
        }
        self.border = (self.handed, self.walk.next());
        match self.walk.step()? {
            Ok(frame) => {
                self.decoder.reinit()?;
                self.position = frame.start;
                self.begun += 1;
                self.frame = Some(frame);
                Ok(self.frame)
            }
            Err(Tail::None) => Ok(None),
            Err(Tail::Torn { .. } | Tail::Garbage { .. }) => Err(changed()),
        }
    }

    /// Fetches more of the current frame.
    fn fill(&mut self, end: u64) -> io::Result<()> {
        let len = clamp(self.buffer.len(), end - self.position);
        let n = read_at(self.file, &mut self.buffer[..len], self.position)?;
        if n == 0 {
            return Err(changed());
        }
        self.hash.update(&self.buffer[..n]);
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
            let hint = self.decoder.run(&mut input, &mut output)?;
            let (used, written) = (input.pos(), output.pos());
            self.used += used;
            self.handed += written as u64;
            if hint == 0 && self.used == self.filled && self.position == frame.end {
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

    fn frame(&self) -> Option<(usize, Frame)> {
        Some((self.begun, self.frame?))
    }
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
