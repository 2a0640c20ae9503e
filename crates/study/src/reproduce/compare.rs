//! Comparing an answer with that of today, cell by cell.
//!
//! A count of 61 equals 61 alone; a rate of 0.5 equals 0.5000000000001, because the last digits may come from another
//! order of sums, but not 0.50000000001. Keys that the saved answer does not have are not compared, so that answers of
//! older versions can be reproduced.

use serde::Serialize;
use serde_json::{Map, Value};
use tagq_ask::{Answer, Table};

use super::SavedAnswer;

/// Measures are equal if they differ by no more than this part of the larger one. Whole numbers are equal only if they
/// are the same.
pub const RELATIVE_TOLERANCE: f64 = 1e-12;
/// Parameters of a fit are equal if they differ by no more than this part of their error, and other numbers of it by no more than this
/// part of themselves: the search for the best ones ends a little earlier or later on another processor.
const FITTED_TOLERANCE: f64 = 1e-4;
/// The differences that are kept.
const DIFFERENCES_MAX: usize = 20;
/// Facts about a run that are no counts of its rows, or may change while its rows stay the same.
const NOT_COMPARED: [&str; 7] =
    ["path", "commit", "tick_assumed", "sources", "remarks", "query", "total"];

/// A value that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The place: `row 3`, `total`, `query`, `run`.
    pub place: String,
    /// The key.
    pub key: String,
    /// The value in the answer; `None` if it has no such row.
    pub saved: Option<Value>,
    /// The value of today.
    pub now: Option<Value>,
}

/// The comparison of an answer with those of today, which come one after the other.
pub(super) struct Comparison<'a> {
    saved: &'a SavedAnswer,
    /// The heads, rows and totals that were compared.
    heads: usize,
    rows: usize,
    totals: usize,
    differences: Vec<Difference>,
    different: u64,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(saved: &'a SavedAnswer) -> Self {
        Self { saved, heads: 0, rows: 0, totals: 0, differences: Vec::new(), different: 0 }
    }

    /// Compares the next answer as a whole.
    pub(super) fn answer(&mut self, answer: &Answer) -> serde_json::Result<()> {
        self.head(answer)?;
        self.rows(&answer.rows)?;
        let saved = self.saved;
        let (Some(total), Some(totals)) = (&answer.total, &saved.total) else { return Ok(()) };
        for row in total.rows() {
            let now = object(&row)?;
            self.of_row("total", self.totals, totals.get(self.totals), Some(&now));
            self.totals += 1;
        }
        Ok(())
    }

    /// Compares the query and the facts about the run of the next answer.
    pub(super) fn head(&mut self, answer: &Answer) -> serde_json::Result<()> {
        let saved = self.saved;
        let (query, run) = saved.counted.get(self.heads).cloned().unwrap_or_default();
        self.heads += 1;
        self.object("query", &query, &fields(answer.query.clone()));
        let facts = fields(serde_json::to_value(&answer.run)?);
        let mut run = fields(run);
        run.retain(|key, _| !NOT_COMPARED.contains(&key.as_str()));
        self.object("run", &Value::Object(run), &facts);
        Ok(())
    }

    /// Compares the next rows.
    pub(super) fn rows(&mut self, table: &Table) -> serde_json::Result<()> {
        let saved = self.saved;
        for row in table.rows() {
            let now = object(&row)?;
            self.of_row("row", self.rows, saved.rows.get(self.rows), Some(&now));
            self.rows += 1;
        }
        Ok(())
    }

    /// Ends the comparison: returns the number of rows, the first differences, and the number of all.
    pub(super) fn end(mut self) -> (u64, Vec<Difference>, u64) {
        let saved = self.saved;
        for number in self.rows..saved.rows.len() {
            self.of_row("row", number, saved.rows.get(number), None);
        }
        let totals = saved.total.as_ref().map_or(0, Vec::len);
        for number in self.totals..totals {
            let total = saved.total.as_ref().and_then(|totals| totals.get(number));
            self.of_row("total", number, total, None);
        }
        if self.heads == 0 || self.heads != saved.counted.len() {
            let of = |count: usize| Some(count.into());
            self.add("answer", "runs", of(saved.counted.len()), of(self.heads));
        }
        (self.rows as u64, self.differences, self.different)
    }

    fn of_row(
        &mut self,
        kind: &str,
        number: usize,
        saved: Option<&Value>,
        now: Option<&Map<String, Value>>,
    ) {
        let place = format!("{kind} {}", number + 1);
        match (saved, now) {
            (Some(saved), Some(now)) => self.object(&place, saved, now),
            (saved, now) => {
                self.add(&place, "all", saved.cloned(), now.cloned().map(Value::Object));
            }
        }
    }

    /// Compares the values of all keys that the answer has. A newer tagq may have more of them.
    fn object(&mut self, place: &str, saved: &Value, now: &Map<String, Value>) {
        let Value::Object(saved) = saved else {
            self.add(place, "all", Some(saved.clone()), Some(Value::Object(now.clone())));
            return;
        };
        let numbers = saved;
        for (key, saved) in saved {
            // Of several runs: its name, which may be another one.
            if key == "run" {
                continue;
            }
            let now = now.get(key).unwrap_or(&Value::Null);
            let err = numbers.get(&format!("{key}_err")).and_then(Value::as_f64);
            self.value((place, err), key, saved, now);
        }
        // An answer without its counts has nothing that could differ.
        for key in ["count", "channel", "channels"] {
            if let Some(now) = now.get(key).filter(|_| place != "query" && !saved.contains_key(key))
            {
                self.add(place, key, None, Some(now.clone()));
            }
        }
    }

    /// Compares two values, those of lists and objects of the same size one by one; `err` is the error of the value.
    fn value(&mut self, of: (&str, Option<f64>), key: &str, saved: &Value, now: &Value) {
        let (place, err) = of;
        let (relative, absolute) = match self.saved.provenance.fit {
            None => (RELATIVE_TOLERANCE, 0.0),
            Some(_) => (FITTED_TOLERANCE, FITTED_TOLERANCE * err.unwrap_or(0.0)),
        };
        match (saved, now) {
            _ if is_equal(saved, now, (relative, absolute)) => {}
            (Value::Array(saved), Value::Array(now)) if saved.len() == now.len() => {
                for (at, (saved, now)) in saved.iter().zip(now).enumerate() {
                    self.value(of, &format!("{key}[{at}]"), saved, now);
                }
            }
            (Value::Object(saved), Value::Object(now)) => {
                for (field, saved) in saved {
                    let now = now.get(field).unwrap_or(&Value::Null);
                    self.value(of, &format!("{key}.{field}"), saved, now);
                }
            }
            (saved, now) => self.add(place, key, Some(saved.clone()), Some(now.clone())),
        }
    }

    fn add(&mut self, place: &str, key: &str, saved: Option<Value>, now: Option<Value>) {
        self.different += 1;
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(Difference { place: place.into(), key: key.into(), saved, now });
        }
    }
}

