//! The formats of files, as a table or as JSON.

use serde::Serialize;
use tagq::{
    SCHEMA_VERSION,
    files::{FormatFacts, described},
};

use super::{json::pretty, table::plain};
use crate::TagFormat;

#[derive(Serialize)]
struct Formats {
    schema_version: u32,
    formats: Vec<FormatInfo>,
}

#[derive(Serialize)]
struct FormatInfo {
    /// The name of the format, then other names that mean the same.
    names: &'static [&'static str],
    /// The suffix of a compression may follow each of them.
    suffixes: &'static [&'static str],
    recognised: &'static str,
    /// Suffixes of the files that `tagq convert` writes.
    written: Vec<String>,
}

impl From<FormatFacts> for FormatInfo {
    fn from(facts: FormatFacts) -> Self {
        let FormatFacts { names, suffixes, recognised, .. } = facts;
        let is_own = |form: &TagFormat| names.contains(&form.form().format_name());
        let mut written: Vec<String> = Vec::new();
        for suffix in TagFormat::all().filter(is_own).map(TagFormat::suffix) {
            if !written.contains(&suffix) {
                written.push(suffix);
            }
        }
        Self { names, suffixes, recognised, written }
    }
}

/// Returns the formats of files as a table.
pub fn text() -> String {
    let mut table = plain(&["name", "files", "recognised by", "convert writes"], 4);
    for format in described().map(FormatInfo::from) {
        table.add_row([
            format.names.first().copied().unwrap_or_default().to_owned(),
            format.suffixes.join(" "),
            format.recognised.to_owned(),
            format.written.join(" "),
        ]);
    }
    format!("{}\n", table.trim_fmt())
}

/// Returns the formats of files as JSON.
///
/// # Errors
/// Errors of the serializer.
pub fn json() -> serde_json::Result<String> {
    let formats = described().map(FormatInfo::from).collect();
    pretty(&Formats { schema_version: SCHEMA_VERSION, formats })
}
