//! Arrays in a ZIP archive (`.npz`): the member `time.npy` is the column `time`.
//!
//! The crate `zip` reads the directory of the archive. Members are unpacked here, because a column is read piece by
//! piece beside others; the checksum of a member is compared after its last byte.

use std::io::{self, BufReader, Read};

use flate2::{Crc, read::DeflateDecoder};
use npyz::{DType, TypeChar};
use tagq_store::Tick;
use zip::{CompressionMethod, ZipArchive};

use super::array::Array;
use crate::formats::tables::{
    bytes::Bytes,
    fault::{TableFault, damaged, guarded},
    values::read_exact,
};

/// The end of the name of a member that is an array.
const SUFFIX: &[u8] = b".npy";
/// The number of members that are listed; later ones are ignored.
const MEMBERS_MAX: usize = 4096;
/// The longest member that is read as a tick: a tick is a short text or a number.
const TICK_BYTES_MAX: u64 = 4096;

/// Whether a file with these first bytes is a ZIP archive whose first member is an array. The name of that member
/// begins at byte 30, and bytes 26 and 27 have its length.
pub(crate) fn is_start(start: &[u8]) -> bool {
    let len = start.get(26..28).and_then(|len| len.first_chunk());
    let len = len.map_or(0, |len| usize::from(u16::from_le_bytes(*len)));
    let name = start.get(30..30 + len).unwrap_or_default();
    start.starts_with(b"PK\x03\x04") && name.ends_with(SUFFIX)
}

/// A member of an archive that is an array.
pub(super) struct Member {
    /// The name of the column: that of the member without `.npy`.
    pub name: String,
    method: CompressionMethod,
    is_encrypted: bool,
    start: u64,
    packed: u64,
    /// Bytes of the array with its description, unpacked.
    pub len: u64,
    crc: u32,
}

/// Lists the arrays of an archive.
pub(super) fn members(file: Bytes<'_>) -> Result<Vec<Member>, TableFault> {
    let read = || -> Result<Vec<Member>, zip::result::ZipError> {
        let mut archive = ZipArchive::new(BufReader::new(file.all()))?;
        let mut members = Vec::new();
        for number in 0..archive.len().min(MEMBERS_MAX) {
            let member = archive.by_index_raw(number)?;
            let Some(name) = member.name_raw().strip_suffix(SUFFIX) else { continue };
            members.push(Member {
                name: String::from_utf8_lossy(name).into_owned(),
                method: member.compression(),
                is_encrypted: member.encrypted(),
                start: member.data_start().unwrap_or(u64::MAX),
                packed: member.compressed_size(),
                len: member.size(),
                crc: member.crc32(),
            });
        }
        Ok(members)
    };
    guarded(|| read().map_err(|error| TableFault::Damaged(format!("as a ZIP archive: {error}"))))
}

impl Member {
    /// Opens the array: its description, and its items to read from here on.
    pub fn open<'a>(&self, file: Bytes<'a>) -> Result<(Array, Box<dyn Read + 'a>), TableFault> {
        let name = self.name.escape_debug();
        let packed = file.section(self.start, self.packed)?;
        let unpacked: Box<dyn Read + 'a> = match self.method {
            CompressionMethod::Stored if !self.is_encrypted => Box::new(packed),
            CompressionMethod::Deflated if !self.is_encrypted => {
                Box::new(DeflateDecoder::new(packed))
            }
            method => {
                let how = if self.is_encrypted { "encryption".into() } else { format!("{method}") };
                return Err(TableFault::Refused(format!(
                    "the array `{name}` is packed by {how}; write it by numpy.savez or numpy.savez_compressed"
                )));
            }
        };
        let (crc, left) = (Crc::new(), self.len);
        let mut input = Checked { unpacked, crc, left, expected: self.crc };
        let array = Array::read(&mut input, self.len)?;
        Ok((array, Box::new(input)))
    }

    /// The tick that this array holds, as a text with a unit or as seconds.
    pub fn tick(&self, file: Bytes<'_>) -> Result<Tick, TableFault> {
        let refused = || {
            TableFault::Refused(format!(
                "its `{}` is no tick; write it as a text such as \"4ps\", or as seconds",
                self.name.escape_debug()
            ))
        };
        if self.len > TICK_BYTES_MAX {
            return Err(refused());
        }
        let (array, mut input) = self.open(file)?;
        let (DType::Plain(of), 1) = (&array.of, array.items) else { return Err(refused()) };
        let mut bytes = vec![0; array.item_bytes];
        read_exact(&mut input, &mut bytes)?;
        let text = match (of.type_char(), bytes.as_chunks(), bytes.first_chunk()) {
            (TypeChar::UnicodeStr, (letters, _), _) => {
                let letters =
                    letters.iter().map(|letter| char::from_u32(u32::from_le_bytes(*letter)));
                letters.collect::<Option<String>>()
            }
            (TypeChar::ByteStr, ..) => String::from_utf8(bytes).ok(),
            (TypeChar::Float, _, Some(seconds)) => {
                Some(format!("{}s", f64::from_le_bytes(*seconds)))
            }
            _ => None,
        };
        let tick = text.and_then(|text| text.trim_end_matches('\0').parse().ok());
        tick.ok_or_else(refused)
    }
}

/// The unpacked bytes of a member. Its checksum is compared when its last byte was read.
struct Checked<'a> {
    unpacked: Box<dyn Read + 'a>,
    crc: Crc,
    left: u64,
    expected: u32,
}

impl Read for Checked<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = crate::payload::input::clamp(bytes.len(), self.left);
        let n = self.unpacked.read(&mut bytes[..len])?;
        self.crc.update(&bytes[..n]);
        self.left -= n as u64;
        if self.left == 0 && self.crc.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum differs"));
        }
        Ok(n)
    }
}

/// Returns the array of this name.
pub(super) fn named<'m>(members: &'m [Member], name: &str) -> Option<&'m Member> {
    members.iter().find(|member| member.name == name)
}

/// Refuses arrays that are not columns of this many rows.
pub(super) fn check_rows(array: &Array, name: &str, rows: u64) -> Result<(), TableFault> {
    match array.shape[..] {
        [found] if found == rows => Ok(()),
        [found] => damaged(format!(
            "its arrays have different lengths: {rows} times, and {found} of `{}`",
            name.escape_debug()
        )),
        _ => Err(TableFault::Refused(format!(
            "the array `{}` has {} dimensions; a column has one",
            name.escape_debug(),
            array.shape.len()
        ))),
    }
}
