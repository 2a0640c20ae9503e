//! What is counted over: the tags of each source, with what is known of them beforehand.

use std::sync::{Arc, OnceLock};

use crate::Course;
use tagq_store::{Block, ChannelRows, Channels, Store, Tags};

/// The tags of a run, source by source. No coincidence spans two sources.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// In order of time.
    pub sources: Vec<Acquisition<'a>>,
    /// Who is told how far queries are, and may end them; told or not.
    pub(crate) course: Option<&'a Course>,
    pub(crate) is_told: bool,
}

/// One source: a stretch of tags in order of time.
#[derive(Debug, Clone)]
pub struct Acquisition<'a> {
    /// Its tags.
    pub tags: Tags<'a>,
    /// Its tags by channel, ascending by label.
    pub singles: Vec<ChannelRows>,
    /// First and last time.
    span: Option<(i64, i64)>,
    /// The index of the run, and which row of the run is the first of this source.
    index: Option<(Arc<Index<'a>>, u64)>,
}

/// What is known of blocks of rows without reading them.
#[derive(Debug)]
struct Index<'a> {
    store: Option<&'a Store>,
    /// Read when first asked for: most queries need none.
    blocks: OnceLock<Vec<Block>>,
}

impl<'a> Recording<'a> {
    /// These sources, in order of time.
    pub fn new(sources: Vec<Acquisition<'a>>) -> Self {
        Self { sources, course: None, is_told: true }
    }

    /// All sources of a store. Reads no column.
    pub fn of(store: &'a Store) -> Self {
        let tags = store.tags();
        let index = Arc::new(Index { store: Some(store), blocks: OnceLock::new() });
        let sources = store
            .sources()
            .map(|(source, rows)| Acquisition {
                index: Some((Arc::clone(&index), rows.start as u64)),
                tags: tags.rows(rows),
                singles: source.channels.clone(),
                span: source.time_first.zip(source.time_last),
            })
            .collect();
        Self::new(sources)
    }

    /// All sources of a store as one, for files that follow each other without a gap. Reads no column.
    pub fn joined(store: &'a Store) -> Self {
        let manifest = store.manifest();
        let index = Arc::new(Index { store: Some(store), blocks: OnceLock::new() });
        let source = Acquisition {
            index: Some((index, 0)),
            tags: store.tags(),
            singles: manifest.channels.clone(),
            span: manifest.time_first.zip(manifest.time_last),
        };
        Self::new(vec![source])
    }

    /// Tags in memory as a recording of one source. Counts the singles.
    ///
    /// # Panics
    /// When the tags are not in order of time, or the columns of different length.
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
        Self::new(vec![Acquisition { tags, singles, span, index: None }])
    }

    /// The channels that have tags, ascending.
    pub fn channels(&self) -> Vec<u16> {
        let mut channels: Vec<u16> =
            self.sources.iter().flat_map(|source| &source.singles).map(|c| c.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// How many tags.
    pub fn rows(&self) -> usize {
        self.sources.iter().map(|source| source.tags.len()).sum()
    }
}

impl Acquisition<'_> {
    /// First and last time in ticks; nothing without tags.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// What is known of `blocks` without reading their rows, which need not begin or end where this
    /// source does. `row` is the first of this source, counted as the blocks count.
    #[must_use]
    pub fn with_blocks(self, blocks: Vec<Block>, row: u64) -> Self {
        let index = Index { store: None, blocks: blocks.into() };
        Self { index: Some((Arc::new(index), row)), ..self }
    }

    /// The blocks of the run in order of rows, and the row that is the first of this source. An index
    /// that is damaged is not used: counts then come from the rows alone.
    pub(crate) fn blocks(&self) -> (&[Block], u64) {
        let Some((index, row)) = &self.index else { return (&[], 0) };
        let read = || index.store.and_then(|store| store.blocks().ok()).unwrap_or_default();
        (index.blocks.get_or_init(read), *row)
    }

    /// The tags of one channel.
    pub fn singles_of(&self, channel: u16) -> u64 {
        self.singles.iter().find(|c| c.channel == channel).map_or(0, |c| c.rows)
    }
}
