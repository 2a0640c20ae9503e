//! Whether the disk has room for what is new in the sources, asked before anything is written.

use std::{fs, path::Path};

use tagq_ingest::{Settings, about_tags};
use tagq_store::Folder;

use crate::error::Error;

/// Bytes of a row: a time and a label. The index over it is less than a hundredth of that.
const ROW_BYTES: u64 = 9;
/// No recording takes so many times its length: with that much room nothing need be looked into.
const GROWTH_MAX: u64 = 64;

/// Whether the folder of the store has room for the rows of `new`: files, and from which byte on. Going by
/// the beginnings of files is no more than likely, so that it is refused only where not even three
/// quarters of what is expected fit; beyond that the disk itself says when it is full.
pub(crate) fn check<'a>(
    store: &Path,
    new: impl Iterator<Item = (&'a Path, Settings)>,
) -> Result<(), Error> {
    let Some(free) = Folder::open(store).ok().and_then(|folder| folder.free_bytes()) else {
        return Ok(());
    };
    let new: Vec<(&Path, Settings)> = new.collect();
    let len_of = |(path, settings): &(&Path, Settings)| {
        fs::metadata(path).map_or(0, |file| file.len().saturating_sub(settings.start_byte))
    };
    let len: u64 = new.iter().map(len_of).sum();
    if len.saturating_mul(GROWTH_MAX) <= free {
        return Ok(());
    }
    // What cannot be read is told by who takes it.
    let tags = new.iter().map(|(path, settings)| about_tags(path, settings).unwrap_or(0));
    let needed = tags.fold(0, u64::saturating_add).saturating_mul(ROW_BYTES);
    if is_too_much(needed, free) {
        return Err(Error::NoRoom { store: store.into(), needed, free });
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
