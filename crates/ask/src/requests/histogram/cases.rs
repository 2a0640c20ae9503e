//! Each way in which differences of times are counted, for tests.

use serde_json::{Value, json};

/// See [`crate::requests::RequestType::cases`].
pub(super) fn of_histograms() -> Vec<Value> {
    let mut cases = vec![
        json!({"start": "1", "stop": "2"}),
        json!({"start": "2", "stop": "2", "range": "60t"}),
        json!({"start": "1", "stop": "2", "bin": "4t", "range": "-40t..40t", "by": "4"}),
        json!({"start": "1", "stop": "3", "log": 5, "range": "1t..400t"}),
        json!({"start": "1", "stop": "2", "mode": "grid", "bin": "4t", "range": "-40t..40t", "delays": []}),
        json!({"start": "1", "stop": "2", "mode": "last", "period": "1953.125ps", "bin": "1t",
               "range": "0t..13t"}),
        json!({"start": "1", "stop": "2", "mode": "last", "sync_divider": 2, "bin": "4t",
               "range": "0t..40t"}),
        json!({"start": "1", "stop": "2", "bin": "4t", "range": "-40t..40t", "errors": "blocks:5"}),
    ];
    for mode in ["all", "next", "last"] {
        // With itself, and with a channel without tags.
        for stop in ["1", "2", "9"] {
            cases.push(json!({"start": "1", "stop": stop, "mode": mode, "bin": "3t", "range": "-30t..90t"}));
        }
    }
    cases
}

/// The same with g2.
pub(super) fn of_g2() -> Vec<Value> {
    vec![
        json!({"start": "1", "stop": "2", "bin": "4t", "range": "-40t..40t"}),
        json!({"start": "1", "stop": "2", "log": 4, "range": "1t..300t"}),
        json!({"start": "1", "stop": "2", "bin": "9t", "range": "-90t..90t", "by": "4"}),
        json!({"start": "2", "stop": "2", "bin": "9t", "range": "-90t..90t", "by": "3 .. 4"}),
        json!({"start": "1", "stop": "2", "pulsed": "3.83ns", "peak": "1.25ns", "sides": 3, "skip": 1}),
        json!({"start": "1", "stop": "1", "pulsed": "30t", "sides": 2, "errors": "blocks:5"}),
        json!({"start": "1", "stop": "1", "bin": "4t", "range": "-40t..40t", "errors": "blocks:5",
               "covariance": true}),
    ]
}
