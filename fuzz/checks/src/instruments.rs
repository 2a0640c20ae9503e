//! Files of instruments: valid headers with any records after them.

use std::fs;

use tagq_ingest::{HeldCounts, Settings};

use crate::{
    recipe::Recipe,
    sdt_writer::{SdtBlock, sdt},
    sources::{check_file, check_whole},
    support::ptu_header,
};

/// Record types of PTU files, and one that is none.
const TYPES: [i64; 13] = [
    0x0001_0203,
    0x0001_0303,
    0x0001_0204,
    0x0001_0304,
    0x0101_0204,
    0x0101_0304,
    0x0001_0205,
    0x0001_0305,
    0x0001_0206,
    0x0001_0306,
    0x0001_0207,
    0x0001_0307,
    0x0001_0208,
];
/// Numbers of kinds: a record type, one of the others, or the last for a file of counts. It stays as it is when a format
/// is added, so that inputs of the corpus stay what they are.
const KINDS: u8 = 32;
/// The other formats: the name, if only a name tells it, the first bytes of a valid header, and its length.
const OTHERS: [(Option<&str>, &[u8], usize); 4] = [
    (None, &[0x87, 0xb3, 0x91, 0xfa], 40),
    (Some("spc"), &[125, 0, 0, 0xa0], 4),
    (Some("spc600"), &[4, 0, 125, 0, 0, 0], 6),
    (Some("swabian"), &[], 0),
];

/// What [`crate::sources`] checks holds for files with a valid header and any records, of which some bytes of the
/// header may be changed.
///
/// # Panics
/// When it does not.
pub fn instruments(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    let kind = usize::from(recipe.byte() % KINDS);
    let cut = recipe.below(1 << 12);
    let damages: Vec<(usize, u8)> =
        (0..recipe.below(3)).map(|_| (recipe.below(1 << 10), recipe.byte())).collect();
    if kind == usize::from(KINDS) - 1 {
        return counts(&mut recipe, cut, &damages);
    }
    let kind = kind % (TYPES.len() + OTHERS.len());
    let (name, mut bytes) = if let Some(&record_type) = TYPES.get(kind) {
        (None, ptu_header(record_type, recipe.is().then_some(7)))
    } else {
        let (name, begin, len) = OTHERS[kind - TYPES.len()];
        let mut header = begin.to_vec();
        header.resize(len, 0);
        (name, header)
    };
    for (at, mask) in damages {
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= mask;
        }
    }
    bytes.extend_from_slice(recipe.rest());
    let format = name.map(|name| name.parse().unwrap());
    check_file(&bytes, cut, format);
}

/// A file of counts: a page, an image and a decay curve of any bytes.
fn counts(recipe: &mut Recipe<'_>, cut: usize, damages: &[(usize, u8)]) {
    let kind = u16::from_le_bytes([recipe.byte(), recipe.byte()]);
    let bins = 1 << recipe.below(4);
    let sides = [0; 4].map(|_: u8| recipe.below(4) as u32);
    let mut values = recipe.rest().to_vec();
    values.resize(values.len() / 8 * 8, 0);
    let kinds = [kind, 0x68, 0x108];
    let parts = values.chunks(values.len().div_ceil(3).next_multiple_of(8).max(8));
    let blocks: Vec<SdtBlock> =
        kinds.into_iter().zip(parts).map(|(of, part)| SdtBlock::new(of, part.to_vec())).collect();
    let mut bytes = sdt(bins, sides, &blocks);
    for &(at, mask) in damages {
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= mask;
        }
    }
    let whole = bytes.len();
    for len in [whole, cut.min(whole)] {
        check_whole(&bytes[..len], &Settings { threads: 2, ..Settings::default() });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        fs::write(&path, &bytes[..len]).unwrap();
        let Ok(held) = HeldCounts::open(&path) else { continue };
        let mut values = 0;
        let is_read = held.read(|_, _, curve| values += curve.len()).is_ok();
        // Counts that are not packed are in the file.
        assert!(!is_read || !damages.is_empty() || kind & 0x1000 != 0 || 2 * values <= len);
    }
}
