//! The tags of one file, as a stream, whatever its format and size.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tagq_store::Tag;

use crate::{
    error::Error,
    foreign,
    formats::{
        self,
        format::{Complete, Decoded, Format, Header, Piece, Sink, Summary},
        name::FormatName,
    },
    payload::{Decoding, Payload, opened::Opened},
    settings::Settings,
};

/// Tags from which [`about_tags`] concludes: a hundredth of a second of reading.
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
    read_tags_with_micro(path, settings, |tags, _| sink(tags))
}

/// Same as [`read_tags`], with the micro time of each tag,
/// [`MICRO_NONE`](tagq_store::format::MICRO_NONE) for none; empty if none of a piece has one.
///
/// # Errors
/// Same as [`read_tags`].
pub fn read_tags_with_micro(
    path: &Path,
    settings: &Settings,
    mut sink: impl FnMut(&[Tag], &[u32]) -> Result<(), Error>,
) -> Result<Summary, Error> {
    let source = Opened::new(path)?;
    // Tags of a torn member could not be taken back.
    let torn_byte = Payload::find(&source, settings, Decoding::Here)?.find_torn(settings)?;
    let settings = Settings { torn_byte: torn_byte.or(settings.torn_byte), ..settings.clone() };
    read_decoded(&source, &settings, Decoding::Tags, &mut |decoded| match decoded {
        Decoded::Tags(Piece { tags, micro }) => sink(tags, micro),
        _ => Ok(()),
    })
}

/// Hands what is decoded of a file to `sink`, see [`read_tags`]. A torn member that only decompression shows is
/// [`Error::TornMember`]. The tags before the last [`Decoded::Complete`] contain no tag of this member.
pub(crate) fn read_decoded(
    source: &Opened,
    settings: &Settings,
    decoding: Decoding,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    if settings.start_byte > 0 {
        let len = source.size().saturating_sub(settings.start_byte);
        tagq_store::start_writing(&source.file, settings.start_byte, len);
    }
    let payload = Payload::find(source, settings, decoding)?;
    if !payload.may_be_torn() {
        return format_of(&payload, &payload.start()?, settings.format)?
            .read(&payload, settings, sink);
    }
    let mut certain = |decoded: Decoded<'_>| match decoded {
        // Tags of a member are certain at its end.
        Decoded::Complete(Complete { checkpoint: None, .. }) => Ok(()),
        decoded => sink(decoded),
    };
    let format = format_of(&payload, &payload.start()?, settings.format);
    let result = format.and_then(|format| format.read(&payload, settings, &mut certain));
    result.map_err(|error| name_torn(source, settings, error))
}

/// Returns the error for a source whose reading ended in `error`: a fault in an incomplete member may be gone
/// when the member is complete.
pub(crate) fn name_torn(source: &Opened, settings: &Settings, error: Error) -> Error {
    if matches!(error, Error::Sink(_) | Error::Cancelled | Error::TornMember { .. }) {
        return error;
    }
    let payload = Payload::find(source, settings, Decoding::Here);
    match payload.and_then(|payload| payload.find_torn(settings)) {
        Ok(Some(start)) => Error::TornMember { path: source.path.clone(), start },
        Ok(None) => error,
        Err(other) => other,
    }
}

fn format_of(
    payload: &Payload<'_>,
    start: &[u8],
    told: Option<FormatName>,
) -> Result<&'static dyn Format, Error> {
    let told = told.and_then(formats::of_name).or_else(|| formats::of_beside(payload.path));
    if let Some(told) = told {
        return Ok(told);
    }
    foreign::check(payload.path, start, payload.members())?;
    formats::of_start(start).ok_or_else(|| payload.not_tags(start))
}

/// Returns the header of a file with zeros in place of what changes when a measurement ends; empty for other
/// files, and for those whose header cannot be read.
pub(crate) fn lasting_head(source: &Opened) -> Result<Vec<u8>, Error> {
    let payload = Payload::begin(source)?;
    if payload.is_compressed() {
        return Ok(Vec::new());
    }
    let format = formats::of_start(&payload.start()?);
    Ok(format.and_then(|format| format.lasting_head(&payload).ok()).unwrap_or_default())
}

/// Reads the header of the file at `path`, which has this format if one is given; `None` when the file holds
/// nothing yet.
///
/// # Errors
/// [`Error::NotTags`] and [`Error::Foreign`] for other files.
pub fn read_header(path: &Path, format: Option<FormatName>) -> Result<Option<Header>, Error> {
    let source = Opened::new(path)?;
    let payload = Payload::begin(&source)?;
    let start = payload.start()?;
    if start.is_empty() {
        return Ok(None);
    }
    format_of(&payload, &start, format)?.header(&payload)
}

/// The time of the first tag of a file, in ticks; `None` when it has none.
/// `settings` say how text is to be read.
pub fn first_time(path: &Path, settings: &Settings) -> Result<Option<i64>, Error> {
    let mut first = None;
    let source = Opened::new(path)?;
    let result = read_decoded(&source, settings, Decoding::Here, &mut |decoded| match decoded {
        Decoded::Tags(Piece { tags: [tag, ..], .. }) => {
            first = Some(tag.time);
            Err(Error::Sink(io::Error::other("enough")))
        }
        _ => Ok(()),
    });
    match result {
        Err(_) if first.is_some() => Ok(first),
        // The file ends inside its first message: what is complete has no tags.
        Ok(_) | Err(Error::TornMessage { .. }) => Ok(None),
        Err(Error::TornMember { start, .. }) => {
            first_time(path, &Settings { torn_byte: Some(start), ..settings.clone() })
        }
        Err(error) => Err(error),
    }
}

/// About how many tags the file at `path` has from [`Settings::start_byte`] on: those of its beginning, as
/// often as that goes into its length. Of a short file, all are counted.
///
/// # Errors
/// As [`read_tags`], for files that begin like no tags.
pub fn about_tags(path: &Path, settings: &Settings) -> Result<u64, Error> {
    let bytes_read = Arc::new(AtomicU64::new(0));
    let settings = Settings { bytes_read: Some(Arc::clone(&bytes_read)), ..settings.clone() };
    let mut tags = 0;
    let source = Opened::new(path)?;
    let result = read_decoded(&source, &settings, Decoding::Here, &mut |decoded| match decoded {
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
        // All that there is, or all before what is damaged.
        _ => return Ok(tags),
    }
    let rest = u128::from(source.size().saturating_sub(settings.start_byte));
    let read = u128::from(bytes_read.load(Ordering::Relaxed).max(1));
    Ok(u64::try_from(u128::from(tags) * rest / read).unwrap_or(u64::MAX))
}
