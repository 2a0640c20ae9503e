//! JSON: one object for every kind of query.
//!
//! Characters that a terminal would interpret or reorder are escaped as `\uXXXX`, so the parsed text stays the same
//! and a printed answer cannot change the screen.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::{
    Value,
    ser::{CompactFormatter, Formatter, PrettyFormatter},
};
use tagq::{Answer, Provenance, Row, RunFacts, SCHEMA_VERSION, Table, is_shown};

/// Returns a value on one line.
pub(crate) fn text_of(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(ascii)
}

/// Returns a value as indented lines.
pub(crate) fn pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(ascii)
}

/// Returns a serializer that writes indented lines and escapes characters as [`ascii`] does.
fn indented<W: Write>(out: W) -> serde_json::Serializer<W, Shown<PrettyFormatter<'static>>> {
    serde_json::Serializer::with_formatter(out, Shown(PrettyFormatter::new()))
}

/// Returns a serializer that writes one line and escapes characters as [`ascii`] does.
fn compact<W: Write>(out: W) -> serde_json::Serializer<W, Shown<CompactFormatter>> {
    serde_json::Serializer::with_formatter(out, Shown(CompactFormatter))
}

/// Formats as its formatter does, but escapes characters in strings as [`ascii`] does.
struct Shown<F>(F);

macro_rules! as_inner {
    ($($name:ident($($argument:ident: $of:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $of)*) -> io::Result<()> {
            self.0.$name(out $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for Shown<F> {
    as_inner! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        out.write_all(ascii(fragment.to_owned()).as_bytes())
    }
}

/// Escapes all characters that a terminal would interpret or reorder. The parsed text stays the same. Such
/// characters occur only in strings, and JSON already escapes those below 32.
fn ascii(text: String) -> String {
    if text.chars().all(|letter| letter == '\n' || is_shown(letter)) {
        return text;
    }
    let of = |letter: char| match letter {
        '\n' => "\n".to_owned(),
        letter if is_shown(letter) => letter.to_string(),
        letter => format!("\\u{:04x}", u32::from(letter)),
    };
    text.chars().map(of).collect()
}

/// No further keys.
const NOTHING: Option<&()> = None;

#[derive(Serialize)]
struct One<'a, M> {
    schema_version: u32,
    #[serde(flatten)]
    answer: Answered<'a>,
    #[serde(flatten)]
    more: Option<&'a M>,
}

#[derive(Serialize)]
struct Answered<'a> {
    query: &'a Value,
    run: &'a RunFacts,
    provenance: &'a Provenance,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<&'a Table>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<&'a Table>,
}

impl<'a> Answered<'a> {
    fn of(answer: &'a Answer) -> Self {
        Self { rows: Some(&answer.rows), ..Self::without_rows(answer) }
    }

    fn without_rows(Answer { query, run, provenance, total, .. }: &'a Answer) -> Self {
        Self { query, run, provenance, rows: None, total: total.as_ref() }
    }
}

impl<'a, M> One<'a, M> {
    fn of(answer: &'a Answer, more: Option<&'a M>) -> Self {
        Self { schema_version: SCHEMA_VERSION, answer: Answered::of(answer), more }
    }
}

#[derive(Serialize)]
struct Several<'a> {
    schema_version: u32,
    query: &'a Value,
    runs: Vec<RunOfSeveral<'a>>,
    provenance: Provenance,
    rows: RowsOfSeveral<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<RowsOfSeveral<'a>>,
}

/// A run and its query as counted there, because runs may have different ticks.
#[derive(Serialize)]
pub(crate) struct RunOfSeveral<'a> {
    #[serde(flatten)]
    pub run: &'a RunFacts,
    pub query: &'a Value,
}

#[derive(Serialize)]
pub(crate) struct RowOfSeveral<'a> {
    pub run: &'a str,
    #[serde(flatten)]
    pub row: Row<'a>,
}

/// The rows of a table of all runs, in order.
struct RowsOfSeveral<'a> {
    answers: &'a [Answer],
    table: fn(&Answer) -> Option<&Table>,
}

impl Serialize for RowsOfSeveral<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.answers.iter().flat_map(|answer| {
            let rows = (self.table)(answer).into_iter().flat_map(Table::rows);
            rows.map(|row| RowOfSeveral { run: &answer.run.path, row })
        }))
    }
}

/// Writes the answers row by row.
pub fn write(answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    match answers {
        [answer] => One::of(answer, NOTHING).serialize(&mut indented(&mut *out))?,
        several => {
            let runs = several.iter();
            let runs = runs.map(|Answer { run, query, .. }| RunOfSeveral { run, query }).collect();
            let several = Several {
                schema_version: SCHEMA_VERSION,
                query: &several[0].query,
                runs,
                provenance: Provenance::of_all(several.iter().map(|answer| &answer.provenance)),
                rows: RowsOfSeveral { answers, table: |answer| Some(&answer.rows) },
                total: several[0]
                    .total
                    .as_ref()
                    .map(|_| RowsOfSeveral { answers, table: |answer| answer.total.as_ref() }),
            };
            several.serialize(&mut indented(&mut *out))?;
        }
    }
    out.write_all(b"\n")
}

/// Writes one answer row by row, and after it the keys of `more`.
pub fn write_with(answer: &Answer, more: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    One::of(answer, Some(more)).serialize(&mut indented(&mut *out))?;
    out.write_all(b"\n")
}

/// Returns one answer on one line.
///
/// # Errors
/// Errors of the serializer.
pub fn line(answer: &Answer) -> serde_json::Result<String> {
    text_of(&One::of(answer, NOTHING))
}

#[derive(Serialize)]
struct Update<'a, M> {
    schema_version: u32,
    #[serde(rename = "update")]
    number: u64,
    at_s: f64,
    took_s: f64,
    answers: Vec<Option<Answered<'a>>>,
    #[serde(flatten)]
    more: Option<&'a M>,
}

/// Writes the answers as one line of JSON: the `number`th update, and the two times in seconds, when it is after
/// 1970 and how long it took.
///
/// # Errors
/// Errors of the serializer and of `out`.
pub fn update(
    number: u64,
    times: [f64; 2],
    answers: &[Answer],
    out: &mut dyn Write,
) -> io::Result<()> {
    let answers = answers.iter().map(|answer| Some((answer, true)));
    update_with(number, times, answers, NOTHING, out)
}

/// Writes an update as [`update`] does, of answers with or without their rows. A missing answer is `null`, and the
/// keys of `more` follow the answers.
///
/// # Errors
/// Errors of the serializer and of `out`.
pub fn update_with<'a>(
    number: u64,
    [at_s, took_s]: [f64; 2],
    answers: impl Iterator<Item = Option<(&'a Answer, bool)>>,
    more: Option<&'a impl Serialize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let answered = |(answer, has_rows)| {
        if has_rows { Answered::of(answer) } else { Answered::without_rows(answer) }
    };
    let answers = answers.map(|answer| answer.map(answered)).collect();
    let update = Update { schema_version: SCHEMA_VERSION, number, at_s, took_s, answers, more };
    update.serialize(&mut compact(&mut *out))?;
    out.write_all(b"\n")
}
