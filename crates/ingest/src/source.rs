//! One source into the store.

use std::{
    fs::{self, File, Metadata},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use tagq_store::{SourceFacts, Writer};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Error, Settings, Summary,
    error::io_error,
    order::{Columns, HORIZON, Order, Refused},
    read::read_tags,
};

/// Length of the two pieces by which a source is known again.
const PIECE_BYTES: u64 = 64 * 1024;

/// Appends the tags of the file at `path` to `writer`, put in order of time, and lists the source
/// as `name`. Nothing is visible or durable before the writer commits.
///
/// # Errors
/// Those of [`read_tags`] and of the store. After an error the writer holds a part of the source:
/// drop it.
pub fn ingest(
    path: &Path,
    name: &str,
    settings: &Settings,
    writer: &mut Writer,
) -> Result<Summary, Error> {
    let metadata = fs::metadata(path).map_err(io_error(path, "read the length of"))?;
    writer.begin_source();
    let mut order = Order::new(HORIZON);
    let mut refused = None;
    let mut release = |columns: &Columns| Ok(writer.append(&columns.time, &columns.channel)?);
    let read = read_tags(path, settings, |tags| {
        order.push(tags, &mut release).map_err(|error| match error {
            Failure::Refused(reason) => {
                refused = Some(reason);
                Error::Sink(std::io::ErrorKind::InvalidData.into())
            }
            Failure::Store(error) => error.into(),
        })
    });
    if let Some(reason) = refused {
        return Err(name_refused(path, reason));
    }
    let summary = read?;
    order.finish(release).map_err(|error: Failure| match error {
        Failure::Refused(reason) => name_refused(path, reason),
        Failure::Store(error) => error.into(),
    })?;
    let file = File::open(path).map_err(io_error(path, "open"))?;
    let piece = |start: u64, end: u64| -> Result<String, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "at most 64 KiB")]
        let mut bytes = vec![0; (end - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(io_error(path, "read"))?;
        Ok(hex(xxh3_64(&bytes)))
    };
    let resume = summary.resume_byte;
    writer.finish_source(SourceFacts {
        name: name.into(),
        size: summary.size,
        mtime_ns: mtime_ns(&metadata),
        inode: metadata.ino(),
        head_xxh3: piece(0, summary.size.min(PIECE_BYTES))?,
        tail_xxh3: piece(resume.saturating_sub(PIECE_BYTES), resume)?,
        whole_xxh3: summary.xxh3.map(hex),
        resume_byte: resume,
        read_byte: resume,
        cut_time: None,
        reordered: order.reordered,
        checksummed: summary.checksummed,
        torn: summary.torn.clone(),
    });
    Ok(summary)
}

/// Whether the file at `path` is, by length, modification time and inode, the one that was taken.
pub fn is_unchanged(facts: &SourceFacts, metadata: &Metadata) -> bool {
    (facts.size, facts.mtime_ns, facts.inode)
        == (metadata.len(), mtime_ns(metadata), metadata.ino())
}

enum Failure {
    Refused(Refused),
    Store(tagq_store::Error),
}

impl From<Refused> for Failure {
    fn from(reason: Refused) -> Self {
        Self::Refused(reason)
    }
}

impl From<tagq_store::Error> for Failure {
    fn from(error: tagq_store::Error) -> Self {
        Self::Store(error)
    }
}

fn name_refused(path: &Path, reason: Refused) -> Error {
    let path = path.to_path_buf();
    match reason {
        Refused::Channel { number, channel } => Error::Channel { path, number, channel },
        Refused::Late { number, time, after } => {
            Error::Late { path, number, time, after, horizon: HORIZON }
        }
    }
}

fn mtime_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
