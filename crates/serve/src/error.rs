//! Errors of the server, and refusals of requests.
//!
//! An unknown channel is the client's mistake, and its text is sent (400). A file that cannot be read is not: its text
//! may name files, so that the client gets a general one (500), and the person who runs the server the note.

use std::io;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

/// An error that ends the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened to, or a thread cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a token: {0}")]
    Random(getrandom::Error),
    /// The path below which the server answers is not one.
    #[error("`{0}`: a base path begins with a slash and has letters, digits and - . _ ~ / only")]
    BasePath(String),
    /// The threads that count cannot be started.
    #[error("the threads that count cannot be started: {0}")]
    Pool(#[from] rayon::ThreadPoolBuildError),
}

/// The reason of a server that has enough to do.
const BUSY: &str = "the server is busy; try again in a second";

/// A request that is not answered: the status, and the reason as JSON.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub reason: String,
    /// A note for the person who runs the server; clients do not see it.
    pub note: Option<String>,
}

impl Refusal {
    pub fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), note: None }
    }

    /// Refuses because the server has enough to do.
    pub fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, BUSY)
    }

    /// Whether the server had enough to do.
    pub fn is_busy(&self) -> bool {
        self.reason == BUSY
    }

    /// Returns the reason as JSON.
    pub fn json(&self) -> String {
        json!({ "error": self.reason }).to_string()
    }
}

impl From<tagq::AskError> for Refusal {
    fn from(error: tagq::AskError) -> Self {
        tagq::Error::from(error).into()
    }
}

impl From<tagq::RunError> for Refusal {
    fn from(error: tagq::RunError) -> Self {
        tagq::Error::from(error).into()
    }
}

impl From<tagq::Error> for Refusal {
    /// Mistakes of the request are stated. Other errors may name files, so only the server notes them.
    fn from(error: tagq::Error) -> Self {
        if error.is_cancelled() {
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, "the query was stopped");
        }
        if matches!(error, tagq::Error::Ask(tagq::AskError::NoMicroTimes { .. })) {
            let reason = "the run has no micro times, or their unit is not known";
            return Self::new(StatusCode::BAD_REQUEST, reason);
        }
        let is_mistake = error.names_options()
            || matches!(
                error.run(),
                Some(tagq::RunError::NoSuchChannel { .. } | tagq::RunError::Unit(_))
            );
        if is_mistake && error.exit_code() == 2 {
            return Self::new(StatusCode::BAD_REQUEST, error.to_string());
        }
        Self::failed(error.to_string())
    }
}

impl Refusal {
    /// Returns the refusal for an error whose text is for the server only.
    pub fn failed(note: String) -> Self {
        let reason = "the run cannot be answered now; the server has written why";
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self { status, reason: reason.into(), note: Some(note) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/json");
        let mut response =
            (self.status, [(header::CONTENT_TYPE, json)], self.json()).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
