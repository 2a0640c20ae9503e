//! Answers: what was asked, of which run, and a table.

use serde::Serialize;
use tagq_store::Tick;

use crate::{figure::FigureKind, run::Run, table::Table};

/// The version of the keys of answers, in JSON and in Arrow: while it stays, keys are only added.
pub const SCHEMA_VERSION: u32 = 2;

/// What was asked, of what, and what came out.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked and what was done, on one line.
    pub header: String,
    /// The query as it was counted, key by key (docs/queries.md, section "Output").
    pub query: serde_json::Value,
    /// The run it was counted over.
    pub run: RunFacts,
    /// The tags of each channel that was counted, if the rows do not have them.
    pub singles: Option<Table>,
    /// What came out.
    pub rows: Table,
    /// How the rows are drawn; `None` if there is no figure of them.
    pub figure: Option<FigureKind>,
}

/// The run that was counted over.
#[derive(Debug, Clone, Serialize)]
pub struct RunFacts {
    /// What was named.
    pub path: String,
    /// A fraction of attoseconds.
    pub tick: String,
    /// Whether nobody confirmed the tick.
    pub tick_assumed: bool,
    /// The store's commit.
    pub commit: u64,
    /// Tags of all channels.
    pub tags: u64,
    /// Number of sources.
    pub sources: usize,
    /// Live time of the whole run in seconds.
    pub live_s: f64,
    /// Last minus first time of the run in seconds.
    pub elapsed_s: f64,
    /// Tags by channel.
    pub channels: Vec<ChannelFacts>,
    /// The names that the setup gives, also to channels without tags.
    #[serde(skip)]
    pub names: Vec<(u16, String)>,
}

/// The tags of one channel of a run.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelFacts {
    /// The channel.
    pub channel: u16,
    /// Its name, when the setup has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its tags.
    pub count: u64,
}

impl RunFacts {
    /// What is known of a run, with the names that a setup gives to its channels.
    pub fn named(run: &Run, setup: &crate::setup::experiment::Setup) -> Self {
        let mut facts = Self::of(run);
        facts.names.clone_from(&setup.names);
        for of in &mut facts.channels {
            let name = setup.names.iter().find(|(channel, _)| *channel == of.channel);
            of.name = name.map(|(_, name)| name.clone());
        }
        facts
    }

    /// What is known of a run.
    pub fn of(run: &Run) -> Self {
        let manifest = run.store().manifest();
        let tick: Tick = manifest.tick;
        let channels = manifest.channels.iter().map(|of| ChannelFacts {
            channel: of.channel,
            name: None,
            count: of.rows,
        });
        Self {
            path: run.path().display().to_string(),
            tick: tick.fraction(),
            tick_assumed: manifest.tick_assumed,
            commit: manifest.commit,
            tags: manifest.rows,
            sources: manifest.sources.len(),
            live_s: tick.seconds_of(run.live_ticks()),
            elapsed_s: tick.seconds_of(run.elapsed_ticks()),
            channels: channels.collect(),
            names: Vec::new(),
        }
    }
}

impl RunFacts {
    /// Several runs together: tags, sources and times are added; tick and names are those of the first.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let mut all = all.collect::<Vec<_>>().into_iter();
        let Some(mut sum) = all.next() else { unreachable!("a sum is of at least one run") };
        for more in all {
            sum.path = format!("{} + {}", sum.path, more.path);
            sum.tick_assumed |= more.tick_assumed;
            sum.tags += more.tags;
            sum.sources += more.sources;
            sum.live_s += more.live_s;
            sum.elapsed_s += more.elapsed_s;
            for ChannelFacts { channel, name, count } in more.channels {
                match sum.channels.iter_mut().find(|of| of.channel == channel) {
                    Some(of) => of.count += count,
                    None => sum.channels.push(ChannelFacts { channel, name, count }),
                }
            }
        }
        sum.channels.sort_by_key(|of| of.channel);
        sum
    }
}
