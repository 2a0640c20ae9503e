//! One scan: counts a part of a query over all morsels of a recording.

use std::ops::Range;

use rayon::prelude::*;
use tagq_store::{Channels, format::GAP_MAX};

use crate::{
    kernels,
    kernels::{matrix::Matrix, simd::Simd},
    rules::{
        definition::Method,
        grid, herald,
        ways::{
            folds::Inside,
            part::Part,
            sliding::{self, Sliding},
        },
    },
    run::recording::{Recording, Source},
    scan::{
        morsels::{Execution, Interval, intervals, rows_within_window},
        plan::{GAPS, Plan},
        selection::{Buffers, List, Ready, Selected},
    },
};

/// Rows of a morsel that is read from the columns: 2.25 MiB.
const DIRECT_ROWS: usize = 1 << 18;
/// Rows of a morsel that goes through buffers, chosen so that they stay in a core's cache.
const SELECTED_ROWS: usize = 1 << 16;
/// Mean number of rows within a window from which on tags are not compared with their neighbours.
const CROWDED: usize = 1;

/// Mean number of rows within a window from which on gaps are not added up.
const CROWDED_GAPS: usize = 20;

/// One task.
struct Morsel<'a> {
    source: &'a Source<'a>,
    interval: Interval,
    input: MorselInput<'a>,
}

/// The columns that the kernels read for a morsel.
#[derive(Clone, Copy)]
enum MorselInput<'a> {
    /// Gaps and labels as stored, up to this many ticks.
    Gaps(&'a [u16], u16),
    /// Times and labels as stored.
    Direct,
    /// The channels in use, extracted.
    Selected,
}

impl Part {
    /// Counts the coincidences of each group, for all rules but `once`.
    pub(crate) fn count(&self, recording: &Recording<'_>, execution: &Execution) -> Vec<u128> {
        let sources = recording.sources.iter();
        let morsels: Vec<Morsel<'_>> =
            sources.flat_map(|source| self.morsels(source, execution)).collect();
        let zero = || vec![0_u128; self.groups.len()];
        let pieces = recording.pass(self.scope.range).in_pieces(morsels.len());
        morsels
            .par_iter()
            .fold(
                || (zero(), Counter::new(self, execution.simd)),
                |(mut counts, mut counter), morsel| {
                    if pieces.begin().is_ok() {
                        counter.count(morsel, &mut counts);
                    }
                    (counts, counter)
                },
            )
            .map(|(counts, _)| counts)
            .reduce(zero, |mut counts, more| {
                for (count, more) in counts.iter_mut().zip(more) {
                    *count = count.saturating_add(more);
                }
                counts
            })
    }

    /// Adds the rows that counting reads to the plan.
    pub(crate) fn plan(&self, recording: &Recording<'_>, execution: &Execution, plan: &mut Plan) {
        let [direct, selected] = self.method.names();
        plan.read(recording, |source| {
            let time = source.tags.time;
            self.morsels(source, execution).flat_map(move |Morsel { interval, input, .. }| {
                let as_stored = match input {
                    MorselInput::Gaps(..) => Some((GAPS, interval.rows(time, 0))),
                    MorselInput::Direct => Some((direct, self.direct_rows(&interval, time))),
                    MorselInput::Selected => None,
                };
                if let Some((kernel, rows)) = as_stored {
                    return vec![(kernel, if self.is_dark() { 0..0 } else { rows })];
                }
                let interval = interval.looking_back(self.look_back);
                let vetoes = self.veto.iter().flat_map(|veto| veto.row_ranges(time, interval));
                let ranges = self.selection.row_ranges(time, interval).into_iter().chain(vetoes);
                ranges.map(|rows| (selected, rows)).collect()
            })
        });
        plan.is_at_least |= match self.method {
            // If windows turn out to be crowded, channels are extracted after all.
            Method::Pair | Method::Pairs => {
                let mut inputs = recording.sources.iter().map(|source| self.input(source));
                inputs.any(|input| !matches!(input, MorselInput::Selected))
            }
            Method::Folds(_) | Method::Heralds { .. } => false,
            // Rules that use tags up begin at a gap before the range, and continue to the next gap.
            Method::Matches => true,
        };
    }

