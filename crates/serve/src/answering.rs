//! Answers to questions, with their figures and notes.
//!
//! A stream settles a question once: delays of `auto` that were found stay at later commits, so that rows of one stream
//! can be compared. An answer keeps its charge of the budget until it is sent.

use axum::http::StatusCode;
use tagq::{
    Answer, Asked, Progress, Run, Searched, Table,
    requests::{Listing, QueryContext},
};
use tagq_plot::{Figure, Look};

use crate::{
    budget::Charge, counting::Means, error::Refusal, notes::NoteRecorder, question::Question,
};

/// A question as it is counted again and again: delays that are to be found stay as they are found first.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    asked: tagq::Question,
    /// Notes about the delays, which each answer repeats.
    notes: Vec<String>,
}

/// An answer, and what comes with it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub answer: Answer,
    /// The figure, or why there is none, if one was asked for.
    pub figure: Option<Result<Figure, Refusal>>,
    /// Notes, which the command line writes to standard error.
    pub notes: Vec<String>,
    _charge: Charge,
}

/// Bytes of a value of a table, about.
const VALUE_BYTES: usize = 16;

/// The contexts in which the runs are asked.
type Contexts<'a> = Vec<(&'a Run, QueryContext<'a>)>;

impl Question {
    fn contexts<'a>(
        &'a self,
        runs: &'a [Run],
        pool: &'a rayon::ThreadPool,
        progress: &'a dyn Progress,
    ) -> Contexts<'a> {
        let setups = self.runs.iter().map(|(_, setup)| setup);
        let context = |setup| QueryContext::new(setup, pool, progress);
        runs.iter().zip(setups.map(context)).collect()
    }

    /// Settles the query in its runs.
    pub fn settled(&self, runs: &[Run], means: &Means<'_>) -> Result<Settled, Refusal> {
        let recorder = NoteRecorder::new(means.progress);
        let contexts = self.contexts(runs, means.pool, &recorder);
        let asked = self.asked()?.settled(&borrowed(&contexts))?;
        let mut notes = Vec::new();
        recorder.add_to(&mut notes);
        Ok(Settled { asked, notes })
    }

    /// Answers the settled query.
    pub fn answer(
        &self,
        settled: &Settled,
        runs: &[Run],
        means: &Means<'_>,
    ) -> Result<Answered, Refusal> {
        let recorder = NoteRecorder::new(means.progress);
        let contexts = self.contexts(runs, means.pool, &recorder);
        let look = self.look.as_ref();
        // A figure holds the values a second time.
        let copies = if look.is_some() { 2 } else { 1 };
        let charged = |answer: &Answer| {
            let tables = [Some(&answer.rows), answer.total.as_ref(), answer.singles.as_ref()];
            let values: usize = tables.into_iter().flatten().map(Table::values).sum();
            means.budget.charge(values.saturating_mul(copies * VALUE_BYTES))
        };
        let (answer, charge, figure) = if let Asked::Search(search) = settled.asked.asked()
            && let [(run, context)] = &contexts[..]
        {
            let found = search.ask(run, context)?;
            let charge = charged(&found.answer)?;
            let figure = look.map(|look| figure_of_peak(&found, (run, context), look));
            (found.answer, charge, figure)
        } else {
            let answer = settled.asked.ask(&borrowed(&contexts))?;
            let charge = charged(&answer)?;
            let figure = look.map(|look| figure(&answer, look));
            (answer, charge, figure)
        };
        let mut notes = settled.notes.clone();
        recorder.add_to(&mut notes);
        Ok(Answered { answer, figure, notes, _charge: charge })
    }

    /// Passes the list of the tags of each count to `take`, with the notes.
    pub fn listed<T>(
        &self,
        settled: &Settled,
        runs: &[Run],
        means: &Means<'_>,
        take: impl FnOnce(&Listing<'_>, &[String]) -> Result<T, Refusal>,
    ) -> Result<(T, Vec<String>), Refusal> {
        let recorder = NoteRecorder::new(means.progress);
        let contexts = self.contexts(runs, means.pool, &recorder);
        let [(run, context)] = &contexts[..] else {
            return Err(wrong("a list is of one run".into()));
        };
        let listing = settled.asked.request()?.listing(run, context)?;
        let mut notes = settled.notes.clone();
        recorder.add_to(&mut notes);
        Ok((take(&listing, &notes)?, notes))
    }
}

fn borrowed<'a, 'b>(contexts: &'b Contexts<'a>) -> Vec<(&'a Run, &'b QueryContext<'a>)> {
    contexts.iter().map(|(run, context)| (*run, context)).collect()
}

fn wrong(reason: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, reason)
}

/// Names of options of figures on the command line, and here.
const NAMES: [(&str, &str); 3] = [
    ("--ylim LO..HI with LO below HI", "`limits` as [lo, hi] with lo below hi"),
    ("--ylim", "`limits`"),
    ("--log-y", "`is_logarithmic`"),
];

/// Draws an answer.
fn figure(answer: &Answer, look: &Look) -> Result<Figure, Refusal> {
    let figure = Figure::of_look(answer, look).map_err(|error| {
        let text = error.to_string();
        undrawn(&NAMES.iter().fold(text, |text, (flag, name)| text.replace(flag, name)))
    })?;
    if figure.has_values() { Ok(figure) } else { Err(undrawn("the answer has no values to draw")) }
}

fn undrawn(reason: &str) -> Refusal {
    wrong(format!("figure: {reason}"))
}

/// Draws the histogram around the peak that was found.
fn figure_of_peak(
    found: &Searched,
    (run, context): (&Run, &QueryContext<'_>),
    look: &Look,
) -> Result<Figure, Refusal> {
    match &found.histograms(run, context)?[..] {
        [] => Err(undrawn("no peak was found")),
        [histogram] => figure(histogram, look),
        _ => Err(undrawn("a figure is of one pair; name two channels")),
    }
}
