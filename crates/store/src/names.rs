//! The names of the files of a store (docs/format.md). A writer makes no others, and removes no others.

use std::fmt;

use crate::{Error, Folder, MANIFEST_NAME, disk::UNFINISHED};

/// The file that the writer locks.
pub(crate) const LOCK_NAME: &str = "lock";
/// The folder of answers kept for the next time, which is no part of the run.
pub(crate) const CACHE_NAME: &str = "cache";

/// The names of one kind of file: `time.col`, and with a number `time.3.col`.
pub(crate) struct Stem {
    start: &'static str,
    end: &'static str,
}

/// Those of times, channels, blocks, counts, micro times, gaps, and the checksums of gaps.
pub(crate) const STEMS: [Stem; 7] = [
    Stem { start: "time", end: "col" },
    Stem { start: "channel", end: "col" },
    Stem { start: "blocks", end: "idx" },
    Stem { start: "counts", end: "idx" },
    Stem { start: "micro", end: "col" },
    Stem { start: "gap", end: "col" },
    Stem { start: "gaps", end: "idx" },
];

impl Stem {
    /// Whether a writer may give a file of this kind such a name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let between = name.strip_prefix(self.start).and_then(|rest| rest.strip_suffix(self.end));
        let number = match between {
            Some(".") => return true,
            Some(between) => between.strip_prefix('.').and_then(|rest| rest.strip_suffix('.')),
            None => None,
        };
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    }

    /// The first such name, with a number from `from` on, that nothing in `folder` has.
    pub(crate) fn unused_name(&self, folder: &Folder, from: u64) -> Result<String, Error> {
        let taken: Vec<String> =
            folder.entries(|_| true)?.into_iter().map(|entry| entry.name).collect();
        let names = (from..).map(|number| format!("{}.{number}.{}", self.start, self.end));
        let mut unused = names.filter(|name| !taken.contains(name));
        unused.next().map_or_else(|| unreachable!("a folder has fewer names"), Ok)
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end } = self;
        write!(f, "{start}.{end} or {start}.N.{end}")
    }
}

/// Whether a file of this name is one that a writer makes.
pub(crate) fn is_of_store(name: &str) -> bool {
    name == LOCK_NAME
        || name == MANIFEST_NAME
        || name.strip_suffix(UNFINISHED) == Some(MANIFEST_NAME)
        || STEMS.iter().any(|stem| stem.has_name(name))
}
