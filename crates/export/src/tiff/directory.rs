//! Directories of pages: their fields, and the values of these, as TIFF and as BigTIFF.
//!
//! A field of up to 4 bytes, or 8 in BigTIFF, is in the entry itself; a longer one follows the entries.

/// The types of fields.
const ASCII: u16 = 2;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;
const LONG8: u16 = 16;

/// A field of a page: its tag, its type, how many values, and their bytes.
pub(super) struct Field {
    tag: u16,
    of: u16,
    count: u64,
    bytes: Vec<u8>,
}

impl Field {
    pub fn short(tag: u16, value: u16) -> Self {
        Self { tag, of: SHORT, count: 1, bytes: value.to_le_bytes().into() }
    }

    pub fn long(tag: u16, value: u32) -> Self {
        Self { tag, of: LONG, count: 1, bytes: value.to_le_bytes().into() }
    }

    pub fn rational(tag: u16, value: [u32; 2]) -> Self {
        let bytes = value.into_iter().flat_map(u32::to_le_bytes).collect();
        Self { tag, of: RATIONAL, count: 1, bytes }
    }

    pub fn text(tag: u16, text: &str) -> Self {
        let bytes: Vec<u8> = text.bytes().chain([0]).collect();
        Self { tag, of: ASCII, count: bytes.len() as u64, bytes }
    }
}

/// The sizes of the parts of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct TiffSizes {
    pub is_big: bool,
}

impl TiffSizes {
    pub fn header(self) -> u64 {
        if self.is_big { 16 } else { 8 }
    }

    /// Returns the bytes of an offset: values of fields up to this length are in the field itself.
    fn word(self) -> usize {
        if self.is_big { 8 } else { 4 }
    }

    /// Returns the bytes of a directory, with those of its values that follow the entries.
    pub fn directory(self, fields: &[Field]) -> u64 {
        let counts = if self.is_big { 8 } else { 2 };
        let each = 4 + 2 * self.word();
        let values = fields.iter().map(|field| field.bytes.len()).filter(|&len| len > self.word());
        let values: usize = values.map(|len| len.next_multiple_of(2)).sum();
        (counts + fields.len() * each + self.word() + values) as u64
    }

    /// Returns a field of offsets or sizes.
    pub fn offsets(self, tag: u16, values: impl Iterator<Item = u64>) -> Field {
        let (mut bytes, mut count) = (Vec::new(), 0);
        for value in values {
            self.put(&mut bytes, value);
            count += 1;
        }
        Field { tag, of: if self.is_big { LONG8 } else { LONG }, count, bytes }
    }

    fn put(self, out: &mut Vec<u8>, value: u64) {
        out.extend(&value.to_le_bytes()[..self.word()]);
    }

    /// Returns the first bytes of a file, whose first directory follows them.
    pub fn file_header(self) -> Vec<u8> {
        let mut out = b"II".to_vec();
        if self.is_big {
            out.extend([43, 0, 8, 0, 0, 0]);
        } else {
            out.extend([42, 0]);
        }
        self.put(&mut out, self.header());
        out
    }

    /// Returns a directory for this place of the file. The next directory begins at `next`; the last one has 0 there.
    pub fn encoded(self, mut fields: Vec<Field>, at: u64, next: u64) -> Vec<u8> {
        fields.sort_by_key(|field| field.tag);
        let mut out = Vec::new();
        let count = fields.len() as u64;
        out.extend(&count.to_le_bytes()[..if self.is_big { 8 } else { 2 }]);
        let end = out.len() + fields.len() * (4 + 2 * self.word()) + self.word();
        let mut values = Vec::new();
        for field in fields {
            out.extend(field.tag.to_le_bytes());
            out.extend(field.of.to_le_bytes());
            self.put(&mut out, field.count);
            if field.bytes.len() > self.word() {
                self.put(&mut out, at + (end + values.len()) as u64);
                values.extend(&field.bytes);
                values.resize(values.len().next_multiple_of(2), 0);
            } else {
                let mut word = field.bytes;
                word.resize(self.word(), 0);
                out.extend(word);
            }
        }
        self.put(&mut out, next);
        out.extend(values);
        out
    }
}
