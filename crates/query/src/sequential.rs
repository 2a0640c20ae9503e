//! Rules that use tags up: what one tag takes depends on what came before it.
//!
//! Both rules start afresh at a gap wider than the window between neighbouring tags of the channels
//! they look at. A morsel counts from the first gap at or behind its start to the first gap at or
//! behind its end; without a gap inside it, it counts nothing, and the morsel before goes on through
//! it. So the answer does not depend on where the morsels begin.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rayon::prelude::*;

use crate::{
    Acquisition, Execution, Pass, Pieces, Recording, Scope, Simd, TimeRange,
    groups::Part,
    level::{self, MASK_ROWS},
    partial::{Open, Unused},
    plan::{PlannedScan, numbered},
    scan::{Interval, intervals},
    select::{Buffers, Selected, Selection, keep_only},
    veto::Guard,
};

/// Rows of a morsel.
const ROWS: usize = 1 << 16;

/// A rule that sees the tags of some channels one after the other.
pub(crate) trait Machine: Clone + Send + Sync {
    /// What it counts.
    type Counts: Default + Send;

    /// Whether it looks at tags of this dense number.
    fn sees(&self, number: u8) -> bool;

    /// Takes tags, a bit each in the masks, that are further than the window from all others it can see.
    fn push_alone(&self, tags: Selected<'_>, alone: &[u64], counts: &mut Self::Counts);

    /// Takes the next tag that it looks at, of those that are not alone.
    fn push(&mut self, time: i64, number: u8, counts: &mut Self::Counts);

    /// No more tags come.
    fn finish(&mut self, counts: &mut Self::Counts);
}

/// What machines made of a source.
pub(crate) struct Outcome<M: Machine> {
    /// What each piece of work counted, machine by machine.
    pub counts: Vec<Vec<M::Counts>>,
    /// Each machine as the end of the range found it, not finished; nothing without a tag.
    pub ends: Vec<Option<M>>,
}

/// Where machines begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Anew, at a gap before the range.
    Fresh,
    /// At the begin of the range, as the tags before it have left them.
    Resumed,
}

/// Which tags machines are to see.
pub(crate) struct Way<'a> {
    pub selection: &'a Selection,
    pub window: i64,
    pub range: TimeRange,
    pub start: Start,
    pub pass: Pass<'a>,
}

/// Runs machines over the tags of a source up to the end of the range. They see tags before it, too,
/// unless they are resumed.
pub(crate) fn run<M: Machine>(
    machines: &[M],
    way: &Way<'_>,
    source: &Acquisition<'_>,
    execution: &Execution,
) -> Outcome<M> {
    let &Way { selection, window, range, start, pass } = way;
    let from = range.from.filter(|_| start == Start::Resumed);
    let cut = TimeRange { from, to: range.to };
    let morsels = Morsels::new(source, selection, window, cut, execution);
    let needed = match start {
        Start::Fresh => morsels.needed(machines, &range),
        Start::Resumed => 0..morsels.intervals.len(),
    };
    let pieces = pass.over(source).in_pieces(needed.len());
    let zero = || machines.iter().map(|_| M::Counts::default()).collect::<Vec<_>>();
    let none = || machines.iter().map(|_| None).collect::<Vec<_>>();
    let pieces: Vec<_> = needed
        .into_par_iter()
        .fold(
            || (zero(), none(), Buffers::default(), Vec::new()),
            |(mut counts, mut ends, mut buffers, mut alone), at| {
                if pieces.begin().is_ok() {
                    let outcome = (&mut counts[..], &mut ends[..]);
                    morsels.run(at, machines, outcome, &mut buffers, &mut alone, &pieces);
                }
                (counts, ends, buffers, alone)
            },
        )
        .map(|(counts, ends, ..)| (counts, ends))
        .collect();
    let mut outcome = Outcome { counts: Vec::new(), ends: none() };
    for (counts, ends) in pieces {
        outcome.counts.push(counts);
        // Only the runner behind the last gap reaches the end.
        for (known, end) in outcome.ends.iter_mut().zip(ends) {
            *known = known.take().or(end);
        }
    }
    outcome
}

/// A source, cut into morsels.
struct Morsels<'a> {
    source: &'a Acquisition<'a>,
    selection: &'a Selection,
    window: i64,
    intervals: Vec<Interval>,
    simd: Simd,
}

