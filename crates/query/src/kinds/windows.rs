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

use super::{
    histogram::{Bins, Histogram, Mode},
    kind::Kind as _,
};
use crate::{
    counters::{CountQuestion, Counter, Ledger, Pairs, Rank},
    error::Error,
    run::{
        Pass, counts::Counts, facts::Facts, recording::Recording, scope::Scope,
        time_range::TimeRange,
    },
};

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

    /// Returns the number of pairs of channels.
    pub fn pairs(&self) -> usize {
        self.edges.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Counts the differences of all pairs of channels.
    ///
    /// # Errors
    /// Errors of the histogram.
    pub fn count(&self, ledger: &Ledger<'_>) -> Result<Windows, Error> {
        let edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let count = |([start, stop], edges): ([u16; 2], BTreeSet<i64>)| {
            let edges: Vec<i64> = edges.into_iter().collect();
            let (bins, mode) = (Bins::Edges(edges.clone()), Mode::All);
            let scope = Scope::default();
            let query = Histogram { start, stop, bins, mode, fold: None, scope };
            let mut sum = 0;
            let mut below = vec![0];
            for count in query.ask(ledger)?.counts {
                sum += count;
                below.push(sum);
            }
            Ok(([start, stop], Cumulated { edges, below }))
        };
        edges.into_iter().map(count).collect::<Result<_, Error>>().map(Windows)
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
fn pairs_of<'a>(asked: &CountQuestion<'a>) -> Option<Pairs<'a>> {
    let is_whole = asked.source.is_none() && asked.range == TimeRange::default();
    asked.what.pairs().filter(|_| is_whole)
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
        let pairs = pairs_of(asked);
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
        let known = pairs_of(asked).and_then(|pairs| self.windows.counts(&pairs));
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
