//! Questions of clients: a run, the name of a request and its options.

use axum::http::StatusCode;
use serde::Deserialize;
use tagq::{
    Answer, Progress, Run,
    requests::{OptionValues, QueryContext, REQUEST_TYPES, Request, Setup},
};

use crate::{error::Refusal, runs::Runs};

/// A question as a client writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    run: Option<AskedRun>,
    query: String,
    #[serde(default)]
    options: OptionValues,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AskedRun {
    Index(usize),
    Name(String),
}

/// A question to one of the runs.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The number of the run.
    pub run: usize,
    query: &'static str,
    options: OptionValues,
}

impl Question {
    /// Parses one question.
    pub fn of(json: &[u8], runs: &Runs) -> Result<Self, Refusal> {
        Self::new(parsed(json)?, runs)
    }

    /// Parses a list of questions.
    pub fn list(json: &[u8], runs: &Runs) -> Result<Vec<Self>, Refusal> {
        parsed::<Vec<Asked>>(json)?.into_iter().map(|asked| Self::new(asked, runs)).collect()
    }

    fn new(Asked { run, query, options }: Asked, runs: &Runs) -> Result<Self, Refusal> {
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
        Ok(Self { run, query: of.name, options })
    }

    /// Answers for the whole run or the part that the options select.
    pub fn answer(
        &self,
        (run, setup): (&Run, &Setup),
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Answer, Refusal> {
        let context = QueryContext { setup, pool, progress };
        let runs = [(run, &context)];
        Ok(tagq::settled(self.query, &self.options, &runs)?.sum(&runs)?)
    }

    /// Returns the request as it is counted again and again: delays that are to be found stay as they are found first.
    pub fn settled(
        &self,
        (run, setup): (&Run, &Setup),
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Request, Refusal> {
        let context = QueryContext { setup, pool, progress };
        Ok(tagq::settled(self.query, &self.options, &[(run, &context)])?)
    }
}

fn parsed<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(json).map_err(|error| {
        let form = r#"{"run": "run/", "query": "g2", "options": {"start": 1, "stop": 2}}"#;
        let reason = format!("a question is JSON of the form {form}: {error}");
        Refusal::new(StatusCode::BAD_REQUEST, reason)
    })
}
