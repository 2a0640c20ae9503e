//! The sources of a run, as its manifest lists them.
//!
//! A source from 100 to 900 ticks with the dead spans 50 to 200 and 150 to 300 is dead from 100 to 300, and its live
//! time is 800 − 200 = 600 ticks. Spans are stored as recorded; [`Source::dead`] moves, cuts and joins them.

use serde::{Deserialize, Serialize};

use crate::units::Tick;

/// One acquisition of the run: where its rows came from, and which rows they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Facts about its file.
    #[serde(flatten)]
    pub facts: SourceFacts,
    /// How many rows it gave. Its first row is where the source before it ended.
    pub rows: u64,
    /// Its first time in ticks, `None` when it gave no rows.
    pub time_first: Option<i64>,
    /// Its last time in ticks.
    pub time_last: Option<i64>,
    /// Its rows, channel by channel.
    pub channels: Vec<ChannelRows>,
}

impl Source {
    /// Returns the times within [`Source::span`] during which the instrument recorded nothing: in
    /// ticks of the store, in order, and apart from each other.
    pub fn dead(&self) -> Vec<(i64, i64)> {
        let (Some(recording), Some((first, last))) = (&self.facts.recording, self.span()) else {
            return Vec::new();
        };
        let moved = self.facts.rebased.unwrap_or(0);
        let open = recording.dead_since.map(|since| (since, i64::MAX));
        let spans = recording.dead.iter().copied().chain(open);
        let spans = spans.map(|(begins, ends)| {
            let begins = begins.saturating_add(moved).max(first);
            (begins, ends.saturating_add(moved).min(last))
        });
        let mut spans: Vec<(i64, i64)> = spans.filter(|(begins, ends)| begins < ends).collect();
        spans.sort_unstable();
        spans.dedup_by(|later, earlier| {
            let is_joined = later.0 <= earlier.1;
            if is_joined {
                earlier.1 = earlier.1.max(later.1);
            }
            is_joined
        });
        spans
    }

    /// Returns the first and the last time of its recording in ticks: those of its tags, if its facts say no others;
    /// `None` without tags.
    pub fn span(&self) -> Option<(i64, i64)> {
        let of_tags = self.time_first.zip(self.time_last);
        match (of_tags, self.facts.recorded) {
            (Some((first, last)), Some((begin, end))) => Some((first.min(begin), last.max(end))),
            (of_tags, recorded) => of_tags.or(recorded.filter(|(begin, end)| begin <= end)),
        }
    }

    /// Returns the time of [`Source::span`] without [`Source::dead`], in ticks; `None` without tags.
    pub fn live_ticks(&self) -> Option<i128> {
        let of = |(begins, ends): (i64, i64)| i128::from(ends) - i128::from(begins);
        let dead: i128 = self.dead().into_iter().map(of).sum();
        Some(of(self.span()?) - dead)
    }
}

/// Facts about a source's file, to recognise it later.
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
    /// Tags read of it. Those that come later belong after its rows.
    pub read_tags: u64,
    /// The place at which reading continues.
    pub resume: ResumePoint,
    /// Whether all tags read are rows of the store; else the newest are still to come.
    pub finished: bool,
    /// Ticks added to all its times, when its counter had started again from zero.
    pub rebased: Option<i64>,
    /// Whether the end of a torn file was taken as far as it goes. Nothing follows it.
    pub salvaged: bool,
    /// Tags that had to be put in order.
    pub reordered: u64,
    /// Whether every part of the file carried a checksum of its own.
    pub checksummed: bool,
    /// The part left out at its end, when its last frame is torn.
    pub torn: Option<String>,
    /// The columns of a text or a table: `channel,time`, `time,channel`, or names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// The measurement, for files of instruments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
    /// The first and the last time of the recording in ticks of the store, where its tags do not say so: some of the
    /// tags of another store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<(i64, i64)>,
}

/// A byte of a source's file at which reading can begin again: a message begins there, and a frame if
/// the file has frames, and no tag after it belongs before one that stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResumePoint {
    /// The byte.
    pub byte: u64,
    /// Tags before it. The source has at least as many rows; those beyond come again when reading
    /// begins here, and are skipped.
    pub rows: u64,
    /// The latest time before it in ticks as recorded, `None` when there is no tag.
    pub time: Option<i64>,
    /// Tags before it that had to be put in order.
    pub reordered: u64,
    /// Sum of the overflows of the counter before it, in the unit of the counter; 0 for formats without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overflow: i64,
}

