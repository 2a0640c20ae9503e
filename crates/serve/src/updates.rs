//! The answers to a set of questions at one commit after the other.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;
use tagq::{Answer, CellType, Column, Progress, Run};
use tagq_export::report::json;
use tagq_plot::Figure;
use tokio::task;

use crate::{
    answering::{Answered, Settled},
    counting::Counting,
    error::Refusal,
    notes,
    question::Question,
    runs::{Commits, Runs},
};

/// Questions that are answered at each commit, each by itself.
pub(crate) struct QuestionSet {
    runs: Arc<Runs>,
    counting: Arc<Counting>,
    progress: Arc<dyn Progress + Send + Sync>,
    questions: Vec<(Arc<Question>, Option<Settled>)>,
    number: u64,
}

/// The answer to one question, or why there is none.
struct Reply {
    answered: Result<Answered, Refusal>,
    /// The age of the data, and when it was that.
    age: Option<(Duration, Instant)>,
}

/// The keys beside the answers, in their order.
#[derive(Serialize)]
struct More<'a> {
    figures: Vec<Option<&'a Figure>>,
    /// The columns that the figure may be of.
    columns: Vec<Option<Vec<&'a str>>>,
    ages_s: Vec<Option<f64>>,
    notes: Vec<Vec<String>>,
    errors: Vec<Option<&'a str>>,
}

impl QuestionSet {
    pub fn new(
        questions: Vec<Question>,
        runs: &Arc<Runs>,
        counting: &Arc<Counting>,
        progress: &Arc<dyn Progress + Send + Sync>,
    ) -> Self {
        let questions = questions.into_iter().map(|question| (Arc::new(question), None)).collect();
        let (runs, counting) = (Arc::clone(runs), Arc::clone(counting));
        Self { runs, counting, progress: Arc::clone(progress), questions, number: 0 }
    }

    /// Returns the answers at these commits as one line of JSON.
    ///
    /// # Errors
    /// The text of an error of writing, which is none of the questions.
    pub async fn answer(&mut self, commits: &Commits) -> Result<String, String> {
        let begun = Instant::now();
        let mut replies = Vec::new();
        for (question, settled) in &mut self.questions {
            let runs = self.runs.at(commits, question.numbers());
            let age =
                |runs: &Vec<Run>| Some((runs.iter().map(Run::data_age).max()?, Instant::now()));
            let age = runs.as_ref().ok().and_then(age);
            let answered = match runs {
                Ok(runs) => {
                    let (question, known) = (Arc::clone(question), settled.clone());
                    let counted = self.counting.in_turn(move |pool, progress| {
                        let settled = match known {
                            Some(settled) => settled,
                            None => question.settled(&runs, pool, progress)?,
                        };
                        Ok((question.answer(&settled, &runs, pool, progress)?, settled))
                    });
                    counted.await.map(|(answered, now)| {
                        *settled = Some(now);
                        answered
                    })
                }
                Err(refusal) => Err(refusal),
            };
            if let Err(Refusal { note: Some(note), .. }) = &answered {
                self.progress.note(note);
            }
            replies.push(Reply { answered, age });
        }
        self.number += 1;
        let (number, took_s) = (self.number, begun.elapsed().as_secs_f64());
        let written = task::spawn_blocking(move || line(number, took_s, &replies)).await;
        written.map_err(|fault| fault.to_string())?.map_err(|error| error.to_string())
    }
}

/// Returns an update as one line.
fn line(number: u64, took_s: f64, replies: &[Reply]) -> serde_json::Result<String> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // A figure is sent in place of the rows that it is drawn from.
    let answers: Vec<Option<(&Answer, bool)>> = replies.iter().map(Reply::answer).collect();
    let more = More {
        columns: replies.iter().map(Reply::columns).collect(),
        figures: replies.iter().map(Reply::figure).collect(),
        ages_s: replies.iter().map(Reply::age_s).collect(),
        notes: replies.iter().map(Reply::notes).collect(),
        errors: replies.iter().map(Reply::error).collect(),
    };
    json::update_with(number, [at.as_secs_f64(), took_s], answers.into_iter(), Some(&more))
}

impl Reply {
    /// Returns the age of the data now: later questions of the list may have taken long.
    fn age_s(&self) -> Option<f64> {
        self.age.map(|(age, at)| (age + at.elapsed()).as_secs_f64())
    }

    /// Returns the answer, and whether it is sent with its rows.
    fn answer(&self) -> Option<(&Answer, bool)> {
        Some((&self.answered.as_ref().ok()?.answer, self.figure().is_none()))
    }

    /// Returns the figure with its marks.
    fn figure(&self) -> Option<&Figure> {
        self.answered.as_ref().ok()?.figure.as_ref()?.as_ref().ok()
    }

    /// Returns the columns that the figure may be of: of numbers, but no standard errors, and no places in ticks.
    fn columns(&self) -> Option<Vec<&str>> {
        self.figure()?;
        let columns = self.answered.as_ref().ok()?.answer.rows.columns();
        let is_err = |key: &str| columns.iter().any(|of| of.shown.err.as_deref() == Some(key));
        let is_number = |of: &Column| {
            matches!(of.of, CellType::Count | CellType::Integer | CellType::Float)
                && !of.is_list
                && of.cells.iter().any(|cell| !cell.is_missing())
        };
        let plain = columns.iter().filter(|of| is_number(of) && !is_err(&of.key));
        Some(plain.map(|of| &*of.key).filter(|key| !key.ends_with("_ticks")).collect())
    }

    /// Returns the notes, and why there is no figure.
    fn notes(&self) -> Vec<String> {
        let Ok(Answered { notes, figure, .. }) = &self.answered else { return Vec::new() };
        let mut all = notes.clone();
        if let Some(Err(refusal)) = figure {
            notes::add(&mut all, &refusal.reason);
        }
        all
    }

    fn error(&self) -> Option<&str> {
        self.answered.as_ref().err().map(|refusal| &*refusal.reason)
    }
}
