//! The tags of one file, as a stream, whatever the file's form and size.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use tagq_store::Tag;

use crate::{
    Error,
    error::io_error,
    frames::{self, Frame, Tail},
    input::{FrameInput, Input, PlainInput, buffered, hash_of, read_at},
    message::{Fault, Messages, SEGMENTS_MAX},
    parallel,
    text::{self, TextColumns},
};

/// Tags compress about 6 : 1. What a message makes us set aside on disk stays in proportion to its
/// file, so that a bomb of a few kilobytes cannot fill the disk.
const KEPT_PER_BYTE: u64 = 64;
/// What any file may set aside.
const KEPT_BYTES: u64 = 64 << 20;
/// Files below this are read where they are asked for, without threads.
pub(crate) const SMALL_BYTES: u64 = 512 * 1024;

/// How to read a file.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Begin at this byte, where a message begins, and a frame if the file has frames.
    pub start_byte: u64,
    /// Stop after so many messages: for a file whose next message is known to be torn.
    pub messages_max: Option<u64>,
    /// Take what can be read of a torn last frame or message, too.
    pub salvage: bool,
    /// Threads that decompress; one a core when 0. Any number gives the same tags in the same order.
    pub threads: usize,
    /// Counts the bytes read, for whoever shows progress.
    pub bytes_read: Option<Arc<AtomicU64>>,
    /// Commit inside a source when so many rows came since the last commit; never without.
    pub commit_rows: Option<u64>,
    /// Keep back tags that are no more than so many ticks older than the newest: later ones can
    /// still come before them. They are taken when the source is ingested again.
    pub hold_back: Option<i64>,
    /// With `hold_back`: hand older tags to the store while the rest is read. One that comes later than by what
    /// is held back is then refused ([`Error::Late`]), though it can be put in order without this.
    pub eager: bool,
    /// The order of the columns of text; a header that says otherwise is an error.
    pub columns: Option<TextColumns>,
    /// The order in which the same text was read before. A header overrules it.
    pub columns_before: Option<TextColumns>,
    /// Set by another thread when what is read is not wanted any more.
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl Settings {
    pub(crate) fn decoders(&self) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Refuses to go on once nobody wants it.
    pub(crate) fn check_wanted(&self) -> Result<(), Error> {
        match &self.cancelled {
            Some(cancelled) if cancelled.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }

    /// The order of the columns where no header says it. What was begun goes on as it began.
    pub(crate) fn text_columns(&self) -> TextColumns {
        let (given, before) = (self.columns, self.columns_before);
        let columns = if self.start_byte > 0 { before.or(given) } else { given.or(before) };
        columns.unwrap_or_default()
    }
}

/// What was read of a file.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Tags handed on.
    pub tags: u64,
    /// Messages they came in; 0 for text.
    pub messages: u64,
    /// Complete Zstandard frames; 0 for a file that is not compressed.
    pub frames: usize,
    /// Where reading can go on: up to here the file consists of complete messages or lines, and here
    /// one begins, and a frame if the file has frames.
    pub resume_byte: u64,
    /// Length of the file when it was opened.
    pub size: u64,
    /// Whether the file carries checksums over all of its data.
    pub checksummed: bool,
    /// What was left out at the end, in words.
    pub torn: Option<String>,
    /// The byte up to which the file consists of complete frames and messages, as far as it was
    /// read.
    pub(crate) read_byte: u64,
    /// The order of the columns of text; nothing for other files.
    pub columns: Option<TextColumns>,
    /// xxh3 of the file, when all of it was taken.
    pub(crate) xxh3: Option<u64>,
}

/// Hands all tags of the file at `path` to `sink`, in the order they stand in, in pieces of at most
/// 16,384. Memory is bounded whatever the file says.
///
/// # Errors
/// [`Error::NotTags`] for other files, [`Error::Line`] and [`Error::Columns`] for text that is no
/// tags, [`Error::Frame`] and [`Error::Message`] for damaged files,
/// [`Error::TornMessage`] when complete frames end inside a message: read again with
/// [`Settings::messages_max`] for what comes before. A torn last frame is no error.
pub fn read_tags(
    path: &Path,
    settings: &Settings,
    mut sink: impl FnMut(&[Tag]) -> Result<(), Error>,
) -> Result<Summary, Error> {
    read(path, settings, true, &mut |piece| match piece {
        Piece::Tags(tags) => sink(tags),
        Piece::Complete(_) => Ok(()),
    })
}

/// What readers of a file hand on.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    /// Tags, in the order of the file.
    Tags(&'a [Tag]),
    /// All tags so far stand in complete messages.
    Complete(Complete),
}

/// A place in a file behind a complete message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Complete {
    /// The byte at which reading could begin anew here, if it can.
    pub border: Option<u64>,
    /// See [`Summary::read_byte`].
    pub read_byte: u64,
}

/// Who is handed the pieces of a file.
pub(crate) type Sink<'a> = dyn FnMut(Piece<'_>) -> Result<(), Error> + 'a;

