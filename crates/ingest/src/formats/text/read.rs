//! The tags of a text: blocks of whole lines, cut one after the other by any free thread and parsed side by side.
//!
//! Reading can begin again after any block of a text that is not compressed. A last line without a line end may be cut,
//! so it is a tag only if the user asks for it (`salvage`). Lines in errors are counted from the beginning of the file,
//! also where reading began later.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use tagq_store::Recording;

use super::{
    NAME, hint,
    labels::ChannelNames,
    layout::{Fields, ParsedLines, TextLayout},
    line::{WrongLine, parse, parse_one},
    start::{BYTE_ORDER_MARK, Finder, Start},
    stopped::TextStopped,
};
use crate::{
    error::Error,
    formats::{
        columns::Columns,
        format::{Checkpoint, Complete, Decoded, Header, Piece, ROUNDED, Sink, Summary},
        naming::{Meaning, Name, Quantity},
    },
    payload::{
        Payload,
        cut::{Block, CutFault, Cutter, End, Parts},
        input::AnyInput,
    },
    pipeline::{self, Ahead, Outlet, Receive, Units},
    settings::Settings,
};

/// Bytes of a block: the size of a core's cache less the tags made of it.
const BLOCK_BYTES: usize = 256 * 1024;

/// Hands the tags of `payload` to `sink`.
pub(super) fn read(
    payload: &Payload<'_>,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let ahead = Ahead::of(payload, settings);
    let input = payload.input(payload.bytes.clone(), 0, settings)?;
    let (is_compressed, named) = (payload.is_compressed(), channel_of_name(payload.path));
    let form = TextForm { ahead, block_bytes: BLOCK_BYTES, is_compressed, named };
    let read = pump(input, settings, begun(payload, settings)?, form, sink);
    let mut read = read.map_err(|stopped| stopped.name(payload, settings))?;
    if settings.salvage && !payload.is_compressed() {
        read.end.crc.add(read.end.resume_byte, &read.end.begun);
    }
    let fate = if settings.salvage { "taken in whole lines" } else { "left out" };
    let torn = match payload.torn(fate) {
        // The last line in a torn member was cut by whatever tore it.
        Some(torn) => Some(torn),
        None => read.last_line(settings, sink)?.map(|fate| {
            let at = read.end.resume_byte;
            let place =
                if payload.is_compressed() { String::new() } else { format!(" (byte {at} on)") };
            format!("its last line{place} {fate}")
        }),
    };
    Ok(Summary {
        tags: read.tags,
        resume_byte: read.end.resume_byte,
        columns: Some(read.columns(settings)),
        crc: read.end.crc,
        torn,
        ..Summary::new(payload, settings)
    })
}

/// Returns the header that the beginning of a text makes: the tick of times in a unit, and names of channels.
pub(super) fn header(payload: &Payload<'_>, settings: &Settings) -> Result<Header, Error> {
    let start = payload.first(BLOCK_BYTES)?;
    let found = Finder::of_start(settings, &start, channel_of_name(payload.path));
    let found = found.map_err(|stopped| stopped.name(payload, settings))?;
    let Some((layout, at, tick)) = found else { return Ok(Header::default()) };
    let mut names = ChannelNames::new(&settings.names_before);
    if let TextLayout::Fields(fields) = &layout
        && layout.has_names()
    {
        let lines = start[at..].split_inclusive(|&byte| byte == b'\n');
        let whole = lines.filter_map(|line| line.strip_suffix(b"\n"));
        // The line with a fault is named when the tags are read.
        let mut fields_of = Vec::new();
        for line in whole {
            if fields.row(line, &mut names, &mut fields_of).is_err() {
                break;
            }
        }
    }
    let channel_names =
        if layout.has_names() { names.all().to_vec() } else { layout.channel_names() };
    Ok(Header { tick, channel_names, are_names_counted: layout.has_names(), ..Header::default() })
}

/// The layout of a text whose reading is continued, if it says more than an order. It is found from the beginning of
/// the file, where the header is.
fn begun(payload: &Payload<'_>, settings: &Settings) -> Result<Option<TextLayout>, Error> {
    let before = settings.columns_before.as_ref();
    if settings.start_byte == 0 || before.is_none() {
        return Ok(None);
    }
    let start = payload.first(BLOCK_BYTES)?;
    match Finder::of_start(settings, &start, channel_of_name(payload.path)) {
        Ok(Some((layout, ..))) => Ok(Some(layout)),
        Ok(None) | Err(TextStopped::Named(_)) if before.and_then(Columns::named).is_some() => {
            Err(Error::Table {
                path: payload.path.into(),
                what: "its header does not name the columns any more by which it was read".into(),
            })
        }
        Ok(None) => Ok(None),
        Err(stopped) => Err(stopped.name(payload, settings)),
    }
}

