//! Queries on the threads that count: a set number at a time, each with a time limit, cancelled when nobody waits.

use std::{
    convert::Infallible,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use tagq::{Progress, query::ScanProgress};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task, time,
};

use crate::error::{Error, Refusal};

/// Limits of the work that clients can cause.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Threads that count.
    pub threads: usize,
    /// Queries that are counted at a time.
    pub queries: usize,
    /// Time after which a query is stopped.
    pub time: Duration,
    /// Streams of `/api/watch` at a time.
    pub streams: usize,
    /// Connections at a time.
    pub connections: usize,
    /// Time after which a connection is closed whose client reads nothing of what it is sent.
    pub write_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = tagq::store::threads(0);
        let (time, write_time) = (Duration::from_mins(1), Duration::from_secs(30));
        Self { threads, queries: 4, time, streams: 256, connections: 1024, write_time }
    }
}

/// The threads that count, and the turns at them.
pub(crate) struct Counting {
    pool: rayon::ThreadPool,
    turns: Arc<Semaphore>,
    /// Turns of answers in memory.
    answers: Arc<Semaphore>,
    limit: Duration,
}

/// Bytes of an answer that are handed over at a time.
const PIECE: usize = 64 << 10;

/// Returns the response with these bytes; the turn ends when they are sent.
fn sent(bytes: Vec<u8>, turn: OwnedSemaphorePermit) -> Response {
    let length = [(header::CONTENT_LENGTH, bytes.len())];
    let pieces = stream::unfold((Bytes::from(bytes), turn), |(mut left, turn)| async move {
        let piece = left.split_to(left.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (left, turn)))
    });
    (length, Body::from_stream(pieces)).into_response()
}

/// Answers that are counted or sent at a time, for each query that is counted.
const ANSWERS_EACH: usize = 8;

impl Counting {
    pub fn new(limits: &Limits) -> Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(limits.threads).build()?;
        let turns = Arc::new(Semaphore::new(limits.queries));
        let answers = Arc::new(Semaphore::new(limits.queries.saturating_mul(ANSWERS_EACH)));
        Ok(Self { pool, turns, answers, limit: limits.time })
    }

    /// Returns the answer that `work` writes, and what it says besides, if a turn is free. Clients that read slowly cannot
    /// fill the memory.
    pub async fn now<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&rayon::ThreadPool, &dyn Progress) -> Result<(Vec<u8>, T), Refusal>
        + Send
        + 'static,
    ) -> Result<(Response, T), Refusal> {
        let free = |turns: &Arc<Semaphore>| {
            Arc::clone(turns).try_acquire_owned().map_err(|_| Refusal::busy())
        };
        let (turn, counting) = (free(&self.answers)?, free(&self.turns)?);
        let (bytes, more) = self.run(counting, work).await?;
        Ok((sent(bytes, turn), more))
    }

    /// Waits for a turn and does the work.
    pub async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&rayon::ThreadPool, &dyn Progress) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Refusal::busy())?;
        self.run(turn, work).await
    }

    /// Does the work on a thread that may block. The turn ends with the work, which is cancelled after the time limit and
    /// when this future is dropped.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        turn: OwnedSemaphorePermit,
        work: impl FnOnce(&rayon::ThreadPool, &dyn Progress) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let progress = Arc::new(QueryProgress::default());
        let _cancel = CancelOnDrop(Arc::clone(&progress));
        let counting = Arc::clone(self);
        let work = task::spawn_blocking(move || {
            let _turn = turn;
            work(&counting.pool, &*progress)
        });
        match time::timeout(self.limit, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(fault)) => Err(Refusal::failed(fault.to_string())),
            Err(_) => {
                let seconds = self.limit.as_secs();
                let reason = format!("the query took longer than {seconds} s and was stopped");
                Err(Refusal::new(StatusCode::GATEWAY_TIMEOUT, reason))
            }
        }
    }
}

/// The progress of one query, by which it is cancelled.
#[derive(Default)]
struct QueryProgress(ScanProgress);

impl Progress for QueryProgress {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, _: &str) {}

    fn scan(&self) -> Option<&ScanProgress> {
        Some(&self.0)
    }
}

struct CancelOnDrop(Arc<QueryProgress>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_is_cancelled_when_nobody_waits_and_its_turn_is_free_after_it() {
        let limits = Limits { queries: 1, threads: 1, ..Limits::default() };
        let counting = Arc::new(Counting::new(&limits).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (begun, begins) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        runtime.block_on(async {
            let long = counting.now(move |_, progress| {
                begun.send(()).unwrap();
                while !progress.scan().unwrap().is_cancelled() {}
                ended.send(()).unwrap();
                Ok((Vec::new(), ()))
            });
            let waiting = time::timeout(Duration::from_millis(1), long).await;
            assert!(waiting.is_err());
            begins.recv().unwrap();
            ends.recv().unwrap();
            let next = counting.in_turn(|_, _| Ok(7)).await;
            assert_eq!(next.unwrap(), 7);
        });
    }

    #[test]
    fn answers_that_are_not_sent_take_no_more_than_a_set_number() {
        let limits = Limits { queries: 1, threads: 1, ..Limits::default() };
        let counting = Arc::new(Counting::new(&limits).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut unsent = Vec::new();
            while unsent.len() < ANSWERS_EACH {
                unsent.push(counting.now(|_, _| Ok((vec![1], ()))).await.map_err(|_| ()).unwrap());
            }
            let refused = counting.now(|_, _| Ok((vec![1], ()))).await.err().unwrap();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
            unsent.pop();
            assert!(counting.now(|_, _| Ok((vec![1], ()))).await.is_ok());
        });
    }
}
