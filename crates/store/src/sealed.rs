//! Small binary files with a head: eight bytes that tell the kind of file, the version, and a crc32c of all other
//! bytes. Numbers are little-endian.
//!
//! The version is in bytes 8 to 11, the checksum in bytes 12 to 15, and the content begins at byte 16. A length is
//! compared with the bytes that are left before memory is reserved for it: such a file may come from somebody else.

use crate::checksum::{crc32c, crc32c_append};

/// Magic, version and checksum.
const HEAD_BYTES: usize = 16;
/// Where the checksum stands.
const CRC_AT: usize = 12;

/// Why bytes are no file of a kind and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsealed {
    /// The first eight bytes are others.
    Foreign,
    /// It has another version.
    Version(u32),
    /// It is torn or damaged: its checksum is another one.
    Damaged,
}

/// Returns the head of a file, to which its content is appended before it is [sealed](seal).
pub fn begin(magic: [u8; 8], version: u32) -> Vec<u8> {
    [&magic[..], &version.to_le_bytes(), &[0; 4]].concat()
}

/// Writes the checksum of a file into its head.
pub fn seal(mut file: Vec<u8>) -> Vec<u8> {
    let crc = crc_of(&file).to_le_bytes();
    file[CRC_AT..HEAD_BYTES].copy_from_slice(&crc);
    file
}

/// Reads the content of a file that was sealed.
///
/// # Errors
/// If it is not a whole file of this kind and version.
pub fn open(file: &[u8], magic: [u8; 8], version: u32) -> Result<Reader<'_>, Unsealed> {
    let mut reader = Reader::new(file);
    if reader.array() != Some(magic) {
        return Err(Unsealed::Foreign);
    }
    let found = reader.u32().ok_or(Unsealed::Damaged)?;
    if found != version {
        return Err(Unsealed::Version(found));
    }
    let crc = reader.u32().ok_or(Unsealed::Damaged)?;
    if crc == crc_of(file) { Ok(reader) } else { Err(Unsealed::Damaged) }
}

/// Computes the crc32c of all bytes except the checksum itself.
fn crc_of(file: &[u8]) -> u32 {
    crc32c_append(crc32c(&file[..CRC_AT]), &file[HEAD_BYTES..])
}

/// Appends how many values or bytes follow.
pub fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend((len as u64).to_le_bytes());
}

/// Appends the number of bytes of a text, and the text.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_len(out, text.len());
    out.extend(text.as_bytes());
}

/// Bytes that are left to read; each method returns `None` if they do not suffice.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads so many bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        self.0.split_off(..len)
    }

    /// Reads as many bytes as the array has.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, left) = self.0.split_first_chunk()?;
        self.0 = left;
        Some(*array)
    }

    /// Reads a number.
    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    /// Reads a number.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    /// Reads a number.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    /// Reads a number.
    pub fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.array()?))
    }

    /// Reads how many values follow, each of at least `bytes` bytes; `None` also if fewer bytes are left.
    pub fn len(&mut self, bytes: usize) -> Option<usize> {
        usize::try_from(self.u64()?).ok().filter(|&len| len <= self.0.len() / bytes)
    }

    /// Reads a number of bytes, and these bytes.
    pub fn sized(&mut self) -> Option<&'a [u8]> {
        let len = self.len(1)?;
        self.take(len)
    }

    /// Reads a number of bytes, and a text of these bytes; `None` also if they are not UTF-8.
    pub fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.sized()?).ok()
    }

    /// Whether no byte is left.
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: [u8; 8] = *b"TAGQTEST";

    #[test]
    fn what_was_sealed_is_read_and_nothing_else() {
        let mut file = begin(MAGIC, 3);
        put_text(&mut file, "word");
        put_len(&mut file, 2);
        file.extend([1, 2]);
        let file = seal(file);
        let mut reader = open(&file, MAGIC, 3).unwrap();
        assert_eq!((reader.text(), reader.sized()), (Some("word"), Some(&[1, 2][..])));
        assert!(reader.is_at_end());
        assert_eq!((reader.u32(), reader.take(1)), (None, None));
        assert_eq!(open(&file, *b"TAGQOTHR", 3).unwrap_err(), Unsealed::Foreign);
        assert_eq!(open(&file, MAGIC, 4).unwrap_err(), Unsealed::Version(3));
        for end in 0..file.len() {
            let torn = open(&file[..end], MAGIC, 3).unwrap_err();
            assert_eq!(torn, if end < 8 { Unsealed::Foreign } else { Unsealed::Damaged }, "{end}");
        }
        for at in 12..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x20;
            assert_eq!(open(&damaged, MAGIC, 3).unwrap_err(), Unsealed::Damaged, "{at}");
        }
    }

    #[test]
    fn a_length_is_no_more_than_the_bytes_allow() {
        let mut bytes = Vec::new();
        put_len(&mut bytes, 3);
        bytes.extend([0; 8]);
        assert_eq!(Reader::new(&bytes).len(2), Some(3));
        assert_eq!(Reader::new(&bytes).len(3), None);
        bytes[..8].fill(0xff);
        assert_eq!(Reader::new(&bytes).sized(), None);
    }
}
