//! The columns that rows of several kinds have: where bins of time begin, and where bins of delays lie.
//!
//! The bin of the ticks −3 to 2 begins at −3, is 6 ticks wide, and has its middle at −0.5 ticks: differences are whole
//! ticks, so that the middle is that of the first and the last one, not that of the edges.

use std::sync::Arc;

use tagq_query::{Bins, TimeBin, TimeDivision};
use tagq_store::Tick;

use crate::{
    cells::Cells,
    table::{Column, Table, Unit},
};

/// The meaning of `delay_s`.
pub(super) const MIDDLE: &str = "middle of the bin";

/// Where the bin of time of a row lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    pub number: i64,
    /// In ticks after the first tag of the run.
    pub start: i64,
    /// In ticks.
    pub length: i64,
}

impl Place {
    pub(super) fn of(bin: &TimeBin) -> Self {
        let &TimeBin { number, start, length, .. } = bin;
        Self { number, start, length }
    }
}

/// Adds where the bin of time of each row begins; that of an interval has a number and a length.
pub(super) fn with_places(
    table: Table,
    places: &Cells<Place>,
    division: &TimeDivision,
    tick: Tick,
) -> Table {
    let ticks = |of: fn(&Place) -> i64| places.clone().map(move |place| of(&place));
    let seconds =
        |of: fn(&Place) -> i64| ticks(of).map(move |ticks| Some(tick.seconds_of(ticks.into())));
    let start = |table: Table| {
        let of = Column::floats("start_s", seconds(|of| of.start)).heading("from");
        let ticks = Column::integers("start_ticks", ticks(|of| of.start)).hidden();
        table.with(of.unit(Unit::Seconds)).with(ticks)
    };
    match division {
        TimeDivision::Width(_) => start(table),
        TimeDivision::Intervals(_) => {
            let table = start(table.with(Column::integers("interval", ticks(|of| of.number))));
            let length = Column::floats("length_s", seconds(|of| of.length)).heading("length");
            let ticks = Column::integers("length_ticks", ticks(|of| of.length)).hidden();
            table.with(length.unit(Unit::Seconds)).with(ticks)
        }
    }
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
