//! The answers to a set of questions at one commit after the other.
//!
//! If the answers to three questions exceed the budget of an event, the largest one is left out first, with its reason,
//! and the other two are sent. A question that fails leaves the answers to the others.

use std::{
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::body::Bytes;
use serde::Serialize;
use tagq::{Answer, CellType, Column, Progress, Run};
use tagq_export::report::json;
use tagq_plot::Figure;
use tokio::task;

use crate::{
    answering::{Answered, Settled},
    budget::{Budget, ChargedBytes},
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

    /// Returns the answers at these commits.
    pub async fn answer(&mut self, commits: &Commits) -> Update {
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
                    let counted = self.counting.in_turn(move |means| {
                        let settled = match known {
                            Some(settled) => settled,
                            None => question.settled(&runs, means)?,
                        };
                        Ok((question.answer(&settled, &runs, means)?, settled))
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
        let head =
            Head { id: commits.number, number: self.number, took_s: begun.elapsed().as_secs_f64() };
        let budget = self.counting.events().clone();
        let written = task::spawn_blocking(move || update(&head, replies, &budget)).await;
        written.unwrap_or_else(|fault| {
            self.progress.note(&fault.to_string());
            Update::default()
        })
    }
}

/// An event, and whether the budget left something out of it, so that it is to be tried again.
#[derive(Default)]
pub(crate) struct Update {
    pub event: Option<Bytes>,
    pub is_short: bool,
}

/// The numbers of an event, and how long its answers took.
struct Head {
    id: u64,
    number: u64,
    took_s: f64,
}

/// Returns the event with these replies. If they are too many bytes, it says so for the largest of them.
fn update(head: &Head, mut replies: Vec<Reply>, budget: &Budget) -> Update {
    let mut event = event(head, &replies, budget);
    while let Err(refusal) = &event {
        // The largest one is left out first.
        let largest = replies.iter_mut().filter(|reply| reply.answered.is_ok());
        let Some(largest) = largest.max_by_key(|reply| reply.values()) else { break };
        largest.answered = Err(refusal.clone());
        event = self::event(head, &replies, budget);
    }
    let is_busy = |reply: &Reply| matches!(&reply.answered, Err(refusal) if refusal.is_busy());
    Update { is_short: event.is_err() || replies.iter().any(is_busy), event: event.ok() }
}

/// Returns an event in the form of `text/event-stream`, whose data are one line.
fn event(head: &Head, replies: &[Reply], budget: &Budget) -> Result<Bytes, Refusal> {
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
    let times = [at.as_secs_f64(), head.took_s];
    let mut out = ChargedBytes::new(budget)?;
    let written = write!(out, "id: {}\ndata: ", head.id)
        .and_then(|()| {
            json::update_with(head.number, times, answers.into_iter(), Some(&more), &mut out)
        })
        .and_then(|()| out.write_all(b"\n"));
    out.written(written.map_err(|error| Refusal::failed(error.to_string())))
}

impl Reply {
    fn values(&self) -> usize {
        self.answered.as_ref().map_or(0, |answered| answered.answer.rows.values())
    }

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

    /// Returns the columns that the figure may be of: of numbers with standard errors.
    fn columns(&self) -> Option<Vec<&str>> {
        self.figure()?;
        let columns = self.answered.as_ref().ok()?.answer.rows.columns();
        let is_number = |of: &Column| {
            matches!(of.of, CellType::Count | CellType::Integer | CellType::Float)
                && !of.is_list
                && of.cells.iter().any(|cell| !cell.is_missing())
        };
        let drawn = columns.iter().filter(|of| is_number(of) && of.shown.err.is_some());
        Some(drawn.map(|of| &*of.key).collect())
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
