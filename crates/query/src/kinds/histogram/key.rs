//! The key of a query: identical for all queries that count the same thing (docs/partials.md).

use super::{
    bins::Bins,
    fold::{Fold, Period},
    query::{Histogram, Mode},
};
use crate::partial::words::delays;

impl Histogram {
    /// Returns the key of the query, without its range.
    pub(super) fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { start, stop, bins, mode, fold, scope } = self;
        let mode = match mode {
            Mode::All => "all",
            Mode::Grid => "grid",
            Mode::Next => "next",
            Mode::Last => "last",
        };
        let bins = match bins {
            Bins::Linear { low, width, count } => format!("{count} of {width} from {low}"),
            Bins::Edges(edges) => {
                let edges: Vec<String> = edges.iter().map(i64::to_string).collect();
                format!("at {}", edges.join(","))
            }
        };
        let fold = match fold {
            None => String::new(),
            Some(Fold::Period(Period { numerator, denominator })) => {
                format!("; period {numerator}/{denominator}")
            }
            Some(Fold::SyncDivider(divider)) => format!("; sync divided by {divider}"),
        };
        let delays = delays(scope, Some(&[*start, *stop]));
        format!("histogram; mode {mode}; {start} to {stop}; bins {bins}{fold}{delays}")
    }
}
