//! The recording that a query counts over: the tags of each source, and the summaries known without reading
//! them.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::{
    error::Error,
    run::{
        counts::Counts,
        damage::Damage,
        live::LiveTime,
        progress::{Pass, ScanProgress},
        pulses::Pulses,
        time_range::TimeRange,
    },
};
use tagq_store::{Block, ChannelRows, Channels, MicroColumn, Store, Tags};

/// The tags of a run, source by source. No coincidence spans two sources.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// In order of time.
    pub sources: Vec<Source<'a>>,
    /// Can cancel queries; receives their progress if `is_reported`.
    pub(super) progress: Option<&'a ScanProgress>,
    is_reported: bool,
    /// The one source of the run that this is of; `None` for all.
    pub(crate) of: Option<u32>,
    /// How it answers if it is counted in parts.
    parts: Option<&'a dyn AnswersInParts>,
}

/// One source: a range of tags in order of time.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The tags of the source.
    pub tags: Tags<'a>,
    /// The micro times of the tags, row by row; `None` if the store has none.
    pub micro: Option<MicroColumn<'a>>,
    /// The gaps of the tags, row by row (docs/format.md, section "Gaps"); `None` if the store has none.
    pub(crate) gaps: Option<&'a [u16]>,
    /// The number of tags of each channel, ascending by label.
    pub singles: Vec<ChannelRows>,
    /// First and last time.
    span: Option<(i64, i64)>,
    /// The sync pulses, if they are known and none is a tag.
    pub(crate) pulses: Option<Pulses>,
    /// The time in which it recorded.
    live: LiveTime,
    /// The index of the run, and the row of the run that is the first of this source.
    index: Option<(Arc<Index<'a>>, u64)>,
    /// What scans found damaged.
    pub(super) damage: Arc<Damage>,
    /// How it answers if the recording is counted in parts, and its number in the run.
    parts: Option<(&'a dyn AnswersInParts, u32)>,
    /// The number of its tags, which may be none of `tags`.
    rows: usize,
    /// Its rows before `tags`, if only some were opened: then singles and span are those of all.
    skipped: Option<usize>,
}

/// How a recording answers that is counted in parts (`crate::parts`).
pub(crate) trait AnswersInParts: std::fmt::Debug + Send + Sync {
    /// Answers with the counts that `key` identifies in a range of delayed time; `count` counts them in a recording
    /// that is not in parts.
    fn count(
        &self,
        recording: &Recording<'_>,
        asked: (String, TimeRange),
        count: &CountIn<'_>,
    ) -> Result<Counts, Error>;

    /// Answers with the first row of a source at or after an undelayed time, which lies in its span; `find` finds
    /// it. `of` is the number of the source.
    fn row_at(&self, of: u32, source: &Source<'_>, time: i64, find: &dyn Fn() -> usize) -> usize;

    /// Adds the tags of channels between two rows, unless they are to be counted: then returns `false`.
    fn add_rows(
        &self,
        of: u32,
        source: &Source<'_>,
        channels: &[u16],
        rows: [usize; 2],
        counts: &mut [u64],
    ) -> bool;
}

/// Counts in a range of a recording.
pub(crate) type CountIn<'a> = dyn Fn(&Recording<'_>, TimeRange) -> Result<Counts, Error> + 'a;

/// The summaries of blocks of rows, available without reading the rows.
#[derive(Debug)]
struct Index<'a> {
    store: Option<&'a Store>,
    /// Loaded on first use, because most queries do not need it.
    blocks: OnceLock<Vec<Block>>,
}

impl<'a> Recording<'a> {
    /// Creates a recording of these sources, which must be in order of time.
    pub fn new(sources: Vec<Source<'a>>) -> Self {
        Self { sources, progress: None, is_reported: true, of: None, parts: None }
    }

    /// Returns all sources of a store. Reads no column.
    pub fn of(store: &'a Store) -> Self {
        let tags = store.tags();
        let index =
            Arc::new(Index { store: store.has_rows().then_some(store), blocks: OnceLock::new() });
        let tick = store.manifest().tick;
        let sources = store
            .sources()
            .map(|(source, of_run)| {
                let Opened { first, rows, skipped, len } = Opened::of(store, of_run);
                let span = source.time_first.zip(source.time_last);
                Source {
                    index: Some((Arc::clone(&index), first)),
                    tags: tags.rows(rows.clone()),
                    rows: len,
                    skipped,
                    parts: None,
                    micro: store.micro().map(|micro| micro.rows(rows.clone())),
                    gaps: store.gaps().map(|gaps| &gaps[rows]),
                    singles: source.channels.clone(),
                    span,
                    pulses: Pulses::of(source, tick),
                    live: LiveTime::new(span, &source.dead()),
                    damage: Arc::new(Damage::none()),
                }
            })
            .collect();
        Self::new(sources)
    }

