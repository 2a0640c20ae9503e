//! `manifest.json`: the contents of a store as of its last commit.
//!
//! The file is small and readable, and replacing it is the only commit point. Its last key is the crc32c of all bytes
//! before that key, so a torn or edited manifest is refused. An unknown top-level key is refused too: a new one needs a
//! new version of the format.

mod check;
pub(crate) mod dead;
pub(crate) mod identity;
pub(crate) mod scan_facts;
pub(crate) mod source;

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use source::{ChannelRows, Source};

use crate::{
    Error, Folder, RunId, Tick,
    checked::Committed,
    files::{Checksum, FileKind, FileName, OnePer, PerFile, checksums},
    format,
};

/// The name of the manifest inside a store's folder.
pub const MANIFEST_NAME: &str = "manifest.json";
const FORMAT_NAME: &str = "tagq";
const CRC_KEY: &[u8] = b"  \"crc32c\": \"";
/// Bytes of a manifest at most: some hundred thousand sources.
const BYTES_MAX: u64 = 256 << 20;

/// The entry of the unfinished last block, which is in no index file yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastBlock {
    pub rows: u32,
    pub time_min: i64,
    pub time_max: i64,
    /// The crc32c of its times, and of its bytes in each other file with values of rows that the store has.
    #[serde(flatten, with = "checksums")]
    pub checksums: PerFile<Option<u32>>,
    pub counts: Vec<ChannelRows>,
}

/// The committed part of the file of dead spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeadFile {
    pub spans: u64,
    /// The crc32c of these spans.
    pub crc: u32,
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
    /// The unit of micro times; `None` if the store has none, or their unit is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_tick: Option<Tick>,
    /// Rows committed.
    pub rows: u64,
    /// First time in ticks, `None` in an empty run.
    pub time_first: Option<i64>,
    /// Last time in ticks.
    pub time_last: Option<i64>,
    /// Rows of each channel, ascending by label.
    pub channels: Vec<ChannelRows>,
    pub(crate) files: PerFile<Option<FileName>>,
    pub(crate) count_entries: u64,
    /// Far distances committed; absent without their column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) far_entries: Option<u64>,
    /// The spans committed in the file of dead spans; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dead: Option<DeadFile>,
    pub(crate) chain: u32,
    pub(crate) last_block: Option<LastBlock>,
    /// Where the rows came from, in the order of their rows.
    pub sources: Vec<Source>,
}