/// A machine on its way through a morsel and beyond.
struct Runner<M> {
    machine: M,
    /// The last tag that it looked at.
    before: Option<i64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No gap yet: the tags are another morsel's.
    Waiting,
    Running,
    Done,
}

impl<'a> Morsels<'a> {
    fn new(
        source: &'a Acquisition<'a>,
        selection: &'a Selection,
        window: i64,
        cut: TimeRange,
        execution: &Execution,
    ) -> Self {
        let rows = execution.morsel_rows.unwrap_or(ROWS).max(1);
        let (time, delays) = (source.tags.time, selection.delays());
        let intervals = intervals(time, rows, &delays, cut);
        Self { source, selection, window, intervals, simd: execution.simd }
    }

    /// Adds what [`run`] takes: each morsel, and where it does not end in a gap, those behind it.
    fn plan<M: Machine>(
        &self,
        machines: &[M],
        range: &TimeRange,
        first: u64,
        scan: &mut PlannedScan,
    ) {
        let needed = self.needed(machines, range);
        scan.morsels += needed.len();
        for at in needed {
            let own = self.intervals[at].looking_back(self.window);
            // No machine knows that it has come to a gap before it sees the tag behind it.
            for interval in [Some(&own), self.intervals.get(at + 1)].into_iter().flatten() {
                let stretches = self.selection.stretches(self.source.tags.time, *interval);
                scan.take_all(first, stretches);
            }
        }
    }

    /// The morsels that can count something in `range`.
    fn needed<M: Machine>(&self, machines: &[M], range: &TimeRange) -> std::ops::Range<usize> {
        let end = self.intervals.len();
        let Some(from) = range.from else { return 0..end };
        let mut start =
            self.intervals.partition_point(|interval| interval.start <= from).saturating_sub(1);
        // What began before the range may reach into it, from the last gap of each machine on.
        let mut buffers = Buffers::default();
        while start > 0 && !self.has_gaps(start, machines, from, &mut buffers) {
            start -= 1;
        }
        start..end.max(start)
    }

    /// Whether every machine starts afresh in morsel `at`, no later than `limit`.
    fn has_gaps<M: Machine>(
        &self,
        at: usize,
        machines: &[M],
        limit: i64,
        buffers: &mut Buffers,
    ) -> bool {
        let interval = self.intervals[at];
        let tags = self.first_tags(&interval, buffers);
        machines.iter().all(|machine| {
            let mut before = None;
            let has_gap = tags.time.iter().zip(tags.number).any(|(&time, &number)| {
                if !machine.sees(number) || time > limit {
                    return false;
                }
                let is_gap = time >= interval.start && self.is_gap(before, time);
                before = Some(time);
                is_gap
            });
            has_gap || before.is_none()
        })
    }

    fn run<M: Machine>(
        &self,
        at: usize,
        machines: &[M],
        (counts, ends): (&mut [M::Counts], &mut [Option<M>]),
        buffers: &mut Buffers,
        alone: &mut Vec<u64>,
        pieces: &Pieces<'_>,
    ) {
        // What comes before the first morsel, if anything, is in the machine already.
        let state = if at == 0 { State::Running } else { State::Waiting };
        let mut runners: Vec<Runner<M>> = machines
            .iter()
            .map(|machine| Runner { machine: machine.clone(), before: None, state })
            .collect();
        let interval = self.intervals[at];
        let tags = self.first_tags(&interval, buffers);
        self.find_alone(tags.time, interval.start, alone);
        for (runner, counts) in runners.iter_mut().zip(&mut *counts) {
            runner.machine.push_alone(tags, alone, counts);
            let mut take = |time: i64, number: u8| {
                if !runner.machine.sees(number) {
                    return;
                }
                if runner.state == State::Waiting
                    && time >= interval.start
                    && self.is_gap(runner.before, time)
                {
                    runner.state = State::Running;
                }
                if runner.state == State::Running && time >= interval.start {
                    runner.machine.push(time, number, counts);
                }
                runner.before = Some(time);
            };
            let steps = tags.time.chunks(MASK_ROWS).zip(tags.number.chunks(MASK_ROWS));
            for ((times, numbers), &alone) in steps.zip(&*alone) {
                if alone == 0 {
                    times.iter().zip(numbers).for_each(|(&time, &number)| take(time, number));
                    continue;
                }
                for row in bits(!alone).take_while(|&row| row < times.len()) {
                    take(times[row], numbers[row]);
                }
            }
        }
        for &interval in &self.intervals[at + 1..] {
            let is_over = runners.iter().all(|runner| runner.state != State::Running);
            if is_over || pieces.is_cancelled() {
                break;
            }
            let tags = self.selection.select(self.simd, self.source, interval, buffers);
            for (runner, counts) in runners.iter_mut().zip(&mut *counts) {
                self.go_on(runner, tags, counts);
            }
        }
        for ((mut runner, counts), end) in runners.into_iter().zip(counts).zip(ends) {
            match runner.state {
                State::Waiting => {}
                State::Done => runner.machine.finish(counts),
                State::Running => *end = Some(runner.machine),
            }
        }
    }

