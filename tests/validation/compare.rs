//! Comparison of answers.

use std::{collections::HashMap, fs, path::Path};

use serde_json::Value;

use super::{
    list::{List, Outside, Question, Way},
    ours::{Copied, digest, sha256},
};

/// All comparisons.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Files of the list that the folder lacks.
    pub absent: Vec<String>,
    /// Files with other bytes than those of the list.
    changed: Vec<String>,
    /// Number of questions whose recording is there.
    pub found: usize,
    /// For each question of the list.
    pub questions: Vec<Option<Comparison>>,
}

/// One question with the answers to it.
#[derive(Debug)]
pub(super) struct Comparison {
    pub ours: Value,
    /// For each answer of the list.
    pub verdicts: Vec<Verdict>,
}

/// Result for the answer of one program.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The same.
    Equal,
    /// The file with the answer is absent.
    Absent,
    /// tagq has the same answer if it counts in the way of that program.
    Explained { theirs: Shown },
    /// Another answer, without a reason that holds.
    Unexplained { theirs: Shown, problem: String },
}

/// An answer in words.
#[derive(Debug)]
pub(super) struct Shown {
    pub text: String,
    /// The number, or the sum of an array.
    pub total: Option<f64>,
}

/// Asks all questions of the list whose recordings are in the folder.
pub(super) fn all(list: &List, folder: &Path) -> Compared {
    let mut compared = Compared::default();
    for file in &list.files {
        match fs::read(folder.join(&file.name)) {
            Err(_) => compared.absent.push(file.name.clone()),
            Ok(bytes) if sha256(&bytes) != file.sha256 => compared.changed.push(file.name.clone()),
            Ok(_) => {}
        }
    }
    let mut copies = HashMap::<&str, Copied>::new();
    for question in &list.questions {
        // Settings beside a recording belong to it.
        let settings = Path::new(&question.file).with_extension("set");
        let is_absent = |name: &String| *name == question.file || Path::new(name) == settings;
        if compared.absent.iter().any(is_absent) {
            compared.questions.push(None);
            continue;
        }
        let copy = copies
            .entry(&question.file)
            .or_insert_with(|| Copied::of(&folder.join(&question.file)));
        compared.found += 1;
        compared.questions.push(Some(Comparison::of(question, copy, folder)));
    }
    compared
}

impl Compared {
    /// Returns all answers that differ without a reason, and files that are not those of the list.
    pub(super) fn failures(&self) -> Vec<String> {
        let changed = self
            .changed
            .iter()
            .map(|file| format!("{file} is not the file of data/validation.json"));
        let verdicts = self.questions.iter().flatten().flat_map(|comparison| &comparison.verdicts);
        let unexplained = verdicts.filter_map(|verdict| match verdict {
            Verdict::Unexplained { problem, .. } => Some(problem.clone()),
            Verdict::Equal | Verdict::Absent | Verdict::Explained { .. } => None,
        });
        changed.chain(unexplained).collect()
    }
}

impl Comparison {
    fn of(question: &Question, copy: &Copied, folder: &Path) -> Self {
        let ours = copy.answer(&question.ours);
        let verdict = |outside: &Outside| {
            let answer = outside.answer(folder);
            if answer.is_none() && outside.sha256.is_none() {
                return Verdict::Absent;
            }
            let theirs = match (&answer, outside.sum) {
                (Some(answer), _) => Shown::of(answer),
                (None, sum) => Shown { text: array(None, sum), total: sum.map(|sum| sum as f64) },
            };
            let is_equal = outside.is_equal(&ours, answer.as_ref());
            let problem = |what: &str| {
                let shown = Shown::of(&ours).text;
                format!(
                    "{}: tagq has {shown}, {} has {}{what}",
                    question.id, outside.by, theirs.text
                )
            };
            match (is_equal, &outside.why) {
                (true, None) => Verdict::Equal,
                (true, Some(_)) => {
                    let problem =
                        problem(", equal although the list has a reason for a difference");
                    Verdict::Unexplained { theirs, problem }
                }
                (false, None) => {
                    let problem = problem("");
                    Verdict::Unexplained { theirs, problem }
                }
                (false, Some(why)) => {
                    let way: &Way = &outside.theirs;
                    let in_their_way = copy.answer(way);
                    if outside.is_equal(&in_their_way, answer.as_ref()) {
                        return Verdict::Explained { theirs };
                    }
                    let found = Shown::of(&in_their_way).text;
                    let problem = problem(&format!("; the reason `{why}` gives {found}"));
                    Verdict::Unexplained { theirs, problem }
                }
            }
        };
        let verdicts = question.answers.iter().map(verdict).collect();
        Self { ours, verdicts }
    }
}

