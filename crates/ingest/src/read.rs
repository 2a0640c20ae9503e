//! The tags of one file, as a stream, whatever its format and size.
//!
//! Whether a last member of gzip, xz or bzip2 is complete shows only after its tags were handed on. Tags are certain up
//! to the last checkpoint, and the error names the torn member, so that the caller can read again without it.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tagq_store::{Recording, Tag};

use crate::{
    error::Error,
    formats::format::{Complete, Decoded, ODD, Piece, Sink, Summary},
    payload::{Decoding, Payload},
    run_file::RunFile,
    settings::Settings,
    source_file::SourceFile,
};

/// Tags from which [`SourceFile::about_tags`] concludes: a hundredth of a second of reading.
const SAMPLE_TAGS: u64 = 1 << 20;

/// Hands all tags of the file at `path` to `sink`, in the order they stand in, in pieces of at most
/// 16,384. Memory is bounded whatever the file says.
///
/// # Errors
/// [`Error::NotTags`] for other files, [`Error::Line`] and [`Error::Columns`] for text that is no
/// tags, [`Error::Frame`] and [`Error::Message`] for damaged files,
/// [`Error::TornMessage`] when complete frames end inside a message: read again with
/// [`Settings::messages_max`] for what comes before. A torn last frame is no error.
pub fn read_tags(
    path: &Path,
    settings: &Settings,
    mut sink: impl FnMut(&[Tag]) -> Result<(), Error>,
) -> Result<Summary, Error> {
    read_recorded(path, settings, &mut Recording::default(), |part| match part.tags {
        [] => Ok(()),
        tags => sink(tags),
    })
}

/// Tags that follow each other in a file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Recorded<'a> {
    /// The tags; none only at the end.
    pub tags: &'a [Tag],
    /// The micro time of each tag, [`MICRO_NONE`](tagq_store::format::MICRO_NONE) for none; empty if none has one.
    pub micro: &'a [u32],
    /// Times without a record that were found since the part before: first and last time, and
    /// [`i64::MAX`] for one that has no end.
    pub dead: &'a [(i64, i64)],
}

/// Same as [`read_tags`], with everything else that the file says, which `recording` then holds.
///
/// # Errors
/// Same as [`read_tags`].
pub fn read_recorded(
    path: &Path,
    settings: &Settings,
    recording: &mut Recording,
    mut sink: impl FnMut(Recorded<'_>) -> Result<(), Error>,
) -> Result<Summary, Error> {
    let source = SourceFile::open(path)?;
    // Tags of a torn member could not be taken back.
    let torn_byte = Payload::find(&source.opened, settings, Decoding::Here)?.find_torn(settings)?;
    let settings = Settings { torn_byte: torn_byte.or(settings.torn_byte), ..settings.clone() };
    let mut beside = RunFile::beside(path, source.opened.size());
    *recording = beside.as_ref().map(|file| file.recording.clone()).unwrap_or_default();
    let (mut dead, mut edges) = (recording.dead.clone(), Recording::default());
    let mut latest = None;
    let summary = read_decoded(&source, &settings, Decoding::Tags, &mut |decoded| {
        match decoded {
            Decoded::Tags(Piece { tags, micro }) => {
                sink(Recorded { tags: &tags, micro: &micro, dead: &dead })?;
                dead.clear();
                latest = latest.max(tags.iter().map(|tag| tag.time).max());
            }
            Decoded::Recording(own, _) => {
                *recording = match beside.take() {
                    Some(beside) => beside.completing(*own),
                    None => *own,
                };
                dead.clone_from(&recording.dead);
            }
            Decoded::LeftOut(what, count) => add_left_out(recording, what, count),
            Decoded::Channel(label, name) => recording.channel_names.push((label, name)),
            Decoded::Dead(edge) => {
                edge.note(latest, &mut edges);
                for span in edges.dead.drain(..) {
                    dead.push(span);
                    recording.add_dead(span);
                }
            }
            Decoded::Rows(_) | Decoded::Complete(_) => {}
        }
        Ok(())
    })?;
    recording.dead_since = edges.dead_since;
    note_records(Some(recording), &summary);
    dead.extend(recording.dead_since.map(|since| (since, i64::MAX)));
    if !dead.is_empty() {
        sink(Recorded { tags: &[], micro: &[], dead: &dead })?;
    }
    Ok(summary)
}

/// Counts records that are no tags, or odd ones.
pub(crate) fn add_left_out(recording: &mut Recording, what: &str, records: u64) {
    let kinds = if ODD.contains(&what) { &mut recording.odd } else { &mut recording.left_out };
    match kinds.iter_mut().find(|(other, _)| other == what) {
        Some((_, sum)) => *sum += records,
        None => kinds.push((what.into(), records)),
    }
}

/// Notes how many records a file has, beside what its header says.
pub(crate) fn note_records(recording: Option<&mut Recording>, summary: &Summary) {
    if let Some(stated) = recording.and_then(|recording| recording.stated.as_mut()) {
        stated.records_found = summary.records;
    }
}

/// Hands what is decoded of a file to `sink`, see [`read_tags`]. A torn member that only decompression shows is
/// [`Error::TornMember`]. The tags before the last [`Decoded::Complete`] contain no tag of this member.
pub(crate) fn read_decoded(
    source: &SourceFile,
    settings: &Settings,
    decoding: Decoding,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    if settings.start_byte > 0 {
        let len = source.opened.size().saturating_sub(settings.start_byte);
        tagq_store::os::start_writing(&source.opened.file, settings.start_byte, len);
    }
    let payload = Payload::find(&source.opened, settings, decoding)?;
    let read = |sink: &mut Sink<'_>| match source.reader(&payload, settings.format)? {
        Some(reader) => reader.read(&payload, settings, sink),
        None => Ok(Summary::inside_header(&payload, settings)),
    };
    if !payload.may_be_torn() {
        return read(sink);
    }
    let mut certain = |decoded: Decoded<'_>| match decoded {
        // Tags of a member are certain at its end.
        Decoded::Complete(Complete { checkpoint: None, .. }) => Ok(()),
        decoded => sink(decoded),
    };
    read(&mut certain).map_err(|error| name_torn(source, settings, error))
}

