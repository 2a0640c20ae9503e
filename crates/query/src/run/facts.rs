//! The facts about a run that are known without reading a row: tags of each channel, spans, live times, sync pulses.

use std::{ops::Deref, sync::Arc};

use tagq_store::{ChannelRows, Source as StoredSource, Store};

use crate::run::{live::LiveTime, pulses::Pulses};

/// The facts about a run, source by source in order of time. A copy costs little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts(Arc<[Arc<SourceFacts>]>);

/// The facts about one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// The number of tags of each channel, ascending by label.
    pub singles: Vec<ChannelRows>,
    /// First and last time.
    span: Option<(i64, i64)>,
    /// The time in which it recorded.
    live: LiveTime,
    /// The sync pulses, if they are known and none is a tag.
    pub(crate) pulses: Option<Pulses>,
}

impl Facts {
    pub(crate) fn new(sources: impl IntoIterator<Item = Arc<SourceFacts>>) -> Self {
        Self(sources.into_iter().collect())
    }

    /// Returns the facts of a store; with its sources as one if they are joined.
    pub fn of(store: &Store, is_joined: bool) -> Self {
        store.facts(is_joined, || Self::of_manifest(store, is_joined))
    }

    fn of_manifest(store: &Store, is_joined: bool) -> Self {
        if is_joined {
            return Self::new([Arc::new(SourceFacts::joined(store))]);
        }
        let tick = store.manifest().tick;
        let of_source = |source: &StoredSource| {
            Arc::new(SourceFacts {
                pulses: Pulses::of(source, tick),
                ..SourceFacts::new(source.channels.clone(), source.span(), &source.dead())
            })
        };
        Self::new(store.manifest().sources.iter().map(of_source))
    }

    /// Returns the facts about one of the sources.
    pub(crate) fn of_source(&self, source: usize) -> Self {
        Self::new([Arc::clone(&self.0[source])])
    }

    /// Returns the channels that have tags, ascending.
    pub fn channels(&self) -> Vec<u16> {
        let mut channels: Vec<u16> =
            self.iter().flat_map(|source| &source.singles).map(|c| c.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }
}

impl Deref for Facts {
    type Target = [Arc<SourceFacts>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl SourceFacts {
    pub(crate) fn new(
        singles: Vec<ChannelRows>,
        span: Option<(i64, i64)>,
        dead: &[(i64, i64)],
    ) -> Self {
        Self { singles, span, live: LiveTime::new(span, dead), pulses: None }
    }

    /// Returns the facts of a store whose sources are one.
    fn joined(store: &Store) -> Self {
        let manifest = store.manifest();
        let mut dead: Vec<(i64, i64)> =
            manifest.sources.iter().flat_map(StoredSource::dead).collect();
        dead.sort_unstable();
        let span = manifest.span();
        Self::new(manifest.channels.clone(), span, &dead)
    }

    /// Returns the same source, which recorded nothing in these spans: they are in order and apart from each other.
    pub(crate) fn with_dead(&self, dead: &[(i64, i64)]) -> Self {
        Self { live: LiveTime::new(self.span, dead), ..self.clone() }
    }

    /// Returns the first and the last time in ticks; `None` if the source has no tags.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// Returns the time in which it recorded.
    pub fn live(&self) -> &LiveTime {
        &self.live
    }

    /// Returns the number of tags of one channel.
    pub fn singles_of(&self, channel: u16) -> u64 {
        self.singles.iter().find(|c| c.channel == channel).map_or(0, |c| c.rows)
    }

    /// Returns the sync pulses, if `start` is their channel.
    pub(crate) fn pulses_of(&self, start: u16) -> Option<Pulses> {
        self.pulses.filter(|pulses| pulses.channel == start)
    }
}
