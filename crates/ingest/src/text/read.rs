//! The tags of a text file: blocks of whole lines, cut one after the other by whichever thread is
//! free, parsed side by side, received in the order of the file.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use tagq_store::Tag;

use super::{
    TextColumns,
    cut::{Block, CutFault, Cutter, End},
    line::{LineFault, WrongLine, parse, parse_one},
};
use crate::{
    Error, Settings, Summary,
    crc::Crc,
    error::io_error,
    frames::{Frame, Frames, Tail},
    input::{FrameInput, Input, PlainInput},
    message::{CHUNK_TAGS, Fault},
    read::{Complete, Piece, SMALL_BYTES, Sink, Stopped},
};

/// Bytes of a block: what a core's cache holds beside the tags made of it.
const BLOCK_BYTES: usize = 256 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a file whose first bytes (at least four, or all there are) are these is text. A Cap'n Proto
/// stream begins with a number below 511 in four bytes, of which two are zero.
pub(crate) fn is_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(4)];
    let rest = match start.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest,
        None if BYTE_ORDER_MARK.starts_with(start) => return !start.is_empty(),
        None => start,
    };
    !start.is_empty()
        && rest.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Hands the tags of a text file without frames to `sink`.
pub(crate) fn read_plain(
    path: &Path,
    file: &File,
    size: u64,
    settings: &Settings,
    threaded: bool,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let start = settings.start_byte;
    let threaded = threaded && size.saturating_sub(start) >= SMALL_BYTES;
    let before = || Ok(PlainInput::new(file, 0..start, &Settings::default()));
    let input = PlainInput::new(file, start..size.max(start), settings);
    let read = pump(input, settings, threaded, false, sink);
    let mut read = read.map_err(|stopped| stopped.name(path, settings, before))?;
    if settings.salvage {
        read.end.crc.add(read.end.resume_byte, &read.end.begun);
    }
    let at = read.end.resume_byte;
    let last_line = read.last_line(settings.salvage, sink)?;
    let torn = last_line.map(|fate| format!("its last line (byte {at} on) {fate}"));
    Ok(Summary {
        tags: read.tags,
        messages: 0,
        frames: 0,
        resume_byte: read.end.resume_byte,
        size,
        checksummed: false,
        columns: Some(read.columns),
        crc: read.end.crc,
        torn,
    })
}

/// Hands the tags of text in frames to `sink`.
pub(crate) fn read_frames(
    path: &Path,
    file: &File,
    size: u64,
    found: &Frames,
    settings: &Settings,
    threaded: bool,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let torn_frame = match found.tail {
        Tail::Torn { start } => Some(start),
        Tail::None | Tail::Garbage { .. } => None,
    };
    let is_salvage = settings.salvage && torn_frame.is_some();
    let end = if is_salvage { size } else { found.end };
    let bytes = settings.start_byte..end;
    let threaded = threaded && bytes.end - bytes.start >= SMALL_BYTES;
    let quiet = Settings { bytes_read: None, ..settings.clone() };
    let before = || FrameInput::new(file, 0..settings.start_byte, 0, &quiet);
    let input = FrameInput::new(file, bytes, 0, settings)
        .map_err(io_error(path, "start the decompressor for"))?;
    let read = pump(input, settings, threaded, true, sink);
    let mut read = read.map_err(|stopped| stopped.name(path, settings, before))?;
    // The last line in a torn frame was cut by whatever tore it.
    let last_line =
        if torn_frame.is_some() { None } else { read.last_line(settings.salvage, sink)? };
    let torn = match torn_frame {
        Some(start) => {
            let taken = if is_salvage { "its whole lines taken" } else { "left out" };
            Some(format!(
                "frame {} begins at byte {start} and is not complete ({} bytes, {taken})",
                found.count + 1,
                size - start
            ))
        }
        None => last_line.map(|fate| format!("its last line {fate}")),
    };
    Ok(Summary {
        tags: read.tags,
        messages: 0,
        frames: found.count,
        resume_byte: read.end.resume_byte,
        size,
        checksummed: found.checksummed,
        columns: Some(read.columns),
        crc: read.end.crc,
        torn,
    })
}

/// What was handed on.
struct TextRead {
    tags: u64,
    columns: TextColumns,
    end: End,
}