    /// Returns all sources of a store as one, for files that follow each other without a gap. Reads no
    /// column.
    pub fn joined(store: &'a Store) -> Self {
        let manifest = store.manifest();
        let index =
            Arc::new(Index { store: store.has_rows().then_some(store), blocks: OnceLock::new() });
        let all = 0..usize::try_from(manifest.rows).unwrap_or(usize::MAX);
        let Opened { first, skipped, len, .. } = Opened::of(store, all);
        let span = manifest.time_first.zip(manifest.time_last);
        let mut dead: Vec<(i64, i64)> =
            manifest.sources.iter().flat_map(tagq_store::Source::dead).collect();
        dead.sort_unstable();
        let source = Source {
            index: Some((index, first)),
            tags: store.tags(),
            rows: len,
            skipped,
            parts: None,
            micro: store.micro(),
            // They separate the sources.
            gaps: None,
            singles: manifest.channels.clone(),
            span,
            pulses: None,
            live: LiveTime::new(span, &dead),
            damage: Arc::new(Damage::none()),
        };
        Self::new(vec![source])
    }

    /// Creates a recording of one source from tags in memory. Counts the singles.
    ///
    /// # Panics
    /// Panics if the tags are not in order of time, or if the columns differ in length.
    pub fn from_tags(tags: Tags<'a>) -> Self {
        assert!(tags.time.is_sorted(), "tags in order of time");
        let mut singles: Vec<ChannelRows> = Vec::new();
        let mut rows = vec![0_u64; 1 << 16];
        match tags.channels {
            Channels::U8(labels) => {
                assert_eq!(labels.len(), tags.len(), "a label for each time");
                for &label in labels {
                    rows[usize::from(label)] += 1;
                }
            }
            Channels::U16(labels) => {
                assert_eq!(labels.len(), tags.len(), "a label for each time");
                for &label in labels {
                    rows[usize::from(label)] += 1;
                }
            }
        }
        singles.extend(
            (0..=u16::MAX)
                .zip(rows)
                .filter_map(|(channel, rows)| (rows > 0).then_some(ChannelRows { channel, rows })),
        );
        let span = tags.time.first().copied().zip(tags.time.last().copied());
        Self::new(vec![Source {
            tags,
            rows: tags.len(),
            skipped: None,
            parts: None,
            micro: None,
            gaps: None,
            singles,
            span,
            pulses: None,
            live: LiveTime::new(span, &[]),
            index: None,
            damage: Arc::new(Damage::none()),
        }])
    }

    /// Returns a recording of one of its sources.
    #[must_use]
    pub fn of_source(&self, source: usize) -> Self {
        let of = u32::try_from(source).ok();
        Self { sources: vec![self.sources[source].clone()], of, ..*self }
    }

