//! Shows the last interval beside the whole run, for a user at a running experiment.
//!
//! If the groups 1,2, 1,3 and 2,3 have the counts 10, 20 and 30, and the last second has one pair 1,2 and three pairs
//! 2,3, then `last_count` is 1, 0 and 3. Rows are matched by their keys, not by their order, and the last interval is
//! counted in the bins that were chosen for the whole.

use std::collections::HashMap;

use tagq_run::Run;
use tagq_store::Duration;

use super::{context::QueryContext, request::Request};
use crate::{
    answer::Answer,
    cell::Cell,
    error::Error,
    table::{CellType, Column, Shown, Table},
};

impl Request {
    /// Answers as `tagq watch` does: the whole of each run and, if the request has a last interval, that interval beside
    /// it. Bins of time have no interval beside them.
    ///
    /// # Errors
    /// Same as [`Request::sum`].
    pub fn sum_beside_last(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        match &self.selection().last {
            Some(last) if !self.is_trace() => self.sum_with_last(runs, last),
            _ => self.sum(runs),
        }
    }

    /// Queries the whole of each run and its last interval `last`: adds `last_count` to each row, and
    /// `last_rate_hz` with `last_rate_err_hz` if rows have rates. A row that is missing in the last
    /// interval has a count of zero there.
    ///
    /// # Errors
    /// Same as [`Request::sum`].
    pub fn sum_with_last(
        &self,
        runs: &[(&Run, &QueryContext<'_>)],
        last: &Duration,
    ) -> Result<Answer, Error> {
        let (mut whole, bins) = self.of_last(None).sum_in_bins(runs, None)?;
        let newest = self.of_last(Some(last.clone())).sum_in_bins(runs, bins.as_ref())?.0;
        whole.rows = with_columns_of_last(whole.rows, &newest.rows);
        let totals = whole.total.take().zip(newest.total);
        whole.total = totals.map(|(whole, newest)| with_columns_of_last(whole, &newest));
        whole.header = format!(
            "{}; beside it the last recorded {}",
            whole.header,
            super::header::spaced(last.asked())
        );
        whole.provenance.beside_last = Some(last.clone());
        if let Some(query) = whole.query.as_object_mut() {
            query.insert("beside_last_asked".into(), last.asked().into());
        }
        Ok(whole)
    }
}

/// Returns the rows of `whole`, with the compared columns of the rows of `newest` that have the same
/// keys.
fn with_columns_of_last(whole: Table, newest: &Table) -> Table {
    let of_key: HashMap<Vec<String>, usize> = keys(newest).into_iter().zip(0..).collect();
    let rows: Vec<Option<usize>> =
        keys(&whole).iter().map(|key| of_key.get(key).copied()).collect();
    let last = newest.columns().iter().filter(|column| column.shown.is_compared);
    let last = last.map(|column| last_of(column, &rows)).collect();
    // The end of a row may be cut off in a narrow terminal.
    let compared = whole.columns().iter().rposition(|column| column.shown.is_compared);
    match compared {
        Some(at) => whole.with_after(at, last),
        None => whole,
    }
}

/// Returns a column of the last interval, in the order of `rows`. Missing rows have a count of zero.
fn last_of(column: &Column, rows: &[Option<usize>]) -> Column {
    let Column { key, of, is_list, cells, shown } = column;
    let nothing = if *of == CellType::Count { Cell::Count(0) } else { Cell::Missing };
    let cell = |row: &Option<usize>| row.map_or_else(|| nothing.clone(), |row| cells.at(row));
    let heading = match of {
        CellType::Count => "last".to_owned(),
        CellType::Integer
        | CellType::Float
        | CellType::Flag
        | CellType::Channel
        | CellType::Name => {
            format!("last {}", shown.heading)
        }
    };
    let shown = Shown {
        heading: heading.into(),
        err: shown.err.as_ref().map(|err| format!("last_{err}").into()),
        ..shown.clone()
    };
    let cells = rows.iter().map(cell).collect();
    Column { key: format!("last_{key}").into(), of: *of, is_list: *is_list, cells, shown }
}

/// Returns the key columns that distinguish the rows.
fn keys(table: &Table) -> Vec<Vec<String>> {
    let keys: Vec<&Column> = table.columns().iter().filter(|column| column.shown.is_key).collect();
    let key = |row| keys.iter().map(|column| column.cells.at(row).to_string()).collect();
    (0..table.len()).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Unit;

    fn counts(counts: &[u64]) -> Column {
        Column::counts("count", counts.to_vec().into()).compared()
    }

    fn rates(rates: &[Option<f64>]) -> Column {
        Column::floats("rate_hz", rates.to_vec().into()).unit(Unit::Hertz).compared()
    }

    #[test]
    fn rows_find_their_own_in_any_order_and_zero_where_there_is_none() {
        let groups = |groups: &[[u16; 2]]| {
            Column::groups("channels", groups.iter().map(|group| group.to_vec()).collect()).key()
        };
        let whole = Table::default()
            .with(groups(&[[1, 2], [1, 3], [2, 3]]))
            .with(counts(&[10, 20, 30]))
            .with(rates(&[Some(1.0), Some(2.0), Some(3.0)]))
            .with(Column::floats("car", vec![None; 3].into()));
        let newest = Table::default()
            .with(groups(&[[2, 3], [1, 2]]))
            .with(counts(&[3, 1]))
            .with(rates(&[Some(0.3), None]));
        let both = with_columns_of_last(whole, &newest);
        assert_eq!(both.numbers("last_count"), [Some(1.0), Some(0.0), Some(3.0)]);
        assert_eq!(both.numbers("last_rate_hz"), [None, None, Some(0.3)]);
        assert_eq!(both.numbers("count"), [Some(10.0), Some(20.0), Some(30.0)]);
        let keys: Vec<&str> = both.columns().iter().map(|column| &*column.key).collect();
        assert_eq!(keys, ["channels", "count", "rate_hz", "last_count", "last_rate_hz", "car"]);
        let total = |count| Table::default().with(counts(&[count]));
        let both = with_columns_of_last(total(6), &total(2));
        assert_eq!(both.numbers("last_count"), [Some(2.0)]);
        assert_eq!(both.get("last_rate_hz"), None);
    }
}
