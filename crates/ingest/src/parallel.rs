//! Decompressing and decoding on threads of their own, handed on in the order of the file.
//!
//! The frames of a file are dealt out in units of some size. Each unit has a channel of its own, and the
//! receiver empties one after the other, so that the tags come in the order of the file whatever
//! the number of threads. What a unit may be ahead is bounded by its channel.
//!
//! Recorders end a message with each frame. Where a message goes on behind its unit, the thread that
//! reads it goes on too, to where a message and a frame end together; what the others made of the
//! rest is dropped, and the rest is read without them.

use std::{
    fs::File,
    io,
    ops::Range,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use tagq_store::Tag;

use crate::{
    Error, Settings,
    crc::Crc,
    frames::{Walk, scan},
    input::{Buffered, FrameInput, PlainInput},
    message::{CHUNK_TAGS, Fault},
    read::{self, Complete, Pumped, Sink, Stopped, pump},
};

/// Bytes of compressed frames in a unit, at least.
const UNIT_BYTES: u64 = 512 * 1024;
/// Tags that may wait in all channels together: 32 MiB of them.
const WAITING_TAGS: usize = 2 << 20;

/// What comes through the channel of a unit.
enum Piece {
    Tags(Vec<Tag>),
    Complete(Complete),
    Done(Result<Pumped, Stopped>),
}

/// Frames that one thread reads.
struct Unit {
    bytes: Range<u64>,
    /// Frames of the file before it.
    before: usize,
    pieces: SyncSender<Piece>,
}

/// Deals out units, and announces their channels in the same order.
struct Dealer<'a> {
    walk: Walk<'a>,
    dealt: usize,
    announce: Option<SyncSender<(Range<u64>, Receiver<Piece>)>>,
    /// Pieces that a channel holds.
    capacity: usize,
}

/// Hands the tags of the frames in these bytes of `file` to `sink`.
pub(crate) fn pump_frames(
    file: &File,
    bytes: Range<u64>,
    size: u64,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Pumped, Stopped> {
    let threads = settings.decoders();
    let (announce, announced) = sync_channel(threads);
    let dealer = Mutex::new(Dealer {
        walk: Walk::new(file, bytes.clone()),
        dealt: 0,
        announce: Some(announce),
        capacity: (WAITING_TAGS / CHUNK_TAGS / (threads + 1)).max(1),
    });
    let spare = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(unit) = next_unit(&dealer) {
                    let end = unit.bytes.end;
                    let input =
                        FrameInput::new(file, unit.bytes.start..bytes.end, unit.before, settings);
                    let result = input.map_err(input_stopped).and_then(|input| {
                        send_tags(&unit.pieces, &spare, |sink| {
                            pump(Buffered::new(input), size, end, settings, sink)
                        })
                    });
                    // Nobody waits any more when an earlier unit went wrong.
                    let _ = unit.pieces.send(Piece::Done(result));
                }
            });
        }
        let crc = Crc::from(bytes.start.max(settings.known_bytes));
        let mut total = Pumped { tags: 0, messages: 0, resume_byte: bytes.start, crc };
        for (unit, pieces) in announced {
            total.add(receive_tags(&pieces, &spare, total.crc, sink))?;
            if total.resume_byte > unit.end {
                // A message went on behind its unit: the units are not those of the messages.
                let rest = total.resume_byte..bytes.end;
                let before = scan(file, bytes.start, rest.start).map_err(input_stopped)?.count;
                let input = FrameInput::new(file, rest, before, settings).map_err(input_stopped)?;
                let before = total.crc;
                let mut sink = |piece: read::Piece<'_>| sink(piece.after(before));
                total.add(pump(Buffered::new(input), size, u64::MAX, settings, &mut sink))?;
                break;
            }
        }
        Ok(total)
    })
}

