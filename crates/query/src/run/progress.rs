//! The progress of a query, and its cancellation.
//!
//! After cancellation no task starts, tasks that run may end early, and a check for cancellation after the pass
//! discards its counts.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::error::Error;

/// The progress of running queries, shared with the threads that count.
///
/// A query makes one or several passes over the tags; later passes are not known before the first one ends.
/// See [`crate::Recording::with_progress`].
#[derive(Debug, Default)]
pub struct ScanProgress {
    is_cancelled: AtomicBool,
    passes: AtomicU64,
    done: AtomicU64,
    of: AtomicU64,
    begun: Mutex<Option<Instant>>,
    /// The count of the polls, for [`ScanProgress::that_stops_at`].
    asked: Option<AskCount>,
}

/// The number of times that threads polled for cancellation.
#[derive(Debug, Default)]
struct AskCount {
    times: AtomicU64,
    stop_at: u64,
}

/// A snapshot of the progress of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// The number of passes over the tags that were started.
    pub passes: u64,
    /// The approximate number of tags that the latest pass has processed.
    pub done: u64,
    /// The number of tags that the latest pass will process.
    pub of: u64,
    /// The time since the latest pass began.
    pub elapsed: Duration,
}

impl ScanProgress {
    /// Returns one that counts how often threads ask whether to stop, and cancels the queries the `time`-th time. For
    /// tests only, because counting takes time.
    pub fn that_stops_at(time: u64) -> Self {
        let asked = AskCount { times: AtomicU64::new(0), stop_at: time };
        Self { asked: Some(asked), ..Self::default() }
    }

    /// Returns how often threads asked whether to stop, if that is counted.
    pub fn asks(&self) -> u64 {
        self.asked.as_ref().map_or(0, |asked| asked.times.load(Relaxed))
    }

    /// Cancels the queries: threads stop before their next task, and the queries return [`Error::Cancelled`].
    /// From then on, all queries that use this object return it, too.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    /// Returns the progress of the latest pass.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let passes = self.passes.load(Relaxed);
        let (done, of) = (self.done.load(Relaxed), self.of.load(Relaxed));
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        // All pieces have the same weight, and some rows belong to no piece.
        ProgressSnapshot { passes, done: done.min(of), of, elapsed }
    }
}

impl ScanProgress {
    /// Begins a pass over `rows` tags.
    fn begin(&self, rows: u64) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.of.store(rows, Relaxed);
        self.done.store(0, Relaxed);
        self.passes.fetch_add(1, Relaxed);
    }

    /// Returns whether [`ScanProgress::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        if let Some(AskCount { times, stop_at }) = &self.asked
            && times.fetch_add(1, Relaxed) + 1 >= *stop_at
        {
            self.cancel();
        }
        self.is_cancelled.load(Relaxed)
    }
}

/// A pass over the tags, or over those of one source.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    progress: Option<&'a ScanProgress>,
    is_reported: bool,
    rows: u64,
}

impl<'a> Pass<'a> {
    /// Begins a pass over `rows` tags; reports to `progress` if `is_reported`.
    pub(crate) fn begin(progress: Option<&'a ScanProgress>, is_reported: bool, rows: u64) -> Self {
        if let Some(progress) = progress.filter(|_| is_reported) {
            progress.begin(rows);
        }
        Self { progress, is_reported, rows }
    }

    /// Returns the part of the pass that covers one of its sources, of `rows` tags.
    pub(crate) fn over(self, rows: usize) -> Self {
        Self { rows: rows as u64, ..self }
    }

    /// Returns the means by which its tasks poll for cancellation.
    pub(crate) fn stop(self) -> Stop<'a> {
        Stop(self.progress)
    }

    /// Divides the pass into this many tasks.
    pub fn in_pieces(self, pieces: usize) -> Pieces<'a> {
        Pieces {
            stop: self.stop(),
            told: self.is_reported.then(|| self.rows / pieces.max(1) as u64),
        }
    }
}

/// Tells the tasks of a pass whether to end early. The counts of such a task never reach a result, because
/// cancellation is checked after the pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stop<'a>(Option<&'a ScanProgress>);

impl Stop<'_> {
    /// Returns whether the query was cancelled.
    pub(crate) fn is_asked(self) -> bool {
        self.0.is_some_and(ScanProgress::is_cancelled)
    }
}

/// The tasks of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Pieces<'a> {
    stop: Stop<'a>,
    /// The number of tags that each task reports; `None` if it does not report.
    told: Option<u64>,
}

impl Pieces<'_> {
    /// Begins the next task.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`] after cancellation; the task must then be skipped.
    pub fn begin(&self) -> Result<(), Error> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if let (Some(progress), Some(rows)) = (self.stop.0, self.told) {
            progress.done.fetch_add(rows, Relaxed);
        }
        Ok(())
    }

    /// Returns whether the query was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.is_asked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Bins, Execution, Histogram, Histogram2d, Kind as _, Mode, Recording, Scope,
        kernels::merges::EDGES,
    };
    use tagq_store::{Channels, Tags};

    /// Within one task there can be far more pairs than tags: threads ask whether to stop by the work that they did.
    #[test]
    fn wide_ranges_ask_often_enough() {
        let time: Vec<i64> = (0..1_500).map(|at| at * 7).collect();
        let labels: Vec<u8> = (0..1_500).map(|at| [1, 2, 3][at % 3]).collect();
        let recording = Recording::from_tags(Tags {
            time: (&*time).into(),
            channels: Channels::U8((&*labels).into()),
        });
        let asked = |count: &dyn Fn(&Recording<'_>)| {
            let progress = ScanProgress::that_stops_at(u64::MAX);
            count(&recording.clone().with_progress(Some(&progress)));
            progress.asks()
        };
        // Of different widths, so that they are counted edge by edge.
        let bins = Bins::Edges((0..=100).map(|k| 200 * k + k % 2 - 10_000).collect());
        let scope = Scope::default();
        let histogram = Histogram {
            start: 1,
            stop: 2,
            bins: bins.clone(),
            mode: Mode::All,
            fold: None,
            scope: scope.clone(),
        };
        let edges = asked(&|recording| {
            histogram.run(recording, &Execution::best()).unwrap();
        });
        assert!(edges > (bins.count() / EDGES) as u64, "{edges}");
        let bins = Bins::Linear { low: -10_500, width: 1_000, count: 21 };
        let triples = Histogram2d { herald: 1, others: [2, 3], bins, scope };
        let asks = asked(&|recording| {
            triples.run(recording, &Execution::best()).unwrap();
        });
        // Each of 500 heralds has 250,000 pairs.
        assert!(asks > 500 * 500 / 256, "{asks}");
    }
}