    /// A bit for each row from time `start` on that is further than the window from the rows around it.
    /// There is a gap on both sides of it, so that it belongs to this morsel, and no machine need go
    /// through it. The last row is not told, since what comes behind it is not known.
    fn find_alone(&self, time: &[i64], start: i64, alone: &mut Vec<u64>) {
        alone.resize(time.len().div_ceil(MASK_ROWS), 0);
        // What a selection gives is in order.
        let _: Option<()> = level::near(self.simd, time, 1, self.window, alone, false);
        let mut before = 0;
        for near in &mut *alone {
            let last = *near >> (MASK_ROWS - 1);
            *near = !(*near | *near << 1 | before);
            before = last;
        }
        let owned = time.partition_point(|&time| time < start);
        keep_only(alone, owned..time.len().saturating_sub(1).max(owned));
    }

    /// Takes tags behind the morsel, up to the first gap.
    fn go_on<M: Machine>(
        &self,
        runner: &mut Runner<M>,
        tags: Selected<'_>,
        counts: &mut M::Counts,
    ) {
        if runner.state != State::Running {
            return;
        }
        for (&time, &number) in tags.time.iter().zip(tags.number) {
            if !runner.machine.sees(number) {
                continue;
            }
            if self.is_gap(runner.before, time) {
                runner.state = State::Done;
                return;
            }
            runner.machine.push(time, number, counts);
            runner.before = Some(time);
        }
    }

    /// The tags of an interval, and those one window before it.
    fn first_tags<'b>(&self, interval: &Interval, buffers: &'b mut Buffers) -> Selected<'b> {
        let interval = interval.looking_back(self.window);
        self.selection.select(self.simd, self.source, interval, buffers)
    }

    fn is_gap(&self, before: Option<i64>, time: i64) -> bool {
        before.is_none_or(|before| time - before > self.window)
    }
}

/// The places of the bits that are set, ascending.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(place)
    })
}

/// Rule `once` for one group: the earliest unused tag of each channel, if they lie within the window,
/// count and are used up; else the earliest is dropped.
#[derive(Clone)]
pub(crate) struct Once<'a> {
    /// The place of each dense number in the group; [`NOT_SEEN`] for the others.
    place_of: &'a [u8; 256],
    window: i64,
    range: TimeRange,
    veto: Option<Guard<'a>>,
    /// Unused tags of each channel that can still find partners.
    unused: Vec<VecDeque<i64>>,
}

/// The place of a number that a machine does not look at.
pub(crate) const NOT_SEEN: u8 = u8::MAX;

impl<'a> Once<'a> {
    /// `channels` of them have a place below that number in `place_of`.
    pub(crate) fn new(
        place_of: &'a [u8; 256],
        channels: usize,
        window: i64,
        range: TimeRange,
        veto: Option<Guard<'a>>,
    ) -> Self {
        Self { place_of, window, range, veto, unused: vec![VecDeque::new(); channels] }
    }
}

impl Once<'_> {
    /// What tags from `to` on can still be matched with.
    fn left_at(self, to: i64, source: u32, group: &[u16]) -> Option<Unused> {
        let oldest = to.saturating_sub(self.window);
        let is_near = |time: &i64| *time >= oldest;
        let times: Vec<Vec<i64>> = self
            .unused
            .into_iter()
            .map(|unused| unused.into_iter().filter(is_near).collect())
            .collect();
        let is_empty = times.iter().all(Vec::is_empty);
        (!is_empty).then(|| Unused { source, group: group.to_vec(), times })
    }
}

