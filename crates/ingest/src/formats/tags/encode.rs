//! Writes `.tags.zst`: Cap'n Proto messages, a Zstandard frame each, as a recorder lays them out.
//!
//! A message with two tags has 72 bytes: 8 of a segment table, four pointers of 8, and 16 for each tag. From 511 tags
//! on, tags have a segment of their own, as in files of recorders.

use std::io::{self, Write};

use tagq_store::Tag;

use super::message::SEGMENTS_MAX;

/// Tags from which on a recorder puts them in a segment of their own.
const TWO_SEGMENTS_TAGS: u64 = 511;
/// The most tags in one list: the reference implementation reads segments of less than 2^29 words,
/// and landing pad and element word are two of them.
const LIST_TAGS_MAX: u64 = (1 << 28) - 2;
/// The level that recorders use.
const LEVEL: i32 = 3;

/// Appends frames to an output. Each holds one message and can be read on its own.
#[derive(Debug)]
pub struct Encoder<W> {
    out: W,
    checksum: bool,
    list_tags_max: u64,
}

impl<W: Write> Encoder<W> {
    /// Frames go to `out`. They carry no checksum, like those of a recorder, unless
    /// [`Encoder::checksum`] is asked for.
    pub fn new(out: W) -> Self {
        Self { out, checksum: false, list_tags_max: LIST_TAGS_MAX }
    }

    /// Whether frames carry a checksum of their data, so that damage is seen when they are read.
    #[must_use]
    pub fn checksum(self, checksum: bool) -> Self {
        Self { checksum, ..self }
    }

