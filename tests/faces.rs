//! The other faces of the table of options: the typed keywords of Python and the JSON schema. Both files are generated;
//! with `TAGQ_OUTPUTS=write` they are written again.

use std::{env, fmt::Write as _, fs};

use serde_json::{Value, json};
use tagq::{
    QUERY_TYPES, SEARCH_TYPES,
    requests::{REQUEST_TYPES, RequestOption, RequestType, ValueType},
};

use crate::support::root;

/// For each method: the columns of its rows with their units, and an example, which is run over data/fixtures/pairs.
const RETURNS: &[(&str, &str, &str)] = &[
    (
        "coincidences",
        "One row for each group, or for each bin of time and group: `channels`, `count` with `count_err`, `rate_hz`, \
         `accidentals`, `car` ((count − accidentals) / accidentals; below zero if there are fewer than by chance), `p_a_given_b`, `p_b_given_a` and their errors; of a trace \
         `start_s`, `start_ticks` and `partial`.",
        ">>> pairs = run.coincidences(window=\"2ns\", groups=[(1, 2)])\n\
         >>> pairs[0].count\n\
         1976\n\
         >>> run.coincidences(window_s=2e-9, groups=[(1, 2)])[\"count\"].tolist()\n\
         [1976]",
    ),
    (
        "histogram",
        "One row for each bin: `first_tick` (its first tick), `width_ticks`, `delay_s` (its middle), `count` with \
         `count_err`.",
        ">>> counts = run.histogram(1, 2, bin=\"5ns\", range=\"20ns\")\n\
         >>> int(counts[\"count\"].sum())\n\
         1976",
    ),
    (
        "g2",
        "One row for each bin: `first_tick` (its first tick), `width_ticks`, `delay_s` (its middle), `count` with \
         `count_err`, and `g2` (1 by chance) with `g2_err`.",
        ">>> g2 = run.g2(1, 2, bin=\"5ns\", range=(\"-20ns\", \"20ns\"))\n\
         >>> len(g2), max(g2, key=lambda row: row.g2).first_tick\n\
         (8, 0)",
    ),
    (
        "histogram2d",
        "One row for each cell: `first_tick_a`, `first_tick_b` (its first ticks), `delay_a_s`, `delay_b_s` (its middle) and \
         `count`; with `g3` the normalised value and its error.",
        ">>> cells = run.histogram2d(1, 2, 3, bin=\"10ns\", range=\"50ns\")\n\
         >>> int(cells[\"count\"].sum())\n\
         3",
    ),
    (
        "image",
        "One row for each pixel: `line`, `pixel`, `count` with `count_err`, of frames apart also `frame`; of a run with micro \
         times `micro_mean_s` with its error, and with `micro` the list `micro_counts`. `counts` is an array of all pixels, \
         `cube` one of their micro times.",
        ">>> image = run.image(line=3, pixels=4, lines=1, channels=[1, 2])\n\
         >>> image.counts.shape\n\
         (1, 1, 4)",
    ),
    (
        "micro",
        "One row for each channel and bin: `channel`, `first_tick` (its first micro time) and `width_ticks`, in ticks of \
         micro times, `delay_s` (its middle) and `count` with `count_err`.",
        ">>> run.micro(1)\n\
         Traceback (most recent call last):\n\
         tagq._errors.QuestionError: this run has no micro times",
    ),
    (
        "rates",
        "One row for each channel, or for each bin of time and channel: `channel`, `count`, `rate_hz` with \
         `rate_err_hz`; of a trace `start_s`, `start_ticks` and `partial`. `total` has the sums of all channels.",
        ">>> rates = run.rates(channels=[1, 2])\n\
         >>> dict(zip(rates[\"channel\"].tolist(), rates[\"count\"].tolist()))\n\
         {1: 4797, 2: 4808}\n\
         >>> rates.total[0].count\n\
         9605",
    ),
    (
        "delays",
        "One row for each pair: `channels`, `peak_ticks` (`peak_s`, rounded), `peak_s`, of a fit `width_s` and `coincidences` with \
         their errors, `sigmas`, and of pulsed light `comb_s`, its period. `query[\"delays\"]` has the delay of each channel \
         that aligns them.",
        ">>> delays = run.delays([1, 2])\n\
         >>> delays[0].peak_ticks\n\
         0",
    ),
    (
        "tuples",
        "A stream of rows: `time` (delayed, of the latest tag) in ticks, and of each channel `row_CH`, `time_CH` (as recorded) \
         and `dt_CH`.",
        ">>> run.tuples(window=\"2ns\", groups=(1, 2)).to_arrow().num_rows\n\
         1976",
    ),
];

