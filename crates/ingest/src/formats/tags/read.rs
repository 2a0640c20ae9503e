//! The tags of a stream of messages.
//!
//! The frames of a file are dealt out in units of at least 512 KiB. Recorders end a message with each frame. Where a
//! message continues after its unit, the thread that reads it continues too, up to a place where a message and a frame
//! end together; the output of other threads for the rest is discarded, and one thread reads the rest. So the tags do
//! not depend on the number of threads.

use std::{ops::Range, path::Path};

use tagq_store::Tag;

use super::{fault::MessageFault, message::Messages};
use crate::{
    error::{Error, io_error},
    formats::format::{Checkpoint, Complete, Decoded, Sink, Summary},
    payload::{
        Payload,
        crc::Crc,
        frames::{FrameWalk, scan},
        input::{Buffered, Member},
        input_error,
    },
    pipeline::{self, Ahead, Outlet, Receive, Units},
    settings::Settings,
};

/// Bytes of compressed frames in a unit, at least.
const UNIT_BYTES: u64 = 512 * 1024;
/// Tags compress about 6 : 1. The part of a message that is set aside on disk stays in proportion to its
/// file, so that a bomb of a few kilobytes cannot fill the disk.
const KEPT_PER_BYTE: u64 = 64;
/// Bytes that any file may set aside.
const KEPT_BYTES: u64 = 64 << 20;

/// Hands the tags of `payload` to `sink`.
pub(super) fn read(
    payload: &Payload<'_>,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let summary = Summary::new(payload, settings);
    let total = Pumped { tags: 0, messages: 0, resume_byte: summary.resume_byte, crc: summary.crc };
    let mut receiver = Receiver { total, sink };
    let mut run = |cutter: &mut Cutter<'_>, ahead| {
        let mut cut = |unit: &mut Unit| cutter.cut(payload, unit);
        pipeline::run(&Decoder { payload, settings }, &mut cut, ahead, &mut receiver)
            .map_err(|stopped| stopped.name(payload.path))
            .map(|()| receiver.total)
    };
    let ahead = Ahead::of(payload, settings);
    // A limit of messages counts from the beginning.
    let is_cut = payload.is_threaded() && settings.messages_max.is_none() && !settings.salvage;
    let total = if let Some(walk) = payload.walk().filter(|_| is_cut) {
        let total = run(&mut Cutter::Frames { walk, frames_before: 0 }, ahead)?;
        let rest = total.resume_byte..payload.bytes.end;
        if rest.is_empty() {
            total
        } else {
            let before = scan(payload.file, payload.bytes.start, rest.start);
            let frames_before = before.map_err(io_error(payload.path, "read"))?.count;
            run(&mut Cutter::one(rest, frames_before), ahead.on_one_thread())?
        }
    } else {
        run(&mut Cutter::one(payload.bytes.clone(), 0), ahead.on_one_thread())?
    };
    let Pumped { tags, messages, resume_byte, crc } = total;
    let fate = if settings.salvage { "taken as far as it goes" } else { "left out" };
    let torn = match payload.torn(fate) {
        Some(torn) if settings.salvage => Some(torn),
        torn if resume_byte >= payload.frames.end => torn,
        _ => Some(format!("the file ends inside message {}", messages + 1)),
    };
    Ok(Summary { tags, messages, resume_byte, torn, crc, ..summary })
}

/// Messages that one thread reads.
#[derive(Default)]
struct Unit {
    bytes: Range<u64>,
    /// Frames of the file before it.
    frames_before: usize,
    /// Decoding continues after this byte up to the end of a message.
    stop: u64,
}

enum Cutter<'a> {
    /// All bytes are one unit.
    One(Option<Unit>),
    /// Each unit is some frames.
    Frames { walk: FrameWalk<'a>, frames_before: usize },
}

impl Cutter<'_> {
    fn one(bytes: Range<u64>, frames_before: usize) -> Self {
        Self::One(Some(Unit { bytes, frames_before, stop: u64::MAX }))
    }

    fn cut(&mut self, payload: &Payload<'_>, unit: &mut Unit) -> bool {
        match self {
            Self::One(one) => one.take().map(|one| *unit = one).is_some(),
            Self::Frames { walk, frames_before } => {
                let start = walk.next();
                let bytes = start..payload.bytes.end;
                *unit = Unit { bytes, frames_before: *frames_before, stop: start };
                while unit.stop - start < UNIT_BYTES {
                    // The thread that reads the last frame says what stands after it.
                    let Ok(Ok(frame)) = walk.step() else { break };
                    unit.stop = frame.end;
                    *frames_before += 1;
                }
                unit.stop > start
            }
        }
    }
}

struct Decoder<'a> {
    payload: &'a Payload<'a>,
    settings: &'a Settings,
}

