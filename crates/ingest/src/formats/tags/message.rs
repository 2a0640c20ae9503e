//! One Cap'n Proto message after another, as a stream: pointers come first, then the tags.
//!
//! The recorder's messages hold `struct Tags { tags @0 :List(List(Tag)); }`, so the tags can be handed on while the
//! message arrives. A legal message laid out in another way works too: words to which later pointers may refer are
//! kept, in memory up to a bound and in an unlinked file beyond it. Every claim of a message is checked: buffers grow
//! with the bytes that arrive, every pointer is checked against its segment, and no more words are handed out than the
//! message has, so that a small message cannot become many tags.

use std::{
    io::{self, Read},
    ops::Range,
};

use tagq_store::Tag;

use super::{
    fault::{MessageFault, malformed},
    kept::{Kept, as_len},
    pointer::{FAR, LIST_OF_POINTERS, LIST_OF_STRUCTS, Target, far_segment, near},
};
use crate::{error::Error, pipeline::CHUNK_TAGS};

/// The most segments that the reference implementation reads.
pub(crate) const SEGMENTS_MAX: u32 = 511;
/// The most lists in one message, so that what is known of each fits in memory. Recorders fill a
/// list with up to 2^28 tags before they begin another one.
const LISTS_MAX: u64 = 1 << 20;

type Sink<'a> = dyn FnMut(&[Tag]) -> Result<(), Error> + 'a;

/// Reads messages from `input` until it ends.
pub(crate) struct Messages<R> {
    input: R,
    chunk: Vec<Tag>,
    message: Message,
}

impl<R: Read> Messages<R> {
    /// At most `kept_bytes_max` of a message are kept for pointers that come later.
    pub(crate) fn new(input: R, kept_bytes_max: u64) -> Self {
        let zero = Tag { time: 0, channel: 0 };
        let kept = Kept::new(kept_bytes_max);
        let message = Message { kept, ..Message::default() };
        Self { input, chunk: vec![zero; CHUNK_TAGS], message }
    }

    pub(crate) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Hands the tags of the next message to `sink`, in the order of the lists. False at the end
    /// of the input.
    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<bool, MessageFault> {
        if !self.message.begin(&mut self.input)? {
            return Ok(false);
        }
        let message = &mut self.message;
        let Some(outer) = message.outer_list(&mut self.input)? else {
            message.skip_rest(&mut self.input, &mut self.chunk)?;
            return Ok(true);
        };
        for at in outer {
            if let Some(list) = message.inner_list(&mut self.input, at)? {
                message.stream(&mut self.input, &list, &mut self.chunk, sink)?;
            }
        }
        message.skip_rest(&mut self.input, &mut self.chunk)?;
        Ok(true)
    }
}

/// The message being read. Words are numbered through all its segments, in the order they arrive.
#[derive(Default)]
struct Message {
    /// The word at which each segment begins, and last where the message ends.
    segments: Vec<u64>,
    /// The next word to arrive.
    position: u64,
    kept: Kept,
    /// Words handed out as tags so far.
    handed: u64,
}

/// Tags in a row: `count` of them, `stride` words each, the first at word `start`.
#[derive(Debug, PartialEq, Eq)]
struct InnerList {
    start: u64,
    count: u64,
    stride: u64,
}

impl Message {
    fn total(&self) -> u64 {
        self.segments.last().copied().unwrap_or(0)
    }

    /// Reads the segment table. False when the input has ended.
    fn begin(&mut self, input: &mut impl Read) -> Result<bool, MessageFault> {
        self.segments.clear();
        self.position = 0;
        self.handed = 0;
        self.kept.clear();
        let mut count = [0; 4];
        match read_up_to(input, &mut count)? {
            0 => return Ok(false),
            4 => {}
            _ => return Err(MessageFault::Torn),
        }
        let last = u32::from_le_bytes(count);
        if last >= SEGMENTS_MAX {
            return Err(malformed(0, "its segment table claims more than 511 segments"));
        }
        let segments = last as usize + 1;
        // The table is padded to whole words.
        let mut table = vec![0; (segments | 1) * 4];
        read_exact(input, &mut table)?;
        let mut end = 0;
        self.segments.push(0);
        for size in table.as_chunks::<4>().0.iter().take(segments) {
            end += u64::from(u32::from_le_bytes(*size));
            self.segments.push(end);
        }
        if self.segments[1] == 0 {
            return Err(malformed(
                0,
                "its first segment is empty, and the root pointer is missing",
            ));
        }
        Ok(true)
    }

