//! The recording that a query counts over: the tags of each source, and the summaries known without reading
//! them.
//!
//! Sources of 600 and 400 rows: row 0 of the second one is row 600 of the run, which errors and lists name. Counts of
//! whole sources and blocks come from the manifest and the index.

use std::{
    ops::{Deref, Range},
    sync::{Arc, OnceLock},
};

use crate::run::{
    damage::Damage,
    facts::{Facts, SourceFacts},
    progress::{Pass, ScanProgress},
    time_range::TimeRange,
};
use tagq_store::{Block, ChannelRows, Channels, MicroColumn, RowValues, Store, Tags};

/// The tags of a run, source by source. No coincidence spans two sources.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// In order of time.
    pub sources: Vec<Source<'a>>,
    /// Can cancel queries; receives their progress if `is_reported`.
    pub(super) progress: Option<&'a ScanProgress>,
    is_reported: bool,
}

/// One source: a range of tags in order of time. It dereferences to its [`SourceFacts`], which are known without
/// reading tags.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The tags of the source.
    pub tags: Tags<'a>,
    /// The micro times of the tags, row by row; `None` if the store has none.
    pub micro: Option<MicroColumn<'a>>,
    /// The gaps of the tags, row by row (docs/format.md, section "Gaps"); `None` if the store has none.
    pub(crate) gaps: Option<RowValues<'a, u16>>,
    /// The facts that are known without reading a tag.
    facts: Arc<SourceFacts>,
    /// The index of the run, and the row of the run that is the first of this source.
    index: Option<(Arc<Index<'a>>, u64)>,
    /// The damage that scans found.
    pub(super) damage: Arc<Damage>,
    /// Whether `tags` are all of the source: only some rows may have been opened.
    is_whole: bool,
}

impl Deref for Source<'_> {
    type Target = SourceFacts;

    fn deref(&self) -> &SourceFacts {
        &self.facts
    }
}

/// The summaries of blocks of rows, available without reading the rows.
#[derive(Debug)]
struct Index<'a> {
    store: Option<&'a Store>,
    /// How often damage of its blocks had been met before.
    damage_met: u64,
    /// Loaded on first use, because most queries do not need it.
    blocks: OnceLock<Vec<Block>>,
}

impl<'a> Recording<'a> {
    /// Creates a recording of these sources, which must be in order of time.
    pub fn new(sources: Vec<Source<'a>>) -> Self {
        Self { sources, progress: None, is_reported: true }
    }

    /// Returns all sources of a store. Reads no column.
    pub fn of(store: &'a Store) -> Self {
        Self::of_sources_of(store, false)
    }

    /// Returns all sources of a store as one, for files that follow each other without a gap. Reads no column.
    pub fn joined(store: &'a Store) -> Self {
        Self::of_sources_of(store, true)
    }

