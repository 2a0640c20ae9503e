//! What a format must do to be compared.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use tagq_store::Tag;

use crate::{
    Result,
    compression::Compression,
    source::TagReader,
    walk::{Counts, Walk},
};

/// Takes tags batch by batch.
pub type Sink<'a> = dyn FnMut(&[Tag]) -> Result<()> + 'a;

/// A way to keep tags in a file or a folder.
pub trait Format: Sync {
    /// A short name, for filters and tables.
    fn name(&self) -> &'static str;

    /// The library with its version, and the settings of the encoder.
    fn settings(&self) -> String;

    /// The compressions that make sense.
    fn compressions(&self) -> Compressions {
        Compressions::every()
    }

    /// Writes all tags, and returns when they are on the disk.
    fn write(&self, path: &Path, compression: Compression, tags: &mut TagReader) -> Result<()>;

    /// Reads all tags back.
    fn read(&self, path: &Path, compression: Compression, sink: &mut Sink<'_>) -> Result<()>;

    /// The format of single messages; `None` if it has none.
    fn message(&self) -> Option<&dyn Message> {
        None
    }

    /// Whether single tags can be found in an uncompressed file without reading all of it.
    fn access(&self) -> Access;

    /// Opens an uncompressed file for look-ups and scans in place. Formats with [`Access::Refused`] fail.
    fn open(&self, path: &Path) -> Result<Box<dyn Rows>> {
        let Access::Refused(reason) = self.access() else {
            return Err(format!("{}: cannot be opened", self.name()).into());
        };
        Err(format!("{} at {}: {reason}", self.name(), path.display()).into())
    }
}

/// The compressions that make sense for a format.
pub struct Compressions {
    /// Those that are measured.
    pub measured: &'static [Compression],
    /// Why others are not.
    pub reason: &'static str,
}

impl Compressions {
    /// All compressions.
    pub fn every() -> Self {
        Self { measured: &Compression::ALL, reason: "" }
    }
}

/// How single tags of a file are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// In the mapped bytes.
    InPlace(&'static str),
    /// By decoding a block.
    ByBlock(&'static str),
    /// Not without reading the file from its start.
    Refused(&'static str),
}

/// An uncompressed file that is open for look-ups and scans.
pub trait Rows: Sync {
    /// Returns the first tag at or after `time`.
    fn first_at(&self, time: i64) -> Result<Option<Tag>>;

    /// Hands the first tag at or after each time to `sink`.
    fn find(&self, times: &[i64], sink: &mut dyn FnMut(Option<Tag>)) -> Result<()> {
        for &time in times {
            sink(self.first_at(time)?);
        }
        Ok(())
    }

    /// Counts all tags by a plain walk.
    fn scan(&self, walk: &mut Walk) -> Result<()>;

    /// Counts by the format's own queries; `None` if it has none.
    fn query(&self, _window: i64) -> Option<Result<Counts>> {
        None
    }
}

/// A message that holds a batch of tags.
pub trait Message: Sync {
    /// Appends a message with these tags.
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()>;

    /// Appends the tags of a message.
    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()>;
}

/// Returns the bytes of a file, or of all files of a folder.
pub fn len_bytes(path: &Path) -> io::Result<u64> {
    let mut len = 0;
    each_file(path, &mut |_, bytes| {
        len += bytes;
        Ok(())
    })?;
    Ok(len)
}

/// Removes the pages of a file, or of all files of a folder, from the memory of the system.
pub fn drop_pages(path: &Path) -> io::Result<()> {
    each_file(path, &mut |path, _| {
        let file = File::open(path)?;
        // Only pages that are on the disk can be dropped.
        file.sync_all()?;
        Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
    })
}

/// Removes a file or a folder, if it is there.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn each_file(path: &Path, visit: &mut dyn FnMut(&Path, u64) -> io::Result<()>) -> io::Result<()> {
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        return visit(path, about.len());
    }
    fs::read_dir(path)?.try_for_each(|entry| each_file(&entry?.path(), visit))
}
