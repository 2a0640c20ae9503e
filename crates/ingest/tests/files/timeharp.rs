//! Files of a TimeHarp 200, made field by field and compared with a plain decoder of the vendor's text of a record.

use std::fs;

use proptest::prelude::*;
use tagq_ingest::{Error, Settings, SourceFile};
use tagq_sampling::random_cases;
use tagq_store::Tag;

use crate::{
    instruments::{grown_record_by_record, in_order, ingested, read_all, stored},
    support::{file, tag},
};

const PHOTON: u32 = 1 << 30;
const OVERFLOW: u32 = 0x800 << 16;
const INTERACTIVE: i32 = 0;
const TAGS: i32 = 2;

/// The header of a file of this format version, with a clock of 100 ns and 37.5 ps a channel.
fn header(version: &str, mode: i32, records: usize, image: &[i32]) -> Vec<u8> {
    let text = |text: &str, len: usize| [text.as_bytes(), &vec![0; len]].concat()[..len].to_vec();
    let mut bytes = [text("TimeHarp 200", 16), text(version, 6)].concat();
    match version {
        "5.0" => bytes.extend(text("2.4", 6)),
        _ => bytes.extend([text("TimeHarp Software", 18), text("6.1", 12)].concat()),
    }
    bytes.extend([text("01/02/06 10:00", 18), b"\r\n".to_vec(), text("a sample", 256)].concat());
    // Channels, curves, bits, routing channels, boards, active curve, mode, and 46 others.
    let settings = [4_096, 1, 32, 4, 1, 0, mode].into_iter().chain([0; 46]);
    bytes.extend(settings.flat_map(i32::to_le_bytes));
    if version != "5.0" {
        bytes.extend([text("TimeHarp 200", 16), text("2.4", 8)].concat());
    }
    bytes.extend([1_234, 0, 0, 0, 0].into_iter().flat_map(i32::to_le_bytes));
    bytes.extend(0.0375_f32.to_le_bytes());
    let [records, words] = [records, image.len()].map(|count| i32::try_from(count).unwrap());
    let of_tags = [100, 0, 0, 0, 0, 0, 0, 40_000_000, 0, 1_000, 0, records, words];
    bytes.extend(of_tags.iter().chain(image).flat_map(|word| word.to_le_bytes()));
    bytes
}

fn bytes_of(version: &str, records: &[u32]) -> Vec<u8> {
    let words = records.iter().flat_map(|record| record.to_le_bytes());
    header(version, TAGS, records.len(), &[]).into_iter().chain(words).collect()
}

/// The tags of some records and their micro times, and how many records are none.
fn plain(records: &[u32]) -> (Vec<Tag>, u64) {
    let (mut tags, mut sum, mut reserved) = (Vec::new(), 0, 0);
    for record in records {
        let [time_tag, data] = [record % 65_536, record / 65_536 % 4_096];
        let (route, is_valid) = (record / 0x1000_0000 % 4, record & PHOTON > 0);
        let time = sum + i64::from(time_tag);
        if is_valid {
            tags.push(tag(time, u64::from(route) + 1));
        } else if data >= 2_048 {
            sum += 65_536;
        } else if data % 8 > 0 {
            tags.extend((0..3).filter(|bit| data >> bit & 1 == 1).map(|bit| tag(time, 101 + bit)));
        } else {
            reserved += 1;
        }
    }
    (tags, reserved)
}

fn record() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => any::<u32>().prop_map(|word| word | PHOTON),
        2 => any::<u32>().prop_map(|word| word & !PHOTON),
        1 => Just(OVERFLOW),
    ]
}

/// Time tags ascend between overflows.
fn ascending(records: Vec<u32>) -> Vec<u32> {
    let mut latest = 0;
    let ascend = |word: u32| {
        if word & (PHOTON | OVERFLOW) == OVERFLOW {
            latest = 0;
        }
        latest = (latest + word % 64).min(65_535);
        word & !0xffff | latest
    };
    records.into_iter().map(ascend).collect()
}

