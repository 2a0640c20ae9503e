//! The query "coincidences": tags of several channels within a window.
//!
//! Channel 1 at 0 and 17, channel 2 at 5 and 19, window 5: two coincidences, which belong to 5 and 19, the times of
//! their latest tags. By rule `cluster` they belong to 0 and 17, those of their first tags.

mod singles;

use std::collections::BTreeMap;

use crate::{
    counters::{Countable, Ledger, Needs, Pairs},
    error::Error,
    estimate::singles::SourceSingles,
    kinds::kind::Kind,
    partial::{
        Open, Partial, State, Unused,
        keys::{channels, delays, numbers},
    },
    rules::{
        cluster,
        definition::Engine,
        groups::{self, Groups},
        once,
        rule::Rule,
        veto::Veto,
        ways::part::{Condition, GroupScan},
    },
    run::{
        counts::Counts, facts::Facts, recording::Recording, scope::Scope, time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::ReadPlan},
};
pub use singles::SinglesInScope;

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
    /// One row per group, in the order of the query; for rule [`Rule::Cluster`] one per set that occurs.
    pub rows: Vec<GroupCount>,
    /// The tags of all channels, from which those of other sets follow.
    pub singles: SinglesInScope,
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
    /// Returns the groups of the query, in the order of [`Kind::run`] and of [`crate::Tuple::group`]; for rule
    /// [`Rule::Cluster`], all channels as one.
    ///
    /// # Errors
    /// See [`Kind::run`].
    pub fn groups_in(&self, facts: &Facts) -> Result<Vec<Vec<u16>>, Error> {
        self.check(facts)?;
        let groups = if self.counts_groups() {
            groups::asked(&self.groups, &self.scope, facts)?
        } else {
            vec![cluster::channels(&self.scope, facts)?]
        };
        self.check_veto(&groups)?;
        self.rule.definition().check(self.window, &groups, &self.scope)?;
        Ok(groups)
    }

    /// Returns whether groups are counted; otherwise each set of channels that occurs.
    fn counts_groups(&self) -> bool {
        self.rule.definition().engine() != Engine::Clusters
    }

    /// Returns whether the rule has an expectation for independent channels.
    fn is_expected(&self) -> bool {
        self.rule.definition().counts_every_way()
    }

    /// Returns the window of pairs whose differences are at most as long; `None` for other rules.
    pub fn pair_window(&self) -> Option<i64> {
        matches!(self.rule, Rule::All | Rule::Herald).then_some(self.window)
    }

    /// Returns the channels whose tags can affect the result; `None` if all can.
    fn touched(&self) -> Option<Vec<u16>> {
        let mut touched = match &self.groups {
            Groups::Listed(groups) if self.counts_groups() => groups.concat(),
            _ => self.scope.channels.clone()?,
        };
        touched.extend(self.veto.iter().flat_map(|veto| &veto.channels));
        Some(touched)
    }

    /// Returns the condition that tags must meet to form a coincidence.
    fn condition(&self) -> Condition<'_> {
        let Self { groups: _, rule, window, veto, scope } = self;
        let rule = rule.definition();
        Condition { rule, window: *window, veto: veto.as_ref(), vetoed: None, scope }
    }

    /// Counts the coincidences of the tags of `herald` that the veto leaves, those without a veto tag within the
    /// guard, with each of these lists of other channels; for an empty list it counts these tags themselves. The veto
    /// does not reject other tags. Without a veto it leaves all heralds. Reads nine bytes per tag for each list.
    ///
    /// # Errors
    /// Fails for an invalid query, and for rules that do not count every way.
    pub fn of_heralds_left(
        &self,
        ledger: &Ledger<'_>,
        herald: u16,
        others: &[&[u16]],
    ) -> Result<Vec<u64>, Error> {
        self.check(ledger.facts())?;
        let groups: Vec<Vec<u16>> =
            others.iter().map(|others| [&[herald], *others].concat()).collect();
        self.check_veto(&groups)?;
        let rule = self.rule.definition();
        if rule.engine() != Engine::Ways {
            return Err(self.takes_no_veto());
        }
        let left = HeraldsLeft { query: self, herald, groups: &groups };
        let counts = ledger.counts(self.scope.range, &left)?.groups()?;
        let left = groups.into_iter().map(|channels| {
            let count = counts.get(&channels).copied().unwrap_or(0);
            u64::try_from(count).map_err(|_| Error::CountRange { channels })
        });
        left.collect()
    }

    fn takes_no_veto(&self) -> Error {
        let others = Rule::ALL.into_iter().filter(|rule| rule.definition().takes_veto());
        Error::VetoRule { rule: self.rule.name(), others: others.map(Rule::name).collect() }
    }

    fn check_veto(&self, groups: &[Vec<u16>]) -> Result<(), Error> {
        let Some(veto) = &self.veto else { return Ok(()) };
        let rule = self.rule.definition();
        if !rule.takes_veto() {
            return Err(self.takes_no_veto());
        }
        veto.check(self.window, groups)
    }
}

impl Countable for Coincidences {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { groups, rule, window, veto, scope } = self;
        let every = |size: usize| format!("every {size} {}", channels(scope));
        let asked = match (groups, rule) {
            _ if !self.counts_groups() => channels(scope),
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
        format!(
            "coincidences; rule {}; window {window}; {asked}{vetoed}{delays}",
            rule.definition().key()
        )
    }

