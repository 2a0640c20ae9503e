//! PTU files of mode T3 that are written: photons, pulses and markers are those of the file that was read.

use std::path::Path;

use proptest::prelude::*;
use tagq_ingest::{
    Header, Settings, SourceFile, read_recorded,
    write::{Form, TagWriter, Times},
};
use tagq_sampling::random_cases;
use tagq_store::{Recording, Tag, format::MICRO_NONE};

use crate::support::{file, ptu_header, tag};

const PICOHARP: i64 = 0x0001_0303;
const HYDRAHARP_2: i64 = 0x0101_0304;

/// The number of a pulse, a label, and the micro time of a photon.
type Event = (i64, u64, Option<u32>);

/// The events of some records by the text of the vendor's formats, one for each bit of markers.
fn events(record_type: i64, records: &[u32]) -> Vec<Event> {
    let (mut sum, mut events) = (0_i64, Vec::new());
    for &record in records {
        let bits = |from: u32, count: u32| record >> from & ((1_u32 << count) - 1);
        let (is_special, channel, pulse, micro) = match record_type {
            PICOHARP => (bits(28, 4) == 15, bits(28, 4), bits(0, 16), bits(16, 12)),
            _ => (bits(31, 1) == 1, bits(25, 6) + 1, bits(0, 10), bits(10, 15)),
        };
        let (wrap, code) = match record_type {
            PICOHARP => (65_536, if micro == 0 { 63 } else { micro }),
            _ => (1_024 * i64::from(pulse.max(1)), channel - 1),
        };
        let n = sum + i64::from(pulse);
        match (is_special, code) {
            (false, _) => events.push((n, channel.into(), Some(micro))),
            (true, 63) => sum += wrap,
            (true, markers) => {
                let set = (0..4_u32).filter(|bit| markers >> bit & 1 == 1);
                events.extend(set.map(|bit| (n, 101 + u64::from(bit), None)));
            }
        }
    }
    events.sort_unstable();
    events
}

/// Reads a file as the rows of a store: in order of time.
fn rows(path: &Path) -> (Header, Vec<(Tag, u32)>) {
    let mut rows = Vec::new();
    read_recorded(path, &Settings::default(), &mut Recording::default(), |part| {
        let micro = part.micro.iter().copied().chain(std::iter::repeat(MICRO_NONE));
        rows.extend(part.tags.iter().copied().zip(micro));
        Ok(())
    })
    .unwrap();
    rows.sort_by_key(|(tag, _)| tag.time);
    (SourceFile::open(path).unwrap().header(&Settings::default()).unwrap().unwrap(), rows)
}

fn written(rows: &[(Tag, u32)], times: Times, name: &str) -> std::io::Result<Vec<u8>> {
    let form = Form::of_name(Path::new(name)).unwrap();
    let mut writer = TagWriter::new(Vec::new(), form, times, 2)?;
    for part in rows.chunks(1_000) {
        let (tags, micro): (Vec<Tag>, Vec<u32>) = part.iter().copied().unzip();
        writer.push(&tags, &micro)?;
    }
    writer.finish()
}

fn times(header: &Header) -> Times {
    let sync_period = header.sync_period;
    Times { tick: header.tick.unwrap(), micro_tick: header.micro_tick, sync_period }
}