/// The result of a unit, and where it was to stop.
struct End {
    pumped: Result<Pumped, Stopped>,
    stop: u64,
}

impl Units for Decoder<'_> {
    type Unit = Unit;
    type End = End;

    fn decode(&self, unit: &Unit, _: i128, out: &mut Outlet<'_>) -> End {
        let input = self.payload.input(unit.bytes.clone(), unit.frames_before, self.settings);
        let pumped = input.map_err(Stopped::from).and_then(|input| {
            pump(Buffered::new(input), self.payload.size, unit.stop, self.settings, out)
        });
        End { pumped, stop: unit.stop }
    }
}

struct Receiver<'a, 's> {
    total: Pumped,
    sink: &'a mut Sink<'s>,
}

impl Receive<End> for Receiver<'_, '_> {
    type Fault = Stopped;

    fn take(&mut self, decoded: Decoded<'_>) -> Result<(), Error> {
        (self.sink)(match decoded {
            Decoded::Complete(at) => Decoded::Complete(Complete { before: self.total.crc, ..at }),
            decoded => decoded,
        })
    }

    fn end(&mut self, End { pumped, stop }: End) -> Result<bool, Stopped> {
        let before = self.total;
        let unit = pumped
            .map_err(|stopped| Stopped { message: stopped.message + before.messages, ..stopped })?;
        self.total = Pumped {
            tags: before.tags + unit.tags,
            messages: before.messages + unit.messages,
            resume_byte: before.resume_byte.max(unit.resume_byte),
            crc: before.crc.join(unit.crc),
        };
        // If a message continued after its unit, later units do not begin with one.
        Ok(self.total.resume_byte <= stop)
    }
}

/// Totals of what was handed on.
#[derive(Debug, Clone, Copy)]
struct Pumped {
    tags: u64,
    messages: u64,
    resume_byte: u64,
    /// See [`Summary::crc`].
    crc: Crc,
}

/// Why no more was handed on.
#[derive(Debug)]
struct Stopped {
    fault: Box<MessageFault>,
    /// The message in which it happened, from 1, and the member.
    message: u64,
    member: Option<Member>,
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self { fault: Box::new(MessageFault::Sink(error)), message: 0, member: None }
    }
}

impl Stopped {
    /// The error for the file at `path`.
    fn name(self, path: &Path) -> Error {
        let (path_buf, message) = (path.to_path_buf(), self.message);
        match *self.fault {
            MessageFault::Torn => Error::TornMessage { path: path_buf, message },
            MessageFault::Malformed { word, reason } => {
                Error::Message { path: path_buf, message, word, reason }
            }
            MessageFault::Input(source) => input_error(path, source, self.member),
            MessageFault::Spill(source) => {
                Error::Io { path: path_buf, action: "set aside a part of a message of", source }
            }
            MessageFault::Sink(error) => error,
        }
    }
}

/// Hands message after message to `out`, until the input ends or a message and a frame end together
/// at or after byte `stop`.
fn pump(
    input: Buffered<'_>,
    size: u64,
    stop: u64,
    settings: &Settings,
    out: &mut Outlet<'_>,
) -> Result<Pumped, Stopped> {
    let kept_bytes_max = size.saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_BYTES);
    let mut messages = Messages::new(input, kept_bytes_max);
    let crc = messages.input().input().crc();
    let mut pumped = Pumped { tags: 0, messages: 0, resume_byte: 0, crc };
    let mut announced = (0, None);
    loop {
        // Looks ahead, since a frame shows its end only when more is asked for.
        let input = messages.input();
        let looked = input.ahead().map(|_| ());
        let ahead = input.ahead_len();
        let border = input.input().border(ahead);
        pumped.crc = input.input().crc();
        if (pumped.tags, border) > announced {
            announced = (pumped.tags, border.max(announced.1));
            out.complete(Complete::new(border.map(Checkpoint::at), pumped.crc))?;
        }
        if let Some(byte) = border {
            pumped.resume_byte = byte;
            if byte >= stop {
                break;
            }
        }
        if settings.messages_max == Some(pumped.messages) {
            break;
        }
        let mut sink = |part: &[Tag]| {
            pumped.tags += part.len() as u64;
            out.copy(part)
        };
        match looked.map_err(MessageFault::Input).and_then(|()| messages.next(&mut sink)) {
            Ok(true) => pumped.messages += 1,
            Ok(false) => break,
            Err(MessageFault::Torn) if settings.salvage => {
                pumped.crc = messages.input().input().crc();
                break;
            }
            Err(fault) => {
                let member = messages.input().input().member();
                let message = pumped.messages + 1;
                return Err(Stopped { fault: Box::new(fault), message, member });
            }
        }
    }
    Ok(pumped)
}
