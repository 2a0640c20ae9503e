//! What is counted over: the tags of each source, with what is known of them beforehand.

use tagq_store::{ChannelRows, Channels, Store, Tags};

/// The tags of a run, source by source. No coincidence spans two sources.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// In order of time.
    pub sources: Vec<Acquisition<'a>>,
}

/// One source: a stretch of tags in order of time.
#[derive(Debug, Clone)]
pub struct Acquisition<'a> {
    /// Its tags.
    pub tags: Tags<'a>,
    /// Its tags by channel, ascending by label.
    pub singles: Vec<ChannelRows>,
}

impl<'a> Recording<'a> {
    /// All sources of a store. Reads no column.
    pub fn of(store: &'a Store) -> Self {
        let tags = store.tags();
        let sources = store
            .sources()
            .map(|(source, rows)| Acquisition {
                tags: tags.rows(rows),
                singles: source.channels.clone(),
            })
            .collect();
        Self { sources }
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
        Self { sources: vec![Acquisition { tags, singles }] }
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
        self.tags.time.first().copied().zip(self.tags.time.last().copied())
    }

    /// The tags of one channel.
    pub fn singles_of(&self, channel: u16) -> u64 {
        self.singles.iter().find(|c| c.channel == channel).map_or(0, |c| c.rows)
    }
}
