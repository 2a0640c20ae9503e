//! Rules that use tags up: the result for a tag depends on the tags before it.
//!
//! Both rules start from scratch at a gap wider than the window between neighbouring tags of the channels they count.
//! A morsel counts from the first gap at or after its start to the first gap at or after its end, so the result does
//! not depend on where morsels begin. Tags at 0, 4 and 20, window 5, morsels up to 3 and from 3 on: the first morsel
//! takes 0 and 4, the second waits for the gap before 20. A morsel without a gap counts nothing; the one before it
//! continues through it.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    kernels::{
        matrix::Matrix,
        neighbours::{self, REACH},
        rows::{MASK_ROWS, bits},
        simd::Simd,
    },
    rules::ways::{input::Neighbours, part::GroupScan},
    run::{
        progress::{Pass, Pieces},
        recording::Source,
        time_range::TimeRange,
    },
    scan::{
        chains::{self, Member},
        column::{Decoded, StoredColumn},
        morsels::{Execution, Interval, intervals},
        selection::{Buffers, Selected, Selection, keep_only},
    },
};

/// Rows of a morsel.
const ROWS: usize = 1 << 16;

/// A rule that processes the tags of some channels in order.
pub(crate) trait Machine: Clone + Send + Sync {
    /// The result type.
    type Counts: Default + Send;

    /// Returns whether it counts tags of this dense number; it ignores all others.
    fn sees(&self, number: u8) -> bool;

    /// Takes tags (one bit each in the masks) that are further than the window from all other tags it can
    /// see.
    fn push_alone(&self, tags: Selected<'_>, alone: &[u64], counts: &mut Self::Counts);

    /// Takes the next tag that it counts and that is not alone.
    fn push(&mut self, time: i64, number: u8, counts: &mut Self::Counts);

    /// Ends the input: no more tags follow.
    fn finish(&mut self, counts: &mut Self::Counts);

    /// Takes this many tags of a number that it counts, which are further than the window from all other tags.
    fn add_alone(&self, number: u8, tags: u64, counts: &mut Self::Counts);

    /// Takes this many pairs of tags of these numbers within the window of each other, and further than it from all
    /// other tags; it may ignore one of the numbers.
    fn add_pairs(&self, numbers: [u8; 2], pairs: u64, counts: &mut Self::Counts);
}

/// The results of the machines for a source.
pub(crate) struct Outcome<M: Machine> {
    /// The counts of each task, machine by machine.
    pub counts: Vec<Vec<M::Counts>>,
    /// The state of each machine at the end of the range, not finished; `None` if it saw no tag.
    pub ends: Vec<Option<M>>,
}

/// Runs machines over the tags of a source up to the end of the range. They also see tags before the range,
/// unless they are resumed: then they begin there, in the state that the tags before it produced.
pub(crate) fn run<M: Machine>(
    machines: &[M],
    part: &GroupScan,
    is_resumed: bool,
    pass: Pass<'_>,
    source: &Source<'_>,
    execution: &Execution,
) -> Outcome<M> {
    let range = part.scope.range;
    if !is_resumed && let Some((columns, ranges)) = part.chains(source, execution) {
        let counts = run_chains(machines, part, pass, (source, columns, ranges), execution.simd);
        return Outcome { counts, ends: machines.iter().map(|_| None).collect() };
    }
    let from = range.from.filter(|_| is_resumed);
    let morsels = Morsels::new(source, part, TimeRange { from, to: range.to }, execution);
    let all = 0..morsels.intervals.len();
    let needed = if is_resumed { all } else { morsels.needed(machines, &range) };
    let pieces = pass.over(source.tags.len()).in_pieces(needed.len());
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
        // Only the runner after the last gap reaches the end.
        for (known, end) in outcome.ends.iter_mut().zip(ends) {
            *known = known.take().or(end);
        }
    }
    outcome
}

