//! Requests as a user types them: a command for a shell, and a line of Python.
//!
//! The groups 1,2 with `window` 2ns are `tagq coincidences 1,2 --window 2ns run/` in a shell, and in Python
//! `tagq.open("run/").coincidences([(1, 2)], window="2ns")`. Channels stand in front of the run only as numbers,
//! because a name may be that of a run; a run called 7 is typed as `./7`.

use serde_json::Value;

use super::options::{ChannelArgument, OptionValues, RequestOption, RequestType, ValueType};
use tagq_store::{quoted, run_word};

/// How the runs of a request are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// One run after the other.
    Each,
    /// All of them as one.
    Sum,
    /// The tags of each count are listed.
    List,
}

impl RequestOption {
    /// Returns its name on the command line, without dashes: one that is repeated is named in the singular.
    pub fn flag(&self) -> String {
        let name = self.name.replace('_', "-");
        let singular = name.strip_suffix('s').filter(|stem| !stem.ends_with('s'));
        match singular.filter(|_| self.is_repeated()) {
            Some(singular) => singular.to_owned(),
            None => name,
        }
    }
}

/// Returns the name of an option as a keyword in Python.
pub fn keyword(name: &str) -> &str {
    if name == "from" { "from_" } else { name }
}

impl RequestType {
    /// Returns the command that asks these runs with these options. It is quoted for a shell where that is needed.
    pub fn command(&self, options: &OptionValues, runs: &[&str], asking: Asking) -> String {
        let mut words = vec!["tagq".to_owned(), self.name.to_owned()];
        let first = self.argument(options);
        let is_first = |option: &RequestOption| first.is_some() && self.is_channel(option.name);
        words.extend(first.iter().flatten().cloned());
        for option in self.options().filter(|option| !is_first(option)) {
            if let Some(value) = given(options, option) {
                words.extend(option.words(value));
            }
        }
        words.extend(match asking {
            Asking::Each => None,
            Asking::Sum => Some("--sum".to_owned()),
            Asking::List => Some("--list".to_owned()),
        });
        words.extend(runs.iter().map(|run| run_word(run)));
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the same as an expression in Python.
    pub fn python(&self, options: &OptionValues, runs: &[&str], asking: Asking) -> String {
        let runs = match runs {
            [run] => text_literal(run),
            runs => {
                format!(
                    "[{}]",
                    runs.iter().map(|run| text_literal(run)).collect::<Vec<_>>().join(", ")
                )
            }
        };
        let method = if asking == Asking::List { "tuples" } else { self.name };
        // The channels may be given by position up to the first that is missing.
        let by_position = self.channels.map_or(&[][..], |channels| channels.options);
        let mut words = Vec::new();
        for name in by_position {
            let option = self.options().find(|option| option.name == *name);
            let value = option.and_then(|option| Some((option, given(options, option)?)));
            let Some((option, value)) = value else { break };
            words.push(option.literal(value));
        }
        let is_by_position =
            |option: &&RequestOption| by_position[..words.len()].contains(&option.name);
        let others = self.options().filter(|option| !is_by_position(option));
        let others = others.filter_map(|option| {
            Some(format!("{}={}", keyword(option.name), option.literal(given(options, option)?)))
        });
        let others: Vec<String> = others.collect();
        words.extend(others);
        format!("tagq.open({runs}).{method}({})", words.join(", "))
    }

    /// Returns the channels as arguments in front of the run: numbers, because a name may be that of a run. `None` if
    /// they are to be given as options.
    fn argument(&self, options: &OptionValues) -> Option<Vec<String>> {
        let ChannelArgument { options: names, .. } = self.channels?;
        let values: Option<Vec<&Value>> = names.iter().map(|name| options.get(*name)).collect();
        let words: Vec<String> = match &values?[..] {
            [Value::Array(items)] if items.iter().all(Value::is_array) => {
                items.iter().map(joined).collect()
            }
            [list] => vec![joined(list)],
            several => vec![several.iter().map(|value| text(value)).collect::<Vec<_>>().join(",")],
        };
        let are_numbers = |word: &String| {
            let is_number = |part: &str| part.parse::<u16>().is_ok();
            let is_enough = names == ["channels"] || word.contains(',');
            is_enough && word.split(',').all(is_number)
        };
        (!words.is_empty() && words.iter().all(are_numbers)).then_some(words)
    }
}

impl RequestOption {
    /// Returns it with this value, as words of the command line.
    fn words(&self, value: &Value) -> Vec<String> {
        let flag = format!("--{}", self.flag());
        let with = |value: String| {
            if value.starts_with('-') {
                vec![format!("{flag}={value}")]
            } else {
                vec![flag.clone(), value]
            }
        };
        match (self.value, value) {
            (ValueType::Flag, _) => vec![flag],
            (ValueType::Groups(_), Value::Array(groups)) => {
                groups.iter().flat_map(|group| with(joined(group))).collect()
            }
            (ValueType::Delays(_), Value::Array(delays)) => {
                let word = |delay: &Value| match delay {
                    Value::Array(pair) => pair.iter().map(text).collect::<Vec<_>>().join("="),
                    auto => text(auto),
                };
                delays.iter().flat_map(|delay| with(word(delay))).collect()
            }
            (_, value) => with(joined(value)),
        }
    }

