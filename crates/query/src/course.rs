//! How far a query is, for those who wait for it, and the word that ends it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::{Acquisition, Error, Recording, TimeRange};

/// The course of queries that are under way, shared with the threads that count.
///
/// A query goes over the tags in one pass or in several, of which the later ones are not known before the
/// first one ends. See [`Recording::with_course`].
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

/// A pass over the tags, or over those of one source.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    course: Option<&'a Course>,
    is_told: bool,
    rows: u64,
}

impl<'a> Pass<'a> {
    /// The part of the pass that goes over one of its sources.
    pub(crate) fn over(self, source: &Acquisition<'_>) -> Self {
        Self { rows: source.tags.len() as u64, ..self }
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
        self.course.is_some_and(|course| course.is_cancelled.load(Relaxed))
    }
}

impl<'a> Recording<'a> {
    /// Tells `course` how far queries are, and lets it end them.
    #[must_use]
    pub fn with_course(self, course: Option<&'a Course>) -> Self {
        Self { course, is_told: true, ..self }
    }

    /// The same for queries of which each is a piece of a larger pass: they are ended, but tell nothing.
    #[must_use]
    pub fn in_silence(&self) -> Self {
        Self { is_told: false, ..self.clone() }
    }

    /// Begins a pass over the tags in `range`.
    pub fn pass(&self, range: TimeRange) -> Pass<'a> {
        let (course, is_told) = (self.course, self.is_told);
        let told = course.filter(|_| is_told);
        let rows = told.map_or(0, |_| self.rows_in(range));
        if let Some(course) = told {
            *course.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            course.of.store(rows, Relaxed);
            course.done.store(0, Relaxed);
            course.passes.fetch_add(1, Relaxed);
        }
        Pass { course, is_told, rows }
    }

    /// Refuses counts that may not be all, because threads were told to stop or left rows out that are
    /// damaged.
    pub(crate) fn check_pass(&self) -> Result<(), Error> {
        match self.course {
            Some(course) if course.is_cancelled.load(Relaxed) => Err(Error::Cancelled),
            _ => self.check_order(),
        }
    }

    /// The tags in `range`, as recorded.
    fn rows_in(&self, range: TimeRange) -> u64 {
        let of = |source: &Acquisition<'_>| {
            let Some((first, last)) = source.span() else { return 0 };
            let time = source.tags.time;
            let begin = match range.from {
                Some(from) if from > first => time.partition_point(|&time| time < from),
                _ => 0,
            };
            let end = match range.to {
                Some(to) if to <= last => time.partition_point(|&time| time < to),
                _ => time.len(),
            };
            end.saturating_sub(begin) as u64
        };
        self.sources.iter().map(of).sum()
    }
}
