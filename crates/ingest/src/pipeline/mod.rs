//! Decoding on several threads, received in the order of the file.
//!
//! A format cuts a file into units. Threads take them one after the other, count them side by side, and decode each
//! from the sum of the counts before it: units with 2, 0 and 3 overflows are decoded after 0, 2 and 2. So a counter
//! that overflows needs no second pass. Each unit has a channel of its own, and the receiver empties one channel after
//! the other, so the tags come in the order of the file whatever the number of threads. The output that waits for the
//! receiver is bounded, and the unit that is received always has room: otherwise later units could fill the memory and
//! stop it.

pub(crate) mod files;
mod waiting;

use std::{
    borrow::Cow,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread,
};

use tagq_store::{RowColumns, Rows, SpareColumns, Tag};

use waiting::{RECEIVED_BYTES, Stop, Waiting};

use crate::{
    error::Error,
    formats::format::{Complete, Dead, Decoded, Piece, Sink},
    payload::Payload,
    settings::Settings,
};

/// Tags handed on at once: 256 KiB, so that they are still in the cache when they are used.
pub(crate) const CHUNK_TAGS: usize = 16_384;
/// Bytes of any output, at least.
const OUTPUT_BYTES: usize = 64;

/// How a format is decoded unit by unit.
pub(crate) trait Units: Sync {
    /// A part of the file that one thread decodes. A thread fills the same one again and again.
    type Unit: Default;
    /// The result of decoding a unit.
    type End: Send;

    /// Counts what later units are decoded from: the overflows of a counter, say.
    fn count(&self, _: &Self::Unit) -> i128 {
        0
    }

    /// Decodes `unit`; `before` is the sum of the counts of all units before it.
    fn decode(&self, unit: &Self::Unit, before: i128, out: &mut Outlet<'_>) -> Self::End;
}

/// Fills a unit with the next one; false when there is none. Called by one thread at a time.
type Cut<'a, Unit> = dyn FnMut(&mut Unit) -> bool + Send + 'a;

/// Receives the output of the units, in the order of the file.
pub(crate) trait Receive<End> {
    type Fault: From<Error>;

    fn take(&mut self, decoded: Decoded<'_>) -> Result<(), Error>;

    /// Takes the result of a unit; false when no later unit is wanted.
    fn end(&mut self, end: End) -> Result<bool, Self::Fault>;
}

/// How units are decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    /// The calling thread decodes when 0.
    pub threads: usize,
    /// Whether tags become [`Decoded::Rows`] on the thread that decodes them.
    pub as_rows: bool,
}

impl Ahead {
    /// Decodes `payload` as it is to be decoded.
    pub(crate) fn of(payload: &Payload<'_>, settings: &Settings) -> Self {
        let threads = if payload.is_threaded() { payload.threads(settings.decoders()) } else { 0 };
        Self { threads, as_rows: payload.is_for_rows() }
    }

    /// Decodes on one thread while the calling one receives, if that is to be done at all.
    pub(crate) fn on_one_thread(self) -> Self {
        Self { threads: self.threads.min(1), ..self }
    }
}

impl Decoded<'_> {
    /// About how much memory it takes until it is received. At least one output of the unit that is received has
    /// room.
    fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Tags(Piece { tags, micro }) => {
                let tags = match tags {
                    Cow::Owned(tags) => tags.capacity(),
                    Cow::Borrowed(tags) => tags.len(),
                };
                tags * size_of::<Tag>() + size_of_val(&micro[..])
            }
            Self::Rows(rows) => {
                let (times, channels) = (rows.times(), rows.channels());
                size_of_val(times) + size_of_val(channels) + size_of_val(rows.micro())
            }
            Self::Complete(_)
            | Self::Recording(..)
            | Self::LeftOut(..)
            | Self::Channel(..)
            | Self::Dead(_) => 0,
        };
        bytes.clamp(OUTPUT_BYTES, RECEIVED_BYTES)
    }
}

/// Messages of the channel of a unit.
enum Message<End> {
    Output(Decoded<'static>),
    End(End),
}

/// Takes the output of a decoder.
pub(crate) struct Outlet<'a> {
    spare: &'a Spare,
    as_rows: bool,
    take: &'a mut dyn FnMut(Decoded<'static>) -> Result<(), Error>,
}

