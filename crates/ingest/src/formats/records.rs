//! Files of records of one width after a header: cut into blocks, which are decoded on several threads.

use std::io::Read as _;

use tagq_store::{Recording, Tag, Tick, format::MICRO_NONE};

use super::format::{Checkpoint, Complete, Dead, Decoded, Header, Reader, Sink, Summary, Until};
use crate::{
    error::Error,
    payload::{
        Payload,
        cut::{Block, CutFault, Cutter, Parts},
        input_error,
    },
    pipeline::{self, Ahead, Outlet, Receive, Units},
    settings::Settings,
};

/// Bytes of a block: the size of a core's cache less the tags made of it.
const BLOCK_BYTES: usize = 256 * 1024;

/// The records of a file.
pub(crate) trait Records: Send + Sync {
    /// Bytes of a record.
    fn record_bytes(&self) -> usize;

    /// Returns the sum of the overflows of the counter in `records`, in the unit of the counter.
    fn overflow(&self, _records: &[u8]) -> i128 {
        0
    }

    /// Decodes `records`, which follow overflows of the sum `overflow`. No record panics, whatever its bytes.
    fn decode(&self, records: &[u8], overflow: i128, found: &mut Found);
}

/// A file of records, whose header was parsed.
pub(crate) struct RecordFile<R> {
    pub head: Head,
    pub records: R,
}

/// The header of a file of records.
pub(crate) struct Head {
    /// All bytes of the header, with zeros in place of the values that the instrument changes when a measurement
    /// ends.
    pub lasting: Vec<u8>,
    pub recording: Recording,
    /// The unit of times; in mode T3 of PicoQuant's instruments, of the times after a pulse.
    pub tick: Option<Tick>,
    /// The unit of micro times; `None` if no record has one.
    pub micro_tick: Option<Tick>,
}

/// The decoded content of some records.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub tags: Vec<Tag>,
    /// The micro time of each tag; empty if none has one.
    micro: Vec<u32>,
    /// Kinds of records that are not tags, and the number of each.
    left_out: Vec<(&'static str, u64)>,
    /// Edges of times during which nothing was recorded.
    dead: Vec<Dead>,
    /// The latest time of the first tags, and how many these are.
    latest: (Option<i64>, usize),
    /// Whether a time leaves 64 bits.
    pub is_out_of_range: bool,
}

impl Found {
    /// Adds a tag.
    pub(crate) fn tag(&mut self, time: i64, channel: u64) {
        if !self.micro.is_empty() {
            self.micro.push(MICRO_NONE);
        }
        self.tags.push(Tag { time, channel });
    }

    /// Adds a photon with its time after the sync pulse.
    pub(crate) fn photon(&mut self, time: i64, channel: u64, micro: u32) {
        self.micro.resize(self.tags.len(), MICRO_NONE);
        self.micro.push(micro);
        self.tags.push(Tag { time, channel });
    }

    /// Counts a record that is no tag.
    pub(crate) fn left_out(&mut self, what: &'static str) {
        self.left_out_many(what, 1);
    }

    /// Counts so many events that are no tags.
    pub(crate) fn left_out_many(&mut self, what: &'static str, count: u64) {
        match self.left_out.iter_mut().find(|(other, _)| *other == what) {
            Some((_, sum)) => *sum += count,
            None => self.left_out.push((what, count)),
        }
    }

    /// Notes that nothing is recorded from this time on.
    pub(crate) fn dead_begins(&mut self, at: i64) {
        self.dead.push(Dead::Begins(at));
    }

    /// Notes that recording went on at this time.
    pub(crate) fn dead_ends(&mut self, at: i64) {
        let until = self.until(at);
        self.dead.push(Dead::Ends(until));
    }

    /// Notes that tags before this time were lost.
    pub(crate) fn lost_before(&mut self, at: i64) {
        let until = self.until(at);
        self.dead.push(Dead::Lost(until));
    }

    fn until(&mut self, at: i64) -> Until {
        let (latest, tags) = self.latest;
        let later = self.tags[tags..].iter().map(|tag| tag.time).max();
        self.latest = (latest.max(later), self.tags.len());
        Until { latest: self.latest.0, at }
    }
}

impl<R: Records> Reader for RecordFile<R> {
    fn header(&self, _: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        let Head { recording, tick, micro_tick, .. } = &self.head;
        Ok(Header::new(*tick, *micro_tick, recording.clone()))
    }

    fn lasting_head(&self) -> &[u8] {
        &self.head.lasting
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        read(self, payload, settings, sink)
    }
}