impl Machine for Once<'_> {
    type Counts = u64;

    fn sees(&self, number: u8) -> bool {
        self.place_of[usize::from(number)] != NOT_SEEN
    }

    /// No coincidence has only one tag.
    fn push_alone(&self, _: Selected<'_>, _: &[u64], _: &mut u64) {}

    fn push(&mut self, time: i64, number: u8, count: &mut u64) {
        let oldest = time.saturating_sub(self.window);
        let mut is_complete = true;
        let place = usize::from(self.place_of[usize::from(number)]);
        for (channel, unused) in self.unused.iter_mut().enumerate() {
            while unused.front().is_some_and(|&unused| unused < oldest) {
                unused.pop_front();
            }
            is_complete &= channel == place || !unused.is_empty();
        }
        self.unused[place].push_back(time);
        if is_complete {
            let used = self.unused.iter_mut().filter_map(VecDeque::pop_front);
            let earliest = used.min().unwrap_or(time);
            let is_vetoed = self.veto.as_mut().is_some_and(|veto| veto.forbids(earliest, time));
            *count += u64::from(self.range.contains(time) && !is_vetoed);
        }
    }

    fn finish(&mut self, _: &mut u64) {}
}

/// Rule `cluster`: a cluster opens at the first tag behind the one before, and takes every tag up to
/// the window behind it.
#[derive(Clone)]
pub(crate) struct Clusters {
    window: i64,
    range: TimeRange,
    /// The first time of the open cluster, and a bit for each dense number in it.
    open: Option<(i64, u64)>,
}

/// How often each set of dense numbers, a bit for each, was a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    /// Of the sets of the first numbers.
    few: Vec<u64>,
    others: HashMap<u64, u64>,
}

/// Sets of so many of the first numbers are counted in a table of 32 KiB.
const FEW: u32 = 12;

impl Clusters {
    pub(crate) fn new(window: i64, range: TimeRange) -> Self {
        Self { window, range, open: None }
    }
}

impl Machine for Clusters {
    type Counts = Sets;

    fn sees(&self, number: u8) -> bool {
        number < 64
    }

    fn push_alone(&self, tags: Selected<'_>, alone: &[u64], sets: &mut Sets) {
        let inside = |limit: Option<i64>, open| {
            limit.map_or(open, |limit| tags.time.partition_point(|&time| time < limit))
        };
        let rows = inside(self.range.from, 0)..inside(self.range.to, tags.time.len());
        let mut counts = [0_u64; 64];
        let steps = tags.number.chunks(MASK_ROWS).zip(alone).enumerate();
        for (step, (numbers, &alone)) in steps {
            let mut alone = [alone];
            let first = step * MASK_ROWS;
            let from = |row: usize| row.saturating_sub(first);
            keep_only(&mut alone, from(rows.start)..from(rows.end));
            for row in bits(alone[0]) {
                counts[usize::from(numbers[row]) % 64] += 1;
            }
        }
        for (number, count) in counts.into_iter().enumerate().filter(|&(_, count)| count > 0) {
            sets.add(1 << number, count);
        }
    }

    fn push(&mut self, time: i64, number: u8, sets: &mut Sets) {
        match &mut self.open {
            Some((first, set)) if time - *first <= self.window => *set |= 1 << number,
            _ => {
                self.finish(sets);
                self.open = Some((time, 1 << number));
            }
        }
    }

    fn finish(&mut self, sets: &mut Sets) {
        if let Some((first, set)) = self.open.take()
            && self.range.contains(first)
        {
            sets.add(set, 1);
        }
    }
}

impl Default for Sets {
    fn default() -> Self {
        Self { few: vec![0; 1 << FEW], others: HashMap::new() }
    }
}

impl Sets {
    fn add(&mut self, set: u64, count: u64) {
        match usize::try_from(set).ok().and_then(|set| self.few.get_mut(set)) {
            Some(few) => *few += count,
            None => *self.others.entry(set).or_default() += count,
        }
    }

    /// All sets that occurred, and how often.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let few = (0..).zip(self.few.iter().copied()).filter(|&(_, count)| count > 0);
        few.chain(self.others.iter().map(|(&set, &count)| (set, count)))
    }
}

