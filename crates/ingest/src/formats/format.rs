//! The interface of an input format, and the output of its decoder.
//!
//! A decoder hands on tags in the order of the file, and says where reading can begin again. A checkpoint is a promise:
//! reading from there gives the same tags as reading on.

use std::{borrow::Cow, path::Path, sync::Arc};

use chrono::NaiveDateTime;
use tagq_store::{CHANNEL_MAX, Recording, Rows, Tag, Tick};

use crate::{
    error::Error,
    formats::columns::Columns,
    payload::{Payload, crc::Crc},
    settings::Settings,
};

/// An input format. Its files may be compressed: [`Payload`] decompresses them.
pub(crate) trait Format: Sync {
    /// Returns its names and suffixes, and how its files are recognised.
    fn facts(&self) -> FormatFacts;

    /// Whether a payload that begins like this is of this format; see [`Payload::start`].
    fn is_start(&self, start: &[u8]) -> bool;

    /// Whether another file beside the one at `path` tells that this one is of the format.
    fn is_told_beside(&self, _path: &Path) -> bool {
        false
    }

    /// Parses the header of a file; `None` if the file ends inside it.
    fn reader(&self, payload: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error>;
}

/// Reads files whose header was parsed.
pub(crate) trait Reader: Send + Sync {
    /// Returns the facts about the recording that stand before the first tag.
    fn header(&self, payload: &Payload<'_>, settings: &Settings) -> Result<Header, Error>;

    /// Returns the header with zeros in place of what the recorder changes when a measurement ends. A source is
    /// known again by these bytes instead of the header's. Empty for files to which is only appended.
    fn lasting_head(&self) -> &[u8] {
        &[]
    }

    /// Hands the tags of `payload` to `sink`, in the order of the file, and each checkpoint on the way. Reading
    /// begins at [`Settings::start_byte`], which is a checkpoint of an earlier call. The pipeline
    /// ([`crate::pipeline`]) decodes on several threads.
    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error>;
}

/// An input format, described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatFacts {
    /// The names by which it can be demanded; the first one is its own.
    pub names: &'static [&'static str],
    /// The suffixes of its files; that of a compression may follow each of them.
    pub suffixes: &'static [&'static str],
    /// How its files are recognised, in words.
    pub recognised: &'static str,
}

/// Facts about a recording that stand before its first tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The tick in which its times are counted.
    pub tick: Option<Tick>,
    /// The tick is that of the instrument which usually writes this format; the file does not say it.
    pub tick_assumed: bool,
    /// The unit of micro times, if tags have some.
    pub micro_tick: Option<Tick>,
    /// The period of the sync pulses, see [`Recording::pulses`].
    pub sync_period: Option<Tick>,
    /// Names of channels.
    pub channel_names: Vec<(u16, String)>,
    /// Whether channels are names in the file, which got these numbers in their order.
    pub are_names_counted: bool,
    /// Whether it states facts about the measurement.
    pub has_facts: bool,
    /// When the measurement began by the clock of its computer, in seconds since 1970 there, if the file says it.
    pub began_s: Option<i64>,
}

impl Header {
    /// The header of the file of a recording, with times in `tick`.
    pub(crate) fn new(tick: Option<Tick>, micro_tick: Option<Tick>, recording: Recording) -> Self {
        Self {
            tick,
            tick_assumed: false,
            micro_tick,
            sync_period: recording.pulses.map(|pulses| pulses.period),
            has_facts: !recording.facts.is_empty(),
            began_s: began(&recording.facts),
            are_names_counted: false,
            channel_names: recording.channel_names,
        }
    }
}

/// Returns when a measurement began, by its facts: a date and a time, in one or in two.
fn began(facts: &[(String, String)]) -> Option<i64> {
    let fact = |what: &str| facts.iter().find(|(of, _)| of == what).map(|(_, value)| &**value);
    let one = fact(BEGAN).map(|began| began.trim_end_matches(LOCAL_TIME).to_owned());
    let two = || Some(format!("{} {}", fact("date")?, fact("time")?));
    let text = one.or_else(two)?;
    let formats = ["%Y-%m-%d %H:%M:%S", "%d/%m/%y %H:%M:%S", "%d/%m/%Y %H:%M:%S"];
    let date = formats.iter().find_map(|of| NaiveDateTime::parse_from_str(&text, of).ok())?;
    Some(date.and_utc().timestamp())
}

