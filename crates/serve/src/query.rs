//! The answer to one question, in the form that the client accepts.
//!
//! `Accept: image/svg+xml` gets the figure, and a header without a known type gets JSON. Notes are in the JSON of the
//! answer; the other forms have no place for them and get the header `tagq-notes`.

use std::{io::Write, sync::Arc};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use tagq::{Progress, requests::Listing};
use tagq_export::{
    TableForm,
    report::{json, list},
    write_answers, write_listings,
};
use tagq_plot::{Figure, Look, Picture};

use crate::{
    answering::Answered,
    budget::{Budget, ChargedBytes},
    counting::Counting,
    error::Refusal,
    notes,
    question::Question,
    runs::Runs,
    sent,
    tables::{ARROW_STREAM, FIGURE, SVG},
};

/// The header with the notes of an answer that has no place for them.
const NOTES: HeaderName = HeaderName::from_static("tagq-notes");

/// A form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Representation {
    /// Rows as JSON.
    Json,
    /// Rows as Arrow.
    Arrow,
    /// The figure as JSON.
    Figure,
    /// The figure as SVG.
    Svg,
}

impl Representation {
    /// All of them, with their media types.
    const ALL: [(Self, &str); 4] = [
        (Self::Arrow, ARROW_STREAM),
        (Self::Figure, FIGURE),
        (Self::Svg, SVG),
        (Self::Json, "application/json"),
    ];

    /// Returns the first that the client accepts, or JSON.
    pub fn accepted(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(header::ACCEPT).iter();
        let texts: Vec<&str> = accepted.filter_map(|value| value.to_str().ok()).collect();
        Self::named(&texts.join(","))
    }

    /// Returns the first that the value of such a header names, or JSON.
    pub fn named(accept: &str) -> Self {
        let mut kinds = accept.split([',', ';']).map(str::trim);
        let found = kinds.find_map(|kind| Self::ALL.into_iter().find(|(_, own)| *own == kind));
        found.map_or(Self::Json, |(form, _)| form)
    }

    fn media_type(self) -> &'static str {
        Self::ALL.into_iter().find(|(own, _)| *own == self).map_or("", |(_, kind)| kind)
    }
}

/// The keys beside those of the answer.
#[derive(Serialize)]
struct More<'a> {
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    figure: Option<&'a Figure>,
}

/// Answers a question.
pub(crate) async fn answered(
    mut question: Question,
    form: Representation,
    runs: &Runs,
    counting: &Arc<Counting>,
    progress: &Arc<dyn Progress + Send + Sync>,
) -> Result<Response, Refusal> {
    let opened = runs.open(question.numbers())?;
    if matches!(form, Representation::Figure | Representation::Svg) {
        question.look.get_or_insert_with(Look::default);
    }
    let counted = counting.now(move |means| {
        let settled = question.settled(&opened, means)?;
        if question.is_list {
            let (bytes, notes) = question.listed(&settled, &opened, means, |listing, notes| {
                list(listing, notes, form, means.budget)
            })?;
            return Ok((QuestionResult::List(bytes), notes));
        }
        let answered = question.answer(&settled, &opened, means)?;
        let notes = answered.notes.clone();
        Ok((QuestionResult::Answer(Box::new(answered)), notes))
    });
    let (counted, notes) = counted.await?;
    let answer = match counted {
        QuestionResult::List(bytes) => bytes.into(),
        QuestionResult::Answer(answered) => {
            let progress = Arc::clone(progress);
            sent::body(progress, move |out| write(&answered, form, out)).await?
        }
    };
    let mut response = ([(header::CONTENT_TYPE, form.media_type())], answer).into_response();
    if form != Representation::Json
        && let Ok(notes) = HeaderValue::from_str(&notes::ascii(&notes))
    {
        response.headers_mut().insert(NOTES, notes);
    }
    Ok(response)
}

/// The result of one question.
enum QuestionResult {
    /// The list is written while it is counted.
    List(Bytes),
    Answer(Box<Answered>),
}

/// Returns the list in this form.
fn list(
    listing: &Listing<'_>,
    notes: &[String],
    form: Representation,
    budget: &Budget,
) -> Result<Bytes, Refusal> {
    let listings = std::slice::from_ref(listing);
    let mut out = ChargedBytes::new(budget)?;
    let outcome = match form {
        Representation::Json => {
            list::json_with(listings, Some(notes), &mut out).map_err(Refusal::from)
        }
        Representation::Arrow => write_listings(listings, &mut out, TableForm::Stream)
            .map(drop)
            .map_err(|error| Refusal::failed(error.to_string())),
        Representation::Figure | Representation::Svg => {
            Err(Refusal::new(StatusCode::BAD_REQUEST, "a list has no figure"))
        }
    };
    out.written(outcome)
}

/// Writes the answer in this form.
fn write(
    answered: &Answered,
    form: Representation,
    out: &mut (dyn Write + Send),
) -> Result<(), Refusal> {
    let Answered { answer, figure: drawn, notes, .. } = answered;
    let drawn = drawn.as_ref().map(|drawn| drawn.as_ref().map_err(Clone::clone)).transpose()?;
    let failed = |error: String| Refusal::failed(error);
    let figure = || drawn.ok_or_else(|| failed("no figure was asked for".into()));
    match form {
        Representation::Json => {
            let more = More { notes, figure: drawn };
            json::write_with(answer, &more, out).map_err(|e| failed(e.to_string()))
        }
        Representation::Arrow => {
            let answers = std::slice::from_ref(answer);
            let written = write_answers(answers, out, TableForm::Stream);
            written.map(drop).map_err(|e| failed(e.to_string()))
        }
        Representation::Figure => {
            serde_json::to_writer(out, &figure()?).map_err(|e| failed(e.to_string()))
        }
        Representation::Svg => {
            let drawn = Picture::Svg.draw(figure()?, answer).map_err(|e| failed(e.to_string()))?;
            out.write_all(&drawn).map_err(|e| failed(e.to_string()))
        }
    }
}