    /// Returns the rows that a morsel reads if it is counted in the columns as stored.
    fn direct_rows(&self, interval: &Interval, time: &[i64]) -> Range<usize> {
        interval.looking_back(self.window).rows(time, 0)
    }

    /// Returns whether the one pair has a label above 255; no tag in a narrow column has such a label.
    fn is_dark(&self) -> bool {
        matches!(self.method, Method::Pair) && self.channels.iter().any(|&c| c > u8::MAX.into())
    }

    fn morsels<'a>(
        &self,
        source: &'a Source<'a>,
        execution: &Execution,
    ) -> impl Iterator<Item = Morsel<'a>> {
        let time = source.tags.time;
        let input = self.input(source);
        let cached = match input {
            MorselInput::Gaps(..) | MorselInput::Direct => DIRECT_ROWS,
            MorselInput::Selected => SELECTED_ROWS,
        };
        let rows = execution.rows_per_morsel(time, self.look_back, cached);
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        delays.dedup();
        let intervals = intervals(time, rows, &delays, self.scope.range);
        intervals.into_iter().map(move |interval| Morsel { source, interval, input })
    }

    /// Divides times into cells, if the rule has any.
    fn divide(&self, list: &mut List) {
        if let Some(width) = self.cells {
            grid::to_cells(list.time_mut(), width);
        }
    }

    /// Returns the window in which divided times are compared.
    fn divided_window(&self) -> i64 {
        if self.cells.is_some() { 0 } else { self.window }
    }

    /// Returns which columns the kernels read of a source.
    fn input<'a>(&self, source: &Source<'a>) -> MorselInput<'a> {
        let compares = matches!(self.method, Method::Pair | Method::Pairs | Method::Folds(_))
            && self.cells.is_none();
        let is_narrow = matches!(source.tags.channels, Channels::U8(_));
        let is_delayed = self.delays.iter().any(|&delay| delay != 0);
        if !compares || !is_narrow || is_delayed || self.veto.is_some() {
            return MorselInput::Selected;
        }
        let rows = rows_within_window(source.tags.time, self.window);
        let window = u16::try_from(self.window).ok().filter(|&window| window < GAP_MAX);
        match (source.gaps, window, &self.method) {
            (Some(gaps), Some(window), Method::Pair) if rows < CROWDED_GAPS => {
                MorselInput::Gaps(gaps, window)
            }
            _ if rows < CROWDED => MorselInput::Direct,
            _ => MorselInput::Selected,
        }
    }
}

/// Counts morsels; holds the buffers of one thread.
struct Counter<'p> {
    part: &'p Part,
    simd: Simd,
    buffers: Buffers,
    vetoes: Buffers,
    /// The number of each label of a narrow column.
    number_of_label: [u8; 256],
    tally: Tally,
    inside: Inside,
}

impl<'p> Counter<'p> {
    fn new(part: &'p Part, simd: Simd) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a part has at most 255 channels")]
        let others = part.channels.len() as u8;
        let side = usize::from(others) + 1;
        let has_matrix = matches!(part.method, Method::Pairs);
        Self {
            part,
            simd,
            buffers: Buffers::default(),
            vetoes: Buffers::default(),
            number_of_label: part.selection.narrow_numbers(others),
            tally: Tally::new(if has_matrix { side } else { 0 }),
            inside: Inside::default(),
        }
    }

