//! Files that cannot be read yet, told by their first bytes.

use std::path::Path;

use crate::{error::Error, formats::is_arrays};

/// How a file begins, what it is, and how its tags can be read all the same.
type ForeignFormat = (&'static [u8], &'static str, &'static str);

const PICOQUANT: &str = "write its tags as text first, as docs/book/src/migrating/picoquant.md does by the \
    Python package ptufile, and name their unit with --tick";

const NO_TAGS: &str =
    "it holds counts and no tags; open the file of tags (T2 or T3 mode) of the same measurement";
const NO_RECORDING: &str = "name the recording that it was made from";

const KINDS: [ForeignFormat; 11] = [
    (b"PQHISTO", "a histogram of PicoQuant (PHU)", NO_TAGS),
    (b"PQUNI", "a PicoQuant file (PQUNI)", PICOQUANT),
    (b"TimeHarp 200", "a file of a TimeHarp 200 (T3R)", PICOQUANT),
    (
        b"SITT",
        "a file of Swabian's Time Tagger (ttbin)",
        "only Swabian's library reads it: pip install Swabian-TimeTagger, then python -m tagq.ttbin FILE -o NEW.tagq",
    ),
    (
        b"FEA1",
        "a Feather file of version 1",
        "write it as version 2: in Python, pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), NEW)",
    ),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "unpack it first: lz4 -dc FILE > NEW"),
    (
        b"PK\x03\x04",
        "a ZIP archive",
        "pass its member on: unzip -p FILE MEMBER | tagq ingest --store NEW -, or unpack it: unzip -p FILE MEMBER > NEW",
    ),
    (b"\x89PNG\r\n", "a picture (PNG)", NO_RECORDING),
    (b"\xff\xd8\xff", "a picture (JPEG)", NO_RECORDING),
    (b"GIF8", "a picture (GIF)", NO_RECORDING),
    (b"%PDF-", "a document (PDF)", NO_RECORDING),
];

/// Refuses the file at `path` by name when a file that begins like this is of another program.
pub(crate) fn check(path: &Path, start: &[u8], members: Option<&str>) -> Result<(), Error> {
    let found = KINDS.iter().find(|(first, ..)| start.starts_with(first));
    // An archive of arrays is a ZIP archive, too.
    let Some((_, kind, way)) = found.filter(|_| !is_arrays(start)) else { return Ok(()) };
    let place = members.map_or_else(String::new, |members| format!(" in {members}"));
    Err(Error::Foreign { path: path.into(), kind: format!("{kind}{place}"), way })
}