/// The answer of rule `once`, group by group, over all sources, from where `before` ends; and the tags
/// left unused at the end of the range.
pub(crate) fn once(
    part: &Part,
    groups: &[Vec<u16>],
    recording: &Recording<'_>,
    before: Option<&[Unused]>,
    execution: &Execution,
) -> (Vec<u128>, Vec<Unused>) {
    let places: Vec<[u8; 256]> = part.numbered.iter().map(|group| places(group)).collect();
    let (window, range) = (part.window, part.scope.range);
    let start = if before.is_some() { Start::Resumed } else { Start::Fresh };
    let pass = recording.pass(range);
    let way = Way { selection: &part.selection, window, range, start, pass };
    let mut total = vec![0_u128; part.groups.len()];
    let mut left = Vec::new();
    for (number, source) in (0..).zip(&recording.sources) {
        let asked = || part.groups.iter().map(|&at| &groups[at]);
        let mut machines = machines(part, &places, source);
        for (machine, group) in machines.iter_mut().zip(asked()) {
            let mut known = before.unwrap_or(&[]).iter();
            if let Some(known) = known.find(|u| u.source == number && u.group == *group) {
                let times = known.times.iter().map(|times| times.iter().copied().collect());
                machine.unused = times.collect();
            }
        }
        let outcome = run(&machines, &way, source, execution);
        for counts in outcome.counts {
            total.iter_mut().zip(counts).for_each(|(total, count)| *total += u128::from(count));
        }
        let Some(to) = range.to else { continue };
        for (group, end) in asked().zip(outcome.ends) {
            left.extend(end.and_then(|machine| machine.left_at(to, number, group)));
        }
    }
    (total, left)
}

/// What [`once`] takes.
pub(crate) fn plan_once(
    part: &Part,
    recording: &Recording<'_>,
    execution: &Execution,
) -> PlannedScan {
    let places: Vec<[u8; 256]> = part.numbered.iter().map(|group| places(group)).collect();
    let [_, name] = part.method.names();
    let mut scan = PlannedScan::new(name, part.groups.len());
    scan.is_at_least = true;
    for (first, source) in numbered(recording) {
        let cut = TimeRange { from: None, to: part.scope.range.to };
        let morsels = Morsels::new(source, &part.selection, part.window, cut, execution);
        morsels.plan(&machines(part, &places, source), &part.scope.range, first, &mut scan);
    }
    scan
}

/// What [`clusters`] takes.
pub(crate) fn plan_clusters(
    recording: &Recording<'_>,
    channels: &[u16],
    window: i64,
    scope: &Scope,
    execution: &Execution,
) -> PlannedScan {
    let delays: Vec<i64> = channels.iter().map(|&channel| scope.delay_of(channel)).collect();
    let selection = Selection::new(channels, &delays);
    let mut scan = PlannedScan::new("clusters, channels taken out", channels.len());
    scan.is_at_least = true;
    for (first, source) in numbered(recording) {
        let cut = TimeRange { from: None, to: scope.range.to };
        let morsels = Morsels::new(source, &selection, window, cut, execution);
        let machine = [Clusters::new(window, scope.range)];
        morsels.plan(&machine, &scope.range, first, &mut scan);
    }
    scan
}

/// A machine for each group.
fn machines<'a>(
    part: &'a Part,
    places: &'a [[u8; 256]],
    source: &'a Acquisition<'a>,
) -> Vec<Once<'a>> {
    let of = |(place_of, group): (&'a [u8; 256], &Vec<u8>)| {
        let guard = part.veto.as_ref().map(|veto| veto.guard(source));
        Once::new(place_of, group.len(), part.window, part.scope.range, guard)
    };
    places.iter().zip(&part.numbered).map(of).collect()
}

/// The place in `group` of each number.
fn places(group: &[u8]) -> [u8; 256] {
    let mut places = [NOT_SEEN; 256];
    for (place, &number) in (0..).zip(group) {
        places[usize::from(number)] = place;
    }
    places
}

/// What rule `cluster` counted.
pub(crate) struct Clustered {
    /// Each set of channels that was a cluster, ascending, and how often. In order of the sets.
    pub sets: BTreeMap<Vec<u16>, u128>,
    /// The last cluster of each source, where it reaches to the end of the range.
    pub open: Vec<Open>,
}

