//! The query "coincidences": tags of several channels within a window.

mod key;

use crate::{
    error::Error,
    estimate::singles::SourceSingles,
    kinds::kind::Additive,
    partial::{Counts, Left, Partial, Unused},
    rules::{
        cluster,
        groups::{self, Groups},
        once,
        part::{Condition, Method, Part},
        rule::Rule,
        veto::Veto,
    },
    run::{
        recording::{Acquisition, Recording},
        scope::{Delay, Scope},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::Plan},
};

/// Counts coincidences (docs/queries.md, section "Coincidences").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coincidences {
    /// The channels between which coincidences are counted.
    pub groups: Groups,
    /// Defines which tags form a coincidence.
    pub rule: Rule,
    /// The largest allowed time difference in ticks, 0 or more; for rule `grid`, the width of a cell.
    pub window: i64,
    /// The veto, for the rules that take one tag of each channel.
    pub veto: Option<Veto>,
    /// The channels, delays and times that the query covers.
    pub scope: Scope,
}

/// The result of [`Coincidences`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// One row per group, in the order of the query.
    pub rows: Vec<GroupCount>,
}

/// The coincidences of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCount {
    /// The channels of the group.
    pub channels: Vec<u16>,
    /// The number of coincidences.
    pub count: u64,
    /// The live time and the tags of these channels, source by source.
    pub sources: Vec<SourceSingles>,
}

impl GroupCount {
    /// Returns the number of tags of each channel of the group.
    pub fn singles(&self) -> Vec<u64> {
        let of = |i: usize| self.sources.iter().map(|source| source.singles[i]).sum();
        (0..self.channels.len()).map(of).collect()
    }
}

impl Coincidences {
    /// Counts the coincidences over all sources of `recording`.
    ///
    /// Reads nine bytes per tag: once for pairs, once for larger groups, and once more for each additional
    /// 255 channels. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// Fails for an invalid query, and if delayed times or counts do not fit in 64 bits.
    pub fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Counted, Error> {
        let Found { groups, counts, .. } = self.count(recording, None, execution)?;
        self.counted(recording, execution, groups, counts)
    }

    /// Returns the plan of [`Coincidences::run`]: the rows that it would read, without counting.
    ///
    /// # Errors
    /// See [`Coincidences::run`]. Counts that do not fit in 64 bits are not detected.
    pub fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Plan, Error> {
        self.check(recording)?;
        let (scope, window) = (&self.scope, self.window);
        let mut plan = Plan::new(recording, execution);
        let channels = if self.rule == Rule::Cluster {
            let channels = self.cluster_channels(recording)?;
            cluster::plan_clusters(recording, &channels, window, scope, execution, &mut plan);
            channels
        } else {
            let groups = groups::asked(&self.groups, scope, recording)?;
            self.check_groups(&groups)?;
            for part in Part::all(&groups, self.condition()) {
                match part.method {
                    Method::Once => once::plan_once(&part, recording, execution, &mut plan),
                    _ => part.plan(recording, execution, &mut plan),
                }
            }
            // If delays differ, rows at the ends of sources are read, too.
            plan.is_at_least |= groups.iter().any(|group| {
                group.iter().any(|&channel| scope.delay_of(channel) != scope.delay_of(group[0]))
            });
            groups::channels_of(&groups)
        };
        plan.read_singles(recording, &channels, scope);
        Ok(plan)
    }

    /// Counts from the end of `before`.
    fn count(
        &self,
        recording: &Recording<'_>,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Found, Error> {
        self.check(recording)?;
        if self.rule == Rule::Cluster {
            return self.count_clusters(recording, before, execution);
        }
        let groups = groups::asked(&self.groups, &self.scope, recording)?;
        self.check_groups(&groups)?;
        let is_once = self.rule == Rule::Once;
        let unused = before.and_then(|before| before.unused(&groups));
        let mut counts = vec![0; groups.len()];
        let mut left = Vec::new();
        for part in Part::all(&groups, self.condition()) {
            let found = if is_once {
                let (found, more) = once::once(&part, &groups, recording, unused, execution);
                left.extend(more);
                found
            } else {
                part.count(recording, execution)
            };
            for (&group, count) in part.groups.iter().zip(found) {
                counts[group] = count;
            }
        }
        recording.check_pass()?;
        let left = if is_once { Left::Unused(left) } else { Left::Nothing };
        Ok(Found { groups, counts, left })
    }

