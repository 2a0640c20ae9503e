//! Differences between an answer and that of today, as a table.

use tagq::{Difference, escaped};

use super::{
    json::text_of,
    table::{plain, quantities::dash},
};

/// The characters of a value that are shown.
const VALUE_MAX: usize = 40;

/// Returns a table with a line for each difference.
pub fn text(differences: &[Difference]) -> String {
    let mut table = plain(&["where", "key", "in the answer", "now"], 2);
    for Difference { place, key, saved, now } in differences {
        let [saved, now] = [saved, now].map(|value| value.as_ref().map_or_else(dash, shown));
        table.add_row([place.clone(), escaped(key).into_owned(), saved, now]);
    }
    format!("{}\n", table.trim_fmt())
}

fn shown(value: &serde_json::Value) -> String {
    let text = text_of(value).unwrap_or_default();
    if text.chars().count() <= VALUE_MAX {
        return text;
    }
    text.chars().take(VALUE_MAX - 1).chain(['…']).collect()
}