/// Hands the tags of a file without frames to `sink`: one thread reads, this one receives.
pub(crate) fn pump_one(
    input: PlainInput<'_>,
    size: u64,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Pumped, Stopped> {
    let (sender, pieces) = sync_channel(WAITING_TAGS / CHUNK_TAGS);
    let before = Crc::from(settings.known_bytes.max(settings.start_byte));
    let spare = Mutex::new(Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let sender = sender;
            let result = send_tags(&sender, &spare, |sink| {
                pump(Buffered::new(input), size, u64::MAX, settings, sink)
            });
            let _ = sender.send(Piece::Done(result));
        });
        receive_tags(&pieces, &spare, before, sink)
    })
}

/// Takes the next unit; nothing when all are dealt out, or nobody receives them any more.
fn next_unit(dealer: &Mutex<Dealer<'_>>) -> Option<Unit> {
    let mut dealer = dealer.lock().unwrap_or_else(PoisonError::into_inner);
    let (start, before) = (dealer.walk.next(), dealer.dealt);
    let mut end = start;
    while end - start < UNIT_BYTES {
        // Whatever stands behind the last frame is for the thread that reads it to say.
        let Ok(Ok(frame)) = dealer.walk.step() else { break };
        end = frame.end;
        dealer.dealt += 1;
    }
    if end == start {
        dealer.announce = None;
        return None;
    }
    let (pieces, receiver) = sync_channel(dealer.capacity);
    let announced = dealer.announce.as_ref()?.send((start..end, receiver));
    announced.ok().map(|()| Unit { bytes: start..end, before, pieces })
}

/// Runs `pump` with a sink that sends the tags.
fn send_tags(
    pieces: &SyncSender<Piece>,
    spare: &Mutex<Vec<Vec<Tag>>>,
    pump: impl FnOnce(&mut Sink<'_>) -> Result<Pumped, Stopped>,
) -> Result<Pumped, Stopped> {
    let gone = |_| Error::Sink(io::Error::other("nobody receives any more"));
    pump(&mut |piece| {
        let tags = match piece {
            read::Piece::Tags(tags) => tags,
            read::Piece::Complete(at) => return pieces.send(Piece::Complete(at)).map_err(gone),
        };
        let taken = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut piece: Vec<Tag> = taken.unwrap_or_else(|| Vec::with_capacity(CHUNK_TAGS));
        piece.clear();
        piece.extend_from_slice(tags);
        pieces.send(Piece::Tags(piece)).map_err(gone)
    })
}

/// Forwards the output of one unit; `before` is the checksum of all bytes before it.
fn receive_tags(
    pieces: &Receiver<Piece>,
    spare: &Mutex<Vec<Vec<Tag>>>,
    before: Crc,
    sink: &mut Sink<'_>,
) -> Result<Pumped, Stopped> {
    for piece in pieces {
        let taken = match piece {
            Piece::Tags(tags) => {
                let taken = sink(read::Piece::Tags(&tags));
                spare.lock().unwrap_or_else(PoisonError::into_inner).push(tags);
                taken
            }
            Piece::Complete(at) => sink(read::Piece::Complete(at).after(before)),
            Piece::Done(result) => return result,
        };
        taken.map_err(|error| Stopped {
            fault: Box::new(Fault::Sink(error)),
            message: 0,
            frame: None,
        })?;
    }
    Err(input_stopped(io::Error::other("the thread that reads it is gone")))
}

impl Pumped {
    /// Adds what came behind.
    fn add(&mut self, more: Result<Self, Stopped>) -> Result<(), Stopped> {
        let more = more
            .map_err(|stopped| Stopped { message: stopped.message + self.messages, ..stopped })?;
        self.tags += more.tags;
        self.messages += more.messages;
        self.resume_byte = self.resume_byte.max(more.resume_byte);
        self.crc = self.crc.join(more.crc);
        Ok(())
    }
}

fn input_stopped(error: io::Error) -> Stopped {
    Stopped { fault: Box::new(Fault::Input(error)), message: 1, frame: None }
}
