//! Files of other programs, which cannot be read: told by their first bytes, or by the end of their names if their
//! content tells nothing.

use std::path::Path;

use crate::{
    error::Error,
    formats::{is_arrays, picoquant::NO_TAGS},
    payload::compression::uncompressed_name,
};

/// A kind of files that is refused by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignFile {
    /// How they begin; empty if their content tells nothing.
    pub first: &'static [u8],
    /// The usual ends of their names.
    pub suffixes: &'static [&'static str],
    /// Their kind in words, with an article: `an image (TIFF)`.
    pub kind: &'static str,
    /// How their tags can be read all the same.
    pub way: &'static str,
}

const NO_PHOTONS: &str = "it holds images or histograms and no tags; open the file of photons of the same \
    measurement, if the program kept one (the page Sources of the book lists what can be read)";
const NO_RECORDING: &str = "name the recording that it was made from";
const UNPACK: &str = "pass its member on: unzip -p FILE MEMBER | tagq ingest --store NEW -, or unpack it: unzip -p \
    FILE MEMBER > NEW";
const AS_TEXT: &str =
    "write its tags as text by the program that recorded it, a line with channel and time for each";

const fn file(
    first: &'static [u8],
    suffixes: &'static [&'static str],
    kind: &'static str,
    way: &'static str,
) -> ForeignFile {
    ForeignFile { first, suffixes, kind, way }
}

/// The first bytes of kinds of files that only their names tell.
const UNTOLD: &[u8] = b"";
/// The mark of a text in UTF-16.
const UTF_16: &[u8] = b"\xff\xfe";
const LEICA_SUFFIXES: &[&str] = &[".lif"];

