//! Errors of a source: the problem, the place and the fix.

use std::{io, path::PathBuf};

use crate::formats::text::{columns::TextColumns, fields::LineFault};

/// An error of reading or writing tag files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// The file in question.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is neither Cap'n Proto tags nor text, nor one of these compressed.
    #[error("{path}: no tag file: {found}", path = path.display())]
    NotTags {
        /// The file.
        path: PathBuf,
        /// The content found, and the fix.
        found: String,
    },
    /// The file is of another program.
    #[error("{path}: no tag file: it is {kind}; {way}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: String,
        /// How its tags can be read all the same.
        way: &'static str,
    },
    /// A table cannot be read: not the one that it says it is.
    #[error(
        "{path}: damaged: {what}; fetch the file again from where it was written",
        path = path.display()
    )]
    DamagedTable {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// A table holds no tags that can be read.
    #[error("{path}: {what}", path = path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why, and the fix.
        what: String,
    },
    /// The file was changed while it was read.
    #[error(
        "{path}: was changed while it was read; try again when no other program changes it",
        path = path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The header of an instrument's file cannot be read.
    #[error("{path}: the header is damaged, or of a newer program: {what}", path = path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// A time of a file leaves 64 bits.
    #[error(
        "{path}: a time leaves 64 bits; the overflow records of the file are damaged",
        path = path.display()
    )]
    TimeRange {
        /// The file.
        path: PathBuf,
    },
    /// The file became shorter while it was read.
    #[error(
        "{path}: became shorter while it was read; try again when no other program changes it",
        path = path.display()
    )]
    Shrunk {
        /// The file.
        path: PathBuf,
    },
    /// The bytes after a complete member of a compressed file begin no other one.
    #[error(
        "{path}: byte {byte}: after {before} complete {members} comes something else ({found}); cut the \
         file there (`head -c {byte}`) to use what comes before",
        path = path.display()
    )]
    Garbage {
        /// The file.
        path: PathBuf,
        /// Where it begins.
        byte: u64,
        /// Complete members before it.
        before: usize,
        /// The word for such members: `Zstandard frames`.
        members: &'static str,
        /// Its first bytes.
        found: String,
    },
    /// A member of a compressed file cannot be decompressed.
    #[error(
        "{path}: damaged: {kind} {number} (bytes {start} to {end}) cannot be decompressed: {source}; \
         fetch the file again from where it was recorded, or `head -c {start}` to use what comes \
         before",
        path = path.display()
    )]
    Frame {
        /// The file.
        path: PathBuf,
        /// The word for a member: `frame`, `gzip member`.
        kind: &'static str,
        /// Which one, from 1.
        number: usize,
        /// Its first byte.
        start: u64,
        /// The byte after the part of the member that was read.
        end: u64,
        /// The error of the decompressor.
        source: io::Error,
    },
    /// A member was compressed in a way that takes more than it gets here.
    #[error("{path}: {kind} {number} {source}", path = path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The word for a member: `frame`, `gzip member`.
        kind: &'static str,
        /// Which one, from 1.
        number: usize,
        /// The need, and the fix.
        source: io::Error,
    },
    /// The last member of a compressed file is not complete, though tags in it were handed on. Read the file
    /// again with [`Settings::torn_byte`](crate::Settings::torn_byte).
    #[error("{path}: the file ends inside the member that begins at byte {start}", path = path.display())]
    TornMember {
        /// The file.
        path: PathBuf,
        /// Its first byte.
        start: u64,
    },
    /// A message is not what the schema says.
    #[error(
        "{path}: damaged: message {message}, word {word}: {reason}; is it a tag file of another \
         schema, or damaged? (`capnp decode tags.capnp Tags` shows what another program makes of it)",
        path = path.display()
    )]
    Message {
        /// The file.
        path: PathBuf,
        /// Which message of the stream, from 1.
        message: u64,
        /// The word of the message at which the fault was seen.
        word: u64,
        /// The reason.
        reason: &'static str,
    },
    /// The data end inside a message whose frames are complete.
    #[error("{path}: the file ends inside message {message}", path = path.display())]
    TornMessage {
        /// The file.
        path: PathBuf,
        /// Which message, from 1.
        message: u64,
    },
    /// A line of text is no tag.
    #[error("{path}: line {line}: \"{text}\" is no tag: {fault}{fix}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// Its beginning, escaped.
        text: String,
        /// The reason.
        fault: LineFault,
        /// The option that reads the line, in words that follow the reason; empty if none is known.
        fix: String,
    },
    /// The header of a text contradicts the columns given.
    #[error(
        "{path}: line {line}: the header says {header}, and --columns {given}; leave --columns out",
        path = path.display()
    )]
    Columns {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// The columns in the header.
        header: TextColumns,
        /// The columns given.
        given: TextColumns,
    },
    /// Times that are floats in a unit cannot become ticks.
    #[error(
        "{path}: its times are floats in a unit, and the tick to which they are rounded is not known; give it, as in \
         `--tick 1ps`",
        path = path.display()
    )]
    NoTick {
        /// The file.
        path: PathBuf,
    },
    /// Sources of a run name their channels in different ways.
    #[error(
        "{path}: {what}; make two runs of them, or write the same numbers into both",
        path = path.display()
    )]
    ChannelNames {
        /// The file.
        path: PathBuf,
        /// Which channel, and how both call it.
        what: String,
    },
    /// A channel label is larger than a store holds.
    #[error(
        "{path}: tag {number}: channel {channel} is above 65535, the largest that a store holds; \
         is the file damaged, or a text with the time first (--columns time,channel)?",
        path = path.display()
    )]
    Channel {
        /// The file.
        path: PathBuf,
        /// Which tag of the file, from 1.
        number: u64,
        /// Its label.
        channel: u64,
    },
    /// A tag comes much later in the file than its time says.
    #[error(
        "{path}: tag {number} ({time} ticks) comes more than {horizon} tags too late to be put in \
         order (tags up to {after} ticks are written); are these several recordings in one file, \
         or did a counter restart? Split the file there",
        path = path.display()
    )]
    Late {
        /// The file.
        path: PathBuf,
        /// Which tag of the file, from 1.
        number: u64,
        /// Its time in ticks.
        time: i64,
        /// The last time that stands before it in ticks.
        after: i64,
        /// Tags within which order is repaired.
        horizon: usize,
    },
    /// A record belongs one period of its counter earlier, as the ones after it show, and an earlier reading took it as
    /// it stands.
    #[error(
        "{path}: the records that were added show that a tag which was ingested at {time} ticks came one period of the counter earlier",
        path = path.display()
    )]
    LateRecord {
        /// The file.
        path: PathBuf,
        /// Its time in ticks, as it was ingested.
        time: i64,
    },
    /// A time moved to the end of the run leaves 64 bits.
    #[error(
        "{path}: a tag at {time} ticks cannot be put past the end of the run: its time would \
         leave 64 bits",
        path = path.display()
    )]
    Rebase {
        /// The file.
        path: PathBuf,
        /// A time of the file in ticks.
        time: i64,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] tagq_store::Error),
    /// The receiver of the tags refused them.
    #[error("cannot write: {0}")]
    Sink(#[source] io::Error),
    /// The caller cancelled it.
    #[error("interrupted; what was committed stays, and the next ingest goes on from there")]
    Cancelled,
}

