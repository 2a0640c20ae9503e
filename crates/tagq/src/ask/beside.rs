//! The last interval beside the whole run: what a person at a running experiment looks at.

use std::collections::HashMap;

use tagq_store::Duration;

use super::{Asking, Question};
use crate::{Answer, Columns, Error, Run, Values};

impl Question {
    /// Asks the whole of each run, and beside it the last `last` of it: `last_count` in each row, and
    /// `last_rate_hz` with `last_rate_err_hz` where rows have rates. A row that the last interval does
    /// not have counted nothing in it.
    ///
    /// # Errors
    /// As [`Question::sum`].
    pub fn sum_beside_last(
        &self,
        runs: &[(&Run, &Asking<'_>)],
        last: &Duration,
    ) -> Result<Answer, Error> {
        let mut whole = self.of_last(None).sum(runs)?;
        let newest = self.of_last(Some(last.clone())).in_bins_of(&whole)?.sum(runs)?;
        whole.rows = beside(whole.rows, &newest.rows);
        whole.header =
            format!("{}; beside it the last {}", whole.header, super::spaced(last.asked()));
        if let Some(query) = whole.query.as_object_mut() {
            query.insert("beside_last_asked".into(), last.asked().into());
        }
        Ok(whole)
    }
}

/// The rows of `whole` with what the rows of `newest` of the same key counted.
fn beside(whole: Columns, newest: &Columns) -> Columns {
    let of_key: HashMap<Vec<i64>, usize> = keys(newest).into_iter().zip(0..).collect();
    let rows: Vec<Option<usize>> =
        keys(&whole).iter().map(|key| of_key.get(key).copied()).collect();
    let mut last = Columns::default();
    if let Some(Values::Counts(counts)) = newest.get("count") {
        let counts = rows.iter().map(|row| row.map_or(0, |row| counts.at(row))).collect();
        last = last.with("last_count", Values::Counts(counts));
    }
    for (name, from) in [("last_rate_hz", "rate_hz"), ("last_rate_err_hz", "rate_err_hz")] {
        if let Some(Values::Floats(values)) = newest.get(from) {
            let values = rows.iter().map(|row| row.and_then(|row| values.at(row))).collect();
            last = last.with(name, Values::Floats(values));
        }
    }
    // Beside what it is compared with: on a narrow screen the end of a row may have no room.
    let behind = ["rate_err_hz", "rate_hz", "count"];
    let behind = behind.into_iter().find(|key| whole.get(key).is_some()).unwrap_or_default();
    whole.with_behind(behind, last)
}

/// What tells the rows apart: channels, or the bin.
fn keys(columns: &Columns) -> Vec<Vec<i64>> {
    let key = ["channels", "channel", "delay_ticks"].into_iter().find_map(|key| columns.get(key));
    match key {
        Some(Values::Groups(groups)) => {
            groups.iter().map(|group| group.into_iter().map(i64::from).collect()).collect()
        }
        Some(Values::Channels(channels)) => {
            // All channels together have no label.
            channels.iter().map(|channel| vec![channel.map_or(-1, i64::from)]).collect()
        }
        Some(Values::Integers(bins)) => bins.iter().map(|bin| vec![bin]).collect(),
        _ => vec![Vec::new(); columns.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_find_their_own_in_any_order_and_zero_where_there_is_none() {
        let groups = |groups: &[[u16; 2]]| {
            Values::Groups(groups.iter().map(|group| group.to_vec()).collect())
        };
        let whole = Columns::default()
            .with("channels", groups(&[[1, 2], [1, 3], [2, 3]]))
            .with("count", Values::Counts(vec![10, 20, 30].into()))
            .with("rate_hz", Values::Floats(vec![Some(1.0), Some(2.0), Some(3.0)].into()))
            .with("car", Values::Floats(vec![None; 3].into()));
        let newest = Columns::default()
            .with("channels", groups(&[[2, 3], [1, 2]]))
            .with("count", Values::Counts(vec![3, 1].into()))
            .with("rate_hz", Values::Floats(vec![Some(0.3), None].into()));
        let both = beside(whole, &newest);
        assert_eq!(both.get("last_count"), Some(&Values::Counts(vec![1, 0, 3].into())));
        assert_eq!(
            both.get("last_rate_hz"),
            Some(&Values::Floats(vec![None, None, Some(0.3)].into()))
        );
        assert_eq!(both.get("count"), Some(&Values::Counts(vec![10, 20, 30].into())));
        let names: Vec<&str> = both.columns().iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["channels", "count", "rate_hz", "last_count", "last_rate_hz", "car"]);
        let total = Columns::default()
            .with("channel", Values::Channels(vec![Some(0), None].into()))
            .with("count", Values::Counts(vec![5, 6].into()));
        let swapped = Columns::default()
            .with("channel", Values::Channels(vec![None, Some(0)].into()))
            .with("count", Values::Counts(vec![2, 1].into()));
        let both = beside(total, &swapped);
        assert_eq!(both.get("last_count"), Some(&Values::Counts(vec![1, 2].into())));
        assert_eq!(both.get("last_rate_hz"), None);
    }
}
