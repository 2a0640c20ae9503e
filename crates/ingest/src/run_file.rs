//! The run file that tagq writes beside a file of tags: what the file itself has no place for.
//!
//! It has the name that recorders give to theirs, `night.json` beside `night.tags.zst`, and one key, `tagq`. It counts
//! for the file that it was written for alone: one of another length is not described by it. That of a recording which
//! grows has no length.

use std::{
    collections::HashSet,
    hash::Hash,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tagq_store::{Recording, Tick, read_side_file};

use crate::formats::{format::Header, source_stem};

/// A run file is not longer: 65,536 spans without a record have less than 3 MiB.
const BYTES_MAX: u64 = 4 << 20;

/// The content of a run file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// Length of the file that it describes; `None` if the file grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The tick of its times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Tick>,
    /// The unit of its micro times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_tick: Option<Tick>,
    /// Names of channels, facts, and times without a record.
    pub recording: Recording,
}

#[derive(Serialize, Deserialize)]
struct Written<T> {
    tagq: T,
}

impl RunFile {
    /// Returns the path of the run file of the file at `path`; `None` if its name is that of no source.
    pub fn place(path: &Path) -> Option<PathBuf> {
        let stem = source_stem(path.file_name()?.as_encoded_bytes())?;
        Some(path.with_file_name(format!("{}.json", str::from_utf8(stem).ok()?)))
    }

    /// Reads the run file that describes the file of `bytes` bytes at `path`. Returns `None` if there is none.
    pub fn beside(path: &Path, bytes: u64) -> Option<Self> {
        let text = read_side_file(&Self::place(path)?, BYTES_MAX).ok()?;
        let Written { tagq: file } = serde_json::from_slice::<Written<Self>>(&text).ok()?;
        let recording = file.recording.clone().checked();
        file.bytes.is_none_or(|own| own == bytes).then_some(Self { recording, ..file })
    }

    /// Whether the file at `path` is such a run file, and not one of a recorder.
    pub fn is_at(path: &Path) -> bool {
        let text = read_side_file(path, BYTES_MAX).ok();
        text.is_some_and(|text| Self::is_text(&text))
    }

    /// Whether a run file has this content, and is not one of a recorder.
    pub fn is_text(text: &[u8]) -> bool {
        serde_json::from_slice::<Written<serde::de::IgnoredAny>>(text).is_ok()
    }

    /// Returns whether it has nothing but the length of the file.
    pub fn is_empty(&self) -> bool {
        let Self { bytes: _, tick, micro_tick, recording } = self;
        let format = recording.format.clone();
        let says_nothing = *recording == Recording { format, ..Recording::default() };
        tick.is_none() && micro_tick.is_none() && says_nothing
    }

    /// Returns its text, of at most 4 MiB; `None` if it would be longer.
    pub fn text(&self) -> Option<String> {
        let text = serde_json::to_string_pretty(&Written { tagq: self }).ok()? + "\n";
        (text.len() as u64 <= BYTES_MAX).then_some(text)
    }

    /// Adds what it knows to the header of its file.
    pub(crate) fn complete(self, header: Header) -> Header {
        let Self { tick, micro_tick, recording, .. } = self;
        let own = header.tick.filter(|_| !header.tick_assumed);
        Header {
            tick_assumed: own.or(tick).is_none() && header.tick_assumed,
            tick: own.or(tick).or(header.tick),
            micro_tick: header.micro_tick.or(micro_tick),
            has_facts: header.has_facts || !recording.facts.is_empty(),
            channel_names: joined(header.channel_names, recording.channel_names),
            ..header
        }
    }

    /// Adds what it knows to what its file says.
    pub(crate) fn completing(self, own: Recording) -> Recording {
        let Self { recording, .. } = self;
        Recording {
            channel_names: joined(own.channel_names, recording.channel_names),
            facts: joined(own.facts, recording.facts),
            left_out: joined(own.left_out, recording.left_out),
            dead: if own.dead.is_empty() { recording.dead } else { own.dead },
            ..own
        }
    }
}

/// Returns the entries of both, those of `first` where both have one.
fn joined<K: Clone + Eq + Hash, V>(first: Vec<(K, V)>, second: Vec<(K, V)>) -> Vec<(K, V)> {
    let mut known: HashSet<K> = first.iter().map(|(key, _)| key.clone()).collect();
    let mut all = first;
    all.extend(second.into_iter().filter(|(key, _)| known.insert(key.clone())));
    all
}