/// How a text is read.
#[derive(Clone, Copy)]
struct TextForm {
    ahead: Ahead,
    block_bytes: usize,
    is_compressed: bool,
    /// The channel that the name of the file states.
    named: Option<u16>,
}

/// The channel that the name of a file states, as in `ch3.txt` or `night_channel-3.csv.gz`: a word for a channel and a
/// number at the end.
fn channel_of_name(path: &Path) -> Option<u16> {
    let name = path.file_name()?.to_str()?;
    let stem = name.split('.').next()?;
    let word = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = stem[word.len()..].parse().ok()?;
    let word = word.trim_end_matches(['_', '-', ' ']);
    let word = word.rsplit(['_', '-', ' ']).next()?;
    (Name::of(word).meaning == Meaning::Of(Quantity::Channel)).then_some(number)
}

/// Hands the tags of all whole lines of `input` to `sink`, in blocks of this size.
fn pump(
    input: AnyInput<'_>,
    settings: &Settings,
    begun: Option<TextLayout>,
    TextForm { ahead, block_bytes, is_compressed, named }: TextForm,
    sink: &mut Sink<'_>,
) -> Result<TextRead, TextStopped> {
    let mut cutter = Cutter::new(input, Parts::Lines, settings.start_byte, block_bytes);
    let Start { layout, lines, block } = Start::read(&mut cutter, settings, begun, named)?;
    // A header may still come, and is found from the beginning alone.
    let is_begun = block.is_some();
    let of_times = layout.channel_names();
    if layout.has_names() || layout.time_unit().is_some() || !of_times.is_empty() {
        let channel_names =
            if of_times.is_empty() { settings.names_before.clone() } else { of_times };
        let format = NAME.into();
        let recording = Recording { format, channel_names, ..Recording::default() };
        sink(Decoded::Recording(recording.into(), None))?;
    }
    let mut receiver = Receiver { lines, tags: 0, sink };
    let mut blocks = Blocks { first: block, cutter, fault: None };
    let mut cut = |block: &mut Block| blocks.cut(block);
    let names = Mutex::new(ChannelNames::new(&settings.names_before));
    // New names get their numbers in the order of the file.
    let ahead = if layout.has_names() { Ahead { threads: 0, ..ahead } } else { ahead };
    let parser = Parser { layout, names, is_compressed, settings };
    pipeline::run(&parser, &mut cut, ahead, &mut receiver)?;
    let Blocks { mut cutter, fault, .. } = blocks;
    if let Some(fault) = fault {
        return Err(TextStopped::cut(fault, receiver.lines, &cutter));
    }
    let end = cutter.end();
    if is_begun && !end.is_beyond {
        receiver.take(Decoded::Complete(Complete::new(
            Some(Checkpoint::at(end.resume_byte)),
            end.crc,
        )))?;
    }
    let Parser { layout, names, .. } = parser;
    let names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(TextRead { tags: receiver.tags, is_begun, layout, names, end })
}

/// Totals of what was handed on.
struct TextRead {
    tags: u64,
    /// Whether it has a line of a tag.
    is_begun: bool,
    layout: TextLayout,
    names: ChannelNames,
    end: End,
}

impl TextRead {
    /// The columns by which it is read when it grows. A text without a tag may still get another header.
    fn columns(&self, settings: &Settings) -> Columns {
        let skip_lines = settings.skip_lines();
        if self.is_begun {
            return Columns { skip_lines, ..self.layout.columns() };
        }
        let Settings { columns, columns_before, .. } = settings;
        let columns = columns.clone().or_else(|| columns_before.clone()).unwrap_or_default();
        Columns { skip_lines, ..columns }
    }