    fn needs(&self) -> Needs {
        let guard = self.veto.as_ref().map_or(0, |veto| veto.guard);
        let rule = self.rule.definition();
        Needs {
            before: Some(rule.look_back(self.window, usize::MAX).saturating_add(guard)),
            // A veto forbids coincidences before it.
            after: rule.look_ahead(self.window).max(guard),
            // A match of a rule that uses tags up depends on all tags since the last gap that is wider than the window.
            gap: (rule.engine() != Engine::Ways).then_some(self.window),
            is_additive: true,
        }
    }

    fn nothing(&self) -> Counts {
        Counts::Groups(BTreeMap::new())
    }

    fn pairs(&self, facts: &Facts) -> Option<Pairs<'_>> {
        let Self { groups: _, rule: Rule::All, window, veto: None, scope } = self else {
            return None;
        };
        let groups = self.groups_in(facts).ok()?;
        let are_pairs = groups.iter().all(|group| group.len() == 2);
        are_pairs.then_some(Pairs { groups, window: *window, delays: &scope.delays })
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let query = self.over(range);
        let groups = query.groups_in(&recording.facts())?;
        let engine = self.rule.definition().engine();
        let mut counts = BTreeMap::new();
        let (mut left, mut still_open) = (Vec::new(), Vec::new());
        for part in GroupScan::all(&groups, query.condition()) {
            let found = match engine {
                Engine::Ways => part.count(recording, execution),
                Engine::Matches => {
                    let unused = before.and_then(|before| before.unused(&groups));
                    let (found, more) = once::once(&part, &groups, recording, unused, execution);
                    left.extend(more);
                    found
                }
                Engine::Clusters => {
                    let open = before.and_then(Partial::open);
                    let found = cluster::clusters(&part, recording, open, execution);
                    still_open = found.open;
                    counts.extend(found.sets);
                    continue;
                }
            };
            let of_part = part.groups.iter().map(|&group| groups[group].clone());
            counts.extend(of_part.zip(found));
        }
        let state = match engine {
            Engine::Ways => State::Nothing,
            Engine::Matches => State::Unused(left),
            Engine::Clusters => State::Open(still_open),
        };
        Ok((Counts::Groups(counts), state))
    }
}

/// The coincidences of the heralds that a veto leaves.
struct HeraldsLeft<'a> {
    query: &'a Coincidences,
    herald: u16,
    /// The herald with the channels of each list.
    groups: &'a [Vec<u16>],
}

impl Countable for HeraldsLeft<'_> {
    fn scope(&self) -> &Scope {
        &self.query.scope
    }

    fn key(&self) -> String {
        let listed: Vec<String> = self.groups.iter().map(|group| numbers(group)).collect();
        format!("heralds left by veto; {}; {}", listed.join(" "), self.query.key())
    }

    fn needs(&self) -> Needs {
        self.query.needs()
    }

    fn nothing(&self) -> Counts {
        self.query.nothing()
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let query = self.query.over(range);
        let mut counts = BTreeMap::new();
        for group in self.groups {
            // A herald without other channels is a complete coincidence by itself.
            let query = match &group[..] {
                [_] => Coincidences { rule: Rule::PerHerald, window: 0, ..query.clone() },
                _ => query.clone(),
            };
            let condition = Condition { vetoed: Some(self.herald), ..query.condition() };
            for part in GroupScan::all(std::slice::from_ref(group), condition) {
                counts.insert(group.clone(), part.count(recording, execution)[0]);
            }
        }
        Ok((Counts::Groups(counts), State::Nothing))
    }
}

/// Reads nine bytes per tag: once for pairs, once for larger groups, and once more for each additional 255
/// channels.
impl Kind for Coincidences {
    type Answer = Counted;

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), ..self.clone() }
    }

    fn check(&self, facts: &Facts) -> Result<(), Error> {
        if self.window < 0 {
            return Err(Error::NegativeWindow { window: self.window });
        }
        self.scope.check(facts)
    }

    fn answer(&self, ledger: &Ledger<'_>, counts: Counts) -> Result<Counted, Error> {
        let known = counts.groups()?;
        let mut groups = self.groups_in(ledger.facts())?;
        // The questions must not depend on the sets that are found, so that parts of a run are asked the same.
        let singles = SinglesInScope::new(ledger, &self.scope, groups::channels_of(&groups));
        if !self.counts_groups() {
            // By size, then by channels.
            groups = known.keys().cloned().collect();
            groups.sort_by_key(Vec::len);
        }
        let rows = groups.into_iter().map(|channels| {
            // A group that was not counted contains channels that had no tags.
            let count = known.get(&channels).copied().unwrap_or(0);
            let Ok(count) = u64::try_from(count) else {
                return Err(Error::CountRange { channels });
            };
            let sources = if self.is_expected() {
                singles.of_group_expected(ledger, &channels, self.pair_window())
            } else {
                singles.of_group(&channels)
            };
            Ok(GroupCount { channels, count, sources })
        });
        Ok(Counted { rows: rows.collect::<Result<_, _>>()?, singles })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error> {
        let (groups, scope) = (self.groups_in(&recording.facts())?, &self.scope);
        for part in GroupScan::all(&groups, self.condition()) {
            part.plan(recording, execution, plan);
        }
        // If delays differ, rows at the ends of sources are read, too.
        plan.is_at_least |= groups.iter().any(|group| {
            group.iter().any(|&channel| scope.delay_of(channel) != scope.delay_of(group[0]))
        });
        plan.read_singles(recording, &groups::channels_of(&groups), scope);
        Ok(())
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

    /// Returns the clusters that may take more tags.
    fn open(&self) -> Option<&[Open]> {
        if let State::Open(open) = &self.state { Some(open) } else { None }
    }
}