fn object(row: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    Ok(fields(serde_json::to_value(row)?))
}

fn fields(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value { fields } else { Map::new() }
}

/// Whether two values are equal: whole numbers exactly, measures if they differ by no more than a part of the larger one, or by an
/// absolute number.
fn is_equal(saved: &Value, now: &Value, tolerance: (f64, f64)) -> bool {
    match (saved, now) {
        (Value::Number(saved), Value::Number(now)) if saved.is_f64() || now.is_f64() => {
            let (Some(saved), Some(now)) = (saved.as_f64(), now.as_f64()) else { return false };
            let (relative, absolute) = tolerance;
            (saved - now).abs() <= absolute.max(relative * saved.abs().max(now.abs()))
        }
        (Value::Array(saved), Value::Array(now)) => {
            saved.len() == now.len()
                && saved.iter().zip(now).all(|(saved, now)| is_equal(saved, now, tolerance))
        }
        (Value::Object(saved), Value::Object(now)) => saved
            .iter()
            .all(|(key, saved)| is_equal(saved, now.get(key).unwrap_or(&Value::Null), tolerance)),
        (saved, now) => saved == now,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_equal_exactly_and_measures_nearly() {
        for (saved, now, equal) in [
            (json!(61), json!(61), true),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), false),
            (json!(-1), json!(u64::MAX), false),
            (json!(0.5), json!(0.500_000_000_000_1), true),
            (json!(0.5), json!(0.500_000_000_01), false),
            (json!(0.0), json!(-0.0), true),
            (json!(0.0), json!(1e-300), false),
            (json!(1.0), json!(1), true),
            (json!(null), json!(0.0), false),
            (json!([1, [2.5]]), json!([1, [2.5]]), true),
            (json!([1, 2]), json!([1, 2, 3]), false),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), true),
            (json!({"a": 1, "b": 2}), json!({"a": 1}), false),
            (json!({"a": null}), json!({}), true),
            (json!("x"), json!("y"), false),
        ] {
            let tolerance = (RELATIVE_TOLERANCE, 0.0);
            assert_eq!(is_equal(&saved, &now, tolerance), equal, "{saved} {now}");
        }
    }
}
