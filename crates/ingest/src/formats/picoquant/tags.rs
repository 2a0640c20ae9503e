//! The header of a PTU file: a list of tags, each with a name, an index and a value.
//!
//! The value of `TTResult_NumberOfRecords` is zero in [`HeaderTags::lasting`], because the instrument writes it when the
//! measurement ends: a file is recognised by these bytes while it grows.

/// How tags are found that a file of histograms does not hold.
pub(crate) const NO_TAGS: &str =
    "it holds counts and no tags; open the file of tags (T2 or T3 mode) of the same measurement";
/// Longest header that is read. Those of instruments have some thousand bytes.
pub(super) const HEADER_BYTES_MAX: usize = 4 << 20;
/// First bytes of a PTU file.
pub(super) const MAGIC: &[u8] = b"PQTTTR\0\0";
/// The magic number and the version.
const PREAMBLE_BYTES: usize = 16;
const TAG_BYTES: usize = 48;
const NAME_BYTES: usize = 32;
const LAST_TAG: &str = "Header_End";

pub(super) const BOOL: u32 = 0x0000_0008;
pub(super) const INT: u32 = 0x1000_0008;
const BITS: u32 = 0x1100_0008;
pub(super) const FLOAT: u32 = 0x2000_0008;
const DATE: u32 = 0x2100_0008;
pub(super) const TEXT: u32 = 0x4001_ffff;
/// Text of 16 bits a character.
const WIDE_TEXT: u32 = 0x4002_ffff;
const BLOB: u32 = 0xffff_ffff;
/// Types with all of these bits have so many bytes after the tag as its value says.
const LONG: u32 = 0xffff;
/// All types: those above, and no value, a colour and an array of floats.
const KINDS: [u32; 11] =
    [BOOL, INT, BITS, FLOAT, DATE, TEXT, WIDE_TEXT, BLOB, 0xffff_0008, 0x1200_0008, 0x2001_ffff];

/// Tags that an instrument writes before the first record and never changes.
const LASTING: [&str; 11] = [
    "File_GUID",
    "File_CreatingTime",
    "CreatorSW_Name",
    "CreatorSW_Version",
    "HW_Type",
    "HW_SerialNo",
    "Measurement_Mode",
    "MeasDesc_Resolution",
    "MeasDesc_GlobalResolution",
    "TTResultFormat_TTTRRecType",
    "TTResultFormat_BitsPerRecord",
];

/// The value of a tag.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    /// Days since 1899-12-30 in local time.
    Date(f64),
    Text(String),
    /// Arrays and binary data.
    Other,
}

/// Why a header cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderFault {
    /// The bytes end inside the header.
    Torn,
    Damaged(String),
    /// A file that is complete and has no tags whose times are known: what it is, and the fix.
    Refused(String, &'static str),
}

impl HeaderFault {
    /// The fault of a file of this kind, which has no tags.
    pub(super) fn histogram(kind: &str) -> Self {
        Self::Refused(kind.into(), NO_TAGS)
    }
}

/// The tags of a header, in the order of the file.
#[derive(Debug)]
pub(super) struct HeaderTags {
    tags: Vec<(String, i32, Value)>,
    /// The bytes of the header, with zeros in place of values that change.
    pub lasting: Vec<u8>,
}

impl HeaderTags {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, HeaderFault> {
        let mut lasting = bytes.get(..PREAMBLE_BYTES).ok_or(HeaderFault::Torn)?.to_vec();
        let mut tags = Vec::new();
        loop {
            let at = lasting.len();
            let tag = bytes.get(at..at + TAG_BYTES).ok_or(HeaderFault::Torn)?;
            let (name, rest) = tag.split_at(NAME_BYTES);
            let name = text(name);
            let damaged =
                |what: &str| HeaderFault::Damaged(format!("{what} at byte {at} of the header"));
            let index = i32::from_le_bytes(array(rest, 0));
            let kind = u32::from_le_bytes(array(rest, 4));
            if name.is_empty() || !KINDS.contains(&kind) {
                return Err(damaged("no tag"));
            }
            let value: [u8; 8] = array(rest, 8);
            let len = if kind & LONG == LONG { i64::from_le_bytes(value) } else { 0 };
            let len = usize::try_from(len).map_err(|_| damaged("a negative length"))?;
            if len > HEADER_BYTES_MAX {
                return Err(damaged("a text longer than any header"));
            }
            let end = at + TAG_BYTES + len;
            let long = bytes.get(at + TAG_BYTES..end).ok_or(HeaderFault::Torn)?;
            let value = match kind {
                BOOL | INT | BITS => Value::Int(i64::from_le_bytes(value)),
                FLOAT => Value::Float(f64::from_le_bytes(value)),
                DATE => Value::Date(f64::from_le_bytes(value)),
                TEXT => Value::Text(text(long)),
                WIDE_TEXT => Value::Text(wide_text(long)),
                _ => Value::Other,
            };
            lasting.extend_from_slice(&tag[..NAME_BYTES + 8]);
            if LASTING.contains(&name.as_str()) || len > 0 && kind != TEXT {
                lasting.extend_from_slice(&tag[NAME_BYTES + 8..]);
                lasting.extend_from_slice(long);
            } else {
                lasting.resize(end, 0);
            }
            if name == LAST_TAG {
                return Ok(Self { tags, lasting });
            }
            tags.push((name, index, value));
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.tags.iter().find(|(other, ..)| other == name).map(|(.., value)| value)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(value) => Some(value.trim()).filter(|value| !value.is_empty()),
            _ => None,
        }
    }
}

/// Text up to the first zero; bytes that are not UTF-8 are Latin-1 in old files.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => text.into(),
        Err(_) => bytes[..end].iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// Text of 16 bits a character, up to the first zero.
fn wide_text(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|&unit| u16::from_le_bytes(unit)).take_while(|&unit| unit != 0);
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}
