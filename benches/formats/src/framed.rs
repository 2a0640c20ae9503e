//! Files of messages: one after another, in one stream that may be compressed.

use std::{
    fs::File,
    io::{BufWriter, Read as _, Write as _},
    ops::Range,
    path::Path,
};

use memmap2::Mmap;
use tagq_store::Tag;

use crate::{
    Result,
    compression::Compression,
    format::{Access, Format, Message, Rows, Sink},
    map::map,
    source::TagReader,
    walk::Walk,
};

/// Bytes in front of a message that say its length, so that words in messages stay aligned.
const LEN_BYTES: usize = 8;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// How a reader finds the end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A length, u64, is in front of each message.
    Length,
    /// Any number of rows of this many bytes is a message.
    Rows(usize),
    /// Any number of lines is a message.
    Lines,
}

/// A format of messages with what a file of them needs.
pub trait FramedMessage: Message {
    /// See [`Format::name`].
    fn name(&self) -> &'static str;
    /// See [`Format::settings`].
    fn settings(&self) -> String;
    /// How a reader finds the end of a message.
    fn framing(&self) -> Framing {
        Framing::Length
    }
    /// How single tags are found, with the functions that find them.
    fn in_place(&self) -> InPlace<'_>;
}

/// How tags of messages are used without decoding them.
pub enum InPlace<'a> {
    /// Each message is a list of tags with random access.
    Lists(&'static str, &'a dyn Lists),
    /// Not without reading the file from its start.
    Refused(&'static str),
}

/// Messages that are lists of tags with random access.
pub trait Lists: Sync {
    /// Returns the number of tags of a message and its first time.
    fn head(&self, message: &[u8]) -> Result<(usize, i64)>;
    /// Returns the first tag of a message at or after `time`.
    fn first_at(&self, message: &[u8], time: i64) -> Result<Option<Tag>>;
    /// Counts the tags of a message.
    fn scan(&self, message: &[u8], walk: &mut Walk) -> Result<()>;
    /// Whether looking up decodes a part of a message.
    fn decodes(&self) -> bool {
        false
    }
}

/// Files of messages of one format.
pub struct Framed<M>(pub M);

impl<M: FramedMessage + Clone + 'static> Format for Framed<M> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn settings(&self) -> String {
        self.0.settings()
    }

    fn write(&self, path: &Path, compression: Compression, tags: &mut TagReader) -> Result<()> {
        let out = BufWriter::with_capacity(READ_BYTES, File::create(path)?);
        let mut out = compression.compress(out)?;
        let mut message = Vec::new();
        while let Some(batch) = tags.next_batch()? {
            message.clear();
            self.0.encode(batch, &mut message)?;
            if self.0.framing() == Framing::Length {
                out.write_all(&(message.len() as u64).to_le_bytes())?;
            }
            out.write_all(&message)?;
        }
        let out = out.finish()?;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }

    fn read(&self, path: &Path, compression: Compression, sink: &mut Sink<'_>) -> Result<()> {
        let mut input = compression.decompress(File::open(path)?)?;
        let (mut bytes, mut tags) = (Vec::new(), Vec::new());
        loop {
            let read = input.by_ref().take(READ_BYTES as u64).read_to_end(&mut bytes)?;
            let mut used = 0;
            while let Some(message) = next_message(self.0.framing(), &bytes[used..])? {
                tags.clear();
                self.0.decode(&bytes[used..][message.clone()], &mut tags)?;
                sink(&tags)?;
                used += message.end;
            }
            bytes.drain(..used);
            if read == 0 {
                break;
            }
        }
        if bytes.is_empty() { Ok(()) } else { Err("the last message is torn".into()) }
    }

    fn message(&self) -> Option<&dyn Message> {
        Some(&self.0)
    }

    fn access(&self) -> Access {
        match self.0.in_place() {
            InPlace::Lists(how, lists) if lists.decodes() => Access::ByBlock(how),
            InPlace::Lists(how, _) => Access::InPlace(how),
            InPlace::Refused(reason) => Access::Refused(reason),
        }
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Rows>> {
        Ok(Box::new(MessageRows::open(self.0.clone(), path)?))
    }
}

/// Returns where the next message is in `bytes`; `None` if it is not complete.
fn next_message(framing: Framing, bytes: &[u8]) -> Result<Option<Range<usize>>> {
    let len = match framing {
        Framing::Length => {
            let Some((len, rest)) = bytes.split_first_chunk::<LEN_BYTES>() else { return Ok(None) };
            let len = usize::try_from(u64::from_le_bytes(*len))?;
            return Ok((rest.len() >= len).then_some(LEN_BYTES..LEN_BYTES.saturating_add(len)));
        }
        Framing::Rows(row) => bytes.len() / row * row,
        Framing::Lines => bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1),
    };
    Ok((len > 0).then_some(0..len))
}

/// A mapped file of messages.
struct MessageRows<M> {
    format: M,
    map: Mmap,
    /// The first time and the bytes of each message.
    messages: Vec<(i64, Range<usize>)>,
}

impl<M: FramedMessage> MessageRows<M> {
    fn open(format: M, path: &Path) -> Result<Self> {
        let InPlace::Lists(_, lists) = format.in_place() else {
            return Err(format!("{} has no lists", format.name()).into());
        };
        let map = map(path)?;
        let (mut messages, mut used) = (Vec::new(), 0);
        while let Some(message) = next_message(format.framing(), &map[used..])? {
            let message = used + message.start..used + message.end;
            let (len, first) = lists.head(&map[message.clone()])?;
            used = message.end;
            if len > 0 {
                messages.push((first, message));
            }
        }
        Ok(Self { format, map, messages })
    }

    fn lists(&self) -> Result<&dyn Lists> {
        match self.format.in_place() {
            InPlace::Lists(_, lists) => Ok(lists),
            InPlace::Refused(reason) => Err(reason.into()),
        }
    }
}

impl<M: FramedMessage> Rows for MessageRows<M> {
    fn first_at(&self, time: i64) -> Result<Option<Tag>> {
        let lists = self.lists()?;
        // The message before the first one that begins at this time or later may have it.
        let after = self.messages.partition_point(|&(first, _)| first < time);
        for (_, message) in &self.messages[after.saturating_sub(1)..] {
            if let Some(tag) = lists.first_at(&self.map[message.clone()], time)? {
                return Ok(Some(tag));
            }
        }
        Ok(None)
    }

    fn scan(&self, walk: &mut Walk) -> Result<()> {
        let lists = self.lists()?;
        self.messages
            .iter()
            .try_for_each(|(_, message)| lists.scan(&self.map[message.clone()], walk))
    }
}

/// Returns the first of `len` rows in order of time that is at or after `time`.
pub fn first_row(len: usize, time: i64, time_of: impl Fn(usize) -> i64) -> Option<usize> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        if time_of(middle) < time {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low < len).then_some(low)
}

/// Returns the channel of a tag as one byte. [`crate::source`] checked that it fits.
pub fn channel_byte(tag: &Tag) -> u8 {
    tag.channel.to_le_bytes()[0]
}
