//! A source that was opened: it is examined and read through one descriptor, even if another file gets its name.
//!
//! A file that grew is known again by hashes of its first 64 KiB and of the 64 KiB before the byte up to which it was
//! read.

use std::{
    fs::{self, File, Metadata},
    io,
    path::{Path, PathBuf},
};

use tagq_store::{
    SourceFacts,
    os::{self, FileStamp},
};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, io_error};

/// Enough of the first bytes of a file to tell its format.
pub(crate) const START_BYTES: usize = 128;
/// Length of the two ends by which a source is known again.
const END_BYTES: u64 = 64 * 1024;

/// An open file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub path: PathBuf,
    pub file: File,
    /// How it looked when it was opened.
    pub stamp: FileStamp,
    /// Its first bytes.
    pub start: Vec<u8>,
}

impl Opened {
    /// Opens the file at `path`; nothing else than a file, and without waiting for anybody.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        // Opening a device can move it, and opening a pipe waits for a writer.
        check_file(path, &fs::metadata(path).map_err(io_error(path, "open"))?)?;
        let file = os::open_at_once(path).map_err(io_error(path, "open"))?;
        let looked = file.metadata().and_then(|metadata| Ok((metadata, FileStamp::of(&file)?)));
        let (metadata, stamp) = looked.map_err(io_error(path, "read the length of"))?;
        check_file(path, &metadata)?;
        let start = first_bytes(&file, START_BYTES).map_err(io_error(path, "read"))?;
        Ok(Self { path: path.into(), file, stamp, start })
    }

    /// Its length when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.stamp.size
    }

    /// Notes how it looked when it was opened.
    pub(crate) fn describe(&self, facts: &mut SourceFacts) {
        let FileStamp { size, mtime_ns, inode } = self.stamp;
        (facts.size, facts.mtime_ns, facts.inode) = (size, mtime_ns, inode);
    }

    /// Hashes of the first and of the last 64 KiB before `end`, in a file that begins with `lasting` (see
    /// [`crate::formats::format::Reader::lasting_head`]).
    pub(crate) fn ends(&self, end: u64, lasting: &[u8]) -> Result<(String, String), Error> {
        let hash = |start: u64, end: u64| -> Result<String, Error> {
            #[expect(clippy::cast_possible_truncation, reason = "at most 64 KiB")]
            let mut bytes = vec![0; (end - start) as usize];
            let read = os::read_exact_at(&self.file, &mut bytes, start);
            read.map_err(io_error(&self.path, "read"))?;
            put_over(&mut bytes, start, lasting);
            Ok(format!("{:016x}", xxh3_64(&bytes)))
        };
        Ok((hash(0, end.min(END_BYTES))?, hash(end.saturating_sub(END_BYTES), end)?))
    }
}

/// Puts `lasting`, with which a file begins, over `bytes`, which stand at byte `at` of it.
pub(crate) fn put_over(bytes: &mut [u8], at: u64, lasting: &[u8]) {
    let rest = usize::try_from(at).ok().and_then(|at| lasting.get(at..)).unwrap_or_default();
    let len = rest.len().min(bytes.len());
    bytes[..len].copy_from_slice(&rest[..len]);
}

/// The first bytes of a file, whatever its length is said to be.
pub(super) fn first_bytes(file: &File, bytes: usize) -> io::Result<Vec<u8>> {
    let (mut start, mut len) = (vec![0; bytes], 0);
    while len < bytes {
        match os::read_at(file, &mut start[len..], len as u64)? {
            0 => break,
            n => len += n,
        }
    }
    start.truncate(len);
    Ok(start)
}

fn check_file(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    if metadata.is_file() {
        return Ok(());
    }
    let found =
        if metadata.is_dir() { "a folder" } else { "a device or pipe (`-` is standard input)" };
    Err(Error::NotTags { path: path.into(), found: found.into() })
}