impl TextRead {
    /// Hands on a last line without an end when it is to be salvaged. Says what becomes of it;
    /// nothing when there is none, or no tag in it.
    fn last_line(&mut self, salvage: bool, sink: &mut Sink<'_>) -> Result<Option<String>, Error> {
        let line = &self.end.begun;
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let tag = match parse_one(line, self.columns) {
            Ok(None) => return Ok(None),
            Ok(Some(tag)) if salvage => tag,
            Err(fault) if salvage => {
                return Ok(Some(format!("has no line end and is left out ({fault})")));
            }
            Ok(Some(_)) | Err(_) => {
                return Ok(Some(
                    "has no line end, may be cut and is left out (--salvage takes it)".into(),
                ));
            }
        };
        sink(Piece::Tags(&[tag]))?;
        self.tags += 1;
        Ok(Some("has no line end and is taken as it stands".into()))
    }
}

/// Why no more was handed on.
enum TextStopped {
    /// A line is no tag; lines are counted from where reading began.
    Line(WrongLine),
    /// The header says otherwise than the settings.
    Columns {
        line: u64,
        header: TextColumns,
        given: TextColumns,
    },
    Input {
        source: io::Error,
        frame: Option<(usize, Frame)>,
    },
    Sink(Error),
}

impl TextStopped {
    /// The error for the file at `path`; `before` reads what stands before the first byte read.
    fn name<I: Input>(
        self,
        path: &Path,
        settings: &Settings,
        before: impl FnOnce() -> io::Result<I>,
    ) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Sink(error) => error,
            Self::Columns { line, header, given } => Error::Columns { path, line, header, given },
            Self::Input { source, frame } => {
                Stopped { fault: Box::new(Fault::Input(source)), message: 0, frame }.name(&path, 0)
            }
            Self::Line(WrongLine { line, fault, text }) => {
                let lines = match settings.start_byte {
                    0 => Ok(0),
                    _ => before().and_then(count_lines),
                };
                match lines {
                    Ok(before) => Error::Line { path, line: before + line, text, fault },
                    Err(source) => Error::Io { path, action: "read", source },
                }
            }
        }
    }
}

fn count_lines(mut input: impl Read) -> io::Result<u64> {
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut lines = 0;
    loop {
        let n = input.read(&mut buffer)?;
        if n == 0 {
            return Ok(lines);
        }
        lines += buffer[..n].iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
    }
}

/// Hands the tags of all whole lines of `input` to `sink`; `is_framed` if they stand in frames.
fn pump<I: Input + Send>(
    input: I,
    settings: &Settings,
    threaded: bool,
    is_framed: bool,
    sink: &mut Sink<'_>,
) -> Result<TextRead, TextStopped> {
    let threads = if threaded { settings.decoders() } else { 0 };
    pump_blocks(input, settings, threads, BLOCK_BYTES, is_framed, sink)
}

/// As [`pump`], with blocks of this size, parsed here when there are no threads.
fn pump_blocks<I: Input + Send>(
    input: I,
    settings: &Settings,
    threads: usize,
    block_bytes: usize,
    is_framed: bool,
    sink: &mut Sink<'_>,
) -> Result<TextRead, TextStopped> {
    let mut cutter = Cutter::new(input, settings.start_byte, block_bytes);
    let mut block = Block::default();
    let start = Start::read(&mut cutter, &mut block, settings)?;
    let mut taker = Taker { lines: start.lines, tags: 0, byte: start.byte, is_framed, sink };
    let columns = start.columns;
    let mut tags = Vec::new();
    let parsed = parse(block.padded(), start.at, block.len(), columns, &mut tags);
    taker.take(&tags, parsed, block.len(), block.crc())?;
    if threads == 0 {
        loop {
            tags.clear();
            match cutter.next(&mut block) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => return Err(taker.cut_fault(fault, &cutter)),
            }
            let parsed = parse(block.padded(), 0, block.len(), columns, &mut tags);
            taker.take(&tags, parsed, block.len(), block.crc())?;
        }
    } else {
        drop((block, tags));
        cutter = pump_threads(cutter, columns, threads, &mut taker)?;
    }
    let end = cutter.end();
    if !end.is_beyond {
        taker.complete(Some(end.resume_byte), end.crc)?;
    }
    Ok(TextRead { tags: taker.tags, columns, end })
}

