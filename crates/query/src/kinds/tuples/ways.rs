//! Tuples by the rules that use no tag up: `all`, `herald`, each herald once, `grid`.
//!
//! At each time t at which a group has a tag, the tuples whose latest tag is at t are enumerated like an
//! odometer: one list per channel, cut to the times that a tag of such a tuple can have. While no tag at t is
//! chosen and no later channel has one, only the tags at t are visited, so that every turn yields a tuple.
//!
//! Channel 1 at 0 and 3, channel 2 at 5, window 5: at t = 5 the tuples (0, 5) and (3, 5) are listed.

use std::{collections::VecDeque, ops::ControlFlow};

use super::{
    batch::{Batches, ListedTag, Tuples},
    feed::{ChannelNumbers, Feed, FeedSource, Taken},
    vetoes::Vetoes,
    walk::Walker,
};
use crate::{
    rules::{
        definition::{Definition, Heralds},
        veto::Veto,
    },
    run::{scope::Scope, time_range::TimeRange},
};

/// The largest number of channels of a group.
const MOST: usize = 16;

/// The groups that every source is searched for.
pub(super) struct Ways {
    rule: &'static dyn Definition,
    window: i64,
    range: TimeRange,
    /// The groups as channel numbers.
    groups: Vec<Vec<usize>>,
    /// The groups that contain each number.
    groups_of: Vec<Vec<usize>>,
    /// The number of channels of the smallest group.
    fewest: usize,
}

impl Ways {
    pub(super) fn new(
        groups: &[Vec<u16>],
        wanted: &ChannelNumbers,
        rule: &'static dyn Definition,
        window: i64,
        range: TimeRange,
    ) -> Self {
        let in_numbers = |group: &Vec<u16>| group.iter().map(|&c| wanted.number(c)).collect();
        let groups: Vec<Vec<usize>> = groups.iter().map(in_numbers).collect();
        let mut groups_of = vec![Vec::new(); wanted.channels()];
        for (at, group) in groups.iter().enumerate() {
            for &number in group {
                groups_of[number].push(at);
            }
        }
        let fewest = groups.iter().map(Vec::len).min().unwrap_or(0);
        Self { rule, window, range, groups, groups_of, fewest }
    }

    /// Returns how far before the latest tag of a tuple its other tags can lie.
    pub(super) fn look_back(&self) -> i64 {
        self.rule.look_back(self.window, MOST)
    }

    /// Returns the largest distance between neighbouring tags of a tuple.
    pub(super) fn nearest(&self) -> i64 {
        self.rule.nearest(self.window)
    }
}

/// The tags of one channel that can still find partners.
#[derive(Default)]
struct List {
    tags: Vec<Taken>,
    start: usize,
}

impl List {
    fn push(&mut self, tag: Taken, first: i64) {
        self.forget_before(first);
        self.tags.push(tag);
    }

    fn forget_before(&mut self, first: i64) {
        while self.tags.get(self.start).is_some_and(|tag| tag.time < first) {
            self.start += 1;
        }
        if self.start > 1 << 10 && 2 * self.start > self.tags.len() {
            self.tags.drain(..self.start);
            self.start = 0;
        }
    }

    /// Returns the tags from `first` on.
    fn since(&self, first: i64) -> &[Taken] {
        since(&self.tags[self.start..], first)
    }
}

fn since(tags: &[Taken], first: i64) -> &[Taken] {
    &tags[tags.partition_point(|tag| tag.time < first)..]
}

/// The walk through one source.
pub(super) struct WaysOf<'a> {
    plan: &'a Ways,
    source: FeedSource<'a>,
    lists: Vec<List>,
    /// The times of the latest tags, as many as the smallest group has channels.
    latest: VecDeque<i64>,
    /// The groups that have a tag at the current time.
    touched: Vec<usize>,
    vetoes: Option<Vetoes<'a>>,
}

impl<'a> WaysOf<'a> {
    pub(super) fn new(
        plan: &'a Ways,
        source: FeedSource<'a>,
        veto: Option<&Veto>,
        scope: &Scope,
    ) -> Self {
        let vetoes = veto.map(|veto| {
            let mut vetoes = Vetoes::new(source, veto, scope);
            if let Some(from) = plan.range.from {
                vetoes.start_at(from.saturating_sub(plan.look_back()));
            }
            vetoes
        });
        let lists = plan.groups_of.iter().map(|_| List::default()).collect();
        let (latest, touched) = (VecDeque::new(), Vec::new());
        Self { plan, source, lists, latest, touched, vetoes }
    }

