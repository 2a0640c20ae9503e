//! The cache file of one query (docs/partials.md): the number of rows that it counts, the key of the query and the
//! partial results.
//!
//! The whole key is compared, because the name of the file is only a hash of it. A change of the meaning of partial
//! results needs a new version of the file; files of other versions are discarded.

use std::collections::BTreeMap;

use tagq_query::Partial;
use tagq_store::{
    RunRows,
    sealed::{self, Unsealed, put_len, put_text},
};

/// The first eight bytes of a file.
const MAGIC: [u8; 8] = *b"TAGQKEPT";
/// The version written. Files of other versions are discarded: those of version 1 may have been counted in damaged
/// rows.
const VERSION: u32 = 2;

/// The cached results of one query.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// The rows that the partials belong to.
    pub of: RunRows,
    /// Partials by the interval that each covers: one interval, or one per bin.
    pub partials: BTreeMap<(Option<i64>, Option<i64>), Partial>,
    /// Whether some of it was read from the cache.
    pub is_known: bool,
    /// Rows that were counted to make the rest.
    pub rows_new: u64,
}

impl Entry {
    /// Returns the bytes of the file; `None` if they are more than `most`.
    pub(super) fn to_bytes(&self, key: &str, most: usize) -> Option<Vec<u8>> {
        let mut out = sealed::begin(MAGIC, VERSION);
        self.of.put(&mut out);
        put_text(&mut out, key);
        put_len(&mut out, self.partials.len());
        for partial in self.partials.values() {
            let bytes = partial.to_bytes();
            put_len(&mut out, bytes.len());
            out.extend(bytes);
            if out.len() > most {
                return None;
            }
        }
        Some(sealed::seal(out))
    }

    /// Parses a file of the query `key`; returns `None` if it is torn or belongs to another query.
    pub(super) fn from_bytes(bytes: &[u8], key: &str) -> Option<Self> {
        Self::with_key(bytes).filter(|(found, _)| found == key).map(|(_, entry)| entry)
    }

    /// Whether a file is of another version, which is discarded.
    pub(super) fn is_old(bytes: &[u8]) -> bool {
        matches!(sealed::open(bytes, MAGIC, VERSION), Err(Unsealed::Version(_)))
    }

    /// Parses a file; returns its query, too, or `None` if it is torn.
    pub(super) fn with_key(bytes: &[u8]) -> Option<(String, Self)> {
        let mut input = sealed::open(bytes, MAGIC, VERSION).ok()?;
        let of = RunRows::read(&mut input)?;
        let key = input.text()?.to_owned();
        let mut partials = BTreeMap::new();
        for _ in 0..input.len(1)? {
            let partial = Partial::from_bytes(input.sized()?).ok()?;
            let interval = partial.interval();
            partials.insert((interval.from, interval.to), partial);
        }
        let entry = Self { of, partials, is_known: true, rows_new: 0 };
        input.is_at_end().then_some((key, entry))
    }
}
