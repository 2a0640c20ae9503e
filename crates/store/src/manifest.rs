//! `manifest.json`: what a store holds as of its last commit.
//!
//! The file is small and readable, and replacing it is the only commit point. Its last key is the
//! crc32c of all bytes before that key, so a torn or edited manifest is refused.

mod check;

use std::{fmt, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Folder, Tick,
    checked::Committed,
    format::{self, FileKind},
};

/// The name of the manifest inside a store's folder.
pub const MANIFEST_NAME: &str = "manifest.json";
const FORMAT_NAME: &str = "tagq";
const CRC_KEY: &[u8] = b"  \"crc32c\": \"";
/// Bytes of a manifest at most: some hundred thousand sources.
const BYTES_MAX: u64 = 256 << 20;

/// 128 random bits, drawn when a store is made: they tie its files together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunId(pub [u8; 16]);

/// Rows of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u16, u64)", into = "(u16, u64)")]
pub struct ChannelRows {
    /// The label.
    pub channel: u16,
    /// How many rows carry it.
    pub rows: u64,
}

/// The name, kind and width of a file of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileName {
    pub name: String,
    pub kind: String,
    pub width: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileNames {
    pub time: FileName,
    pub channel: FileName,
    pub blocks: FileName,
    pub counts: FileName,
}

/// The entry of the unfinished last block, which is in no index file yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LastBlock {
    pub rows: u32,
    pub time_min: i64,
    pub time_max: i64,
    pub crc_time: u32,
    pub crc_channel: u32,
    pub counts: Vec<ChannelRows>,
}

/// One acquisition of the run: where its rows came from, and which rows they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What is known of its file.
    #[serde(flatten)]
    pub facts: SourceFacts,
    /// How many rows it gave. Its first row is where the source before it ended.
    pub rows: u64,
    /// Its first time in ticks; nothing when it gave no rows.
    pub time_first: Option<i64>,
    /// Its last time in ticks.
    pub time_last: Option<i64>,
    /// Its rows, channel by channel.
    pub channels: Vec<ChannelRows>,
}

/// What is remembered of a source's file, to know it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFacts {
    /// Its file name when it lies in the run's folder, else its path.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Inode number.
    pub inode: u64,
    /// xxh3 (64 bits, hexadecimal) of the first 64 KiB before `read_byte`.
    pub head_xxh3: String,
    /// xxh3 of the last 64 KiB before `read_byte`.
    pub tail_xxh3: String,
    /// xxh3 of the whole file: of older stores, when it was taken in one go.
    pub whole_xxh3: Option<String>,
    /// All bytes before it were read.
    pub read_byte: u64,
    /// crc32c (hexadecimal) of the bytes before `read_byte` as they were read; absent in older stores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_crc32c: Option<String>,
    /// Tags read of it. Those that come later belong behind its rows.
    pub read_tags: u64,
    /// Where reading goes on.
    pub resume: ResumePoint,
    /// Whether all tags read are rows of the store; else the newest are still to come.
    pub finished: bool,
    /// Ticks added to all its times, when its counter had started anew.
    pub rebased: Option<i64>,
    /// Whether the end of a torn file was taken as far as it goes. Nothing follows it.
    pub salvaged: bool,
    /// Tags that had to be put in order.
    pub reordered: u64,
    /// Whether every part of the file carried a checksum of its own.
    pub checksummed: bool,
    /// What was left out at its end, when its last frame is torn.
    pub torn: Option<String>,
    /// The order of the columns of a text: `channel,time` or `time,channel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
}

/// A byte of a source's file at which reading can begin anew: a message begins there, and a frame if
/// the file has frames, and no tag behind it belongs before one that stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResumePoint {
    /// The byte.
    pub byte: u64,
    /// Tags before it. The source has at least as many rows; those beyond come again when reading
    /// begins here, and are passed over.
    pub rows: u64,
    /// The latest time before it in ticks as recorded; nothing when there is no tag.
    pub time: Option<i64>,
    /// Tags before it that had to be put in order.
    pub reordered: u64,
}

impl SourceFacts {
    /// A source of which nothing but the name is known.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            size: 0,
            mtime_ns: 0,
            inode: 0,
            head_xxh3: String::new(),
            tail_xxh3: String::new(),
            whole_xxh3: None,
            read_byte: 0,
            read_crc32c: None,
            read_tags: 0,
            resume: ResumePoint::default(),
            finished: false,
            rebased: None,
            salvaged: false,
            reordered: 0,
            checksummed: false,
            torn: None,
            columns: None,
        }
    }
}

/// A store as of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u64,
    /// Drawn when the store was made.
    pub run_id: RunId,
    /// One more with every commit; the first is 1.
    pub commit: u64,
    /// The unit of all times.
    pub tick: Tick,
    /// Whether the tick is the default, never confirmed by a person.
    pub tick_assumed: bool,
    /// Rows committed.
    pub rows: u64,
    /// First time in ticks; nothing in an empty run.
    pub time_first: Option<i64>,
    /// Last time in ticks.
    pub time_last: Option<i64>,
    /// Rows of each channel, ascending by label.
    pub channels: Vec<ChannelRows>,
    pub(crate) files: FileNames,
    pub(crate) count_entries: u64,
    pub(crate) chain: u32,
    pub(crate) last_block: Option<LastBlock>,
    /// Where the rows came from, in the order of their rows.
    pub sources: Vec<Source>,
}

