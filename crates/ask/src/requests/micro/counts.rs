//! The counts of micro times, and the table made from them. Counts of several runs are added for equal bins of time,
//! whose places are the same in all runs.

use std::{collections::BTreeMap, sync::Arc};

use tagq_query::{Bins, TimeDivision};
use tagq_store::Tick;

use crate::{
    cells::Cells,
    requests::columns::{DelayCells, MIDDLE, Place, with_places},
    table::{Column, Table, Unit},
};

/// The counts of one run or of several: one entry for each bin of a trace, by its place; without a trace one entry.
#[derive(Debug, Default)]
pub(crate) struct MicroCounts(pub BTreeMap<Place, MicroBins>);

/// The counts of an interval of time.
#[derive(Debug, Default)]
pub(crate) struct MicroBins {
    /// All bins of the first channel, then those of the next one.
    pub counts: Vec<u64>,
    /// Whether the selection cuts the bin of the trace, or it may still change.
    pub is_partial: bool,
}

/// The units of the columns.
#[derive(Debug, Clone)]
pub(super) struct Units {
    /// The tick of the run.
    pub tick: Tick,
    /// The unit of micro times.
    pub micro: Tick,
    /// The bins of the trace.
    pub trace: Option<TimeDivision>,
}

impl MicroCounts {
    pub(super) fn added(mut self, more: Self) -> Self {
        for (place, interval) in more.0 {
            let sum = self.0.entry(place).or_default();
            sum.counts.resize(interval.counts.len(), 0);
            sum.counts.iter_mut().zip(interval.counts).for_each(|(sum, count)| *sum += count);
            sum.is_partial |= interval.is_partial;
        }
        self
    }

    pub(super) fn tags(&self) -> u64 {
        self.0.values().flat_map(|interval| &interval.counts).sum()
    }

    /// Returns one row for each bin of each channel; with a trace, for each of its bins. Errors are those of
    /// counts, √max(C, 1).
    pub(super) fn table(self, channels: &[u16], bins: &Bins, units: &Units) -> Table {
        let (bins, channels) = (Arc::new(bins.clone()), Arc::new(channels.to_vec()));
        let of_channel = bins.count().max(1);
        let of_interval = of_channel * channels.len();
        let intervals: Arc<Vec<(Place, MicroBins)>> = Arc::new(self.0.into_iter().collect());
        let rows = intervals.len() * of_interval;
        let mut table = Table::default();
        if let Some(division) = &units.trace {
            let place = {
                let intervals = Arc::clone(&intervals);
                move |row: usize| intervals[row / of_interval].0
            };
            table = with_places(table, &Cells::made(rows, place), division, units.tick);
        }
        let channel = move |row: usize| Some(channels[row % of_interval / of_channel]);
        let DelayCells { low, width, middle } =
            DelayCells::of(rows, &bins, move |row| row % of_channel, units.micro);
        let count = {
            let intervals = Arc::clone(&intervals);
            move |row: usize| intervals[row / of_interval].1.counts[row % of_interval]
        };
        let errors = {
            let count = count.clone();
            Cells::made(rows, move |row| Some((count(row).max(1) as f64).sqrt()))
        };
        table = table
            .with(Column::channels("channel", Cells::made(rows, channel)).key())
            .with(
                Column::integers("first_tick", low)
                    .heading("from (ticks)")
                    .about("first micro time of the bin, in ticks of micro times")
                    .key(),
            )
            .with(
                Column::integers("width_ticks", width)
                    .heading("ticks")
                    .about("width of the bin, in ticks of micro times")
                    .hidden(),
            )
            .with(
                Column::floats("delay_s", middle)
                    .heading("micro time")
                    .about(MIDDLE)
                    .unit(Unit::Seconds),
            )
            .with(Column::counts("count", Cells::made(rows, count)).err("count_err").compared())
            .with(Column::floats("count_err", errors).hidden());
        if units.trace.is_none() {
            return table;
        }
        let partial = move |row: usize| intervals[row / of_interval].1.is_partial;
        table.with(Column::flags("partial", Cells::made(rows, partial)))
    }
}
