//! Which columns count the coincidences of a source, and how its rows are cut for the threads.

use std::ops::Range;

use tagq_store::Channels;

use crate::{
    kernels::{
        gaps::{self, PairDistances},
        simd::Simd,
    },
    rules::{definition::Method, ways::part::Part},
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        chains::{self, chain_ranges, whole_chains},
        morsels::{Execution, Interval, intervals, row_ranges, rows_within_window},
        plan::{GAPS, Plan},
    },
};

/// Rows of a morsel that is read from the columns: 2.25 MiB.
const DIRECT_ROWS: usize = 1 << 18;
/// Rows of a morsel that goes through buffers, chosen so that they stay in a core's cache.
const SELECTED_ROWS: usize = 1 << 16;
/// Mean number of rows within a window from which on tags are not compared with their neighbours.
pub(super) const CROWDED: usize = 1;

/// The same where gaps are added up for the pairs of many channels; for one pair see [`gaps::crowded_pair`].
const CROWDED_GAPS: usize = 2;

/// One task.
pub(super) struct Morsel<'a> {
    pub source: &'a Source<'a>,
    pub input: MorselInput<'a>,
}

/// The tags that a morsel owns, and the columns that the kernels read for them.
pub(super) enum MorselInput<'a> {
    /// Rows, from gaps and labels as stored. No time before the rows equals one of theirs.
    Gaps(NarrowGaps<'a>, Range<usize>),
    /// Times and labels as stored.
    Direct(Interval),
    /// The channels in use, extracted.
    Selected(Interval),
}

/// The gaps of a source whose labels are narrow, and the distances that count.
#[derive(Clone, Copy)]
pub(crate) struct NarrowGaps<'a> {
    pub gaps: &'a [u16],
    pub labels: &'a [u8],
    pub distances: PairDistances,
}

impl Part {
    /// Adds the rows that counting reads to the plan.
    pub(crate) fn plan(&self, recording: &Recording<'_>, execution: &Execution, plan: &mut Plan) {
        let [direct, selected] = self.method.names();
        plan.read(recording, |source| {
            let time = source.tags.time;
            self.morsels(source, execution).into_iter().flat_map(move |morsel| match morsel.input {
                MorselInput::Gaps(_, rows) => vec![(GAPS, rows)],
                MorselInput::Direct(interval) => {
                    vec![(direct, interval.looking_back(self.window).rows(time, 0))]
                }
                MorselInput::Selected(interval) => {
                    let interval = interval.looking_back(self.look_back);
                    let vetoes = self.veto.iter().flat_map(|veto| veto.row_ranges(time, interval));
                    let ranges = self.selection.row_ranges(time, interval).into_iter();
                    ranges.chain(vetoes).map(|rows| (selected, rows)).collect()
                }
            })
        });
        plan.is_at_least |= match self.method {
            // If windows turn out to be crowded, channels are extracted after all.
            Method::Pair | Method::Pairs | Method::Folds(_) => {
                let mut sources = recording.sources.iter();
                sources.any(|source| {
                    self.gaps(source, execution.simd).is_some() || self.is_direct(source)
                })
            }
            Method::Heralds { .. } => false,
            // Rules that use tags up begin at a gap before the range, and continue to the next gap.
            Method::Matches => true,
        };
    }