    fn of_sources_of(store: &'a Store, is_joined: bool) -> Self {
        let index = Arc::new(Index {
            store: store.has_rows().then_some(store),
            damage_met: store.damage_met().0,
            blocks: OnceLock::new(),
        });
        let all = 0..usize::try_from(store.manifest().rows).unwrap_or(usize::MAX);
        let rows = store.sources().filter(|_| !is_joined).map(|(_, rows)| rows);
        let rows = rows.chain(is_joined.then_some(all));
        let of_source = |(facts, of_run): (&Arc<SourceFacts>, Range<usize>)| {
            let Opened { first, rows, is_whole } = Opened::of(store, of_run);
            Source {
                tags: store.tags().rows(rows.clone()),
                micro: store.micro().map(|micro| micro.rows(rows.clone())),
                // Gaps separate sources.
                gaps: store.gaps().filter(|_| !is_joined).map(|gaps| gaps.rows(rows)),
                facts: Arc::clone(facts),
                index: Some((Arc::clone(&index), first)),
                damage: Arc::new(Damage::none()),
                is_whole,
            }
        };
        Self::new(Facts::of(store, is_joined).iter().zip(rows).map(of_source).collect())
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
                for &label in labels.all() {
                    rows[usize::from(label)] += 1;
                }
            }
            Channels::U16(labels) => {
                assert_eq!(labels.len(), tags.len(), "a label for each time");
                for &label in labels.all() {
                    rows[usize::from(label)] += 1;
                }
            }
        }
        singles.extend(
            (0..=u16::MAX)
                .zip(rows)
                .filter_map(|(channel, rows)| (rows > 0).then_some(ChannelRows { channel, rows })),
        );
        let span = tags.time.first().zip(tags.time.last());
        Self::new(vec![Source {
            tags,
            micro: None,
            gaps: None,
            facts: Arc::new(SourceFacts::new(singles, span, &[])),
            index: None,
            damage: Arc::new(Damage::none()),
            is_whole: true,
        }])
    }

    /// Returns the facts that are known without reading a tag.
    pub fn facts(&self) -> Facts {
        Facts::new(self.sources.iter().map(|source| Arc::clone(&source.facts)))
    }

    /// Returns a recording of one of its sources.
    #[must_use]
    pub fn of_source(&self, source: usize) -> Self {
        Self { sources: vec![self.sources[source].clone()], ..*self }
    }

    /// Returns the same recording without checks of the rows that are read: for plans.
    pub(crate) fn unchecked(&self) -> Self {
        let sources = self.sources.iter().map(|source| Source {
            tags: source.tags.unchecked(),
            gaps: source.gaps.map(|gaps| gaps.unchecked()),
            ..source.clone()
        });
        Self { sources: sources.collect(), ..*self }
    }

    /// Returns a recording of some of its sources.
    pub(crate) fn of_sources(&self, is_kept: impl Fn(&Source<'_>) -> bool) -> Self {
        let sources = self.sources.iter().filter(|source| is_kept(source)).cloned().collect();
        Self { sources, ..*self }
    }

    /// Returns the channels that have tags, ascending.
    pub fn channels(&self) -> Vec<u16> {
        self.facts().channels()
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
    /// Whether they are all rows of the source.
    is_whole: bool,
}

impl Opened {
    fn of(store: &Store, of_run: Range<usize>) -> Self {
        if !store.has_rows() {
            return Self { first: of_run.start as u64, rows: 0..0, is_whole: false };
        }
        let opened = store.opened();
        let first = of_run.start.max(opened.start).min(of_run.end);
        let end = of_run.end.min(opened.end).max(first);
        let rows = if first < end { first - opened.start..end - opened.start } else { 0..0 };
        Self { first: first as u64, rows, is_whole: (first, end) == (of_run.start, of_run.end) }
    }
}

impl Source<'_> {
    /// Returns whether `tags` are all tags of the source.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the same source, which recorded nothing in these spans: they are in order and apart from each other.
    #[must_use]
    pub fn with_dead(self, dead: &[(i64, i64)]) -> Self {
        Self { facts: Arc::new(self.facts.with_dead(dead)), ..self }
    }

    /// Attaches the index of `blocks`, which need not begin or end where this source does. `row` is the first
    /// row of this source, in the numbering of the blocks.
    #[must_use]
    pub fn with_blocks(self, blocks: Vec<Block>, row: u64) -> Self {
        let index = Index { store: None, damage_met: 0, blocks: blocks.into() };
        Self { index: Some((Arc::new(index), row)), ..self }
    }

    /// Returns the row of the run that is the first of `tags`.
    pub(super) fn first_row(&self) -> u64 {
        self.index.as_ref().map_or(0, |(_, first)| *first)
    }

    /// Returns a block whose damage scans have met.
    pub(super) fn damaged_block(&self) -> Option<u64> {
        let (index, _) = self.index.as_ref()?;
        let (met, block) = index.store?.damage_met();
        (met != index.damage_met).then_some(block)
    }

    /// Returns the blocks of the run in order of rows, and the row that is the first of this source. A
    /// damaged index is ignored; counts then come from the rows alone.
    pub(crate) fn blocks(&self) -> (&[Block], u64) {
        let Some((index, row)) = &self.index else { return (&[], 0) };
        let read = || index.store.and_then(|store| store.blocks().ok()).unwrap_or_default();
        (index.blocks.get_or_init(read), *row)
    }
}

impl<'a> Recording<'a> {
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
                Some(from) if from > first => time.partition_point(|time| time < from),
                _ => 0,
            };
            let end = match range.to {
                Some(to) if to <= last => time.partition_point(|time| time < to),
                _ => time.len(),
            };
            end.saturating_sub(begin) as u64
        };
        self.sources.iter().map(of).sum()
    }
}