impl Outside {
    /// Whether an answer of tagq is this one, which is `None` if only its digest is known.
    fn is_equal(&self, ours: &Value, theirs: Option<&Value>) -> bool {
        let Some(theirs) = theirs else {
            let values = ours.as_array().unwrap().iter().map(|value| value.as_i64().unwrap());
            let sum: i64 = values.clone().sum();
            return self.sum == Some(sum)
                && self.sha256 == Some(digest(values.map(i64::to_le_bytes)));
        };
        let (Some(ours), Some(theirs)) = (ours.as_array(), theirs.as_array()) else {
            return self.is_close(ours, theirs);
        };
        let ours = match (self.inner, self.rows) {
            (true, _) => &ours[1..ours.len() - 1],
            (_, Some(_)) => &ours[..theirs.len().min(ours.len())],
            _ => &ours[..],
        };
        let in_order = |values: &[Value]| {
            let Some(columns) = self.rows else { return values.to_vec() };
            let mut rows: Vec<&[Value]> = values.chunks(columns).collect();
            rows.sort_by_key(|row| row.iter().map(Value::as_i64).collect::<Vec<_>>());
            rows.concat()
        };
        let (ours, theirs) = (in_order(ours), in_order(theirs));
        ours.len() == theirs.len()
            && !ours.is_empty()
            && ours.iter().zip(&theirs).all(|(ours, theirs)| self.is_close(ours, theirs))
    }

    fn is_close(&self, ours: &Value, theirs: &Value) -> bool {
        // Whole numbers above 2^53 stay exact.
        if let (None, Some(ours), Some(theirs)) = (self.tolerance, ours.as_i64(), theirs.as_i64()) {
            return ours == theirs;
        }
        let tolerance = self.tolerance.unwrap_or(0.0);
        match (ours.as_f64(), theirs.as_f64()) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= tolerance * theirs.abs(),
            _ => ours == theirs,
        }
    }
}

impl Shown {
    pub(super) fn of(value: &Value) -> Self {
        let (text, total) = match value {
            Value::Array(values) => {
                let whole: Option<Vec<i64>> = values.iter().map(Value::as_i64).collect();
                let sum = whole.map(|whole| whole.iter().sum());
                (array(Some(values.len()), sum), sum.map(|sum| sum as f64))
            }
            Value::String(digest) => (format!("`{}…`", digest.get(..8).unwrap_or(digest)), None),
            Value::Number(number) => {
                let text =
                    number.as_i64().map_or_else(|| few_digits(number.as_f64().unwrap()), grouped);
                (text, number.as_f64())
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => (value.to_string(), None),
        };
        Self { text, total }
    }
}

fn array(len: Option<usize>, sum: Option<i64>) -> String {
    let len =
        len.and_then(|len| i64::try_from(len).ok()).map(|len| format!("{} values", grouped(len)));
    let sum = sum.map(|sum| format!("sum {}", grouped(sum)));
    len.into_iter().chain(sum).collect::<Vec<_>>().join(", ")
}

/// Returns a whole number with a comma between groups of three digits.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("−{text}") } else { text }
}

/// Returns a number with nine digits.
fn few_digits(number: f64) -> String {
    if (1e-3..1e9).contains(&number.abs()) {
        let before_point = format!("{:.0}", number.abs().trunc()).len();
        let text = format!("{number:.*}", 9_usize.saturating_sub(before_point));
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{number:.5e}")
}

/// Compares answers that programs gave today with the recorded ones. Returns notes and differences.
pub(super) fn programs(list: &List, folder: &Path, answers: &Path) -> (Vec<String>, Vec<String>) {
    let text = fs::read_to_string(answers).unwrap();
    let today: HashMap<String, Value> = serde_json::from_str(&text).unwrap();
    let (mut notes, mut differences) = (Vec::new(), Vec::new());
    let mut names: Vec<&String> = today.keys().collect();
    names.sort();
    for name in names {
        let found = &today[name];
        let version = found["version"].as_str().unwrap_or("");
        if let Some(why) = found["unavailable"].as_str() {
            notes.push(format!("skipped: {name} is not installed: {why}"));
            continue;
        }
        if let Some(why) = found["failed"].as_str() {
            differences.push(format!("{name} {version} gave no answer: {why}"));
            continue;
        }
        let mut same = 0;
        for question in &list.questions {
            let Some(answer) = found["answers"].get(&question.id) else { continue };
            for outside in question.answers.iter().filter(|outside| outside.by == *name) {
                let expected = outside.answer(folder);
                if expected.is_none() && outside.sha256.is_none() {
                    continue;
                }
                // A tolerance is that of tagq, and the list has rounded numbers.
                if outside.is_equal(answer, expected.as_ref()) {
                    same += 1;
                } else {
                    let shown = Shown::of(answer).text;
                    differences.push(format!("{}: {name} {version} now has {shown}", question.id));
                }
            }
        }
        notes.push(format!("{name} {version}: {same} answers as recorded"));
    }
    (notes, differences)
}
