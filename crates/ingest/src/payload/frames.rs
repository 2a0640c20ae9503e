//! Where the Zstandard frames of a file begin and end, found without decompressing anything (RFC 8878, sections 3.1.1
//! and 3.1.2).
//!
//! The window byte 0x58 of a frame means that it refers back at most 2 MiB. The content of blocks is not read, so
//! damage in them is found by the decompressor.

use std::{fs::File, io};

use tagq_store::os;

pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A complete frame: bytes `start..end` of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub start: u64,
    pub end: u64,
    /// Holds no data (RFC 8878, section 3.1.2).
    pub skippable: bool,
    /// Carries a checksum of its data.
    pub checksummed: bool,
    /// How far it may refer back, in bytes.
    pub window: u64,
}

/// The complete frames of a file, summed up, and what follows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frames {
    pub count: usize,
    /// Where the last one ends.
    pub end: u64,
    /// There are data, and every frame of them carries a checksum.
    pub checksummed: bool,
    /// How far any of them may refer back, in bytes.
    pub window_max: u64,
    pub tail: Tail,
}

/// The bytes after the last complete frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    None,
    /// A frame that is not all there.
    Torn {
        start: u64,
    },
    /// Bytes that begin no frame.
    Garbage {
        start: u64,
        found: [u8; 4],
    },
}

/// Whether a file that begins like this begins with a frame, or with what is there of one.
pub(crate) fn is_frame_start(bytes: &[u8]) -> bool {
    let fits = |magic: [u8; 4]| magic.starts_with(&bytes[..bytes.len().min(magic.len())]);
    !bytes.is_empty() && (fits(MAGIC) || fits([bytes[0] & 0x0f | 0x50, 0x2a, 0x4d, 0x18]))
}

/// Walks over all frames from byte `start`, where one begins, to byte `len` of `file`.
pub(crate) fn scan(file: &File, start: u64, len: u64) -> io::Result<Frames> {
    let mut walk = FrameWalk::new(file, start..len);
    let (mut count, mut end) = (0, start);
    let (mut has_data, mut all_checksummed, mut window_max) = (false, true, 0);
    let tail = loop {
        match walk.step()? {
            Ok(frame) => {
                count += 1;
                end = frame.end;
                has_data |= !frame.skippable;
                window_max = window_max.max(frame.window);
                all_checksummed &= frame.skippable || frame.checksummed;
            }
            Err(tail) => break tail,
        }
    };
    Ok(Frames { count, end, checksummed: has_data && all_checksummed, window_max, tail })
}

/// Small blocks are walked within one read of this size.
const BUFFER: usize = 64 * 1024;
/// After a jump over so many bytes the next jump is expected to be as long, and only [`HEADERS`] are read.
const FAR: u64 = 4 * 1024;
/// Bytes that hold the headers of a frame and of its first block.
const HEADERS: usize = 64;

/// Goes from frame to frame by their block headers. Frames are not listed: a file may have one
/// each nine bytes.
pub(crate) struct FrameWalk<'a> {
    file: &'a File,
    len: u64,
    /// Where the next frame begins.
    next: u64,
    buffer: Vec<u8>,
    /// The byte of the file at which the buffer begins.
    start: u64,
    filled: usize,
}

impl<'a> FrameWalk<'a> {
    /// Walks over the frames in these bytes of `file`.
    pub(crate) fn new(file: &'a File, bytes: std::ops::Range<u64>) -> Self {
        let (next, len) = (bytes.start, bytes.end);
        Self { file, len, next, buffer: vec![0; BUFFER], start: 0, filled: 0 }
    }

    /// The next frame, or what stands where it should begin.
    pub(crate) fn step(&mut self) -> io::Result<Result<Frame, Tail>> {
        let start = self.next;
        if start == self.len {
            return Ok(Err(Tail::None));
        }
        let Some(magic) = self.bytes::<4>(start)? else { return Ok(Err(Tail::Torn { start })) };
        if !is_frame_start(&magic) {
            return Ok(Err(Tail::Garbage { start, found: magic }));
        }
        let Some(frame) = self.frame(start, magic)? else { return Ok(Err(Tail::Torn { start })) };
        self.next = frame.end;
        Ok(Ok(frame))
    }

