//! Questions of clients: one or several runs, the name of a request, its options, and how its figure looks.

use axum::http::StatusCode;
use serde::{Deserialize, de::DeserializeOwned};
use tagq::requests::{OptionValues, REQUEST_TYPES, Setup};
use tagq_plot::Look;

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
    #[serde(default)]
    figure: Option<Look>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AskedRun {
    Index(usize),
    Name(String),
}

/// A question to one of the runs.
#[derive(Debug)]
pub(crate) struct Question {
    /// The number of the run.
    pub run: usize,
    /// Names, delays and groups of the experiment.
    pub setup: Setup,
    pub query: &'static str,
    pub options: OptionValues,
    /// How the figure is to look, if one is asked for.
    pub look: Option<Look>,
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

    fn new(Asked { run, query, options, figure }: Asked, runs: &Runs) -> Result<Self, Refusal> {
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
        Ok(Self { run, setup: runs.setup(run).clone(), query: of.name, options, look: figure })
    }
}

fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(json).map_err(|error| {
        let form = r#"{"run": "run/", "query": "g2", "options": {"start": 1, "stop": 2}}"#;
        let reason = format!("a question is JSON of the form {form}: {error}");
        Refusal::new(StatusCode::BAD_REQUEST, reason)
    })
}