/// The answer of rule `cluster` over all sources, from where `before` ends.
pub(crate) fn clusters(
    recording: &Recording<'_>,
    channels: &[u16],
    window: i64,
    scope: &Scope,
    before: Option<&[Open]>,
    execution: &Execution,
) -> Clustered {
    let delays: Vec<i64> = channels.iter().map(|&channel| scope.delay_of(channel)).collect();
    let selection = Selection::new(channels, &delays);
    let start = if before.is_some() { Start::Resumed } else { Start::Fresh };
    let (range, pass) = (scope.range, recording.pass(scope.range));
    let way = Way { selection: &selection, window, range, start, pass };
    let mut total: HashMap<u64, u128> = HashMap::new();
    let mut clustered = Clustered { sets: BTreeMap::new(), open: Vec::new() };
    for (number, source) in (0..).zip(&recording.sources) {
        let mut machine = Clusters::new(window, scope.range);
        let known = before.unwrap_or(&[]).iter().find(|open| open.source == number);
        // A cluster that was counted takes tags, and is not counted again: it begins before the range.
        machine.open = known.map(|open| (open.first, 0));
        let mut outcome = run(&[machine], &way, source, execution);
        if let Some(mut machine) = outcome.ends[0].take() {
            let mut sets = Sets::default();
            if let Some(to) = scope.range.to {
                machine.complete(source, &selection, to, execution.simd);
                let reaches = |&(first, _): &(i64, u64)| first >= to.saturating_sub(window);
                let first = machine.open.filter(reaches).map(|(first, _)| first);
                clustered.open.extend(first.map(|first| Open { source: number, first }));
            }
            machine.finish(&mut sets);
            outcome.counts.push(vec![sets]);
        }
        for (set, count) in outcome.counts.iter().flatten().flat_map(Sets::counted) {
            *total.entry(set).or_default() += u128::from(count);
        }
    }
    for (set, count) in total {
        let in_set = |&(bit, _): &(u32, &u16)| set >> bit & 1 == 1;
        let set = (0..).zip(channels).filter(in_set).map(|(_, &channel)| channel);
        let mut set: Vec<u16> = set.collect();
        set.sort_unstable();
        clustered.sets.insert(set, count);
    }
    clustered
}

impl Clusters {
    /// Takes what still belongs to the open cluster of the tags from `to` on.
    fn complete(&mut self, source: &Acquisition<'_>, selection: &Selection, to: i64, simd: Simd) {
        let Some((first, set)) = &mut self.open else { return };
        let end = first.checked_add(self.window).and_then(|last| last.checked_add(1));
        if end.is_some_and(|end| end <= to) {
            return;
        }
        let mut buffers = Buffers::default();
        let behind = Interval { start: to, end };
        for &number in selection.select(simd, source, behind, &mut buffers).number {
            *set |= 1 << number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coincidences, Delay, Groups, Rule, Veto, oracle};
    use proptest::prelude::*;
    use tagq_store::{Channels, Tags};

    type Sources = Vec<Vec<(i64, u16)>>;

    fn sources() -> impl Strategy<Value = Sources> {
        let source = prop::collection::vec((-40_i64..200, 0_u16..5), 0..60).prop_map(|mut tags| {
            tags.sort_by_key(|&(time, _)| time);
            tags
        });
        prop::collection::vec(source, 1..3)
    }

    fn recording(sources: &Sources) -> Recording<'static> {
        let source = |tags: &Vec<(i64, u16)>| {
            let time: Vec<i64> = tags.iter().map(|&(time, _)| time).collect();
            let label: Vec<u16> = tags.iter().map(|&(_, label)| label).collect();
            let tags = Tags { time: time.leak(), channels: Channels::U16(label.leak()) };
            Recording::from_tags(tags).sources.remove(0)
        };
        Recording::new(sources.iter().map(source).collect())
    }

    fn scope(delays: &[(u16, i64)], range: [Option<i64>; 2]) -> Scope {
        let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
        Scope { channels: None, delays, range: TimeRange { from: range[0], to: range[1] } }
    }

    fn ranges() -> impl Strategy<Value = [Option<i64>; 2]> {
        let end = || prop::option::weighted(0.4, -60_i64..220);
        (end(), end()).prop_map(|(from, to)| [from, to])
    }