/// Hands the pieces of the file at `path` to `sink`, see [`read_tags`].
pub(crate) fn read_pieces(
    path: &Path,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    read(path, settings, true, sink)
}

fn read(
    path: &Path,
    settings: &Settings,
    threaded: bool,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let (file, size) = open(path)?;
    if settings.start_byte > 0 {
        tagq_store::start_writing(&file, settings.start_byte, size - settings.start_byte.min(size));
    }
    let mut start = [0; 4];
    let start_len =
        read_start(&file, &mut start, settings.start_byte).map_err(io_error(path, "read"))?;
    if frames::is_frame_start(&start[..start_len]) {
        return read_frames(path, &file, size, settings, threaded, sink);
    }
    if text::read::is_text(&start[..start_len]) {
        return text::read::read_plain(path, &file, size, settings, threaded, sink);
    }
    check_table(path, start, false)?;
    let bytes = settings.start_byte..size.max(settings.start_byte);
    let input = PlainInput::new(&file, bytes.clone(), settings.bytes_read.clone());
    let threaded = threaded && bytes.end - bytes.start >= SMALL_BYTES;
    let (pumped, hash) = with_hash(&file, size, threaded, settings, || {
        if threaded {
            parallel::pump_one(input, size, settings, sink)
        } else {
            pump(buffered(input), size, u64::MAX, settings, sink)
        }
    });
    let pumped = pumped.map_err(|stopped| stopped.name(path, 0))?;
    let is_whole = pumped.resume_byte == size;
    Ok(Summary {
        tags: pumped.tags,
        messages: pumped.messages,
        frames: 0,
        resume_byte: pumped.resume_byte,
        read_byte: if settings.salvage { size } else { pumped.resume_byte },
        size,
        checksummed: false,
        columns: None,
        torn: (!is_whole).then(|| ends_inside(pumped.messages + 1)),
        xxh3: hash.filter(|_| is_whole).transpose().map_err(io_error(path, "read"))?,
    })
}

/// Does `job`, and takes xxh3 of a file that is read from its first byte: beside it when the job has
/// threads, else behind it when it went well.
pub(crate) fn with_hash<T, E>(
    file: &File,
    end: u64,
    threaded: bool,
    settings: &Settings,
    job: impl FnOnce() -> Result<T, E>,
) -> (Result<T, E>, Option<io::Result<u64>>) {
    if settings.start_byte > 0 {
        return (job(), None);
    }
    if !threaded {
        let done = job();
        let hash = done.is_ok().then(|| hash_of(file, end));
        return (done, hash);
    }
    thread::scope(|scope| {
        let hash = scope.spawn(|| hash_of(file, end));
        let done = job();
        let gone = |_| Err(io::Error::other("the thread that hashes it is gone"));
        (done, Some(hash.join().unwrap_or_else(gone)))
    })
}