/// What stands before the first tag.
struct Start {
    columns: TextColumns,
    /// Where the tags begin in the block read last.
    at: usize,
    /// Lines before them.
    lines: u64,
    /// Where that block begins, in the bytes of the text.
    byte: u64,
}

impl Start {
    /// Reads comments, blank lines and a header, up to the first line that is none of them.
    fn read<I: Input>(
        cutter: &mut Cutter<I>,
        block: &mut Block,
        settings: &Settings,
    ) -> Result<Self, TextStopped> {
        let mut start =
            Self { columns: settings.text_columns(), at: 0, lines: 0, byte: settings.start_byte };
        let mut is_first = settings.start_byte == 0;
        loop {
            start.at = 0;
            match cutter.next(block) {
                Ok(true) => {}
                Ok(false) => return Ok(start),
                Err(fault) => return Err(cut_fault(fault, start.lines, cutter)),
            }
            if settings.start_byte > 0 {
                return Ok(start);
            }
            if std::mem::take(&mut is_first)
                && block.padded()[..block.len()].starts_with(BYTE_ORDER_MARK)
            {
                start.at = BYTE_ORDER_MARK.len();
            }
            while start.at < block.len() {
                let rest = &block.padded()[start.at..block.len()];
                let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                let line = &rest[..len];
                if let Some(header) = TextColumns::of_header(line) {
                    if let Some(given) = settings.columns.filter(|&given| given != header) {
                        let line = start.lines + 1;
                        return Err(TextStopped::Columns { line, header, given });
                    }
                    start.columns = header;
                } else if !matches!(line.trim_ascii_start().first(), None | Some(b'#')) {
                    return Ok(start);
                }
                start.lines += 1;
                start.at += len + 1;
            }
            start.byte += block.len() as u64;
        }
    }
}

/// Takes what is parsed, in the order of the file.
struct Taker<'a, 's> {
    lines: u64,
    tags: u64,
    /// Where the next block begins, in the bytes of the text.
    byte: u64,
    /// Whether the text stands in frames.
    is_framed: bool,
    sink: &'a mut Sink<'s>,
}

impl Taker<'_, '_> {
    /// Hands on the tags of one block, and what was wrong behind them.
    fn take(
        &mut self,
        tags: &[Tag],
        parsed: Result<u64, WrongLine>,
        bytes: usize,
        crc: Crc,
    ) -> Result<(), TextStopped> {
        for part in tags.chunks(CHUNK_TAGS) {
            (self.sink)(Piece::Tags(part)).map_err(TextStopped::Sink)?;
        }
        self.tags += tags.len() as u64;
        let before = self.lines;
        let moved = |wrong: WrongLine| WrongLine { line: before + wrong.line, ..wrong };
        self.lines += parsed.map_err(|wrong| TextStopped::Line(moved(wrong)))?;
        self.byte += bytes as u64;
        self.complete((!self.is_framed).then_some(self.byte), crc)
    }

    /// All tags so far stand in whole lines; reading can begin anew at `border`, if anywhere here.
    fn complete(&mut self, border: Option<u64>, crc: Crc) -> Result<(), TextStopped> {
        (self.sink)(Piece::Complete(Complete::new(border, crc))).map_err(TextStopped::Sink)
    }

    fn cut_fault<I: Input>(&self, fault: CutFault, cutter: &Cutter<I>) -> TextStopped {
        cut_fault(fault, self.lines, cutter)
    }
}

fn cut_fault<I: Input>(fault: CutFault, lines: u64, cutter: &Cutter<I>) -> TextStopped {
    match fault {
        CutFault::Input(source) => TextStopped::Input { source, frame: cutter.input.frame() },
        CutFault::TooLong(start) => {
            TextStopped::Line(WrongLine::new(lines + 1, LineFault::TooLong, &start))
        }
    }
}

/// What a thread made of a block.
struct Parsed {
    tags: Vec<Tag>,
    lines: Result<u64, WrongLine>,
    /// Bytes of the block, and the checksum behind it.
    bytes: usize,
    crc: Crc,
}