proptest! {
    #![proptest_config(random_cases(200))]

    #[test]
    fn records_are_decoded_as_the_text_of_the_format_says(
        records in prop::collection::vec(record(), 0..200),
        is_old in any::<bool>(),
    ) {
        let records = ascending(records);
        let bytes = bytes_of(if is_old { "5.0" } else { "6.0" }, &records);
        let (tags, reserved) = plain(&records);
        let (_folder, path) = file(&bytes);
        prop_assert_eq!(&read_all(&path, &Settings::default()).unwrap(), &tags);
        let stored = stored(&bytes, "a.t3r", &Settings::default()).unwrap();
        prop_assert_eq!(stored.rows, in_order(&tags));
        let left_out = stored.facts.recording.unwrap().left_out;
        prop_assert_eq!(left_out.iter().map(|(_, count)| count).sum::<u64>(), reserved);
    }

    #[test]
    fn no_bytes_cause_a_panic(
        noise in prop::collection::vec(any::<u8>(), 0..800),
        is_old in any::<bool>(),
    ) {
        let version = if is_old { b"5.0\0\0\0" } else { b"6.0\0\0\0" };
        let (_folder, path) = file(&[b"TimeHarp 200\0\0\0\0", &version[..], &noise].concat());
        let _ = SourceFile::open(&path).unwrap().header(&Settings::default());
        let _ = read_all(&path, &Settings::default());
    }
}

#[test]
fn a_file_that_grows_is_that_of_one_piece() {
    let records = [PHOTON | 7 << 16 | 5, OVERFLOW, PHOTON | 3 << 28 | 9 << 16 | 1, 5 << 16 | 8];
    let bytes = bytes_of("6.0", &records);
    let grown = grown_record_by_record(&bytes, 0, "a.t3r", &Settings::default());
    // 65,536 before the third, and two markers in the last.
    assert_eq!(grown.rows, [(5, 1), (65_537, 4), (65_544, 101), (65_544, 103)]);
}

#[test]
fn the_header_states_both_units() {
    let records = [PHOTON | 7 << 16 | 5, PHOTON | 0xfff << 16 | 6];
    let words = records.iter().flat_map(|record| record.to_le_bytes());
    let bytes: Vec<u8> = header("6.0", TAGS, 2, &[1, 2]).into_iter().chain(words).collect();
    let (_folder, path) = file(&bytes);
    let header = SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
    assert_eq!(header.tick, Some("100ns".parse().unwrap()));
    assert_eq!(header.micro_tick, Some("37.5ps".parse().unwrap()));
    let (facts, micro) = ingested(&path);
    assert_eq!(micro, [7, 0xfff]);
    let recording = facts.recording.unwrap();
    let stated = recording.stated.unwrap();
    assert_eq!((stated.records, stated.records_found), (Some(2), Some(2)));
    assert!(recording.facts.contains(&("serial number".into(), "1234".into())));
}

/// Histograms of the three old instruments have the same first bytes as their tags.
#[test]
fn histograms_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let old = |ident: &[u8], version: &[u8], mode_at: usize| {
        let mut bytes = vec![0; 1_000];
        bytes[..ident.len()].copy_from_slice(ident);
        bytes[16..16 + version.len()].copy_from_slice(version);
        bytes[332] = 32;
        bytes[mode_at] = 0;
        bytes
    };
    for (name, bytes, kind) in [
        ("a.thd", header("6.0", INTERACTIVE, 0, &[]), "a histogram of a TimeHarp 200 (THD)"),
        ("a.phd", old(b"PicoHarp 300", b"2.0", 348), "a histogram of a PicoHarp 300 (PHD)"),
        ("a.hhd", old(b"HydraHarp\0", b"2.0", 340), "a histogram of a HydraHarp 400 (HHD)"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        match read_all(&path, &Settings::default()) {
            Err(Error::Foreign { kind: found, .. }) => assert_eq!(found, kind),
            other => panic!("{name}: {other:?}"),
        }
    }
}
