//! The bytes of a store: the mirror of docs/format.md, versions 1 to 4.
//!
//! Everything is little-endian. Each file begins with a header page of [`HEADER_BYTES`]; values start after it, so that
//! pages, cache lines and vector loads are aligned. Row 10 of a column with 8 bytes a value begins at byte 4,096 + 10 ·
//! 8 = 4,176. What a released version says of its bytes never changes: old stores must stay readable.

use std::path::Path;

pub use crate::files::{FileKind, PerFile};
use crate::{
    Error, RunId,
    simd::{Simd, Work},
};

/// The newest version of the format that this library reads and writes. A store has the lowest version that has its
/// files: 4 with a file of dead spans, else 3 without a column of times, else 2 with micro times or gaps, else 1.
pub const VERSION: u32 = 4;
/// The first bytes of every column and index file.
pub const MAGIC: [u8; 8] = *b"TAGQCOL\n";
/// Length of the header page; the first value stands here.
pub const HEADER_BYTES: usize = 4096;
/// Rows of a block, the unit of the index. Only the last block of a run may hold fewer.
pub const BLOCK_ROWS: usize = 65_536;
/// Length of an entry of `blocks.idx`.
pub const BLOCK_ENTRY_BYTES: usize = 64;
/// Length of an entry of `counts.idx`: channel u16, rows u32.
pub const COUNT_ENTRY_BYTES: usize = 6;
/// The micro time of a tag that has none. In a column of two bytes it is [`MICRO_NONE_U16`].
pub const MICRO_NONE: u32 = u32::MAX;
/// [`MICRO_NONE`] in a column of two bytes.
pub const MICRO_NONE_U16: u16 = u16::MAX;

/// Rows of a step: the first of them can be decoded without those before. A block has a whole number of steps.
pub const STEP_ROWS: usize = 1_024;
/// The largest gap that is stored; a longer one, and that of the first row of a source, is stored as this one.
pub const GAP_MAX: u16 = u16::MAX;

const CRC_AT: usize = HEADER_BYTES - 4;
/// The bytes of a block entry that its chain covers.
const CHAIN_AT: usize = 36;
/// The bytes of a block entry from here on may hold checksums of optional columns, which the chain covers as well.
const OPTIONAL_AT: usize = 40;

/// The header page of a file that holds values of `width` bytes.
pub fn encode_header(kind: FileKind, width: u16, run_id: RunId) -> [u8; HEADER_BYTES] {
    let layout = kind.layout();
    let mut page = [0; HEADER_BYTES];
    page[0..8].copy_from_slice(&MAGIC);
    page[8..12].copy_from_slice(&layout.version.to_le_bytes());
    page[12] = layout.code;
    page[13] = layout.class;
    page[14..16].copy_from_slice(&width.to_le_bytes());
    page[16..32].copy_from_slice(&run_id.0);
    let crc = crate::checksum::crc32c(&page[..CRC_AT]);
    page[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    page
}

/// Checks every byte of a header page.
///
/// # Errors
/// [`Error::Foreign`] for another magic or version, [`Error::Damaged`] naming the field otherwise.
pub fn check_header(
    page: &[u8; HEADER_BYTES],
    path: &Path,
    kind: FileKind,
    width: u16,
    run_id: RunId,
) -> Result<(), Error> {
    if page[0..8] != MAGIC {
        return Err(Error::Foreign {
            path: path.into(),
            reason: "no column file of tagq (its first bytes are not TAGQCOL)".into(),
        });
    }
    let version = u32::from_le_bytes([page[8], page[9], page[10], page[11]]);
    let damaged = |what: &str, expected: String, found: String| Error::Damaged {
        path: path.into(),
        what: what.into(),
        expected,
        found,
    };
    let crc = u32::from_le_bytes([page[4092], page[4093], page[4094], page[4095]]);
    let computed = crate::checksum::crc32c(&page[..CRC_AT]);
    if crc != computed {
        return Err(damaged(
            "the checksum of its header",
            format!("{computed:08x}"),
            format!("{crc:08x}"),
        ));
    }
    if version > VERSION {
        return Err(foreign_version(path, version.into()));
    }
    let expected = encode_header(kind, width, run_id);
    for (what, field) in [
        ("the format version", 8..12),
        ("the kind of file", 12..13),
        ("the class of its values", 13..14),
        ("their width", 14..16),
    ] {
        if page[field.clone()] != expected[field.clone()] {
            let show = |page: &[u8; HEADER_BYTES]| format!("{:?}", &page[field.clone()]);
            return Err(damaged(what, show(&expected), show(page)));
        }
    }
    if page[16..32] != run_id.0 {
        let mut found = [0; 16];
        found.copy_from_slice(&page[16..32]);
        return Err(damaged(
            "the run that it belongs to",
            run_id.to_string(),
            RunId(found).to_string(),
        ));
    }
    if page[32..CRC_AT].iter().any(|&byte| byte != 0) {
        return Err(damaged("its reserved bytes", "zero".into(), "something else".into()));
    }
    Ok(())
}

/// The error for a store of another version.
pub(crate) fn foreign_version(path: &Path, version: u64) -> Error {
    Error::Foreign {
        path: path.into(),
        reason: format!(
            "store format version {version}, and this tagq knows versions 1 to {VERSION}; use a tagq \
             that writes it, or rebuild the store from its sources"
        ),
    }
}

/// The entry of one block in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEntry {
    /// Its first time in ticks.
    pub time_min: i64,
    /// Its last time in ticks.
    pub time_max: i64,
    /// Where its channel counts begin in `counts.idx`, in entries.
    pub counts_start: u64,
    /// How many channels it holds.
    pub counts_len: u32,
    /// crc32c of its bytes in each column whose checksums are in the entries; `None` for columns that the store
    /// does not have.
    pub checksums: PerFile<Option<u32>>,
    /// crc32c over the chain before it, this entry and its counts.
    pub chain: u32,
}

