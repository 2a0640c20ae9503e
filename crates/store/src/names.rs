//! The names of the files of a store (docs/format.md). A writer makes no others, and removes no others: files of the
//! user in the folder of a store stay.

use crate::{MANIFEST_NAME, disk::UNFINISHED, files::FileKind};

/// The file that the writer locks.
pub(crate) const LOCK_NAME: &str = "lock";
/// The folder of cached results, which is no part of the run.
pub(crate) const CACHE_NAME: &str = "cache";
/// The folder of views, which are stores made from the rows, and no part of the run.
pub const VIEWS_NAME: &str = "views";

/// Whether a file of this name is one that a writer makes.
pub(crate) fn is_of_store(name: &str) -> bool {
    name == LOCK_NAME
        || name == MANIFEST_NAME
        || name.strip_suffix(UNFINISHED) == Some(MANIFEST_NAME)
        || FileKind::all().any(|kind| kind.layout().has_name(name))
}