/// The exceptions of every method.
const RAISES: &str = "`QuestionError` (a `ValueError`): an option is not valid, or not for this run. \
                      `WrongTypeError` (a `TypeError`, too): a value of the wrong type, such as a number for a duration; \
                      seconds have keywords of their own. `DamageError`: the store is damaged.";

/// The longest line of a docstring.
const WIDTH: usize = 110;

#[test]
fn the_keywords_of_python_are_those_of_the_table() {
    let head = include_str!("faces/requests.py");
    let head = head.replace("POSITIONAL: dict[str, tuple[str, ...]] = {}", &positional());
    let lists = REQUEST_TYPES.into_iter().filter(|of| of.unlisted.is_some());
    let methods = REQUEST_TYPES.into_iter().map(|of| method(of, Gives::Result));
    let methods: String = methods.chain(lists.map(|of| method(of, Gives::Tuples))).collect();
    let searches = SEARCH_TYPES.into_iter().map(|of| method(of, Gives::Result));
    let searches = searches.fold(SEARCHES.to_owned(), |class, method| class + &method);
    let words: String = QUERY_TYPES.into_iter().map(words).collect();
    let all = format!("{head}{methods}{searches}{WATCH}{words}");
    is_generated("crates/python/python/tagq/_requests.py", &all);
}

#[test]
fn the_schema_is_that_of_the_table() {
    let of = |of: &RequestType| (of.name.to_owned(), of.schema());
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Options of the queries of tagq",
        "$defs": QUERY_TYPES.into_iter().map(of).collect::<serde_json::Map<String, Value>>(),
    });
    is_generated(
        "docs/requests.schema.json",
        &(serde_json::to_string_pretty(&schema).unwrap() + "\n"),
    );
}

