//! The tags of one file, as a stream, whatever the file's form and size.

use std::{
    fs::File,
    io::{self, Read as _},
    ops::Range,
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
    crc::Crc,
    error::io_error,
    foreign,
    frames::{self, Frame, Tail},
    input::{Buffered, FrameInput, Input, PlainInput, is_shrunk, read_at},
    message::{Fault, Messages, SEGMENTS_MAX},
    opened::Opened,
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

/// Tags from which [`about_tags`] concludes: a hundredth of a second of reading.
const SAMPLE_TAGS: u64 = 1 << 20;

/// How to read a file.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Begin at this byte, where a message begins, and a frame if the file has frames.
    pub start_byte: u64,
    /// Bytes before this one are in the checksum of the source already.
    pub known_bytes: u64,
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
    /// The order of the columns of text; nothing for other files.
    pub columns: Option<TextColumns>,
    /// The checksum of the bytes that were read and taken.
    pub(crate) crc: Crc,
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
    read_pieces(&Opened::new(path)?, settings, &mut |piece| match piece {
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

impl Piece<'_> {
    /// The same, when what was read follows bytes with the checksum `before`.
    pub(crate) fn after(self, before: Crc) -> Self {
        match self {
            Self::Tags(_) => self,
            Self::Complete(at) => Self::Complete(Complete { before, ..at }),
        }
    }
}

/// A place in a file behind a complete message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Complete {
    /// The byte at which reading could begin anew here, if it can.
    pub border: Option<u64>,
    /// Of two stretches that follow each other, the checksums of the bytes read and taken.
    pub before: Crc,
    pub crc: Crc,
}

impl Complete {
    pub(crate) fn new(border: Option<u64>, crc: Crc) -> Self {
        Self { border, before: crc.cleared(), crc }
    }

    /// See [`Summary::crc`].
    pub(crate) fn crc(self) -> Crc {
        self.before.join(self.crc)
    }
}

/// Who is handed the pieces of a file.
pub(crate) type Sink<'a> = dyn FnMut(Piece<'_>) -> Result<(), Error> + 'a;

/// Hands the pieces of a file to `sink`, see [`read_tags`].
pub(crate) fn read_pieces(
    source: &Opened<'_>,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    read(source, settings, true, sink)
}

fn read(
    source: &Opened<'_>,
    settings: &Settings,
    threaded: bool,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let (path, file, size) = (source.path, &source.file, source.size());
    if settings.start_byte > 0 {
        tagq_store::start_writing(file, settings.start_byte, size - settings.start_byte.min(size));
    }
    let mut start = [0; foreign::START_BYTES];
    let start_len =
        read_start(file, &mut start, settings.start_byte).map_err(io_error(path, "read"))?;
    let found = &start[..start_len];
    if frames::is_frame_start(&found[..start_len.min(4)]) {
        return read_frames(path, file, size, settings, threaded, sink);
    }
    if settings.start_byte == 0 {
        foreign::check(path, found, false)?;
    }
    if text::read::is_text(found) {
        return text::read::read_plain(path, file, size, settings, threaded, sink);
    }
    check_table(path, [start[0], start[1], start[2], start[3]], false)?;
    let bytes = settings.start_byte..size.max(settings.start_byte);
    let input = PlainInput::new(file, bytes.clone(), settings);
    let threaded = threaded && bytes.end - bytes.start >= SMALL_BYTES;
    let pumped = if threaded {
        parallel::pump_one(input, size, settings, sink)
    } else {
        pump(Buffered::new(input), size, u64::MAX, settings, sink)
    };
    let pumped = pumped.map_err(|stopped| stopped.name(path, 0))?;
    let is_whole = pumped.resume_byte == size;
    Ok(Summary {
        tags: pumped.tags,
        messages: pumped.messages,
        frames: 0,
        resume_byte: pumped.resume_byte,
        size,
        checksummed: false,
        columns: None,
        torn: (!is_whole).then(|| ends_inside(pumped.messages + 1)),
        crc: pumped.crc,
    })
}