/// Returns the error for a source whose reading ended in `error`: a fault in an incomplete member may be gone
/// when the member is complete.
pub(crate) fn name_torn(source: &SourceFile, settings: &Settings, error: Error) -> Error {
    if matches!(error, Error::Sink(_) | Error::Cancelled | Error::TornMember { .. }) {
        return error;
    }
    let payload = Payload::find(&source.opened, settings, Decoding::Here);
    match payload.and_then(|payload| payload.find_torn(settings)) {
        Ok(Some(start)) => Error::TornMember { path: source.opened.path.clone(), start },
        Ok(None) => error,
        Err(other) => other,
    }
}

impl SourceFile {
    /// Returns the time of the first tag, in ticks; `None` when it has none.
    /// `settings` say how text is to be read.
    pub fn first_time(&self, settings: &Settings) -> Result<Option<i64>, Error> {
        let mut first = None;
        let result = read_decoded(self, settings, Decoding::Here, &mut |decoded| match decoded {
            Decoded::Tags(Piece { tags, .. }) if !tags.is_empty() => {
                first = tags.first().map(|tag| tag.time);
                Err(Error::Sink(io::Error::other("enough")))
            }
            _ => Ok(()),
        });
        match result {
            Err(_) if first.is_some() => Ok(first),
            // The file ends inside its first message, so it has no complete tags.
            Ok(_) | Err(Error::TornMessage { .. }) => Ok(None),
            Err(Error::TornMember { start, .. }) => {
                self.first_time(&Settings { torn_byte: Some(start), ..settings.clone() })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns about how many tags the file has from [`Settings::start_byte`] on: those of its beginning, as
    /// often as that goes into its length. Of a short file, all are counted.
    ///
    /// # Errors
    /// As [`read_tags`], for files that begin like no tags.
    pub fn about_tags(&self, settings: &Settings) -> Result<u64, Error> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let settings = Settings { bytes_read: Some(Arc::clone(&bytes_read)), ..settings.clone() };
        let mut tags = 0;
        let result = read_decoded(self, &settings, Decoding::Here, &mut |decoded| match decoded {
            Decoded::Tags(_) if tags >= SAMPLE_TAGS => Err(Error::Sink(io::Error::other("enough"))),
            Decoded::Tags(more) => {
                tags += more.tags.len() as u64;
                Ok(())
            }
            _ => Ok(()),
        });
        match result {
            Err(_) if tags >= SAMPLE_TAGS => {}
            Err(error) if tags == 0 => return Err(error),
            // All tags, or all tags before the damage.
            _ => return Ok(tags),
        }
        let rest = u128::from(self.opened.size().saturating_sub(settings.start_byte));
        let read = u128::from(bytes_read.load(Ordering::Relaxed).max(1));
        Ok(u64::try_from(u128::from(tags) * rest / read).unwrap_or(u64::MAX))
    }
}
