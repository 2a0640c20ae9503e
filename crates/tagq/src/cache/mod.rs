//! The result cache. It stores the final part of each answer, so that repeating a query while data
//! arrives costs only the new data.
//!
//! A result is final if no future row can change it (docs/partials.md). The cache takes the last row of
//! the last full block as the last row that is certain. All rows that affect cached results then lie in
//! full blocks, and the chained checksum of the index at that row tells whether a store has exactly the
//! same rows, whatever happened to the store since. Later rows are counted again each time. A file that
//! does not match is discarded.

mod entry;
mod folder;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tagq_query::{Error as QueryError, Execution, Kind, Partial, Recording, TimeRange};
use tagq_store::{Mark, Store};

use crate::run::options::Caching;
use entry::{Entry, RunState};
use folder::Folder;
pub(crate) use folder::obstacle;

/// Maximum size of an entry in bytes: a larger one is faster to count than to read.
const ENTRY_BYTES_MAX: usize = 16 << 20;

/// Maximum number of cached bins of a trace, for the same reason.
const BINS_MAX: usize = 1 << 16;

/// The partials of one query on one run: those already cached, and those to be written.
pub(crate) struct ResultCache<'a> {
    store: &'a Store,
    rows_min: u64,
    is_joined: bool,
    /// The width of the bins, if bins are queried one by one.
    bin: Option<i64>,
    /// The end of the last full block; `None` if everything is counted from scratch.
    mark: Option<Mark>,
    folder: Folder<'a>,
    entries: Mutex<HashMap<String, Entry>>,
}

/// The properties of a request that decide what can be cached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheSettings {
    pub is_joined: bool,
    /// Queried bin by bin with this width.
    pub bin: Option<i64>,
    /// Whether no part of the request will be the same next time.
    pub is_new: bool,
}

impl<'a> ResultCache<'a> {
    pub(crate) fn new(store: &'a Store, caching: Caching, settings: CacheSettings) -> Self {
        let rows_min = match caching {
            Caching::Rows(rows) if !settings.is_new => Some(rows),
            _ => None,
        };
        let full_rows = store.manifest().full_rows();
        // A damaged index is not used.
        let mark = rows_min
            .filter(|&rows| full_rows >= rows)
            .and_then(|_| store.mark(full_rows).ok().flatten());
        Self {
            store,
            rows_min: rows_min.unwrap_or(0),
            is_joined: settings.is_joined,
            bin: settings.bin,
            mark,
            folder: Folder::of(store.folder()),
            entries: Mutex::default(),
        }
    }