    /// Returns a recording of some of its sources.
    pub(crate) fn of_sources(&self, is_kept: impl Fn(&Source<'_>) -> bool) -> Self {
        let sources = self.sources.iter().filter(|source| is_kept(source)).cloned().collect();
        Self { sources, ..*self }
    }

    /// Returns the channels that have tags, ascending.
    pub fn channels(&self) -> Vec<u16> {
        let mut channels: Vec<u16> =
            self.sources.iter().flat_map(|source| &source.singles).map(|c| c.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Returns the number of tags.
    pub fn rows(&self) -> usize {
        self.sources.iter().map(|source| source.tags.len()).sum()
    }
}

/// The rows of a source that were opened.
struct Opened {
    /// The first of them, numbered in the run.
    first: u64,
    /// These rows, numbered in the tags of the store.
    rows: Range<usize>,
    /// See [`Source`].
    skipped: Option<usize>,
    /// The number of rows that the source seems to have.
    len: usize,
}

impl Opened {
    fn of(store: &Store, of_run: Range<usize>) -> Self {
        if !store.has_rows() {
            return Self {
                first: of_run.start as u64,
                rows: 0..0,
                skipped: None,
                len: of_run.len(),
            };
        }
        let opened = store.opened();
        let first = of_run.start.max(opened.start).min(of_run.end);
        let end = of_run.end.min(opened.end).max(first);
        let skipped = ((first, end) != (of_run.start, of_run.end)).then_some(first - of_run.start);
        let rows = if first < end { first - opened.start..end - opened.start } else { 0..0 };
        Self { first: first as u64, rows, skipped, len: end - first }
    }
}

impl Source<'_> {
    /// Returns the same source, not counted in parts.
    pub(crate) fn without_parts(&self) -> Self {
        Self { parts: None, ..self.clone() }
    }

    /// Returns how many of its rows, before the first one of `tags`, were not opened.
    pub(crate) fn skipped(&self) -> usize {
        self.skipped.unwrap_or(0)
    }

    /// Whether its tags are all of the source.
    pub(crate) fn is_whole(&self) -> bool {
        self.skipped.is_none()
    }

    /// Returns the number of its tags.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns how it answers if the recording is counted in parts, and its number in the run.
    pub(crate) fn in_parts(&self) -> Option<(&dyn AnswersInParts, u32)> {
        self.parts
    }

    /// Returns the first and the last time in ticks; `None` if the source has no tags.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// Returns the time in which it recorded.
    pub fn live(&self) -> &LiveTime {
        &self.live
    }

    /// Returns the same source, which recorded nothing in these spans: they are in order and apart from each other.
    #[must_use]
    pub fn with_dead(self, dead: &[(i64, i64)]) -> Self {
        Self { live: LiveTime::new(self.span, dead), ..self }
    }

    /// Attaches the index of `blocks`, which need not begin or end where this source does. `row` is the first
    /// row of this source, in the numbering of the blocks.
    #[must_use]
    pub fn with_blocks(self, blocks: Vec<Block>, row: u64) -> Self {
        let index = Index { store: None, blocks: blocks.into() };
        Self { index: Some((Arc::new(index), row)), ..self }
    }

    /// Returns the row of the run that is the first of `tags`.
    pub(super) fn first_row(&self) -> u64 {
        self.index.as_ref().map_or(0, |(_, first)| *first)
    }

    /// Returns the store that has the gaps, and the first row of `tags` among the rows that it opened.
    pub(super) fn gap_rows(&self) -> Option<(&Store, usize)> {
        let store = self.index.as_ref()?.0.store?;
        self.gaps?;
        let first = usize::try_from(self.first_row()).ok()?.checked_sub(store.opened().start)?;
        Some((store, first))
    }

    /// Returns the blocks of the run in order of rows, and the row that is the first of this source. A
    /// damaged index is ignored; counts then come from the rows alone.
    pub(crate) fn blocks(&self) -> (&[Block], u64) {
        let Some((index, row)) = &self.index else { return (&[], 0) };
        let read = || index.store.and_then(|store| store.blocks().ok()).unwrap_or_default();
        (index.blocks.get_or_init(read), *row)
    }

    /// Returns the number of tags of one channel.
    pub fn singles_of(&self, channel: u16) -> u64 {
        self.singles.iter().find(|c| c.channel == channel).map_or(0, |c| c.rows)
    }
}

impl<'a> Recording<'a> {
    /// Returns the same recording, which answers as `parts` does.
    pub(crate) fn answered_by(mut self, parts: &'a dyn AnswersInParts) -> Self {
        self.parts = Some(parts);
        for (number, source) in (0..).zip(&mut self.sources) {
            source.parts = Some((parts, number));
        }
        self
    }

    /// Returns the same recording, each source of which seems to have so many rows.
    pub(crate) fn with_rows(mut self, rows: usize) -> Self {
        self.sources.iter_mut().for_each(|source| source.rows = rows);
        self
    }

    /// Returns the same recording, not counted in parts.
    pub(crate) fn without_parts(&self) -> Self {
        let sources = self.sources.iter().map(Source::without_parts).collect();
        Self { sources, parts: None, ..*self }
    }

    /// Returns the same recording without any tag, not counted in parts: its queries count the same channels.
    pub(crate) fn without_tags(&self) -> Self {
        let empty = |source: &Source<'a>| Source {
            tags: source.tags.rows(0..0),
            micro: source.micro.map(|micro| micro.rows(0..0)),
            gaps: source.gaps.map(|gaps| &gaps[..0]),
            span: None,
            live: LiveTime::new(None, &[]),
            index: None,
            rows: 0,
            skipped: Some(0),
            ..source.without_parts()
        };
        Self { sources: self.sources.iter().map(empty).collect(), parts: None, ..*self }
    }

    /// Returns whether it is counted in parts.
    pub(crate) fn is_in_parts(&self) -> bool {
        self.parts.is_some()
    }

    /// Counts in a range of delayed time, or takes the sum of parts that were counted. `key` identifies what is
    /// counted, apart from range and sources.
    pub(crate) fn counted(
        &self,
        key: impl FnOnce() -> String,
        range: TimeRange,
        count: &CountIn<'_>,
    ) -> Result<Counts, Error> {
        match self.parts {
            Some(parts) => parts.count(self, (key(), range), count),
            None => count(self, range),
        }
    }

    /// Attaches `progress`, which receives the progress of queries and can cancel them.
    #[must_use]
    pub fn with_progress(self, progress: Option<&'a ScanProgress>) -> Self {
        Self { progress, is_reported: true, ..self }
    }

    /// Attaches `progress` for queries that are pieces of a larger pass: they can be cancelled, but report
    /// nothing.
    #[must_use]
    pub fn in_silence(&self) -> Self {
        Self { is_reported: false, ..self.clone() }
    }

    /// Begins a pass over the tags in `range`.
    pub fn pass(&self, range: TimeRange) -> Pass<'a> {
        let (progress, is_reported) = (self.progress, self.is_reported);
        let told = progress.filter(|_| is_reported);
        let rows = told.map_or(0, |_| self.rows_in(range));
        Pass::begin(progress, is_reported, rows)
    }

    /// Returns the number of tags in `range`, by recorded time.
    fn rows_in(&self, range: TimeRange) -> u64 {
        let of = |source: &Source<'_>| {
            let Some((first, last)) = source.span() else { return 0 };
            let time = source.tags.time;
            let begin = match range.from {
                Some(from) if from > first => time.partition_point(|&time| time < from),
                _ => 0,
            };
            let end = match range.to {
                Some(to) if to <= last => time.partition_point(|&time| time < to),
                _ => time.len(),
            };
            end.saturating_sub(begin) as u64
        };
        self.sources.iter().map(of).sum()
    }
}
