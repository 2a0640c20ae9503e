//! The tags of a file, passed on as they are read.
//!
//! If the file ends inside a message, the tags of the complete messages before it are written, and the result says so.

use std::path::Path;

use tagq_ingest::{Error as FilesError, HeldCounts, Settings, read_recorded, write::TagSink};
use tagq_store::Recording;

use crate::error::Error;

/// Passes the tags of a file on. Returns their number, and what was left out at the end.
pub(super) fn write(
    path: &Path,
    settings: &Settings,
    recording: &mut Recording,
    sink: &mut dyn TagSink,
) -> Result<(u64, Option<String>), Error> {
    let mut taken = 0;
    let summary = read_recorded(path, settings, recording, |part| {
        settings.check_wanted()?;
        taken += part.tags.len() as u64;
        for &(first, last) in part.dead {
            sink.dead(first, last);
        }
        sink.push(part.tags, part.micro).map_err(FilesError::Sink)
    });
    match summary {
        Ok(_) if HeldCounts::are_in(recording) => Err(Error::NoTags { path: path.into() }),
        Ok(summary) => Ok((summary.tags, summary.torn)),
        // All complete messages before the torn one are already written.
        Err(FilesError::TornMessage { message, .. }) => {
            Ok((taken, Some(format!("ends inside message {message}"))))
        }
        Err(error) => Err(error.into()),
    }
}