    fn delays() -> impl Strategy<Value = Vec<(u16, i64)>> {
        prop::collection::vec(-90_i64..90, 0..4).prop_map(|d| (0..).zip(d).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn once_is_the_greedy_matching(
            sources in sources(),
            window in 0_i64..40,
            delays in delays(),
            range in ranges(),
            guard in prop::option::of(0_i64..20),
            rows in 1_usize..8,
        ) {
            let groups = vec![vec![0, 1], vec![3, 0, 2], vec![9, 1], vec![2, 1, 0, 3]];
            let veto = guard.map(|guard| Veto { channels: vec![4], guard });
            let execution = Execution { simd: Simd::best(), morsel_rows: Some(rows) };
            let scope = scope(&delays, range);
            let forbids = (if guard.is_some() { &[4][..] } else { &[] }, guard.unwrap_or(0));
            let query = Coincidences {
                groups: Groups::Listed(groups.clone()),
                rule: Rule::Once,
                window,
                veto,
                scope,
            };
            for row in query.run(&recording(&sources), &execution).unwrap().rows {
                let group = &row.channels;
                let expected = oracle::once(&sources, group, window, &delays, forbids, range);
                prop_assert_eq!(row.count, expected, "{:?}", group);
            }
        }

        #[test]
        fn clusters_take_all_up_to_the_window(
            sources in sources(),
            window in 0_i64..40,
            delays in delays(),
            range in ranges(),
            rows in 1_usize..8,
        ) {
            let channels = [2, 0, 3];
            let execution = Execution { simd: Simd::best(), morsel_rows: Some(rows) };
            let scope = scope(&delays, range);
            let rows = clusters(&recording(&sources), &channels, window, &scope, None, &execution).sets;
            let expected = oracle::clusters(&sources, &channels, window, &delays, range);
            for (set, count) in &rows {
                let same = expected.iter().filter(|other| *other == set).count();
                prop_assert_eq!(*count, same as u128, "{:?}", set);
            }
            prop_assert_eq!(rows.values().sum::<u128>(), expected.len() as u128);
        }
    }

    /// Tags alone and in runs at every place of a mask, and over the edges of masks.
    #[test]
    fn tags_that_are_alone_are_found_at_every_place() {
        let time = |i: i64| 9 * i - [0, 6, 7, 0, 0][usize::try_from(i % 5).unwrap()];
        let label = |i: i64| u16::try_from(i % 7 % 3).unwrap();
        let lens = [0, 1, 2, 63, 64, 65, 66, 127, 128, 129, 200];
        // Pairs begin at each fifth row, also at the last one of a mask.
        for (len, first) in lens.into_iter().flat_map(|len| (0..5).map(move |first| (len, first))) {
            let sources =
                vec![(first..first + len).map(|i| (time(i), label(i))).collect::<Vec<_>>()];
            for (simd, range) in Simd::available()
                .into_iter()
                .flat_map(|simd| [[None; 2], [Some(200), Some(1_100)]].map(|range| (simd, range)))
            {
                let execution = Execution { simd, morsel_rows: None };
                let scope = scope(&[], range);
                let recording = recording(&sources);
                let rows = clusters(&recording, &[0, 1, 2], 3, &scope, None, &execution).sets;
                let expected = oracle::clusters(&sources, &[0, 1, 2], 3, &[], range);
                for (set, count) in &rows {
                    let same = expected.iter().filter(|other| *other == set).count();
                    assert_eq!(*count, same as u128, "{set:?} of {len}");
                }
                assert_eq!(rows.values().sum::<u128>(), expected.len() as u128);
                let groups = Groups::Listed(vec![vec![0, 1], vec![2, 1, 0]]);
                let query = Coincidences { groups, rule: Rule::Once, window: 3, veto: None, scope };
                for row in query.run(&recording, &execution).unwrap().rows {
                    let expected = oracle::once(&sources, &row.channels, 3, &[], (&[], 0), range);
                    assert_eq!(row.count, expected, "{:?} of {len}", row.channels);
                }
            }
        }
    }

    #[test]
    fn many_channels_have_sets_of_their_own() {
        // Channel 60 is behind the table of small sets.
        let channels: Vec<u16> = (0..64).collect();
        let tags = vec![(0, 60), (1, 3), (1, 60), (50, 3), (90, 63)];
        let execution = Execution::best();
        let scope = Scope::default();
        let rows = clusters(&recording(&vec![tags]), &channels, 5, &scope, None, &execution).sets;
        assert_eq!(rows, [(vec![3], 1), (vec![63], 1), (vec![3, 60], 1)].into());
    }
}