    /// Adds the coincidences that belong to the morsel.
    fn count(&mut self, morsel: &Morsel<'_>, counts: &mut [u128]) {
        let counted = match morsel.input {
            // A label above 255 has no tags in a narrow column, so there is no coincidence.
            MorselInput::Gaps(..) | MorselInput::Direct if self.part.is_dark() => Some(()),
            MorselInput::Gaps(gaps, window) => self.count_gaps(morsel, gaps, window, counts),
            MorselInput::Direct => self.count_direct(morsel, counts),
            MorselInput::Selected => None,
        };
        if counted.is_none() && self.count_selected(morsel, counts).is_none() {
            // Reported as counts that do not fit in 64 bits; more can be added to them.
            counts.fill(1 << 127);
        }
    }

    /// Extracts the channels and counts. Returns `None` if times do not fit in 64 bits.
    fn count_selected(&mut self, morsel: &Morsel<'_>, counts: &mut [u128]) -> Option<()> {
        let (part, simd, source) = (self.part, self.simd, morsel.source);
        let (selection, start) = (&part.selection, morsel.interval.start);
        let interval = morsel.interval.looking_back(part.look_back);
        let vetoes = part.veto.as_ref().map(|veto| {
            let times = veto.times(simd, source, interval, &mut self.vetoes);
            (veto, times)
        });
        // Removes vetoed tags; returns how many tags are only looked back at.
        let head_of = |list: &mut List, base: Option<i64>| match (vetoes, base) {
            (Some((veto, times)), Some(base)) => veto.part(list, times, base, start, part.window),
            _ => Some(list.view().time.partition_point(|&time| time < start)),
        };
        let base_of = |lists: &[List]| {
            lists.iter().filter_map(|list| list.view().time.first()).min().copied()
        };
        match &part.method {
            Method::Pair | Method::Heralds { .. } => {
                let lists = selection.lists(simd, source, interval, &mut self.buffers);
                let base = base_of(lists);
                let mut heads = Vec::new();
                for list in &mut *lists {
                    heads.push(head_of(list, base)?);
                    part.divide(list);
                }
                let times = lists.iter().map(|list| list.view().time).zip(heads);
                let lists: Vec<herald::List<'_>> =
                    times.map(|(time, head)| herald::List { time, head }).collect();
                if let Method::Heralds { once } = part.method {
                    for (group, count) in part.numbered.iter().zip(counts) {
                        let more = herald::count(&lists, group, part.window, once);
                        *count = count.saturating_add(more);
                    }
                } else {
                    let [a, b] = [lists[0], lists[1]];
                    let window = part.divided_window();
                    counts[0] += pairs_by_rank([a.time, b.time], [a.head, b.head], window);
                }
            }
            Method::Pairs | Method::Folds(_) => {
                let list = selection.select_list(simd, source, interval, &mut self.buffers);
                let base = list.view().time.first().copied();
                let head = head_of(list, base)?;
                part.divide(list);
                let Selected { time, number } = list.view();
                let ready = Ready { time, id: number, head, number_of: &IDENTITY };
                let window = part.divided_window();
                if let Method::Folds(folds) = &part.method {
                    return folds.count(simd, window, ready, &mut self.inside, counts);
                }
                self.tally.add(part, simd, window, ready, counts);
            }
            // Counted from gap to gap elsewhere.
            Method::Matches => {}
        }
        Some(())
    }

    /// Counts one pair by gaps. Returns `None` if windows are too crowded.
    fn count_gaps(
        &self,
        morsel: &Morsel<'_>,
        gaps: &[u16],
        window: u16,
        counts: &mut [u128],
    ) -> Option<()> {
        let tags = morsel.source.tags;
        let Channels::U8(labels) = tags.channels else { return None };
        if let [Ok(a), Ok(b)] = [self.part.channels[0], self.part.channels[1]].map(u8::try_from) {
            let rows = morsel.interval.rows(tags.time, 0);
            let count = kernels::gaps::pairs(self.simd, gaps, labels, rows, [a, b], window)?;
            counts[0] += u128::from(count);
        }
        Some(())
    }