/// Returns the table of the keywords that arguments without a keyword have.
fn positional() -> String {
    let lists = QUERY_TYPES.into_iter().filter(|of| of.unlisted.is_some()).map(|of| ("tuples", of));
    let types = QUERY_TYPES.into_iter().map(|of| (of.name, of)).chain(lists);
    let mut table = String::from("POSITIONAL: dict[str, tuple[str, ...]] = {\n");
    for (name, of) in types {
        let names = of.channels.map_or(&[][..], |channels| channels.options);
        match names {
            [] => {}
            // A tuple of one ends with a comma.
            [one] => table.extend(["    \"", name, "\": (\"", one, "\",),\n"]),
            several => table.extend(["    \"", name, "\": (\"", &several.join("\", \""), "\"),\n"]),
        }
    }
    table + "}"
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

/// The beginning of the class of searches.
const SEARCHES: &str = "\n
class Searches:
    \"\"\"The searches that a run answers; that of several runs is asked of each.\"\"\"\n
    # A function of the extension module, so that warnings name the line of the caller.
    _ask: Callable[[str, dict[str, Any]], _tagq.Answer]\n";

/// The keywords of `Run.watch` for every query.
const WATCH: &str = "\n\nif TYPE_CHECKING:\n
    class Waits(TypedDict, total=False):
        \"\"\"The keywords of ``Run.watch`` for every query.\"\"\"\n
        every: Duration | None
        every_s: float | None
        hold_back: Duration | None
        hold_back_s: float | None
        timeout: Duration | None
        timeout_s: float | None\n";

/// Returns the keywords of `Run.watch` for a request as a class.
fn words(of: &RequestType) -> String {
    let name = of.name;
    let class = name[..1].to_uppercase() + &name[1..];
    let mut text = format!(
        "\n    class Watch{class}(Waits, total=False):\n        \"\"\"The keywords of ``Run.watch(\"{name}\", …)``.\"\"\"\n\n"
    );
    let options = of.options().filter(|option| !of.preset.contains(&option.name));
    for parameter in options.flat_map(parameters) {
        let declared = parameter.split(" = ").next().unwrap_or_default();
        let _ = writeln!(text, "        {declared}");
    }
    text
}

/// The class of the result of a method.
#[derive(Clone, Copy, PartialEq)]
enum Gives {
    Result,
    Tuples,
}

/// Returns the method of a request, with its docstring.
fn method(of: &RequestType, gives: Gives) -> String {
    let (name, gives, ask) = match gives {
        Gives::Result => (of.name, "Result", "_ask"),
        Gives::Tuples => ("tuples", "Tuples", "_list"),
    };
    let unlisted = if ask == "_list" { of.unlisted.unwrap_or_default() } else { &[] };
    let options: Vec<&RequestOption> = of
        .options()
        .filter(|option| !unlisted.contains(&option.name))
        .filter(|option| !of.preset.contains(&option.name))
        .collect();
    let mut text = format!("\n    def {name}(\n        self,\n        *of: Channels,\n");
    // Those that arguments without a keyword may be come first.
    let is_named = |option: &&&RequestOption| of.is_channel(option.name);
    let named = options.iter().filter(is_named);
    let rest = options.iter().filter(|option| !is_named(option));
    for parameter in named.chain(rest).flat_map(|option| parameters(option)) {
        let _ = writeln!(text, "        {parameter},");
    }
    let _ = writeln!(text, "        **unknown: NoReturn,\n    ) -> {gives}:");
    text += &docstring(of, name, &options, ask == "_list");
    let named = if ask == "_list" { String::new() } else { format!("\"{}\", ", of.name) };
    let _ =
        writeln!(text, "        return {gives}(self.{ask}({named}given(locals(), \"{name}\")))");
    text
}

fn keyword(option: &RequestOption) -> &str {
    if option.name == "from" { "from_" } else { option.name }
}

/// Returns a parameter with its type and its default; that of a duration again in seconds.
fn parameters(option: &RequestOption) -> Vec<String> {
    let [of, seconds] = types(option.value);
    let name = keyword(option);
    let own = match (option.value, option.default) {
        (ValueType::Flag, _) => format!("{name}: {of} = False"),
        (_, Some(value)) => format!("{name}: {of} = \"{value}\""),
        (_, None) => format!("{name}: {of} | None = None"),
    };
    let seconds =
        option.value.is_duration().then(|| format!("{}_s: {seconds} | None = None", option.name));
    [own].into_iter().chain(seconds).collect()
}

/// Returns the type of a value, and that of the same value in seconds.
fn types(value: ValueType) -> [String; 2] {
    let [of, seconds] = match value {
        ValueType::Flag => ["bool", ""],
        ValueType::Text(_) if value.is_range() => {
            ["Duration | tuple[Duration, Duration]", "float | tuple[float, float]"]
        }
        ValueType::Text(_) if value.is_duration() => ["Duration", "float"],
        ValueType::Text(_) | ValueType::Path(_) => ["str", ""],
        ValueType::Texts("G") => ["str | Iterable[str]", ""],
        ValueType::Texts(_) => ["str | Iterable[str] | Mapping[str, str]", ""],
        ValueType::Number(_) => ["int", ""],
        ValueType::Choice(names) => {
            let names = names();
            let names: Vec<String> = names.iter().map(|[name, _]| format!("\"{name}\"")).collect();
            return [format!("Literal[{}]", names.join(", ")), String::new()];
        }
        ValueType::Channel(_) | ValueType::Marker(_) => ["Channel", ""],
        ValueType::Channels(_) => ["Channel | Iterable[Channel]", ""],
        ValueType::Groups(_) => ["Iterable[Channel | Iterable[Channel]]", ""],
        ValueType::Delays(_) => ["Delays | Literal[\"auto\"]", "DelaysInSeconds"],
    };
    [of.to_owned(), seconds.to_owned()]
}

fn docstring(of: &RequestType, name: &str, options: &[&RequestOption], is_list: bool) -> String {
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
    let (_, returns, example) = RETURNS
        .iter()
        .find(|(of, ..)| *of == name)
        .unwrap_or_else(|| panic!("{name}: tests/faces.rs says what it returns"));
    text += "\n        Returns\n";
    text += &wrapped(returns, 12);
    text += "\n        Raises\n";
    text += &wrapped(RAISES, 12);
    text += "\n        Example\n";
    for line in example.lines() {
        let _ = writeln!(text, "            {line}");
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
