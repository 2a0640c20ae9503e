//! The counts: numbers that add up over runs and blocks of time, and the table made from them.
//!
//! A bin of 100 counts without one of 50 equal blocks, which has 4 of them, is 96·50/49 = 97.96, scaled to the whole
//! time. Its error comes from such values, one for each block; of a bin without counts it is never below that by
//! formula.

use std::sync::Arc;

use rayon::prelude::*;
use tagq_query::{
    Binned, Bins, Histogram as Query, Measured, ScanProgress, TimeDivision, covariance,
    limit_of_none, normalised,
};
use tagq_store::Tick;

use crate::{
    cells::Cells,
    requests::columns::{DelayCells, MIDDLE, Place, with_places},
    table::{Column, Table, Unit},
};

/// Expected counts per bin for uncorrelated light, if requested.
pub(crate) type Expected = Option<Vec<Option<f64>>>;

/// The counts of one run, or of several.
pub(crate) struct HistogramCounts {
    pub binned: Binned,
    pub expected: Expected,
    pub blocks: Vec<HistogramBlock>,
    /// The counts of each interval; empty unless they were asked for.
    pub intervals: Vec<IntervalCounts>,
}

/// The counts of an interval of time.
pub(crate) struct IntervalCounts {
    pub place: Place,
    pub is_partial: bool,
    pub counts: Vec<u64>,
    pub expected: Expected,
}

impl IntervalCounts {
    fn counted(&self, bin: usize) -> CountedBin {
        CountedBin::of(bin, &self.counts, self.expected.as_ref())
    }
}

/// The counts of one block of time.
pub(crate) struct HistogramBlock {
    pub counts: Vec<u64>,
    pub live: i128,
    /// The expected counts of all other blocks.
    pub expected_without: Expected,
}

impl HistogramCounts {
    /// Adds the counts of another run.
    pub(super) fn added(mut self, more: Self) -> Self {
        add_counts(&mut self.binned.counts, more.binned.counts);
        let dropped = self.binned.dropped.zip(more.binned.dropped);
        self.binned.dropped = dropped.map(|(dropped, more)| dropped + more);
        self.binned.sources.extend(more.binned.sources);
        add_expected(&mut self.expected, more.expected);
        for (block, more) in self.blocks.iter_mut().zip(more.blocks) {
            add_counts(&mut block.counts, more.counts);
            block.live += more.live;
            add_expected(&mut block.expected_without, more.expected_without);
        }
        self
    }

    pub(super) fn live(&self) -> i128 {
        self.binned.sources.iter().map(|source| i128::from(source.live)).sum()
    }

    /// Returns the rows of each interval, with errors by formula.
    pub(super) fn rows_of_intervals(
        self,
        query: &Query,
        tick: Tick,
        division: &TimeDivision,
    ) -> Table {
        let has_g2 = self.expected.is_some();
        let (bins, intervals) = (Arc::new(self.binned.bins), Arc::new(self.intervals));
        let each = bins.count().max(1);
        let rows = intervals.len() * each;
        let place = {
            let intervals = Arc::clone(&intervals);
            Cells::made(rows, move |row| intervals[row / each].place)
        };
        let counted = {
            let intervals = Arc::clone(&intervals);
            move |row: usize| intervals[row / each].counted(row % each)
        };
        let partial = move |row: usize| intervals[row / each].is_partial;
        let rows = DelayRows { number: rows, query, bins: &bins, counted, has_g2, tick };
        let table = with_places(Table::default(), &place, division, tick);
        let number = rows.number;
        rows.added_to(table, FromBlocks::default())
            .with(Column::flags("partial", Cells::made(number, partial)))
    }

    /// Returns the rows, with errors by formula or from blocks.
    pub(super) fn rows(
        self,
        query: &Query,
        tick: Tick,
        (has_covariance, progress): (bool, Option<&ScanProgress>),
    ) -> Table {
        let mut errors = FromBlocks::default();
        if !self.blocks.is_empty() {
            let left_out = self.left_out(|block, k| self.count_without(block, k));
            errors.of_counts = Some(self.errors(query, &left_out, None));
            if let Some(expected) = &self.expected {
                let left_out = self.left_out(|block, k| self.g2_without(block, k));
                let of_g2 = self.errors(query, &left_out, Some(expected));
                errors.covariances =
                    has_covariance.then(|| covariance_of(&left_out, &of_g2, progress));
                errors.of_g2 = Some(of_g2);
            }
        }
        let Self { binned, expected, .. } = self;
        let (number, has_g2) = (binned.counts.len(), expected.is_some());
        let (bins, counts, expected) = (Arc::new(binned.bins), binned.counts, expected);
        let both = Arc::new((counts, expected));
        let counted = move |bin: usize| CountedBin::of(bin, &both.0, both.1.as_ref());
        let rows = DelayRows { number, query, bins: &bins, counted, has_g2, tick };
        rows.added_to(Table::default(), errors)
    }

