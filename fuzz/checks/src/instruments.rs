//! Files of instruments: valid headers with any records after them.

use crate::{recipe::Recipe, sources::check_file, support::ptu_header};

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
    let kind = usize::from(recipe.byte()) % (TYPES.len() + OTHERS.len());
    let cut = recipe.below(1 << 12);
    let damages: Vec<(usize, u8)> =
        (0..recipe.below(3)).map(|_| (recipe.below(1 << 10), recipe.byte())).collect();
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
