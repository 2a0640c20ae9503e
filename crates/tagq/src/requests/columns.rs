//! The columns that rows of several kinds have: where bins of time begin, and where bins of delays lie.

use std::sync::Arc;

use tagq_query::Bins;
use tagq_store::Tick;

use crate::{
    cells::Cells,
    table::{Column, Table, Unit},
};

/// Adds where the bin of time of each row begins: `starts` are in ticks after the first tag of the run.
pub(super) fn with_starts(table: Table, starts: Cells<i64>, tick: Tick) -> Table {
    let seconds = starts.clone().map(move |start| Some(tick.seconds_of(start.into())));
    let seconds = Column::floats("start_s", seconds).heading("from").unit(Unit::Seconds);
    table.with(seconds).with(Column::integers("start_ticks", starts).hidden())
}

/// Where the bin of delays of each row lies.
pub(super) struct DelayCells {
    /// The first delay in ticks.
    pub low: Cells<i64>,
    /// The width in ticks.
    pub width: Cells<i64>,
    /// The middle of the ticks in the bin, in seconds.
    pub middle: Cells<Option<f64>>,
}

impl DelayCells {
    /// Returns the cells of `rows` rows; `bin` returns the bin of a row.
    pub(super) fn of(
        rows: usize,
        bins: &Arc<Bins>,
        bin: impl Fn(usize) -> usize + Clone + Send + Sync + 'static,
        tick: Tick,
    ) -> Self {
        let edges = {
            let bins = Arc::clone(bins);
            move |row: usize| [0, 1].map(|end| bins.edge(bin(row) + end))
        };
        let edges = Cells::made(rows, edges);
        Self {
            low: edges.clone().map(|[low, _]| low),
            width: edges.clone().map(|[low, high]| high - low),
            middle: edges.map(move |[low, high]| {
                Some(tick.seconds_of(i128::from(low) + i128::from(high) - 1) / 2.0)
            }),
        }
    }
}