    /// Returns the errors of the bins from a value with each block left out: of counts, or with `expected` counts of g2.
    /// Blocks of a bin without any count do not differ: its error is then at least that by formula.
    fn errors(
        &self,
        query: &Query,
        left_out: &[Option<Vec<f64>>],
        expected: Option<&Vec<Option<f64>>>,
    ) -> Vec<Option<f64>> {
        let of = |(k, left_out): (usize, &Option<Vec<f64>>)| {
            let err = error_of(left_out.as_deref())?;
            let count = self.binned.counts[k];
            if count > 0 {
                return Some(err);
            }
            let formula = query.count_error(&self.binned.bins, k, count);
            let least = match expected {
                Some(expected) => normalised(count, formula, expected[k]).map(|g2| g2.err),
                None => Some(formula),
            };
            Some(err.max(least.unwrap_or(0.0)))
        };
        left_out.iter().enumerate().map(of).collect()
    }

    /// Returns a value of each bin with each block left out in turn; `None` if one of these is
    /// undefined.
    fn left_out(
        &self,
        value: impl Fn(&HistogramBlock, usize) -> Option<f64>,
    ) -> Vec<Option<Vec<f64>>> {
        let of = |k| self.blocks.iter().map(|block| value(block, k)).collect();
        (0..self.binned.counts.len()).map(of).collect()
    }

    /// Returns the count of a bin without a block, scaled to the whole time.
    fn count_without(&self, block: &HistogramBlock, k: usize) -> Option<f64> {
        let (live, left) = (self.live(), self.live() - block.live);
        let count = self.binned.counts[k].saturating_sub(block.counts[k]);
        (left > 0).then(|| count as f64 * live as f64 / left as f64)
    }

    fn g2_without(&self, block: &HistogramBlock, k: usize) -> Option<f64> {
        let expected = block.expected_without.as_ref()?[k].filter(|&expected| expected > 0.0)?;
        Some(self.binned.counts[k].saturating_sub(block.counts[k]) as f64 / expected)
    }
}

/// Returns the error of a value from its values with one block left out.
fn error_of(left_out: Option<&[f64]>) -> Option<f64> {
    left_out.filter(|values| values.len() > 1).map(|values| covariance(values, values).sqrt())
}

/// Returns the covariance of each bin with every bin; that with itself is the square of its error. After cancellation none.
fn covariance_of(
    left_out: &[Option<Vec<f64>>],
    errors: &[Option<f64>],
    progress: Option<&ScanProgress>,
) -> Vec<Vec<Option<f64>>> {
    let of = |(k, a): (usize, &Option<Vec<f64>>)| {
        if progress.is_some_and(ScanProgress::is_cancelled) {
            return Vec::new();
        }
        let with = |(l, b): (usize, &Option<Vec<f64>>)| match errors[k] {
            Some(err) if k == l => Some(err * err),
            _ => Some(covariance(a.as_deref()?, b.as_deref()?)),
        };
        left_out.iter().enumerate().map(with).collect()
    };
    left_out.par_iter().enumerate().map(of).collect()
}

pub(super) fn add_counts(counts: &mut [u64], more: Vec<u64>) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

fn add_expected(expected: &mut Expected, more: Expected) {
    let both = expected.iter_mut().flatten().zip(more.into_iter().flatten());
    for (expected, more) in both {
        *expected = match (*expected, more) {
            (Some(expected), Some(more)) => Some(expected + more),
            (expected, more) => expected.or(more),
        };
    }
}

/// The number of a bin, its count, and its expected count with g2.
#[derive(Debug, Clone, Copy)]
struct CountedBin {
    bin: usize,
    count: u64,
    expected: Option<f64>,
}

impl CountedBin {
    fn of(bin: usize, counts: &[u64], expected: Option<&Vec<Option<f64>>>) -> Self {
        Self { bin, count: counts[bin], expected: expected.and_then(|expected| expected[bin]) }
    }
}

