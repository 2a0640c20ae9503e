//! The result cache. It stores the final part of each answer, so that repeating a query while data arrives costs only
//! the new data.
//!
//! A result is final if no future row can change it (docs/partials.md). The cache takes the last row of the last full
//! block as the last row that is certain: of 10,000,000 rows, the last 38,528 are counted again each time. All rows
//! that affect cached results then lie in full blocks, and the chained checksum of the index at that row tells whether
//! a store has exactly the same rows, whatever happened to the store since. A file that does not match is discarded.

mod entry;
mod folder;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use tagq_query::{
    CountQuestion, Counter, Counts, Error as QueryError, Facts, Partial, Pass, Rank, Recording,
    Scan, TimeRange,
};
use tagq_store::{Mark, RunRows, Store};

use crate::{error::Error, options::Caching};
use entry::Entry;
use folder::Folder;
pub(crate) use folder::obstacle;

/// Maximum size of an entry in bytes: a larger one is faster to count than to read.
const ENTRY_BYTES_MAX: usize = 16 << 20;

/// Maximum number of cached bins of a trace, for the same reason.
const BINS_MAX: usize = 1 << 16;

/// Checks all cached results of a store. Returns how many there are.
///
/// # Errors
/// [`Error::KeptDamaged`].
pub(crate) fn verify(store: &Path) -> Result<usize, Error> {
    Folder::of(store).verify().map_err(|path| Error::KeptDamaged { path })
}

/// Counts the rows of a run, and continues from the partials that are cached.
#[derive(Debug)]
pub struct Cached<'a> {
    scan: Scan<'a>,
    store: &'a Store,
    rows_min: u64,
    is_joined: bool,
    /// The width of the bins, if bins are queried one by one.
    bin: Option<i64>,
    /// The end of the last full block; `None` if everything is counted from scratch.
    mark: Option<Mark>,
    folder: Folder<'a>,
    /// The partials of each query: those already cached, and those to be written.
    entries: Mutex<HashMap<String, Entry>>,
}

/// The properties of a request that decide what can be cached.
#[derive(Debug, Clone, Copy)]
pub struct CacheSettings {
    /// Whether all sources are counted as one.
    pub is_joined: bool,
    /// Queried bin by bin with this width.
    pub bin: Option<i64>,
    /// Whether no later request will have a part in common with it: the cache is neither read nor written.
    pub is_new: bool,
}

