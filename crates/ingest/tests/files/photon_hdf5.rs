//! Photon-HDF5 files: two written by h5py, changed in many places, and some of the library of the reader.
//!
//! Row i of the files of h5py (500 rows in chunks of 150, with deflate, shuffle and Fletcher-32) has the timestamp
//! 7·i² + 3, the detector i mod 3 and the nanotime 5·i.

use std::{fs, path::PathBuf};

use hdf5_pure::FileBuilder;
use tagq_ingest::{Error, FormatName, Settings, SourceFile};
use tagq_store::Tag;

use tagq_sampling::some;

use crate::{
    instruments::{ingested, read_all, stored},
    support::{Packing, crc32c, file, tag},
};

const ROWS: i64 = 500;

fn fixture(name: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read(root.join("data/fixtures/photon_hdf5").join(name)).unwrap()
}

fn expected() -> Vec<Tag> {
    (0..ROWS).map(|i| tag(7 * i * i + 3, (i % 3).unsigned_abs())).collect()
}

#[test]
fn files_of_h5py_are_read() {
    for name in ["earliest.h5", "v110.h5"] {
        let bytes = fixture(name);
        let (_folder, path) = file(&bytes);
        assert_eq!(read_all(&path, &Settings::default()).unwrap(), expected(), "{name}");
        let header =
            SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
        assert_eq!(header.tick, "12.5ns".parse().ok());
        assert_eq!(header.micro_tick, "16ps".parse().ok());
        let (facts, micro) = ingested(&path);
        assert!(micro.into_iter().eq((0..500).map(|i| 5 * i)));
        assert_eq!(facts.read_byte, bytes.len() as u64);
        assert_eq!(facts.read_crc32c, Some(crc32c(&bytes)));
        assert_eq!(FormatName::of_source(&facts), "photon-hdf5".parse().ok());
        let recording = facts.recording.unwrap();
        assert_eq!(recording.channel_names, [(0, "donor".into()), (1, "acceptor".into())]);
        assert_eq!(recording.facts, [("description".into(), "counts to 500".into())]);
    }
}

#[test]
fn a_file_that_is_cut_is_refused() {
    for name in ["earliest.h5", "v110.h5"] {
        let bytes = fixture(name);
        for len in (8..bytes.len()).step_by(41) {
            let result = stored(&bytes[..len], "a.h5", &Settings::default());
            let error = result.map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Header { .. }), "{name} {len}: {error}");
        }
    }
}

