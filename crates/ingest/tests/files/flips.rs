//! Flipped bits in files with checksums: each gives an error, a note about an incomplete end, or the same tags.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use tagq_ingest::Settings;
use tagq_store::Tag;

use crate::support::{Packing, file, frame, framed, handed, tag};

/// Messages of tags, as many as a block of each compression has several of.
fn messages() -> (Vec<u8>, Vec<Tag>) {
    let tags: Vec<Tag> = (0..3_000_i64).map(|i| tag(i * i * 7, i.unsigned_abs() % 5)).collect();
    let words = tags.iter().flat_map(|tag| [tag.time.cast_unsigned(), tag.channel]);
    let count = tags.len() as u64;
    // The root, a list of one list, a list of tags, and its first word.
    let head =
        [1 << 48, 1 | 6 << 32 | 1 << 35, 1 | 7 << 32 | (count * 2) << 35, count << 2 | 2 << 32];
    (framed(&[head.into_iter().chain(words).collect()]), tags)
}

fn fixture(name: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/fixtures");
    fs::read(root.join(name)).unwrap()
}

/// Where `values` stand in `bytes`.
fn place(bytes: &[u8], values: &[u8]) -> Range<usize> {
    let at = bytes.windows(values.len()).position(|window| window == values).unwrap();
    at..at + values.len()
}

/// Returns the tags of a file; `None` for an error, and for a note that its end is incomplete.
fn whole(path: &Path) -> Option<Vec<Tag>> {
    let (tags, summary) = handed(path, &Settings::default());
    summary.is_ok_and(|summary| summary.torn.is_none()).then_some(tags)
}

/// Flips bits in these places, and returns how many were noticed.
fn errors(name: &str, bytes: &[u8], places: Range<usize>, expected: &[Tag]) -> usize {
    let (_folder, path) = file(bytes);
    assert!(whole(&path).unwrap() == expected, "{name}");
    let step = (places.len() / 400).max(1);
    let mut errors = 0;
    for at in places.clone().step_by(step) {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at / step % 8);
        fs::write(&path, &flipped).unwrap();
        match whole(&path) {
            Some(tags) => assert!(tags == expected, "{name}: byte {at} changes tags in silence"),
            None => errors += 1,
        }
    }
    errors
}

#[test]
fn every_compression_notices_flipped_bits() {
    let (messages, tags) = messages();
    let mut packed = vec![("zstd", frame(&messages, true))];
    packed.extend(Packing::ALL.map(|packing| {
        let name = match packing {
            Packing::Gzip => "gzip",
            Packing::Xz => "xz",
            Packing::Bzip2 => "bzip2",
        };
        (name, packing.pack(&messages))
    }));
    for (name, bytes) in packed {
        let found = errors(name, &bytes, 0..bytes.len(), &tags);
        assert!(found > 350, "{name}: {found} of some 400");
    }
}

/// The pages of the fixture of pyarrow have checksums and are not compressed: without the checksum each flip gives
/// another tag.
#[test]
fn the_checksums_of_parquet_pages_are_verified() {
    let bytes = fixture("parquet/checksums.parquet");
    let tags: Vec<Tag> = (0..300_i64).map(|i| tag(7 * i * i + 3, i.unsigned_abs() % 3)).collect();
    let times: Vec<u8> = tags.iter().flat_map(|tag| tag.time.to_le_bytes()).collect();
    let channels: Vec<u8> =
        tags.iter().flat_map(|tag| (tag.channel as u32).to_le_bytes()).collect();
    for values in [times, channels] {
        let places = place(&bytes, &values);
        let count = places.clone().step_by((values.len() / 400).max(1)).count();
        assert_eq!(errors("parquet", &bytes, places, &tags), count);
    }
}

/// The chunks of the fixture of h5py have Fletcher-32 checksums, and its structures those of HDF5 1.10. Other bytes,
/// such as texts, are of no tag.
#[test]
fn the_checksums_of_hdf5_are_verified() {
    let bytes = fixture("photon_hdf5/v110.h5");
    let tags: Vec<Tag> = (0..500_i64).map(|i| tag(7 * i * i + 3, i.unsigned_abs() % 3)).collect();
    let found = errors("HDF5", &bytes, 0..bytes.len(), &tags);
    assert!(found > 100, "{found}");
}
