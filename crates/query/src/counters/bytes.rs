//! The serialised form of [`PartCounts`] (docs/partials.md): little-endian, exactly one form per value.
//!
//! Equal counts give equal bytes, and parsing rejects all bytes that no value serialises to: keys ascend without
//! duplicates, and unused fields are 0.

use std::collections::{BTreeMap, BTreeSet};

use tagq_store::sealed::{Reader, put_len, put_text};

use super::part_counts::{PartCounts, Question};
use crate::{
    error::Error,
    partial::bytes::{Input, put_after, put_counts},
};

/// The bits of the first byte of a question: its source, beginning and end are given, not open.
const SOURCE: u8 = 1;
const FROM: u8 = 2;
const TO: u8 = 4;

impl PartCounts {
    /// Returns the serialised form: equal counts give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let keys: BTreeSet<&str> = self.counts.keys().map(|asked| &*asked.key).collect();
        let keys: BTreeMap<&str, u32> = keys.into_iter().zip(0..).collect();
        put_len(&mut out, keys.len());
        for key in keys.keys() {
            put_text(&mut out, key);
        }
        put_len(&mut out, self.counts.len());
        for (Question { source, key, range: (from, to) }, counts) in &self.counts {
            let bit = |is_there: bool, bit: u8| if is_there { bit } else { 0 };
            out.push(
                bit(source.is_some(), SOURCE) | bit(from.is_some(), FROM) | bit(to.is_some(), TO),
            );
            out.extend(source.unwrap_or(0).to_le_bytes());
            out.extend(keys[&**key].to_le_bytes());
            out.extend(from.unwrap_or(0).to_le_bytes());
            out.extend(to.unwrap_or(0).to_le_bytes());
            put_counts(&mut out, counts);
        }
        put_len(&mut out, self.tags.len());
        for ((source, time, channel), tags) in &self.tags {
            out.extend(source.to_le_bytes());
            out.extend(time.to_le_bytes());
            out.extend(channel.to_le_bytes());
            out.extend(tags.to_le_bytes());
        }
        put_len(&mut out, self.totals.len());
        for (begin, totals) in &self.totals {
            out.push(u8::from(begin.is_some()));
            out.extend(begin.unwrap_or(0).to_le_bytes());
            put_len(&mut out, totals.len());
            for ((source, channel), tags) in totals {
                out.extend(source.to_le_bytes());
                out.extend(channel.to_le_bytes());
                out.extend(tags.to_le_bytes());
            }
        }
        out
    }

    /// Parses the serialised form. Rejects all other bytes.
    ///
    /// # Errors
    /// [`Error::PartialDamaged`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Input(Reader::new(bytes));
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..input.len(8)? {
            let key = input.text()?;
            if keys.last().is_some_and(|last| &**last >= key) {
                return Err(Error::PartialDamaged { what: "queries out of order" });
            }
            keys.push(key.into());
        }
        let mut all = Self::default();
        let mut used = vec![false; keys.len()];
        for _ in 0..input.len(26)? {
            let [there] = input.array()?;
            let source = input.u32()?;
            let number = input.u32()? as usize;
            let (from, to) = (input.i64()?, input.i64()?);
            let of = |bit: u8| there & bit != 0;
            let is_plain = there <= SOURCE | FROM | TO
                && (of(SOURCE) || source == 0)
                && (of(FROM) || from == 0)
                && (of(TO) || to == 0);
            let key = keys.get(number).filter(|_| is_plain);
            let key = key.ok_or(Error::PartialDamaged { what: "a question that is none" })?;
            used[number] = true;
            let question = Question {
                source: of(SOURCE).then_some(source),
                key: key.clone(),
                range: (of(FROM).then_some(from), of(TO).then_some(to)),
            };
            put_after(&mut all.counts, question, input.counts()?)?;
        }
        if used.contains(&false) {
            return Err(Error::PartialDamaged { what: "a query without counts" });
        }
        for _ in 0..input.len(22)? {
            let (source, time) = (input.u32()?, input.i64()?);
            let of = (source, time, input.u16()?);
            put_after(&mut all.tags, of, input.u64()?)?;
        }
        for _ in 0..input.len(17)? {
            let ([has_begin], begin) = (input.array()?, input.i64()?);
            if has_begin > 1 || (has_begin == 0 && begin != 0) {
                return Err(Error::PartialDamaged { what: "the time at which a part begins" });
            }
            let mut totals = BTreeMap::new();
            for _ in 0..input.len(14)? {
                let of = (input.u32()?, input.u16()?);
                put_after(&mut totals, of, input.u64()?)?;
            }
            put_after(&mut all.totals, (has_begin == 1).then_some(begin), totals)?;
        }
        input.end()?;
        Ok(all)
    }
}