    /// Writes one frame with `count` tags, which come in pieces: the whole is never in memory.
    ///
    /// # Errors
    /// Those of the output, or `InvalidInput` when the pieces hold more or fewer tags than
    /// announced, or one message cannot hold so many (2^37 and more).
    pub fn frame<'a>(
        &mut self,
        count: u64,
        pieces: impl IntoIterator<Item = &'a [Tag]>,
    ) -> io::Result<()> {
        self.frame_by(count, |write| pieces.into_iter().try_for_each(write))
    }

    /// As [`Encoder::frame`], with pieces that are made one after the other by `fill`.
    pub fn frame_by(
        &mut self,
        count: u64,
        fill: impl FnOnce(&mut dyn FnMut(&[Tag]) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let lists = Lists::new(count, self.list_tags_max);
        lists.check()?;
        let mut frame = zstd::stream::Encoder::new(&mut self.out, LEVEL)?;
        frame.include_checksum(self.checksum)?;
        write_message(&mut frame, &lists, fill)?;
        frame.finish()?;
        Ok(())
    }

    /// Hands back the output.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// A message without a frame.
pub(crate) fn message(tags: &[Tag]) -> io::Result<Vec<u8>> {
    let lists = Lists::new(tags.len() as u64, LIST_TAGS_MAX);
    lists.check()?;
    let mut bytes = Vec::with_capacity(size_of_val(tags) + 128);
    write_message(&mut bytes, &lists, |write| write(tags))?;
    Ok(bytes)
}

fn write_message(
    out: &mut impl Write,
    lists: &Lists,
    fill: impl FnOnce(&mut dyn FnMut(&[Tag]) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let count = lists.count;
    out.write_all(&lists.start())?;
    let mut written = 0;
    let mut write = |tags: &[Tag]| {
        let mut rest = tags;
        while !rest.is_empty() {
            if written == count {
                return Err(miscounted(count));
            }
            let in_list = written % lists.tags_max;
            if in_list == 0 && lists.segmented {
                out.write_all(&lists.landing(written / lists.tags_max))?;
            }
            let room = (lists.tags_max - in_list).min(count - written);
            let len = usize::try_from(room).map_or(rest.len(), |room| room.min(rest.len()));
            let (now, later) = rest.split_at(len);
            out.write_all(bytemuck::cast_slice(now))?;
            written += len as u64;
            rest = later;
        }
        Ok(())
    };
    fill(&mut write)?;
    if written < count { Err(miscounted(count)) } else { Ok(()) }
}

fn miscounted(count: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a frame of {count} tags was announced and another number written"),
    )
}

/// How the tags of a message fall into lists.
struct Lists {
    count: u64,
    /// The most in one list.
    tags_max: u64,
    /// The lists stand in segments of their own, which far pointers lead to.
    segmented: bool,
}

impl Lists {
    fn new(count: u64, tags_max: u64) -> Self {
        Self { count, tags_max, segmented: count >= TWO_SEGMENTS_TAGS || count > tags_max }
    }

    /// Whether one message holds them all.
    fn check(&self) -> io::Result<()> {
        if self.number() < u64::from(SEGMENTS_MAX) {
            return Ok(());
        }
        let reason = format!("{} tags are more than one message holds", self.count);
        Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
    }

    /// Full lists, then the rest. A message without tags has one empty list.
    fn number(&self) -> u64 {
        self.count.div_ceil(self.tags_max).max(1)
    }

    fn tags_in(&self, list: u64) -> u64 {
        (self.count - list * self.tags_max).min(self.tags_max)
    }

    /// The segment table and all words before the first tag, or before the first segment of tags.
    fn start(&self) -> Vec<u8> {
        let number = self.number();
        // Root pointer, the struct's one pointer, the outer list.
        let first_words = 2 + number + if self.segmented { 0 } else { 1 + 2 * self.count };
        let mut sizes = vec![first_words];
        if self.segmented {
            // Landing pad and element word before the tags.
            sizes.extend((0..number).map(|list| 2 + 2 * self.tags_in(list)));
        }
        let mut bytes = Vec::new();
        #[expect(clippy::cast_possible_truncation, reason = "at most 511 segments of 2^29 words")]
        let mut u32_le = |n: u64| bytes.extend_from_slice(&(n as u32).to_le_bytes());
        u32_le(sizes.len() as u64 - 1);
        sizes.iter().copied().for_each(&mut u32_le);
        if sizes.len() % 2 == 0 {
            u32_le(0);
        }
        let mut word = |n: u64| bytes.extend_from_slice(&n.to_le_bytes());
        // A struct of no data words and one pointer, right after its pointer.
        word(1 << 48);
        // A list of `number` pointers, right after its pointer.
        word(1 | 6 << 32 | number << 35);
        if self.segmented {
            // Far pointers to the first word of segments 1, 2, …
            (0..number).for_each(|list| word(2 | (list + 1) << 32));
        } else {
            self.list(0).into_iter().for_each(word);
        }
        bytes
    }

    /// The words before the tags of a list in a segment of its own.
    fn landing(&self, list: u64) -> Vec<u8> {
        self.list(list).iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The pointer to a list right after it, and the list's element word: two data words each.
    fn list(&self, list: u64) -> [u64; 2] {
        let tags = self.tags_in(list);
        [1 | 7 << 32 | (2 * tags) << 35, tags << 2 | 2 << 32]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags_capnp::tags;
    use capnp::{message::ReaderOptions, serialize};

    fn message(list_tags_max: u64, count: u64, piece: usize) -> io::Result<Vec<u8>> {
        let mut encoder = Encoder { list_tags_max, ..Encoder::new(Vec::new()) };
        let tags: Vec<Tag> = (0..count).map(|i| Tag { time: -5, channel: i }).collect();
        encoder.frame(count, tags.chunks(piece))?;
        zstd::decode_all(&encoder.into_inner()[..])
    }

    /// How many tags are in each list, read by the reference implementation.
    fn lists(bytes: &[u8]) -> Vec<u32> {
        let message = serialize::read_message(bytes, ReaderOptions::new()).unwrap();
        let tags = message.get_root::<tags::Reader<'_>>().unwrap().get_tags().unwrap();
        let mut next = 0;
        (0..tags.len())
            .map(|i| {
                let list = tags.get(i).unwrap();
                for tag in list {
                    assert_eq!((tag.get_time(), tag.get_channel()), (-5, next));
                    next += 1;
                }
                list.len()
            })
            .collect()
    }

    #[test]
    fn more_tags_than_a_list_holds_go_into_several() {
        for piece in [1, 3, 4, 5, 100] {
            assert_eq!(lists(&message(4, 0, piece).unwrap()), [0]);
            assert_eq!(lists(&message(4, 1, piece).unwrap()), [1]);
            assert_eq!(lists(&message(4, 4, piece).unwrap()), [4]);
            assert_eq!(lists(&message(4, 5, piece).unwrap()), [4, 1]);
            assert_eq!(lists(&message(4, 8, piece).unwrap()), [4, 4]);
            assert_eq!(lists(&message(4, 11, piece).unwrap()), [4, 4, 3]);
            assert_eq!(lists(&message(300, 511, piece).unwrap()), [300, 211]);
        }
        // 510 lists and their pointers are 511 segments, one more is too many for every reader.
        assert_eq!(lists(&message(1, 510, 7).unwrap()), [1; 510]);
        assert_eq!(message(1, 511, 7).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_full_list_fits_into_a_segment_that_every_reader_takes() {
        // Beyond it `capnp decode` says: segment is too large; size = 536870912.
        let start = Lists::new(LIST_TAGS_MAX + 1, LIST_TAGS_MAX).start();
        let sizes: Vec<u32> =
            start[4..16].as_chunks::<4>().0.iter().map(|size| u32::from_le_bytes(*size)).collect();
        assert_eq!(sizes, [4, (1 << 29) - 2, 4]);
    }

    #[test]
    fn a_wrong_number_of_tags_is_refused() {
        let tags = [Tag { time: 1, channel: 2 }; 3];
        for announced in [0, 2, 4, 511, 513] {
            let refused = Encoder::new(Vec::new()).frame(announced, [&tags[..]]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{announced}");
        }
    }
}
