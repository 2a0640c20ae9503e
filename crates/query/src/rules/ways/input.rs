//! Which columns count the coincidences of a source, and how its rows are cut for the threads.
//!
//! With one delay, rows are compared as they are stored. With delays 0 and 100 and a range of time, either row of a
//! pair can have the later delayed time, so the channels are extracted instead. The choice changes the time of a
//! count, never the count.

use std::ops::Range;

use tagq_store::{Channels, RowValues};

use crate::{
    kernels::{
        neighbours::{DelayedWindow, PairDistances},
        simd::Simd,
    },
    rules::{definition::Method, ways::part::GroupScan},
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        chains::{chain_ranges, whole_chains},
        column::StoredColumn,
        morsels::{Execution, Interval, intervals, row_ranges, rows_within_window},
        plan::ReadPlan,
        route::{self, BUFFER_ROWS, Route, column_rows},
    },
};

/// One task.
pub(super) struct Morsel<'a> {
    pub source: &'a Source<'a>,
    pub input: MorselInput<'a>,
}

/// The tags that a morsel owns, and the columns that the kernels read for them.
pub(super) enum MorselInput<'a> {
    /// Rows of all channels as stored. No time before the rows equals one of theirs.
    Rows(Neighbours<'a>, Range<usize>),
    /// The channels in use, extracted.
    Selected(Interval),
}

/// The columns of a source whose rows are compared with their neighbours, and the window.
#[derive(Clone, Copy)]
pub(crate) struct Neighbours<'a> {
    pub column: StoredColumn<'a>,
    pub labels: RowValues<'a, u8>,
    pub window: &'a DelayedWindow,
}

