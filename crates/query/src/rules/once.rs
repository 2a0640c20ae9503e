//! Rule `once`: one-to-one matches use tags up.

use std::collections::VecDeque;

use crate::{
    partial::Unused,
    rules::{
        part::Part,
        sequential::{Machine, Morsels, Start, Way, run},
        veto::Guard,
    },
    run::{
        recording::{Acquisition, Recording},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::Plan, selection::Selected},
};

/// The state of rule `once` for one group: if the earliest unused tags of each channel lie within the window,
/// they count and are used up; otherwise the earliest one is dropped.
#[derive(Clone)]
pub(crate) struct Once<'a> {
    /// The place of each dense number in the group; [`NOT_SEEN`] for numbers outside the group.
    place_of: &'a [u8; 256],
    window: i64,
    range: TimeRange,
    veto: Option<Guard<'a>>,
    /// Unused tags of each channel that can still find partners.
    unused: Vec<VecDeque<i64>>,
}

/// The place of a number that a machine ignores.
pub(crate) const NOT_SEEN: u8 = u8::MAX;

impl<'a> Once<'a> {
    /// Creates a machine; `channels` numbers have a place below `channels` in `place_of`.
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
    /// Returns the tags with which tags from `to` on can still be matched.
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

    /// A coincidence has at least two tags, so tags alone are ignored.
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

/// Counts by rule `once`, group by group, over all sources, from the end of `before`. Also returns the tags
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

/// Adds the rows that [`once`] reads to the plan.
pub(crate) fn plan_once(
    part: &Part,
    recording: &Recording<'_>,
    execution: &Execution,
    plan: &mut Plan,
) {
    let places: Vec<[u8; 256]> = part.numbered.iter().map(|group| places(group)).collect();
    let [_, name] = part.method.names();
    let range = part.scope.range;
    plan.read(recording, |source| {
        let cut = TimeRange { from: None, to: range.to };
        let morsels = Morsels::new(source, &part.selection, part.window, cut, execution);
        let ranges = morsels.row_ranges(&machines(part, &places, source), &range);
        ranges.into_iter().map(|rows| (name, rows))
    });
    plan.is_at_least = true;
}

/// Creates a machine for each group.
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

/// Returns the place in `group` of each number.
fn places(group: &[u8]) -> [u8; 256] {
    let mut places = [NOT_SEEN; 256];
    for (place, &number) in (0..).zip(group) {
        places[usize::from(number)] = place;
    }
    places
}