/// Cuts blocks and announces what will come of them, in the same order.
struct Dealer<I> {
    cutter: Cutter<I>,
    announce: Option<SyncSender<Receiver<Parsed>>>,
    fault: Option<CutFault>,
}

impl<I: Input> Dealer<I> {
    /// Fills `block`; nothing when there are no more, or nobody takes them any more.
    fn deal(&mut self, block: &mut Block) -> Option<SyncSender<Parsed>> {
        let announce = self.announce.as_ref()?;
        match self.cutter.next(block) {
            Ok(true) => {
                let (reply, parsed) = sync_channel(1);
                if announce.send(parsed).is_ok() {
                    return Some(reply);
                }
            }
            Ok(false) => {}
            Err(fault) => self.fault = Some(fault),
        }
        self.announce = None;
        None
    }
}

/// Reads the rest of the input on `threads` threads, and gives it back.
fn pump_threads<I: Input + Send>(
    cutter: Cutter<I>,
    columns: TextColumns,
    threads: usize,
    taker: &mut Taker<'_, '_>,
) -> Result<Cutter<I>, TextStopped> {
    // So many blocks may be parsed and not taken yet: half a mebibyte of tags each, at the most.
    let (announce, announced) = sync_channel::<Receiver<Parsed>>(2 * threads);
    let dealer = Mutex::new(Dealer { cutter, announce: Some(announce), fault: None });
    let spare = Mutex::new(Vec::<Vec<Tag>>::new());
    let lock = |dealer| Mutex::lock(dealer).unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut block = Block::default();
                loop {
                    let reply = lock(&dealer).deal(&mut block);
                    let Some(reply) = reply else { break };
                    let taken = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let mut tags = taken.unwrap_or_default();
                    tags.clear();
                    let lines = parse(block.padded(), 0, block.len(), columns, &mut tags);
                    let (bytes, crc) = (block.len(), block.crc());
                    // Nobody waits any more when an earlier block went wrong.
                    let _ = reply.send(Parsed { tags, lines, bytes, crc });
                }
            });
        }
        for parsed in announced {
            let gone = |_| TextStopped::Input {
                source: io::Error::other("the thread that parses it is gone"),
                frame: None,
            };
            let Parsed { tags, lines, bytes, crc } = parsed.recv().map_err(gone)?;
            taker.take(&tags, lines, bytes, crc)?;
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(tags);
        }
        Ok(())
    })?;
    let Dealer { cutter, fault, .. } = dealer.into_inner().unwrap_or_else(PoisonError::into_inner);
    match fault {
        Some(fault) => Err(cut_fault(fault, taker.lines, &cutter)),
        None => Ok(cutter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stream whose frames are these pieces; the byte of its file is the byte of the stream.
    struct Pieces {
        parts: Vec<Vec<u8>>,
        next: usize,
        at: usize,
        handed: u64,
        border: u64,
    }

    impl Pieces {
        fn new(parts: Vec<Vec<u8>>) -> Self {
            Self { parts, next: 0, at: 0, handed: 0, border: 0 }
        }
    }

    impl Read for Pieces {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            loop {
                if self.at == 0 {
                    self.border = self.handed;
                }
                let Some(piece) = self.parts.get(self.next) else { return Ok(0) };
                let n = bytes.len().min(piece.len() - self.at);
                bytes[..n].copy_from_slice(&piece[self.at..self.at + n]);
                self.at += n;
                self.handed += n as u64;
                if self.at == piece.len() {
                    self.next += 1;
                    self.at = 0;
                }
                if n > 0 {
                    return Ok(n);
                }
            }
        }
    }

    impl Input for Pieces {
        fn border(&self, ahead: u64) -> Option<u64> {
            (self.border == self.handed - ahead).then_some(self.border)
        }

        fn note_taken(&mut self, _: &[u8]) {}

        fn crc(&self) -> Crc {
            Crc::from(0)
        }

        fn frame(&self) -> Option<(usize, Frame)> {
            None
        }
    }

    type Outcome = (Vec<Tag>, Result<(End, TextColumns), (u64, LineFault)>);

    fn read(
        pieces: Vec<Vec<u8>>,
        settings: &Settings,
        threads: usize,
        block_bytes: usize,
    ) -> Outcome {
        let mut tags = Vec::new();
        let mut sink = |piece: Piece<'_>| {
            let Piece::Tags(part) = piece else { return Ok(()) };
            tags.extend_from_slice(part);
            Ok(())
        };
        let read =
            pump_blocks(Pieces::new(pieces), settings, threads, block_bytes, true, &mut sink);
        let outcome = match read {
            Ok(read) => {
                assert_eq!(read.tags, tags.len() as u64);
                Ok((read.end, read.columns))
            }
            Err(TextStopped::Line(wrong)) => Err((wrong.line, wrong.fault)),
            Err(TextStopped::Columns { .. } | TextStopped::Input { .. } | TextStopped::Sink(_)) => {
                panic!("neither tags nor a wrong line")
            }
        };
        (tags, outcome)
    }

    /// A tag of each line by `str::parse`, up to the first line that is none, and its number.
    fn oracle(text: &str) -> (Vec<Tag>, Option<u64>) {
        let mut tags = Vec::new();
        for (line, number) in text.split_inclusive('\n').zip(1..) {
            let Some(line) = line.strip_suffix('\n') else { break };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // A comma makes a field even where nothing stands.
            let is_mark = |byte| byte == ',' || byte == ';';
            let marks = line.matches(is_mark).count();
            if line.starts_with(is_mark) || line.ends_with(is_mark) || marks > 1 {
                return (tags, Some(number));
            }
            let fields: Vec<&str> =
                line.split(['\t', ' ', ',', ';']).filter(|field| !field.is_empty()).collect();
            match (fields.len(), fields[0].parse(), fields.get(1).map(|field| field.parse())) {
                (2, Ok(channel), Some(Ok(time))) => tags.push(Tag { time, channel }),
                _ => return (tags, Some(number)),
            }
        }
        (tags, None)
    }

    fn number() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => any::<u64>().prop_flat_map(|n| (0..64_u32).prop_map(move |bits| (n >> bits).to_string())),
            2 => any::<i64>().prop_map(|n| n.to_string()),
            1 => "0{0,20}[0-9]{1,20}",
            1 => prop::sample::select(vec![
                "9223372036854775807", "9223372036854775808", "-9223372036854775808",
                "-9223372036854775809", "18446744073709551615", "18446744073709551616", "99999999",
                "100000000", "9999999999999999", "10000000000000000", "999999999999999999",
                "1000000000000000000", "-0", "+5", "0", "-1",
            ])
            .prop_map(str::to_owned),
            1 => prop::sample::select(vec!["", "-", "1.5", "1e3", "3x", "x", "0x10", "\u{b5}", "1_0", "/", ":", "--1"])
            .prop_map(str::to_owned),
        ]
    }

    fn line() -> impl Strategy<Value = String> {
        let separator = prop::sample::select(vec!["\t", ",", ";", " ", ", ", "  ", " ; ", " \t"]);
        let end = prop::sample::select(vec!["\n", "\r\n", " \n"]);
        prop_oneof![
            20 => (number(), separator, number(), end)
                .prop_map(|(first, separator, second, end)| format!("{first}{separator}{second}{end}")),
            20 => (0..99_u64, 0..1_i64 << 40).prop_map(|(channel, time)| format!("{channel}\t{time}\n")),
            1 => prop::sample::select(vec!["\n", "\r\n", "#\n", "# 3\t4\n", " # x\n", "3\n", "1\t2\t3\n", "1,2,\n"])
            .prop_map(str::to_owned),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_500))]

        #[test]
        fn lines_are_what_parse_makes_of_them(
            lines in prop::collection::vec(line(), 0..30),
            block_bytes in 1..40_usize,
            piece in 1..50_usize,
            threads in 0..3_usize,
        ) {
            let text = lines.concat();
            let (expected, wrong) = oracle(&text);
            let pieces = text.as_bytes().chunks(piece).map(<[u8]>::to_vec).collect();
            let (tags, outcome) = read(pieces, &Settings::default(), threads, block_bytes);
            prop_assert_eq!(tags, expected, "{:?}", text);
            prop_assert_eq!(outcome.as_ref().err().map(|&(line, _)| line), wrong, "{:?}", text);
        }
    }

    #[test]
    fn a_text_cut_anywhere_gives_its_whole_lines() {
        let text =
            "channel\ttime\r\n3\t-17\r\n# note\r\n15\t9223372036854775807\r\n\r\n1\t2\n4\t5\r\n";
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        let expected = [(-17, 3), (i64::MAX, 15), (2, 1), (5, 4)];
        let tag_lines = [1, 3, 5, 6];
        for len in 0..=text.len() {
            let lines = ends.iter().filter(|&&end| end <= len).count();
            let resume = if lines == 0 { 0 } else { ends[lines - 1] };
            let count = tag_lines.iter().filter(|&&line| line < lines).count();
            for (threads, block_bytes) in [(0, 1), (0, 7), (2, 13), (3, 1_000)] {
                let pieces = vec![text.as_bytes()[..len].to_vec()];
                let (tags, outcome) = read(pieces, &Settings::default(), threads, block_bytes);
                let tags: Vec<(i64, u64)> =
                    tags.iter().map(|tag| (tag.time, tag.channel)).collect();
                assert_eq!(tags, expected[..count], "cut at {len}");
                let (end, _) = outcome.unwrap();
                assert_eq!(end.begun, text.as_bytes()[resume..len], "cut at {len}");
            }
        }
    }

    /// Reading can go on where a piece and a line end together, and nothing comes twice or never.
    #[test]
    fn reading_goes_on_at_the_last_border_at_which_a_line_ends() {
        let text = b"1\t10\n2\t20\n3\t30\n4\t40\n";
        for piece in 1..=text.len() {
            for len in 0..=text.len() {
                let pieces: Vec<Vec<u8>> = text[..len].chunks(piece).map(<[u8]>::to_vec).collect();
                let borders =
                    (0..=len).filter(|at| at % piece == 0 || *at == len).filter(|at| at % 5 == 0);
                let resume = borders.max().unwrap();
                for block_bytes in [1, 3, 100] {
                    let (tags, outcome) =
                        read(pieces.clone(), &Settings::default(), 0, block_bytes);
                    let (end, _) = outcome.unwrap();
                    assert_eq!(end.resume_byte, resume as u64, "{piece} {len} {block_bytes}");
                    assert_eq!(tags.len(), len / 5);
                    assert_eq!(end.is_beyond, tags.len() > resume / 5, "{piece} {len}");
                }
            }
        }
    }

    #[test]
    fn headers_and_settings_say_which_column_is_which() {
        use TextColumns::{ChannelTime, TimeChannel};
        let columns = |text: &str, given: Option<TextColumns>, before: Option<TextColumns>| {
            let settings =
                Settings { columns: given, columns_before: before, ..Settings::default() };
            let mut seen = Vec::new();
            for block_bytes in [1, 5, 1_000] {
                let mut tags = Vec::new();
                let input = Pieces::new(vec![text.as_bytes().to_vec()]);
                let mut sink = |piece: Piece<'_>| {
                    let Piece::Tags(part) = piece else { return Ok(()) };
                    tags.extend_from_slice(part);
                    Ok(())
                };
                let read = pump_blocks(input, &settings, 0, block_bytes, true, &mut sink);
                seen.push(match read {
                    Ok(read) => {
                        assert!(tags.iter().all(|tag| match read.columns {
                            ChannelTime => tag.channel == 7,
                            TimeChannel => tag.time == 7,
                        }));
                        Ok(read.columns)
                    }
                    Err(TextStopped::Columns { line, .. }) => Err(line),
                    Err(_) => Err(0),
                });
            }
            assert!(seen.iter().all(|other| *other == seen[0]), "{seen:?}");
            seen.remove(0)
        };
        let plain = "7\t5\n7\t6\n";
        let headed = "\u{feff}\r\n# made by hand\r\nTime;Channel\r\n7;5\n7;6\n";
        assert_eq!(columns(plain, None, None), Ok(ChannelTime));
        assert_eq!(columns(plain, Some(TimeChannel), None), Ok(TimeChannel));
        assert_eq!(columns(plain, None, Some(TimeChannel)), Ok(TimeChannel));
        assert_eq!(columns(plain, Some(ChannelTime), Some(TimeChannel)), Ok(ChannelTime));
        assert_eq!(columns(headed, None, None), Ok(TimeChannel));
        assert_eq!(columns(headed, Some(TimeChannel), None), Ok(TimeChannel));
        assert_eq!(columns(headed, Some(ChannelTime), None), Err(3));
        assert_eq!(columns(headed, None, Some(ChannelTime)), Ok(TimeChannel));
        // The same header again, where files were put together, and another one.
        assert_eq!(columns("time channel\n7 1\ntime channel\n7 2\n", None, None), Ok(TimeChannel));
        assert_eq!(columns("time channel\n7 1\nchannel time\n7 2\n", None, None), Err(0));
        assert_eq!(columns("", Some(TimeChannel), None), Ok(TimeChannel));
    }

    #[test]
    fn wrong_lines_are_named() {
        let fault = |line: &str| {
            let text = format!("\u{feff}1\t2\n\n{line}\n3\t4\n");
            let mut found = Vec::new();
            for (threads, block_bytes) in [(0, 1), (0, 1 << 20), (2, 10)] {
                let pieces = vec![text.clone().into_bytes()];
                let (tags, outcome) = read(pieces, &Settings::default(), threads, block_bytes);
                assert_eq!(tags, [Tag { time: 2, channel: 1 }]);
                let (number, fault) = outcome.err().unwrap();
                assert_eq!(number, 3, "{line}");
                found.push(fault);
            }
            assert!(found.iter().all(|fault| *fault == found[0]));
            found[0]
        };
        assert_eq!(fault("17"), LineFault::OneField);
        assert_eq!(fault("17\t"), LineFault::OneField);
        assert_eq!(fault("\t,17"), LineFault::OneField);
        assert_eq!(fault("1\t2\t3"), LineFault::ManyFields);
        assert_eq!(fault("1,,2"), LineFault::ManyFields);
        assert_eq!(fault("1\t1.5e3"), LineFault::TimeNotWhole);
        assert_eq!(fault("1\t17."), LineFault::TimeNotWhole);
        assert_eq!(fault("1.0\t17"), LineFault::ChannelNotWhole);
        assert_eq!(fault("1\tnan"), LineFault::TimeNoNumber);
        assert_eq!(fault("a\t17"), LineFault::ChannelNoNumber);
        assert_eq!(fault("1\t9223372036854775808"), LineFault::TimeRange);
        assert_eq!(fault("1\t-9223372036854775809"), LineFault::TimeRange);
        assert_eq!(fault("-1\t17"), LineFault::ChannelRange);
        assert_eq!(fault("18446744073709551616\t17"), LineFault::ChannelRange);
        assert_eq!(fault("time\tchannel"), LineFault::OtherHeader);
        assert_eq!(fault(&" ".repeat(LINE_MAX + 1)), LineFault::TooLong);
        assert_eq!(fault(&"1".repeat(3 * LINE_MAX)), LineFault::TooLong);
        let (_, outcome) =
            read(vec![b"1\t2\n".to_vec(), vec![b'1'; LINE_MAX + 1]], &Settings::default(), 0, 100);
        assert_eq!(outcome.err(), Some((2, LineFault::TooLong)));
        let just = format!("{}1\t2\n", " ".repeat(LINE_MAX - 3));
        assert_eq!(read(vec![just.into_bytes()], &Settings::default(), 0, 9).0.len(), 1);
    }

    const LINE_MAX: usize = super::super::line::LINE_BYTES_MAX;

    #[test]
    fn text_is_known_by_its_first_bytes() {
        for text in ["3\t17", "# x", "\r\n\r\n", "chan", "\u{feff}3", "\u{feff}", "3", "\n"] {
            let start = &text.as_bytes()[..text.len().min(4)];
            assert!(is_text(start), "{text:?}");
        }
        // A message begins with its number of segments less one, and so does what is there of one.
        for last in [0_u32, 1, 9, 32, 51, 255, 256, 307, 510] {
            let start = last.to_le_bytes();
            assert!(!is_text(&start), "{last}");
            assert!(!is_text(&start[..2]), "{last}");
        }
        for bytes in
            [&b""[..], b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xff\xfe3\0", b"\xef\xbb\xbe3"]
        {
            assert!(!is_text(bytes), "{bytes:?}");
        }
    }
}
