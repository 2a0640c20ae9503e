//! The identity of the rows of a store: the same for every store that has these rows, whenever it was made.
//!
//! The run id, the commits, gaps, and whether times have a column must not enter it: cached results are found by it
//! after all of these have changed.

use std::fmt;

use serde::{Deserialize, Serialize, de::Error as _};

use super::{LastBlock, Manifest};
use crate::{
    checksum::crc32c_append,
    format::{BlockEntry, encode_count},
};

/// A number of rows, and checksums of exactly these rows (docs/format.md, section "Identity of rows").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowsId {
    /// How many rows, from the first one on.
    pub rows: u64,
    /// The chain of the index at the last row, as if its block ended there.
    pub chain: Crc,
    /// Checksum of the first rows of the sources that begin before the last row: no tuple spans two sources.
    pub sources: Crc,
}

/// A crc32c, written as eight hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Crc(pub u32);

impl fmt::Display for Crc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl Serialize for Crc {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Crc {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_crc = text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let crc = u32::from_str_radix(&text, 16).ok().filter(|_| is_crc);
        crc.map(Self).ok_or_else(|| D::Error::custom("a checksum has eight hexadecimal digits"))
    }
}

impl Manifest {
    /// Returns the identity of all its rows.
    pub fn rows_id(&self) -> RowsId {
        let chain = self.last_block.as_ref().map_or(self.chain, |last| self.chain_to(last));
        RowsId { rows: self.rows, chain: Crc(chain), sources: Crc(self.sources_before(self.rows)) }
    }

    /// The chain at the last block, if it were a full one.
    fn chain_to(&self, last: &LastBlock) -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "channels have 16 bits, rows of a block 17"
        )]
        let (len, pair) = (last.counts.len() as u32, |rows: u64| rows as u32);
        let counts: Vec<u8> =
            last.counts.iter().flat_map(|of| encode_count(of.channel, pair(of.rows))).collect();
        let entry = BlockEntry {
            time_min: last.time_min,
            time_max: last.time_max,
            counts_start: self.count_entries,
            counts_len: len,
            checksums: last.checksums,
            chain: 0,
        };
        entry.chained(self.chain, &counts)
    }

    /// Returns the crc32c of the first rows (u64) of the sources that begin before row `rows`.
    pub fn sources_before(&self, rows: u64) -> u32 {
        let starts = self.sources.iter().scan(0_u64, |next, source| {
            let start = *next;
            *next = start.saturating_add(source.rows);
            Some(start)
        });
        let starts = starts.take_while(|&start| start < rows);
        starts.fold(0, |crc, start| crc32c_append(crc, &start.to_le_bytes()))
    }
}