    /// The words of the outer list, each a pointer to an inner list; `None` when there is none.
    fn outer_list(&mut self, input: &mut impl Read) -> Result<Option<Range<u64>>, MessageFault> {
        let (at, data, pointers) = match self.target(input, 0)? {
            Target::Null => return Ok(None),
            Target::Struct { at, data, pointers, segment } => {
                self.check_inside(0, segment, at, data + pointers)?;
                (at, data, pointers)
            }
            Target::List { .. } => return Err(malformed(0, "its root is a list, not a struct")),
        };
        if pointers == 0 {
            return Ok(None);
        }
        let pointer = at + data;
        match self.target(input, pointer)? {
            Target::Null => Ok(None),
            Target::List { at, segment, size: LIST_OF_POINTERS, count } => {
                self.check_inside(pointer, segment, at, count)?;
                if count > LISTS_MAX {
                    return Err(malformed(pointer, "it has more than 2^20 lists"));
                }
                Ok(Some(at..at + count))
            }
            _ => Err(malformed(pointer, "its first field is no list of lists")),
        }
    }

    /// The inner list of the pointer at word `at`; `None` when it holds no tags.
    fn inner_list(
        &mut self,
        input: &mut impl Read,
        at: u64,
    ) -> Result<Option<InnerList>, MessageFault> {
        let (list, segment, words) = match self.target(input, at)? {
            Target::Null => return Ok(None),
            Target::List { at, segment, size: LIST_OF_STRUCTS, count } => (at, segment, count),
            // An empty list may be one of anything but bits: the reference converts them all.
            Target::List { at: list, segment, size: 0 | 2.., count: 0 } => {
                self.check_inside(at, segment, list, 0)?;
                return Ok(None);
            }
            _ => return Err(malformed(at, "an inner list is no list of tags")),
        };
        self.check_inside(at, segment, list, words + 1)?;
        let tag = self.word(input, list)?;
        let (count, data, pointers) = (tag >> 2 & 0x3fff_ffff, tag >> 32 & 0xffff, tag >> 48);
        if tag & 3 != 0 {
            return Err(malformed(list, "the element word of a list is no struct pointer"));
        }
        let stride = data + pointers;
        if count * stride > words {
            return Err(malformed(list, "a list claims more tags than it has words"));
        }
        if count == 0 {
            return Ok(None);
        }
        if data < 2 {
            return Err(malformed(list, "its elements are shorter than a tag (time, channel)"));
        }
        Ok(Some(InnerList { start: list + 1, count, stride }))
    }

    /// Hands the tags of `list` to `sink`.
    fn stream(
        &mut self,
        input: &mut impl Read,
        list: &InnerList,
        chunk: &mut [Tag],
        sink: &mut Sink<'_>,
    ) -> Result<(), MessageFault> {
        let words = list.count * list.stride;
        self.handed += words;
        if self.handed > self.total() {
            return Err(malformed(list.start, "its lists share words"));
        }
        let end = list.start + words;
        let arrives = list.start >= self.position;
        if arrives {
            self.keep_until(input, list.start)?;
        } else {
            self.keep_until(input, end)?;
        }
        // A chunk is counted in whole elements; tags of two words each are used where they arrive.
        let per_chunk = (chunk.len() as u64 * 2 / list.stride).max(1);
        let mut wide = Vec::new();
        let mut at = list.start;
        while at < end {
            let count = per_chunk.min((end - at) / list.stride);
            let words = as_len(count * list.stride);
            let filled;
            let tags = if list.stride == 2 {
                let tags = &mut chunk[..words / 2];
                filled = self.words_into(input, at, arrives, bytemuck::cast_slice_mut(tags))?;
                tags
            } else {
                wide.resize(words, 0_u64);
                let bytes = bytemuck::cast_slice_mut(&mut wide);
                filled = self.words_into(input, at, arrives, bytes)?;
                let tags = &mut chunk[..as_len(count)];
                for (tag, words) in tags.iter_mut().zip(wide.chunks_exact(as_len(list.stride))) {
                    *tag = Tag { time: words[0].cast_signed(), channel: words[1] };
                }
                tags
            };
            let whole = as_len(filled as u64 / 8 / list.stride);
            if whole > 0 {
                sink(&tags[..whole]).map_err(MessageFault::Sink)?;
            }
            if filled < words * 8 {
                return Err(MessageFault::Torn);
            }
            at += words as u64;
        }
        Ok(())
    }

