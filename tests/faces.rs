//! The other faces of the table of options: the typed keywords of Python and the JSON schema. Both files are generated;
//! with `TAGQ_OUTPUTS=write` they are written again.

use std::{env, fmt::Write as _, fs};

use serde_json::{Value, json};
use tagq::requests::{REQUEST_TYPES, RequestOption, RequestType, ValueType};

use crate::support::root;

/// The longest line of a docstring.
const WIDTH: usize = 110;

#[test]
fn the_keywords_of_python_are_those_of_the_table() {
    let head = include_str!("faces/requests.py");
    let lists = REQUEST_TYPES.into_iter().filter(|of| of.unlisted.is_some());
    let methods = REQUEST_TYPES.into_iter().map(|of| method(of, Gives::Result));
    let methods: String = methods.chain(lists.map(|of| method(of, Gives::Tuples))).collect();
    is_generated("crates/python/python/tagq/_requests.py", &format!("{head}{methods}"));
}

#[test]
fn the_schema_is_that_of_the_table() {
    let of = |of: &RequestType| (of.name.to_owned(), of.schema());
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Options of the requests of tagq",
        "$defs": REQUEST_TYPES.into_iter().map(of).collect::<serde_json::Map<String, Value>>(),
    });
    is_generated(
        "docs/requests.schema.json",
        &(serde_json::to_string_pretty(&schema).unwrap() + "\n"),
    );
}

fn is_generated(file: &str, content: &str) {
    let path = root().join(file);
    if env::var_os("TAGQ_OUTPUTS").is_some_and(|word| word == "write") {
        fs::write(path, content).unwrap();
    } else {
        let is_same = fs::read_to_string(path).unwrap() == content;
        assert!(is_same, "{file}: TAGQ_OUTPUTS=write writes it again");
    }
}

/// What a method returns.
#[derive(Clone, Copy, PartialEq)]
enum Gives {
    Result,
    Tuples,
}

/// Returns the method of a request, with its docstring.
fn method(of: &RequestType, gives: Gives) -> String {
    let (name, gives, ask) = match gives {
        Gives::Result if of.name == "micro" => ("micro_times", "Result", "_ask"),
        Gives::Result => (of.name, "Result", "_ask"),
        Gives::Tuples => ("tuples", "Tuples", "_list"),
    };
    let unlisted = if ask == "_list" { of.unlisted.unwrap_or_default() } else { &[] };
    let options: Vec<&RequestOption> = of
        .options()
        .filter(|option| !unlisted.contains(&option.name))
        .filter(|option| !of.preset.contains(&option.name))
        .collect();
    let is_first = |option: &&&RequestOption| of.is_channel(option.name);
    let (first, rest): (Vec<&RequestOption>, Vec<&RequestOption>) =
        options.iter().partition(|option| is_first(option));
    let mut text = format!("\n    def {name}(\n        self,\n");
    for option in first {
        let _ = writeln!(text, "        {},", parameter(option));
    }
    text += "        *,\n";
    for option in rest {
        let _ = writeln!(text, "        {},", parameter(option));
    }
    let _ = writeln!(text, "    ) -> {gives}:");
    text += &docstring(of, &options, ask == "_list");
    let named = if ask == "_list" { String::new() } else { format!("\"{}\", ", of.name) };
    let _ = writeln!(text, "        return {gives}(self.{ask}({named}given(locals())))");
    text
}

fn keyword(option: &RequestOption) -> &str {
    if option.name == "from" { "from_" } else { option.name }
}

/// Returns a parameter with its type and its default.
fn parameter(option: &RequestOption) -> String {
    let of = match option.value {
        ValueType::Flag => "bool".into(),
        ValueType::Text(_) => "str".into(),
        ValueType::Number(_) => "int".into(),
        ValueType::Choice(names) => {
            let names: Vec<String> =
                names().iter().map(|[name, _]| format!("\"{name}\"")).collect();
            format!("Literal[{}]", names.join(", "))
        }
        ValueType::Channel(_) => "Channel".into(),
        ValueType::Channels(_) => "Iterable[Channel]".into(),
        ValueType::Groups(_) => "Iterable[Iterable[Channel]]".into(),
        ValueType::Delays(_) => "Mapping[Channel, str]".into(),
    };
    let of: String = of;
    let name = keyword(option);
    match (option.value, option.default) {
        (ValueType::Flag, _) => format!("{name}: {of} = False"),
        (_, Some(value)) => format!("{name}: {of} = \"{value}\""),
        (_, None) => format!("{name}: {of} | None = None"),
    }
}

fn docstring(of: &RequestType, options: &[&RequestOption], is_list: bool) -> String {
    let summary = if is_list {
        format!(
            "List the tags of each count of ``{}``, as an Arrow stream in order of time",
            of.name
        )
    } else {
        of.summary.to_owned()
    };
    let mut text = format!("        \"\"\"{summary}.\n");
    let details = if is_list {
        "It is made while it is read, in bounded memory. Each row has the time of a tuple, and of each of its tags \
         the row in the run, the recorded time and the difference from the first tag of the group, in ticks; by \
         rule `cluster` a row for each tag."
    } else {
        of.details
    };
    if !details.is_empty() {
        text += "\n";
        text += &wrapped(details, 8);
    }
    text += "\n";
    for option in options {
        let _ = writeln!(text, "        {}", keyword(option));
        text += &wrapped(&format!("{}.", option.help), 12);
        if let ValueType::Choice(names) = option.value {
            for [name, help] in names() {
                text += &wrapped(&format!("\"{name}\": {help}."), 12);
            }
        }
    }
    text + "        \"\"\"\n"
}

/// Returns a text in lines, indented, with names in code quotes as Python's documents have them.
fn wrapped(text: &str, indent: usize) -> String {
    let text = text.replace('`', "``");
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(lines, "{:indent$}{line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    let _ = writeln!(lines, "{:indent$}{line}", "");
    lines
}
