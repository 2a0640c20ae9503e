//! Files of records of one width after a header: cut into blocks, which are decoded on several threads.
//!
//! A decoder may look at records around those of its block, because a photon may stand after an overflow that it came
//! before. The result must not depend on where blocks end, nor on how often a growing file was read: records that an
//! earlier reading counted are decoded again, and not counted again.

use std::{io::Read as _, ops::Range};

use tagq_store::{Recording, RowColumns, Tick, format::MICRO_NONE, os::read_at};

use super::format::{Checkpoint, Complete, Dead, Decoded, Header, Reader, Sink, Summary, Until};
use crate::{
    error::{Error, io_error},
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

    /// How many records on both sides of one decide about it.
    fn around(&self) -> usize {
        0
    }

    /// Decodes the records of `span`, which follow overflows of the sum `overflow`. No record panics, whatever its
    /// bytes.
    fn decode(&self, span: &RecordSpan<'_>, overflow: i128, found: &mut DecodedRecords);
}

/// Records that are decoded, and some around them.
pub(crate) struct RecordSpan<'a> {
    pub around: &'a [u8],
    /// Where those are that are decoded.
    pub own: Range<usize>,
    /// Where the records begin that no earlier reading of the file saw; 0 without one.
    pub unseen: usize,
}

impl<'a> RecordSpan<'a> {
    /// Decodes these bytes of `records`. So many bytes before and after them are looked at. An earlier reading saw
    /// those before `unseen`.
    pub(super) fn new(records: &'a [u8], own: Range<usize>, bytes: usize, unseen: usize) -> Self {
        let start = own.start.saturating_sub(bytes);
        let end = (own.end + bytes).min(records.len());
        let around = &records[start..end];
        let unseen = unseen.saturating_sub(start);
        Self { around, own: own.start - start..own.end - start, unseen }
    }

    pub(crate) fn before(&self) -> &'a [u8] {
        &self.around[..self.own.start]
    }

    pub(crate) fn own(&self) -> &'a [u8] {
        &self.around[self.own.clone()]
    }
}

/// A file of records, whose header was parsed.
pub(crate) struct RecordFile<R> {
    head: Head,
    records: R,
    /// The same with units that are doubles as they stand, as stores of earlier versions have them; see
    /// [`tagq_store::of_single`]. `None` if they are no others.
    of_doubles: Option<Box<Self>>,
}

impl<R> RecordFile<R> {
    pub(crate) fn new(head: Head, records: R) -> Self {
        Self { head, records, of_doubles: None }
    }

    /// Adds how the file is read with units that are doubles as they stand.
    pub(crate) fn or_of_doubles(self, other: Option<Self>) -> Self {
        let other = other.filter(|other| other.head.ticks() != self.head.ticks());
        Self { of_doubles: other.map(Box::new), ..self }
    }

    /// The one whose units the store has, if it has units.
    fn chosen(&self, settings: &Settings) -> &Self {
        let is_stored = |of: &Head| {
            let micro = of.micro_tick.and(settings.stored_micro_tick);
            of.tick == settings.tick && (micro.is_none() || micro == of.micro_tick)
        };
        let other = self.of_doubles.as_deref();
        other.filter(|of| is_stored(&of.head) && !is_stored(&self.head)).unwrap_or(self)
    }
}

/// The header of a file of records.
pub(crate) struct Head {
    /// All bytes of the header, with zeros in place of the values that the instrument changes when a measurement
    /// ends.
    pub lasting: Vec<u8>,
    pub recording: Recording,
    /// The unit of times; in mode T3 of PicoQuant's instruments, of the times after a pulse.
    pub tick: Option<Tick>,
    /// The unit of micro times; `None` if no record has one, or if the file does not say it: then micro times are left
    /// out, unless [`Settings`] give it.
    pub micro_tick: Option<Tick>,
}

impl Head {
    fn ticks(&self) -> [Option<Tick>; 3] {
        let period = self.recording.pulses.map(|pulses| pulses.period);
        [self.tick, self.micro_tick, period]
    }
}

/// The decoded content of some records.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DecodedRecords {
    /// The tags.
    columns: RowColumns,
    /// Channels that do not fit into the column, with their rows.
    wide: Vec<(usize, u64)>,
    /// Kinds of records that are not tags, and the number of each.
    left_out: Vec<(&'static str, u64)>,
    /// Edges of times during which nothing was recorded.
    dead: Vec<Dead>,
    /// The latest time of the first tags, and how many these are.
    latest: (Option<i64>, usize),
    /// Whether a time leaves 64 bits.
    pub is_out_of_range: bool,
    /// The time of a tag that belongs one period of the counter earlier, and that an earlier reading took as it stands.
    pub late_before: Option<i64>,
}

