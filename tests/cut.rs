//! Files of instruments that are cut, unfinished, or not as their header says: noted each time, also in JSON.

use std::{fs, path::Path};

use crate::{
    formats::of,
    support::{command, output, root},
};

/// Bytes of the header of the fixture, and the places of values in it.
const HEADER: usize = 656;
const RECORDS_AT: usize = 560 + 40;
const STOP_REASON_AT: usize = 512;
const SYNC_RATE_AT: usize = 464 + 40;
const PERIOD_AT: usize = 368 + 40;

/// The fixture: its header states its 2,714 records.
fn whole() -> Vec<u8> {
    fs::read(root().join("data/fixtures/picoquant/t3.ptu")).unwrap()
}

/// Asserts that each of two queries to a file of these bytes says `words`, on stderr and in JSON.
fn noted(bytes: &[u8], words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.ptu");
    fs::write(&path, bytes).unwrap();
    for _ in 0..2 {
        let answer = of("rates", &path);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        assert!(answer.stderr.contains(words), "{words}: {}", answer.stderr);
        let remarks = answer.json()["run"]["remarks"].to_string();
        assert!(remarks.contains(words) && remarks.contains("night.ptu: "), "{remarks}");
    }
    let info = of("info --fast --format json", &path).json();
    assert!(info["sources"][0]["remarks"].to_string().contains(words), "{info}");
    if !bytes.is_empty() && !words.contains("were measured") {
        let converted =
            output(command().arg("convert").arg(&path).arg(folder.path().join("o.tsv")));
        assert!(converted.stderr.contains(words), "{}", converted.stderr);
        let printed = output(command().arg("cat").arg(&path));
        assert!(printed.stderr.contains(words), "{}", printed.stderr);
    }
}

fn put(bytes: &mut [u8], at: usize, value: [u8; 8]) {
    bytes[at..at + 8].copy_from_slice(&value);
}

#[test]
fn a_file_with_all_its_records_is_not_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.ptu");
    fs::write(&path, whole()).unwrap();
    let answer = of("rates", &path);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert!(answer.json()["run"]["remarks"].is_null());
}

#[test]
fn a_cut_file_is_noted_with_both_numbers() {
    let bytes = whole();
    noted(&bytes[..HEADER + 1_000 * 4], "1,000 of 2,714 records are there");
    noted(&bytes[..HEADER], "0 of 2,714 records are there");
    noted(&[], "the file is empty");
    noted(&bytes[..300], "ends inside its header");
    let mut unfinished = bytes.clone();
    put(&mut unfinished, RECORDS_AT, [0; 8]);
    noted(&unfinished, "the instrument did not finish the file");
    let mut more = bytes;
    put(&mut more, RECORDS_AT, 2_000_u64.to_le_bytes());
    noted(&more, "the file has 2,714 records, and its header says 2,000");
}

/// The name of the reason to stop becomes that of the time after which it stopped: 100 s.
#[test]
fn another_time_than_that_of_the_header_is_noted() {
    let mut bytes = whole();
    let name = b"TTResult_StopAfter\0";
    bytes[STOP_REASON_AT..STOP_REASON_AT + name.len()].copy_from_slice(name);
    put(&mut bytes, STOP_REASON_AT + 40, 100_000_u64.to_le_bytes());
    noted(&bytes, "and its header says that 100 s were measured");
}

/// A period of 2.5 ns has 100 of the 25 ps of micro times; lifetimes are 1 and 3 ns.
#[test]
fn micro_times_beyond_the_sync_period_are_noted() {
    let mut bytes = whole();
    put(&mut bytes, SYNC_RATE_AT, 400_000_000_u64.to_le_bytes());
    put(&mut bytes, PERIOD_AT, (1.0_f64 / 4e8).to_le_bytes());
    let (mut photons, mut beyond, mut markers) = (0, 0, 0);
    for record in bytes[HEADER..].as_chunks::<4>().0 {
        let record = u32::from_le_bytes(*record);
        match (record >> 31, record >> 25 & 63) {
            (0, _) => {
                photons += 1;
                beyond += u32::from(record >> 10 & 0x7fff > 100);
            }
            (_, bits @ 1..=15) => markers += bits.count_ones(),
            _ => {}
        }
    }
    assert!(beyond > 100 && beyond < 1_000, "{beyond}");
    // A thousands separator would stand after the first digit.
    let tags = photons + markers;
    let words = format!("{beyond} of {},{:03} tags", tags / 1_000, tags % 1_000);
    noted(&bytes, &format!("{words} have a micro time beyond the sync period of 2.5 ns"));
}

#[test]
fn what_salvage_takes_of_the_only_frame_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    // 20,000 tags are 320 KB, in blocks of at most 128 KiB.
    let line = |i: u64| format!("{}\t{}\n", i % 3, i * 977 % 8_191 + i * 10_000);
    let lines: Vec<String> = (0..20_000).map(line).collect();
    fs::write(here("a.tsv"), lines.concat()).unwrap();
    let made = output(command().args(["convert", "-q"]).arg(here("a.tsv")).arg(here("a.tags.zst")));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let whole = fs::read(here("a.tags.zst")).unwrap();
    fs::write(here("cut.tags.zst"), &whole[..whole.len() * 3 / 4]).unwrap();
    let count = |path: &Path, args: &str| {
        let answer = of(args, path);
        (answer.stderr.clone(), answer.json()["run"]["tags"].as_u64().unwrap())
    };
    let (said, tags) = count(&here("cut.tags.zst"), "rates --tick 1ps");
    assert_eq!(tags, 0);
    let hint = format!("`tagq ingest --salvage {}` takes what", here("cut.tags.zst").display());
    assert!(said.contains(&hint), "{said}");
    assert_eq!(of("ingest --salvage", &here("cut.tags.zst")).code, 0);
    let (said, tags) = count(&here("cut.tags.zst"), "rates");
    assert!((8_000..16_000).contains(&tags), "{tags}");
    assert!(said.contains("taken as far as it goes") && !said.contains("--salvage"), "{said}");
}