impl<'a> Cached<'a> {
    /// Prepares a scan of the rows of a store.
    pub fn new(
        scan: Scan<'a>,
        store: &'a Store,
        caching: Caching,
        settings: CacheSettings,
    ) -> Self {
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
            scan,
            store,
            rows_min: rows_min.unwrap_or(0),
            is_joined: settings.is_joined,
            bin: settings.bin,
            mark,
            folder: Folder::of(store.folder()),
            entries: Mutex::default(),
        }
    }

    /// Returns the counts from cached partials and the rows since then; `None` if nothing can be cached.
    fn continued(&self, asked: &CountQuestion<'_>) -> Option<Counts> {
        // A source alone is asked for in blocks, whose ends move when the run grows.
        let mark = self.mark.filter(|_| asked.source.is_none())?;
        let range = asked.range;
        let end = asked.what.frontier(mark.time)?;
        let end = range.to.map_or(end, |to| to.min(end));
        if range.from.is_some_and(|from| from >= end) {
            return None;
        }
        let key = self.key(asked);
        let known = self.known(&key, range.from, end);
        let ends = known.as_ref().map_or(range.from, |known| known.interval().to);
        let prefix = match known {
            Some(known) if !self.is_worth(range, ends, end, true) => known,
            None if !self.is_worth(range, ends, end, false) => return None,
            known => {
                let more = TimeRange { from: ends, to: Some(end) };
                let more = self.scan.partial(asked, more, known.as_ref()).ok()?;
                let prefix = match known {
                    Some(known) => known.merge(&more).ok()?,
                    None => more,
                };
                let rows = self.rows_before(Some(end)) - self.rows_before(ends);
                self.store_partial(&key, mark, prefix.clone(), rows);
                prefix
            }
        };
        let reaches = prefix.interval().to;
        let all = if reaches == range.to {
            prefix
        } else {
            let rest = TimeRange { from: reaches, to: range.to };
            let rest = self.scan.partial(asked, rest, Some(&prefix)).ok()?;
            prefix.merge(&rest).ok()?
        };
        let counts = all.counts_of(&asked.what.key(), range).ok()?;
        counts.is_like(&asked.what.nothing()).then(|| counts.clone())
    }

    /// Whether the counts from `begin` to `end` of a range are to be cached; `is_known` says whether those before are.
    fn is_worth(&self, range: TimeRange, begin: Option<i64>, end: i64, is_known: bool) -> bool {
        if self.bin.is_some() {
            // All final bins are one entry.
            return range.to == Some(end) && begin < range.to;
        }
        self.rows_before(Some(end)) - self.rows_before(begin) >= self.rows_min_of(is_known)
    }

    /// Returns the new results, to be written once the rows that they were counted in are known to be right.
    pub fn into_new(self) -> NewResults {
        let entries = self.entries.into_inner().unwrap_or_else(PoisonError::into_inner);
        NewResults { entries, rows_min: self.rows_min }
    }

    /// Returns how many rows a scan must read before its result is cached.
    fn rows_min_of(&self, is_known: bool) -> u64 {
        // Continuing a cached result costs less than starting one, and saves less.
        if is_known { (self.rows_min / 4).max(1) } else { self.rows_min.max(1) }
    }

    /// Returns the key that all identical questions share; those for the bins of a trace share one.
    fn key(&self, asked: &CountQuestion<'_>) -> String {
        let mut key = asked.what.key();
        if self.bin.is_none() && !asked.range.is_open() {
            let side = |side: Option<i64>| side.map_or(String::new(), |ticks| ticks.to_string());
            key = format!("{key}; times {}..{}", side(asked.range.from), side(asked.range.to));
        }
        if let Some(source) = asked.source {
            key = format!("{key}; source {source}");
        }
        if self.is_joined {
            key += "; joined";
        }
        match self.bin {
            Some(bin) => format!("{key}; bins of {bin}"),
            None => key,
        }
    }

    /// Returns the number of rows whose undelayed time is before a limit; without a limit, of those
    /// before all times.
    fn rows_before(&self, limit: Option<i64>) -> u64 {
        let time = self.store.tags().time;
        limit.map_or(0, |limit| time.partition_point(|time| time < limit) as u64)
    }

    /// Returns the cached partial that begins at `from` and ends at `end` or before.
    fn known(&self, key: &str, from: Option<i64>, end: i64) -> Option<Partial> {
        self.with_entry(key, |entry| {
            let mut known = entry.partials.range((from, None)..=(from, Some(end)));
            known.next_back().map(|(_, partial)| partial.clone())
        })
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
            entry.of = self.rows_to(mark.rows).unwrap_or_default();
            entry.rows_new += rows;
        });
    }

    /// Returns the rows up to the end of a full block, as they are kept.
    fn rows_to(&self, rows: u64) -> Option<RunRows> {
        let of = RunRows::to_mark(self.store, rows).ok().flatten()?;
        Some(if self.is_joined { of.joined() } else { of })
    }

    fn with_entry<T>(&self, key: &str, use_it: impl FnOnce(&mut Entry) -> T) -> T {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(key) {
            let entry = self.folder.read(key).and_then(|bytes| Entry::from_bytes(&bytes, key));
            let entry = entry.filter(|entry| self.rows_to(entry.of.rows.rows) == Some(entry.of));
            entries.insert(key.to_owned(), entry.unwrap_or_default());
        }
        use_it(entries.entry(key.to_owned()).or_default())
    }
}

/// Results of a pass that are not written yet.
#[derive(Debug)]
pub struct NewResults {
    entries: HashMap<String, Entry>,
    rows_min: u64,
}

impl NewResults {
    /// Writes those that are worth caching into a store. Write errors are ignored, because the user did not request
    /// caching.
    pub fn write(self, store: &Path) {
        let (folder, mut is_written) = (Folder::of(store), false);
        for (key, entry) in self.entries {
            let rows_min = if entry.is_known { self.rows_min / 4 } else { self.rows_min };
            if entry.rows_new < rows_min.max(1) {
                continue;
            }
            if let Some(bytes) = entry.to_bytes(&key, ENTRY_BYTES_MAX) {
                is_written |= folder.write(&key, &bytes);
            }
        }
        if is_written {
            folder.tidy();
        }
    }
}

impl Counter for Cached<'_> {
    fn facts(&self) -> Facts {
        self.scan.facts()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, QueryError> {
        // An error of the cached path either occurs again here, or was no fault of the query.
        self.continued(asked).map_or_else(|| self.scan.counts(asked), Ok)
    }

    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, counts: &mut [u64]) {
        self.scan.tags(source, channels, range, counts);
    }

    fn rank(&self, source: u32, channel: u16, time: i64, near: Rank) -> Rank {
        self.scan.rank(source, channel, time, near)
    }

    fn expect_ends(&self, source: u32, times: &mut dyn Iterator<Item = i128>) {
        self.scan.expect_ends(source, times);
    }

    fn pass(&self, range: TimeRange, is_silent: bool) -> Pass<'_> {
        self.scan.pass(range, is_silent)
    }

    fn recording(&self) -> Option<&Recording<'_>> {
        self.scan.recording()
    }

    fn check(&self) -> Result<(), QueryError> {
        self.scan.check()
    }
}
