//! Questions of clients: one or several runs, the name of a request, its options, and how its figure looks.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tagq::requests::{Asking, OptionValues, REQUEST_TYPES, Request, RequestType, Setup};
use tagq_plot::Look;

use crate::{error::Refusal, runs::Runs};

/// Questions of one list at most.
const QUESTIONS_MAX: usize = 16;

/// A question as a client writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    run: Option<AskedRun>,
    query: String,
    #[serde(default)]
    options: OptionValues,
    #[serde(default)]
    names: Option<BTreeMap<String, u16>>,
    #[serde(default)]
    figure: Option<Look>,
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

/// A question to one of the runs.
#[derive(Debug)]
pub(crate) struct Question {
    /// The number of the run.
    pub run: usize,
    /// Names, delays and groups of the experiment.
    pub setup: Setup,
    pub query: &'static RequestType,
    pub options: OptionValues,
    /// Whether the names of channels are those of the question.
    has_names: bool,
    /// How the figure is to look, if one is asked for.
    pub look: Option<Look>,
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
        let asked = parsed::<Vec<Asked>>(json)?;
        if asked.is_empty() || asked.len() > QUESTIONS_MAX {
            let reason = format!("a list has 1 to {QUESTIONS_MAX} queries");
            return Err(Refusal::new(StatusCode::BAD_REQUEST, reason));
        }
        asked.into_iter().map(|asked| Self::new(asked, runs)).collect()
    }

    fn new(asked: Asked, runs: &Runs) -> Result<Self, Refusal> {
        let Asked { run, query, options, names, figure } = asked;
        let (found, said) = match run {
            None if runs.len() == 1 => (Some(0), String::new()),
            None => {
                let reason = "`run` is missing: the name or the index of one of the runs";
                return Err(Refusal::new(StatusCode::BAD_REQUEST, reason));
            }
            Some(AskedRun::Index(at)) => (Some(at).filter(|at| *at < runs.len()), at.to_string()),
            Some(AskedRun::Name(name)) => (runs.find(&name), name),
        };
        let unknown = || {
            let reason = format!("`{said}` is none of the served runs");
            Refusal::new(StatusCode::NOT_FOUND, reason)
        };
        let run = found.ok_or_else(unknown)?;
        let of = REQUEST_TYPES.into_iter().find(|of| of.name == query).ok_or_else(|| {
            let names = REQUEST_TYPES.map(|of| of.name).join(", ");
            Refusal::new(StatusCode::BAD_REQUEST, format!("`{query}` is none of {names}"))
        })?;
        let mut setup = runs.setup(run).clone();
        if let Some(names) = &names {
            setup = setup.renamed(names)?;
        }
        let has_names = names.is_some();
        Ok(Self { run, setup, query: of, options, has_names, look: figure })
    }

    /// Returns the command that asks the same, and a line of Python. Names of the question, which they cannot have, are
    /// numbers there.
    pub fn typed(&self, runs: &Runs) -> Result<Typed, Refusal> {
        Request::of_options(self.query.name, self.options.clone())?;
        let options = if self.has_names {
            self.query.with_numbers(&self.options, &self.setup)?
        } else {
            self.options.clone()
        };
        let paths = [runs.name(self.run)];
        Ok(Typed {
            command: self.query.command(&options, &paths, Asking::Each),
            python: self.query.python(&options, &paths, Asking::Each),
        })
    }
}

fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(json).map_err(|error| {
        let form = r#"{"run": "run/", "query": "g2", "options": {"start": 1, "stop": 2}}"#;
        let reason = format!("a question is JSON of the form {form}: {error}");
        Refusal::new(StatusCode::BAD_REQUEST, reason)
    })
}
