//! The list of files, programs, questions and answers.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use serde_json::Value;

use crate::support::root;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub files: Vec<Recorded>,
    pub programs: Vec<Program>,
    /// Why an answer differs.
    pub reasons: BTreeMap<String, String>,
    pub groups: Vec<Group>,
    pub questions: Vec<Question>,
}

/// A file of the folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded {
    pub name: String,
    pub sha256: String,
    pub about: String,
}

/// Where answers come from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub name: String,
    pub version: Option<String>,
    pub about: String,
}

/// A section of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub id: String,
    pub title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Question {
    pub id: String,
    pub group: String,
    /// The recording.
    pub file: String,
    pub asked: String,
    #[serde(flatten)]
    pub ours: Way,
    pub answers: Vec<Outside>,
}

/// How tagq gets an answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Way {
    /// Arguments before the file, and where the answer is in the JSON.
    pub command: Option<String>,
    pub at: Option<String>,
    /// Name of one of `checks`.
    pub check: Option<String>,
}

impl Way {
    /// Whether it says one way.
    pub(super) fn is_one(&self) -> bool {
        self.command.is_some() == self.at.is_some()
            && self.command.is_some() != self.check.is_some()
    }
}

/// An answer that another program gave.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outside {
    /// Name of the program.
    pub by: String,
    /// The answer itself.
    pub value: Option<Value>,
    /// Sum and SHA-256 of an array of integers of 64 bits.
    pub sum: Option<i64>,
    pub sha256: Option<String>,
    /// The file with the answer, and where it is.
    pub file: Option<String>,
    /// Pointer into JSON.
    pub pointer: Option<String>,
    /// The unit of the answer there.
    pub scale: Option<f64>,
    /// Array of an archive.
    pub array: Option<String>,
    /// Column of text; `inner` leaves its first and last row out.
    pub column: Option<usize>,
    #[serde(default)]
    pub inner: bool,
    /// Number of columns of rows of integers, whose order within a pulse is free.
    pub rows: Option<usize>,
    /// Whether it is the whole text, without carriage returns.
    #[serde(default)]
    pub text: bool,
    /// Largest relative difference.
    pub tolerance: Option<f64>,
    /// Why it differs, and how tagq gets the same.
    pub why: Option<String>,
    #[serde(default)]
    pub theirs: Way,
}

impl List {
    pub(super) fn read() -> Self {
        let text = fs::read_to_string(root().join("data/validation.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub(super) fn file(&self, name: &str) -> Option<&Recorded> {
        self.files.iter().find(|file| file.name == name)
    }

    pub(super) fn program(&self, name: &str) -> &Program {
        let found = self.programs.iter().find(|program| program.name == name);
        found.unwrap_or_else(|| panic!("data/validation.json has no program {name}"))
    }
}

impl Program {
    /// Returns name and version.
    pub(super) fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Returns the number that a program answered to a question: for tests that need it elsewhere.
pub(crate) fn recorded(id: &str, by: &str) -> f64 {
    let list = List::read();
    let question = list.questions.iter().find(|question| question.id == id);
    let answers = question.into_iter().flat_map(|question| &question.answers);
    let mut of_program = answers.filter(|answer| answer.by == by);
    let value = of_program.next().and_then(|answer| answer.value.as_ref()?.as_f64());
    value.unwrap_or_else(|| panic!("data/validation.json has no number of {by} for {id}"))
}