impl Outlet<'_> {
    /// An empty buffer to fill for [`Outlet::tags`].
    pub(crate) fn buffer(&self) -> Vec<Tag> {
        self.spare.take()
    }

    /// Hands on tags with their micro times, as in a [`Piece`].
    pub(crate) fn tags(&mut self, tags: Vec<Tag>, micro: Vec<u32>) -> Result<(), Error> {
        match self.rows(&Piece::new(&tags, &micro)) {
            Some(rows) => {
                self.spare.put(tags);
                (self.take)(Decoded::Rows(rows))
            }
            None => (self.take)(Decoded::Tags(Piece { tags: tags.into(), micro: micro.into() })),
        }
    }

    /// Hands on tags as [`Outlet::tags`] does, from memory that the caller keeps.
    pub(crate) fn copy(&mut self, tags: &[Tag]) -> Result<(), Error> {
        if let Some(rows) = self.rows(&Piece::new(tags, &[])) {
            return (self.take)(Decoded::Rows(rows));
        }
        let mut buffer = self.buffer();
        buffer.extend_from_slice(tags);
        let micro = Cow::default();
        (self.take)(Decoded::Tags(Piece { tags: buffer.into(), micro }))
    }

    /// Empty columns to fill for [`Outlet::columns`].
    pub(crate) fn empty_columns(&self) -> RowColumns {
        self.spare.columns.take()
    }

    /// Hands on the tags in `columns`. The channels in `wide`, with their rows, do not fit into a store.
    pub(crate) fn columns(
        &mut self,
        columns: RowColumns,
        wide: &[(usize, u64)],
    ) -> Result<(), Error> {
        if self.as_rows && wide.is_empty() {
            let rows = Rows::with_spare(columns, &self.spare.columns);
            return (self.take)(Decoded::Rows(rows));
        }
        let mut tags = self.buffer();
        let channels = columns.channels.iter().map(|&channel| channel.into());
        let each = columns.times.iter().zip(channels);
        tags.extend(each.map(|(&time, channel)| Tag { time, channel }));
        for &(row, channel) in wide {
            tags[row].channel = channel;
        }
        let micro = columns.micro.clone().into();
        self.spare.columns.put(columns);
        (self.take)(Decoded::Tags(Piece { tags: tags.into(), micro }))
    }

    /// Tells the name of a channel.
    pub(crate) fn channel(&mut self, label: u16, name: &str) -> Result<(), Error> {
        (self.take)(Decoded::Channel(label, name.into()))
    }

    /// Hands on what a decoder of another unit made.
    fn decoded(&mut self, decoded: Decoded<'_>) -> Result<(), Error> {
        (self.take)(decoded.into_owned())
    }

    fn rows(&self, piece: &Piece<'_>) -> Option<Rows> {
        self.as_rows.then(|| piece.rows()).flatten()
    }

    pub(crate) fn complete(&mut self, at: Complete) -> Result<(), Error> {
        (self.take)(Decoded::Complete(at))
    }

    /// Tells that so many records are no tags.
    pub(crate) fn left_out(&mut self, what: &'static str, records: u64) -> Result<(), Error> {
        (self.take)(Decoded::LeftOut(what, records))
    }

    /// Tells an edge of a time during which nothing was recorded.
    pub(crate) fn dead(&mut self, edge: Dead) -> Result<(), Error> {
        (self.take)(Decoded::Dead(edge))
    }
}

/// Buffers to be used again.
#[derive(Default)]
struct Spare {
    tags: Mutex<Vec<Vec<Tag>>>,
    columns: Arc<SpareColumns>,
}

impl Spare {
    fn take(&self) -> Vec<Tag> {
        let spare = self.tags.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Vec::with_capacity(CHUNK_TAGS))
    }

    fn put(&self, mut tags: Vec<Tag>) {
        tags.clear();
        self.tags.lock().unwrap_or_else(PoisonError::into_inner).push(tags);
    }
}