    fn count_clusters(
        &self,
        recording: &Recording<'_>,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Found, Error> {
        let channels = self.cluster_channels(recording)?;
        let open = before.and_then(|before| match &before.left {
            Left::Open(open) => Some(&open[..]),
            _ => None,
        });
        let clustered =
            cluster::clusters(recording, &channels, self.window, &self.scope, open, execution);
        recording.check_pass()?;
        let (groups, counts) = by_size(clustered.sets.into_iter().collect()).into_iter().unzip();
        Ok(Found { groups, counts, left: Left::Open(clustered.open) })
    }

    /// Returns the channels that rule `cluster` looks at, ascending.
    pub(crate) fn cluster_channels(&self, recording: &Recording<'_>) -> Result<Vec<u16>, Error> {
        let mut channels = self.scope.channels.clone().unwrap_or_else(|| recording.channels());
        channels.sort_unstable();
        channels.dedup();
        if channels.len() > CLUSTER_CHANNELS {
            return Err(Error::ClusterChannels {
                channels: channels.len(),
                most: CLUSTER_CHANNELS,
            });
        }
        if self.veto.is_some() {
            return Err(Error::VetoRule { rule: "cluster" });
        }
        Ok(channels)
    }

    /// Builds the result, with the singles of each group.
    fn counted(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        groups: Vec<Vec<u16>>,
        counts: Vec<u128>,
    ) -> Result<Counted, Error> {
        let singles = SinglesInScope::new(recording, &self.scope, &groups, execution);
        let rows = groups.into_iter().zip(counts).map(|(channels, count)| {
            let Ok(count) = u64::try_from(count) else {
                return Err(Error::CountRange { channels });
            };
            let sources = singles.of_group(&channels);
            Ok(GroupCount { channels, count, sources })
        });
        Ok(Counted { rows: rows.collect::<Result<_, _>>()? })
    }

    /// Returns the condition that tags must meet to form a coincidence.
    fn condition(&self) -> Condition<'_> {
        let Self { groups: _, rule, window, veto, scope } = self;
        Condition { rule: *rule, window: *window, veto: veto.as_ref(), scope }
    }

    pub(crate) fn check_groups(&self, groups: &[Vec<u16>]) -> Result<(), Error> {
        self.check_veto(groups)?;
        if self.rule != Rule::Grid {
            return Ok(());
        }
        if let Some(group) = groups.iter().find(|group| group.len() != 2) {
            return Err(Error::GridGroup { channels: group.clone() });
        }
        // Delays of channels that are not counted cannot split a cell.
        let channels = groups::channels_of(groups);
        let parts = |delay: &&Delay| {
            delay.ticks % self.window != 0 && channels.binary_search(&delay.channel).is_ok()
        };
        match self.scope.delays.iter().find(parts) {
            Some(&Delay { channel, ticks: delay }) => {
                Err(Error::GridDelay { channel, delay, window: self.window })
            }
            None => Ok(()),
        }
    }

    /// Returns the live time of each source and its tags of these channels, in the scope of the query. Reads
    /// the blocks that an edge of the scope cuts.
    pub fn singles(
        &self,
        recording: &Recording<'_>,
        channels: &[u16],
        execution: &Execution,
    ) -> Vec<SourceSingles> {
        let group = [channels.to_vec()];
        SinglesInScope::new(recording, &self.scope, &group, execution).of_group(channels)
    }

    /// Counts the tags of each of `channels` in the scope that the veto accepts: those without a veto tag
    /// within the guard. Returns `None` if the query has no veto. Reads nine bytes per tag.
    ///
    /// # Errors
    /// Fails for an invalid query.
    pub fn left_by_veto(
        &self,
        recording: &Recording<'_>,
        channels: &[u16],
        execution: &Execution,
    ) -> Result<Option<Vec<u64>>, Error> {
        self.check(recording)?;
        let groups: Vec<Vec<u16>> = channels.iter().map(|&channel| vec![channel]).collect();
        self.check_veto(&groups)?;
        if self.veto.is_none() {
            return Ok(None);
        }
        // A herald without other channels is a complete coincidence by itself.
        let query = Self { rule: Rule::PerHerald, window: 0, ..self.clone() };
        let mut left = vec![0; groups.len()];
        for part in Part::all(&groups, query.condition()) {
            for (&group, count) in part.groups.iter().zip(part.count(recording, execution)) {
                left[group] = u64::try_from(count)
                    .map_err(|_| Error::CountRange { channels: groups[group].clone() })?;
            }
        }
        recording.check_pass()?;
        Ok(Some(left))
    }

    fn check_veto(&self, groups: &[Vec<u16>]) -> Result<(), Error> {
        let Some(veto) = &self.veto else { return Ok(()) };
        if self.rule == Rule::Grid {
            return Err(Error::VetoRule { rule: "grid" });
        }
        if veto.guard < 0 {
            return Err(Error::NegativeGuard { guard: veto.guard });
        }
        if self.window > VETO_WINDOW {
            return Err(Error::VetoWindow { window: self.window, most: VETO_WINDOW });
        }
        let inside = |&&channel: &&u16| groups.iter().any(|group| group.contains(&channel));
        match veto.channels.iter().find(inside) {
            Some(&channel) => Err(Error::VetoInGroup { channel }),
            None => Ok(()),
        }
    }

    pub(crate) fn check(&self, recording: &Recording<'_>) -> Result<(), Error> {
        if self.window < 0 {
            return Err(Error::NegativeWindow { window: self.window });
        }
        self.scope.check(&recording.sources)?;
        if self.rule == Rule::Grid && self.window == 0 {
            return Err(Error::GridWindow);
        }
        Ok(())
    }
}

