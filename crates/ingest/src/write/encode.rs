//! A unit of tags as bytes. Units are encoded apart from each other, so their bytes must be right one after the other
//! in any number: each is a member, whole lines, or records that begin with the overflows since the unit before.

use std::{
    io::{self, Write},
    sync::mpsc::SyncSender,
};

use flate2::write::GzEncoder;
use tagq_store::{ScanFacts, Tag, Tick};

use super::{
    form::{Content, Form, Packing},
    interface::Times,
};
use crate::formats::{
    picoquant::writer::PtuTimes,
    swabian::{self, Edge},
    tags::encode::{self, Encoder},
    text::writer::TextWriter,
};

/// Tags in a message or a frame.
const UNIT_TAGS: usize = 1 << 20;
/// Tags that become a piece of plain text.
const TEXT_TAGS: usize = 1 << 16;
const LEVEL: i32 = 3;

/// A unit of tags, and where its bytes are awaited.
pub(super) struct Unit {
    pub tags: Vec<Tag>,
    /// Edges of times without a record, and the tag of the unit before which each is written.
    pub edges: Vec<(usize, Edge)>,
    /// The micro times of the tags, for files with pulses; else empty.
    pub micro: Vec<u32>,
    pub is_first: bool,
    /// The scan of an image, for the header of a PTU file.
    pub scan: ScanFacts,
    /// Time of the tag before the first one.
    pub before: Option<i64>,
    pub reply: SyncSender<io::Result<Vec<u8>>>,
}

impl Form {
    pub(super) fn unit_tags(self) -> usize {
        let is_plain = self.packing == Packing::Plain;
        if is_plain && self.content != Content::Messages { TEXT_TAGS } else { UNIT_TAGS }
    }

    /// The bytes of some tags, which can follow those of the tags before.
    pub(super) fn encode(self, times: Times, unit: &Unit) -> io::Result<Vec<u8>> {
        match (self.content, self.packing) {
            (Content::Messages, Packing::Zstd) => {
                let mut encoder = Encoder::new(Vec::new()).checksum(true);
                encoder.frame(unit.tags.len() as u64, [&unit.tags[..]])?;
                Ok(encoder.into_inner())
            }
            (content, Packing::Plain) => {
                content.encode(times, unit, Vec::with_capacity(unit.tags.len() * 20))
            }
            (content, Packing::Zstd) => {
                let mut frame = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
                frame.include_checksum(true)?;
                content.encode(times, unit, frame)?.finish()
            }
            (content, Packing::Gzip) => {
                let member = GzEncoder::new(Vec::new(), flate2::Compression::default());
                content.encode(times, unit, member)?.finish()
            }
        }
    }
}

impl Content {
    fn encode<W: Write>(self, times: Times, unit: &Unit, mut out: W) -> io::Result<W> {
        let Unit { tags, edges, micro, is_first, scan, before, .. } = unit;
        match self {
            Self::Messages => out.write_all(&encode::message(tags)?)?,
            Self::Tabs | Self::Commas => return self.lines(tags, *is_first, out),
            Self::Ptu => {
                let ptu = ptu(times).ok_or_else(|| no_tick(times.tick))?;
                if *is_first {
                    out.write_all(&ptu.header(scan))?;
                }
                out.write_all(&ptu.records(tags, micro, *before)?)?;
            }
            Self::PhotonHdf5 | Self::Npz => {
                return Err(io::Error::other("arrays are written after the last tag"));
            }
            Self::Swabian => {
                let picoseconds = swabian::picoseconds(times.tick);
                let picoseconds = picoseconds.ok_or_else(|| no_tick(times.tick))?;
                out.write_all(&swabian::records(tags, edges, picoseconds)?)?;
            }
        }
        Ok(out)
    }

    fn lines<W: Write>(self, tags: &[Tag], is_first: bool, mut out: W) -> io::Result<W> {
        let separator = if self == Self::Commas { b',' } else { b'\t' };
        if is_first && self == Self::Commas {
            out.write_all(b"channel,time\n")?;
        }
        let mut lines = TextWriter::new(out).separator(separator);
        tags.iter().try_for_each(|&tag| lines.tag(tag))?;
        lines.finish()
    }
}

pub(super) fn no_tick(tick: Tick) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it cannot state the tick {}", tick.exact()),
    )
}

/// The PTU file with these times; `None` if it cannot state them.
pub(super) fn ptu(times: Times) -> Option<PtuTimes> {
    match times.sync_period {
        Some(period) => PtuTimes::t3(times.tick, period),
        None => PtuTimes::t2(times.tick),
    }
}
