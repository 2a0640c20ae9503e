//! Files of a quTAG, made record by record and compared with a plain decoder.

use std::fs;

use proptest::prelude::*;
use tagq_ingest::{Change, Error, FormatName, Settings, SourceFile, is_intact};
use tagq_sampling::random_cases;
use tagq_store::Tag;

use crate::{
    instruments::{Stored, grown_record_by_record, in_order, ingested_again, read_all, real_file},
    support::{file, frame, skipped, tag},
};

const MAGIC: [u8; 4] = [0x87, 0xb3, 0x91, 0xfa];

fn header(rest: u8) -> Vec<u8> {
    [&MAGIC[..], &[rest; 36]].concat()
}

fn records(records: &[(i64, i16)]) -> Vec<u8> {
    let bytes =
        |&(time, channel): &(i64, i16)| time.to_le_bytes().into_iter().chain(channel.to_le_bytes());
    records.iter().flat_map(bytes).collect()
}

/// The tags of some records, how many are ticks of a millisecond, and how many have impossible channels.
fn plain(records: &[(i64, i16)]) -> (Vec<Tag>, u64, u64) {
    let is_tag = |channel: i16| (0..=103).contains(&channel);
    let tags = records.iter().filter(|record| is_tag(record.1));
    let ticks = records.iter().filter(|record| record.1 == 104).count() as u64;
    let tags: Vec<Tag> =
        tags.map(|&(time, channel)| tag(time, channel.unsigned_abs().into())).collect();
    let rest = records.len() as u64 - ticks - tags.len() as u64;
    (tags, ticks, rest)
}

fn record() -> impl Strategy<Value = (i64, i16)> {
    let channel = prop_oneof![
        8 => 0..106_i16,
        1 => prop::sample::select(vec![-1, i16::MIN, i16::MAX, 100, 103, 104, 105]),
    ];
    (prop_oneof![3 => 0..1_000_000_i64, 1 => any::<i64>()], channel)
}

proptest! {
    #![proptest_config(random_cases(200))]

    #[test]
    fn records_are_decoded_as_the_text_of_the_format_says(
        good in prop::collection::vec((any::<i64>(), 0..6_i16), 40),
        more in prop::collection::vec(record(), 0..200),
        torn in 0..10_usize,
    ) {
        let all = [good, more].concat();
        let mut bytes = [header(7), records(&all)].concat();
        bytes.extend(vec![1; torn]);
        let (_folder, path) = file(&bytes);
        prop_assert_eq!(read_all(&path, &Settings::default()).unwrap(), plain(&all).0);
    }

    #[test]
    fn no_bytes_after_the_magic_number_cause_a_panic(
        noise in prop::collection::vec(any::<u8>(), 0..1_000),
    ) {
        let (_folder, path) = file(&[&MAGIC[..], &noise].concat());
        let _ = SourceFile::open(&path).unwrap().header(&Settings::default());
        let _ = read_all(&path, &Settings::default());
    }
}

#[test]
fn any_number_of_threads_gives_the_same_tags() {
    let all: Vec<(i64, i16)> =
        (0..200_000_i64).map(|i| (i * 1_000 + i % 7, i16::try_from(i % 106).unwrap())).collect();
    let bytes = [header(0), records(&all)].concat();
    let in_frames: Vec<u8> = bytes.chunks(300_001).flat_map(|part| frame(part, true)).collect();
    let (expected, ..) = plain(&all);
    for bytes in [bytes, in_frames] {
        let (_folder, path) = file(&bytes);
        for threads in 0..=4 {
            let settings = Settings { threads, ..Settings::default() };
            assert!(read_all(&path, &settings).unwrap() == expected, "{threads} threads");
        }
    }
}

#[test]
fn a_header_states_the_tick_and_the_markers() {
    let (_folder, path) = file(&[header(0), records(&[(1, 1)])].concat());
    let header = SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
    assert_eq!((header.tick, header.tick_assumed), (Some("1ps".parse().unwrap()), false));
    assert_eq!(header.channel_names[0], (100, "marker0".into()));
}

#[test]
fn records_of_five_bytes_are_refused_by_name() {
    // 37 bits of a time and 3 bits of a channel.
    let five = (0..100_u64).flat_map(|i| (i << 25 | i << 37).to_le_bytes()[..5].to_vec());
    let (_folder, path) = file(&[header(0), five.collect()].concat());
    for error in [
        SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap_err(),
        read_all(&path, &Settings::default()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("records of another length (5 bytes"), "{error}");
    }
}

#[test]
fn a_file_that_ends_inside_its_header_is_empty() {
    for len in 1..header(0).len() {
        let (_folder, path) = file(&header(0)[..len]);
        assert_eq!(read_all(&path, &Settings::default()).unwrap(), [], "{len}");
        assert!(
            SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().is_none(),
            "{len}"
        );
    }
}

