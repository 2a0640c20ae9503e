//! The table: one row per cell.

use std::sync::Arc;

use tagq_query::{Binned2d, limit_of_none};
use tagq_store::Tick;

use crate::{
    cells::Cells,
    requests::columns::{DelayCells, MIDDLE},
    table::{Column, Table, Unit},
};

/// Returns the cells row by row, with g3 if counts are expected. Errors are those of the count, √max(C, 1).
pub(super) fn of(binned: Binned2d, expected: Option<Vec<f64>>, tick: Tick) -> Table {
    let (rows, count, bins) =
        (binned.counts.len(), binned.bins.count(), Arc::new(binned.bins.clone()));
    let a = DelayCells::of(rows, &bins, move |row| row / count, tick);
    let b = DelayCells::of(rows, &bins, move |row| row % count, tick);
    let binned = Arc::new(binned);
    let counts = Arc::clone(&binned);
    let counts = Cells::made(rows, move |row| counts.counts[row]);
    let of_count = Arc::clone(&binned);
    let count_err = move |row: usize| (of_count.counts[row].max(1) as f64).sqrt();
    let table = Table::default()
        .with(Column::integers("first_tick_a", a.low).heading("A from (ticks)").key())
        .with(Column::integers("first_tick_b", b.low).heading("B from (ticks)").key())
        .with(
            Column::floats("delay_a_s", a.middle)
                .heading("delay A")
                .about(MIDDLE)
                .unit(Unit::Seconds),
        )
        .with(
            Column::floats("delay_b_s", b.middle)
                .heading("delay B")
                .about(MIDDLE)
                .unit(Unit::Seconds),
        )
        .with(Column::counts("count", counts).err("count_err").compared())
        .with(
            Column::floats("count_err", Cells::made(rows, move |row| Some(count_err(row))))
                .hidden(),
        );
    let Some(expected) = expected else { return table };
    let (expected, has_limit) = (Arc::new(expected), binned.counts.contains(&0));
    let of = |value: fn(u64, f64) -> Option<f64>| {
        let (binned, expected) = (Arc::clone(&binned), Arc::clone(&expected));
        Cells::made(rows, move |row| match expected[row] {
            expected if expected > 0.0 => value(binned.counts[row], expected),
            _ => None,
        })
    };
    let g3 = of(|count, expected| Some(count as f64 / expected));
    let g3_err = of(|count, expected| Some((count.max(1) as f64).sqrt() / expected));
    let table = table
        .with(Column::floats("g3", g3).err("g3_err"))
        .with(Column::floats("g3_err", g3_err).hidden());
    if !has_limit {
        return table;
    }
    let g3_max = of(|count, expected| (count == 0).then(|| limit_of_none(expected)));
    table.with(Column::floats("g3_max", g3_max).heading("g3 (95 %) <").if_room(0))
}
