//! The interface of a compression, and functions that several compressions use.

use std::{error::Error, fs::File, io, ops::Range};

use crate::payload::frames::FrameWalk;

/// The largest memory for what a member refers back to: the default of `zstd` itself, and twice what `xz -9` takes.
pub(super) const WINDOW_LOG_MAX: u32 = 27;

/// A way to compress files.
pub(crate) trait Compression: Sync {
    /// The end of the names of its files.
    fn suffix(&self) -> &'static str;

    /// The word for a member: `frame`.
    fn member(&self) -> &'static str;

    /// The words for several members, with the name of the compression: `Zstandard frames`.
    fn members(&self) -> &'static str;

    /// Whether these bytes begin a member. `bytes` may be the first bytes of a member that is not complete.
    fn is_start(&self, bytes: &[u8]) -> bool;

    /// Whether such a member, or padding, may follow another one.
    fn is_next(&self, bytes: &[u8]) -> bool {
        self.is_start(bytes)
    }

    /// Whether the data of a file that begins like this have checksums.
    fn is_checksummed(&self, _: &[u8]) -> bool {
        true
    }

    /// The bytes that a member which begins like this keeps to refer back to; 0 if they are few, or not known.
    fn window(&self, _: &[u8]) -> u64 {
        0
    }

    fn decompressor(&self) -> io::Result<AnyDecompressor>;

    /// Walks over the members by their headers. `None` if only decompression shows where a member ends.
    fn walk<'a>(&self, _: &'a File, _: Range<u64>) -> Option<FrameWalk<'a>> {
        None
    }
}

/// Decompresses member after member.
pub(crate) trait Decompressor {
    /// Begins the next member.
    fn begin(&mut self) -> io::Result<()>;

    /// Decompresses some of `input` into `output`. An error of kind [`io::ErrorKind::Unsupported`] says what the
    /// member needs more than it gets here, and the fix.
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step>;
}

pub(crate) type AnyDecompressor = Box<dyn Decompressor + Send>;

/// Progress of a decompressor.
#[derive(Debug)]
pub(crate) struct Step {
    /// Bytes of the input that were used.
    pub used: usize,
    /// Bytes of the output that were written.
    pub written: usize,
    /// Whether the member ends after the used bytes.
    pub is_end: bool,
}

impl Step {
    /// The progress from totals before to totals after.
    pub(super) fn between(before: (u64, u64), after: (u64, u64), is_end: bool) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "at most the lengths of slices")]
        let [used, written] = [(after.0 - before.0) as usize, (after.1 - before.1) as usize];
        Self { used, written, is_end }
    }
}

/// Whether `bytes` begin with `magic`, or are the beginning of it.
pub(super) fn begins(bytes: &[u8], magic: &[u8]) -> bool {
    let len = bytes.len().min(magic.len());
    len > 0 && bytes[..len] == magic[..len]
}

pub(super) fn damaged(reason: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

pub(super) fn no_memory() -> io::Error {
    io::ErrorKind::OutOfMemory.into()
}

pub(super) fn unsupported(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, reason)
}
