//! The cache file of one query (docs/partials.md).

use std::collections::BTreeMap;

use tagq_query::Partial;
use tagq_store::{Mark, RunId, Store};

/// The first eight bytes of a file.
const MAGIC: [u8; 8] = *b"TAGQKEPT";
/// The version written. Files of other versions are discarded.
const VERSION: u32 = 1;
/// Bytes of magic, version and checksum.
const HEAD_BYTES: usize = 16;

/// The cached results of one query.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub run_state: RunState,
    /// Partials by the interval that each covers: one interval, or one per bin.
    pub partials: BTreeMap<(Option<i64>, Option<i64>), Partial>,
    /// Whether some of it was read from the cache.
    pub is_known: bool,
    /// Rows that were counted to make the rest.
    pub rows_new: u64,
}

/// The state of the run that the partials belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunState {
    run: RunId,
    rows: u64,
    chain: u32,
    /// crc32c of the first rows of the sources up to this state: no tuple spans two sources.
    sources: u32,
}

impl Default for RunState {
    fn default() -> Self {
        Self { run: RunId([0; 16]), rows: 0, chain: 0, sources: 0 }
    }
}

impl RunState {
    pub(super) fn of(store: &Store, mark: Mark, is_joined: bool) -> Self {
        let starts = store.sources().map(|(_, rows)| rows.start as u64);
        let sources = starts
            .take_while(|&start| start < mark.rows && !is_joined)
            .fold(0, |crc, start| tagq_store::checksum::crc32c_append(crc, &start.to_le_bytes()));
        Self { run: store.manifest().run_id, rows: mark.rows, chain: mark.chain, sources }
    }

    /// Whether the store has the same rows, in the same sources.
    pub(super) fn is_of(&self, store: &Store, is_joined: bool) -> bool {
        let mark = store.mark(self.rows).ok().flatten();
        mark.is_some_and(|mark| *self == Self::of(store, mark, is_joined))
    }
}

impl Entry {
    /// Returns the bytes of the file; `None` if they are more than `most`.
    pub(super) fn to_bytes(&self, key: &str, most: usize) -> Option<Vec<u8>> {
        let RunState { run, rows, chain, sources } = &self.run_state;
        let mut out = [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 4], &run.0].concat();
        out.extend(rows.to_le_bytes());
        out.extend(chain.to_le_bytes());
        out.extend(sources.to_le_bytes());
        out.extend((key.len() as u64).to_le_bytes());
        out.extend(key.as_bytes());
        out.extend((self.partials.len() as u64).to_le_bytes());
        for partial in self.partials.values() {
            let bytes = partial.to_bytes();
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend(bytes);
            if out.len() > most {
                return None;
            }
        }
        let crc = crc_of(&out).to_le_bytes();
        out[12..HEAD_BYTES].copy_from_slice(&crc);
        Some(out)
    }

    /// Parses a file of the query `key`; returns `None` if it is torn or belongs to another query.
    pub(super) fn from_bytes(bytes: &[u8], key: &str) -> Option<Self> {
        let mut left = bytes;
        if take::<8>(&mut left)? != MAGIC || u32::from_le_bytes(take(&mut left)?) != VERSION {
            return None;
        }
        if u32::from_le_bytes(take(&mut left)?) != crc_of(bytes) {
            return None;
        }
        let run_state = RunState {
            run: RunId(take(&mut left)?),
            rows: u64::from_le_bytes(take(&mut left)?),
            chain: u32::from_le_bytes(take(&mut left)?),
            sources: u32::from_le_bytes(take(&mut left)?),
        };
        let written = take_sized(&mut left)?;
        if written != key.as_bytes() {
            return None;
        }
        let mut partials = BTreeMap::new();
        for _ in 0..u64::from_le_bytes(take(&mut left)?) {
            let partial = Partial::from_bytes(take_sized(&mut left)?).ok()?;
            let interval = partial.interval();
            partials.insert((interval.from, interval.to), partial);
        }
        left.is_empty().then_some(Self { run_state, partials, is_known: true, rows_new: 0 })
    }
}

/// Returns the crc32c of everything except the checksum itself.
fn crc_of(bytes: &[u8]) -> u32 {
    tagq_store::checksum::crc32c_append(
        tagq_store::checksum::crc32c(&bytes[..12]),
        &bytes[HEAD_BYTES..],
    )
}

fn take<const N: usize>(left: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = left.split_first_chunk()?;
    *left = rest;
    Some(*array)
}

fn take_sized<'b>(left: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = usize::try_from(u64::from_le_bytes(take(left)?)).ok()?;
    left.split_off(..len)
}
