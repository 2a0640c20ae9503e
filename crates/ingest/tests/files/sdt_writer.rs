//! A small writer of Becker & Hickl's files of counts (`.sdt`).

/// A block: its type, its bytes as they are stored, and their length when they are unpacked.
pub struct SdtBlock {
    pub kind: u16,
    pub stored: Vec<u8>,
    pub bytes: usize,
}

impl SdtBlock {
    pub fn new(kind: u16, stored: Vec<u8>) -> Self {
        Self { kind, bytes: stored.len(), stored }
    }

    /// A block of counts of 16 bits.
    pub fn short(kind: u16, counts: &[u16]) -> Self {
        Self::new(kind, counts.iter().flat_map(|count| count.to_le_bytes()).collect())
    }

    /// A block of counts of 32 bits.
    pub fn long(kind: u16, counts: &[u32]) -> Self {
        Self::new(kind | 0x100, counts.iter().flat_map(|count| count.to_le_bytes()).collect())
    }
}

/// Places of the header: of the first block, and of their number.
pub const BLOCKS_AT: usize = 14;
pub const COUNT_AT: usize = 18;
/// Bytes of the header of a block.
pub const BLOCK_HEADER: usize = 22;

/// Returns a file of an SPC-150 with a range of 50 ns, a gain of 4, and curves of so many bins. `sides` are those of the
/// scan: pixels of a line, lines, and detectors in two directions.
pub fn sdt(bins: u16, sides: [u32; 4], blocks: &[SdtBlock]) -> Vec<u8> {
    let info = b"*IDENTIFICATION\r\n  ID : SPC FCS Data File\r\n  Title : cells\r\n  Date : 2026-01-02\r\n*END\r\n";
    let mut description = vec![0; 512];
    let mut put =
        |at: usize, bytes: &[u8]| description[at..at + bytes.len()].copy_from_slice(bytes);
    put(64, &5e-8_f32.to_le_bytes());
    put(68, &4_u16.to_le_bytes());
    put(82, &bins.to_le_bytes());
    put(92, &1.5_f32.to_le_bytes());
    for (at, side) in (173..).step_by(4).zip(sides) {
        put(at, &side.to_le_bytes());
    }
    let described = 42 + info.len();
    let first = described + description.len();
    let mut bytes = vec![0; 42];
    let mut put = |at: usize, of: &[u8]| bytes[at..at + of.len()].copy_from_slice(of);
    let four = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    put(0, &0x28f_u16.to_le_bytes());
    put(2, &four(42));
    put(6, &four(info.len())[..2]);
    put(BLOCKS_AT, &four(first));
    put(COUNT_AT, &four(blocks.len())[..2]);
    put(24, &four(described));
    put(28, &1_u16.to_le_bytes());
    put(30, &four(description.len())[..2]);
    put(32, &0x5555_u16.to_le_bytes());
    put(40, &0x55aa_u16.to_le_bytes());
    bytes.extend_from_slice(info);
    bytes.extend(description);
    for block in blocks {
        let start = bytes.len() + BLOCK_HEADER;
        bytes.extend([0, 0]);
        bytes.extend(four(start));
        bytes.extend(four(start + block.stored.len()));
        bytes.extend(block.kind.to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(four(1));
        bytes.extend(four(block.bytes));
        bytes.extend_from_slice(&block.stored);
    }
    bytes
}