/// A changed byte is an error or stands where no photon depends on it, and neither a panic nor endless rows.
#[test]
fn a_file_with_a_changed_byte_is_refused_or_has_as_many_rows() {
    for name in ["earliest.h5", "v110.h5"] {
        let whole = fixture(name);
        let (_folder, path) = file(&whole);
        let mut x = 1_u64;
        for _ in some(0..2_000) {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut bytes = whole.clone();
            bytes[(x >> 33) as usize % whole.len()] ^= 1 << (x >> 30 & 7);
            fs::write(&path, &bytes).unwrap();
            match read_all(&path, &Settings::default()) {
                Ok(tags) => assert!(tags.len() <= 500, "{name}: {} tags", tags.len()),
                Err(Error::Header { .. } | Error::Foreign { .. } | Error::NotTags { .. }) => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

/// All arrays say that they have 700 rows. Their chunks hold 600.
#[test]
fn rows_that_are_not_stored_are_no_tags() {
    let mut bytes = fixture("earliest.h5");
    for at in 0..bytes.len() - 8 {
        if bytes[at..at + 8] == 500_u64.to_le_bytes() {
            bytes[at..at + 8].copy_from_slice(&700_u64.to_le_bytes());
        }
    }
    let error = stored(&bytes, "a.h5", &Settings::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("is not stored completely"), "{error}");
}

/// The last chunk of the timestamps has another Fletcher-32: the rows before it are not committed.
#[test]
fn nothing_is_stored_of_a_file_with_a_damaged_chunk() {
    let mut bytes = fixture("earliest.h5");
    let (_folder, path) = file(&bytes);
    let opened = hdf5_pure::File::open(&path).unwrap();
    let chunks = opened.dataset("photon_data/timestamps").unwrap().chunks().unwrap();
    let last = chunks.iter().max_by_key(|chunk| chunk.offset[0]).unwrap();
    bytes[usize::try_from(last.address + last.storage_size).unwrap() - 6] ^= 1;
    let error = stored(&bytes, "a.h5", &Settings::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Header { .. }), "{error}");
}

/// Builds a file whose group of this name has three timestamps, their unit, and other arrays.
pub(crate) fn built(group: &str, unit: Option<f64>, others: &[(&str, &[i16])]) -> Vec<u8> {
    let mut file = FileBuilder::new();
    let mut photons = file.create_group(group);
    photons.create_dataset("timestamps").with_i64_data(&[1, 5, 9]);
    for (name, values) in others {
        photons.create_dataset(name).with_i16_data(values);
    }
    if let Some(unit) = unit {
        let mut specs = photons.create_group("timestamps_specs");
        specs.create_dataset("timestamps_unit").with_f64_data(&[unit]);
        photons.add_group(specs.finish());
    }
    file.add_group(photons.finish());
    file.finish().unwrap()
}

const UNIT: Option<f64> = Some(5e-9);

fn error_of(bytes: &[u8]) -> String {
    let (_folder, path) = file(bytes);
    read_all(&path, &Settings::default()).unwrap_err().to_string()
}

#[test]
fn what_is_missing_is_named() {
    let of = |group, unit, others: &[_]| error_of(&built(group, unit, others));
    assert!(of("photon_data1", UNIT, &[]).contains("of several spots (1:"));
    assert!(of("results", UNIT, &[]).contains("without the group photon_data"));
    let (_folder, without) = file(&built("photon_data", None, &[]));
    let header = SourceFile::open(&without).unwrap().header(&Settings::default()).unwrap();
    assert_eq!(header.unwrap().tick, None);
    assert!(of("photon_data", Some(0.0), &[]).contains("cannot be the unit of times"));
    let with = |values| of("photon_data", UNIT, &[("detectors", values)]);
    assert!(with(&[1, 2]).contains("different lengths"));
    assert!(with(&[1, -2, 3]).contains("negative number -2"));
    let nanotimes = with_nanotimes(&[1, -2, 3]);
    assert!(error_of(&nanotimes).contains("nanotime of -2"));
    let mut file = FileBuilder::new();
    let mut photons = file.create_group("photon_data");
    photons.create_dataset("timestamps").with_f64_data(&[1.0]);
    file.add_group(photons.finish());
    assert!(error_of(&file.finish().unwrap()).contains("no integers"));
}

fn with_nanotimes(values: &[i16]) -> Vec<u8> {
    let mut file = FileBuilder::new();
    let mut photons = file.create_group("photon_data");
    photons.create_dataset("timestamps").with_i64_data(&[1, 5, 9]);
    photons.create_dataset("nanotimes").with_i16_data(values);
    for (group, unit) in
        [("timestamps_specs", "timestamps_unit"), ("nanotimes_specs", "tcspc_unit")]
    {
        let mut specs = photons.create_group(group);
        specs.create_dataset(unit).with_f64_data(&[1e-9]);
        photons.add_group(specs.finish());
    }
    file.add_group(photons.finish());
    file.finish().unwrap()
}

#[test]
fn photons_without_detectors_are_of_channel_0() {
    let (_folder, path) = file(&built("photon_data", UNIT, &[]));
    let tags = read_all(&path, &Settings::default()).unwrap();
    assert_eq!(tags, [tag(1, 0), tag(5, 0), tag(9, 0)]);
}

#[test]
fn micro_times_without_a_unit_are_left_out() {
    let bytes = built("photon_data", UNIT, &[("nanotimes", &[1, 2, 3])]);
    let facts = stored(&bytes, "a.h5", &Settings::default()).unwrap().facts;
    let fact = &facts.recording.unwrap().facts[0];
    assert!(fact.0 == "nanotimes" && fact.1.contains("left out"), "{fact:?}");
}

#[test]
fn a_compressed_file_is_refused() {
    let (_folder, path) = file(&Packing::Gzip.pack(&fixture("earliest.h5")));
    let error = read_all(&path, &Settings::default()).unwrap_err().to_string();
    assert!(error.contains("an HDF5 file in gzip members"), "{error}");
}