    pub(super) fn morsels<'a>(
        &self,
        source: &'a Source<'a>,
        execution: &Execution,
    ) -> Vec<Morsel<'a>> {
        let time = source.tags.time;
        let is_narrow = matches!(source.tags.channels, Channels::U8(_));
        let is_dark = |&channel: &u16| channel > u8::MAX.into();
        if is_narrow && matches!(self.method, Method::Pair) && self.channels.iter().any(is_dark) {
            // A narrow column has no tag of a channel above 255.
            return Vec::new();
        }
        let range = self.scope.range;
        if let Some(gaps) = self.gaps(source, execution.simd) {
            return self.row_morsels(source, gaps, execution);
        }
        let is_direct = self.is_direct(source);
        let (cached, input): (_, fn(_) -> _) = if is_direct {
            (DIRECT_ROWS, MorselInput::Direct)
        } else {
            (SELECTED_ROWS, MorselInput::Selected)
        };
        let rows = execution.rows_per_morsel(time, self.look_back, cached);
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        delays.dedup();
        let intervals = intervals(time, rows, &delays, range).into_iter();
        intervals.map(|interval| Morsel { source, input: input(interval) }).collect()
    }

    /// Cuts the rows of a source that is counted by gaps.
    fn row_morsels<'a>(
        &self,
        source: &'a Source<'a>,
        gaps: NarrowGaps<'a>,
        execution: &Execution,
    ) -> Vec<Morsel<'a>> {
        let (time, delay, range) = (source.tags.time, self.delays[0], self.scope.range);
        let inside = Interval { start: range.from.unwrap_or(i64::MIN), end: range.to };
        let inside = inside.rows(time, delay);
        let rows = execution.morsel_rows.unwrap_or(DIRECT_ROWS).max(1);
        let morsel = |input| Morsel { source, input };
        let by_gaps = |rows| morsel(MorselInput::Gaps(gaps, rows));
        if !self.is_in_chains() {
            return row_ranges(gaps.gaps, inside, rows).into_iter().map(by_gaps).collect();
        }
        // The chains that the ends of the range cut are counted by times.
        let whole = whole_chains(gaps.gaps, inside.clone(), gaps.distances.reach());
        let cut = [inside.start..whole.start, whole.end..inside.end];
        let by_times = cut.into_iter().filter(|rows| !rows.is_empty()).map(|rows| {
            let Interval { start, end } = Interval::of_rows(time, &rows, delay);
            let start = range.from.map_or(start, |from| start.max(from));
            let end = range.to.map_or(end, |to| Some(end.map_or(to, |end| end.min(to))));
            morsel(MorselInput::Selected(Interval { start, end }))
        });
        let ranges = chain_ranges(gaps.gaps, whole, gaps.distances.reach(), rows);
        ranges.into_iter().map(by_gaps).chain(by_times).collect()
    }

    /// Returns whether rows are divided into chains if they are counted by gaps.
    fn is_in_chains(&self) -> bool {
        matches!(self.method, Method::Heralds { .. } | Method::Matches)
    }

    /// Returns the rows of a source and their ranges of whole chains, if a rule that uses tags up can count by gaps.
    pub(crate) fn chains<'a>(
        &'a self,
        source: &Source<'a>,
        execution: &Execution,
    ) -> Option<(NarrowGaps<'a>, Vec<Range<usize>>)> {
        let gaps = self.gaps(source, execution.simd)?;
        let rows = execution.morsel_rows.unwrap_or(DIRECT_ROWS).max(1);
        Some((gaps, chain_ranges(gaps.gaps, 0..gaps.gaps.len(), gaps.distances.reach(), rows)))
    }

    /// Returns whether rows are compared with their neighbours as they are stored.
    fn compares_rows(&self, source: &Source<'_>) -> bool {
        let is_narrow = matches!(source.tags.channels, Channels::U8(_));
        is_narrow && self.cells.is_none() && self.veto.is_none()
    }

    /// Returns the gaps of a source if tags are counted by them.
    fn gaps<'a>(&self, source: &Source<'a>, simd: Simd) -> Option<NarrowGaps<'a>> {
        let (gaps, Channels::U8(labels)) = (source.gaps?, source.tags.channels) else {
            return None;
        };
        let distances = self.distances().filter(|_| self.compares_rows(source))?;
        let crowded = match &self.method {
            Method::Pair => gaps::crowded_pair(simd, &distances),
            Method::Pairs => CROWDED_GAPS,
            Method::Folds(folds) => folds.fewest(),
            Method::Heralds { .. } | Method::Matches => chains::CROWDED,
        };
        let is_crowded = rows_within_window(source.tags.time, distances.reach().into()) >= crowded;
        (!is_crowded).then_some(NarrowGaps { gaps, labels, distances })
    }

    /// Returns the distances of the recorded times that count, if gaps can decide about them.
    fn distances(&self) -> Option<PairDistances> {
        let first = self.delays[0];
        // A rule that uses tags up begins and ends with a state in recorded times if the range is limited.
        let is_whole = self.scope.range == TimeRange::default();
        if self.delays.iter().all(|&delay| delay == first) {
            let distances = PairDistances::of(-self.window, self.window);
            return distances.filter(|_| is_whole || !matches!(self.method, Method::Matches));
        }
        // The delayed time of the later tag decides whether a pair is in the range, and it can be of either row.
        let is_one_pair = matches!(self.method, Method::Pair);
        if !is_one_pair || !is_whole {
            return None;
        }
        let apart = first.checked_sub(self.delays[1])?;
        PairDistances::of(apart.checked_sub(self.window)?, apart.checked_add(self.window)?)
    }

    /// Returns whether times are compared in the columns as stored, if there are no gaps.
    fn is_direct(&self, source: &Source<'_>) -> bool {
        let is_delayed = self.delays.iter().any(|&delay| delay != 0);
        let is_crowded = rows_within_window(source.tags.time, self.window) >= CROWDED;
        self.compares_rows(source) && !self.is_in_chains() && !is_delayed && !is_crowded
    }
}