    /// The words from `at` on: from the input when they have not arrived, else from what was kept.
    /// Returns the bytes filled: fewer than asked for where the input ends.
    fn words_into(
        &mut self,
        input: &mut impl Read,
        at: u64,
        arrives: bool,
        bytes: &mut [u8],
    ) -> Result<usize, MessageFault> {
        if arrives {
            self.position += bytes.len() as u64 / 8;
            return read_up_to(input, bytes);
        }
        self.kept.read(at, bytes).map(|()| bytes.len())
    }

    /// Reads over what no list used, so that the next message begins at its first byte.
    fn skip_rest(&mut self, input: &mut impl Read, chunk: &mut [Tag]) -> Result<(), MessageFault> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(chunk);
        while self.position < self.total() {
            let words = (self.total() - self.position).min(bytes.len() as u64 / 8);
            read_exact(input, &mut bytes[..as_len(words) * 8])?;
            self.position += words;
        }
        Ok(())
    }

    /// One word, wherever it is.
    fn word(&mut self, input: &mut impl Read, at: u64) -> Result<u64, MessageFault> {
        self.keep_until(input, at + 1)?;
        let mut bytes = [0; 8];
        self.kept.read(at, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Keeps all words before `end` that have not arrived yet.
    fn keep_until(&mut self, input: &mut impl Read, end: u64) -> Result<(), MessageFault> {
        if self.position >= end {
            return Ok(());
        }
        let mut bytes = [0; 4096];
        while self.position < end {
            let words = (end - self.position).min(bytes.len() as u64 / 8);
            let bytes = &mut bytes[..as_len(words) * 8];
            read_exact(input, bytes)?;
            self.kept.add(self.position, bytes)?;
            self.position += words;
        }
        Ok(())
    }

    /// The target of the pointer at word `at`, through far pointers.
    fn target(&mut self, input: &mut impl Read, at: u64) -> Result<Target, MessageFault> {
        let segment = self.segments.partition_point(|&start| start <= at) - 1;
        let pointer = self.word(input, at)?;
        if pointer == 0 {
            return Ok(Target::Null);
        }
        if pointer & 3 != FAR {
            return near(pointer, at, at + 1, segment);
        }
        let is_double = pointer & 4 != 0;
        let pad = self.far(at, pointer, if is_double { 2 } else { 1 })?;
        let pad_segment = far_segment(pointer);
        let landing = self.word(input, pad)?;
        if !is_double {
            return near(landing, pad, pad + 1, pad_segment);
        }
        if landing & 7 != FAR {
            return Err(malformed(pad, "a double far pointer does not lead to a far pointer"));
        }
        // The length of the content is in the tag. The caller checks it.
        let content = self.far(pad, landing, 0)?;
        let tag = self.word(input, pad + 1)?;
        if tag & 0xffff_fffc != 0 {
            return Err(malformed(pad + 1, "the tag of a double far pointer has an offset"));
        }
        near(tag, pad + 1, content, far_segment(landing))
    }

    /// The word that a far pointer at word `at` leads to, the first of `words` in its segment.
    fn far(&self, at: u64, pointer: u64, words: u64) -> Result<u64, MessageFault> {
        let segment = far_segment(pointer);
        if segment + 1 >= self.segments.len() {
            return Err(malformed(at, "a far pointer leads to a segment that is not there"));
        }
        let target = self.segments[segment] + (pointer >> 3 & 0x1fff_ffff);
        self.check_inside(at, segment, target, words)?;
        Ok(target)
    }

    /// Whether `words` words from `start` on lie inside the segment.
    fn check_inside(
        &self,
        at: u64,
        segment: usize,
        start: u64,
        words: u64,
    ) -> Result<(), MessageFault> {
        let inside = start >= self.segments[segment] && start + words <= self.segments[segment + 1];
        if inside { Ok(()) } else { Err(malformed(at, "a pointer leads out of its segment")) }
    }
}

fn read_exact(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), MessageFault> {
    if read_up_to(input, bytes)? == bytes.len() { Ok(()) } else { Err(MessageFault::Torn) }
}

/// Fills `bytes`, or as much of them as there is before the input ends; returns how much.
fn read_up_to(input: &mut impl Read, bytes: &mut [u8]) -> Result<usize, MessageFault> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(MessageFault::Input(e)),
        }
    }
    Ok(filled)
}
