//! One folder for each input format. A format is a member of [`FORMATS`] and stands nowhere else: its content
//! tells it, and the ends of names only say which files of a folder are sources.

pub(crate) mod format;
pub(crate) mod picoquant;
mod qutag;
pub(crate) mod records;
pub(crate) mod tags;
pub mod text;

use format::Format;

use crate::payload::compression::uncompressed_name;

/// The input formats, in the order in which they are asked whether a file is theirs.
const FORMATS: [&dyn Format; 4] = [&picoquant::PicoQuant, &qutag::QuTag, &text::Text, &tags::Tags];

/// The format of a payload that begins like this.
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
    let name = uncompressed_name(name);
    let mut suffixes = FORMATS.iter().flat_map(|format| format.suffixes());
    suffixes.find_map(|suffix| name.strip_suffix(suffix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_source_has_a_stem() {
        for (name, stem) in [
            ("a.b.tags", Some("a.b")),
            ("a.tags.zst", Some("a")),
            ("a.csv", Some("a")),
            ("a.tsv.zst", Some("a")),
            ("a.tags.zst.zst", None),
            ("a.tags.gz", Some("a")),
            ("a.csv.xz", Some("a")),
            ("a.tsv.bz2", Some("a")),
            ("a.tags.gz.zst", None),
            ("a.zst", None),
            ("a.gz", None),
            ("a.txt.zst", None),
            ("tags", None),
        ] {
            assert_eq!(source_stem(name.as_bytes()), stem.map(str::as_bytes), "{name}");
        }
    }

    /// A name belongs to one format at most, and a file without bytes to exactly one.
    #[test]
    fn formats_do_not_overlap() {
        let suffixes: Vec<&str> =
            FORMATS.iter().flat_map(|format| format.suffixes()).copied().collect();
        for (at, one) in suffixes.iter().enumerate() {
            let others = suffixes.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(others.into_iter().all(|(_, other)| !other.ends_with(one)), "{one}");
        }
        assert_eq!(FORMATS.iter().filter(|format| format.is_start(b"")).count(), 1);
    }
}
