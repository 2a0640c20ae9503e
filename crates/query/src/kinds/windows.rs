//! The pairs of several windows and delays, from one pass over their differences.
//!
//! A pair lies in a window of w ticks if its difference is from −w to w. The counts of several windows, and of
//! delays, which move the differences, are sums of the bins of one histogram whose edges are those of all windows.
//!
//! Windows of 2 and 5 ticks: the edges are −5, −2, 3 and 6, and the pairs of window 2 are those from −2 to below 3.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use super::histogram::{Bins, Histogram, Mode};
use crate::{
    counters::{CountQuestion, Countable, Counter, Ledger, Needs, Pairs, Rank},
    error::Error,
    partial::{Partial, State},
    rules::{
        rule::Rule,
        ways::part::{Condition, GroupScan},
    },
    run::{
        Pass, counts::Counts, facts::Facts, recording::Recording, scope::Scope,
        time_range::TimeRange,
    },
    scan::{morsels::Execution, route::DIFFERENCES_WITHIN},
};

/// Where many tags are close, the differences of a pair of channels are counted in the time of so many counts of all
/// pairs within one window.
const PASSES: usize = 2;

/// The windows that several queries ask of a run: collected from their questions, which get no counts.
#[derive(Debug)]
pub struct WindowPlan {
    facts: Facts,
    /// The edges of the differences of each pair of channels.
    edges: Mutex<BTreeMap<[u16; 2], BTreeSet<i64>>>,
}

/// The counts of the windows of a plan.
#[derive(Debug, Default)]
pub struct Windows(BTreeMap<[u16; 2], Cumulated>);

/// The differences of a pair of channels.
#[derive(Debug)]
struct Cumulated {
    edges: Vec<i64>,
    /// The number of pairs with a difference from the first edge to below this one.
    below: Vec<u64>,
}

/// Counts the differences of pairs of channels, each in bins of its own.
#[derive(Debug)]
struct DifferencesOfPairs {
    /// The edges of each pair, ascending, at least two.
    edges: BTreeMap<[u16; 2], Vec<i64>>,
    scope: Scope,
}

/// Answers from the counts of windows if they have the pairs that a question asks for, and else from another counter.
#[derive(Debug)]
pub struct OverWindows<'a> {
    windows: &'a Windows,
    inner: &'a dyn Counter,
}

impl WindowPlan {
    /// Creates an empty plan for a run with these facts.
    pub fn new(facts: Facts) -> Self {
        Self { facts, edges: Mutex::default() }
    }

    /// Returns in the time of how many counts of all pairs within one window the pairs of all windows are counted;
    /// `None` if there are none.
    pub fn passes(&self) -> Option<usize> {
        let differences = self.differences();
        let pairs = differences.edges.len();
        let passes = if differences.are_together(&self.facts) { 1 } else { PASSES * pairs };
        (pairs > 0).then_some(passes)
    }

    /// Counts the differences of all pairs of channels.
    ///
    /// # Errors
    /// Errors of the counts.
    pub fn count(&self, ledger: &Ledger<'_>) -> Result<Windows, Error> {
        let what = self.differences();
        let (counts, _) = ledger.counts(TimeRange::default(), &what)?.bins(what.len())?;
        let mut counts = counts.into_iter();
        let cumulated = what.edges.into_iter().map(|(channels, edges)| {
            let mut below = vec![0];
            let mut sum = 0_u64;
            for count in counts.by_ref().take(edges.len() - 1) {
                sum = sum
                    .checked_add(count)
                    .ok_or(Error::CountRange { channels: channels.into() })?;
                below.push(sum);
            }
            Ok((channels, Cumulated { edges, below }))
        });
        cumulated.collect::<Result<_, Error>>().map(Windows)
    }

    fn differences(&self) -> DifferencesOfPairs {
        let edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        let edges = edges.iter().map(|(&pair, edges)| (pair, edges.iter().copied().collect()));
        DifferencesOfPairs { edges: edges.collect(), scope: Scope::default() }
    }
}

impl DifferencesOfPairs {
    /// Returns the number of bins.
    fn len(&self) -> usize {
        self.edges.values().map(|edges| edges.len() - 1).sum()
    }

    /// Returns the largest difference, with any sign; at most the largest number.
    fn reach(&self) -> i64 {
        let ends = self.edges.values().flat_map(|edges| [edges[0], edges[edges.len() - 1]]);
        ends.map(i64::saturating_abs).max().unwrap_or(0)
    }

    /// Returns whether the differences of all pairs are counted in one pass: where few tags are close.
    fn are_together(&self, facts: &Facts) -> bool {
        let reach = self.reach() as f64;
        self.edges.len() > 1
            && facts.iter().all(|source| {
                let tags: u64 = source.singles.iter().map(|single| single.rows).sum();
                let ticks = source.span().map_or(0, |(first, last)| first.abs_diff(last));
                tags as f64 * reach <= DIFFERENCES_WITHIN * ticks as f64
            })
    }

    /// Counts each pair by itself.
    fn one_by_one(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        execution: &Execution,
    ) -> Result<Vec<u64>, Error> {
        let mut all = Vec::with_capacity(self.len());
        for (&[start, stop], edges) in &self.edges {
            let (bins, mode) = (Bins::Edges(edges.clone()), Mode::All);
            let query =
                Histogram { start, stop, bins, mode, fold: None, scope: self.scope.clone() };
            let (counts, _) = query.count(recording, range, None, execution)?;
            all.extend(counts.bins(edges.len() - 1)?.0);
        }
        Ok(all)
    }

