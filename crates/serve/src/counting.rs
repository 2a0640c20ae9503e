//! Queries on the threads that count: a set number at a time, each with a time limit, cancelled when nobody waits.
//!
//! With `queries` 4 a fifth query is refused (503), while a fifth stream waits for its turn. A turn ends with the work
//! and not with the client: a query that was cancelled but still counts takes its turn until it stops.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use axum::http::StatusCode;
use tagq::{Progress, query::ScanProgress};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task, time,
};

use crate::{
    budget::Budget,
    error::{Error, Refusal},
};

/// Limits of the work that clients can cause.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Threads that count.
    pub threads: usize,
    /// Queries that are counted at a time.
    pub queries: usize,
    /// Time after which a query is stopped.
    pub time: Duration,
    /// Bytes of one answer or event at most.
    pub answer: usize,
    /// Bytes of all answers that are not sent at most, and as many of all events.
    pub unsent: usize,
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
        let (answer, unsent) = (128 << 20, 512 << 20);
        Self {
            threads,
            queries: 4,
            time,
            answer,
            unsent,
            streams: 256,
            connections: 1024,
            write_time,
        }
    }
}

/// The threads that count, and the turns at them.
pub(crate) struct Counting {
    pool: rayon::ThreadPool,
    turns: Arc<Semaphore>,
    answers: Budget,
    events: Budget,
    limit: Duration,
}

/// The threads and the progress of a query, and the budget of its answer.
pub(crate) struct Means<'a> {
    pub pool: &'a rayon::ThreadPool,
    pub progress: &'a dyn Progress,
    pub budget: &'a Budget,
}

impl Counting {
    pub fn new(limits: &Limits) -> Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(limits.threads).build()?;
        let turns = Arc::new(Semaphore::new(limits.queries));
        let [answers, events] = [(); 2].map(|()| Budget::new(limits.answer, limits.unsent));
        Ok(Self { pool, turns, answers, events, limit: limits.time })
    }

    /// Returns the budget of events. It is not that of answers: the newest event of a list of questions is kept for new
    /// readers, and answers must not wait for that.
    pub fn events(&self) -> &Budget {
        &self.events
    }

    /// Returns the budgets of answers and of events.
    pub fn budgets(&self) -> [&Budget; 2] {
        [&self.answers, &self.events]
    }

    /// Does the work if a turn is free, and something of the budget.
    pub async fn now<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Means<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        drop(self.answers.charge(0)?);
        let turn = Arc::clone(&self.turns).try_acquire_owned().map_err(|_| Refusal::busy())?;
        self.run(turn, false, work).await
    }

    /// Waits for a turn and does the work for an event.
    pub async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Means<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Refusal::busy())?;
        self.run(turn, true, work).await
    }

    /// Does the work on a thread that may block. The turn ends with the work, which is cancelled after the time limit and
    /// when this future is dropped.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        turn: OwnedSemaphorePermit,
        is_event: bool,
        work: impl FnOnce(&Means<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let progress = Arc::new(QueryProgress::default());
        let _cancel = CancelOnDrop(Arc::clone(&progress));
        let counting = Arc::clone(self);
        let work = task::spawn_blocking(move || {
            let _turn = turn;
            let budget = if is_event { &counting.events } else { &counting.answers };
            work(&Means { pool: &counting.pool, progress: &*progress, budget })
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
            let long = counting.now(move |means| {
                begun.send(()).unwrap();
                while !means.progress.scan().unwrap().is_cancelled() {}
                ended.send(()).unwrap();
                Ok(())
            });
            let waiting = time::timeout(Duration::from_millis(1), long).await;
            assert!(waiting.is_err());
            begins.recv().unwrap();
            ends.recv().unwrap();
            let next = counting.in_turn(|_| Ok(7)).await;
            assert_eq!(next.unwrap(), 7);
        });
    }

    #[test]
    fn nothing_is_counted_while_the_budget_is_spent() {
        let limits = Limits { unsent: 1 << 20, threads: 1, ..Limits::default() };
        let counting = Arc::new(Counting::new(&limits).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let unsent = counting.now(|means| means.budget.charge(1)).await.unwrap();
            let refused = counting.now(|_| Ok(())).await.unwrap_err();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
            drop(unsent);
            assert!(counting.now(|_| Ok(())).await.is_ok());
        });
    }
}