/// Decodes all units that `cut` makes.
pub(crate) fn run<U: Units, R: Receive<U::End>>(
    units: &U,
    cut: &mut Cut<'_, U::Unit>,
    ahead: Ahead,
    receiver: &mut R,
) -> Result<(), R::Fault> {
    let spare = Spare::default();
    if ahead.threads == 0 {
        return run_here(units, cut, ahead, &spare, receiver);
    }
    let (dealer, announced) = Dealer::new(cut, ahead.threads);
    let waiting = Waiting::default();
    let decoder = Decoder { units, as_rows: ahead.as_rows, spare: &spare, waiting: &waiting };
    thread::scope(|scope| {
        for _ in 0..ahead.threads {
            scope.spawn(|| decoder.decode_dealt(&dealer));
        }
        let _stop = Stop(&waiting);
        for messages in announced {
            for message in messages {
                match message {
                    Message::Output(output) => {
                        let bytes = output.bytes();
                        receive(output, &spare, &mut |decoded| receiver.take(decoded))?;
                        waiting.change(|state| state.bytes -= bytes);
                    }
                    Message::End(end) => {
                        if !receiver.end(end)? {
                            return Ok(());
                        }
                    }
                }
            }
            waiting.change(|state| state.received += 1);
        }
        Ok(())
    })
}

fn run_here<U: Units, R: Receive<U::End>>(
    units: &U,
    cut: &mut Cut<'_, U::Unit>,
    Ahead { as_rows, .. }: Ahead,
    spare: &Spare,
    receiver: &mut R,
) -> Result<(), R::Fault> {
    let (mut unit, mut before) = (U::Unit::default(), 0);
    while cut(&mut unit) {
        let count = units.count(&unit);
        let mut take = |output| receive(output, spare, &mut |decoded| receiver.take(decoded));
        let mut out = Outlet { spare, as_rows, take: &mut take };
        let end = units.decode(&unit, before, &mut out);
        before += count;
        if !receiver.end(end)? {
            break;
        }
    }
    Ok(())
}

/// Hands an output to `sink`, tags in chunks.
fn receive(output: Decoded<'static>, spare: &Spare, sink: &mut Sink<'_>) -> Result<(), Error> {
    let Decoded::Tags(piece) = output else { return sink(output) };
    let taken = piece.chunks(CHUNK_TAGS).try_for_each(|chunk| sink(Decoded::Tags(chunk)));
    spare.put(piece.tags.into_owned());
    taken
}

/// Deals out units, and announces their channels in the same order.
struct Dealer<Cut, End> {
    cut: Cut,
    announce: Option<SyncSender<Receiver<Message<End>>>>,
    /// Where the sum of the counts before the next unit comes from.
    before: Receiver<i128>,
    /// Units that were dealt out.
    dealt: usize,
}

/// The ends of the channels of a unit that was dealt out.
struct Dealt<End> {
    number: usize,
    messages: Sender<Message<End>>,
    before: Receiver<i128>,
    after: SyncSender<i128>,
}

impl<Cut, End> Dealer<Cut, End> {
    /// Deals out what `cut` makes to so many threads. Returns where the channels of the units are announced.
    fn new(cut: Cut, threads: usize) -> (Mutex<Self>, Receiver<Receiver<Message<End>>>) {
        let (announce, announced) = sync_channel(2 * threads);
        let (first, before) = sync_channel(1);
        // The channel has room for it.
        let _ = first.send(0);
        (Mutex::new(Self { cut, announce: Some(announce), before, dealt: 0 }), announced)
    }

    /// Fills `unit`; `None` when there are no more, or the receiver is gone.
    fn deal<Unit>(&mut self, unit: &mut Unit) -> Option<Dealt<End>>
    where
        Cut: FnMut(&mut Unit) -> bool,
    {
        let announce = self.announce.as_ref()?;
        if (self.cut)(unit) {
            let (messages, receiver) = channel();
            if announce.send(receiver).is_ok() {
                let (after, next) = sync_channel(1);
                let before = std::mem::replace(&mut self.before, next);
                let number = self.dealt;
                self.dealt += 1;
                return Some(Dealt { number, messages, before, after });
            }
        }
        self.announce = None;
        None
    }
}

/// State that the decoding threads share.
struct Decoder<'a, U> {
    units: &'a U,
    as_rows: bool,
    spare: &'a Spare,
    waiting: &'a Waiting,
}

