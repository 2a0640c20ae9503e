//! The answer to one question, in the form that the client accepts.

use std::{
    io::{self, Write},
    sync::Arc,
};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use tagq::requests::Listing;
use tagq_export::{
    Form,
    report::{json, list},
    write_answers, write_listings,
};
use tagq_plot::{Figure, Look, Picture};

use crate::{
    answering::Answered,
    counting::Counting,
    error::Refusal,
    notes,
    question::Question,
    runs::Runs,
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
) -> Result<Response, Refusal> {
    let opened = runs.open(question.numbers())?;
    if matches!(form, Representation::Figure | Representation::Svg) {
        question.look.get_or_insert_with(Look::default);
    }
    let counted = counting.now(move |pool, progress| {
        let settled = question.settled(&opened, pool, progress)?;
        if question.is_list {
            return question.listed(&settled, &opened, pool, progress, |listing, notes| {
                list(listing, notes, form)
            });
        }
        let answered = question.answer(&settled, &opened, pool, progress)?;
        let bytes = written(&answered, form)?;
        Ok((bytes, answered.notes))
    });
    let (answer, notes) = counted.await?;
    let mut response = ([(header::CONTENT_TYPE, form.media_type())], answer).into_response();
    if form != Representation::Json
        && let Ok(notes) = HeaderValue::from_str(&notes::ascii(&notes))
    {
        response.headers_mut().insert(NOTES, notes);
    }
    Ok(response)
}

/// Bytes of a list at most: it is in memory until it is sent.
const LIST_MAX: usize = 16 << 20;

/// Returns the list in this form.
fn list(listing: &Listing<'_>, notes: &[String], form: Representation) -> Result<Vec<u8>, Refusal> {
    let listings = std::slice::from_ref(listing);
    let mut out = Bounded { bytes: Vec::new(), is_full: false };
    let written = match form {
        Representation::Json => {
            list::json_with(listings, Some(notes), &mut out).map_err(Refusal::from)
        }
        Representation::Arrow => write_listings(listings, &mut out, Form::Stream)
            .map(drop)
            .map_err(|error| Refusal::failed(error.to_string())),
        Representation::Figure | Representation::Svg => {
            Err(Refusal::new(StatusCode::BAD_REQUEST, "a list has no figure"))
        }
    };
    if out.is_full {
        let reason = "the list is longer than 16 MiB; select fewer tags by `from`, `to` or `last`, or list them with the command";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, reason));
    }
    written.map(|()| out.bytes)
}

/// Bytes that are refused if they are too many.
struct Bounded {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > LIST_MAX {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the answer in this form.
fn written(answered: &Answered, form: Representation) -> Result<Vec<u8>, Refusal> {
    let Answered { answer, figure: drawn, notes } = answered;
    let drawn = drawn.as_ref().map(|drawn| drawn.as_ref().map_err(Clone::clone)).transpose()?;
    let failed = |error: String| Refusal::failed(error);
    let figure = || drawn.ok_or_else(|| failed("no figure was asked for".into()));
    let mut bytes = Vec::new();
    match form {
        Representation::Json => {
            let more = More { notes, figure: drawn };
            json::write_with(answer, &more, &mut bytes).map_err(|e| failed(e.to_string()))?;
        }
        Representation::Arrow => {
            let answers = std::slice::from_ref(answer);
            write_answers(answers, &mut bytes, Form::Stream).map_err(|e| failed(e.to_string()))?;
        }
        Representation::Figure => {
            serde_json::to_writer(&mut bytes, &figure()?).map_err(|e| failed(e.to_string()))?;
        }
        Representation::Svg => {
            bytes = Picture::Svg.draw(figure()?, answer).map_err(|e| failed(e.to_string()))?;
        }
    }
    Ok(bytes)
}