impl BlockEntry {
    /// The entry's bytes.
    pub fn encode(&self) -> [u8; BLOCK_ENTRY_BYTES] {
        let mut bytes = [0; BLOCK_ENTRY_BYTES];
        bytes[0..8].copy_from_slice(&self.time_min.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time_max.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.counts_start.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.counts_len.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.chain.to_le_bytes());
        for (at, crc) in self.checksums_at() {
            bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        }
        bytes
    }

    /// The entry in `bytes`, of a store whose chain covers the columns for which `has` is true; `None` when reserved
    /// bytes are not zero.
    pub fn decode(bytes: &[u8; BLOCK_ENTRY_BYTES], has: impl Fn(FileKind) -> bool) -> Option<Self> {
        let u32_at = |at: usize| u32::from_le_bytes(array_at(bytes, at));
        let u64_at = |at: usize| u64::from_le_bytes(array_at(bytes, at));
        let i64_at = |at: usize| i64::from_le_bytes(array_at(bytes, at));
        let present = |kind: FileKind| kind.at_in_entry().filter(|_| has(kind));
        let checksums = PerFile::from_fn(|kind| present(kind).map(u32_at));
        let is_checksum = |at: usize| FileKind::all().any(|kind| present(kind) == Some(at));
        let mut words =
            bytes[OPTIONAL_AT..].as_chunks::<4>().0.iter().zip((OPTIONAL_AT..).step_by(4));
        let is_right = words.all(|(word, at)| *word == [0; 4] || is_checksum(at));
        is_right.then(|| Self {
            time_min: i64_at(0),
            time_max: i64_at(8),
            counts_start: u64_at(16),
            counts_len: u32_at(24),
            checksums,
            chain: u32_at(36),
        })
    }

    /// The chain at this entry: crc32c over the previous chain, the entry's bytes before its own
    /// chain, the checksums of its optional columns if the store has them, and the bytes of its counts.
    pub fn chained(&self, previous: u32, counts: &[u8]) -> u32 {
        let crc = crate::checksum::crc32c(&previous.to_le_bytes());
        let bytes = self.encode();
        let mut crc = crate::checksum::crc32c_append(crc, &bytes[..CHAIN_AT]);
        for (at, _) in self.checksums_at().filter(|&(at, _)| at >= OPTIONAL_AT) {
            crc = crate::checksum::crc32c_append(crc, &bytes[at..at + 4]);
        }
        crate::checksum::crc32c_append(crc, counts)
    }

    /// Returns the places of its checksums, and the checksums.
    fn checksums_at(&self) -> impl Iterator<Item = (usize, u32)> {
        let present = self.checksums.present();
        present.filter_map(|(kind, &crc)| kind.at_in_entry().map(|at| (at, crc)))
    }
}

