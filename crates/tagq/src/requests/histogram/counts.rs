//! The counts: numbers that add up over runs and blocks of time, and the table made from them.

use std::sync::Arc;

use rayon::prelude::*;
use tagq_query::{
    Binned, Bins, Histogram as Query, Measured, TimeDivision, covariance, limit_of_none, normalised,
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
    pub blocks: Vec<Block>,
    /// The counts of each interval; empty unless they were asked for.
    pub intervals: Vec<IntervalCounts>,
}

/// The counts of an interval of time.
pub(crate) struct IntervalCounts {
    pub place: Place,
    pub is_partial: bool,
    pub counts: Vec<u64>,
}

/// The counts of one block of time.
pub(crate) struct Block {
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
        let (bins, intervals) = (Arc::new(self.binned.bins), Arc::new(self.intervals));
        let each = bins.count().max(1);
        let rows = intervals.len() * each;
        let place = {
            let intervals = Arc::clone(&intervals);
            Cells::made(rows, move |row| intervals[row / each].place)
        };
        let count = {
            let intervals = Arc::clone(&intervals);
            move |row: usize| intervals[row / each].counts[row % each]
        };
        let error = {
            let (query, bins, count) = (query.clone(), Arc::clone(&bins), count.clone());
            move |row: usize| Some(query.count_error(&bins, row % each, count(row)))
        };
        let partial = move |row: usize| intervals[row / each].is_partial;
        let DelayCells { low, width, middle } =
            DelayCells::of(rows, &bins, move |row| row % each, tick);
        with_places(Table::default(), &place, division, tick)
            .with(Column::integers("first_tick", low).heading("from (ticks)").key())
            .with(Column::integers("width_ticks", width).heading("ticks").hidden())
            .with(
                Column::floats("delay_s", middle)
                    .heading("delay")
                    .about(MIDDLE)
                    .unit(Unit::Seconds),
            )
            .with(Column::counts("count", Cells::made(rows, count)).err("count_err").compared())
            .with(Column::floats("count_err", Cells::made(rows, error)).hidden())
            .with(Column::flags("partial", Cells::made(rows, partial)))
    }

    /// Returns the rows, with errors by formula or from blocks.
    pub(super) fn rows(self, query: &Query, tick: Tick, has_covariance: bool) -> Table {
        let rows = self.binned.counts.len();
        let (mut count_errors, mut g2_errors, mut covariances) = (None, None, None);
        if !self.blocks.is_empty() {
            let left_out = self.left_out(|block, k| self.count_without(block, k));
            count_errors = Some(self.errors(query, &left_out, None));
            if let Some(expected) = &self.expected {
                let left_out = self.left_out(|block, k| self.g2_without(block, k));
                let errors = self.errors(query, &left_out, Some(expected));
                covariances = has_covariance.then(|| covariance_of(&left_out, &errors));
                g2_errors = Some(errors);
            }
        }
        let Self { binned, expected, .. } = self;
        let (bins, counts) = (Arc::new(binned.bins), Arc::new(binned.counts));
        let formula = {
            let (query, bins, counts) = (query.clone(), Arc::clone(&bins), Arc::clone(&counts));
            move |k: usize| query.count_error(&bins, k, counts[k])
        };
        let g2 = expected.map(|expected| {
            let expected = Arc::new(expected);
            let of = |value: fn(Measured) -> f64| {
                let (formula, counts) = (formula.clone(), Arc::clone(&counts));
                let expected = Arc::clone(&expected);
                Cells::made(rows, move |k| {
                    normalised(counts[k], formula(k), expected[k]).map(value)
                })
            };
            let errors = match g2_errors {
                Some(errors) => errors.into(),
                None => of(|g2| g2.err),
            };
            let limit = {
                let (counts, expected) = (Arc::clone(&counts), Arc::clone(&expected));
                let formula = formula.clone();
                move |k: usize| {
                    let expected = expected[k].filter(|&expected| expected > 0.0)?;
                    // The square of the error is 2 where each pair counts twice.
                    let times = formula(k).powi(2);
                    (counts[k] == 0).then(|| times * limit_of_none(expected))
                }
            };
            let has_limit = (0..rows).any(|k| limit(k).is_some());
            let limits = has_limit.then(|| Cells::made(rows, limit));
            G2 { values: of(|g2| g2.value), errors, limits, covariances }
        });
        let count_errors = match count_errors {
            Some(errors) => errors.into(),
            None => Cells::made(rows, move |k| Some(formula(k))),
        };
        columns(&bins, counts, count_errors, g2, tick)
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
    fn left_out(&self, value: impl Fn(&Block, usize) -> Option<f64>) -> Vec<Option<Vec<f64>>> {
        let of = |k| self.blocks.iter().map(|block| value(block, k)).collect();
        (0..self.binned.counts.len()).map(of).collect()
    }

    /// Returns the count of a bin without a block, scaled to the whole time.
    fn count_without(&self, block: &Block, k: usize) -> Option<f64> {
        let (live, left) = (self.live(), self.live() - block.live);
        let count = self.binned.counts[k].saturating_sub(block.counts[k]);
        (left > 0).then(|| count as f64 * live as f64 / left as f64)
    }

    fn g2_without(&self, block: &Block, k: usize) -> Option<f64> {
        let expected = block.expected_without.as_ref()?[k].filter(|&expected| expected > 0.0)?;
        Some(self.binned.counts[k].saturating_sub(block.counts[k]) as f64 / expected)
    }
}

