//! Streams of answers: one task for each set of questions, which all readers of the set share.
//!
//! Ten pages that ask the same list of questions cause one count at each commit. A slow reader gets the newest event
//! and skips those between. If there was no memory for an event, it is tried again after 1, 2, 4 s and so on, up to 30
//! s.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use tagq::Progress;
use tokio::{
    sync::{Semaphore, watch},
    time,
};

use crate::{
    counting::Counting,
    error::Refusal,
    question::Question,
    runs::Runs,
    updates::{QuestionSet, Update},
};

/// Different sets of questions at a time.
const SETS_MAX: usize = 64;
/// Time without an event after which a comment shows that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The comment that shows that the connection lives.
const ALIVE: &str = ": no news\n\n";
/// The beginning of a stream: a reader that lost the connection tries again after this time in milliseconds.
const BEGUN: &str = "retry: 1000\n\n";
/// Time after which an event for which there was no memory is tried again; it doubles each time …
const PAUSE: Duration = Duration::from_secs(1);
/// … up to this one.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The newest event of a set of questions; `None` before the first one, and while one is made again for which there was no
/// memory.
type Newest = watch::Sender<Option<Bytes>>;

/// The streams that are open.
pub(crate) struct Live {
    runs: Arc<Runs>,
    counting: Arc<Counting>,
    sets: Mutex<HashMap<String, Newest>>,
    readers: Arc<Semaphore>,
    progress: Arc<dyn Progress + Send + Sync>,
}

impl Live {
    pub fn new(
        runs: &Arc<Runs>,
        counting: &Arc<Counting>,
        streams: usize,
        progress: &Arc<dyn Progress + Send + Sync>,
    ) -> Self {
        let (runs, counting) = (Arc::clone(runs), Arc::clone(counting));
        let readers = Arc::new(Semaphore::new(streams));
        Self { runs, counting, sets: Mutex::default(), readers, progress: Arc::clone(progress) }
    }

    /// Returns the stream of the answers to these questions, a list in JSON.
    pub fn stream(self: &Arc<Self>, json: &str) -> Result<Response, Refusal> {
        let questions = Question::list(json.as_bytes(), &self.runs)?;
        if questions.iter().any(|question| question.is_list) {
            let reason = "a stream has no lists of tags; POST /api/query gives them";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, reason));
        }
        let turn = Arc::clone(&self.readers).try_acquire_owned().map_err(|_| Refusal::busy())?;
        let newest = self.subscribe(json, questions)?;
        // The next event is asked for when the one before is sent. By then there may be newer answers, and only the newest
        // are sent.
        let begun = Some(Bytes::from_static(BEGUN.as_bytes()));
        let events = stream::unfold((newest, turn, begun), |(mut newest, turn, begun)| async {
            let event = match begun {
                Some(begun) => begun,
                None => next(&mut newest).await?,
            };
            Some((Ok::<_, Infallible>(event), (newest, turn, None)))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache, no-transform"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        Ok((headers, Body::from_stream(events)).into_response())
    }

    fn subscribe(
        self: &Arc<Self>,
        json: &str,
        questions: Vec<Question>,
    ) -> Result<watch::Receiver<Option<Bytes>>, Refusal> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newest) = sets.get(json) {
            let mut reader = newest.subscribe();
            // The answers that are there are news to this reader.
            reader.mark_changed();
            return Ok(reader);
        }
        if sets.len() >= SETS_MAX {
            return Err(Refusal::busy());
        }
        let (newest, reader) = watch::channel(None);
        sets.insert(json.to_owned(), newest.clone());
        let (live, key) = (Arc::clone(self), json.to_owned());
        tokio::spawn(async move {
            let set = QuestionSet::new(questions, &live.runs, &live.counting, &live.progress);
            live.answer(set, &key, &newest).await;
        });
        Ok(reader)
    }

    /// Answers each commit, or the newest if several came in the meantime, until nobody reads or the server ends.
    async fn answer(&self, mut set: QuestionSet, key: &str, newest: &Newest) {
        let mut commits = self.runs.commits.clone();
        commits.mark_changed();
        let mut pause = PAUSE;
        loop {
            tokio::select! {
                () = newest.closed() => if self.forget(key, newest) { return },
                changed = commits.changed() => {
                    if changed.is_err() {
                        return self.end(key);
                    }
                    let now = commits.borrow_and_update().clone();
                    tokio::select! {
                        () = newest.closed() => if self.forget(key, newest) { return },
                        Update { event, is_short } = set.answer(&now) => {
                            newest.send_replace(event);
                            if is_short && commits.has_changed().is_ok() {
                                time::sleep(pause).await;
                                pause = PAUSE_MAX.min(2 * pause);
                                // The old event is dropped, which makes room for the next one.
                                newest.send_replace(None);
                                commits.mark_changed();
                            } else {
                                pause = PAUSE;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Forgets a set whose readers are gone; returns whether it did.
    fn forget(&self, key: &str, newest: &Newest) -> bool {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unread = newest.receiver_count() == 0;
        if is_unread {
            sets.remove(key);
        }
        is_unread
    }

    /// Forgets a set; its readers get the event that is there, and then the end of their streams.
    fn end(&self, key: &str) {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Returns the next event. If there is none for some seconds, returns a comment; at the end of the events, `None`.
async fn next(newest: &mut watch::Receiver<Option<Bytes>>) -> Option<Bytes> {
    loop {
        match time::timeout(HEARTBEAT, newest.changed()).await {
            Ok(changed) => changed.ok()?,
            Err(_) => return Some(Bytes::from_static(ALIVE.as_bytes())),
        }
        if let Some(event) = newest.borrow_and_update().clone() {
            return Some(event);
        }
    }
}