impl Manifest {
    /// The last commit of the store in `folder`; nothing when there is none. Opens no column.
    ///
    /// # Errors
    /// [`Error::NotPlain`] for what is no file, [`Error::Foreign`] for other formats and versions, [`Error::Damaged`] otherwise.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        Folder::open_if_there(folder)?.map_or(Ok(None), |folder| Self::read_in(&folder))
    }

    /// The last commit of the store in this very folder.
    pub(crate) fn read_in(folder: &Folder) -> Result<Option<Self>, Error> {
        match folder.read(MANIFEST_NAME, BYTES_MAX) {
            Ok(bytes) => Self::decode(&bytes, &folder.path().join(MANIFEST_NAME)).map(Some),
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The files of the store, in the order of [`STEMS`](crate::names::STEMS).
    pub(crate) fn committed(&self) -> [Committed<'_>; 4] {
        let files = &self.files;
        let of = |file, kind, values| Committed { file, kind, values };
        [
            of(&files.time, FileKind::Time, self.rows),
            of(&files.channel, FileKind::Channel, self.rows),
            of(&files.blocks, FileKind::Blocks, self.full_blocks()),
            of(&files.counts, FileKind::Counts, self.count_entries),
        ]
    }

    /// The manifest of an empty store, before its first commit.
    pub(crate) fn new(run_id: RunId, tick: Tick, tick_assumed: bool) -> Self {
        let file = |name: &str, kind: &str, width| FileName {
            name: name.into(),
            kind: kind.into(),
            width,
        };
        Self {
            format: FORMAT_NAME.into(),
            version: format::VERSION.into(),
            run_id,
            commit: 0,
            tick,
            tick_assumed,
            rows: 0,
            time_first: None,
            time_last: None,
            channels: Vec::new(),
            files: FileNames {
                time: file("time.col", "i64", 8),
                channel: file("channel.col", "u8", 1),
                blocks: file("blocks.idx", "block", 64),
                counts: file("counts.idx", "count", 6),
            },
            count_entries: 0,
            chain: 0,
            last_block: None,
            sources: Vec::new(),
        }
    }

    /// Rows in blocks that are full, and stand in the index.
    pub fn full_rows(&self) -> u64 {
        self.full_blocks() * format::BLOCK_ROWS as u64
    }

    /// Blocks that are full and stand in the index.
    pub fn full_blocks(&self) -> u64 {
        self.rows / format::BLOCK_ROWS as u64
    }

    /// The bytes of the file: top-level keys a line each, sources a line each.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let serde_json::Value::Object(fields) = serde_json::to_value(self)? else {
            unreachable!("a struct serialises as an object");
        };
        let mut text = Vec::from(*b"{\n");
        for (key, value) in &fields {
            text.extend_from_slice(format!("  \"{key}\": ").as_bytes());
            match (key.as_str(), value) {
                ("sources", serde_json::Value::Array(sources)) if !sources.is_empty() => {
                    let lines: Vec<String> = sources.iter().map(|s| format!("    {s}")).collect();
                    text.extend_from_slice(format!("[\n{}\n  ]", lines.join(",\n")).as_bytes());
                }
                _ => text.extend_from_slice(value.to_string().as_bytes()),
            }
            text.extend_from_slice(b",\n");
        }
        let crc = crc32c::crc32c(&text);
        text.extend_from_slice(CRC_KEY);
        text.extend_from_slice(format!("{crc:08x}\"\n}}\n").as_bytes());
        Ok(text)
    }

    /// Reads and checks the bytes of the file at `path`.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        let damaged = |what: &str, expected: String, found: String| Error::Damaged {
            path: path.into(),
            what: what.into(),
            expected,
            found,
        };
        check_format(bytes, path)?;
        let tail_bytes = CRC_KEY.len() + 8 + b"\"\n}\n".len();
        let (body, tail) = bytes.split_at(bytes.len().saturating_sub(tail_bytes));
        let crc = crc32c::crc32c(body);
        let expected = [CRC_KEY, format!("{crc:08x}\"\n}}\n").as_bytes()].concat();
        if tail != expected {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            return Err(damaged("its last lines", show(&expected), show(tail)));
        }
        let text = [body.strip_suffix(b",\n").unwrap_or(body), b"}"].concat();
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|e| damaged("its text", "a manifest".into(), e.to_string()))?;
        manifest.check(path)?;
        Ok(manifest)
    }
}

/// Whether these bytes are a manifest of a version that this library reads.
fn check_format(bytes: &[u8], path: &Path) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Start {
        format: String,
        version: u64,
    }
    if !starts_as_manifest(bytes) {
        return Err(Error::Foreign {
            path: path.into(),
            reason: "no manifest of tagq (its first key is not \"format\": \"tagq\")".into(),
        });
    }
    match serde_json::from_slice::<Start>(bytes) {
        Ok(start) if start.format == FORMAT_NAME && start.version != u64::from(format::VERSION) => {
            Err(format::foreign_version(path, start.version))
        }
        // Whatever else is wrong with the text is for the checksum to say.
        _ => Ok(()),
    }
}

