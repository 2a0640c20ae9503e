//! The routes of the API. `guard` checks each request before its route does anything; a body must be JSON by its type,
//! of at most 64 KiB, and arrive within 10 s.

use std::{iter, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tagq::{Progress, SCHEMA_VERSION};
use tokio::time;

use crate::{
    access::{Access, secured},
    counting::Counting,
    error::Refusal,
    info,
    live::Live,
    page,
    query::{self, Representation},
    question::Question,
    runs::Runs,
    tables,
};

/// Bytes of a request's body at most.
const BODY_MAX: usize = 64 << 10;
/// Time in which a body must arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The state that all requests share.
pub(crate) struct Shared {
    pub access: Access,
    pub runs: Arc<Runs>,
    pub counting: Arc<Counting>,
    pub live: Arc<Live>,
    pub progress: Arc<dyn Progress + Send + Sync>,
}

impl Shared {
    /// Notes why something failed, which only the person who runs the server learns.
    fn noted<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        result.inspect_err(|refusal| {
            if let Some(note) = &refusal.note {
                self.progress.note(note);
            }
        })
    }
}

/// Returns the routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let base = shared.access.base.clone();
    let at = |path: &str| format!("{base}{path}");
    let refused = |status: StatusCode, reason: &'static str| {
        move || async move { Refusal::new(status, reason) }
    };
    let page = page::FILES.iter().fold(Router::new(), |router, &(path, kind, text)| {
        router.route(&at(path), get(move || async move { ([(header::CONTENT_TYPE, kind)], text) }))
    });
    page.route(&at("/api/run"), get(run))
        .route(&at("/api/info"), get(info))
        .route(&at("/api/kinds"), get(|| async { json_of(&tables::kinds()) }))
        .route(&at("/api/openapi.json"), get(openapi))
        .route(&at("/api/query"), post(query_once))
        .route(&at("/api/command"), post(command))
        .route(&at("/api/watch"), get(watch))
        .route(&at("/api/login"), post(login_by_token))
        .fallback(refused(StatusCode::NOT_FOUND, "there is nothing here; / lists what there is"))
        .method_not_allowed_fallback(refused(
            StatusCode::METHOD_NOT_ALLOWED,
            "not by this method: a query is sent by POST to /api/query, as the JSON {\"query\": \"rates\"}; \
             /api/openapi.json has the methods of all paths",
        ))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Checks who asks before anything else.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let access = &shared.access;
    let path = parts.uri.path().strip_prefix(&*access.base).unwrap_or_default();
    let is_open = path == "/api/login" || page::FILES.iter().any(|(own, ..)| *own == path);
    let checked = access
        .check_site(&parts)
        .and_then(|()| if is_open { Ok(()) } else { access.check_token(&parts.headers) });
    secured(match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => refusal.into_response(),
    })
}

fn json_of(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn run(State(shared): State<Arc<Shared>>) -> Response {
    json_of(&json!({ "schema_version": SCHEMA_VERSION, "runs": shared.runs.states() }))
}

/// Answers with the sources of a run, its store, and remarks about them.
async fn info(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    let at = value_of(&uri, "run").map_or(Some(0), |text| text.parse().ok());
    let unknown =
        || Refusal::new(StatusCode::NOT_FOUND, "`run` is the index of one of the runs: /api/run");
    let at = at.filter(|&at| at < shared.runs.len()).ok_or_else(unknown)?;
    let (runs, setup) = (shared.runs.open(iter::once(at))?, shared.runs.setup(at).clone());
    let described = shared.counting.now(move |_| info::described(&runs[0], &setup));
    let described = shared.noted(described.await)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], described).into_response())
}

async fn openapi(State(shared): State<Arc<Shared>>) -> Response {
    json_of(&tables::openapi(&shared.access.base))
}

/// Answers one question.
async fn query_once(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let form = Representation::accepted(request.headers());
    let question = Question::of(&body(request).await?, &shared.runs)?;
    let Shared { runs, counting, progress, .. } = &*shared;
    shared.noted(query::answered(question, form, runs, counting, progress).await)
}

/// Answers with the command and the line of Python that ask the same.
async fn command(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, Refusal> {
    let (questions, is_list) = Question::one_or_several(&body(request).await?, &shared.runs)?;
    let typed = questions.iter().map(|question| question.typed(&shared.runs));
    let typed = typed.collect::<Result<Vec<_>, _>>()?;
    Ok(json_of(&if is_list { json!(typed) } else { json!(typed[0]) }))
}

/// Streams the answers to several questions.
async fn watch(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    let missing = || {
        let reason = "`queries` is missing: a list of questions in JSON, percent-encoded";
        Refusal::new(StatusCode::BAD_REQUEST, reason)
    };
    shared.live.stream(&value_of(&uri, "queries").ok_or_else(missing)?)
}

/// Returns a value of the query string, decoded.
fn value_of(uri: &Uri, name: &str) -> Option<String> {
    let mut words = uri.query().unwrap_or_default().split('&');
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).and_then(decoded)
}

/// Decodes a percent-encoded value; `None` if it is not one.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

/// Sets the cookie for a token.
async fn login_by_token(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let body = body(request).await?;
    let refused = |status, reason: &str| Refusal::new(status, reason);
    let Login { token } = serde_json::from_slice(&body)
        .map_err(|_| refused(StatusCode::BAD_REQUEST, r#"the body is {"token": "…"}"#))?;
    if shared.access.token.is_none() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let cookie = shared.access.cookie_for(&token);
    let cookie = cookie.ok_or_else(|| refused(StatusCode::UNAUTHORIZED, "not the token"))?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// Reads the body, which must be JSON by its type: forms of other sites cannot send that without asking.
async fn body(request: Request) -> Result<axum::body::Bytes, Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let reason = "the body is JSON; say so by content-type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let body: Body = request.into_body();
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in 10 s");
    let read = time::timeout(BODY_TIME, to_bytes(body, BODY_MAX)).await.map_err(late)?;
    read.map_err(|_| {
        let reason = format!("a body has {BODY_MAX} bytes at most");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    })
}