impl GroupScan {
    /// Adds the rows that counting reads to the plan.
    pub(crate) fn plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut ReadPlan,
    ) {
        let work = self.work();
        plan.read(recording, |source| {
            let time = source.tags.time;
            self.morsels(source, execution).into_iter().flat_map(move |morsel| match morsel.input {
                MorselInput::Rows(Neighbours { column, window, .. }, rows) => match column {
                    StoredColumn::Gaps(_) => vec![(Route::Gaps, rows)],
                    StoredColumn::WideGaps(_) | StoredColumn::Times(_) => {
                        let own = Interval::of_rows(time, &rows, 0);
                        vec![(Route::Columns(work), own.looking_back(window.reach).rows(time, 0))]
                    }
                },
                MorselInput::Selected(interval) => {
                    let interval = interval.looking_back(self.look_back);
                    let vetoes = self.veto.iter().flat_map(|veto| veto.row_ranges(time, interval));
                    let ranges = self.selection.row_ranges(time, interval).into_iter();
                    ranges.chain(vetoes).map(|rows| (Route::Lists(work), rows)).collect()
                }
            })
        });
        plan.is_at_least |= match self.method {
            // If windows turn out to be crowded, channels are extracted after all.
            Method::Pair | Method::Pairs | Method::Groups { .. } => {
                let mut sources = recording.sources.iter();
                sources.any(|source| self.neighbours(source, execution.simd).is_some())
            }
            Method::Heralds { .. } => false,
            // Rules that use tags up begin at a gap before the range, and continue to the next gap.
            Method::Matches => true,
        };
    }

    pub(super) fn morsels<'a>(
        &'a self,
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
        if let Some(neighbours) = self.neighbours(source, execution.simd) {
            return self.row_morsels(source, neighbours, execution);
        }
        let rows = execution.rows_per_morsel(time, self.look_back, BUFFER_ROWS);
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        delays.dedup();
        let intervals = intervals(time, rows, &delays, range).into_iter();
        let input = intervals.map(MorselInput::Selected);
        input.map(|input| Morsel { source, input }).collect()
    }

    /// Cuts the rows of a source that are compared with their neighbours.
    fn row_morsels<'a>(
        &'a self,
        source: &'a Source<'a>,
        neighbours: Neighbours<'a>,
        execution: &Execution,
    ) -> Vec<Morsel<'a>> {
        let (time, delay, range) = (source.tags.time, self.delays[0], self.scope.range);
        let inside = Interval { start: range.from.unwrap_or(i64::MIN), end: range.to };
        let inside = inside.rows(time, delay);
        let Neighbours { column, window, .. } = neighbours;
        let has_buffers = self.veto.is_some() || column.is_decoded();
        let rows = column_rows(execution, has_buffers);
        let morsel = |input| Morsel { source, input };
        let of_rows = |rows| morsel(MorselInput::Rows(neighbours, rows));
        if !self.is_in_chains() {
            return row_ranges(column, inside, rows).into_iter().map(of_rows).collect();
        }
        // The channels of the chains that the ends of the range cut are extracted.
        let whole = whole_chains(column, inside.clone(), window.reach);
        let cut = [inside.start..whole.start, whole.end..inside.end];
        let of_ends = cut.into_iter().filter(|rows| !rows.is_empty()).map(|rows| {
            let Interval { start, end } = Interval::of_rows(time, &rows, delay);
            let start = range.from.map_or(start, |from| start.max(from));
            let end = range.to.map_or(end, |to| Some(end.map_or(to, |end| end.min(to))));
            morsel(MorselInput::Selected(Interval { start, end }))
        });
        let ranges = chain_ranges(column, whole, window.reach, rows);
        ranges.into_iter().map(of_rows).chain(of_ends).collect()
    }

    /// Returns whether rows are divided into chains if they are compared with their neighbours.
    fn is_in_chains(&self) -> bool {
        matches!(self.method, Method::Heralds { .. } | Method::Matches)
    }

    /// Returns whether channels have different delays.
    pub(super) fn has_different_delays(&self) -> bool {
        self.delays.iter().any(|&delay| delay != self.delays[0])
    }

    /// Returns the columns of a source and its ranges of whole chains, if a rule that uses tags up can count chain by
    /// chain.
    pub(crate) fn chains<'a>(
        &'a self,
        source: &Source<'a>,
        execution: &Execution,
    ) -> Option<(Neighbours<'a>, Vec<Range<usize>>)> {
        let neighbours = self.neighbours(source, execution.simd)?;
        let Neighbours { column, window, .. } = neighbours;
        let rows = column_rows(execution, column.is_decoded());
        Some((neighbours, chain_ranges(column, 0..column.len(), window.reach, rows)))
    }

    /// Returns the columns of a source if its rows are compared with their neighbours as they are stored.
    fn neighbours<'a>(&'a self, source: &Source<'a>, simd: Simd) -> Option<Neighbours<'a>> {
        let Channels::U8(labels) = source.tags.channels else { return None };
        // A tag of a group of one channel is a coincidence without neighbours.
        if self.cells.is_some() || self.numbered.iter().any(|group| group.len() < 2) {
            return None;
        }
        let is_whole = self.scope.range == TimeRange::default();
        let is_possible = match self.method {
            // With different delays, the delayed time of the later tag decides whether a pair is in the range, and it
            // can be of either row.
            Method::Pair | Method::Pairs => is_whole || !self.has_different_delays(),
            Method::Groups { .. } | Method::Heralds { .. } => !self.has_different_delays(),
            // These rules begin and end with a state in recorded times.
            Method::Matches => is_whole && !self.has_different_delays(),
        };
        let delay = self.delays[0];
        let are_vetoes_possible = self.veto.as_ref().is_none_or(|veto| {
            let is_matches = matches!(self.method, Method::Matches);
            !is_matches && !self.has_different_delays() && veto.is_of_neighbours(delay)
        });
        if !is_possible || !are_vetoes_possible {
            return None;
        }
        let window = self.near.as_ref()?;
        let column = route::column(source, window.reach);
        if let (StoredColumn::WideGaps(_) | StoredColumn::Times(_), Some(_)) = (column, &self.veto)
        {
            // Vetoes change gaps and labels.
            return None;
        }
        let has_delays = self.has_different_delays();
        let crowded = self.work().crowded(column.rows(), simd, has_delays);
        let is_crowded = rows_within_window(source.tags.time, window.reach) >= crowded;
        (!is_crowded).then_some(Neighbours { column, labels, window })
    }

    /// Returns the distances of the recorded times of the one pair that are within the window.
    pub(super) fn distances(&self) -> Option<PairDistances> {
        let apart = self.delays[0].checked_sub(self.delays[1])?;
        PairDistances::between(apart.checked_sub(self.window)?, apart.checked_add(self.window)?)
    }
}
