//! Files of PicoQuant's instruments, made record by record and compared with a plain decoder.

use std::{fs, path::Path};

use proptest::prelude::*;
use tagq_ingest::{Change, Error, Settings, SourceFile, SourcePart, ingest, is_intact, read_tags};
use tagq_sampling::random_cases;
use tagq_store::{Access, Creation, RunId, Store, Tag, Tick, Writer};

use tagq_ingest::write::{Form, TagWriter};

use crate::{
    instruments::early,
    support::{RESOLUTION_AS, SYNC_RATE, file, frame, is_t3, ptu_header as header, tag},
};

/// Record types of T2 and T3 of one division of the bits.
const TYPES: [(i64, Plain); 12] = [
    (0x0001_0203, Plain::PicoHarp),
    (0x0001_0303, Plain::PicoHarp),
    (0x0001_0204, Plain::Version1),
    (0x0001_0304, Plain::Version1),
    (0x0101_0204, Plain::Version2),
    (0x0101_0304, Plain::Version2),
    (0x0001_0205, Plain::Version2),
    (0x0001_0305, Plain::Version2),
    (0x0001_0206, Plain::Version2),
    (0x0001_0306, Plain::Version2),
    (0x0001_0207, Plain::Version2),
    (0x0001_0307, Plain::Version2),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Plain {
    PicoHarp,
    Version1,
    Version2,
}

fn bytes_of(record_type: i64, records: &[u32]) -> Vec<u8> {
    let records = records.iter().flat_map(|record| record.to_le_bytes());
    header(record_type, Some(0)).into_iter().chain(records).collect()
}

/// One record: the label of a photon, its counter and its time after the pulse; or markers and their counter; or overflows.
type Record = (Option<(i128, i128, i128)>, Option<(i128, i128)>, i128);

/// Returns a record by the text of the vendor's formats, and what one overflow adds.
fn parsed(division: Plain, t3: bool, record: u32) -> (Record, i128) {
    let bits = |from: u32, count: u32| i128::from(record >> from & ((1_u32 << count) - 1));
    match (division, t3) {
        (Plain::PicoHarp, false) => {
            let record = match (bits(28, 4), bits(0, 4)) {
                (15, 0) => (None, None, 1),
                (15, markers) => (None, Some((markers, bits(0, 28) - markers)), 0),
                (channel @ 0..=4, _) => (Some((channel, bits(0, 28), 0)), None, 0),
                _ => (None, None, 0),
            };
            (record, 210_698_240)
        }
        (Plain::PicoHarp, true) => {
            let record = match (bits(28, 4), bits(16, 12)) {
                (15, 0) => (None, None, 1),
                (15, markers @ 1..=15) => (None, Some((markers, bits(0, 16))), 0),
                (channel @ 1..=4, micro) => (Some((channel, bits(0, 16), micro)), None, 0),
                _ => (None, None, 0),
            };
            (record, 65_536)
        }
        (_, _) => {
            let (counter, micro, each) = match (t3, division) {
                (false, Plain::Version1) => (bits(0, 25), 0, 33_552_000),
                (false, _) => (bits(0, 25), 0, 33_554_432),
                (true, _) => (bits(0, 10), bits(10, 15), 1_024),
            };
            let count = if division == Plain::Version2 && counter > 0 { counter } else { 1 };
            let record = match (bits(31, 1), bits(25, 6)) {
                (1, 63) => (None, None, count),
                (1, 0) if !t3 => (Some((0, counter, 0)), None, 0),
                (1, markers @ 1..=15) => (None, Some((markers, counter)), 0),
                (1, _) => (None, None, 0),
                (_, channel) => (Some((channel + 1, counter, micro)), None, 0),
            };
            (record, each)
        }
    }
}

/// The tags of some records, one record after the other, and how many are reserved.
fn plain(record_type: i64, division: Plain, records: &[u32]) -> (Vec<Tag>, u64) {
    let (mut overflows, mut tags, mut reserved) = (0_i128, Vec::new(), 0);
    let t3 = is_t3(record_type);
    let (_, each) = parsed(division, t3, 0);
    let records: Vec<(Record, bool)> =
        records.iter().map(|&record| (parsed(division, t3, record).0, record == 0)).collect();
    let counters: Vec<(i128, Option<i128>)> = records
        .iter()
        .map(|&((photon, markers, overflows), is_blank)| {
            let counter =
                photon.map(|(_, counter, _)| counter).or(markers.map(|(_, counter)| counter));
            (overflows, counter.filter(|_| !is_blank))
        })
        .collect();
    for (&((photon, markers, overflow), _), is_early) in records.iter().zip(early(&counters, each))
    {
        let time = |counter: i128| {
            let sum = (overflows - i128::from(is_early)) * each + counter;
            if t3 {
                sum * 1_000_000_000_000_000_000 / (i128::from(SYNC_RATE) * RESOLUTION_AS)
            } else {
                sum
            }
        };
        let to_tag =
            |time: i128, label: i128| tag(time.try_into().unwrap(), label.try_into().unwrap());
        match (photon, markers) {
            (Some((label, counter, micro)), _) => tags.push(to_tag(time(counter) + micro, label)),
            (_, Some((markers, counter))) => {
                let set = (0..4).filter(|bit| markers >> bit & 1 == 1);
                tags.extend(set.map(|bit| to_tag(time(counter), 101 + bit)));
            }
            _ if overflow == 0 => reserved += 1,
            _ => {}
        }
        overflows += overflow;
    }
    (tags, reserved)
}

fn read_all(path: &Path, threads: usize) -> Result<Vec<Tag>, Error> {
    let mut all = Vec::new();
    let settings = Settings { threads, ..Settings::default() };
    read_tags(path, &settings, |tags| {
        all.extend_from_slice(tags);
        Ok(())
    })?;
    Ok(all)
}

/// Records at the edges of their fields: overflows with and without counts, all markers, all channels.
fn record() -> impl Strategy<Value = u32> {
    let edge = prop::sample::select(vec![0, 1, 15, 16, 0x3ff, 0xffff, 0x1ff_ffff, 0xfff_ffff]);
    prop_oneof![
        4 => any::<u32>(),
        2 => (0..128_u32, edge.clone()).prop_map(|(top, low)| top << 25 | low & 0x1ff_ffff),
        2 => (0..16_u32, edge).prop_map(|(top, low)| top << 28 | low),
        2 => (0..5_u32).prop_map(|count| 0xfe00_0000 | count),
        1 => Just(0xf000_0000),
    ]
}

proptest! {
    #![proptest_config(random_cases(400))]

    #[test]
    fn records_of_every_type_are_decoded_as_the_text_of_the_format_says(
        records in prop::collection::vec(record(), 0..200),
    ) {
        for (record_type, division) in TYPES {
            let (_folder, path) = file(&bytes_of(record_type, &records));
            let (expected, _) = plain(record_type, division, &records);
            prop_assert_eq!(read_all(&path, 0).unwrap(), expected, "{:#x}", record_type);
        }
    }

    #[test]
    fn no_bytes_after_a_magic_number_cause_a_panic(
        magic in prop::sample::select(vec![&b"PQTTTR\0\0"[..], b"PicoHarp 300\0\0\0\x002.0\0\0\0", b"HydraHarp\0\0\0\0\0\0\x001.0\0\0\0"]),
        at in 0..2_000_usize,
        noise in prop::collection::vec(any::<u8>(), 0..2_000),
    ) {
        // A valid header with noise in it.
        let mut bytes = bytes_of(0x0101_0204, &[0; 10]);
        let end = at.min(bytes.len());
        bytes.truncate(end);
        bytes.extend(&noise);
        let other = [magic, &noise].concat();
        for bytes in [bytes, other] {
            let (_folder, path) = file(&bytes);
            let _ = SourceFile::open(&path).unwrap().header(&Settings::default());
            let _ = read_all(&path, 0);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_tags() {
    let mut x = 7_u32;
    let mut records: Vec<u32> = (0..400_000)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if x.is_multiple_of(50) {
                0xfe00_0000 | x >> 28
            } else {
                (x >> 8) & 0x01ff_ffff | (x % 3) << 25
            }
        })
        .collect();
    records[200_000] = 0x8200_0000 | 0x4d;
    for (record_type, division) in [TYPES[4], TYPES[5]] {
        let bytes = bytes_of(record_type, &records);
        let (expected, _) = plain(record_type, division, &records);
        let in_frames: Vec<u8> = bytes.chunks(300_001).flat_map(|part| frame(part, true)).collect();
        for bytes in [bytes, in_frames] {
            let (_folder, path) = file(&bytes);
            for threads in [1, 2, 5] {
                assert!(read_all(&path, threads).unwrap() == expected, "{threads} threads");
            }
        }
    }
}

#[test]
fn a_header_states_the_tick_and_the_names() {
    for (record_type, tick) in [(0x0101_0204, "1ps"), (0x0101_0304, "25ps")] {
        let (_folder, path) = file(&bytes_of(record_type, &[1]));
        let header =
            SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
        assert_eq!((header.tick, header.tick_assumed), (Some(tick.parse().unwrap()), false));
        assert!(header.channel_names.contains(&(101, "marker1".into())));
    }
}

fn writer(store: &Path) -> Writer {
    let tick = "1ps".parse::<Tick>().unwrap();
    let creation = Creation { tick, tick_assumed: false, run_id: Some(RunId([4; 16])) };
    Writer::open(store, &creation).unwrap()
}

/// Ingests a file that grows record by record, in a process each, while its header is patched at the end. The
/// store equals that of the whole file.
#[test]
fn a_growing_file_is_continued_at_every_record_and_its_header_may_change() {
    // With tags held back the file is read from an earlier record again, and without from where it ended.
    for hold_back in [Some(40_000_000), None] {
        continued_at_every_record(hold_back);
    }
}

fn continued_at_every_record(hold_back: Option<i64>) {
    let late = if hold_back.is_some() { 1_500 } else { 0 };
    let records: Vec<u32> = (0..60_u32)
        .map(|i| match i % 10 {
            3 => 0xfe00_0000 | (i % 4),
            // Reserved.
            7 => 0xa000_0000 | i,
            // A marker that comes late.
            9 => 0x8600_0000 | (i * 1_000 - late),
            _ => ((i % 3) << 25) | (i * 1_000),
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("a.ptu"), folder.path().join("a.tagq"));
    let begun = header(0x0101_0204, None);
    let whole =
        [begun.clone(), records.iter().flat_map(|record| record.to_le_bytes()).collect()].concat();
    // Records are also cut inside.
    for end in (begun.len() - 10..=whole.len()).step_by(7).chain([whole.len()]) {
        fs::write(&path, &whole[..end]).unwrap();
        let mut writer = writer(&store);
        let part = if writer.last_source().is_some() {
            SourcePart::Rest
        } else {
            SourcePart::Whole { rebase: None }
        };
        let hold_back = hold_back.filter(|_| end < whole.len());
        let settings = Settings { hold_back, ..Settings::default() };
        ingest(&path, "a.ptu", part, &settings, &mut writer).unwrap();
        writer.commit().unwrap();
    }
    let (expected, reserved) = plain(0x0101_0204, Plain::Version2, &records);
    let mut expected: Vec<(i64, u64)> =
        expected.iter().map(|tag| (tag.time, tag.channel)).collect();
    expected.sort_by_key(|&(time, _)| time);
    let opened = Store::open(&store, Access::Mapped).unwrap();
    let tags = opened.tags();
    let rows: Vec<(i64, u64)> = (0..tags.time.len())
        .map(|row| (tags.time.at(row), tags.channels.label(row).into()))
        .collect();
    assert_eq!(rows, expected);
    let facts = &opened.manifest().sources[0].facts;
    let recording = facts.recording.as_ref().unwrap();
    assert_eq!(recording.left_out, [("reserved record".to_owned(), reserved)]);

    // The measurement ends.
    let patched = [&header(0x0101_0204, Some(60))[..], &whole[begun.len()..]].concat();
    assert_ne!(patched, whole);
    fs::write(&path, &patched).unwrap();
    assert_eq!(SourceFile::open(&path).unwrap().compare(facts).unwrap(), Change::None);
    assert_eq!(is_intact(facts, &path, &Settings::default()).unwrap(), Some(true));
    // Another record, or another measurement, is another file.
    for at in [begun.len(), whole.len() - 1, 16 + 48] {
        let mut other = patched.clone();
        other[at] ^= 1;
        fs::write(&path, &other).unwrap();
        assert_eq!(SourceFile::open(&path).unwrap().compare(facts).unwrap(), Change::Other, "{at}");
        assert_eq!(is_intact(facts, &path, &Settings::default()).unwrap(), Some(false), "{at}");
    }
}

#[test]
fn a_header_that_lies_about_its_length_is_damage() {
    let tag = |name: &[u8], kind: u32, value: i64| {
        let mut bytes = [name, &[0; 32][name.len()..], &[0xff; 4]].concat();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(value.to_le_bytes());
        bytes
    };
    let long = tag(b"File_Comment", 0x4001_ffff, 1 << 40);
    let negative = tag(b"File_Comment", 0x4001_ffff, -1);
    let many = tag(b"A", 0x1000_0008, 1).repeat(100_000);
    for tags in [long, negative, many] {
        let (_folder, path) = file(&[b"PQTTTR\0\x001.0.00\0\0", &tags[..]].concat());
        assert!(matches!(
            SourceFile::open(&path).unwrap().header(&Settings::default()),
            Err(Error::Header { .. })
        ));
        assert!(read_all(&path, 0).unwrap_err().is_damage());
    }
}

#[test]
fn overflows_that_leave_64_bits_are_an_error() {
    // Each adds 2^25 · 2^25.
    let records = vec![0xffff_ffff; 20_000];
    let (_folder, path) = file(&bytes_of(0x0101_0204, &records));
    assert!(matches!(read_all(&path, 0), Err(Error::TimeRange { .. })));
}

fn written(tags: &[Tag], name: &str) -> std::io::Result<Vec<u8>> {
    let form = Form::of_name(Path::new(name)).unwrap();
    let mut writer = TagWriter::new(Vec::new(), form, "4ps".parse::<Tick>().unwrap(), 3)?;
    tags.chunks(70_000).try_for_each(|part| writer.push(part, &[]))?;
    writer.finish()
}

#[test]
fn written_files_are_read_back() {
    let labels = [0, 1, 2, 63, 64, 101, 102, 104];
    let mut time = 0;
    let tags: Vec<Tag> = (0..300_000_i64)
        .map(|i| {
            // Pairs of equal times, and gaps of many overflows.
            time += if i % 2 == 0 {
                0
            } else if i % 1_001 == 0 {
                1 << 40
            } else {
                90_000
            };
            tag(time, labels[usize::try_from(i % 8).unwrap()])
        })
        .chain([tag(i64::MAX / 2, 1)])
        .collect();
    for name in ["a.ptu", "a.ptu.zst"] {
        let (_folder, path) = file(&written(&tags, name).unwrap());
        assert!(read_all(&path, 2).unwrap() == tags, "{name}");
        assert_eq!(
            SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap().tick,
            Some("4ps".parse().unwrap())
        );
    }
    for (tags, words) in [
        ([tag(-1, 1), tag(5, 1)], "no time that is negative"),
        ([tag(1 << 30, 1), tag(5, 1)], "before an overflow"),
        ([tag(1, 65), tag(5, 1)], "no place for channel 65"),
        ([tag(1, 105), tag(5, 1)], "no place for channel 105"),
    ] {
        let error = written(&tags, "a.ptu").unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