impl Error {
    /// The same error of a file at `old` that a person knows as `new`.
    #[must_use]
    pub fn renamed(mut self, old: &std::path::Path, new: &std::path::Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::NotTags { path, .. }
            | Self::Foreign { path, .. }
            | Self::DamagedTable { path, .. }
            | Self::Table { path, .. }
            | Self::Changed { path }
            | Self::Header { path, .. }
            | Self::TimeRange { path }
            | Self::Shrunk { path }
            | Self::Garbage { path, .. }
            | Self::Frame { path, .. }
            | Self::Message { path, .. }
            | Self::Unsupported { path, .. }
            | Self::TornMember { path, .. }
            | Self::TornMessage { path, .. }
            | Self::Line { path, .. }
            | Self::Columns { path, .. }
            | Self::NoTick { path }
            | Self::ChannelNames { path, .. }
            | Self::Channel { path, .. }
            | Self::Late { path, .. }
            | Self::LateRecord { path, .. }
            | Self::Rebase { path, .. }
                if path == old =>
            {
                new.clone_into(path);
            }
            _ => {}
        }
        self
    }

    /// Whether the bytes of a source or store are damaged (as against absent or out of reach).
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Frame { .. }
            | Self::Message { .. }
            | Self::Garbage { .. }
            | Self::Line { .. }
            | Self::TornMember { .. }
            | Self::TornMessage { .. }
            | Self::Header { .. }
            | Self::DamagedTable { .. }
            | Self::TimeRange { .. } => true,
            Self::Store(error) => error.is_damage(),
            _ => false,
        }
    }
}

/// The error for a refused `action` on `path`.
pub(crate) fn io_error(
    path: &std::path::Path,
    action: &'static str,
) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}
