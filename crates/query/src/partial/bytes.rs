//! The serialised form of partials (docs/partials.md): little-endian, exactly one form per value.
//!
//! Equal partials give equal bytes, and parsing rejects all bytes that no partial serialises to. A released version
//! never changes.

use std::collections::BTreeMap;

use tagq_store::sealed::{self, Reader, Unsealed, put_len, put_text};

use super::{Open, Partial, State, Unused};
use crate::{
    error::Error,
    run::{counts::Counts, time_range::TimeRange},
};

/// The first eight bytes. Part of a released format: never changed.
const MAGIC: [u8; 8] = *b"TAGQPART";
/// The version written. Part of a released format: never changed.
const VERSION: u32 = 1;

impl Partial {
    /// Returns the serialised form, version 1: equal partials give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = sealed::begin(MAGIC, VERSION);
        put_text(&mut out, &self.query);
        let TimeRange { from, to } = self.interval;
        out.push(u8::from(from.is_some()) | u8::from(to.is_some()) << 1);
        out.extend(from.unwrap_or(0).to_le_bytes());
        out.extend(to.unwrap_or(0).to_le_bytes());
        put_counts(&mut out, &self.counts);
        put_state(&mut out, &self.state);
        sealed::seal(out)
    }

    /// Parses a partial from its serialised form. Rejects all other bytes.
    ///
    /// # Errors
    /// Returns [`Error::PartialVersion`] for another version, and [`Error::PartialDamaged`] for all bytes
    /// that no partial serialises to.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let input = sealed::open(bytes, MAGIC, VERSION).map_err(|unsealed| match unsealed {
            Unsealed::Foreign => Error::PartialDamaged { what: "other first bytes" },
            Unsealed::Version(version) => Error::PartialVersion { version },
            Unsealed::Damaged => Error::PartialDamaged { what: "another checksum" },
        })?;
        let mut input = Input(input);
        let query = input.text()?;
        let interval = input.interval()?;
        let counts = input.counts()?;
        let state = input.state(interval)?;
        input.end()?;
        Ok(Self { query: query.into(), interval, counts, state })
    }
}

fn put_channels(out: &mut Vec<u8>, channels: &[u16]) {
    put_len(out, channels.len());
    out.extend(channels.iter().flat_map(|channel| channel.to_le_bytes()));
}

pub(crate) fn put_counts(out: &mut Vec<u8>, counts: &Counts) {
    match counts {
        Counts::Groups(groups) => {
            out.push(1);
            put_len(out, groups.len());
            for (group, count) in groups {
                put_channels(out, group);
                out.extend(count.to_le_bytes());
            }
        }
        Counts::Bins(bins, dropped) => {
            out.push(2);
            put_len(out, bins.len());
            out.extend(bins.iter().flat_map(|count| count.to_le_bytes()));
            out.extend(dropped.to_le_bytes());
        }
        Counts::Tags(tags) => {
            out.push(3);
            put_len(out, tags.len());
            for ((source, channel), count) in tags {
                out.extend(source.to_le_bytes());
                out.extend(channel.to_le_bytes());
                out.extend(count.to_le_bytes());
            }
        }
    }
}

fn put_state(out: &mut Vec<u8>, state: &State) {
    match state {
        State::Nothing => out.push(0),
        State::Unused(unused) => {
            out.push(1);
            put_len(out, unused.len());
            for Unused { source, group, times } in unused {
                out.extend(source.to_le_bytes());
                put_channels(out, group);
                for times in times {
                    put_len(out, times.len());
                    out.extend(times.iter().flat_map(|time| time.to_le_bytes()));
                }
            }
        }
        State::Open(open) => {
            out.push(2);
            put_len(out, open.len());
            for Open { source, first } in open {
                out.extend(source.to_le_bytes());
                out.extend(first.to_le_bytes());
            }
        }
    }
}

/// Bytes that are left to read.
pub(crate) struct Input<'a>(pub Reader<'a>);

