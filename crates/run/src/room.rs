//! Checks the free disk space for new data of the sources and for new columns, before anything is written.
//!
//! If they need about 100 MB, 80 MB of free space give a note and 70 MB an error: the need is an estimate, so that only
//! less than three quarters of it stop the ingest.

use std::{fs, io, path::Path};

use tagq_ingest::{ClosedFile, Settings};
use tagq_store::{Folder, Manifest, VIEWS_NAME, os};

use crate::{error::Error, progress::Progress};

/// Bytes of a micro time, if tags have some.
const MICRO_BYTES: f64 = 2.0;
/// The rows of a recording never take more than this multiple of its size: with that much space the
/// check is skipped.
const GROWTH_MAX: u64 = 64;

/// Checks that the folder of the store, whose columns `manifest` lists, has space for the rows of `new`: files, and the
/// byte at which each one starts. The index, and in a new store the far distances, are not included. The estimate from
/// the beginnings of files is only approximate, so an error is returned only if not even three quarters of it fit. If
/// less than all of it fits, a note says so, and the disk itself reports when it is full.
pub fn check<'a>(
    store: &Path,
    manifest: &Manifest,
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
        let new_micro = if has_micro && !manifest.has_micro() { MICRO_BYTES } else { 0.0 };
        let tags = file.about_tags(settings).unwrap_or(0);
        bytes_of(tags, manifest.row_bytes() + new_micro)
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

/// Bytes that a change of the columns of times and gaps writes, before older files are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewColumns {
    /// The bytes that are written in any case.
    pub least: u64,
    /// The bytes that are written if every gap is too long for two bytes.
    pub most: u64,
}

impl NewColumns {
    /// Returns what is written to a store of this manifest to give it columns of times and of gaps, or not; `None` if
    /// the change writes nothing.
    pub fn of(manifest: &Manifest, times: Option<bool>, gaps: Option<bool>) -> Option<Self> {
        let row = |bytes: f64| bytes_of(manifest.rows, bytes);
        let is_dropped = manifest.has_times() && times == Some(false);
        let is_made = !manifest.has_times() && times == Some(true);
        let has_new_gaps = !manifest.has_gaps() && (is_dropped || gaps == Some(true));
        let mut least = if has_new_gaps { row(size_of::<u16>() as f64) } else { 0 };
        if is_made {
            least += row(size_of::<i64>() as f64);
        }
        let far = if is_dropped { row(size_of::<u32>() as f64) } else { 0 };
        (least + far > 0).then(|| Self { least, most: least + far })
    }

    /// Checks that the folder of the store has space for them, and says how much they take.
    ///
    /// # Errors
    /// [`Error::NoRoomForColumns`]
    pub fn check(self, store: &Path, progress: &dyn Progress) -> Result<(), Error> {
        let Self { least, most } = self;
        let free = Folder::open(store).ok().and_then(|folder| folder.free_bytes());
        if let Some(free) = free.filter(|&free| free < least) {
            return Err(Error::NoRoomForColumns { store: store.into(), needed: least, free });
        }
        let store = store.display();
        progress.note(&match (least, most) {
            (0, most) => format!("{store}: writes up to {} of new columns", amount(most)),
            (least, most) if least < most => {
                format!("{store}: writes {} to {} of new columns", amount(least), amount(most))
            }
            (least, _) => format!("{store}: writes {} of new columns", amount(least)),
        });
        Ok(())
    }
}

/// Returns the disk usage of a store in bytes, including cached results, without its views.
///
/// # Errors
/// [`Error::Io`]
pub(crate) fn store_bytes(store: &Path) -> Result<u64, Error> {
    bytes_below(store).map_err(|source| Error::Io {
        path: store.into(),
        action: "look at the files of this store",
        source,
    })
}

fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            // Another process has replaced the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        bytes += os::disk_bytes(&metadata);
        if metadata.is_dir() && entry.file_name() != VIEWS_NAME {
            bytes += bytes_below(&entry.path())?;
        }
    }
    Ok(bytes)
}

/// Writes a number of bytes with a unit and one digit after the point.
pub(crate) fn amount(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let unit = units.into_iter().find(|&(_, size)| bytes as f64 >= size);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, size)| format!("{:.1} {unit}", bytes as f64 / size),
    )
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn bytes_of(rows: u64, row: f64) -> u64 {
    (rows as f64 * row) as u64
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