    /// Returns this value in Python.
    fn literal(&self, value: &Value) -> String {
        match (self.value, value) {
            (ValueType::Groups(_), Value::Array(groups)) => {
                let group = |group: &Value| match group {
                    Value::Array(channels) => match &literals(channels)[..] {
                        [one] => format!("({one},)"),
                        several => format!("({})", several.join(", ")),
                    },
                    channel => literal(channel),
                };
                format!("[{}]", groups.iter().map(group).collect::<Vec<_>>().join(", "))
            }
            (ValueType::Delays(_), Value::Array(delays)) => {
                if let Some(auto) = delays.iter().find(|delay| delay.is_string()) {
                    return literal(auto);
                }
                let pairs = delays.iter().filter_map(Value::as_array);
                let items: Vec<String> = pairs.map(|pair| literals(pair).join(": ")).collect();
                format!("{{{}}}", items.join(", "))
            }
            (_, value) => literal(value),
        }
    }
}

/// Returns the value of an option that is set.
fn given<'a>(options: &'a OptionValues, option: &RequestOption) -> Option<&'a Value> {
    options.get(option.name).filter(|value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the items of a list with commas.
fn joined(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        value => text(value),
    }
}

fn literals(values: &[Value]) -> Vec<String> {
    values.iter().map(literal).collect()
}

/// Returns a value in Python.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text_literal(text),
        Value::Array(items) => format!("[{}]", literals(items).join(", ")),
        Value::Object(_) => value.to_string(),
    }
}

/// Returns a text in Python. The escapes of JSON are those of Python.
fn text_literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::requests::REQUEST_TYPES;

    fn typed(name: &str, options: Value, runs: &[&str], asking: Asking) -> [String; 2] {
        let of = REQUEST_TYPES.into_iter().find(|of| of.name == name).unwrap();
        let Value::Object(options) = options else { panic!("{options}") };
        [of.command(&options, runs, asking), of.python(&options, runs, asking)]
    }

    #[test]
    fn a_request_is_typed_as_a_user_would() {
        let cases = [
            (
                typed(
                    "coincidences",
                    json!({"window": "2ns", "groups": [[1, 2]]}),
                    &["run/"],
                    Asking::Each,
                ),
                "tagq coincidences 1,2 --window 2ns run/",
                r#"tagq.open("run/").coincidences([(1, 2)], window="2ns")"#,
            ),
            (
                typed(
                    "g2",
                    json!({"start": 1, "stop": 2, "delays": [[1, "-4ns"], ["Bob H", "1ns"]], "from": "-1s"}),
                    &["it's/", "b"],
                    Asking::Sum,
                ),
                if cfg!(windows) {
                    r#"tagq g2 1,2 --delay 1=-4ns --delay "Bob H=1ns" --from=-1s --sum "it's/" b"#
                } else {
                    r"tagq g2 1,2 --delay 1=-4ns --delay 'Bob H=1ns' --from=-1s --sum 'it'\''s/' b"
                },
                r#"tagq.open(["it's/", "b"]).g2(1, 2, delays={1: "-4ns", "Bob H": "1ns"}, from_="-1s")"#,
            ),
            (
                typed(
                    "rates",
                    json!({"channels": ["Alice", 2], "join": true}),
                    &["7"],
                    Asking::Each,
                ),
                "tagq rates --channels Alice,2 --join ./7",
                r#"tagq.open("7").rates(["Alice", 2], join=True)"#,
            ),
            (
                typed(
                    "coincidences",
                    json!({"groups": [["A", "B"], [1, 2]], "veto": [3], "delays": ["auto"], "exact_bins": false}),
                    &["-run"],
                    Asking::List,
                ),
                "tagq coincidences --group A,B --group 1,2 --veto 3 --delay auto --list ./-run",
                r#"tagq.open("-run").tuples([("A", "B"), (1, 2)], veto=[3], delays="auto")"#,
            ),
            (
                typed("histogram", json!({"stop": 2, "log": 4}), &["run/"], Asking::Each),
                "tagq histogram --stop 2 --log 4 run/",
                r#"tagq.open("run/").histogram(stop=2, log=4)"#,
            ),
        ];
        for ([command, python], expected, of_python) in cases {
            // PowerShell takes a comma for the end of an argument.
            let words = expected.split(' ').map(|word| match word {
                word if cfg!(windows) && word.contains(',') => format!("\"{word}\""),
                word => word.to_owned(),
            });
            let expected = words.collect::<Vec<_>>().join(" ");
            assert_eq!((&*command, &*python), (&*expected, of_python));
        }
    }
}