impl<U: Units> Decoder<'_, U> {
    fn decode_dealt<Cut>(&self, dealer: &Mutex<Dealer<Cut, U::End>>)
    where
        Cut: FnMut(&mut U::Unit) -> bool,
    {
        let Self { units, as_rows, spare, waiting } = *self;
        let mut unit = U::Unit::default();
        loop {
            let dealt = dealer.lock().unwrap_or_else(PoisonError::into_inner).deal(&mut unit);
            let Some(Dealt { number, messages, before, after }) = dealt else { break };
            let count = units.count(&unit);
            // The thread of the unit before panicked.
            let Ok(before) = before.recv() else { break };
            // Nothing waits for it after the last unit.
            let _ = after.send(before + count);
            let mut take = |output: Decoded<'static>| {
                waiting.add(output.bytes(), number);
                let gone = |_| Error::Sink(io::Error::other("nobody receives any more"));
                messages.send(Message::Output(output)).map_err(gone)
            };
            let end = units.decode(&unit, before, &mut Outlet { spare, as_rows, take: &mut take });
            // The receiver is gone when an earlier unit went wrong.
            let _ = messages.send(Message::End(end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes: a time below 200 after so many overflows, or an overflow.
    const OVERFLOW: u8 = 255;

    struct CountingUnits;

    impl Units for CountingUnits {
        type Unit = Vec<u8>;
        type End = usize;

        fn count(&self, unit: &Self::Unit) -> i128 {
            unit.iter().map(|&byte| i128::from(byte == OVERFLOW)).sum()
        }

        fn decode(&self, unit: &Self::Unit, mut before: i128, out: &mut Outlet<'_>) -> usize {
            let (mut tags, mut micro) = (out.buffer(), Vec::new());
            for &byte in unit {
                if byte == OVERFLOW {
                    before += 1;
                } else {
                    let time = i64::try_from(before).unwrap() * 200 + i64::from(byte);
                    tags.push(Tag { time, channel: 1 });
                    micro.push(u32::from(byte));
                }
            }
            let _ = out.tags(tags, micro);
            unit.len()
        }
    }

    #[derive(Default)]
    struct Received {
        times: Vec<i64>,
        micro: Vec<u32>,
        bytes: usize,
        bytes_max: usize,
    }

    impl Receive<usize> for Received {
        type Fault = Error;

        fn take(&mut self, decoded: Decoded<'_>) -> Result<(), Error> {
            match decoded {
                Decoded::Tags(Piece { tags, micro }) => {
                    assert!(tags.len() <= CHUNK_TAGS && micro.len() == tags.len());
                    self.times.extend(tags.iter().map(|tag| tag.time));
                    self.micro.extend(&micro[..]);
                }
                Decoded::Rows(rows) => {
                    self.times.extend(rows.times());
                    self.micro.extend(rows.micro());
                }
                other => panic!("{other:?}"),
            }
            Ok(())
        }

        fn end(&mut self, bytes: usize) -> Result<bool, Error> {
            self.bytes += bytes;
            Ok(self.bytes < self.bytes_max)
        }
    }

    fn cut(bytes: &[u8], unit_bytes: usize) -> impl FnMut(&mut Vec<u8>) -> bool {
        let mut chunks = bytes.chunks(unit_bytes);
        move |unit| chunks.next().map(|next| *unit = next.to_vec()).is_some()
    }

    #[test]
    fn units_are_decoded_from_the_counts_of_those_before() {
        let byte = |i: i64| u8::try_from(i % 5).unwrap();
        let bytes: Vec<u8> = (0..20_000).map(|i| if i % 7 == 3 { 255 } else { byte(i) }).collect();
        // Byte i stands after (i + 3) / 7 overflows.
        let tags = || (0..20_000_i64).filter(|i| i % 7 != 3);
        let expected: Vec<i64> = tags().map(|i| (i + 3) / 7 * 200 + i % 5).collect();
        // One unit has more tags than are handed on at once.
        for unit_bytes in [1, 13, 1_000, 20_000] {
            for (threads, as_rows) in [(0, false), (1, true), (2, false), (3, true)] {
                let ahead = Ahead { threads, as_rows };
                let mut received = Received { bytes_max: usize::MAX, ..Received::default() };
                run(&CountingUnits, &mut cut(&bytes, unit_bytes), ahead, &mut received).unwrap();
                assert_eq!(received.times, expected, "{unit_bytes} {threads}");
                assert!(received.micro.iter().copied().eq(tags().map(|i| u32::from(byte(i)))));
                assert_eq!(received.bytes, 20_000);
            }
        }
    }

    #[test]
    fn the_receiver_can_stop() {
        for threads in 0..4 {
            let ahead = Ahead { threads, as_rows: true };
            let mut received = Received { bytes_max: 50, ..Received::default() };
            run(&CountingUnits, &mut cut(&[9; 1_000], 10), ahead, &mut received).unwrap();
            assert_eq!((received.bytes, received.times.len()), (50, 50), "{threads}");
        }
    }
}
