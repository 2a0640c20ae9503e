//! Answers to questions, with their figures and notes.

use axum::http::StatusCode;
use tagq::{
    Answer, Progress, Run,
    requests::{QueryContext, Request},
};
use tagq_plot::{Figure, Look};

use crate::{
    error::Refusal,
    notes::{self, NoteRecorder},
    question::Question,
};

/// A request as it is counted again and again: delays that are to be found stay as they are found first.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    request: Request,
    /// What was noted about the delays.
    notes: Vec<String>,
}

/// An answer, and what comes with it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub answer: Answer,
    /// The figure, or why there is none, if one was asked for.
    pub figure: Option<Result<Figure, Refusal>>,
    /// What the command line would write to standard error.
    pub notes: Vec<String>,
}

impl Question {
    /// Settles the request.
    pub fn settled(
        &self,
        run: &Run,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Settled, Refusal> {
        let recorder = NoteRecorder::new(progress);
        let context = QueryContext { setup: &self.setup, pool, progress: &recorder };
        let request = tagq::settled(self.query.name, &self.options, &[(run, &context)])?;
        Ok(Settled { request, notes: recorder.notes() })
    }

    /// Answers the settled request.
    pub fn answer(
        &self,
        settled: &Settled,
        run: &Run,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Answered, Refusal> {
        let recorder = NoteRecorder::new(progress);
        let context = QueryContext { setup: &self.setup, pool, progress: &recorder };
        let answer = settled.request.sum(&[(run, &context)])?;
        let mut all = settled.notes.clone();
        recorder.notes().iter().for_each(|note| notes::add(&mut all, note));
        let figure = self.look.as_ref().map(|look| figure(&answer, look));
        Ok(Answered { answer, figure, notes: all })
    }
}

/// Names of options of figures on the command line, and here.
const NAMES: [(&str, &str); 3] = [
    ("--ylim LO..HI with LO below HI", "`limits` as [lo, hi] with lo below hi"),
    ("--ylim", "`limits`"),
    ("--log-y", "`is_logarithmic`"),
];

/// Draws an answer.
pub(crate) fn figure(answer: &Answer, look: &Look) -> Result<Figure, Refusal> {
    let refused = |reason: String| {
        let reason = NAMES.iter().fold(reason, |text, (flag, name)| text.replace(flag, name));
        Refusal::new(StatusCode::BAD_REQUEST, format!("figure: {reason}"))
    };
    let figure = Figure::of_look(answer, look).map_err(|error| refused(error.to_string()))?;
    if figure.has_values() {
        return Ok(figure);
    }
    Err(refused("the answer has no values to draw".into()))
}