/// Whether a file that begins like this is a manifest: its first key is `"format": "tagq"`.
pub(crate) fn starts_as_manifest(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    for token in [&b"{"[..], b"\"format\"", b":", b"\"tagq\""] {
        rest = rest.trim_ascii_start();
        match rest.strip_prefix(token) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

impl From<(u16, u64)> for ChannelRows {
    fn from((channel, rows): (u16, u64)) -> Self {
        Self { channel, rows }
    }
}

impl From<ChannelRows> for (u16, u64) {
    fn from(rows: ChannelRows) -> Self {
        (rows.channel, rows.rows)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let malformed = || serde::de::Error::custom("a run id has 32 hexadecimal digits");
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(malformed());
        }
        u128::from_str_radix(&text, 16).map(|id| Self(id.to_be_bytes())).map_err(|_| malformed())
    }
}

impl Serialize for Tick {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.fraction())
    }
}

impl<'de> Deserialize<'de> for Tick {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_fraction(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        let rows = |channel, rows| ChannelRows { channel, rows };
        let mut manifest = Manifest::new(RunId([0xab; 16]), Tick::DEFAULT, true);
        manifest.commit = 4;
        manifest.rows = 3;
        manifest.time_first = Some(i64::MIN + 1);
        manifest.time_last = Some(-1);
        manifest.channels = vec![rows(3, 2), rows(15, 1)];
        manifest.last_block = Some(LastBlock {
            rows: 3,
            time_min: i64::MIN + 1,
            time_max: -1,
            crc_time: 1,
            crc_channel: u32::MAX,
            counts: vec![rows(3, 2), rows(15, 1)],
        });
        manifest.sources = vec![Source {
            facts: SourceFacts::named("a \"quoted\"\nname"),
            rows: 3,
            time_first: Some(i64::MIN + 1),
            time_last: Some(-1),
            channels: vec![rows(3, 2), rows(15, 1)],
        }];
        manifest
    }

    #[test]
    fn a_manifest_comes_back() {
        let bytes = example().encode().unwrap();
        assert_eq!(Manifest::decode(&bytes, Path::new("m")).unwrap(), example());
        assert!(bytes.starts_with(b"{\n  \"format\": \"tagq\",\n"));
        let parsed: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(parsed["tick"], "156250000/1");
        assert_eq!(parsed.as_object().unwrap().keys().next_back().unwrap(), "crc32c");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_refused() {
        let bytes = example().encode().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&flipped, Path::new("m")).is_err(), "bit {bit}");
        }
        for end in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..end], Path::new("m")).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn other_formats_and_versions_are_named() {
        let refused =
            |text: &str| Manifest::decode(text.as_bytes(), Path::new("m")).unwrap_err().to_string();
        assert!(refused("{\"name\": \"web app\"}").contains("no manifest of tagq"));
        let newer = String::from_utf8(example().encode().unwrap()).unwrap();
        let newer = newer.replace("\"version\": 1", "\"version\": 2");
        assert!(refused(&newer).contains("version 2"), "{}", refused(&newer));
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        type Change = fn(&mut Manifest);
        let changes: [Change; 18] = [
            // What a writer would open, write or remove by such names is none of its business.
            |m| m.files.time.name = "lock".into(),
            |m| m.files.time.name = "time.col/../../time.col".into(),
            |m| m.files.counts.name = "precious.txt".into(),
            |m| m.files.blocks.name = "blocks..idx".into(),
            // Numbers that the next commit, or the length of a file, would carry over 64 bits.
            |m| m.commit = u64::MAX,
            |m| m.count_entries = u64::MAX / 6 + 1,
            |m| m.sources[0].facts.resume.rows = 4,
            |m| m.sources[0].facts.rebased = Some(i64::MAX),
            |m| m.last_block.as_mut().unwrap().counts[0].rows = 4,
            |m| m.rows = 4,
            |m| m.channels[0].rows = 1,
            |m| m.sources[0].rows = 2,
            |m| m.sources[0].channels[0].rows = u64::MAX,
            |m| m.time_last = Some(5),
            |m| m.time_first = None,
            |m| m.files.channel.name = "../channel.col".into(),
            |m| m.last_block = None,
            // Rows that fill whole blocks leave no last one: not even an empty one.
            |m| {
                *m = Manifest::new(m.run_id, m.tick, true);
                let (crc_time, crc_channel) = (1, 1);
                let (time_min, time_max) = (0, 0);
                m.last_block = Some(LastBlock {
                    rows: 0,
                    time_min,
                    time_max,
                    crc_time,
                    crc_channel,
                    counts: vec![],
                });
            },
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut manifest = example();
            change(&mut manifest);
            let bytes = manifest.encode().unwrap();
            let error = Manifest::decode(&bytes, Path::new("m")).expect_err(&format!("change {i}"));
            assert!(error.is_damage(), "{error}");
        }
    }
}