/// The kinds. If several have the same first bytes, the end of the name decides; without such a name it is the last
/// one.
const FILES: &[ForeignFile] = &[
    file(b"PQHISTO", &[".phu"], "a histogram of PicoQuant (PHU)", NO_TAGS),
    file(b"PQCHECK", &[".pck"], "results of a PicoQuant program (PCK)", NO_TAGS),
    file(b"PQRESLT", &[".pqres"], "results of a PicoQuant program (PQRES)", NO_TAGS),
    file(b"PQCOMNT", &[".pco"], "comments of a PicoQuant program (PCO)", NO_TAGS),
    file(b"PQDEFLT", &[".pfs", ".pus"], "settings of a PicoQuant program (PFS, PUS)", NO_TAGS),
    file(
        b"PQUNI",
        &[],
        "a PicoQuant file of UniHarp (PQUNI)",
        "export its tags as .ptu in UniHarp",
    ),
    file(
        b"SITT",
        &[".ttbin"],
        "a file of Swabian's Time Tagger (ttbin)",
        "only Swabian's library reads it: pip install Swabian-TimeTagger, then python -m tagq.ttbin FILE -o NEW.tagq",
    ),
    file(
        b"Carl Zeiss ConfoCor3 - raw data file",
        &[".raw"],
        "raw data of a Zeiss ConfoCor 3",
        "write its times by the Python package fcsfiles, as the page Sources of the book does",
    ),
    file(
        b"ConfoCor 2 - Raw data file",
        &[".raw"],
        "raw data of a Zeiss ConfoCor 2",
        "write its times by the Python package fcsfiles, as the page Sources of the book does",
    ),
    file(
        b"Carl Zeiss ConfoCor3 - measurement data file",
        &[".fcs"],
        "correlations of a Zeiss ConfoCor 3",
        "it holds correlations and no tags; open the raw data (.raw) of the same measurement",
    ),
    file(b"VistaFLImage", &[".ifli"], "a lifetime image of ISS VistaVision", NO_PHOTONS),
    file(b"VISTAIMAGE", &[".ifi"], "an image of ISS VistaVision", NO_PHOTONS),
    file(b"ZISRAWFILE", &[".czi"], "a Zeiss image (CZI)", NO_PHOTONS),
    file(b"\xda\xce\xbe\x0a", &[".nd2"], "a Nikon image (ND2)", NO_PHOTONS),
    file(b"OLYMPUSRAWFORMAT", &[".oir"], "an Olympus image (OIR)", NO_PHOTONS),
    file(UTF_16, &[".oif"], "an Olympus image (OIF)", NO_PHOTONS),
    file(b"II*\0", &[".tif", ".tiff", ".lsm"], "an image (TIFF)", NO_PHOTONS),
    file(b"MM\0*", &[".tif", ".tiff"], "an image (TIFF)", NO_PHOTONS),
    file(
        b"SSTT2\0",
        &[],
        "photons of one channel of a small simple time-tagged file (SSTT)",
        AS_TEXT,
    ),
    file(
        b"Simple Small Time Tagged",
        &[".sstt"],
        "a small simple time-tagged file (SSTT)",
        AS_TEXT,
    ),
    file(b"TPX3", &[".tpx3"], "packets of a Timepix3 camera", AS_TEXT),
    file(
        b"MATLAB ",
        &[".mat"],
        "a MATLAB file",
        "write its arrays as .npz, as the page Sources of the book does, or in MATLAB as text: writematrix([channel time], 'NEW.csv')",
    ),
    file(
        b"TDSm",
        &[".tdms"],
        "a LabVIEW file (TDMS)",
        "write its channels as .npz by the Python package npTDMS, with the names `time` and `channel`",
    ),
    file(
        b"root\0",
        &[".root"],
        "a ROOT file",
        "write its branches as .npz by the Python package uproot, with the names `time` and `channel`",
    ),
    file(
        b"FEA1",
        &[],
        "a Feather file of version 1",
        "write it as version 2: in Python, pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), NEW)",
    ),
    file(
        b"\x04\x22\x4d\x18",
        &[".lz4"],
        "compressed by lz4",
        "unpack it first: lz4 -dc FILE > NEW",
    ),
    file(
        b"PK\x03\x04",
        &[".iss-tdflim", ".tdflim"],
        "a lifetime image of ISS VistaVision",
        NO_PHOTONS,
    ),
    file(b"PK\x03\x04", &[".xlsx"], "an Excel workbook", "save its table as CSV"),
    file(b"PK\x03\x04", &[".zip"], "a ZIP archive", UNPACK),
    file(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        &[".xls"],
        "an Excel workbook",
        "save its table as CSV",
    ),
    file(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", &[".oib"], "an Olympus image (OIB)", NO_PHOTONS),
    file(b"\x89PNG\r\n", &[".png"], "a picture (PNG)", NO_RECORDING),
    file(b"\xff\xd8\xff", &[".jpg"], "a picture (JPEG)", NO_RECORDING),
    file(b"GIF8", &[".gif"], "a picture (GIF)", NO_RECORDING),
    file(b"%PDF-", &[".pdf"], "a document (PDF)", NO_RECORDING),
    file(
        UNTOLD,
        LEICA_SUFFIXES,
        "a Leica image (LIF)",
        "it holds images; export the photons as .ptu in LAS X",
    ),
    file(
        UNTOLD,
        &[".fdat"],
        "photons of ISS VistaVision (FDAT)",
        "its layout is not public; export the tags as text in VistaVision",
    ),
    file(
        UNTOLD,
        &[".fbd"],
        "photons of an ISS FLIMbox (FBD)",
        "the Python package fbdfile reads it; write its times and channels as .npz",
    ),
    file(
        UNTOLD,
        &[".set"],
        "settings of a Becker & Hickl module",
        "open the .spc file of the same name",
    ),
    file(
        UNTOLD,
        &[".bin", ".dat", ".raw", ".timestamps"],
        "binary data of a kind that neither its content nor its name tells",
        "name the format if it is one of `tagq formats`, as --source-format swabian (`Dump` of a Time Tagger) or \
         --source-format qutag (10 bytes a tag, 1 ps); else write the tags as text by the program that recorded them, \
         as ID Quantique's and qutools' programs can",
    ),
];

/// Returns the kinds of files that are refused by name.
pub fn foreign_files() -> impl Iterator<Item = ForeignFile> {
    FILES.iter().copied()
}

/// Refuses the file at `path` by name when a file that begins like this is of another program.
pub(crate) fn check(path: &Path, start: &[u8], members: Option<&str>) -> Result<(), Error> {
    // An archive of arrays is a ZIP archive, too.
    if is_arrays(start) {
        return Ok(());
    }
    let begins = |file: &&ForeignFile| file.first != UNTOLD && start.starts_with(file.first);
    let alike = || FILES.iter().filter(begins);
    let of_name = alike().find(|file| file.has_name(path));
    // A mark of UTF-16 tells no format.
    let of_start = alike().next_back().filter(|file| file.first != UTF_16);
    let of_leica = || FILES.iter().find(|file| is_leica(start) && file.suffixes == LEICA_SUFFIXES);
    match of_name.or(of_start).or_else(of_leica) {
        Some(file) => Err(file.refuse(path, members)),
        None => Ok(()),
    }
}

/// The error for a file whose content tells nothing, if its name tells a kind.
pub(crate) fn of_name(path: &Path, members: Option<&str>) -> Option<Error> {
    let named = FILES.iter().find(|file| file.first == UNTOLD && file.has_name(path));
    named.map(|file| file.refuse(path, members))
}

/// Whether a file begins as one of Leica does: a number, a length, and a mark.
fn is_leica(start: &[u8]) -> bool {
    start.starts_with(b"\x70\0\0\0") && start.get(8) == Some(&b'*')
}

impl ForeignFile {
    fn has_name(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let name = uncompressed_name(name).to_ascii_lowercase();
        self.suffixes.iter().any(|suffix| name.ends_with(suffix.as_bytes()))
    }

    fn refuse(&self, path: &Path, members: Option<&str>) -> Error {
        let place = members.map_or_else(String::new, |members| format!(" in {members}"));
        let kind = format!("{}{place}", self.kind);
        Error::Foreign { path: path.into(), kind, way: self.way }
    }
}
