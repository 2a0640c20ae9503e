//! Tags of a Time Tagger, made record by record and compared with a plain decoder.

use std::path::Path;

use proptest::prelude::*;
use tagq_ingest::{
    Settings, SourceFile,
    write::{Form, TagWriter},
};
use tagq_sampling::random_cases;
use tagq_store::{Recording, Tag, Tick};

use crate::{
    instruments::{grown_record_by_record, in_order, read_all, stored},
    support::{file, tag},
};

/// Type, missed events, channel, time.
type Record = (u8, u16, i32, i64);

fn named() -> Settings {
    Settings { format: Some("swabian".parse().unwrap()), ..Settings::default() }
}

fn bytes_of(records: &[Record]) -> Vec<u8> {
    let bytes = |&(kind, missed, channel, time): &Record| {
        let mut bytes = vec![kind, 0];
        bytes.extend(missed.to_le_bytes());
        bytes.extend(channel.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes
    };
    records.iter().flat_map(bytes).collect()
}

/// Returns the tags of some records, and the facts about the recording.
fn plain(records: &[Record]) -> (Vec<Tag>, Recording) {
    let (mut tags, mut latest, mut found) = (Vec::new(), None, Recording::default());
    let mut count = |what: &str, n: u64| {
        let at = found.left_out.iter().position(|(other, _)| other == what);
        let at = at.unwrap_or_else(|| {
            found.left_out.push((what.into(), 0));
            found.left_out.len() - 1
        });
        found.left_out[at].1 += n;
    };
    for &(kind, missed, channel, time) in records {
        let mut span = |begins: Option<i64>| {
            found.dead.extend(begins.filter(|&begins| begins < time).map(|begins| (begins, time)));
        };
        match kind {
            0 => {
                let label = if channel < 0 { 1_000 - i64::from(channel) } else { channel.into() };
                tags.push(tag(time, label.cast_unsigned()));
                latest = latest.max(Some(time));
            }
            1 => count("error", 1),
            2 => found.dead_since = found.dead_since.or(Some(time)),
            3 => span(found.dead_since.take().or(latest)),
            4 => {
                if found.dead_since.is_none() {
                    span(latest);
                }
                count("missed event", missed.into());
            }
            _ => count("reserved record", 1),
        }
    }
    (tags, found)
}

/// Records in order of time.
fn records(steps: Vec<(u8, u16, i32, i64)>) -> Vec<Record> {
    let mut time = -1_000;
    let record = |(kind, missed, channel, step)| {
        time += step;
        (kind, missed, channel, time)
    };
    steps.into_iter().map(record).collect()
}

fn step() -> impl Strategy<Value = (u8, u16, i32, i64)> {
    let kind = prop_oneof![6 => Just(0_u8), 4 => 1..5_u8, 1 => 5..=255_u8];
    (kind, any::<u16>(), -20..=20_i32, 0..50_i64)
}

fn sorted(mut left_out: Vec<(String, u64)>) -> Vec<(String, u64)> {
    left_out.sort();
    left_out
}

proptest! {
    #![proptest_config(random_cases(200))]

    #[test]
    fn records_are_decoded_as_the_text_of_the_format_says(
        steps in prop::collection::vec(step(), 0..200),
        torn in 0..16_usize,
    ) {
        let records = records(steps);
        let bytes = [bytes_of(&records), vec![1; torn]].concat();
        let (tags, expected) = plain(&records);
        let stored = stored(&bytes, "a", &named()).unwrap();
        prop_assert_eq!(&stored.rows, &in_order(&tags));
        let found = stored.facts.recording.unwrap();
        prop_assert_eq!(&found.dead, &expected.dead);
        prop_assert_eq!(found.dead_since, expected.dead_since);
        prop_assert_eq!(sorted(found.left_out), sorted(expected.left_out));
    }

    #[test]
    fn no_bytes_cause_a_panic(noise in prop::collection::vec(any::<u8>(), 0..1_000)) {
        let (_folder, path) = file(&noise);
        let _ = SourceFile::open(&path).unwrap().header(&named());
        let _ = read_all(&path, &named());
        let _ = stored(&noise, "a", &named());
    }
}

/// Overflows whose ends are in later blocks of the file, decoded on several threads.
#[test]
fn any_number_of_threads_gives_the_same_tags_and_spans() {
    let kind = |i: i64| match i % 40_000 {
        100 => 2,
        39_000 => 3,
        20_000 | 39_999 => 4,
        _ => 0,
    };
    let records: Vec<Record> =
        (0..150_000).map(|i| (kind(i), 3, i32::try_from(i % 9).unwrap() - 4, i * 10)).collect();
    let (tags, expected) = plain(&records);
    assert_eq!((expected.dead.len(), expected.dead_since), (6, Some(1_201_000)));
    let bytes = bytes_of(&records);
    for threads in 0..=4 {
        let settings = Settings { threads, ..named() };
        let stored = stored(&bytes, "a", &settings).unwrap();
        assert!(stored.rows == in_order(&tags), "{threads} threads");
        let found = stored.facts.recording.unwrap();
        assert_eq!((found.dead, found.dead_since), (expected.dead.clone(), expected.dead_since));
        assert_eq!(found.left_out, expected.left_out);
    }
}

#[test]
fn a_growing_file_is_continued_at_every_record() {
    let kind = |i: i64| match i % 12 {
        3 => 2,
        5 | 10 => 4,
        6 => 3,
        8 => 1,
        _ => 0,
    };
    let records: Vec<Record> =
        (0..70).map(|i| (kind(i), 7, i32::try_from(i % 5).unwrap() - 2, i * 1_000)).collect();
    let (tags, expected) = plain(&records);
    let grown = grown_record_by_record(&bytes_of(&records), 0, "a", &named());
    assert_eq!(grown.rows, in_order(&tags));
    let found = grown.facts.recording.unwrap();
    assert_eq!((found.dead, found.dead_since), (expected.dead, expected.dead_since));
    assert_eq!(found.left_out, expected.left_out);
}

#[test]
fn a_file_of_overflows_lists_a_bounded_number_of_spans() {
    let records: Vec<Record> = (0..400_000_i64)
        .map(|i| (2 + u8::from(i % 2 == 1), 0, 0, i * i))
        .chain([(0, 0, 1, i64::MAX)])
        .collect();
    let found = stored(&bytes_of(&records), "a", &named()).unwrap().facts.recording.unwrap();
    assert!((1_000..=65_536).contains(&found.dead.len()), "{}", found.dead.len());
    // The first and the last overflow are within the spans, and spans stay apart.
    assert_eq!(found.dead[0].0, 0);
    assert_eq!(found.dead.last().unwrap().1, 399_999 * 399_999);
    assert!(found.dead.windows(2).all(|pair| pair[0].1 < pair[1].0));
}

#[test]
fn tags_are_written_as_the_text_of_the_format_says() {
    let tags = [tag(-4, 1), tag(0, 0), tag(7, 1_000), tag(9, 1_001), tag(1 << 60, 66_535)];
    // The tick is 2 ps.
    let expected: Vec<u8> = [(-8_i64, 1_i32), (0, 0), (14, 1_000), (18, -1), (1 << 61, -65_535)]
        .into_iter()
        .flat_map(|(time, channel)| {
            [&[0; 4][..], &channel.to_le_bytes(), &time.to_le_bytes()].concat()
        })
        .collect();
    let written = |tags: &[Tag], tick: &str| {
        let form = Form::of_name(Path::new("a.swabian")).unwrap();
        let mut writer = TagWriter::new(Vec::new(), form, tick.parse::<Tick>().unwrap(), 2)?;
        writer.push(tags, &[])?;
        writer.finish()
    };
    assert_eq!(written(&tags, "2ps").unwrap(), expected);
    for (tags, tick, words) in [
        ([tag(0, 1)], "156.25ps", "cannot state the tick 156.25 ps"),
        ([tag(i64::MAX, 1)], "2ps", "leaves the 64 bits"),
        ([tag(0, 1 << 31)], "2ps", "does not fit in the 32 bits"),
    ] {
        let error = written(&tags, tick).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