    /// Returns the same answer to the query as counting the whole run.
    pub(crate) fn answer<Q: Kind>(
        &self,
        query: &Q,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Q::Answer, QueryError> {
        let cached = self.mark.and_then(|mark| match self.bin {
            None => self.continue_partial(query, mark, recording, execution),
            Some(bin) => self.bin(query, bin, mark, recording, execution),
        });
        // An error of the cached path either occurs again here, or was no fault of the query.
        cached.map_or_else(|| query.run(recording, execution), Ok)
    }

    /// Returns the answer from cached partials and the rows since then; `None` if nothing can be
    /// cached.
    fn continue_partial<Q: Kind>(
        &self,
        query: &Q,
        mark: Mark,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Option<Q::Answer> {
        let range = query.scope().range;
        let end = query.frontier(mark.time)?;
        let end = range.to.map_or(end, |to| to.min(end));
        if range.from.is_some_and(|from| from >= end) {
            return None;
        }
        let key = self.key(query, range);
        let known = self.entry(&key).partials.into_values().next();
        let known = known.filter(|known| {
            let interval = known.interval();
            interval.from == range.from && interval.to.is_some_and(|to| to <= end)
        });
        let ends = known.as_ref().map_or(range.from, |known| known.interval().to);
        let rows = self.rows_before(Some(end)) - self.rows_before(ends);
        let is_much = rows >= self.rows_min_of(known.is_some());
        let prefix = match known {
            Some(known) if !is_much => known,
            None if !is_much => return None,
            known => {
                let more = TimeRange { from: ends, to: Some(end) };
                let more = query.partial(recording, more, known.as_ref(), execution).ok()?;
                let prefix = match known {
                    Some(known) => known.merge(&more).ok()?,
                    None => more,
                };
                self.store_partial(&key, mark, prefix.clone(), rows);
                prefix
            }
        };
        let reaches = prefix.interval().to;
        if reaches == range.to {
            return query.finish(recording, &prefix, execution).ok();
        }
        let rest = TimeRange { from: reaches, to: range.to };
        let rest = query.partial(recording, rest, Some(&prefix), execution).ok()?;
        query.finish(recording, &prefix.merge(&rest).ok()?, execution).ok()
    }

    /// Returns the answer of one bin; final bins are cached together in one entry.
    fn bin<Q: Kind>(
        &self,
        query: &Q,
        bin: i64,
        mark: Mark,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Option<Q::Answer> {
        let range = query.scope().range;
        let (from, to) = range.from.zip(range.to).filter(|(from, to)| from < to)?;
        let key = format!("{}; bins of {bin}", self.key(query, TimeRange::default()));
        if let Some(known) = self.known_bin(&key, (Some(from), Some(to))) {
            return query.finish(recording, &known, execution).ok();
        }
        let partial = query.partial(recording, range, None, execution).ok()?;
        if query.frontier(mark.time).is_some_and(|end| to <= end) {
            let rows = self.rows_before(Some(to)) - self.rows_before(Some(from));
            self.store_partial(&key, mark, partial.clone(), rows);
        }
        query.finish(recording, &partial, execution).ok()
    }

    /// Writes new results that are worth caching. Write errors are ignored, because the user did not
    /// request caching.
    pub(crate) fn write(self) {
        let entries = self.entries.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut is_written = false;
        for (key, entry) in entries {
            let rows_min = if entry.is_known { self.rows_min / 4 } else { self.rows_min };
            if entry.rows_new < rows_min.max(1) {
                continue;
            }
            if let Some(bytes) = entry.to_bytes(&key, ENTRY_BYTES_MAX) {
                is_written |= self.folder.write(&key, &bytes);
            }
        }
        if is_written {
            self.folder.tidy();
        }
    }

    /// Returns how many rows a scan must read before its result is cached.
    fn rows_min_of(&self, is_known: bool) -> u64 {
        // Continuing a cached result costs less than starting one, and saves less.
        if is_known { (self.rows_min / 4).max(1) } else { self.rows_min.max(1) }
    }

    /// Returns the key that all identical queries share.
    fn key<Q: Kind>(&self, query: &Q, range: TimeRange) -> String {
        let mut key = query.key();
        if !range.is_open() {
            let side = |side: Option<i64>| side.map_or(String::new(), |ticks| ticks.to_string());
            key = format!("{key}; times {}..{}", side(range.from), side(range.to));
        }
        if self.is_joined {
            key += "; joined";
        }
        key
    }

    /// Returns the number of rows whose undelayed time is before a limit; without a limit, of those
    /// before all times.
    fn rows_before(&self, limit: Option<i64>) -> u64 {
        let time = self.store.tags().time;
        limit.map_or(0, |limit| time.partition_point(|&time| time < limit) as u64)
    }

    /// Returns the entry of a query, read from disk at the first access.
    fn entry(&self, key: &str) -> Entry {
        self.with_entry(key, |entry| entry.clone())
    }

    fn known_bin(&self, key: &str, of: (Option<i64>, Option<i64>)) -> Option<Partial> {
        self.with_entry(key, |entry| entry.partials.get(&of).cloned())
    }

    /// Stores a partial that is final at `mark`, and removes the partials that it includes.
    fn store_partial(&self, key: &str, mark: Mark, partial: Partial, rows: u64) {
        let interval = partial.interval();
        self.with_entry(key, |entry| {
            if self.bin.is_none() {
                entry.partials.clear();
            } else if entry.partials.len() >= BINS_MAX {
                return;
            }
            entry.partials.insert((interval.from, interval.to), partial);
            entry.run_state = RunState::of(self.store, mark, self.is_joined);
            entry.rows_new += rows;
        });
    }

    fn with_entry<T>(&self, key: &str, use_it: impl FnOnce(&mut Entry) -> T) -> T {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(key) {
            let entry = self.folder.read(key).and_then(|bytes| Entry::from_bytes(&bytes, key));
            let entry = entry.filter(|entry| entry.run_state.is_of(self.store, self.is_joined));
            entries.insert(key.to_owned(), entry.unwrap_or_default());
        }
        use_it(entries.entry(key.to_owned()).or_default())
    }
}