/// Returns the error of a value from its values with one block left out.
fn error_of(left_out: Option<&[f64]>) -> Option<f64> {
    left_out.filter(|values| values.len() > 1).map(|values| covariance(values, values).sqrt())
}

/// Returns the covariance of each bin with every bin; that with itself is the square of its error.
fn covariance_of(left_out: &[Option<Vec<f64>>], errors: &[Option<f64>]) -> Vec<Vec<Option<f64>>> {
    let of = |(k, a): (usize, &Option<Vec<f64>>)| {
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

/// The columns of g2.
struct G2 {
    values: Cells<Option<f64>>,
    errors: Cells<Option<f64>>,
    /// Upper limits (95 %) of the bins without a count, if there are any.
    limits: Option<Cells<Option<f64>>>,
    covariances: Option<Vec<Vec<Option<f64>>>>,
}

fn columns(
    bins: &Arc<Bins>,
    counts: Arc<Vec<u64>>,
    count_errors: Cells<Option<f64>>,
    g2: Option<G2>,
    tick: Tick,
) -> Table {
    let rows = counts.len();
    let is_uniform = match &**bins {
        Bins::Linear { .. } => true,
        Bins::Edges(edges) => {
            edges.windows(3).all(|three| three[1] - three[0] == three[2] - three[1])
        }
    };
    let DelayCells { low, width, middle } = DelayCells::of(rows, bins, |k| k, tick);
    // The widths are shown only if they differ.
    let widths = Column::integers("width_ticks", width).heading("ticks");
    let widths = if is_uniform { widths.hidden() } else { widths };
    let lows = Column::integers("first_tick", low);
    let middles = Column::floats("delay_s", middle).about(MIDDLE);
    let counts = Column::counts("count", Cells::made(rows, move |k| counts[k]));
    let table = Table::default()
        .with(lows.heading("from (ticks)").key())
        .with(widths)
        .with(middles.heading("delay").unit(Unit::Seconds))
        .with(counts.err("count_err").compared())
        .with(Column::floats("count_err", count_errors).hidden());
    let Some(G2 { values, errors, limits, covariances }) = g2 else { return table };
    let mut table = table
        .with(Column::floats("g2", values).err("g2_err"))
        .with(Column::floats("g2_err", errors).hidden());
    if let Some(limits) = limits {
        table = table.with(Column::floats("g2_max", limits).heading("g2 (95 %) <").if_room(0));
    }
    if let Some(covariances) = covariances {
        table = table.with(Column::float_lists("g2_covariance", covariances.into()).hidden());
    }
    table
}
