//! Whether a file is still the one that was ingested.
//!
//! A finished source with equal length, modification time and inode is unchanged, and nothing is read. Otherwise hashes
//! of two ends of at most 64 KiB tell a file that grew from another one.

use std::{
    io::{self, Read as _},
    path::Path,
};

use tagq_store::{SourceFacts, os::FileStamp};
use xxhash_rust::xxh3::Xxh3Default;

use crate::{
    Error, FormatName, Settings,
    error::io_error,
    payload::{
        input::{INPUT_BYTES, Input as _, is_shrunk},
        opened::put_over,
        plain::PlainInput,
    },
    source_file::SourceFile,
};

/// Difference between a file and its ingested part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Length and the hashes of both ends are equal.
    None,
    /// There is data after the ingested part.
    Grown,
    /// It is a different file.
    Other,
}

impl SourceFile {
    /// Compares the file with its ingested part. Reads at most 128 KiB.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn compare(&self, facts: &SourceFacts) -> Result<Change, Error> {
        if self.opened.size() < facts.read_byte {
            return Ok(Change::Other);
        }
        let (head, tail) =
            self.opened.ends(facts.read_byte, &self.lasting_head(recorded_format(facts))?)?;
        if (&head, &tail) != (&facts.head_xxh3, &facts.tail_xxh3) {
            return Ok(Change::Other);
        }
        let is_taken = facts.finished && (facts.torn.is_none() || facts.salvaged);
        let is_same = self.opened.size() == facts.size && is_taken;
        Ok(if is_same {
            Change::None
        } else if facts.salvaged {
            // A salvaged part may end inside a tag, a message or a frame.
            Change::Other
        } else {
            Change::Grown
        })
    }
}

/// Whether the ingested bytes of the file at `path` are unchanged; `None` if an older store has no
/// checksum. Reads all of them; `settings` contains the byte counter and the cancellation.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`].
pub fn is_intact(
    facts: &SourceFacts,
    path: &Path,
    settings: &Settings,
) -> Result<Option<bool>, Error> {
    if facts.read_crc32c.is_none() && facts.whole_xxh3.is_none() {
        return Ok(None);
    }
    let source = SourceFile::open(path)?;
    if source.opened.size() < facts.read_byte {
        return Ok(Some(false));
    }
    let settings = Settings { known_bytes: 0, ..settings.clone() };
    let mut input = PlainInput::new(&source.opened.file, 0..facts.read_byte, &settings);
    let mut whole = Xxh3Default::new();
    let lasting = source.lasting_head(recorded_format(facts))?;
    let (mut buffer, mut at) = (vec![0; INPUT_BYTES], 0);
    loop {
        settings.check_wanted()?;
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                put_over(&mut buffer[..n], at, &lasting);
                at += n as u64;
                input.note_taken(&buffer[..n]);
                if facts.read_crc32c.is_none() {
                    whole.update(&buffer[..n]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_shrunk(&error) => return Ok(Some(false)),
            Err(error) => return Err(io_error(path, "read")(error)),
        }
    }
    Ok(Some(match (&facts.read_crc32c, &facts.whole_xxh3) {
        (Some(crc), _) => *crc == input.crc().hex(),
        (None, whole_xxh3) => *whole_xxh3 == Some(format!("{:016x}", whole.digest())),
    }))
}

/// The format by which a source was read, of those that say so.
pub(super) fn recorded_format(facts: &SourceFacts) -> Option<FormatName> {
    facts.recording.as_ref().and_then(|recording| recording.format.parse().ok())
}

/// Whether length, modification time and inode of a file are those of the ingested one.
pub fn is_unchanged(facts: &SourceFacts, stamp: FileStamp) -> bool {
    let SourceFacts { size, mtime_ns, inode, .. } = *facts;
    facts.finished && stamp == FileStamp { size, mtime_ns, inode }
}