/// The last time in the entry of a block.
pub(crate) fn last_time(entry: &[u8; BLOCK_ENTRY_BYTES]) -> i64 {
    i64::from_le_bytes(array_at(entry, 8))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// The micro time in a column of two bytes, as one of four.
pub(crate) fn widen_micro(value: u16) -> u32 {
    if value == MICRO_NONE_U16 { MICRO_NONE } else { value.into() }
}

/// Appends the gaps of rows in order of time to `gaps`: the ticks since the row before, at most [`GAP_MAX`]. `before`
/// is the time of the row before the first one, `None` if it is the first of its source. With `before` 100, the times
/// 100, 165 and 65,700 have the gaps 0, 65 and 65,535.
pub(crate) fn append_gaps(before: Option<i64>, times: &[i64], gaps: &mut Vec<u16>) {
    let Some(&first) = times.first() else { return };
    gaps.push(before.map_or(GAP_MAX, |before| gap(before, first)));
    let start = gaps.len();
    gaps.resize(start + times.len() - 1, 0);
    Simd::best().run(Gaps { times, gaps: &mut gaps[start..] });
}

fn gap(before: i64, time: i64) -> u16 {
    let distance = time.wrapping_sub(before).cast_unsigned().min(GAP_MAX.into());
    #[expect(clippy::cast_possible_truncation, reason = "at most the largest gap")]
    let gap = distance as u16;
    gap
}

/// Writes the gaps of these times but the first.
struct Gaps<'a> {
    times: &'a [i64],
    gaps: &'a mut [u16],
}

impl Work for Gaps<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn run(self) {
        let pairs = self.times.iter().zip(&self.times[1..]);
        for (of_row, (&before, &time)) in self.gaps.iter_mut().zip(pairs) {
            *of_row = gap(before, time);
        }
    }
}

/// Puts `values` into `bytes` as unsigned integers of `width` bytes, two or four. Values must fit in them;
/// [`MICRO_NONE`] has all bits set in both widths.
pub(crate) fn encode_unsigned(values: &[u32], width: u16, bytes: &mut Vec<u8>) {
    bytes.clear();
    if width == 2 {
        bytes.resize(values.len() * 2, 0);
        Simd::best().run(Narrow { values, bytes });
    } else {
        bytes.extend_from_slice(bytemuck::cast_slice(values));
    }
}

/// Writes the lower two bytes of each value.
struct Narrow<'a> {
    values: &'a [u32],
    bytes: &'a mut [u8],
}

impl Work for Narrow<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn run(self) {
        for (bytes, value) in self.bytes.as_chunks_mut::<2>().0.iter_mut().zip(self.values) {
            let [low, high, ..] = value.to_le_bytes();
            *bytes = [low, high];
        }
    }
}

/// An entry of `steps.idx`: the first row of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Step {
    /// The time of the row, in ticks.
    pub time: i64,
    /// The far distances of the rows before it.
    pub far: u64,
}

/// One pair of `counts.idx`.
pub fn encode_count(channel: u16, rows: u32) -> [u8; COUNT_ENTRY_BYTES] {
    let [a, b] = channel.to_le_bytes();
    let [c, d, e, f] = rows.to_le_bytes();
    [a, b, c, d, e, f]
}

