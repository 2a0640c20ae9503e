//! Input files, messages in every valid layout, and the reference implementation.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use capnp::{
    message::{self, ReaderOptions},
    serialize,
};
use tagq_ingest::{Error, Settings, Summary, read_tags};
use tagq_store::Tag;
use tempfile::TempDir;

use crate::tags_capnp::tags;

/// The tags of a message, list by list.
pub type Lists = Vec<Vec<Tag>>;

pub fn tag(time: i64, channel: u64) -> Tag {
    Tag { time, channel }
}

/// Returns `count` tags that differ from those of another `seed`.
pub fn some_tags(seed: u64, count: usize) -> Vec<Tag> {
    let mut x = seed;
    (0..count)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            tag((x >> 8).cast_signed() - (1 << 55), x >> 60)
        })
        .collect()
}

/// Whether there is the program `capnp`. An emulator may start one that is missing, which then fails.
pub fn has_capnp() -> bool {
    let is_there =
        Command::new("capnp").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        skipped("there is no `capnp` program");
    }
    is_there
}

/// Reports that a test was skipped, and why, bypassing the capture of test output.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Writes a file into its own folder.
pub fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a file");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Returns all tags of a file with these bytes.
pub fn read(bytes: &[u8]) -> Result<(Vec<Tag>, Summary), Error> {
    read_with(bytes, &Settings::default())
}

/// Returns the tags of the first `messages` messages.
pub fn read_first(bytes: &[u8], messages: u64) -> Result<(Vec<Tag>, Summary), Error> {
    read_with(bytes, &Settings { messages_max: Some(messages), ..Settings::default() })
}

fn read_with(bytes: &[u8], settings: &Settings) -> Result<(Vec<Tag>, Summary), Error> {
    let (_folder, path) = file(bytes);
    let (all, result) = handed(&path, settings);
    let summary = result?;
    assert_eq!(summary.tags, all.len() as u64);
    assert_eq!(summary.size, bytes.len() as u64);
    Ok((all, summary))
}

/// Returns the tags passed on from a file, and its result.
pub fn handed(path: &Path, settings: &Settings) -> (Vec<Tag>, Result<Summary, Error>) {
    let mut all = Vec::new();
    let result = read_tags(path, settings, |tags| {
        assert!(!tags.is_empty() && tags.len() <= 16_384);
        all.extend_from_slice(tags);
        Ok(())
    });
    (all, result)
}

/// Returns one Zstandard frame.
pub fn frame(bytes: &[u8], checksum: bool) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(checksum).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A compression whose members do not say where they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Xz,
    Bzip2,
}

impl Packing {
    pub const ALL: [Self; 3] = [Self::Gzip, Self::Xz, Self::Bzip2];

    /// Returns one member.
    pub fn pack(self, bytes: &[u8]) -> Vec<u8> {
        self.pack_repeated(bytes, 1)
    }

    /// Returns one member that contains `bytes` this many times.
    pub fn pack_repeated(self, bytes: &[u8], times: usize) -> Vec<u8> {
        let write = |out: &mut dyn Write| (0..times).try_for_each(|_| out.write_all(bytes));
        match self {
            Self::Gzip => {
                let out = flate2::GzBuilder::new().filename("run.tags").comment("a comment");
                let mut out = out.write(Vec::new(), flate2::Compression::new(6));
                write(&mut out).unwrap();
                out.finish().unwrap()
            }
            Self::Xz => {
                let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
                write(&mut out).unwrap();
                out.finish().unwrap()
            }
            Self::Bzip2 => {
                let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(1));
                write(&mut out).unwrap();
                out.finish().unwrap()
            }
        }
    }
}

/// Returns a skippable frame that contains `bytes`.
pub fn skippable(bytes: &[u8]) -> Vec<u8> {
    let len = u32::try_from(bytes.len()).unwrap();
    [&[0x53, 0x2a, 0x4d, 0x18], &len.to_le_bytes()[..], bytes].concat()
}