const ENDS: Error = Error::PartialDamaged { what: "an end in the middle" };

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        self.0.take(len).ok_or(ENDS)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.0.array().ok_or(ENDS)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.0.u16().ok_or(ENDS)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.0.u32().ok_or(ENDS)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.0.u64().ok_or(ENDS)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Error> {
        self.0.i64().ok_or(ENDS)
    }

    /// Reads how many values follow, each of at least `bytes` bytes.
    pub(crate) fn len(&mut self, bytes: usize) -> Result<usize, Error> {
        self.0.len(bytes).ok_or(Error::PartialDamaged { what: "a length beyond its end" })
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Error> {
        self.0.text().ok_or(Error::PartialDamaged { what: "a query that is no text" })
    }

    fn interval(&mut self) -> Result<TimeRange, Error> {
        let [has] = self.array()?;
        let (from, to) = (self.i64()?, self.i64()?);
        let end = |bit: u8, time: i64| match (has & bit != 0, time) {
            (true, time) => Ok(Some(time)),
            (false, 0) => Ok(None),
            (false, _) => Err(Error::PartialDamaged { what: "a time of an open end" }),
        };
        let range = TimeRange { from: end(1, from)?, to: end(2, to)? };
        if has > 3 || range.from.zip(range.to).is_some_and(|(from, to)| from > to) {
            return Err(Error::PartialDamaged { what: "an interval that is none" });
        }
        Ok(range)
    }

    fn channels(&mut self) -> Result<Vec<u16>, Error> {
        let len = self.len(2)?;
        let (channels, _) = self.take(len * 2)?.as_chunks();
        Ok(channels.iter().map(|&channel| u16::from_le_bytes(channel)).collect())
    }

    pub(crate) fn counts(&mut self) -> Result<Counts, Error> {
        let [kind] = self.array()?;
        match kind {
            1 => {
                let mut groups = BTreeMap::new();
                for _ in 0..self.len(24)? {
                    let group = self.channels()?;
                    let count = u128::from_le_bytes(self.array()?);
                    put_after(&mut groups, group, count)?;
                }
                Ok(Counts::Groups(groups))
            }
            2 => {
                let len = self.len(8)?;
                let (bins, _) = self.take(len * 8)?.as_chunks();
                let bins = bins.iter().map(|&count| u64::from_le_bytes(count)).collect();
                Ok(Counts::Bins(bins, self.u64()?))
            }
            3 => {
                let mut tags = BTreeMap::new();
                for _ in 0..self.len(14)? {
                    let source = self.u32()?;
                    let channel = self.u16()?;
                    put_after(&mut tags, (source, channel), self.u64()?)?;
                }
                Ok(Counts::Tags(tags))
            }
            _ => Err(Error::PartialDamaged { what: "an unknown kind of counts" }),
        }
    }

    fn state(&mut self, interval: TimeRange) -> Result<State, Error> {
        let is_before = |time: i64| interval.to.is_some_and(|to| time < to);
        let damaged = Error::PartialDamaged { what: "tags left that cannot be" };
        let [kind] = self.array()?;
        match kind {
            0 => Ok(State::Nothing),
            1 => {
                let mut all = Vec::new();
                for _ in 0..self.len(12)? {
                    let source = self.u32()?;
                    let group = self.channels()?;
                    let mut times = Vec::new();
                    for _ in &group {
                        let len = self.len(8)?;
                        let (of_channel, _) = self.take(len * 8)?.as_chunks();
                        let of_channel: Vec<i64> =
                            of_channel.iter().map(|&time| i64::from_le_bytes(time)).collect();
                        let latest = of_channel.last().copied();
                        if !of_channel.is_sorted() || !latest.is_none_or(is_before) {
                            return Err(damaged);
                        }
                        times.push(of_channel);
                    }
                    all.push(Unused { source, group, times });
                }
                Ok(State::Unused(all))
            }
            2 => {
                let mut all = Vec::new();
                for _ in 0..self.len(12)? {
                    let source = self.u32()?;
                    let first = self.i64()?;
                    if !is_before(first) {
                        return Err(damaged);
                    }
                    all.push(Open { source, first });
                }
                Ok(State::Open(all))
            }
            _ => Err(Error::PartialDamaged { what: "an unknown kind of tags left" }),
        }
    }

    pub(crate) fn end(&self) -> Result<(), Error> {
        let what = "more than its end";
        if self.0.is_at_end() { Ok(()) } else { Err(Error::PartialDamaged { what }) }
    }
}

/// Inserts a count after the existing ones: keys must ascend, without duplicates.
pub(crate) fn put_after<K: Ord, V>(
    counts: &mut BTreeMap<K, V>,
    key: K,
    count: V,
) -> Result<(), Error> {
    if counts.last_key_value().is_some_and(|(last, _)| *last >= key) {
        return Err(Error::PartialDamaged { what: "counts out of order" });
    }
    counts.insert(key, count);
    Ok(())
}