/// Runs machines over whole chains of all rows of a source. Returns the counts of each task, machine by machine.
fn run_chains<M: Machine>(
    machines: &[M],
    part: &GroupScan,
    pass: Pass<'_>,
    (source, Neighbours { column, labels, window }, ranges): (
        &Source<'_>,
        Neighbours<'_>,
        Vec<Range<usize>>,
    ),
    simd: Simd,
) -> Vec<Vec<M::Counts>> {
    let channels = part.channels.len();
    let side = channels + 1;
    #[expect(clippy::cast_possible_truncation, reason = "a part has at most 255 channels")]
    let number_of = part.selection.narrow_numbers(channels as u8);
    let pieces = pass.over(source.tags.len()).in_pieces(ranges.len());
    let zero = || machines.iter().map(|_| M::Counts::default()).collect::<Vec<_>>();
    // The tags of each number in longer chains.
    let thread = || (zero(), Matrix::new(side), vec![0_u64; side], Decoded::default());
    let threads: Vec<_> = ranges
        .into_par_iter()
        .fold(thread, |(mut counts, mut pairs, mut members, mut times), stored| {
            let is_sound = || match column {
                StoredColumn::Gaps(gaps) => gaps.is_right(stored.clone()),
                StoredColumn::WideGaps(_) | StoredColumn::Times(_) => true,
            };
            if pieces.begin().is_ok() && is_sound() {
                let (rows, _) = column.compared(&stored, REACH, (labels, &number_of), &mut times);
                let mut machines = machines.to_vec();
                let walked =
                    chains::walk(simd, window.reach, &rows, &mut pairs, |Member { row, time }| {
                        let number = rows.number(row);
                        members[usize::from(number)] += 1;
                        for (machine, counts) in machines.iter_mut().zip(&mut counts) {
                            if machine.sees(number) {
                                machine.push(time, number, counts);
                            }
                        }
                    });
                machines.iter_mut().zip(&mut counts).for_each(|(m, counts)| m.finish(counts));
                if walked.is_none() {
                    let first = stored.start.saturating_sub(REACH);
                    source.is_in_order(simd, first..stored.end);
                }
            }
            (counts, pairs, members, times)
        })
        .map(|(counts, pairs, members, _)| (counts, pairs, members))
        .collect();
    let numbers = || (0..=u8::MAX).take(side);
    let mut in_chains = vec![0_u64; side];
    let mut all = Vec::new();
    for (mut counts, pairs, members) in threads {
        in_chains.iter_mut().zip(members).for_each(|(all, more)| *all += more);
        for (x, y) in numbers().flat_map(|x| numbers().map(move |y| (x, y))) {
            let found = pairs.get(x, y);
            in_chains[usize::from(x)] += found;
            in_chains[usize::from(y)] += found;
            for (machine, counts) in machines.iter().zip(&mut counts) {
                machine.add_pairs([x, y], found, counts);
            }
        }
        all.push(counts);
    }
    let mut alone = zero();
    for ((number, &channel), in_chains) in (0..).zip(&part.channels).zip(in_chains) {
        let tags = source.singles_of(channel).saturating_sub(in_chains);
        for (machine, counts) in machines.iter().zip(&mut alone) {
            machine.add_alone(number, tags, counts);
        }
    }
    all.push(alone);
    all
}

/// A source, cut into morsels.
struct Morsels<'a> {
    source: &'a Source<'a>,
    selection: &'a Selection,
    window: i64,
    intervals: Vec<Interval>,
    simd: Simd,
}

/// A machine on its way through a morsel and past its end.
struct Runner<M> {
    machine: M,
    /// The time of the last tag that its machine counts.
    before: Option<i64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first gap: the tags belong to another morsel.
    Waiting,
    Running,
    Done,
}

impl<'a> Morsels<'a> {
    fn new(
        source: &'a Source<'a>,
        part: &'a GroupScan,
        cut: TimeRange,
        execution: &Execution,
    ) -> Self {
        let rows = execution.morsel_rows.unwrap_or(ROWS).max(1);
        let (selection, window) = (&part.selection, part.window);
        let intervals = intervals(source.tags.time, rows, &selection.delays(), cut);
        Self { source, selection, window, intervals, simd: execution.simd }
    }

    /// Returns the morsels that can count something in `range`.
    fn needed<M: Machine>(&self, machines: &[M], range: &TimeRange) -> Range<usize> {
        let end = self.intervals.len();
        let Some(from) = range.from else { return 0..end };
        let mut start =
            self.intervals.partition_point(|interval| interval.start <= from).saturating_sub(1);
        // Matches and clusters that begin before the range may reach into it, so each machine starts at its
        // last gap.
        let mut buffers = Buffers::default();
        while start > 0 && !self.has_gaps(start, machines, from, &mut buffers) {
            start -= 1;
        }
        start..end.max(start)
    }

    /// Returns whether every machine starts from scratch in morsel `at`, no later than `limit`.
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
        // The machine already holds the state of tags before the first morsel, if any.
        let state = if at == 0 { State::Running } else { State::Waiting };
        let mut runners: Vec<Runner<M>> = machines
            .iter()
            .map(|machine| Runner { machine: machine.clone(), before: None, state })
            .collect();
        let interval = self.intervals[at];
        let tags = self.first_tags(&interval, buffers);
        self.find_alone(tags, interval.start, alone);
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

    /// Sets a bit for each row from time `start` on that is further than the window from its neighbours.
    /// There is a gap on both sides of such a row, so it belongs to this morsel, and no machine needs to
    /// process it. The last row gets no bit, because the row after it is not known.
    fn find_alone(&self, tags: Selected<'_>, start: i64, alone: &mut Vec<u64>) {
        let (time, rows) = (tags.time, tags.after(0).rows());
        alone.resize(time.len().div_ceil(MASK_ROWS), 0);
        // A selection always yields tags in order.
        let _: Option<()> = neighbours::near(self.simd, &rows, 1, self.window, alone);
        let mut after = 0;
        for near in alone.iter_mut().rev() {
            let first = *near << (MASK_ROWS - 1);
            *near = !(*near | *near >> 1 | after);
            after = first;
        }
        let owned = time.partition_point(|&time| time < start);
        keep_only(alone, owned..time.len().saturating_sub(1).max(owned));
    }

    /// Takes tags after the morsel, up to the first gap.
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

    /// Returns the tags of an interval, and those within one window before it.
    fn first_tags<'b>(&self, interval: &Interval, buffers: &'b mut Buffers) -> Selected<'b> {
        let interval = interval.looking_back(self.window);
        self.selection.select(self.simd, self.source, interval, buffers)
    }

    fn is_gap(&self, before: Option<i64>, time: i64) -> bool {
        before.is_none_or(|before| time - before > self.window)
    }
}
