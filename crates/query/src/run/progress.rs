//! How far a query is, for those who wait for it, and the word that ends it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::error::Error;

/// The course of queries that are under way, shared with the threads that count.
///
/// A query goes over the tags in one pass or in several, of which the later ones are not known before the
/// first one ends. See [`crate::Recording::with_course`].
#[derive(Debug, Default)]
pub struct Course {
    is_cancelled: AtomicBool,
    passes: AtomicU64,
    done: AtomicU64,
    of: AtomicU64,
    begun: Mutex<Option<Instant>>,
}

/// How far a query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progressed {
    /// Passes over the tags that were begun.
    pub passes: u64,
    /// Tags that the last one has taken, about.
    pub done: u64,
    /// Tags that it will take.
    pub of: u64,
    /// Since it began.
    pub elapsed: Duration,
}

impl Course {
    /// Ends the queries: threads stop before their next piece of work, and the answer is
    /// [`Error::Cancelled`]. So is that of all queries with this course from now on.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    /// How far the last pass is.
    pub fn progressed(&self) -> Progressed {
        let passes = self.passes.load(Relaxed);
        let (done, of) = (self.done.load(Relaxed), self.of.load(Relaxed));
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        // Pieces are of the same worth each, and some rows go with none of them.
        Progressed { passes, done: done.min(of), of, elapsed }
    }
}

impl Course {
    /// Begins a pass over `rows` tags.
    fn begin(&self, rows: u64) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.of.store(rows, Relaxed);
        self.done.store(0, Relaxed);
        self.passes.fetch_add(1, Relaxed);
    }

    /// Whether [`Course::cancel`] was called.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Relaxed)
    }
}

/// A pass over the tags, or over those of one source.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    course: Option<&'a Course>,
    is_told: bool,
    rows: u64,
}

impl<'a> Pass<'a> {
    /// Begins a pass over `rows` tags; `course` is told if `is_told`.
    pub(crate) fn begin(course: Option<&'a Course>, is_told: bool, rows: u64) -> Self {
        if let Some(course) = course.filter(|_| is_told) {
            course.begin(rows);
        }
        Self { course, is_told, rows }
    }

    /// The part of the pass that goes over one of its sources, of `rows` tags.
    pub(crate) fn over(self, rows: usize) -> Self {
        Self { rows: rows as u64, ..self }
    }

    /// The pass in so many pieces of work.
    pub fn in_pieces(self, pieces: usize) -> Pieces<'a> {
        Pieces { course: self.course, told: self.is_told.then(|| self.rows / pieces.max(1) as u64) }
    }
}

/// The pieces of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Pieces<'a> {
    course: Option<&'a Course>,
    /// The tags that a piece goes over.
    told: Option<u64>,
}

impl Pieces<'_> {
    /// Begins the next piece.
    ///
    /// # Errors
    /// [`Error::Cancelled`]: it is to be left out.
    pub fn begin(&self) -> Result<(), Error> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if let (Some(course), Some(rows)) = (self.course, self.told) {
            course.done.fetch_add(rows, Relaxed);
        }
        Ok(())
    }

    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.course.is_some_and(Course::is_cancelled)
    }
}