    /// Counts in the columns as stored. Returns `None` if windows are too crowded or times decrease;
    /// decreasing times are found again, and recorded, when channels are extracted.
    fn count_direct(&mut self, morsel: &Morsel<'_>, counts: &mut [u128]) -> Option<()> {
        let (part, tags) = (self.part, morsel.source.tags);
        let Channels::U8(labels) = tags.channels else { return None };
        let own = morsel.interval.rows(tags.time, 0);
        let rows = part.direct_rows(&morsel.interval, tags.time);
        let ready = Ready {
            time: &tags.time[rows.clone()],
            id: &labels[rows.clone()],
            head: own.start - rows.start,
            number_of: &self.number_of_label,
        };
        if !morsel.source.spans(ready.time) {
            return None;
        }
        match &part.method {
            Method::Pair => {
                if let [Ok(a), Ok(b)] = [part.channels[0], part.channels[1]].map(u8::try_from) {
                    let near = |rows| {
                        let (time, id) = (&ready.time[..rows], &ready.id[..rows]);
                        kernels::pairs(self.simd, time, id, [a, b], part.window)
                    };
                    counts[0] += u128::from(near(rows.len())?.wrapping_sub(near(ready.head)?));
                }
            }
            Method::Folds(folds) => {
                folds.count(self.simd, part.window, ready, &mut self.inside, counts)?;
            }
            _ => self.tally.add_near(part, self.simd, part.window, ready, counts)?,
        }
        Some(())
    }
}

/// Counts the pairs of two lists that are at most `window` apart and whose later tag is not in the head of
/// its list: all pairs minus those in the heads, minus those further apart.
fn pairs_by_rank(lists: [&[i64]; 2], heads: [usize; 2], window: i64) -> u128 {
    let product = |[a, b]: [usize; 2]| a as u128 * b as u128;
    let far = kernels::far_pairs(lists, heads, window);
    product(lists.map(<[i64]>::len)) - product(heads) - u128::from(far)
}

/// The matrices of one thread: one for all rows of a morsel, and one for the rows before it.
struct Tally {
    all: Matrix,
    before: Matrix,
    sliding: Sliding,
}

impl Tally {
    fn new(side: usize) -> Self {
        Self { all: Matrix::new(side), before: Matrix::new(side), sliding: Sliding::default() }
    }

    /// Adds the pairs of every group that the morsel owns.
    fn add(&mut self, part: &Part, simd: Simd, window: i64, ready: Ready<'_>, counts: &mut [u128]) {
        let is_crowded = rows_within_window(ready.time, window) >= CROWDED;
        if is_crowded || self.add_near(part, simd, window, ready, counts).is_none() {
            self.all.clear();
            self.before.clear();
            sliding::matrix(&mut self.sliding, ready, window, &mut self.all);
            self.add_to(part, counts);
        }
    }

    /// Works like [`Tally::add`], by comparing neighbours. Returns `None` if there are too many of them.
    fn add_near(
        &mut self,
        part: &Part,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        counts: &mut [u128],
    ) -> Option<()> {
        let near = |rows, matrix: &mut Matrix| {
            matrix.clear();
            let (time, id) = (&ready.time[..rows], &ready.id[..rows]);
            kernels::matrix(simd, time, id, window, ready.number_of, matrix)
        };
        near(ready.time.len(), &mut self.all)?;
        near(ready.head, &mut self.before)?;
        self.add_to(part, counts);
        Some(())
    }

    fn add_to(&self, part: &Part, counts: &mut [u128]) {
        for (count, group) in counts.iter_mut().zip(&part.numbered) {
            let (a, b) = (group[0], group[1]);
            *count += u128::from(self.all.either(a, b).wrapping_sub(self.before.either(a, b)));
        }
    }
}

/// The ids of selected tags are already numbers.
const IDENTITY: [u8; 256] = {
    let mut identity = [0; 256];
    let mut number = 0;
    while number < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        {
            identity[number] = number as u8;
        }
        number += 1;
    }
    identity
};
