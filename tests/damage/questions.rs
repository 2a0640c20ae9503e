//! A question for each way in which a kind of query is counted, and for each copy of tags.

use serde_json::{Value, json};
use tagq::{Derivation, requests::OptionValues};
use tagq_export::TableForm;

/// A question.
pub struct Question {
    /// Its kind, as the table names it.
    pub kind: &'static str,
    pub asked: Asked,
}

/// A question to a store, in one of the ways in which users ask.
pub enum Asked {
    /// The answer to a query.
    Query(&'static str, OptionValues),
    /// The answers to a query for several values of an option.
    Scan(&'static str, OptionValues),
    /// A saved answer to a query, counted again.
    Reproduced(&'static str, OptionValues),
    /// The delay of one channel to another.
    Delays(OptionValues),
    /// All tags, as a file of text has them.
    Converted,
    /// All tags, as a file of tables has them.
    Exported(TableForm),
    /// All tags and those of derived channels, in another store.
    Derived(Derivation),
}

fn options(of: Value) -> OptionValues {
    let Value::Object(options) = of else { panic!("{of}") };
    options
}

fn of(kind: &'static str, query: &'static str, of: Value) -> Question {
    Question { kind, asked: Asked::Query(query, options(of)) }
}

/// Returns all questions. Windows are 20 ticks, of two stores with a tag each 25 and each 40,000 ticks.
pub fn questions() -> Vec<Question> {
    let pair = json!([["1", "2"]]);
    let triple = json!([["1", "2", "3"]]);
    let pairs = |options: Value| {
        let mut all = json!({"window": "20t"});
        all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        all
    };
    let count = |kind, options| of(kind, "coincidences", pairs(options));
    let mut all = vec![
        count("pair", json!({"groups": pair})),
        count("every pair", json!({})),
        count("pair, delay", json!({"groups": pair, "delays": [["2", "15t"]]})),
        count("every pair, delays", json!({"delays": [["2", "15t"], ["3", "-7t"]]})),
        count("group of 3", json!({"groups": triple})),
        count("herald", json!({"groups": triple, "rule": "herald"})),
        count("per herald", json!({"groups": triple, "rule": "per-herald"})),
        count("once", json!({"groups": pair, "rule": "once"})),
        count("cluster", json!({"rule": "cluster"})),
        count("grid", json!({"groups": pair, "rule": "grid"})),
        count("veto", json!({"groups": pair, "veto": ["4"], "guard": "30t"})),
        count("veto, wide guard", json!({"groups": pair, "veto": ["4"], "guard": "70000t"})),
        count("errors from blocks", json!({"groups": pair, "errors": "blocks:10"})),
        count("range", json!({"groups": pair, "from": "200000t", "to": "1200000t"})),
        count("range, delay", json!({"groups": pair, "delays": [["2", "15t"]], "from": "200000t"})),
        count("trace", json!({"groups": pair, "bin": "400000t"})),
        count(
            "shifted accidentals",
            json!({"groups": pair, "accidentals": "shifted:3", "shift": "500t"}),
        ),
        of("rates", "rates", json!({})),
        of("rates in bins", "rates", json!({"bin": "400000t"})),
        of("micro times", "micro", json!({"channels": ["1"]})),
        of(
            "histogram2d",
            "histogram2d",
            json!({"herald": "1", "a": "2", "b": "3", "bin": "20t", "range": "-60t..60t"}),
        ),
        of(
            "image",
            "image",
            json!({"line": "3", "line_end": "4", "pixels": 8, "lines": 16, "channels": ["1", "2"]}),
        ),
        of("g2", "g2", json!({"start": "1", "stop": "2", "bin": "10t", "range": "-500t..500t"})),
        of(
            "g2, wide bins",
            "g2",
            json!({"start": "1", "stop": "2", "bin": "2000t", "range": "-200000t..200000t"}),
        ),
    ];
    all.push(count("derived channel", json!({"derive": ["P = 1 & 2 within 20t"]})));
    all.push(count("gate", json!({"groups": pair, "gates": ["3 .. 4"]})));
    let of_pair = |window: &str| options(json!({"groups": [["1", "2"]], "window": window}));
    // Each peak is fitted, which takes longer than all other questions together.
    let delays = options(json!({"channels": ["1", "2"], "range": "500t"}));
    let derived = vec![("P".to_owned(), "1 & 2 within 20t".to_owned())];
    let derivation = Derivation { derived, ..Derivation::default() };
    all.extend([
        Question { kind: "scan", asked: Asked::Scan("coincidences", of_pair("4t..40t:10")) },
        Question { kind: "reproduce", asked: Asked::Reproduced("coincidences", of_pair("20t")) },
        Question { kind: "delays", asked: Asked::Delays(delays) },
        Question { kind: "convert", asked: Asked::Converted },
        Question { kind: "export", asked: Asked::Exported(TableForm::Parquet) },
        Question { kind: "derive -o", asked: Asked::Derived(derivation) },
    ]);
    for mode in ["all", "next", "last"] {
        all.push(of(
            "histogram",
            "histogram",
            json!({"start": "1", "stop": "2", "mode": mode, "bin": "3t", "range": "-30t..90t"}),
        ));
    }
    all
}