    /// Where the next frame begins.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The frame at `start`, or `None` when it is not all there.
    fn frame(&mut self, start: u64, magic: [u8; 4]) -> io::Result<Option<Frame>> {
        if magic != MAGIC {
            let Some(size) = self.bytes::<4>(start + 4)? else { return Ok(None) };
            let end = start + 8 + u64::from(u32::from_le_bytes(size));
            let frame = Frame { start, end, skippable: true, checksummed: false, window: 0 };
            return Ok((end <= self.len).then_some(frame));
        }
        let Some([descriptor]) = self.bytes::<1>(start + 4)? else { return Ok(None) };
        let single_segment = descriptor & 0x20 != 0;
        let checksummed = descriptor & 0x04 != 0;
        let window_bytes = u64::from(!single_segment);
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 0x03)];
        let content = match descriptor >> 6 {
            0 => u64::from(single_segment),
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let window = if single_segment {
            self.number(start + 5 + dictionary, content)?
                .map(|size| size + u64::from(content == 2) * 256)
        } else {
            self.number(start + 5, 1)?.map(|of| {
                let base = 1_u64 << (10 + (of >> 3));
                base + base / 8 * (of & 7)
            })
        };
        let Some(window) = window else { return Ok(None) };
        let mut at = start + 5 + window_bytes + dictionary + content;
        loop {
            let Some([a, b, c]) = self.bytes::<3>(at)? else { return Ok(None) };
            let header = u32::from_le_bytes([a, b, c, 0]);
            let is_rle = (header >> 1) & 0x03 == 1;
            let size = if is_rle { 1 } else { u64::from(header >> 3) };
            at += 3 + size;
            if header & 1 != 0 {
                break;
            }
        }
        let end = at + if checksummed { 4 } else { 0 };
        let frame = Frame { start, end, skippable: false, checksummed, window };
        Ok((end <= self.len).then_some(frame))
    }

    /// The number of so many bytes at `at`, at most eight; `None` when the file ends before.
    fn number(&mut self, at: u64, bytes: u64) -> io::Result<Option<u64>> {
        let mut number = 0;
        for byte in (0..bytes).rev() {
            let Some([byte]) = self.bytes::<1>(at + byte)? else { return Ok(None) };
            number = number << 8 | u64::from(byte);
        }
        Ok(Some(number))
    }

    /// `N` bytes at `at`, or `None` when the file ends before.
    fn bytes<const N: usize>(&mut self, at: u64) -> io::Result<Option<[u8; N]>> {
        if at.saturating_add(N as u64) > self.len {
            return Ok(None);
        }
        if at < self.start || at + N as u64 > self.start + self.filled as u64 {
            let is_far = at.abs_diff(self.start + self.filled as u64) > FAR;
            let read = if is_far { HEADERS.max(N) } else { BUFFER };
            self.start = at;
            self.filled = 0;
            while self.filled < N {
                let rest = &mut self.buffer[self.filled..read];
                match os::read_at(self.file, rest, at + self.filled as u64)? {
                    0 => return Ok(None),
                    n => self.filled += n,
                }
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "within the buffer")]
        let offset = (at - self.start) as usize;
        Ok(Some(std::array::from_fn(|i| self.buffer[offset + i])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn compressed(payload: &[u8], checksum: bool) -> Vec<u8> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(checksum).unwrap();
        encoder.write_all(payload).unwrap();
        encoder.finish().unwrap()
    }

    fn walked(bytes: &[u8]) -> (Vec<Frame>, Tail) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut walk = FrameWalk::new(&file, 0..bytes.len() as u64);
        let mut frames = Vec::new();
        loop {
            match walk.step().unwrap() {
                Ok(frame) => frames.push(frame),
                Err(tail) => {
                    let scanned = scan(&file, 0, bytes.len() as u64).unwrap();
                    let end = frames.last().map_or(0, |frame: &Frame| frame.end);
                    assert_eq!(
                        (scanned.count, scanned.end, scanned.tail),
                        (frames.len(), end, tail)
                    );
                    return (frames, tail);
                }
            }
        }
    }

    /// Incompressible, constant and empty data make raw, run-length and empty blocks.
    fn pieces() -> Vec<Vec<u8>> {
        let mut x = 1_u64;
        let random: Vec<u8> = (0..400_000)
            .map(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (x >> 56) as u8
            })
            .collect();
        let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        vec![
            compressed(b"", false),
            compressed(&random, true),
            skippable,
            compressed(&[7; 1_000_000], false),
            compressed(b"some text, some text", true),
            zstd::bulk::compress(&random[..300], 3).unwrap(),
        ]
    }

    #[test]
    fn frames_are_found_where_they_were_put() {
        let pieces = pieces();
        let (frames, tail) = walked(&pieces.concat());
        let mut start = 0;
        assert_eq!(frames.len(), pieces.len());
        for (frame, piece) in frames.iter().zip(&pieces) {
            assert_eq!((frame.start, frame.end), (start, start + piece.len() as u64));
            start = frame.end;
        }
        let checksummed: Vec<bool> = frames.iter().map(|f| f.checksummed).collect();
        assert_eq!(checksummed, [false, true, false, false, true, false]);
        // Level 3 has a window of 2 MiB, and less where the length is known: in one frame it is 300 bytes.
        let windows: Vec<u64> = frames.iter().map(|f| f.window).collect();
        assert_eq!(windows[1..], [1 << 21, 0, 1 << 21, 1 << 21, 300]);
        assert_eq!(tail, Tail::None);
    }

    #[test]
    fn a_cut_anywhere_leaves_a_torn_tail() {
        let pieces = [compressed(b"first", false), compressed(b"second, second, second", true)];
        for pieces in [&pieces[..], &[b"\x5f\x2a\x4d\x18\x01\0\0\0x".to_vec()]] {
            let (last, before) = pieces.split_last().unwrap();
            let start = before.concat().len() as u64;
            for cut in 1..last.len() {
                let bytes = [before.concat().as_slice(), &last[..cut]].concat();
                let (frames, tail) = walked(&bytes);
                assert_eq!((frames.len(), tail), (before.len(), Tail::Torn { start }), "cut {cut}");
            }
        }
    }

    #[test]
    fn what_begins_no_frame_is_garbage() {
        let first = compressed(b"first", false);
        let start = first.len() as u64;
        let (frames, tail) = walked(&[&first[..], b"garbage"].concat());
        assert_eq!((frames.len(), tail), (1, Tail::Garbage { start, found: *b"garb" }));
        for no_frame in [&b""[..], b"\x28\xb5\x2f\xfc", b"\x4f\x2a\x4d\x18", b"\x28\x2a"] {
            assert!(!is_frame_start(no_frame), "{no_frame:x?}");
        }
        for frame in [&b"\x28"[..], b"\x28\xb5", b"\x50\x2a\x4d\x18", b"\x5f\x2a\x4d"] {
            assert!(is_frame_start(frame), "{frame:x?}");
        }
    }

    #[test]
    fn a_file_is_checksummed_when_all_of_its_data_are() {
        let skippable = b"\x50\x2a\x4d\x18\0\0\0\0".to_vec();
        let (with, without) = (compressed(b"a", true), compressed(b"b", false));
        let checksummed = |pieces: &[&Vec<u8>]| {
            let mut file = tempfile::tempfile().unwrap();
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
            file.write_all(&bytes).unwrap();
            scan(&file, 0, bytes.len() as u64).unwrap().checksummed
        };
        assert!(checksummed(&[&with, &skippable, &with]));
        assert!(!checksummed(&[&with, &without]));
        assert!(!checksummed(&[&skippable]));
        assert!(!checksummed(&[]));
    }
}
