//! The options of requests as a JSON schema (draft 2020-12), by the table of options.

use serde_json::{Map, Value, json};

use super::options::{RequestOption, RequestType, ValueType};

impl RequestType {
    /// Returns the JSON schema of the options of this request, as [`Request::of_options`](super::Request::of_options)
    /// takes them: an object with a property for each option. Texts are checked when the request is made.
    pub fn schema(&self) -> Value {
        let options = || self.options();
        let properties: Map<String, Value> =
            options().map(|option| (option.name.to_owned(), property(option))).collect();
        let needs: Map<String, Value> = options()
            .filter_map(|option| Some((option.name.to_owned(), json!([option.requires?]))))
            .collect();
        let excludes = options().flat_map(|option| {
            option.excludes.iter().map(|other| json!({"not": {"required": [option.name, other]}}))
        });
        let excludes: Vec<Value> = excludes.collect();
        let mut schema = json!({
            "title": self.name,
            "description": format!("{}. {}", self.summary, self.details),
            "type": "object",
            "properties": properties,
            "dependentRequired": needs,
            "additionalProperties": false,
        });
        if !excludes.is_empty() {
            schema["allOf"] = excludes.into();
        }
        schema
    }
}

/// Returns the schema of the value of an option.
fn property(option: &RequestOption) -> Value {
    let channel = || {
        let number = json!({"type": "integer", "minimum": 0, "maximum": u16::MAX});
        json!({"anyOf": [number, {"type": "string"}]})
    };
    let channels = || json!({"type": "array", "items": channel()});
    let mut property = match option.value {
        ValueType::Flag => json!({"type": "boolean"}),
        ValueType::Text(_) | ValueType::Marker(_) | ValueType::Path(_) => json!({"type": "string"}),
        ValueType::Texts(_) => json!({"type": "array", "items": {"type": "string"}}),
        ValueType::Number(_) => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        ValueType::Choice(names) => {
            let names: Vec<&str> = names().iter().map(|[name, _]| *name).collect();
            json!({"type": "string", "enum": names})
        }
        ValueType::Channel(_) => channel(),
        ValueType::Channels(_) => channels(),
        ValueType::Groups(_) => json!({"type": "array", "items": channels()}),
        ValueType::Delays(_) => {
            let pair = json!([channel(), {"type": "string"}]);
            json!({
                "type": "array",
                "items": {"anyOf": [
                    {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2},
                    {"const": "auto"},
                ]},
            })
        }
    };
    property["description"] = option.help.into();
    if let Some(value) = option.default {
        property["default"] = value.into();
    }
    property
}