/// Columns of photons, to be written.
pub(crate) struct PhotonColumns<'a> {
    pub times: &'a mut [i64],
    pub labels: &'a mut [u16],
    pub micro: &'a mut [u32],
}

impl DecodedRecords {
    /// Returns the time, the channel and the micro time of each tag.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> impl Iterator<Item = (i64, u64, u32)> {
        let RowColumns { times, channels, micro } = &self.columns;
        let micro = |row| micro.get(row).copied().unwrap_or(MICRO_NONE);
        let each = times.iter().zip(channels).enumerate();
        each.map(move |(row, (&time, &channel))| (time, channel.into(), micro(row)))
    }

    /// Whether the tags in these rows are those of `other`.
    pub(crate) fn has_at(&self, rows: Range<usize>, other: &Self) -> bool {
        let (own, other) = (&self.columns, &other.columns);
        own.times[rows.clone()] == other.times && own.channels[rows] == other.channels
    }

    /// The number of tags.
    pub(crate) fn len(&self) -> usize {
        self.columns.times.len()
    }

    /// The times of the tags.
    pub(crate) fn times(&self) -> &[i64] {
        &self.columns.times
    }

    /// Makes room for so many tags.
    pub(crate) fn reserve(&mut self, tags: usize) {
        self.columns.times.reserve(tags);
        self.columns.channels.reserve(tags);
        self.columns.micro.reserve(tags);
    }

    /// Adds a tag.
    #[inline]
    pub(crate) fn tag(&mut self, time: i64, channel: u64) {
        if !self.columns.micro.is_empty() {
            self.columns.micro.push(MICRO_NONE);
        }
        self.push(time, channel);
    }

    /// Adds a photon with its time after the sync pulse.
    #[inline]
    pub(crate) fn photon(&mut self, time: i64, channel: u64, micro: u32) {
        self.begin_micro();
        self.columns.micro.push(micro);
        self.push(time, channel);
    }

    #[inline]
    fn push(&mut self, time: i64, channel: u64) {
        let label = u16::try_from(channel).unwrap_or_else(|_| {
            self.wide.push((self.len(), channel));
            u16::MAX
        });
        self.columns.times.push(time);
        self.columns.channels.push(label);
    }

    /// Gives all tags a micro time, none unless they have one.
    fn begin_micro(&mut self) {
        let RowColumns { times, micro, .. } = &mut self.columns;
        micro.resize(times.len(), MICRO_NONE);
    }

    /// Adds at most so many photons, those that `fill` writes into their columns and counts. They have micro times if
    /// `has_micro`; the column that they are written to is empty if they have none.
    pub(crate) fn photons<T>(
        &mut self,
        room: usize,
        has_micro: bool,
        fill: impl FnOnce(PhotonColumns<'_>) -> (usize, T),
    ) -> T {
        let start = self.len();
        if has_micro {
            self.begin_micro();
        }
        let RowColumns { times, channels, micro } = &mut self.columns;
        let (has_column, end) = (has_micro || !micro.is_empty(), start + room);
        times.resize(end, 0);
        channels.resize(end, 0);
        if has_column {
            micro.resize(end, MICRO_NONE);
        }
        let (count, result) = fill(PhotonColumns {
            times: &mut times[start..],
            labels: &mut channels[start..],
            micro: if has_micro { &mut micro[start..] } else { &mut [] },
        });
        let end = start + count.min(room);
        times.truncate(end);
        channels.truncate(end);
        micro.truncate(end);
        result
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

    /// Notes that recording continued at this time.
    pub(crate) fn dead_ends(&mut self, at: i64) {
        let until = self.until(at);
        self.dead.push(Dead::Ends(until));
    }

    /// Notes that tags before this time were lost.
    pub(crate) fn lost_before(&mut self, at: i64) {
        let until = self.until(at);
        self.dead.push(Dead::Lost(until));
    }

    /// Replaces the tags of one record from `start` on, which were `late`.
    pub(crate) fn put_back(&mut self, start: usize, late: &Self, early: &Self) {
        self.columns.times[start..start + early.len()].copy_from_slice(early.times());
        self.latest = (None, 0);
        for (late, early) in late.dead.iter().zip(&early.dead) {
            if let (Dead::Lost(late), Dead::Lost(early)) = (late, early) {
                let is_it = |edge: &&mut Dead| matches!(edge, Dead::Lost(of) if of.at == late.at);
                if let Some(Dead::Lost(of)) = self.dead.iter_mut().rev().find(is_it) {
                    of.at = early.at;
                }
            }
        }
    }

    fn until(&mut self, at: i64) -> Until {
        let (latest, tags) = self.latest;
        let later = self.times()[tags..].iter().copied().max();
        self.latest = (latest.max(later), self.len());
        Until { latest: self.latest.0, at }
    }
}

impl<R: Records> Reader for RecordFile<R> {
    fn header(&self, _: &Payload<'_>, settings: &Settings) -> Result<Header, Error> {
        let Head { recording, tick, micro_tick, .. } = &self.chosen(settings).head;
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
        read(self.chosen(settings), payload, settings, sink)
    }
}

fn read(
    RecordFile { head, records, .. }: &RecordFile<impl Records>,
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
    let around = records.around() * len;
    let before = records_before(payload, start, head.lasting.len() as u64, around)?;
    let parts = Parts::Records { len, around };
    let mut cutter = Cutter::new(input, parts, start, BLOCK_BYTES / len * len).after(before);
    let mut fault = None;
    let mut cut = |block: &mut Block| {
        cutter.next(block).unwrap_or_else(|cut| {
            fault = Some(cut);
            false
        })
    };
    let has_micro = head.micro_tick.or(settings.micro_tick()).is_some();
    let decoder = Decoder { records, payload, settings, has_micro };
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

/// Returns the records before byte `start`, of at most so many bytes; none at the first record, and in a compressed
/// file.
fn records_before(
    payload: &Payload<'_>,
    start: u64,
    header: u64,
    bytes: usize,
) -> Result<Vec<u8>, Error> {
    let len = start.saturating_sub(header).min(bytes as u64);
    if payload.is_compressed() || len == 0 {
        return Ok(Vec::new());
    }
    #[expect(clippy::cast_possible_truncation, reason = "some records")]
    let mut before = vec![0; len as usize];
    let mut read = 0;
    while read < before.len() {
        let at = start - len + read as u64;
        match read_at(payload.file, &mut before[read..], at) {
            Ok(0) => return Err(Error::Shrunk { path: payload.path.into() }),
            Ok(n) => read += n,
            Err(error) => return Err(io_error(payload.path, "read")(error)),
        }
    }
    Ok(before)
}

struct Decoder<'a, R> {
    records: &'a R,
    payload: &'a Payload<'a>,
    settings: &'a Settings,
    /// Whether the unit of micro times is known.
    has_micro: bool,
}

impl<R: Records> Units for Decoder<'_, R> {
    type Unit = Block;
    /// Overflows in the block, and its records.
    type End = Result<(i128, u64), Error>;

    fn count(&self, block: &Block) -> i128 {
        self.records.overflow(block.own())
    }

    fn decode(&self, block: &Block, before: i128, out: &mut Outlet<'_>) -> Self::End {
        let Self { records, payload, settings, has_micro } = self;
        let len = records.record_bytes();
        let before = before + i128::from(settings.start_overflow);
        // Records that were read before are not counted again.
        let begins = block.end() - block.own().len() as u64;
        let known = settings.known_bytes.min(block.end()).saturating_sub(begins);
        let known = if payload.is_compressed() || settings.start_byte == 0 { 0 } else { known };
        #[expect(clippy::cast_possible_truncation, reason = "at most the length of the block")]
        let known = known as usize / len * len;
        let (start, end) = (block.start, block.start + block.own().len());
        // Rows that are held back are not in the store yet, and are decoded again.
        let stored = settings.hold_back.map_or(settings.known_bytes, |_| settings.start_byte);
        let is_resumed = settings.known_bytes > 0 && !payload.is_compressed();
        #[expect(clippy::cast_possible_truncation, reason = "at most the length of the block")]
        let unseen = if is_resumed && (begins..=block.end()).contains(&stored) {
            start + (stored - begins) as usize / len * len
        } else {
            0
        };
        let span = |own| RecordSpan::new(block.with_around(), own, records.around() * len, unseen);
        let mut found =
            DecodedRecords { columns: out.empty_columns(), ..DecodedRecords::default() };
        let mut overflow = before;
        for own in [start..start + known, start + known..end] {
            let span = span(own);
            (found.left_out, found.dead) = (Vec::new(), Vec::new());
            records.decode(&span, overflow, &mut found);
            overflow += records.overflow(span.own());
        }
        if let Some(time) = found.late_before {
            return Err(Error::LateRecord { path: payload.path.into(), time });
        }
        if found.is_out_of_range {
            return Err(Error::TimeRange { path: payload.path.into() });
        }
        for edge in found.dead {
            out.dead(edge)?;
        }
        if !has_micro {
            found.columns.micro.clear();
        }
        out.columns(found.columns, &found.wide)?;
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
        Ok((overflow - before, (block.own().len() / len) as u64))
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
