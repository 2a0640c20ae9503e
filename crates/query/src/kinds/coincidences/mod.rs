//! The query "coincidences": tags of several channels within a window.

mod singles;

use std::collections::BTreeMap;

use crate::{
    error::Error,
    estimate::singles::SourceSingles,
    kinds::kind::Kind,
    partial::{
        Counts, Partial, State, Unused,
        keys::{channels, delays, numbers},
    },
    rules::{
        cluster,
        groups::{self, Groups},
        once,
        part::{Condition, Method, Part},
        rule::Rule,
        veto::Veto,
    },
    run::{
        recording::Recording,
        scope::{Delay, Scope},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::Plan},
};
use singles::SinglesInScope;

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
    /// Returns the groups of the query, in the order of [`Kind::run`] and of [`crate::Tuple::group`].
    ///
    /// # Errors
    /// See [`Kind::run`].
    pub fn groups_in(&self, recording: &Recording<'_>) -> Result<Vec<Vec<u16>>, Error> {
        self.check(recording)?;
        let groups = groups::asked(&self.groups, &self.scope, recording)?;
        self.check_groups(&groups)?;
        Ok(groups)
    }

    /// Returns the channels whose tags can affect the result; `None` if all can.
    fn touched(&self) -> Option<Vec<u16>> {
        let mut touched = match &self.groups {
            Groups::Listed(groups) if self.rule != Rule::Cluster => groups.concat(),
            _ => self.scope.channels.clone()?,
        };
        touched.extend(self.veto.iter().flat_map(|veto| &veto.channels));
        Some(touched)
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
}

/// Reads nine bytes per tag: once for pairs, once for larger groups, and once more for each additional 255
/// channels.
impl Kind for Coincidences {
    type Answer = Counted;

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), ..self.clone() }
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { groups, rule, window, veto, scope } = self;
        let every = |size: usize| format!("every {size} {}", channels(scope));
        let asked = match (groups, rule) {
            (_, Rule::Cluster) => channels(scope),
            (Groups::EveryPair, _) => every(2),
            (Groups::EveryFold(size), _) => every(*size),
            (Groups::Listed(groups), _) => {
                let mut listed: Vec<String> = groups.iter().map(|group| numbers(group)).collect();
                listed.sort_unstable();
                listed.dedup();
                format!("groups {}", listed.join(" "))
            }
        };
        let vetoed = veto.as_ref().map_or(String::new(), |Veto { channels, guard }| {
            let mut channels = channels.clone();
            channels.sort_unstable();
            channels.dedup();
            format!("; veto {} within {guard}", numbers(&channels))
        });
        let delays = delays(scope, self.touched().as_deref());
        format!("coincidences; rule {}; window {window}; {asked}{vetoed}{delays}", word(*rule))
    }

    fn check(&self, recording: &Recording<'_>) -> Result<(), Error> {
        if self.window < 0 {
            return Err(Error::NegativeWindow { window: self.window });
        }
        self.scope.check(&recording.sources)?;
        if self.rule == Rule::Grid && self.window == 0 {
            return Err(Error::GridWindow);
        }
        Ok(())
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        if self.rule == Rule::Cluster {
            let channels = self.cluster_channels(recording)?;
            let open = before.and_then(|before| match &before.state {
                State::Open(open) => Some(&open[..]),
                State::Nothing | State::Unused(_) => None,
            });
            let (window, scope) = (self.window, &self.scope);
            let counted = cluster::clusters(recording, &channels, window, scope, open, execution);
            return Ok((Counts::Groups(counted.sets), State::Open(counted.open)));
        }
        let groups = self.groups_in(recording)?;
        let is_once = self.rule == Rule::Once;
        let unused = before.and_then(|before| before.unused(&groups));
        let mut counts = BTreeMap::new();
        let mut left = Vec::new();
        for part in Part::all(&groups, self.condition()) {
            let found = if is_once {
                let (found, more) = once::once(&part, &groups, recording, unused, execution);
                left.extend(more);
                found
            } else {
                part.count(recording, execution)
            };
            let of = part.groups.iter().map(|&group| groups[group].clone());
            counts.extend(of.zip(found));
        }
        let state = if is_once { State::Unused(left) } else { State::Nothing };
        Ok((Counts::Groups(counts), state))
    }

    fn answer(
        &self,
        recording: &Recording<'_>,
        counts: Counts,
        execution: &Execution,
    ) -> Result<Counted, Error> {
        let known = counts.groups()?;
        let groups = if self.rule == Rule::Cluster {
            self.cluster_channels(recording)?;
            by_size(known.keys().cloned().collect())
        } else {
            self.groups_in(recording)?
        };
        let singles = SinglesInScope::new(recording, &self.scope, &groups, execution);
        let rows = groups.into_iter().map(|channels| {
            // A group that was not counted contains channels that had no tags.
            let count = known.get(&channels).copied().unwrap_or(0);
            let Ok(count) = u64::try_from(count) else {
                return Err(Error::CountRange { channels });
            };
            let sources = singles.of_group(&channels);
            Ok(GroupCount { channels, count, sources })
        });
        Ok(Counted { rows: rows.collect::<Result<_, _>>()? })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut Plan,
    ) -> Result<(), Error> {
        let (scope, window) = (&self.scope, self.window);
        let channels = if self.rule == Rule::Cluster {
            let channels = self.cluster_channels(recording)?;
            cluster::plan_clusters(recording, &channels, window, scope, execution, plan);
            channels
        } else {
            let groups = self.groups_in(recording)?;
            for part in Part::all(&groups, self.condition()) {
                match part.method {
                    Method::Once => once::plan_once(&part, recording, execution, plan),
                    _ => part.plan(recording, execution, plan),
                }
            }
            // If delays differ, rows at the ends of sources are read, too.
            plan.is_at_least |= groups.iter().any(|group| {
                group.iter().any(|&channel| scope.delay_of(channel) != scope.delay_of(group[0]))
            });
            groups::channels_of(&groups)
        };
        plan.read_singles(recording, &channels, scope);
        Ok(())
    }

    fn look_ahead(&self) -> i64 {
        // A veto forbids coincidences before it; a cluster takes tags after its first one.
        match (&self.veto, self.rule) {
            (_, Rule::Cluster) => self.window,
            (Some(veto), _) => veto.guard,
            (None, _) => 0,
        }
    }
}

/// Sorts sets of channels, which are in order of channels, by size.
fn by_size(mut sets: Vec<Vec<u16>>) -> Vec<Vec<u16>> {
    sets.sort_by_key(Vec::len);
    sets
}

fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::All => "all",
        Rule::Herald => "herald",
        Rule::PerHerald => "herald-once",
        Rule::Once => "once",
        Rule::Cluster => "cluster",
        Rule::Grid => "grid",
    }
}

impl Partial {
    /// Returns the unused tags of all `groups`. Returns `None` if one of them was not counted: no tag of its
    /// channels was used up, and none was stored.
    fn unused(&self, groups: &[Vec<u16>]) -> Option<&[Unused]> {
        match (&self.counts, &self.state) {
            (Counts::Groups(known), State::Unused(unused)) => {
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