fn read(
    RecordFile { head, records }: &RecordFile<impl Records>,
    payload: &Payload<'_>,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    sink(Decoded::Recording(head.recording.clone().into(), head.micro_tick))?;
    let mut input = payload.input(payload.bytes.clone(), 0, settings)?;
    let is_begin = settings.start_byte == 0;
    if is_begin {
        let mut skipped = vec![0; head.lasting.len()];
        if let Err(error) = input.read_exact(&mut skipped) {
            return Err(input_error(payload.path, error, input.member()));
        }
        input.note_taken(&head.lasting);
    }
    let start = if is_begin && !payload.is_compressed() {
        head.lasting.len() as u64
    } else {
        settings.start_byte
    };
    let len = records.record_bytes();
    let mut cutter = Cutter::new(input, Parts::Records(len), start, BLOCK_BYTES / len * len);
    let mut fault = None;
    let mut cut = |block: &mut Block| {
        cutter.next(block).unwrap_or_else(|cut| {
            fault = Some(cut);
            false
        })
    };
    let decoder = Decoder { records, payload, settings };
    let overflow = i128::from(settings.start_overflow);
    let mut receiver = Receiver { tags: 0, records: 0, overflow, sink };
    pipeline::run(&decoder, &mut cut, Ahead::of(payload, settings), &mut receiver)?;
    if let Some(CutFault::Input(source)) = fault {
        return Err(input_error(payload.path, source, cutter.input.member()));
    }
    let end = cutter.end();
    if !end.is_beyond
        && let Ok(overflow) = i64::try_from(receiver.overflow)
    {
        let checkpoint = Checkpoint { byte: end.resume_byte, overflow };
        (receiver.sink)(Decoded::Complete(Complete::new(Some(checkpoint), end.crc)))?;
    }
    let fate = if settings.salvage { "taken in whole records" } else { "left out" };
    let torn = match payload.torn(fate) {
        Some(torn) => Some(torn),
        None if end.begun.is_empty() => None,
        None => {
            Some(format!("its last record has {} of {len} bytes and is left out", end.begun.len()))
        }
    };
    let records = if payload.is_compressed() {
        Some(receiver.records).filter(|_| is_begin)
    } else {
        end.resume_byte.checked_sub(head.lasting.len() as u64).map(|bytes| bytes / len as u64)
    };
    let (tags, resume_byte, crc) = (receiver.tags, end.resume_byte, end.crc);
    Ok(Summary { tags, resume_byte, torn, records, crc, ..Summary::new(payload, settings) })
}

struct Decoder<'a, R> {
    records: &'a R,
    payload: &'a Payload<'a>,
    settings: &'a Settings,
}

impl<R: Records> Units for Decoder<'_, R> {
    type Unit = Block;
    /// Overflows in the block, and its records.
    type End = Result<(i128, u64), Error>;

    fn count(&self, block: &Block) -> i128 {
        self.records.overflow(block.parts())
    }

    fn decode(&self, block: &Block, before: i128, out: &mut Outlet<'_>) -> Self::End {
        let Self { records, payload, settings } = self;
        let len = records.record_bytes();
        let before = before + i128::from(settings.start_overflow);
        // Records that were read before are not counted again.
        let known =
            settings.known_bytes.min(block.end()).saturating_sub(block.end() - block.len() as u64);
        let known = if payload.is_compressed() || settings.start_byte == 0 { 0 } else { known };
        #[expect(clippy::cast_possible_truncation, reason = "at most the length of the block")]
        let (known, new) = block.parts().split_at(known as usize / len * len);
        let mut found = Found { tags: out.buffer(), ..Found::default() };
        let mut overflow = before;
        if !known.is_empty() {
            records.decode(known, overflow, &mut found);
            (found.left_out, found.dead) = (Vec::new(), Vec::new());
            overflow += records.overflow(known);
        }
        records.decode(new, overflow, &mut found);
        overflow += records.overflow(new);
        if found.is_out_of_range {
            return Err(Error::TimeRange { path: payload.path.into() });
        }
        for edge in found.dead {
            out.dead(edge)?;
        }
        out.tags(found.tags, found.micro)?;
        for (what, records) in found.left_out {
            out.left_out(what, records)?;
        }
        let checkpoint = match i64::try_from(overflow) {
            Ok(overflow) if !payload.is_compressed() => {
                Some(Checkpoint { byte: block.end(), overflow })
            }
            _ => None,
        };
        out.complete(Complete::new(checkpoint, block.crc()))?;
        Ok((overflow - before, (block.parts().len() / len) as u64))
    }
}

struct Receiver<'a, 's> {
    tags: u64,
    records: u64,
    overflow: i128,
    sink: &'a mut Sink<'s>,
}

impl Receive<Result<(i128, u64), Error>> for Receiver<'_, '_> {
    type Fault = Error;

    fn take(&mut self, decoded: Decoded<'_>) -> Result<(), Error> {
        self.tags += decoded.tags();
        (self.sink)(decoded)
    }

    fn end(&mut self, end: Result<(i128, u64), Error>) -> Result<bool, Error> {
        let (overflow, records) = end?;
        self.overflow += overflow;
        self.records += records;
        Ok(true)
    }
}
