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
    input::hash_of,
    order::{Columns, HORIZON, Order, Refused},
    read::read_tags,
};

/// Length of the two pieces by which a source is known again.
const PIECE_BYTES: u64 = 64 * 1024;

/// What to take of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it; its times are moved by so many ticks.
    Whole {
        /// Ticks added to every time, for a counter that started anew.
        rebase: Option<i64>,
    },
    /// What came behind the rows that the store holds. It is the source finished last.
    Rest,
}

/// Appends tags of the file at `path` to `writer`, put in order of time, and lists the source as
/// `name`. Nothing is visible or durable before the writer commits.
///
/// # Errors
/// Those of [`read_tags`] and of the store. After an error the writer holds a part of the source:
/// drop it.
pub fn ingest(
    path: &Path,
    name: &str,
    part: Part,
    settings: &Settings,
    writer: &mut Writer,
) -> Result<Summary, Error> {
    let metadata = fs::metadata(path).map_err(io_error(path, "read the length of"))?;
    let mut facts = SourceFacts::named(name);
    let mut order = Order::new(HORIZON);
    let mut settings = settings.clone();
    match part {
        Part::Whole { rebase } => {
            writer.begin_source();
            facts.rebased = rebase;
            facts.checksummed = true;
        }
        Part::Rest => {
            facts = writer.continue_source().unwrap_or(facts);
            facts.name = name.into();
            settings.start_byte = facts.resume_byte;
            // What is committed stays as it is: a tag that belongs before it comes too late.
            order.after(writer.span().map(|(_, last)| last - facts.rebased.unwrap_or(0)));
        }
    }
    let rebased = facts.rebased.unwrap_or(0);
    let summary = append_ordered(path, &settings, order, rebased, writer, &mut facts)?;
    let is_rest = settings.start_byte > 0;
    facts.size = summary.size;
    facts.mtime_ns = mtime_ns(&metadata);
    facts.inode = metadata.ino();
    facts.salvaged = settings.salvage && summary.torn.is_some() || summary.is_beyond;
    facts.resume_byte = if facts.salvaged { summary.size } else { summary.resume_byte };
    let file = File::open(path).map_err(io_error(path, "open"))?;
    (facts.head_xxh3, facts.tail_xxh3) = pieces(&file, path, facts.resume_byte)?;
    facts.whole_xxh3 = summary.xxh3.filter(|_| !is_rest).map(hex);
    facts.checksummed &= summary.checksummed;
    facts.torn.clone_from(&summary.torn);
    writer.finish_source(facts);
    Ok(summary)
}

/// Reads, puts in order, appends.
fn append_ordered(
    path: &Path,
    settings: &Settings,
    mut order: Order,
    rebased: i64,
    writer: &mut Writer,
    facts: &mut SourceFacts,
) -> Result<Summary, Error> {
    let mut moved = Vec::new();
    let mut release = |columns: &Columns| {
        if rebased == 0 {
            return Ok(writer.append(&columns.time, &columns.channel)?);
        }
        moved.clear();
        for &time in &columns.time {
            moved.push(time.checked_add(rebased).ok_or(Failure::Rebase { time })?);
        }
        Ok(writer.append(&moved, &columns.channel)?)
    };
    let mut failure = None;
    let read = read_tags(path, settings, |tags| {
        order.push(tags, &mut release).map_err(|error: Failure| {
            failure = Some(error);
            Error::Sink(std::io::ErrorKind::InvalidData.into())
        })
    });
    if let Some(failure) = failure {
        return Err(failure.name(path));
    }
    let summary = read?;
    order.finish(release).map_err(|failure: Failure| failure.name(path))?;
    facts.reordered += order.reordered;
    Ok(summary)
}

/// Hashes of the first and of the last 64 KiB before `end`.
fn pieces(file: &File, path: &Path, end: u64) -> Result<(String, String), Error> {
    let piece = |start: u64, end: u64| -> Result<String, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "at most 64 KiB")]
        let mut bytes = vec![0; (end - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(io_error(path, "read"))?;
        Ok(hex(xxh3_64(&bytes)))
    };
    Ok((piece(0, end.min(PIECE_BYTES))?, piece(end.saturating_sub(PIECE_BYTES), end)?))
}

/// How a file stands to what was taken of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is the same, as far as its length and the hashes of its pieces tell.
    None,
    /// More came behind what was taken.
    Grown,
    /// It is another file.
    Other,
}

/// Compares the file at `path` with what was taken of it. Reads 128 KiB at most.
///
/// # Errors
/// When it cannot be read.
pub fn compare(facts: &SourceFacts, path: &Path) -> Result<Change, Error> {
    let file = File::open(path).map_err(io_error(path, "open"))?;
    let len = file.metadata().map_err(io_error(path, "read the length of"))?.len();
    if len < facts.resume_byte {
        return Ok(Change::Other);
    }
    let (head, tail) = pieces(&file, path, facts.resume_byte)?;
    if (head, tail) != (facts.head_xxh3.clone(), facts.tail_xxh3.clone()) {
        return Ok(Change::Other);
    }
    let is_same = len == facts.size && (facts.torn.is_none() || facts.salvaged);
    Ok(if is_same {
        Change::None
    } else if facts.salvaged {
        // What was salvaged may end inside a tag, a message or a frame.
        Change::Other
    } else {
        Change::Grown
    })
}

/// Whether the file at `path` still has the hash that it had when it was taken in one go; nothing
/// when there is no such hash.
///
/// # Errors
/// When it cannot be read.
pub fn is_intact(facts: &SourceFacts, path: &Path) -> Result<Option<bool>, Error> {
    let Some(expected) = &facts.whole_xxh3 else { return Ok(None) };
    let file = File::open(path).map_err(io_error(path, "open"))?;
    let len = file.metadata().map_err(io_error(path, "read the length of"))?.len();
    if len < facts.resume_byte {
        return Ok(Some(false));
    }
    let found = hash_of(&file, facts.resume_byte).map_err(io_error(path, "read"))?;
    Ok(Some(hex(found) == *expected))
}

/// Whether the file at `path` is, by length, modification time and inode, the one that was taken.
pub fn is_unchanged(facts: &SourceFacts, metadata: &Metadata) -> bool {
    (facts.size, facts.mtime_ns, facts.inode)
        == (metadata.len(), mtime_ns(metadata), metadata.ino())
}

enum Failure {
    Refused(Refused),
    Rebase { time: i64 },
    Store(tagq_store::Error),
}

impl Failure {
    fn name(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Refused(Refused::Channel { number, channel }) => {
                Error::Channel { path, number, channel }
            }
            Self::Refused(Refused::Late { number, time, after }) => {
                Error::Late { path, number, time, after, horizon: HORIZON }
            }
            Self::Rebase { time } => Error::Rebase { path, time },
            Self::Store(error) => error.into(),
        }
    }
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

fn mtime_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