/// The header of an instrument's file, and counts of what was found among its records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recording {
    /// The name of the format.
    pub format: String,
    /// Names of channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channel_names: Vec<(u16, String)>,
    /// The sync pulses, if every one of them is known without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulses: Option<SyncPulses>,
    /// Facts about the measurement for readers: what, and its value as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
    /// Records that are no tags and were left out: what, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, u64)>,
    /// Times during which the instrument recorded nothing: first and last time in ticks as recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<(i64, i64)>,
    /// How many of the first of these are in the file of dead spans: while the manifest is read and written, else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dead_in_file: u64,
    /// A time since which nothing was recorded, up to the end of what was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_since: Option<i64>,
    /// Tags that are odd: what, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<(String, u64)>,
    /// The extent of the recording by the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<Stated>,
}

/// The extent of a recording by the header of its file, and as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stated {
    /// Records; 0 if the instrument did not finish the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Records that the file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_found: Option<u64>,
    /// How long the instrument measured, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Most dead spans of a source. Beyond it, [`Recording::add_dead`] joins those that are near each other.
const DEAD_MAX: usize = 1 << 16;

impl Recording {
    /// Takes spans during which nothing was recorded, in any order, in place of those there were. Those that overlap
    /// are joined.
    pub fn set_dead(&mut self, spans: impl IntoIterator<Item = (i64, i64)>) {
        let mut all: Vec<(i64, i64)> = spans.into_iter().collect();
        all.sort_unstable();
        all.dedup_by(|later, earlier| {
            let is_joined = later.0 <= earlier.1;
            if is_joined {
                earlier.1 = earlier.1.max(later.1);
            }
            is_joined
        });
        self.dead.clear();
        for span in all {
            self.add_dead(span);
        }
    }

    /// Adds a span during which nothing was recorded. If there are too many, those that follow each other most closely
    /// are joined, until at most half of them are left.
    pub fn add_dead(&mut self, span: (i64, i64)) {
        self.dead.push(span);
        if self.dead.len() <= DEAD_MAX {
            return;
        }
        let gap =
            |earlier: (i64, i64), later: (i64, i64)| i128::from(later.0) - i128::from(earlier.1);
        let mut gaps: Vec<i128> = self.dead.windows(2).map(|pair| gap(pair[0], pair[1])).collect();
        gaps.sort_unstable();
        let near = gaps[DEAD_MAX / 2];
        self.dead.dedup_by(|later, earlier| {
            let is_near = gap(*earlier, *later) <= near;
            if is_near {
                *earlier = (earlier.0.min(later.0), earlier.1.max(later.1));
            }
            is_near
        });
    }

    /// Returns it with impossible spans left out: for one that anybody may have written.
    #[must_use]
    pub fn checked(mut self) -> Self {
        let mut dead = std::mem::take(&mut self.dead);
        dead.retain(|(first, last)| first < last);
        dead.sort_unstable();
        for span in dead {
            self.add_dead(span);
        }
        Self { dead_since: None, ..self }
    }
}

/// Sync pulses that are not tags: pulse n is at n periods after the time 0 of the recording, rounded down to a
/// tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncPulses {
    /// The label that tags of these pulses would have.
    pub channel: u16,
    /// Time from one pulse to the next one.
    pub period: Tick,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
            recording: None,
            recorded: None,
        }
    }
}

/// Rows of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u16, u64)", into = "(u16, u64)")]
pub struct ChannelRows {
    /// The label.
    pub channel: u16,
    /// How many rows carry it.
    pub rows: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_time_is_within_the_source_and_moved_with_it() {
        let source = |dead: &[(i64, i64)], dead_since, rebased| {
            let recording = Recording { dead: dead.to_vec(), dead_since, ..Recording::default() };
            let facts =
                SourceFacts { recording: Some(recording), rebased, ..SourceFacts::named("a") };
            let (time_first, time_last) = (Some(100), Some(1_000));
            Source { facts, rows: 2, time_first, time_last, channels: Vec::new() }
        };
        let of = source(&[(500, 600), (0, 150), (550, 700), (900, 2_000), (50, 60)], None, None);
        assert_eq!(of.dead(), [(100, 150), (500, 700), (900, 1_000)]);
        assert_eq!(of.live_ticks(), Some(900 - 50 - 200 - 100));
        let moved = source(&[(0, 150)], Some(700), Some(200));
        assert_eq!(moved.dead(), [(200, 350), (900, 1_000)]);
        let all = source(&[(i64::MIN, i64::MAX)], None, Some(i64::MAX));
        assert_eq!((all.dead(), all.live_ticks()), (vec![(100, 1_000)], Some(0)));
    }
}
