//! One folder for each input format. A format is a member of [`FORMATS`] and stands nowhere else: its content
//! tells it, and the ends of names only say which files of a folder are sources.

pub(crate) mod becker;
pub mod columns;
pub(crate) mod counter;
pub(crate) mod format;
pub(crate) mod name;
mod naming;
pub(crate) mod photon_hdf5;
pub(crate) mod photons;
pub(crate) mod picoquant;
mod qutag;
pub(crate) mod records;
pub(crate) mod swabian;
pub(crate) mod tables;
pub(crate) mod tags;
pub mod text;
pub(crate) mod times;

use std::{path::Path, str::FromStr};

use format::Format;
pub use format::FormatFacts;
use name::FormatName;
use tagq_store::SourceFacts;

use crate::payload::compression::uncompressed_name;

pub(crate) use tables::numpy::is_arrays;

/// The input formats, in the order in which they are asked whether a file is theirs.
const FORMATS: &[&dyn Format] = &[
    &picoquant::PicoQuant,
    &qutag::QuTag,
    &becker::SPC,
    &becker::SPC_600,
    &becker::SPC_600_256,
    &becker::SPC_QC,
    &becker::sdt::Sdt,
    &swabian::Swabian,
    &photon_hdf5::PhotonHdf5,
    &tables::parquet::Parquet,
    &tables::arrow::Arrow,
    &tables::numpy::Npy,
    &tables::numpy::Npz,
    &text::Text,
    &tags::TagMessages,
];

/// The fewest bytes that tell a format with a header.
const MAGIC_BYTES: usize = 4;

/// The format of a payload that begins like this.
pub(crate) fn of_start(start: &[u8]) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.is_start(start))
}

/// The format that the end of a name tells, of a payload that is too short to tell it: it ends inside its header.
pub(crate) fn of_short(path: &Path, start: &[u8]) -> Option<&'static dyn Format> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let name = uncompressed_name(name);
    let end = name.rsplit(|&byte| byte == b'.').next();
    let is_its = |facts: FormatFacts| {
        facts.names.iter().any(|name| end == Some(name.as_bytes()))
            || facts.suffixes.iter().any(|suffix| name.ends_with(suffix.as_bytes()))
    };
    let is_short = !start.is_empty() && start.len() < MAGIC_BYTES;
    FORMATS.iter().copied().filter(|_| is_short).find(|format| {
        ![tags::NAME, text::NAME].contains(&format.facts().names[0]) && is_its(format.facts())
    })
}

/// Whether it is the format of messages.
pub(crate) fn is_tags(format: &dyn Format) -> bool {
    format.facts().names[0] == tags::NAME
}

/// The format of this name.
pub(crate) fn of_name(name: FormatName) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.facts().names.contains(&name.0))
}

/// The format that a file beside the one at `path` tells.
pub(crate) fn of_beside(path: &Path) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.is_told_beside(path))
}

impl FromStr for FormatName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = described().find(|format| format.names.contains(&text));
        let own = named.and_then(|format| format.names.first());
        own.map(|own| Self(own)).ok_or_else(|| {
            let names = described().filter_map(|format| format.names.first().copied());
            let names: Vec<&str> = names.collect();
            format!("`{text}` is no input format; there are {}", names.join(", "))
        })
    }
}

impl FormatName {
    /// The format in which a source was ingested, as far as its facts tell it.
    pub fn of_source(facts: &SourceFacts) -> Option<Self> {
        let recorded = facts.recording.as_ref().map(|recording| &*recording.format);
        let plain = if facts.columns.is_some() { text::NAME } else { tags::NAME };
        recorded.or(Some(plain).filter(|_| facts.read_byte > 0))?.parse().ok()
    }
}

/// Returns all input formats, in the order in which they are asked whether a file is theirs.
pub fn described() -> impl Iterator<Item = FormatFacts> {
    FORMATS.iter().copied().map(Format::facts)
}

/// The name of a source without the end that tells its format; `None` for names of other files.
///
/// ```
/// assert_eq!(tagq_ingest::source_stem(b"night.tags.zst"), Some(&b"night"[..]));
/// assert_eq!(tagq_ingest::source_stem(b"night.tagq"), None);
/// ```
pub fn source_stem(name: &[u8]) -> Option<&[u8]> {
    let name = uncompressed_name(name);
    let mut suffixes = described().flat_map(|format| format.suffixes);
    suffixes.find_map(|suffix| name.strip_suffix(suffix.as_bytes()))
}

/// Whether files of this name have a header, so that one without bytes is not complete.
pub fn needs_header(name: &[u8]) -> bool {
    let name = uncompressed_name(name);
    let with_header =
        described().filter(|format| ![tags::NAME, text::NAME].contains(&format.names[0]));
    with_header.flat_map(|format| format.suffixes).any(|suffix| name.ends_with(suffix.as_bytes()))
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

    #[test]
    fn a_file_that_is_too_short_is_of_the_format_that_its_name_tells() {
        for (name, start, told) in [
            ("a.parquet", &b"PAR"[..], Some("parquet")),
            ("a.feather.gz", b"A", Some("arrow")),
            ("a.ptu", b"PQ", Some("ptu")),
            ("a.ptu", b"1\t2\n", None),
            ("a.parquet", b"", None),
            ("a.tsv", b"1\t2", None),
            ("parquet.txt", b"PAR", None),
        ] {
            let found = of_short(Path::new(name), start).map(|format| format.facts().names[0]);
            assert_eq!(found, told, "{name}");
        }
    }

    /// A name belongs to one format at most, and a file without bytes to exactly one.
    #[test]
    fn formats_do_not_overlap() {
        let suffixes: Vec<&str> = described().flat_map(|format| format.suffixes).copied().collect();
        for (at, one) in suffixes.iter().enumerate() {
            let others = suffixes.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(others.into_iter().all(|(_, other)| !other.ends_with(one)), "{one}");
        }
        assert_eq!(FORMATS.iter().filter(|format| format.is_start(b"")).count(), 1);
    }
}