/// Returns a message with these segments.
pub fn framed(segments: &[Vec<u64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |n: usize| bytes.extend_from_slice(&u32::try_from(n).unwrap().to_le_bytes());
    add(segments.len() - 1);
    for segment in segments {
        add(segment.len());
    }
    if segments.len().is_multiple_of(2) {
        add(0);
    }
    bytes.extend(segments.iter().flatten().flat_map(|word| word.to_le_bytes()));
    bytes
}

/// Returns the tags that the reference implementation reads from the one message in `bytes`.
pub fn reference(bytes: &[u8]) -> capnp::Result<Vec<Tag>> {
    // Twice the content of a message of this length without any word used twice.
    reference_within(bytes, bytes.len() / 4 + 1000)
}

/// Same as [`reference`], following pointers over at most `words` words.
pub fn reference_within(bytes: &[u8], words: usize) -> capnp::Result<Vec<Tag>> {
    let mut options = ReaderOptions::new();
    options.traversal_limit_in_words(Some(words));
    let message = serialize::read_message(bytes, options)?;
    let root = message.get_root::<tags::Reader<'_>>()?;
    let mut all = Vec::new();
    let lists = root.get_tags()?;
    for i in 0..lists.len() {
        all.extend(lists.get(i)?.iter().map(|t| tag(t.get_time(), t.get_channel())));
    }
    Ok(all)
}

/// Returns a message written by the reference implementation, with a first segment of `first_words`.
pub fn built(lists: &[Vec<Tag>], first_words: u32, is_fixed: bool) -> Vec<u8> {
    built_in_order(lists, (0..lists.len()).collect(), first_words, is_fixed)
}

/// Same as [`built`], with the lists created in this order.
pub fn built_in_order(
    lists: &[Vec<Tag>],
    order: Vec<usize>,
    first_words: u32,
    is_fixed: bool,
) -> Vec<u8> {
    let strategy = if is_fixed {
        message::AllocationStrategy::FixedSize
    } else {
        message::AllocationStrategy::GrowHeuristically
    };
    let allocator = message::HeapAllocator::new()
        .first_segment_words(first_words)
        .allocation_strategy(strategy);
    let mut message = message::Builder::new(allocator);
    let root = message.init_root::<tags::Builder<'_>>();
    let mut outer = root.init_tags(u32::try_from(lists.len()).unwrap());
    for i in order {
        let len = u32::try_from(lists[i].len()).unwrap();
        let mut list = outer.reborrow().init(u32::try_from(i).unwrap(), len);
        for (j, tag) in (0..).zip(&lists[i]) {
            let mut element = list.reborrow().get(j);
            element.set_time(tag.time);
            element.set_channel(tag.channel);
        }
    }
    serialize::write_message_to_words(&message)
}

/// Runs one test of this program again in another process, with at most 300,000 KiB of address space.
pub fn again_in_little_memory(test: &str, variable: (&str, &str)) -> std::process::Output {
    Command::new("sh")
        .args(["-c", "ulimit -v 300000 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        // One heap: otherwise the allocator reserves the address space.
        .env("MALLOC_ARENA_MAX", "1")
        .env(variable.0, variable.1)
        .output()
        .unwrap()
}

/// Choices of a layout, read one after another; after the end all are zero, so that a shorter list gives a
/// simpler layout.
pub struct Choices(Vec<u32>);

impl Choices {
    pub fn new(mut choices: Vec<u32>) -> Self {
        choices.reverse();
        Self(choices)
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.pop().unwrap_or(0) as usize % n
    }
}

/// Sizes of the parts of a message.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub segments: usize,
    /// Data words and pointers of the root; the first pointer leads to the lists.
    pub root: (u64, u64),
    /// Data words and pointers of an element; the first two words are the tag.
    pub element: (u64, u64),
}

/// A part of a message: words that stay together.
struct SourcePart {
    segment: usize,
    words: u64,
    /// Position in its segment.
    at: u64,
}

/// Kind of a pointer.
enum Way {
    Near,
    /// Through a landing pad.
    Far(usize),
    DoubleFar(usize),
}

const ROOT_POINTER: usize = 0;
const ROOT: usize = 1;
const OUTER: usize = 2;
const FIRST_LIST: usize = 3;

/// Returns the words of a message with these lists and its parts arranged by `choices`: any part in any
/// segment and order, with gaps of garbage between them, and any valid kind of pointer.
pub fn laid_out(lists: &[Vec<Tag>], shape: Shape, choices: &mut Choices) -> Vec<Vec<u64>> {
    let stride = shape.element.0 + shape.element.1;
    let part = |segment: usize, words: u64| SourcePart { segment, words, at: 0 };
    let mut parts = vec![
        part(0, 1),
        part(choices.below(shape.segments), shape.root.0 + shape.root.1),
        part(choices.below(shape.segments), lists.len() as u64),
    ];
    for list in lists {
        parts.push(part(choices.below(shape.segments), 1 + stride * list.len() as u64));
    }
    // Every part except the root pointer has one pointer to it, which is in another part.
    let mut ways = vec![Way::Near];
    for to in ROOT..FIRST_LIST + lists.len() {
        let from = holder(to);
        let is_near = parts[from].segment == parts[to].segment;
        let way = match choices.below(3) {
            0 if is_near => Way::Near,
            2 => {
                parts.push(part(choices.below(shape.segments), 2));
                Way::DoubleFar(parts.len() - 1)
            }
            _ => {
                parts.push(part(parts[to].segment, 1));
                Way::Far(parts.len() - 1)
            }
        };
        ways.push(way);
    }
    let mut segments = vec![Vec::new(); shape.segments];
    let mut order: Vec<usize> = (1..parts.len()).collect();
    segments[0].push(0);
    while !order.is_empty() {
        let part = &mut parts[order.remove(choices.below(order.len()))];
        let segment = &mut segments[part.segment];
        for _ in 0..[0, 0, 0, 1, 3][choices.below(5)] {
            segment.push(0xdead_beef_0000_0003);
        }
        part.at = segment.len() as u64;
        segment.resize(segment.len() + usize::try_from(part.words).unwrap(), 0);
    }
    for (list, part) in lists.iter().zip(&parts[FIRST_LIST..]) {
        let words = &mut segments[part.segment][usize::try_from(part.at).unwrap()..];
        words[0] = (list.len() as u64) << 2 | shape.element.0 << 32 | shape.element.1 << 48;
        for (element, tag) in words[1..].chunks_mut(usize::try_from(stride).unwrap()).zip(list) {
            element.fill(0x5555_5555_5555_5555);
            (element[0], element[1]) = (tag.time.cast_unsigned(), tag.channel);
        }
    }
    for to in ROOT..FIRST_LIST + lists.len() {
        let description = match to {
            ROOT => shape.root.0 << 32 | shape.root.1 << 48,
            OUTER => 1 | 6 << 32 | (lists.len() as u64) << 35,
            _ => 1 | 7 << 32 | (parts[to].words - 1) << 35,
        };
        let from = (parts[holder(to)].segment, place(&parts, to, shape));
        let target = (parts[to].segment, parts[to].at);
        let near = |at: u64| {
            let offset = target.1.wrapping_sub(at + 1);
            description | u64::from((offset << 2) as u32)
        };
        let far = |kind: u64, to: &SourcePart| kind | to.at << 3 | (to.segment as u64) << 32;
        let mut set = |(segment, at): (usize, u64), word| {
            segments[segment][usize::try_from(at).unwrap()] = word;
        };
        match &ways[to] {
            Way::Near => set(from, near(from.1)),
            Way::Far(pad) => {
                set(from, far(2, &parts[*pad]));
                set((parts[*pad].segment, parts[*pad].at), near(parts[*pad].at));
            }
            Way::DoubleFar(pad) => {
                set(from, far(6, &parts[*pad]));
                set((parts[*pad].segment, parts[*pad].at), far(2, &parts[to]));
                set((parts[*pad].segment, parts[*pad].at + 1), description);
            }
        }
    }
    segments
}

/// Damages one word of a message in a way that a reader can notice.
pub fn damage(word: &mut u64, kind: u32, value: u64) {
    match kind {
        0 => *word = value,
        1 => *word = 0,
        2 | 3 => *word ^= 1 << (value % 64),
        4 => *word ^= 1 << (32 + value % 16),
        5 => *word = word.wrapping_add(4),
        6 => *word = word.wrapping_sub(4),
        _ => *word = (value % 8) << 35 | (value >> 8 & 7) << 32 | (value >> 16 & 31),
    }
}

/// Returns the part that contains the pointer to part `to`.
fn holder(to: usize) -> usize {
    match to {
        ROOT => ROOT_POINTER,
        OUTER => ROOT,
        _ => OUTER,
    }
}

/// Returns the position in its segment of the pointer to part `to`.
fn place(parts: &[SourcePart], to: usize, shape: Shape) -> u64 {
    match to {
        ROOT => 0,
        OUTER => parts[ROOT].at + shape.root.0,
        _ => parts[OUTER].at + (to - FIRST_LIST) as u64,
    }
}

/// Returns the CRC-32C of `bytes` in hexadecimal, computed bit by bit.
pub(crate) fn crc32c(bytes: &[u8]) -> String {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    format!("{:08x}", !crc)
}

/// Whether records of a PTU file of this type are of mode T3.
pub fn is_t3(record_type: i64) -> bool {
    record_type & 0xff00 == 0x0300
}

/// Sync rate in Hz, and the resolution in attoseconds, of the T3 files made here.
pub const SYNC_RATE: i64 = 78_020_000;
/// See [`SYNC_RATE`].
pub const RESOLUTION_AS: i128 = 25_000_000;

/// Returns a header with what the decoder needs, and values that change when a measurement ends.
pub fn ptu_header(record_type: i64, stopped: Option<i64>) -> Vec<u8> {
    let mut bytes = b"PQTTTR\0\x001.0.00\0\0".to_vec();
    let mut add = |name: &str, kind: u32, value: [u8; 8], long: &[u8]| {
        let mut field = [0; 32];
        field[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend_from_slice(&field);
        bytes.extend_from_slice(&(-1_i32).to_le_bytes());
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&value);
        bytes.extend_from_slice(long);
    };
    let int = |value: i64| value.to_le_bytes();
    add("File_GUID", 0x4001_ffff, int(16), b"0123456789abcde\0");
    add(
        "File_Comment",
        0x4001_ffff,
        int(8),
        if stopped.is_some() { b"the end\0" } else { b"running\0" },
    );
    add("TTResultFormat_TTTRRecType", 0x1000_0008, int(record_type), b"");
    add("TTResultFormat_BitsPerRecord", 0x1000_0008, int(32), b"");
    let (global, resolution) =
        if is_t3(record_type) { (1.0 / 78_020_000.0, 2.5e-11) } else { (1e-12, 8e-12) };
    add("MeasDesc_GlobalResolution", 0x2000_0008, f64::to_le_bytes(global), b"");
    add("MeasDesc_Resolution", 0x2000_0008, f64::to_le_bytes(resolution), b"");
    add("TTResult_SyncRate", 0x1000_0008, int(SYNC_RATE), b"");
    add("TTResult_NumberOfRecords", 0x1000_0008, int(stopped.unwrap_or(0)), b"");
    add("Header_End", 0xffff_0008, int(0), b"");
    bytes
}