/// Summary of the part of a file that was read.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Tags handed on.
    pub tags: u64,
    /// Messages they came in; 0 for text.
    pub messages: u64,
    /// Complete Zstandard frames; 0 for other files.
    pub frames: usize,
    /// Where reading can go on: up to here the file consists of complete messages or lines, and here
    /// one begins, and a member if the file is compressed.
    pub resume_byte: u64,
    /// Length of the file when it was opened.
    pub size: u64,
    /// Whether the file carries checksums over all of its data.
    pub checksummed: bool,
    /// The part left out at the end, in words.
    pub torn: Option<String>,
    /// The columns of a text or a table; `None` for other files.
    pub columns: Option<Columns>,
    /// Complete records from the first one on, of a file of records, if all are known.
    pub records: Option<u64>,
    /// The checksum of the bytes that were read and taken.
    pub(crate) crc: Crc,
}

impl Summary {
    /// Creates the summary of a payload before anything is read from it.
    pub(crate) fn new(payload: &Payload<'_>, settings: &Settings) -> Self {
        Self {
            tags: 0,
            messages: 0,
            frames: payload.frames.count,
            resume_byte: payload.bytes.start,
            size: payload.size,
            checksummed: payload.frames.checksummed,
            torn: None,
            columns: None,
            records: None,
            crc: Crc::from(payload.bytes.start.max(settings.known_bytes)),
        }
    }

    /// Creates the summary of a payload that ends inside its header.
    pub(crate) fn inside_header(payload: &Payload<'_>, settings: &Settings) -> Self {
        Self {
            resume_byte: 0,
            torn: Some("the file ends inside its header".into()),
            ..Self::new(payload, settings)
        }
    }
}

/// Tags that follow each other in a file.
#[derive(Debug, Clone)]
pub(crate) struct Piece<'a> {
    pub tags: Cow<'a, [Tag]>,
    /// The micro time of each tag, [`MICRO_NONE`](tagq_store::format::MICRO_NONE) for none; empty if none has one.
    pub micro: Cow<'a, [u32]>,
}

impl<'a> Piece<'a> {
    /// Tags in memory that the caller keeps.
    pub(crate) fn new(tags: &'a [Tag], micro: &'a [u32]) -> Self {
        Self { tags: tags.into(), micro: micro.into() }
    }

    /// The same tags, in memory of their own.
    pub(crate) fn into_owned(self) -> Piece<'static> {
        let Self { tags, micro } = self;
        Piece { tags: tags.into_owned().into(), micro: micro.into_owned().into() }
    }

    /// Its parts of this many tags; the last one may have fewer.
    pub(crate) fn chunks(&self, tags: usize) -> impl Iterator<Item = Piece<'_>> {
        let mut micro = self.micro.chunks(tags);
        self.tags.chunks(tags).map(move |tags| Piece::new(tags, micro.next().unwrap_or_default()))
    }

    /// Returns the tags as rows of a store; `None` if a channel does not fit.
    pub(crate) fn rows(&self) -> Option<Rows> {
        let Self { tags, micro } = self;
        let channel_max = tags.iter().map(|tag| tag.channel).fold(0, u64::max);
        (channel_max <= CHANNEL_MAX).then(|| {
            let times = tags.iter().map(|tag| tag.time).collect();
            #[expect(clippy::cast_possible_truncation, reason = "checked before")]
            let channels = tags.iter().map(|tag| tag.channel as u16).collect();
            Rows::new(times, channels, micro.to_vec())
        })
    }
}