/// Errors and covariances from blocks, of each bin.
#[derive(Default)]
struct FromBlocks {
    of_counts: Option<Vec<Option<f64>>>,
    of_g2: Option<Vec<Option<f64>>>,
    covariances: Option<Vec<Vec<Option<f64>>>>,
}

/// The rows of bins of delays.
struct DelayRows<'a, F> {
    number: usize,
    query: &'a Query,
    bins: &'a Arc<Bins>,
    /// Returns the bin, the count and the expected count of a row.
    counted: F,
    has_g2: bool,
    tick: Tick,
}

impl<F: Fn(usize) -> CountedBin + Clone + Send + Sync + 'static> DelayRows<'_, F> {
    /// Adds the bin, the count and g2 of each row, with errors by formula unless there are some from blocks.
    fn added_to(&self, table: Table, errors: FromBlocks) -> Table {
        let &Self { number, bins, has_g2, tick, .. } = self;
        let (counted, bin) = (self.counted.clone(), self.counted.clone());
        let DelayCells { low, width, middle } =
            DelayCells::of(number, bins, move |row| bin(row).bin, tick);
        // The widths are shown only if they differ.
        let widths = Column::integers("width_ticks", width).heading("ticks");
        let widths = if is_uniform(bins) { widths.hidden() } else { widths };
        let lows = Column::integers("first_tick", low);
        let middles = Column::floats("delay_s", middle).about(MIDDLE);
        let counts = Column::counts("count", Cells::made(number, move |row| counted(row).count));
        let formula = self.formula();
        let count_errors = match errors.of_counts {
            Some(errors) => errors.into(),
            None => Cells::made(number, move |row| Some(formula(row))),
        };
        let table = table
            .with(lows.heading("from (ticks)").key())
            .with(widths)
            .with(middles.heading("delay").unit(Unit::Seconds))
            .with(counts.err("count_err").compared())
            .with(Column::floats("count_err", count_errors).hidden());
        if !has_g2 {
            return table;
        }
        let g2_errors = match errors.of_g2 {
            Some(errors) => errors.into(),
            None => self.g2(|g2| g2.err),
        };
        let mut table = table
            .with(Column::floats("g2", self.g2(|g2| g2.value)).err("g2_err"))
            .with(Column::floats("g2_err", g2_errors).hidden());
        let limit = self.limit();
        if (0..number).any(|row| limit(row).is_some()) {
            let limits = Column::floats("g2_max", Cells::made(number, limit));
            table = table.with(limits.heading("g2 (95 %) <").if_room(0));
        }
        if let Some(covariances) = errors.covariances {
            table = table.with(Column::float_lists("g2_covariance", covariances.into()).hidden());
        }
        table
    }

    /// Returns the error of the count of a row by formula.
    fn formula(&self) -> impl Fn(usize) -> f64 + Clone + Send + Sync + 'static + use<F> {
        let (query, bins, of) = (self.query.clone(), Arc::clone(self.bins), self.counted.clone());
        move |row| {
            let CountedBin { bin, count, .. } = of(row);
            query.count_error(&bins, bin, count)
        }
    }

    /// Returns a part of the g2 of each row.
    fn g2(&self, part: fn(Measured) -> f64) -> Cells<Option<f64>> {
        let (of, formula) = (self.counted.clone(), self.formula());
        Cells::made(self.number, move |row| {
            let CountedBin { count, expected, .. } = of(row);
            normalised(count, formula(row), expected).map(part)
        })
    }

    /// Returns the upper limit (95 %) of the g2 of a row without a count.
    fn limit(&self) -> impl Fn(usize) -> Option<f64> + Clone + Send + Sync + 'static + use<F> {
        let (of, formula) = (self.counted.clone(), self.formula());
        move |row| {
            let CountedBin { count, expected, .. } = of(row);
            let expected = expected.filter(|&expected| expected > 0.0)?;
            // The square of the error is 2 where each pair counts twice.
            (count == 0).then(|| formula(row).powi(2) * limit_of_none(expected))
        }
    }
}

fn is_uniform(bins: &Bins) -> bool {
    match bins {
        Bins::Linear { .. } => true,
        Bins::Edges(edges) => {
            edges.windows(3).all(|three| three[1] - three[0] == three[2] - three[1])
        }
    }
}