    /// Hands on a last line without an end when it is to be salvaged. Says what becomes of it;
    /// `None` when there is none, or no tag in it.
    fn last_line(
        &mut self,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Option<String>, Error> {
        let salvage = settings.salvage;
        let line = &self.end.begun;
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let known = self.names.all().len();
        let mut parsed = ParsedLines::default();
        let result = match &self.layout {
            TextLayout::Two(order) => parse_one(line, *order).map(|tag| parsed.tags.extend(tag)),
            TextLayout::Fields(fields) => {
                fields.line(line, &mut self.names, &mut Vec::new(), &mut parsed)
            }
        };
        match result {
            Ok(()) if parsed.tags.is_empty() => return Ok(None),
            Ok(()) if salvage => {}
            Err(fault) if salvage => {
                return Ok(Some(format!("has no line end and is left out ({fault})")));
            }
            Ok(()) | Err(_) => {
                return Ok(Some(
                    "has no line end, may be cut and is left out (--salvage takes it)".into(),
                ));
            }
        }
        for (label, name) in &self.names.all()[known..] {
            sink(Decoded::Channel(*label, name.clone()))?;
        }
        sink(Decoded::Tags(Piece::new(&parsed.tags, &parsed.micros)))?;
        self.tags += parsed.tags.len() as u64;
        Ok(Some("has no line end and is taken as it stands".into()))
    }
}

/// Blocks of lines that are still to be parsed.
struct Blocks<'a> {
    /// The block in which the header ends.
    first: Option<Block>,
    cutter: Cutter<'a>,
    /// Why there are no more.
    fault: Option<CutFault>,
}

impl Blocks<'_> {
    /// Fills `block` with the next one; false when there are no more.
    fn cut(&mut self, block: &mut Block) -> bool {
        if let Some(first) = self.first.take() {
            *block = first;
            return true;
        }
        self.cutter.next(block).unwrap_or_else(|fault| {
            self.fault = Some(fault);
            false
        })
    }
}

struct Parser<'s> {
    layout: TextLayout,
    names: Mutex<ChannelNames>,
    is_compressed: bool,
    settings: &'s Settings,
}

impl Parser<'_> {
    /// Parses the lines of a block. Times that are rounded to the tick are counted, those before
    /// [`Settings::known_bytes`] not again.
    fn parse(
        &self,
        fields: &Fields,
        block: &Block,
        names: &mut ChannelNames,
        parsed: &mut ParsedLines,
    ) -> Result<u64, WrongLine> {
        let (start, len) = (block.start, block.len());
        let known = self.settings.known_bytes.min(block.end());
        let known = known.saturating_sub(block.end().saturating_sub(len as u64));
        let is_again = !self.is_compressed && self.settings.start_byte > 0;
        let known = usize::try_from(known).unwrap_or(len).max(start);
        let known = if is_again { known.min(len) } else { start };
        let before = fields.parse(block.padded(), start, known, names, parsed)?;
        parsed.rounded = 0;
        let after = fields.parse(block.padded(), known, len, names, parsed);
        let lines = after.map_err(|wrong| WrongLine { line: before + wrong.line, ..wrong })?;
        Ok(before + lines)
    }
}

impl Units for Parser<'_> {
    type Unit = Block;
    /// Lines of the block.
    type End = Result<u64, TextStopped>;

    fn decode(&self, block: &Block, _: i128, out: &mut Outlet<'_>) -> Self::End {
        let mut parsed = ParsedLines { tags: out.buffer(), ..ParsedLines::default() };
        let (start, len) = (block.start, block.len());
        let lines = match &self.layout {
            TextLayout::Two(order) => parse(block.padded(), start, len, *order, &mut parsed.tags),
            // Threads wait for each other only where new names get numbers.
            TextLayout::Fields(fields) if !self.layout.has_names() => {
                self.parse(fields, block, &mut ChannelNames::new(&[]), &mut parsed)
            }
            TextLayout::Fields(fields) => {
                let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                let known = names.all().len();
                let lines = self.parse(fields, block, &mut names, &mut parsed);
                for (label, name) in &names.all()[known..] {
                    out.channel(*label, name)?;
                }
                lines
            }
        };
        let ParsedLines { tags, micros, rounded } = parsed;
        if rounded > 0 {
            out.left_out(ROUNDED, rounded)?;
        }
        out.tags(tags, micros)?;
        let lines = lines.map_err(|wrong| {
            let fix = hint::of_line(wrong.fault, &wrong.start, &self.layout.columns());
            TextStopped::Line(WrongLine { fix, ..wrong })
        })?;
        let checkpoint = (!self.is_compressed).then(|| Checkpoint::at(block.end()));
        out.complete(Complete::new(checkpoint, block.crc()))?;
        Ok(lines)
    }
}