/// Whether a file is accepted does not depend on its length, so a growing file stays accepted.
#[test]
fn impossible_channels_at_the_beginning_do_not_refuse_a_growing_file() {
    for (impossible, is_read) in [(32, true), (33, false)] {
        let all: Vec<(i64, i16)> =
            (0..64).map(|i| (i, if i < impossible { -1 } else { 2 })).collect();
        let whole = [header(0), records(&all)].concat();
        for records in [8, 31, 64] {
            let (_folder, path) = file(&whole[..whole.len() - 10 * (64 - records)]);
            let read = read_all(&path, &Settings::default());
            assert_eq!(read.is_ok(), is_read || records < 33, "{impossible} {records}");
        }
    }
}

#[test]
fn a_growing_file_is_continued_at_every_record_and_its_header_may_change() {
    let all: Vec<(i64, i16)> = (0..60_i64)
        .map(|i| match i % 10 {
            3 => (i * 1_000, 104),
            7 => (i * 1_000, -5),
            9 => (i * 1_000, 101),
            _ => (i * 1_000, 1 + i16::try_from(i % 3).unwrap()),
        })
        .collect();
    let (tags, ticks, impossible) = plain(&all);
    let left_out =
        [("millisecond tick".to_owned(), ticks), ("impossible channel".to_owned(), impossible)];
    let begun = header(0);
    let whole = [begun.clone(), records(&all)].concat();
    let Stored { _folder, path, rows, facts } =
        grown_record_by_record(&whole, begun.len() - 10, "a.qutag", &Settings::default());
    assert_eq!(rows, in_order(&tags));
    assert_eq!(facts.recording.as_ref().unwrap().left_out, left_out);

    // The measurement ends.
    let ended = [header(9), records(&all)].concat();
    fs::write(&path, &ended).unwrap();
    assert_eq!(SourceFile::open(&path).unwrap().compare(&facts).unwrap(), Change::None);
    assert_eq!(is_intact(&facts, &path, &Settings::default()).unwrap(), Some(true));
    let mut other = ended;
    other[45] ^= 1;
    fs::write(&path, &other).unwrap();
    assert_eq!(SourceFile::open(&path).unwrap().compare(&facts).unwrap(), Change::Other);
}

#[test]
fn a_recording_of_an_instrument_is_that_of_its_records() {
    let Some(path) = real_file("qutag_320mhz_hbt.qutag") else {
        return skipped("TAGQ_REAL_DATA has no instruments/qutag_320mhz_hbt.qutag");
    };
    let tags = read_all(&path, &Settings::default()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let (records, _) = bytes[40..].as_chunks::<10>();
    assert_eq!(records.len(), tags.len());
    assert!(records.iter().zip(&tags).all(|(record, tag)| {
        record[..8] == tag.time.to_le_bytes() && record[8..] == tag.channel.to_le_bytes()[..2]
    }));
}

/// Without a header, a file is read if the format is named, and the source remembers it.
#[test]
fn a_file_without_a_header_is_read_by_the_name_of_its_format() {
    let all: Vec<(i64, i16)> =
        (0..40_i64).map(|i| (i * 1_000, i16::try_from(i % 4).unwrap())).collect();
    let bytes = records(&all);
    let (_folder, path) = file(&bytes);
    let named = Settings { format: Some("qutag".parse().unwrap()), ..Settings::default() };
    assert_eq!(read_all(&path, &named).unwrap(), plain(&all).0);
    assert_eq!(
        SourceFile::open(&path).unwrap().header(&named).unwrap().unwrap().tick,
        Some("1ps".parse().unwrap())
    );
    let stored = grown_record_by_record(&bytes, 0, "a", &named);
    assert_eq!(stored.rows, in_order(&plain(&all).0));
    assert_eq!(FormatName::of_source(&stored.facts), named.format);

    // Not told again, it grows all the same.
    let longer = [all, vec![(50_000, 2), (60_000, 104), (70_000, 3)]].concat();
    fs::write(&stored.path, records(&longer)).unwrap();
    let again = ingested_again(&stored, &Settings::default());
    assert_eq!(again, in_order(&plain(&longer).0));
}

#[test]
fn an_unknown_format_is_refused_with_those_that_there_are() {
    let error = "ttbin".parse::<FormatName>().unwrap_err();
    assert!(error.starts_with("`ttbin` is no input format; there are "), "{error}");
    assert!(error.contains("qutag") && error.contains("text"), "{error}");
    // Any name of a format is its own.
    let format = |name: &str| name.parse::<FormatName>().unwrap();
    assert_eq!(format("pt3"), format("ptu"));
}
