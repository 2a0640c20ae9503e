//! Rule `once`: one-to-one matches use tags up.
//!
//! Channel 1 at 0 and 3, channel 2 at 4, window 5: the match is (0, 4), of the earliest unused tags; 3 stays unused.
//! A match that a veto rejects or that lies outside the range uses its tags up, too, so that ranges add up to the
//! whole count.

use std::collections::VecDeque;

use crate::{
    partial::Unused,
    rules::{
        definition::{Definition, Engine},
        sequential::{Machine, run},
        veto::Guard,
        ways::part::GroupScan,
    },
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, selection::Selected},
};

pub(crate) struct Once;

impl Definition for Once {
    fn key(&self) -> &'static str {
        "once"
    }

    fn summary(&self) -> &'static str {
        "One-to-one: matched tags are used up, the earliest first"
    }

    fn is_span(&self, size: usize) -> bool {
        size > 2
    }

    fn engine(&self) -> Engine {
        Engine::Matches
    }
}

/// A tag that can be matched: its time alone, or with its row.
pub trait Timed: Copy {
    /// Returns its delayed time.
    fn time(self) -> i64;
}

impl Timed for i64 {
    fn time(self) -> i64 {
        self
    }
}

/// The matching of one group: if the earliest unused tags of each channel lie within the window, they are a
/// match and are used up; otherwise the earliest one is dropped.
#[derive(Debug, Clone)]
pub struct Matching<T> {
    window: i64,
    /// Unused tags of each channel that can still find partners.
    unused: Vec<VecDeque<T>>,
}

impl<T: Timed> Matching<T> {
    /// Creates the matching of a group of `channels` channels, without tags.
    pub fn new(channels: usize, window: i64) -> Self {
        Self::with_unused(window, vec![VecDeque::new(); channels])
    }

    /// Continues a matching with the unused tags of each channel, in order of time.
    pub fn with_unused(window: i64, unused: Vec<VecDeque<T>>) -> Self {
        Self { window, unused }
    }

    /// Returns the tags of each channel that are not used up yet, in order of time.
    pub fn unused(&self) -> &[VecDeque<T>] {
        &self.unused
    }

    /// Adds the next tag, of the channel at `place` in the group. Returns whether it completes a match, which
    /// must then be taken.
    ///
    /// # Panics
    /// If the group has no such place.
    pub fn push(&mut self, place: usize, tag: T) -> bool {
        let oldest = tag.time().saturating_sub(self.window);
        let mut is_complete = true;
        for (channel, unused) in self.unused.iter_mut().enumerate() {
            while unused.front().is_some_and(|unused| unused.time() < oldest) {
                unused.pop_front();
            }
            is_complete &= channel == place || !unused.is_empty();
        }
        self.unused[place].push_back(tag);
        is_complete
    }

    /// Uses up the tags of a match, in the order of the group.
    pub fn take(&mut self) -> impl Iterator<Item = T> + '_ {
        self.unused.iter_mut().filter_map(VecDeque::pop_front)
    }
}

/// Counts the matches of one group.
#[derive(Clone)]
struct Matches<'a> {
    /// The place of each dense number in the group; [`NOT_SEEN`] for numbers outside the group.
    place_of: &'a [u8; 256],
    range: TimeRange,
    veto: Option<Guard<'a>>,
    matching: Matching<i64>,
}

/// The place of a number that a machine ignores.
const NOT_SEEN: u8 = u8::MAX;

impl Matches<'_> {
    /// Returns the tags with which tags from `to` on can still be matched.
    fn left_at(self, to: i64, source: u32, group: &[u16]) -> Option<Unused> {
        let Matching { window, unused } = self.matching;
        let oldest = to.saturating_sub(window);
        let of = |unused: VecDeque<i64>| unused.into_iter().filter(|&time| time >= oldest);
        let times: Vec<Vec<i64>> = unused.into_iter().map(|unused| of(unused).collect()).collect();
        let is_empty = times.iter().all(Vec::is_empty);
        (!is_empty).then(|| Unused { source, group: group.to_vec(), times })
    }
}

impl Machine for Matches<'_> {
    type Counts = u64;

    fn sees(&self, number: u8) -> bool {
        self.place_of[usize::from(number)] != NOT_SEEN
    }

    /// A coincidence has at least two tags, so tags alone are ignored.
    fn push_alone(&self, _: Selected<'_>, _: &[u64], _: &mut u64) {}

    fn push(&mut self, time: i64, number: u8, count: &mut u64) {
        if self.matching.push(usize::from(self.place_of[usize::from(number)]), time) {
            let earliest = self.matching.take().min().unwrap_or(time);
            let is_vetoed = self.veto.as_mut().is_some_and(|veto| veto.forbids(earliest, time));
            *count += u64::from(self.range.contains(time) && !is_vetoed);
        }
    }

    fn finish(&mut self, _: &mut u64) {}

    fn add_alone(&self, _: u8, _: u64, _: &mut u64) {}

    fn add_pairs(&self, numbers: [u8; 2], pairs: u64, count: &mut u64) {
        let [a, b] = numbers.map(|number| self.place_of[usize::from(number)]);
        if self.matching.unused.len() == 2 && a != b && a != NOT_SEEN && b != NOT_SEEN {
            *count += pairs;
        }
    }
}

/// Counts by rule `once`, group by group, over all sources, from the end of `before`. Also returns the tags
/// left unused at the end of the range.
pub(crate) fn once(
    part: &GroupScan,
    groups: &[Vec<u16>],
    recording: &Recording<'_>,
    before: Option<&[Unused]>,
    execution: &Execution,
) -> (Vec<u128>, Vec<Unused>) {
    let places: Vec<[u8; 256]> = part.numbered.iter().map(|group| places(group)).collect();
    let pass = recording.pass(part.scope.range);
    let mut total = vec![0_u128; part.groups.len()];
    let mut left = Vec::new();
    for (number, source) in (0..).zip(&recording.sources) {
        let asked = || part.groups.iter().map(|&at| &groups[at]);
        let mut machines = machines(part, &places, source);
        for (machine, group) in machines.iter_mut().zip(asked()) {
            let mut known = before.unwrap_or(&[]).iter();
            if let Some(known) = known.find(|u| u.source == number && u.group == *group) {
                let times = known.times.iter().map(|times| times.iter().copied().collect());
                machine.matching.unused = times.collect();
            }
        }
        let outcome = run(&machines, part, before.is_some(), pass, source, execution);
        for counts in outcome.counts {
            total.iter_mut().zip(counts).for_each(|(total, count)| *total += u128::from(count));
        }
        let Some(to) = part.scope.range.to else { continue };
        for (group, end) in asked().zip(outcome.ends) {
            left.extend(end.and_then(|machine| machine.left_at(to, number, group)));
        }
    }
    (total, left)
}

/// Creates a machine for each group.
fn machines<'a>(
    part: &'a GroupScan,
    places: &'a [[u8; 256]],
    source: &'a Source<'a>,
) -> Vec<Matches<'a>> {
    let of = |(place_of, group): (&'a [u8; 256], &Vec<u8>)| {
        let veto = part.veto.as_ref().map(|veto| veto.guard(source));
        let matching = Matching::new(group.len(), part.window);
        Matches { place_of, range: part.scope.range, veto, matching }
    };
    places.iter().zip(&part.numbered).map(of).collect()
}

/// Returns the place in `group` of each number.
fn places(group: &[u8]) -> [u8; 256] {
    let mut places = [NOT_SEEN; 256];
    for (place, &number) in (0..).zip(group) {
        places[usize::from(number)] = place;
    }
    places
}
