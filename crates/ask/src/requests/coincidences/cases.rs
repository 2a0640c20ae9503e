//! Each way in which coincidences are counted, for tests.

use serde_json::{Value, json};
use tagq_query::Rule;

/// See [`crate::requests::RequestType::cases`].
pub(super) fn cases() -> Vec<Value> {
    Rule::ALL.into_iter().flat_map(of_rule).chain(of_options()).collect()
}

fn of_rule(rule: Rule) -> Vec<Value> {
    let (name, groups) = (rule.name(), json!([["1", "2"], ["3", "1", "2"], ["2", "4"]]));
    match rule {
        Rule::All | Rule::Herald | Rule::PerHerald | Rule::Once => vec![
            json!({"window": "9t", "rule": name, "groups": groups}),
            json!({"window": "9t", "rule": name}),
            json!({"window": "9t", "rule": name, "bin": "700t", "groups": groups}),
            json!({"window": "9t", "rule": name, "errors": "blocks:5"}),
            json!({"window": "9t", "rule": name, "by": "4", "groups": groups}),
            json!({"window": "9t", "rule": name, "groups": [["1", "2"]], "veto": ["4"], "guard": "20t"}),
        ],
        Rule::Cluster => vec![
            json!({"window": "9t", "rule": name}),
            json!({"window": "9t", "rule": name, "channels": ["1", "2", "3", "4"]}),
            json!({"window": "9t", "rule": name, "bin": "500t"}),
            json!({"window": "9t", "rule": name, "by": "4 for 300t"}),
            json!({"window": "9t", "rule": name, "errors": "blocks:4"}),
        ],
        Rule::Grid => {
            vec![json!({"window": "8t", "rule": name, "groups": [["1", "2"]], "delays": []})]
        }
    }
}

fn of_options() -> [Value; 4] {
    let groups = json!([["1", "2"], ["3", "1", "2"]]);
    [
        json!({"window": "9t", "choose": 3, "channels": ["1", "2", "3", "4"]}),
        json!({"window": "9t", "choose": 3, "errors": "blocks:3", "bin": "2000t"}),
        json!({"window": "9t", "groups": groups, "accidentals": "shifted:3", "shift": "50t"}),
        json!({"window": "9t", "groups": [["1", "2"]], "veto": ["4"], "accidentals": "shifted:2",
               "shift": "30t", "errors": "blocks:4", "bin": "1500t"}),
    ]
}