    /// Lists the tuples of one group whose latest tag is at `time`.
    fn group(
        &mut self,
        at: usize,
        time: i64,
        batches: &mut Batches<'_, Tuples>,
    ) -> ControlFlow<()> {
        let plan = self.plan;
        let group = &plan.groups[at];
        let [first, first_herald] = plan.rule.first_times(time, plan.window);
        if group.iter().any(|&number| self.lists[number].since(first).is_empty()) {
            return ControlFlow::Continue(());
        }
        let floor = match &mut self.vetoes {
            None => i64::MIN,
            Some(vetoes) => match vetoes.floor(time) {
                Some(floor) => floor,
                None => return ControlFlow::Continue(()),
            },
        };
        let mut lists: [&[Taken]; MOST] = [&[]; MOST];
        for (place, (&number, list)) in group.iter().zip(&mut lists).enumerate() {
            let first = if place == 0 { first_herald } else { first };
            *list = self.lists[number].since(first.max(floor));
            if list.is_empty() {
                return ControlFlow::Continue(());
            }
        }
        let mut has_later = [false; MOST + 1];
        for place in (0..group.len()).rev() {
            let is_here = lists[place].last().is_some_and(|tag| tag.time == time);
            has_later[place] = has_later[place + 1] || is_here;
        }
        let nothing = Taken { time: 0, row: 0, number: 0 };
        let mut turn = Turn {
            heralds: plan.rule.heralds(),
            window: plan.window,
            source: self.source,
            group: at,
            time,
            len: group.len(),
            lists,
            has_later,
            chosen: [nothing; MOST],
            batches,
        };
        match turn.heralds {
            Heralds::Once => turn.choose_heralds(floor),
            Heralds::None | Heralds::Every => turn.choose(0, false),
        }
    }
}

impl Walker for WaysOf<'_> {
    type Batch = Tuples;

    fn step(&mut self, feed: &mut Feed<'_>, batches: &mut Batches<'_, Tuples>) -> ControlFlow<()> {
        let plan = self.plan;
        let Some(Taken { time, .. }) = feed.peek() else { return ControlFlow::Continue(()) };
        let [first, _] = plan.rule.first_times(time, plan.window);
        self.touched.clear();
        while let Some(tag) = feed.peek().filter(|tag| tag.time == time) {
            feed.advance();
            let number = tag.number as usize;
            self.lists[number].push(tag, first);
            self.touched.extend(&plan.groups_of[number]);
            self.latest.push_back(time);
        }
        while self.latest.len() > plan.fewest {
            self.latest.pop_front();
        }
        let is_enough = self.latest.len() == plan.fewest && self.latest[0] >= first;
        if !plan.range.contains(time) || !is_enough {
            return ControlFlow::Continue(());
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        for touched in 0..self.touched.len() {
            self.group(self.touched[touched], time, batches)?;
        }
        ControlFlow::Continue(())
    }
}

/// The enumeration of the tuples of one group at one time.
struct Turn<'a, 'b, 's> {
    heralds: Heralds,
    window: i64,
    source: FeedSource<'a>,
    group: usize,
    time: i64,
    /// The number of channels of the group.
    len: usize,
    lists: [&'a [Taken]; MOST],
    /// Whether a channel from this place on has a tag at the time.
    has_later: [bool; MOST + 1],
    chosen: [Taken; MOST],
    batches: &'b mut Batches<'s, Tuples>,
}

impl Turn<'_, '_, '_> {
    /// Visits the tags of the channel at `place`; `has_latest` says whether a tag at the time was already
    /// chosen.
    fn choose(&mut self, place: usize, has_latest: bool) -> ControlFlow<()> {
        if place == self.len {
            return self.add();
        }
        let mut list = self.lists[place];
        if self.heralds == Heralds::Every {
            match place {
                // Another channel has no tag in the window of a later herald.
                0 => list = &list[..list.partition_point(|tag| tag.time <= self.last_herald())],
                _ => list = since(list, self.chosen[0].time.saturating_sub(self.window)),
            }
        }
        if !has_latest && !self.has_later[place + 1] {
            list = since(list, self.time);
        }
        for &tag in list {
            self.chosen[place] = tag;
            self.choose(place + 1, has_latest || tag.time == self.time)?;
        }
        ControlFlow::Continue(())
    }

    /// Finds the heralds whose first way completes at the time, each with its first tags.
    fn choose_heralds(&mut self, floor: i64) -> ControlFlow<()> {
        // Earlier heralds were complete before the time, unless a channel with a tag at the time had none in
        // their window.
        let mut first = self.time;
        for list in &self.lists[1..self.len] {
            let before = list.partition_point(|tag| tag.time < self.time);
            if before == list.len() {
                continue;
            }
            let needed = match before.checked_sub(1) {
                Some(before) => list[before].time.saturating_add(self.window).saturating_add(1),
                None => i64::MIN,
            };
            first = first.min(needed);
        }
        let heralds = since(self.lists[0], first);
        let last = self.last_herald();
        for &herald in &heralds[..heralds.partition_point(|tag| tag.time <= last)] {
            self.chosen[0] = herald;
            let near = herald.time.saturating_sub(self.window).max(floor);
            for place in 1..self.len {
                // There is such a tag: the herald is not after the last one.
                self.chosen[place] = since(self.lists[place], near)[0];
            }
            self.add()?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the last time that a herald can have and still be near a tag of each other channel.
    fn last_herald(&self) -> i64 {
        let last = |list: &&[Taken]| list.last().map(|tag| tag.time);
        let others = self.lists[1..self.len].iter().filter_map(last).min();
        others.unwrap_or(i64::MIN).saturating_add(self.window)
    }

    fn add(&mut self) -> ControlFlow<()> {
        let Self { group, time, source, .. } = *self;
        let tags = self.chosen[..self.len].iter();
        let tags = tags.map(|tag| -> ListedTag { source.listed(tag.row) });
        self.batches.add(|batch| batch.push(group, time, tags))
    }
}
