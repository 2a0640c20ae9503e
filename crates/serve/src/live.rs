//! Answers again and again: one task for each set of questions, which all readers of the set share.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    http::{HeaderName, StatusCode, header},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use tagq::Progress;
use tokio::sync::{Semaphore, watch};

use crate::{
    counting::Counting, error::Refusal, question::Question, runs::Runs, updates::QuestionSet,
};

/// Different sets of questions at a time.
const SETS_MAX: usize = 64;
/// Time without an event after which a comment shows that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Time after which a reader that lost the connection tries again.
const RETRY: Duration = Duration::from_secs(1);

/// The newest event of a set of questions; `None` before the first one.
type Newest = watch::Sender<Option<Event>>;

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
        let begun = Event::default().retry(RETRY);
        let events =
            stream::unfold((newest, turn, Some(begun)), |(mut newest, turn, begun)| async {
                if let Some(event) = begun {
                    return Some((Ok::<_, Infallible>(event), (newest, turn, None)));
                }
                loop {
                    newest.changed().await.ok()?;
                    let event = newest.borrow_and_update().clone();
                    if let Some(event) = event {
                        return Some((Ok(event), (newest, turn, None)));
                    }
                }
            });
        let lives = KeepAlive::new().interval(HEARTBEAT).text("no news");
        let headers = [
            (header::CACHE_CONTROL, "no-cache, no-transform"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        Ok((headers, Sse::new(events).keep_alive(lives)).into_response())
    }

    fn subscribe(
        self: &Arc<Self>,
        json: &str,
        questions: Vec<Question>,
    ) -> Result<watch::Receiver<Option<Event>>, Refusal> {
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
        loop {
            tokio::select! {
                () = newest.closed() => if self.forget(key, newest) { return },
                changed = commits.changed() => {
                    if changed.is_err() {
                        return self.end(key);
                    }
                    let now = commits.borrow_and_update().clone();
                    let id = now.number;
                    tokio::select! {
                        () = newest.closed() => if self.forget(key, newest) { return },
                        answered = set.answer(&now) => match answered {
                            Ok(json) => drop(newest.send_replace(Some(event(id, &json)))),
                            Err(error) => self.progress.note(&error),
                        },
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

/// Returns an event. The data are one line.
fn event(id: u64, data: &str) -> Event {
    Event::default().id(id.to_string()).data(data.trim_end())
}
