//! Questions of clients: one or several runs, the name of a query, its options, and how its figure looks.
//!
//! `{"run": [0, 1], "query": "g2", "options": {"start": 1, "stop": 2}}` asks the sum of the first two runs. A run is
//! one of those that are served, by name or index, never a path. In a list, invalid options of one question leave the
//! answers to the others.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tagq::{
    QUERY_TYPES,
    requests::{Asking, OptionValues, ResponseAsked, Setup, ValueType, renamed},
};
use tagq_plot::Look;

use crate::{error::Refusal, runs::Runs};

/// Questions of one list at most.
const QUESTIONS_MAX: usize = 16;
/// Names of channels of a question at most.
const NAMES_MAX: usize = 1024;

/// A question as a client writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenQuestion {
    #[serde(default)]
    run: Option<AskedRuns>,
    query: String,
    #[serde(default)]
    options: OptionValues,
    #[serde(default)]
    names: Option<BTreeMap<String, u16>>,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    figure: Option<Look>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AskedRuns {
    One(AskedRun),
    Sum(Vec<AskedRun>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AskedRun {
    Index(usize),
    Name(String),
}

/// A question as a user types it elsewhere.
#[derive(Debug, Serialize)]
pub(crate) struct Typed {
    command: String,
    python: String,
}

/// A question to one run, or to several as one.
#[derive(Debug)]
pub(crate) struct Question {
    /// The number of each run, and its names, delays and groups.
    pub runs: Vec<(usize, Setup)>,
    /// Invalid options are refused when it is asked: other questions of a list are answered.
    asked: Result<tagq::Question, Refusal>,
    /// Whether the names of channels are those of the question.
    has_names: bool,
    /// Whether the tags of each count are listed.
    pub is_list: bool,
    /// How the figure is to look, if one is asked for.
    pub look: Option<Look>,
}

/// Refuses files of this computer: a browser must not open them.
fn check_paths(asked: &tagq::Question) -> Result<(), Refusal> {
    let paths = asked.of().options().filter(|of| matches!(of.value, ValueType::Path(_)));
    for option in paths {
        let value = asked.options().get(option.name).and_then(serde_json::Value::as_str);
        let is_word = |value: &str| {
            option.name == "irf" && [ResponseAsked::AUTO, ResponseAsked::TAIL].contains(&value)
        };
        if value.is_some_and(|value| !is_word(value)) {
            return Err(wrong(format!(
                "{}: a server opens no file that a query names",
                option.name
            )));
        }
    }
    Ok(())
}

impl Question {
    /// Parses one question.
    pub fn of(json: &[u8], runs: &Runs) -> Result<Self, Refusal> {
        Self::new(parsed(json)?, runs)
    }

    /// Parses one question or a list of them; returns also whether it is a list.
    pub fn one_or_several(json: &[u8], runs: &Runs) -> Result<(Vec<Self>, bool), Refusal> {
        if json.trim_ascii_start().starts_with(b"[") {
            return Ok((Self::list(json, runs)?, true));
        }
        Ok((vec![Self::of(json, runs)?], false))
    }

    /// Parses a list of questions.
    pub fn list(json: &[u8], runs: &Runs) -> Result<Vec<Self>, Refusal> {
        let asked = parsed::<Vec<WrittenQuestion>>(json)?;
        if asked.is_empty() || asked.len() > QUESTIONS_MAX {
            return Err(wrong(format!("a list has 1 to {QUESTIONS_MAX} queries")));
        }
        asked.into_iter().map(|asked| Self::new(asked, runs)).collect()
    }

    fn new(asked: WrittenQuestion, runs: &Runs) -> Result<Self, Refusal> {
        let WrittenQuestion { run, query, options, names, list: is_list, figure: look } = asked;
        if !QUERY_TYPES.iter().any(|of| of.name == query) {
            let names = QUERY_TYPES.map(|of| of.name).join(", ");
            return Err(wrong(format!("`{query}` is none of {names}")));
        }
        let asked = tagq::Question::of_options(&query, options).map_err(Refusal::from);
        if let Ok(asked) = &asked {
            check_paths(asked)?;
        }
        let numbers = numbers(run, runs)?;
        if is_list && (numbers.len() > 1 || look.is_some()) {
            return Err(wrong("a list is of one run, and has no figure".into()));
        }
        asked.as_ref().map_or(Ok(()), |asked| asked.check_runs(numbers.len()))?;
        if names.as_ref().is_some_and(|names| names.len() > NAMES_MAX) {
            return Err(wrong(format!("a query has {NAMES_MAX} names at most")));
        }
        let setup = |run: usize| match &names {
            Some(names) => Ok((run, renamed(runs.setup(run), names)?)),
            None => Ok((run, runs.setup(run).clone())),
        };
        let runs = numbers.into_iter().map(setup).collect::<Result<_, Refusal>>()?;
        Ok(Self { runs, asked, has_names: names.is_some(), is_list, look })
    }

    /// Returns the question; invalid options are an error.
    pub fn asked(&self) -> Result<&tagq::Question, Refusal> {
        self.asked.as_ref().map_err(Refusal::clone)
    }

    /// Returns the numbers of its runs.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().map(|(run, _)| *run)
    }

    /// Returns the command that asks the same, and a line of Python. Names of the question, which they cannot have, are
    /// numbers there.
    pub fn typed(&self, runs: &Runs) -> Result<Typed, Refusal> {
        let asked = self.asked()?;
        let (query, options) = (asked.of(), asked.options());
        let options = match &self.runs[..] {
            [(_, setup), ..] if self.has_names => query.with_numbers(options, setup)?,
            _ => options.clone(),
        };
        let paths: Vec<&str> = self.numbers().map(|run| runs.name(run)).collect();
        let asking = match &paths[..] {
            _ if self.is_list => Asking::List,
            [_] => Asking::Each,
            _ => Asking::Sum,
        };
        Ok(Typed {
            command: query.command(&options, &paths, asking),
            python: query.python(&options, &paths, asking),
        })
    }
}

/// Returns the numbers of the runs that are asked, each once.
fn numbers(asked: Option<AskedRuns>, runs: &Runs) -> Result<Vec<usize>, Refusal> {
    let asked = match asked {
        None if runs.len() == 1 => return Ok(vec![0]),
        None => {
            return Err(wrong(
                "`run` is missing: the name or the index of one of the runs, or a list of them"
                    .into(),
            ));
        }
        Some(AskedRuns::One(run)) => vec![run],
        Some(AskedRuns::Sum(several)) => several,
    };
    if asked.is_empty() {
        return Err(wrong("`run` is an empty list; a sum is of at least one run".into()));
    }
    let mut numbers = Vec::new();
    for run in asked {
        let (found, said) = match run {
            AskedRun::Index(at) => (Some(at).filter(|at| *at < runs.len()), at.to_string()),
            AskedRun::Name(name) => (runs.find(&name), name),
        };
        let Some(number) = found else {
            let reason = format!("`{said}` is none of the served runs");
            return Err(Refusal::new(StatusCode::NOT_FOUND, reason));
        };
        if numbers.contains(&number) {
            return Err(wrong(format!("`{said}` is named twice; a run is counted once in a sum")));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(json).map_err(|error| {
        let form = r#"{"run": "run/", "query": "g2", "options": {"start": 1, "stop": 2}}"#;
        wrong(format!("a question is JSON of the form {form}: {error}"))
    })
}

fn wrong(reason: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, reason)
}