impl Manifest {
    /// The last commit of the store in `folder`; `None` when there is none. Opens no column.
    ///
    /// # Errors
    /// [`Error::NotPlain`] for what is no file, [`Error::Foreign`] for other formats and versions, [`Error::Damaged`]
    /// otherwise.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        Folder::open_if_there(folder)?.map_or(Ok(None), |folder| Self::read_in(&folder))
    }

    /// The last commit of the store in this very folder.
    pub(crate) fn read_in(folder: &Folder) -> Result<Option<Self>, Error> {
        let mut manifest = Self::read_alone(folder)?;
        loop {
            let Some(mut read) = manifest else { return Ok(None) };
            match read.read_dead(folder) {
                // A writer may have replaced the file.
                Err(Error::Io { source, path, action })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    manifest = Self::read_alone(folder)?;
                    if manifest.as_ref().is_some_and(|newer| newer.commit == read.commit) {
                        return Err(Error::Io { source, path, action });
                    }
                }
                done => return done.map(|()| Some(read)),
            }
        }
    }

    /// The same without the dead spans that are in a file of their own.
    pub(crate) fn read_alone(folder: &Folder) -> Result<Option<Self>, Error> {
        match folder.read(MANIFEST_NAME, BYTES_MAX) {
            Ok(bytes) => Self::decode(&bytes, &folder.path().join(MANIFEST_NAME)).map(Some),
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The files that the store has, in the order of their list.
    pub(crate) fn committed(&self) -> impl Iterator<Item = Committed<'_>> {
        self.files.present().map(|(kind, file)| {
            let values = match kind.layout().one_per {
                OnePer::Row => self.rows,
                OnePer::FullBlock => self.full_blocks(),
                OnePer::Count => self.count_entries,
                OnePer::FarRow => self.far_entries.unwrap_or(0),
                OnePer::Step => self.rows.div_ceil(format::STEP_ROWS as u64),
                OnePer::DeadSpan => self.dead.map_or(0, |dead| dead.spans),
            };
            Committed { file, kind, values }
        })
    }

    /// Whether the store has a file of this kind.
    pub(crate) fn has(&self, kind: FileKind) -> bool {
        self.files[kind].is_some()
    }

    /// The name of a file of this kind; empty if the store has none.
    pub(crate) fn name_of(&self, kind: FileKind) -> &str {
        self.files[kind].as_ref().map_or("", |file| &file.name)
    }

    /// The bytes of a value in the file of this kind; 0 if the store has none.
    pub(crate) fn width_of(&self, kind: FileKind) -> u16 {
        self.files[kind].as_ref().map_or(0, |file| file.width)
    }

    /// The version of the format in which the last of its files began.
    pub(crate) fn version_of_files(&self) -> u64 {
        self.files.present().map(|(kind, _)| u64::from(kind.layout().version)).max().unwrap_or(1)
    }

    /// Returns the first and the last time of the recordings of all sources in ticks; `None` without tags.
    pub fn span(&self) -> Option<(i64, i64)> {
        let spans = self.sources.iter().filter_map(Source::span);
        spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// The keys of the files that hold values of rows, in their order here.
    pub fn columns(&self) -> Vec<&'static str> {
        let has_rows = |of: OnePer| match of {
            OnePer::Row | OnePer::FarRow | OnePer::Step => true,
            OnePer::FullBlock | OnePer::Count | OnePer::DeadSpan => false,
        };
        let layouts = self.files.present().map(|(kind, _)| kind.layout());
        layouts.filter(|layout| has_rows(layout.one_per)).map(|layout| layout.key).collect()
    }

    /// The bytes that the next row will take, without the index, if it has micro times like the rows before it: far
    /// distances by their mean in all rows, none in a store without rows.
    pub fn row_bytes(&self) -> f64 {
        let bytes = |kind: FileKind| f64::from(self.width_of(kind));
        let far = self.far_entries.unwrap_or(0) as f64 / self.rows.max(1) as f64;
        let of_rows: f64 = FileKind::columns().map(bytes).sum();
        of_rows + far * bytes(FileKind::Far) + bytes(FileKind::Steps) / format::STEP_ROWS as f64
    }

    /// Whether the store has a column of micro times.
    pub fn has_micro(&self) -> bool {
        self.has(FileKind::Micro)
    }

    /// Whether the store has a column of gaps.
    pub fn has_gaps(&self) -> bool {
        self.has(FileKind::Gap)
    }

    /// Whether the store has a column of times. Without it, times are sums of gaps and far distances.
    pub fn has_times(&self) -> bool {
        self.has(FileKind::Time)
    }

    /// The kind of file from which the times of rows are read: their column, or that of gaps.
    pub(crate) fn kind_of_times(&self) -> FileKind {
        if self.has_times() { FileKind::Time } else { FileKind::Gap }
    }

    /// Whether the chain covers the values of a column: those of times are, also in a store without their column.
    pub(crate) fn is_chained(&self, kind: FileKind) -> bool {
        kind.at_in_entry().is_some() && (kind == FileKind::Time || self.has(kind))
    }

    /// Whether each block has a checksum of these values.
    pub(crate) fn is_checksummed(&self, kind: FileKind) -> bool {
        match kind.layout().checksum {
            Checksum::InEntry(_) => self.is_chained(kind),
            Checksum::InFile(..) => self.has(kind),
            Checksum::NotNeeded => false,
        }
    }

    /// Sets the version of the format that its files need.
    pub(crate) fn set_version(&mut self) {
        self.version = self.version_of_files();
    }

    /// The manifest of an empty store, before its first commit.
    pub(crate) fn new(run_id: RunId, tick: Tick, tick_assumed: bool) -> Self {
        Self {
            format: FORMAT_NAME.into(),
            version: 1,
            run_id,
            commit: 0,
            tick,
            tick_assumed,
            micro_tick: None,
            rows: 0,
            time_first: None,
            time_last: None,
            channels: Vec::new(),
            files: PerFile::from_fn(|kind| {
                let layout = kind.layout();
                let name = format!("{}.{}", layout.key, layout.extension);
                let is_there = !layout.is_optional || layout.kind == FileKind::Time;
                is_there.then(|| layout.entry(name, layout.values[0].1))
            }),
            count_entries: 0,
            far_entries: None,
            dead: None,
            chain: 0,
            last_block: None,
            sources: Vec::new(),
        }
    }

    /// Makes `tick` the tick of the run; `folder` is for the message.
    ///
    /// # Errors
    /// [`Error::TickGiven`] when a person set another one before, unless `overrule`.
    pub(crate) fn set_tick(
        &mut self,
        tick: Tick,
        overrule: bool,
        folder: &Path,
    ) -> Result<(), Error> {
        if !self.tick_assumed && !overrule && self.tick != tick {
            return Err(Error::TickGiven {
                path: folder.into(),
                set: self.tick.exact(),
                asked: tick.exact(),
                paste: tick.paste(),
            });
        }
        (self.tick, self.tick_assumed) = (tick, false);
        Ok(())
    }

    /// Rows in blocks that are full, and stand in the index.
    pub fn full_rows(&self) -> u64 {
        self.full_blocks() * format::BLOCK_ROWS as u64
    }

    /// Blocks that are full and stand in the index.
    pub fn full_blocks(&self) -> u64 {
        self.rows / format::BLOCK_ROWS as u64
    }

    /// Returns the manifest if its numbers do not contradict each other; `path` names where it comes from.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn checked(self, path: &Path) -> Result<Self, Error> {
        self.check(path)?;
        Ok(self)
    }

    /// The bytes of the file: top-level keys a line each, sources a line each.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let serde_json::Value::Object(fields) = serde_json::to_value(&*self.without_filed())?
        else {
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
        let crc = crate::checksum::crc32c(&text);
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
        let crc = crate::checksum::crc32c(body);
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
        Ok(start)
            if start.format == FORMAT_NAME
                && !(1..=u64::from(format::VERSION)).contains(&start.version) =>
        {
            Err(format::foreign_version(path, start.version))
        }
        // The checksum finds any other damage.
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

#[cfg(test)]
mod tests {
    use super::{source::SourceFacts, *};

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
            checksums: PerFile::from_fn(|kind| match kind {
                FileKind::Time => Some(1),
                FileKind::Channel => Some(u32::MAX),
                _ => None,
            }),
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

    /// The same rows with micro times in units of 4 ps.
    fn with_micro() -> Manifest {
        let mut manifest = example();
        manifest.version = 2;
        manifest.micro_tick = "4ps".parse().ok();
        let (name, kind) = ("micro.4.col".into(), "u16".into());
        manifest.files[FileKind::Micro] = Some(FileName { name, kind, width: 2 });
        manifest.last_block.as_mut().unwrap().checksums[FileKind::Micro] = Some(9);
        manifest
    }

    /// The same rows without a column of times.
    fn without_times() -> Manifest {
        let mut manifest = example();
        manifest.version = 3;
        manifest.far_entries = Some(2);
        manifest.files[FileKind::Time] = None;
        let files = [
            (FileKind::Gap, 2, "gap.4.col"),
            (FileKind::GapBlocks, 12, "gaps.4.idx"),
            (FileKind::Far, 4, "far.4.col"),
            (FileKind::Steps, 16, "steps.4.idx"),
        ];
        for (kind, width, name) in files {
            manifest.files[kind] = Some(kind.layout().entry(name.into(), width));
            if kind != FileKind::GapBlocks {
                manifest.last_block.as_mut().unwrap().checksums[kind] = Some(9);
            }
        }
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
        assert!(!String::from_utf8(bytes).unwrap().contains("micro"));
        let bytes = with_micro().encode().unwrap();
        assert_eq!(Manifest::decode(&bytes, Path::new("m")).unwrap(), with_micro());
        let parsed: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&parsed["version"], &parsed["micro_tick"]), (&2.into(), &"4000000/1".into()));
        assert_eq!(parsed.get("far_entries"), None);
        let bytes = without_times().encode().unwrap();
        assert_eq!(Manifest::decode(&bytes, Path::new("m")).unwrap(), without_times());
        let parsed: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&parsed["version"], &parsed["far_entries"]), (&3.into(), &2.into()));
        for key in ["crc_time", "crc_gap", "crc_far", "crc_steps"] {
            assert!(parsed["last_block"][key].is_u64(), "{key}");
        }
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
        let text = String::from_utf8(example().encode().unwrap()).unwrap();
        for version in [0, 5] {
            let other = text.replace("\"version\": 1", &format!("\"version\": {version}"));
            assert!(
                refused(&other).contains(&format!("version {version},")),
                "{}",
                refused(&other)
            );
        }
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        type Change = fn(&mut Manifest);
        let changes: [Change; 18] = [
            // A writer must not open, write or remove files of such names.
            |m| m.files[FileKind::Time].as_mut().unwrap().name = "lock".into(),
            |m| m.files[FileKind::Time].as_mut().unwrap().name = "time.col/../../time.col".into(),
            |m| m.files[FileKind::Counts].as_mut().unwrap().name = "precious.txt".into(),
            |m| m.files[FileKind::Blocks].as_mut().unwrap().name = "blocks..idx".into(),
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
            |m| m.files[FileKind::Channel].as_mut().unwrap().name = "../channel.col".into(),
            |m| m.last_block = None,
            // Rows that fill whole blocks leave no last one: not even an empty one.
            |m| {
                *m = Manifest::new(m.run_id, m.tick, true);
                let (time_min, time_max) = (0, 0);
                m.last_block = Some(LastBlock {
                    rows: 0,
                    time_min,
                    time_max,
                    checksums: example().last_block.unwrap().checksums,
                    counts: vec![],
                });
            },
        ];
        let micro_changes: [Change; 7] = [
            |m| m.version = 1,
            |m| m.files[FileKind::Micro] = None,
            |m| m.files[FileKind::Micro].as_mut().unwrap().name = "channel.col".into(),
            |m| m.files[FileKind::Micro].as_mut().unwrap().width = 1,
            |m| m.files[FileKind::Micro].as_mut().unwrap().width = 4,
            |m| m.last_block.as_mut().unwrap().checksums[FileKind::Micro] = None,
            |m| *m = Manifest { version: 2, ..example() },
        ];
        let distance_changes: [Change; 15] = [
            |m| m.version = 2,
            // Neither times nor distances, both, and some of the files of distances.
            |m| m.files[FileKind::Far] = None,
            |m| m.files[FileKind::Steps] = None,
            |m| m.files[FileKind::Gap] = None,
            |m| m.files[FileKind::GapBlocks] = None,
            |m| m.files[FileKind::Time] = example().files[FileKind::Time].clone(),
            |m| m.files = example().files,
            |m| {
                let entry = FileKind::GapBlocks.layout().entry("gaps.4.idx".into(), 4);
                m.files[FileKind::GapBlocks] = Some(entry);
            },
            |m| m.far_entries = None,
            |m| m.far_entries = Some(4),
            |m| m.last_block.as_mut().unwrap().checksums[FileKind::Time] = None,
            |m| m.last_block.as_mut().unwrap().checksums[FileKind::Gap] = None,
            |m| m.last_block.as_mut().unwrap().checksums[FileKind::Far] = None,
            |m| m.last_block.as_mut().unwrap().checksums[FileKind::Steps] = None,
            |m| *m = Manifest { far_entries: Some(0), ..example() },
        ];
        let plain = changes.into_iter().map(|change| (change, example()));
        let micro = micro_changes.into_iter().map(|change| (change, with_micro()));
        let distances = distance_changes.into_iter().map(|change| (change, without_times()));
        for (i, (change, mut manifest)) in plain.chain(micro).chain(distances).enumerate() {
            change(&mut manifest);
            let bytes = manifest.encode().unwrap();
            let error = Manifest::decode(&bytes, Path::new("m")).expect_err(&format!("change {i}"));
            assert!(error.is_damage(), "{error}");
        }
    }
}