/// Output of a decoder.
#[derive(Debug)]
pub(crate) enum Decoded<'a> {
    /// Tags, in the order of the file.
    Tags(Piece<'a>),
    /// Tags in the order of the file, whose channels fit into a store; see
    /// [`Decoding`](crate::payload::Decoding).
    Rows(Rows),
    /// All tags so far stand in complete messages, lines or records.
    Complete(Complete),
    /// The header of the file, and the unit of the micro times if there are some, before any tag.
    Recording(Box<Recording>, Option<Tick>),
    /// So many records of this kind are no tags, or are odd ones if it is one of [`ODD`]. Records before
    /// [`Settings::known_bytes`] are not counted again.
    LeftOut(&'static str, u64),
    /// A channel of this label has this name; told before its first tag, by text whose channels are names.
    Channel(u16, String),
    /// The instrument recorded nothing for a while; told once, as [`Decoded::LeftOut`], before later tags.
    Dead(Dead),
}

impl Decoded<'_> {
    /// The same output, in memory of its own.
    pub(crate) fn into_owned(self) -> Decoded<'static> {
        match self {
            Self::Tags(piece) => Decoded::Tags(piece.into_owned()),
            Self::Rows(rows) => Decoded::Rows(rows),
            Self::Complete(complete) => Decoded::Complete(complete),
            Self::Recording(recording, micro_tick) => Decoded::Recording(recording, micro_tick),
            Self::LeftOut(what, records) => Decoded::LeftOut(what, records),
            Self::Channel(label, name) => Decoded::Channel(label, name),
            Self::Dead(edge) => Decoded::Dead(edge),
        }
    }

    /// The number of tags in it.
    pub(crate) fn tags(&self) -> u64 {
        match self {
            Self::Tags(piece) => piece.tags.len() as u64,
            Self::Rows(rows) => rows.len() as u64,
            Self::Complete(_)
            | Self::Recording(..)
            | Self::LeftOut(..)
            | Self::Channel(..)
            | Self::Dead(_) => 0,
        }
    }
}

/// The fact about the beginning of a measurement, and how its time may end.
pub(crate) const BEGAN: &str = "began";
pub(crate) const LOCAL_TIME: &str = " local time";
/// Photons whose micro time is longer than the period of the sync.
pub(crate) const BEYOND_PERIOD: &str = "micro time beyond the sync period";
/// Times of a text that have more digits than the tick that its unit makes.
pub const ROUNDED: &str = "time between two ticks, rounded to the nearest";
/// Records that were put where they belong.
pub const EARLY: &str = "record from before the counter began again";
/// Properties of tags that a note reports.
pub(crate) const ODD: [&str; 3] = [BEYOND_PERIOD, ROUNDED, EARLY];

/// An edge of a time during which nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dead {
    /// It begins.
    Begins(i64),
    /// It ends. One that did not begin reaches back to the latest tag.
    Ends(Until),
    /// Tags were lost since the latest tag, unless within a time that began.
    Lost(Until),
}

impl Dead {
    /// Notes it in the facts of a recording whose latest tag was at `before`.
    pub(crate) fn note(self, before: Option<i64>, recording: &mut Recording) {
        let since = &mut recording.dead_since;
        let span = match self {
            Self::Begins(at) => {
                since.get_or_insert(at);
                None
            }
            Self::Ends(Until { latest, at }) => Some((since.take().or(latest.max(before)), at)),
            Self::Lost(Until { latest, at }) if since.is_none() => Some((latest.max(before), at)),
            Self::Lost(_) => None,
        };
        if let Some((Some(first), last)) = span
            && first < last
        {
            recording.add_dead((first, last));
        }
    }
}

/// The end of a time during which nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Until {
    /// The latest time of the tags since the last [`Decoded::Tags`].
    pub latest: Option<i64>,
    pub at: i64,
}

/// A place at which reading can begin again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The byte of the file.
    pub byte: u64,
    /// Sum of the overflows before it, see [`Settings::start_overflow`].
    pub overflow: i64,
}

impl Checkpoint {
    /// A place in a file whose times do not depend on earlier bytes.
    pub(crate) fn at(byte: u64) -> Self {
        Self { byte, overflow: 0 }
    }
}

/// A place in a file after a complete message, line or record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Complete {
    /// Where reading can begin again here, if it can.
    pub checkpoint: Option<Checkpoint>,
    /// Two stretches that follow each other: the checksums of the bytes read and taken.
    pub before: Crc,
    pub crc: Crc,
}

impl Complete {
    pub(crate) fn new(checkpoint: Option<Checkpoint>, crc: Crc) -> Self {
        Self { checkpoint, before: crc.cleared(), crc }
    }

    /// See [`Summary::crc`].
    pub(crate) fn crc(self) -> Crc {
        self.before.join(self.crc)
    }
}

/// Receives the output of a decoder.
pub(crate) type Sink<'a> = dyn FnMut(Decoded<'_>) -> Result<(), Error> + 'a;