/// The counts of each group, and the state from which a continuation starts.
struct Found {
    groups: Vec<Vec<u16>>,
    counts: Vec<u128>,
    left: Left,
}

impl Additive for Coincidences {
    type Answer = Counted;

    fn answer(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Counted, Error> {
        self.run(recording, execution)
    }

    fn partial(
        &self,
        recording: &Recording<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Partial, Error> {
        let query = self.words();
        Partial::check_before(before, &query, interval)?;
        let part = Self { scope: Scope { range: interval, ..self.scope.clone() }, ..self.clone() };
        let Found { groups, counts, left } = part.count(recording, before, execution)?;
        let counts = Counts::Groups(groups.into_iter().zip(counts).collect());
        Ok(Partial { query, interval, counts, left })
    }

    fn finish(
        &self,
        recording: &Recording<'_>,
        partial: &Partial,
        execution: &Execution,
    ) -> Result<Counted, Error> {
        self.check(recording)?;
        partial.check_of(&self.words(), self.scope.range)?;
        let Counts::Groups(known) = &partial.counts else {
            return Err(Error::PartialDamaged { what: "counts of another kind" });
        };
        if self.rule == Rule::Cluster {
            self.cluster_channels(recording)?;
            let sets = known.iter().map(|(set, &count)| (set.clone(), count)).collect();
            let (groups, counts) = by_size(sets).into_iter().unzip();
            return self.counted(recording, execution, groups, counts);
        }
        let groups = groups::asked(&self.groups, &self.scope, recording)?;
        self.check_groups(&groups)?;
        // A group that is missing from the partial contains channels that had no tags.
        let counts = groups.iter().map(|group| known.get(group).copied().unwrap_or(0)).collect();
        self.counted(recording, execution, groups, counts)
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn words(&self) -> String {
        self.key()
    }

    fn ahead(&self) -> i64 {
        // A veto forbids coincidences before it; a cluster takes tags after its first one.
        match (&self.veto, self.rule) {
            (_, Rule::Cluster) => self.window,
            (Some(veto), _) => veto.guard,
            (None, _) => 0,
        }
    }
}

/// Sorts sets of channels by size, then by channels.
fn by_size(mut sets: Vec<(Vec<u16>, u128)>) -> Vec<(Vec<u16>, u128)> {
    sets.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    sets
}

impl Partial {
    /// Returns the unused tags of all `groups`. Returns `None` if one of them was not counted: no tag of its
    /// channels was used up, and none was stored.
    fn unused(&self, groups: &[Vec<u16>]) -> Option<&[Unused]> {
        match (&self.counts, &self.left) {
            (Counts::Groups(known), Left::Unused(unused)) => {
                groups.iter().all(|group| known.contains_key(group)).then_some(unused)
            }
            _ => None,
        }
    }
}

/// The largest number of channels that rule `cluster` can distinguish: the bits of a set.
const CLUSTER_CHANNELS: usize = 64;
/// The widest window that a veto supports: about 10 s at 156.25 ps per tick. Times between vetoes are moved
/// apart by more than the window.
const VETO_WINDOW: i64 = 1 << 36;

/// The live time of each source and its tags of the requested channels, cut to the scope.
struct SinglesInScope<'a> {
    recording: &'a Recording<'a>,
    scope: &'a Scope,
    execution: &'a Execution,
    live: Vec<i64>,
    /// The requested channels, ascending, and the number of tags of each in every source.
    channels: Vec<u16>,
    singles: Vec<Vec<u64>>,
}

impl<'a> SinglesInScope<'a> {
    fn new(
        recording: &'a Recording<'a>,
        scope: &'a Scope,
        groups: &[Vec<u16>],
        execution: &'a Execution,
    ) -> Self {
        let channels = groups::channels_of(groups);
        let sources = &recording.sources;
        let singles_of = |source: &Acquisition<'_>| {
            let of = |&channel: &u16| {
                let delay = scope.delay_of(channel);
                source.singles_within(channel, delay, scope.range, execution.simd)
            };
            channels.iter().map(of).collect()
        };
        Self {
            live: sources.iter().map(|source| scope.range.live_of(source)).collect(),
            singles: sources.iter().map(singles_of).collect(),
            recording,
            scope,
            execution,
            channels,
        }
    }

    fn of_group(&self, group: &[u16]) -> Vec<SourceSingles> {
        let delays = group.iter().map(|&channel| self.scope.delay_of(channel));
        let (earliest, latest) = (delays.clone().min().unwrap_or(0), delays.max().unwrap_or(0));
        let sources = self.recording.sources.iter().zip(self.live.iter().zip(&self.singles));
        let of_source = |(source, (&live, singles)): (&Acquisition<'_>, (&i64, &Vec<u64>))| {
            let of_channel = |channel| match self.channels.binary_search(channel) {
                Ok(at) => singles[at],
                Err(_) => 0,
            };
            let whole = SourceSingles::new(live, group.iter().map(of_channel).collect());
            match source.span() {
                Some((first, last)) if earliest < latest => {
                    // Delayed times fit in 64 bits; the scope was checked for this.
                    let shared = TimeRange {
                        from: Some(first.saturating_add(latest)),
                        to: Some(last.saturating_add(earliest).saturating_add(1)),
                    };
                    self.overlapping(source, group, whole, shared)
                }
                _ => whole,
            }
        };
        sources.map(of_source).collect()
    }

    /// Returns the same with the part of its time in which tags of all channels of the group can occur.
    fn overlapping(
        &self,
        source: &Acquisition<'_>,
        group: &[u16],
        whole: SourceSingles,
        shared: TimeRange,
    ) -> SourceSingles {
        let within = shared.and(&self.scope.range);
        let (Some(from), Some(to)) = (within.from, within.to) else { return whole };
        // The last tag of a source lies at the end of its live time, one tick before the range ends.
        let end = if within.to == shared.to { to - 1 } else { to };
        let overlap = end.saturating_sub(from).max(0);
        let of = |&channel: &u16| {
            let delay = self.scope.delay_of(channel);
            source.singles_within(channel, delay, within, self.execution.simd)
        };
        let overlapping = match overlap {
            0 => vec![0; group.len()],
            _ => group.iter().map(of).collect(),
        };
        SourceSingles { overlap, overlapping, ..whole }
    }
}