/// The time of the first tag of a file, in ticks; nothing when it has none.
/// `settings` say how text is to be read.
pub fn first_time(path: &Path, settings: &Settings) -> Result<Option<i64>, Error> {
    let mut first = None;
    let result = read(&Opened::new(path)?, settings, false, &mut |piece| match piece {
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

/// About how many tags the file at `path` has from [`Settings::start_byte`] on: those of its beginning, as
/// often as that goes into its length. Of a short file, all are counted.
///
/// # Errors
/// As [`read_tags`], for files that begin like no tags.
pub fn about_tags(path: &Path, settings: &Settings) -> Result<u64, Error> {
    let bytes_read = Arc::new(AtomicU64::new(0));
    let settings = Settings { bytes_read: Some(Arc::clone(&bytes_read)), ..settings.clone() };
    let mut tags = 0;
    let source = Opened::new(path)?;
    let result = read(&source, &settings, false, &mut |piece| match piece {
        Piece::Tags(_) if tags >= SAMPLE_TAGS => Err(Error::Sink(io::Error::other("enough"))),
        Piece::Tags(more) => {
            tags += more.len() as u64;
            Ok(())
        }
        Piece::Complete(_) => Ok(()),
    });
    match result {
        Err(_) if tags >= SAMPLE_TAGS => {}
        Err(error) if tags == 0 => return Err(error),
        // All that there is, or all before what is damaged.
        _ => return Ok(tags),
    }
    let rest = u128::from(source.size().saturating_sub(settings.start_byte));
    let read = u128::from(bytes_read.load(Ordering::Relaxed).max(1));
    Ok(u64::try_from(u128::from(tags) * rest / read).unwrap_or(u64::MAX))
}

/// Whether the file at `path` is text; nothing when it holds nothing yet.
///
/// # Errors
/// When it cannot be read.
pub fn is_text(path: &Path) -> Result<Option<bool>, Error> {
    let source = Opened::new(path)?;
    let mut start = [0; foreign::START_BYTES];
    let len = read_start(&source.file, &mut start, 0).map_err(io_error(path, "read"))?;
    let framed;
    let start = if frames::is_frame_start(&start[..len.min(4)]) {
        framed = frames_start(&source.file, 0..source.size(), false);
        &framed[..]
    } else {
        &start[..len]
    };
    Ok((!start.is_empty()).then(|| text::read::is_text(start)))
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
    let start = frames_start(file, bytes.clone(), settings.salvage);
    if settings.start_byte == 0 {
        foreign::check(path, &start, true)?;
    }
    if text::read::is_text(&start) {
        return text::read::read_frames(path, file, size, &found, settings, threaded, sink);
    }
    let input = FrameInput::new(file, bytes.clone(), 0, settings)
        .map_err(io_error(path, "start the decompressor for"))?;
    let mut input = Buffered::new(input);
    // A file in another form is named as such, not as a damaged message.
    match input.ahead() {
        Ok(bytes) => {
            if let Some(start) = bytes.first_chunk() {
                check_table(path, *start, true)?;
            }
        }
        Err(e) => {
            let fault = Stopped {
                fault: Box::new(Fault::Input(e)),
                message: 1,
                frame: input.input().frame(),
            };
            return Err(fault.name(path, 0));
        }
    }
    let is_plain_job = settings.messages_max.is_none() && !settings.salvage;
    let threaded = threaded && is_plain_job && end - settings.start_byte >= SMALL_BYTES;
    let pumped = if threaded {
        drop(input);
        parallel::pump_frames(file, bytes, size, settings, sink)
    } else {
        pump(input, size, u64::MAX, settings, sink)
    };
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
        size,
        checksummed: found.checksummed,
        columns: None,
        crc: pumped.crc,
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
    /// See [`Summary::crc`].
    pub crc: Crc,
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
    input: Buffered<I>,
    size: u64,
    stop: u64,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Pumped, Stopped> {
    let kept_bytes_max = size.saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_BYTES);
    let mut messages = Messages::new(input, kept_bytes_max);
    let crc = messages.input().input().crc();
    let mut pumped = Pumped { tags: 0, messages: 0, resume_byte: 0, crc };
    let mut announced = (0, None);
    loop {
        // Looks ahead, since a frame shows its end only when more is asked for.
        let input = messages.input();
        let looked = input.ahead().map(|_| ());
        let ahead = input.ahead_len();
        let border = input.input().border(ahead);
        pumped.crc = input.input().crc();
        if (pumped.tags, border) > announced {
            announced = (pumped.tags, border.max(announced.1));
            let complete = Complete::new(border, pumped.crc);
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
            Err(Fault::Torn) if settings.salvage => {
                pumped.crc = messages.input().input().crc();
                break;
            }
            Err(fault) => {
                let frame = messages.input().input().frame();
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
            (Fault::Input(source), _) if is_shrunk(&source) => Error::Shrunk { path },
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

fn read_start(file: &File, start: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < start.len() {
        match read_at(file, &mut start[filled..], at + filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// The first bytes of what is in the frames in these bytes of `file`; none where they cannot be
/// decompressed.
fn frames_start(file: &File, bytes: Range<u64>, salvage: bool) -> Vec<u8> {
    let settings = Settings { salvage, ..Settings::default() };
    let mut start = Vec::with_capacity(foreign::START_BYTES);
    let input = FrameInput::new(file, bytes, 0, &settings);
    let read =
        input.and_then(|input| input.take(foreign::START_BYTES as u64).read_to_end(&mut start));
    if read.is_err() {
        start.clear();
    }
    start
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
