//! One folder for each input format. A format is a member of [`FORMATS`] and stands nowhere else: its content
//! tells it, and the ends of names only say which files of a folder are sources.

pub(crate) mod format;
pub(crate) mod tags;
pub mod text;

use format::Format;

/// The input formats, in the order in which they are asked whether a file is theirs.
const FORMATS: [&dyn Format; 2] = [&text::Text, &tags::Tags];

/// What the name of a compressed file ends with.
pub(crate) const COMPRESSED: &str = ".zst";

/// The format of data that begin like this.
pub(crate) fn of_start(start: &[u8]) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.is_start(start))
}

/// The name of a source without the end that tells its format; `None` for names of other files.
///
/// ```
/// assert_eq!(tagq_ingest::source_stem(b"night.tags.zst"), Some(&b"night"[..]));
/// assert_eq!(tagq_ingest::source_stem(b"night.tagq"), None);
/// ```
pub fn source_stem(name: &[u8]) -> Option<&[u8]> {
    let name = name.strip_suffix(COMPRESSED.as_bytes()).unwrap_or(name);
    let mut suffixes = FORMATS.iter().flat_map(|format| format.suffixes());
    suffixes.find_map(|suffix| name.strip_suffix(suffix.as_bytes()))
}