/// The time of the first tag of a file, in ticks; nothing when it has none.
/// `settings` say how text is to be read.
pub fn first_time(path: &Path, settings: &Settings) -> Result<Option<i64>, Error> {
    let mut first = None;
    let result = read(path, settings, false, &mut |piece| match piece {
        Piece::Tags([tag, ..]) => {
            first = Some(tag.time);
            Err(Error::Sink(io::Error::other("enough")))
        }
        _ => Ok(()),
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
    threaded: bool,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let found = frames::scan(file, settings.start_byte, size).map_err(io_error(path, "read"))?;
    let mut end = found.end;
    let torn = match found.tail {
        Tail::None => None,
        Tail::Torn { start } => {
            if settings.salvage {
                end = size;
            }
            let taken = if settings.salvage { "taken as far as it goes" } else { "left out" };
            Some(format!(
                "frame {} begins at byte {start} and is not complete ({} bytes {taken})",
                found.count + 1,
                size - start
            ))
        }
        Tail::Garbage { start: byte, found: magic } => {
            let (path, frames, found) = (path.into(), found.count, describe(magic));
            return Err(Error::Garbage { path, byte, frames, found });
        }
    };
    let bytes = settings.start_byte..end;
    if text::read::is_text_in_frames(file, bytes.clone(), settings.salvage) {
        return text::read::read_frames(path, file, size, &found, settings, threaded, sink);
    }
    let input = FrameInput::new(file, bytes.clone(), 0, settings)
        .map_err(io_error(path, "start the decompressor for"))?;
    let mut input = buffered(input);
    // A file in another form is named as such, not as a damaged message.
    match input.fill_buf() {
        Ok(bytes) => {
            if let Some(start) = bytes.first_chunk() {
                check_table(path, *start, true)?;
            }
        }
        Err(e) => {
            let fault = Stopped {
                fault: Box::new(Fault::Input(e)),
                message: 1,
                frame: input.get_ref().frame(),
            };
            return Err(fault.name(path, 0));
        }
    }
    let is_plain_job = settings.messages_max.is_none() && !settings.salvage;
    let threaded = threaded && is_plain_job && end - settings.start_byte >= SMALL_BYTES;
    let (pumped, hash) = with_hash(file, end, threaded, settings, || {
        if threaded {
            drop(input);
            parallel::pump_frames(file, bytes, size, settings, sink)
        } else {
            pump(input, size, u64::MAX, settings, sink)
        }
    });
    let pumped = pumped.map_err(|stopped| stopped.name(path, 0))?;
    let torn = match torn {
        Some(torn) if settings.salvage => Some(torn),
        torn if pumped.resume_byte >= found.end => torn,
        _ => Some(ends_inside(pumped.messages + 1)),
    };
    Ok(Summary {
        tags: pumped.tags,
        messages: pumped.messages,
        frames: found.count,
        resume_byte: pumped.resume_byte,
        read_byte: if settings.salvage { size } else { found.end },
        size,
        checksummed: found.checksummed,
        columns: None,
        xxh3: hash.filter(|_| torn.is_none()).transpose().map_err(io_error(path, "read"))?,
        torn,
    })
}

fn ends_inside(message: u64) -> String {
    format!("the file ends inside message {message}")
}

/// What was handed on.
#[derive(Debug)]
pub(crate) struct Pumped {
    pub tags: u64,
    pub messages: u64,
    pub resume_byte: u64,
}

/// Why no more was handed on.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub fault: Box<Fault>,
    /// The message in which it happened, from 1, and the frame.
    pub message: u64,
    pub frame: Option<(usize, Frame)>,
}

/// Hands message after message to `sink`, until the input ends or a message and a frame end together
/// at or behind byte `stop`.
pub(crate) fn pump<I: Input>(
    input: BufReader<I>,
    size: u64,
    stop: u64,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Pumped, Stopped> {
    let kept_bytes_max = size.saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_BYTES);
    let mut messages = Messages::new(input, kept_bytes_max);
    let mut pumped = Pumped { tags: 0, messages: 0, resume_byte: 0 };
    let mut announced = (0, None);
    loop {
        // Looks ahead, since a frame shows its end only when more is asked for.
        let input = messages.input();
        let looked = input.fill_buf().map(|_| ());
        let ahead = input.buffer().len() as u64;
        let border = input.get_ref().border(ahead);
        if (pumped.tags, border) > announced {
            announced = (pumped.tags, border.max(announced.1));
            let complete = Complete { border, read_byte: input.get_ref().read_byte(ahead) };
            sink(Piece::Complete(complete)).map_err(|error| Stopped {
                fault: Box::new(Fault::Sink(error)),
                message: pumped.messages,
                frame: None,
            })?;
        }
        if let Some(byte) = border {
            pumped.resume_byte = byte;
            if byte >= stop {
                break;
            }
        }
        if settings.messages_max == Some(pumped.messages) {
            break;
        }
        let mut counting = |part: &[Tag]| {
            pumped.tags += part.len() as u64;
            sink(Piece::Tags(part))
        };
        match looked.map_err(Fault::Input).and_then(|()| messages.next(&mut counting)) {
            Ok(true) => pumped.messages += 1,
            Ok(false) => break,
            Err(Fault::Torn) if settings.salvage => break,
            Err(fault) => {
                let frame = messages.input().get_ref().frame();
                return Err(Stopped {
                    fault: Box::new(fault),
                    message: pumped.messages + 1,
                    frame,
                });
            }
        }
    }
    Ok(pumped)
}

impl Stopped {
    /// The error for the file at `path`, `before` messages of which came before.
    pub(crate) fn name(self, path: &Path, before: u64) -> Error {
        let path = path.to_path_buf();
        let message = self.message + before;
        match (*self.fault, self.frame) {
            (Fault::Torn, _) => Error::TornMessage { path, message },
            (Fault::Malformed { word, reason }, _) => {
                Error::Message { path, message, word, reason }
            }
            (Fault::Input(source), Some((frame, _)))
                if source.kind() == io::ErrorKind::Unsupported =>
            {
                Error::Unsupported { path, frame, source }
            }
            (Fault::Input(source), Some((frame, Frame { start, end, .. })))
                if source.raw_os_error().is_none() =>
            {
                Error::Frame { path, frame, start, end, source }
            }
            (Fault::Input(source), _) => Error::Io { path, action: "read", source },
            (Fault::Spill(source), _) => {
                Error::Io { path, action: "set aside a part of a message of", source }
            }
            (Fault::Sink(error), _) => error,
        }
    }
}

fn open(path: &Path) -> Result<(File, u64), Error> {
    // Before it is opened: to open a pipe means to wait for whoever writes to it.
    let metadata = fs::metadata(path).map_err(io_error(path, "open"))?;
    if !metadata.is_file() {
        let found =
            if metadata.is_dir() { "a folder" } else { "a device or pipe (`-` is standard input)" };
        return Err(Error::NotTags { path: path.into(), found: found.into() });
    }
    let file = File::open(path).map_err(io_error(path, "open"))?;
    let size = file.metadata().map_err(io_error(path, "read the length of"))?.len();
    Ok((file, size))
}

fn read_start(file: &File, start: &mut [u8; 4], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < start.len() {
        match read_at(file, &mut start[filled..], at + filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
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