/// Reads what [`encode_count`] writes.
pub fn decode_count([a, b, c, d, e, f]: [u8; COUNT_ENTRY_BYTES]) -> (u16, u32) {
    (u16::from_le_bytes([a, b]), u32::from_le_bytes([c, d, e, f]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunId = RunId([7; 16]);

    /// Released constants: a new value is a new format version, with a new golden store.
    #[test]
    fn constants_of_versions_1_to_4_never_change() {
        assert_eq!(VERSION, 4);
        assert_eq!(&MAGIC, b"TAGQCOL\n");
        assert_eq!(
            (HEADER_BYTES, BLOCK_ROWS, BLOCK_ENTRY_BYTES, COUNT_ENTRY_BYTES),
            (4096, 65_536, 64, 6)
        );
        let page = encode_header(FileKind::Time, 8, RUN);
        assert_eq!(page[..16], *b"TAGQCOL\n\x01\0\0\0\x01\x01\x08\0");
        assert_eq!(page[16..32], [7; 16]);
        let page = encode_header(FileKind::Micro, 2, RUN);
        assert_eq!(page[..16], *b"TAGQCOL\n\x02\0\0\0\x05\x02\x02\0");
        let page = encode_header(FileKind::Gap, 2, RUN);
        assert_eq!(page[..16], *b"TAGQCOL\n\x02\0\0\0\x06\x02\x02\0");
        let page = encode_header(FileKind::GapBlocks, 4, RUN);
        assert_eq!(page[..16], *b"TAGQCOL\n\x02\0\0\0\x07\x02\x04\0");
        for (width, low) in [(4, b'\x04'), (8, b'\x08')] {
            let page = encode_header(FileKind::Far, width, RUN);
            assert_eq!(page[..16], *[&b"TAGQCOL\n\x03\0\0\0\x08\x02"[..], &[low, 0]].concat());
        }
        let page = encode_header(FileKind::Steps, 16, RUN);
        assert_eq!(page[..16], *b"TAGQCOL\n\x03\0\0\0\x09\x03\x10\0");
        assert_eq!((GAP_MAX, STEP_ROWS), (65_535, 1_024));
        let step = Step { time: -2, far: 0x0102 };
        let bytes = [[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [2, 1, 0, 0, 0, 0, 0, 0]];
        assert_eq!(bytemuck::bytes_of(&step), bytes.concat());
        assert_eq!((MICRO_NONE, MICRO_NONE_U16), (4_294_967_295, 65_535));
        assert_eq!(encode_count(0x0102, 0x0304_0506), [2, 1, 6, 5, 4, 3]);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_refused() {
        let path = Path::new("time.col");
        let page = encode_header(FileKind::Time, 8, RUN);
        check_header(&page, path, FileKind::Time, 8, RUN).unwrap();
        for bit in 0..HEADER_BYTES * 8 {
            let mut flipped = page;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check_header(&flipped, path, FileKind::Time, 8, RUN).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_header_of_something_else_is_refused_by_name() {
        let path = Path::new("time.col");
        let page = encode_header(FileKind::Time, 8, RUN);
        let refused =
            |kind, width, run| check_header(&page, path, kind, width, run).unwrap_err().to_string();
        assert!(refused(FileKind::Channel, 8, RUN).contains("the kind of file"));
        assert!(refused(FileKind::Time, 4, RUN).contains("their width"));
        assert!(refused(FileKind::Time, 8, RunId([8; 16])).contains("the run that it belongs to"));
        let mut newer = page;
        for (version, named) in [(5, "version 5"), (2, "the format version")] {
            newer[8] = version;
            let crc = crc32c::crc32c(&newer[..CRC_AT]);
            newer[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
            let error = check_header(&newer, path, FileKind::Time, 8, RUN).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn block_entries_come_back() {
        let entry = BlockEntry {
            time_min: -5,
            time_max: i64::MAX,
            counts_start: 1 << 40,
            counts_len: 3,
            checksums: PerFile::from_fn(|kind| match kind {
                FileKind::Time => Some(4),
                FileKind::Channel => Some(5),
                _ => None,
            }),
            chain: 6,
        };
        let with = |crc| {
            let mut changed = entry;
            changed.checksums[FileKind::Micro] = Some(crc);
            changed
        };
        let with_micro = with(0x0403_0201);
        for entry in [entry, with_micro] {
            let has = |kind| entry.checksums[kind].is_some();
            let mut bytes = entry.encode();
            assert_eq!(BlockEntry::decode(&bytes, has), Some(entry));
            bytes[63] = 1;
            assert_eq!(BlockEntry::decode(&bytes, has), None);
        }
        assert_eq!(entry.encode()[40..44], [0; 4]);
        assert_eq!(with_micro.encode()[40..44], [1, 2, 3, 4]);
        assert_eq!(BlockEntry::decode(&with_micro.encode(), |kind| kind != FileKind::Micro), None);
        // The chain covers what came before it, the entry and the counts, but not itself.
        let chain = entry.chained(1, b"counts");
        assert_ne!(chain, entry.chained(2, b"counts"));
        assert_ne!(chain, entry.chained(1, b"Counts"));
        assert_ne!(chain, BlockEntry { time_min: -6, ..entry }.chained(1, b"counts"));
        assert_eq!(chain, BlockEntry { chain: 0, ..entry }.chained(1, b"counts"));
        let chain = with_micro.chained(1, b"counts");
        assert_ne!(chain, with(0).chained(1, b"counts"));
        assert_eq!(chain, BlockEntry { chain: 0, ..with_micro }.chained(1, b"counts"));
    }
}