struct Receiver<'a, 's> {
    lines: u64,
    tags: u64,
    sink: &'a mut Sink<'s>,
}

impl Receive<Result<u64, TextStopped>> for Receiver<'_, '_> {
    type Fault = TextStopped;

    fn take(&mut self, decoded: Decoded<'_>) -> Result<(), Error> {
        self.tags += decoded.tags();
        (self.sink)(decoded)
    }

    fn end(&mut self, lines: Result<u64, TextStopped>) -> Result<bool, TextStopped> {
        let before = self.lines;
        self.lines += lines.map_err(|stopped| match stopped {
            TextStopped::Line(wrong) => {
                TextStopped::Line(WrongLine { line: before + wrong.line, ..wrong })
            }
            other @ (TextStopped::Columns { .. }
            | TextStopped::Named(_)
            | TextStopped::Input { .. }
            | TextStopped::Sink(_)) => other,
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;
    use tagq_sampling::random_cases;
    use tagq_store::Tag;

    use super::*;
    use crate::{
        formats::{
            columns::ChosenColumns,
            text::{columns::TextColumns, fields::LineFault},
        },
        payload::{
            crc::Crc,
            cut::LINE_BYTES_MAX as LINE_MAX,
            input::{Input, Member},
        },
    };

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

        fn member(&self) -> Option<Member> {
            None
        }
    }

    type Outcome = (Vec<Tag>, Result<(End, TextColumns), (u64, LineFault)>);

    fn tags_on(threads: usize) -> Ahead {
        Ahead { threads, as_rows: false }
    }

    fn read(
        pieces: Vec<Vec<u8>>,
        settings: &Settings,
        threads: usize,
        block_bytes: usize,
    ) -> Outcome {
        let mut tags = Vec::new();
        let mut sink = |decoded: Decoded<'_>| {
            let Decoded::Tags(Piece { tags: part, .. }) = decoded else { return Ok(()) };
            tags.extend_from_slice(&part);
            Ok(())
        };
        let form =
            TextForm { ahead: tags_on(threads), block_bytes, is_compressed: true, named: None };
        let read = pump(Box::new(Pieces::new(pieces)), settings, None, form, &mut sink);
        let outcome = match read {
            Ok(read) => {
                assert_eq!(read.tags, tags.len() as u64);
                let TextLayout::Two(columns) = read.layout else { panic!("a header of names") };
                Ok((read.end, columns))
            }
            Err(TextStopped::Line(wrong)) => Err((wrong.line, wrong.fault)),
            // Two words above numbers are names of columns.
            Err(TextStopped::Named(what)) => {
                let line = what.strip_prefix("line ").and_then(|rest| rest.split_once(':'));
                Err((line.unwrap().0.parse().unwrap(), LineFault::ChannelNoNumber))
            }
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
        #![proptest_config(random_cases(1_500))]

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
        let in_ticks =
            |order| Columns { chosen: ChosenColumns::Order(order), ..Columns::default() };
        let columns = |text: &str, given: Option<TextColumns>, before: Option<TextColumns>| {
            let settings = Settings {
                columns: given.map(in_ticks),
                columns_before: before.map(in_ticks),
                ..Settings::default()
            };
            let mut seen = Vec::new();
            for block_bytes in [1, 5, 1_000] {
                let mut tags = Vec::new();
                let input = Box::new(Pieces::new(vec![text.as_bytes().to_vec()]));
                let mut sink = |decoded: Decoded<'_>| {
                    let Decoded::Tags(Piece { tags: part, .. }) = decoded else { return Ok(()) };
                    tags.extend_from_slice(&part);
                    Ok(())
                };
                let form =
                    TextForm { ahead: tags_on(0), block_bytes, is_compressed: true, named: None };
                let read = pump(input, &settings, None, form, &mut sink);
                seen.push(match read {
                    Ok(read) => {
                        let TextLayout::Two(columns) = read.layout else {
                            panic!("a header of names")
                        };
                        assert!(tags.iter().all(|tag| match columns {
                            ChannelTime => tag.channel == 7,
                            TimeChannel => tag.time == 7,
                        }));
                        Ok(columns)
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
}
