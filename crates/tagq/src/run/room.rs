//! Checks the free disk space for new data of the sources, before anything is written.

use std::{fs, path::Path};

use tagq_ingest::{ClosedFile, Settings};
use tagq_store::Folder;

use crate::{error::Error, progress::Progress};

/// Bytes of a row: a time, a label and a gap. The index over it is less than a hundredth of that.
const ROW_BYTES: u64 = 11;
/// Bytes of a micro time, if tags have some.
const MICRO_BYTES: u64 = 2;
/// The rows of a recording never take more than this multiple of its size: with that much space the
/// check is skipped.
const GROWTH_MAX: u64 = 64;

/// Checks that the folder of the store has space for the rows of `new`: files, and the byte at which
/// each one starts. The estimate from the beginnings of files is only approximate, so an error is
/// returned only if not even three quarters of it fit. If less than all of it fits, a note says so, and the disk itself
/// reports when it is full.
pub(crate) fn check<'a>(
    store: &Path,
    new: impl Iterator<Item = (&'a ClosedFile, Settings)>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let Some(free) = Folder::open(store).ok().and_then(|folder| folder.free_bytes()) else {
        return Ok(());
    };
    let new: Vec<(&ClosedFile, Settings)> = new.collect();
    let len_of = |(file, settings): &(&ClosedFile, Settings)| {
        fs::metadata(file.path()).map_or(0, |file| file.len().saturating_sub(settings.start_byte))
    };
    let len: u64 = new.iter().map(len_of).sum();
    if len.saturating_mul(GROWTH_MAX) <= free {
        return Ok(());
    }
    // Files that cannot be read are reported later by ingest.
    let bytes = new.iter().map(|(file, settings)| {
        let Ok(file) = file.open() else { return 0 };
        let header = file.header(settings).ok().flatten();
        let has_micro = header.is_some_and(|header| header.micro_tick.is_some());
        let row = ROW_BYTES + if has_micro { MICRO_BYTES } else { 0 };
        file.about_tags(settings).unwrap_or(0).saturating_mul(row)
    });
    let needed = bytes.fold(0, u64::saturating_add);
    if is_too_much(needed, free) {
        return Err(Error::NoRoom { store: store.into(), needed, free });
    }
    if needed > free {
        progress.note(&format!(
            "{}: may have no room for its new sources: going by how they begin, they take about {} MB, and {} MB \
             are free",
            store.display(),
            needed.div_ceil(1_000_000),
            free / 1_000_000
        ));
    }
    Ok(())
}

fn is_too_much(needed: u64, free: u64) -> bool {
    needed / 4 * 3 > free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_of_what_is_expected_must_fit() {
        for (needed, free, refused) in
            [(0, 0, false), (400, 300, false), (404, 302, true), (u64::MAX, u64::MAX / 2, true)]
        {
            assert_eq!(is_too_much(needed, free), refused, "{needed} of {free}");
        }
    }
}