fn records_of(bytes: &[u8]) -> Vec<u32> {
    let end = bytes.windows(10).position(|name| name == b"Header_End").unwrap() + 48;
    bytes[end..].chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn check(record_type: i64, records: &[u32]) {
    let bytes = records.iter().flat_map(|record| record.to_le_bytes());
    let original: Vec<u8> = ptu_header(record_type, Some(0)).into_iter().chain(bytes).collect();
    let (_folder, path) = file(&original);
    let (header, read) = rows(&path);
    let copy = written(&read, times(&header), "a.ptu").unwrap();
    assert_eq!(events(HYDRAHARP_2, &records_of(&copy)), events(record_type, records));
    let (_folder, path) = file(&copy);
    let (again, copied) = rows(&path);
    assert_eq!(times(&again), times(&header));
    assert_eq!(again.micro_tick, header.micro_tick);
    let sorted = |mut rows: Vec<(Tag, u32)>| {
        rows.sort_by_key(|(tag, micro)| (tag.time, tag.channel, *micro));
        rows
    };
    assert!(sorted(copied) == sorted(read));
}

/// A record of a photon, of markers or of overflows, as (kind, channel or markers, micro time, distance).
fn record() -> impl Strategy<Value = (u8, u32, u32, u32)> {
    (0..10_u8, 1..16_u32, 0..1_u32 << 15, 0..400_u32)
}

/// Records of pulses in order.
fn in_order(record_type: i64, parts: &[(u8, u32, u32, u32)]) -> Vec<u32> {
    let (mut pulse, mut records) = (0, Vec::new());
    let (wrap, overflow) = match record_type {
        PICOHARP => (65_536, 0xf000_0000),
        _ => (1_024, 0xfe00_0001),
    };
    for &(kind, channel, micro, distance) in parts {
        // Few distances are far, so that many pulses share the range of a micro time.
        pulse += if kind == 9 { distance * 1_000 } else { distance / 100 };
        records.extend(vec![overflow; (pulse / wrap) as usize]);
        pulse %= wrap;
        records.push(match (record_type, kind) {
            (PICOHARP, 8) => 0xf000_0000 | channel << 16 | pulse,
            (PICOHARP, _) => (1 + channel % 4) << 28 | (micro % 4_096) << 16 | pulse,
            (_, 8) => 1 << 31 | channel << 25 | pulse,
            _ => channel << 25 | micro << 10 | pulse,
        });
    }
    records
}

proptest! {
    #![proptest_config(random_cases(100))]

    #[test]
    fn a_written_file_has_the_events_of_the_one_that_was_read(
        parts in prop::collection::vec(record(), 0..2_000),
        record_type in prop::sample::select(vec![PICOHARP, HYDRAHARP_2]),
    ) {
        check(record_type, &in_order(record_type, &parts));
    }
}

/// A unit that is encoded by one thread has 65,536 tags.
#[test]
fn units_follow_each_other() {
    let mut x = 1_u64;
    let parts: Vec<_> = (0..200_000)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let part = |from: u32, count: u64| (x >> from) as u32 % count as u32;
            (part(60, 9) as u8, 1 + part(50, 15), part(30, 1 << 15), part(20, 400))
        })
        .collect();
    check(HYDRAHARP_2, &in_order(HYDRAHARP_2, &parts));
}

#[test]
fn tags_that_have_no_record_are_refused() {
    let (tick, sync_period) = ("25ps".parse().unwrap(), "10ns".parse().ok());
    let times = Times { tick, micro_tick: None, sync_period };
    // A pulse is at each 400 ticks.
    let rows = |(time, channel, micro)| [(tag(time, channel), micro)];
    assert!(written(&rows((407, 1, 7)), times, "a.ptu").is_ok());
    assert!(written(&rows((400, 102, MICRO_NONE)), times, "a.ptu").is_ok());
    for (row, words) in [
        ((408, 1, 7), "no sync pulse is at 401 ticks"),
        ((-393, 1, 7), "no sync pulse is at -400 ticks"),
        ((400, 1, MICRO_NONE), "channel 1 has no micro time"),
        ((407, 101, 7), "a marker, channel 101, has a micro time"),
        ((400, 0, MICRO_NONE), "no place for channel 0"),
        ((40_000, 1, 40_000), "a micro time of 40000 does not fit"),
    ] {
        let error = written(&rows(row), times, "a.ptu").unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    // Pulses that are closer than a tick cannot be told from each other.
    let near = Times { sync_period: "20ps".parse().ok(), ..times };
    let bytes = written(&[(tag(400, 1), MICRO_NONE)], near, "a.ptu").unwrap();
    let (_folder, path) = file(&bytes);
    assert_eq!(
        SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap().micro_tick,
        None
    );
}