    /// Counts all pairs in one pass.
    fn together(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        execution: &Execution,
    ) -> Result<Vec<u64>, Error> {
        let groups: Vec<Vec<u16>> = self.edges.keys().map(|channels| channels.to_vec()).collect();
        let edges: Vec<&[i64]> = self.edges.values().map(|edges| &edges[..]).collect();
        let scope = self.scope.over(range);
        let rule = Rule::All.definition();
        let condition =
            Condition { rule, window: self.reach(), veto: None, vetoed: None, scope: &scope };
        let mut of_groups = vec![Vec::new(); groups.len()];
        for part in GroupScan::all(&groups, condition) {
            let part = part.in_bins(&edges);
            let mut counts = part.count(recording, execution).into_iter();
            for &group in &part.groups {
                for count in counts.by_ref().take(edges[group].len() - 1) {
                    let channels = || groups[group].clone();
                    let count = u64::try_from(count);
                    of_groups[group]
                        .push(count.map_err(|_| Error::CountRange { channels: channels() })?);
                }
            }
        }
        Ok(of_groups.concat())
    }
}

impl Countable for DifferencesOfPairs {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> String {
        let mut of_edges = BTreeMap::<&[i64], Vec<String>>::new();
        for ([one, other], edges) in &self.edges {
            of_edges.entry(edges).or_default().push(format!("{one},{other}"));
        }
        let of_edges = of_edges.into_iter().map(|(edges, pairs)| {
            let edges: Vec<String> = edges.iter().map(i64::to_string).collect();
            format!("; {} from {}", pairs.join(" "), edges.join(" "))
        });
        format!("differences of pairs{}", of_edges.collect::<String>())
    }

    fn needs(&self) -> Needs {
        Needs { before: Some(self.reach()), after: 0, gap: None, is_additive: true }
    }

    fn nothing(&self) -> Counts {
        Counts::Bins(vec![0; self.len()], 0)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let counts = if self.are_together(&recording.facts()) {
            self.together(recording, range, execution)?
        } else {
            self.one_by_one(recording, range, execution)?
        };
        Ok((Counts::Bins(counts, 0), State::Nothing))
    }
}

impl Windows {
    /// Returns a counter that answers from these counts where it can, and else from `inner`, a counter of the same
    /// run.
    pub fn over<'a>(&'a self, inner: &'a dyn Counter) -> OverWindows<'a> {
        OverWindows { windows: self, inner }
    }

    fn counts(&self, pairs: &Pairs<'_>) -> Option<Counts> {
        let count = |group: &Vec<u16>| {
            let (channels, [low, high]) = ends(pairs, group)?;
            let Cumulated { edges, below } = self.0.get(&channels)?;
            let at = |edge: i64| Some(below[edges.binary_search(&edge).ok()?]);
            Some((group.clone(), u128::from(at(high)? - at(low)?)))
        };
        Some(Counts::Groups(pairs.groups.iter().map(count).collect::<Option<_>>()?))
    }
}

/// Returns the pairs of a question that windows can answer; only questions about the whole run are.
fn pairs_of<'a>(asked: &CountQuestion<'a>, facts: &Facts) -> Option<Pairs<'a>> {
    let is_whole = asked.source.is_none() && asked.range == TimeRange::default();
    is_whole.then(|| asked.what.pairs(facts)).flatten()
}

/// Returns the two channels of a group in ascending order, and the edges of its window: the first difference, and the
/// one after the last.
fn ends(pairs: &Pairs<'_>, group: &[u16]) -> Option<([u16; 2], [i64; 2])> {
    let &[one, other] = group else { return None };
    let channels = [one.min(other), one.max(other)];
    let delay = |channel: u16| {
        let found = pairs.delays.iter().find(|delay| delay.channel == channel);
        found.map_or(0, |delay| delay.ticks)
    };
    let moved = delay(channels[1]).checked_sub(delay(channels[0]))?;
    let low = pairs.window.checked_neg()?.checked_sub(moved)?;
    let high = pairs.window.checked_sub(moved)?.checked_add(1)?;
    (one != other).then_some((channels, [low, high]))
}

impl Counter for WindowPlan {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error> {
        let pairs = pairs_of(asked, &self.facts);
        let groups = pairs.iter().flat_map(|pairs| pairs.groups.iter().map(move |of| (pairs, of)));
        for (channels, edges) in groups.filter_map(|(pairs, group)| ends(pairs, group)) {
            // Sync pulses that are no tags count in histograms, and in no pair.
            let has_pulses = |&channel: &u16| {
                self.facts.iter().any(|source| source.pulses_of(channel).is_some())
            };
            if !channels.iter().any(has_pulses) {
                let mut all = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
                all.entry(channels).or_default().extend(edges);
            }
        }
        Ok(asked.what.nothing())
    }

    fn tags(&self, _: u32, _: &[u16], _: TimeRange, _: &mut [u64]) {}

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Counter for OverWindows<'_> {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error> {
        let pairs = pairs_of(asked, &self.inner.facts());
        let known = pairs.and_then(|pairs| self.windows.counts(&pairs));
        known.map_or_else(|| self.inner.counts(asked), Ok)
    }

    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, counts: &mut [u64]) {
        self.inner.tags(source, channels, range, counts);
    }

    fn rank(&self, source: u32, channel: u16, time: i64, near: Rank) -> Rank {
        self.inner.rank(source, channel, time, near)
    }

    fn expect_ends(&self, source: u32, times: &mut dyn Iterator<Item = i128>) {
        self.inner.expect_ends(source, times);
    }

    fn pass(&self, range: TimeRange, is_silent: bool) -> Pass<'_> {
        self.inner.pass(range, is_silent)
    }

    fn recording(&self) -> Option<&Recording<'_>> {
        self.inner.recording()
    }

    fn check(&self) -> Result<(), Error> {
        self.inner.check()
    }
}
