//! Micro times beside the tags: they come back, the column comes and widens when it must, and a store without
//! them stays as it was.

use std::{fs, path::Path};

use proptest::prelude::*;
use tagq_sampling::random_cases;
use tagq_store::{
    Access, Error, Manifest, MicroColumn, SourceFacts, Store, Writer, format::MICRO_NONE as NONE,
};

use crate::{BLOCK_ROWS, creation, lengths, write};

/// Appends rows with these micro times, a tick apart and of channels 0 to 4, and a commit after them.
fn append(folder: &Path, micro: &[u32]) {
    let mut writer = Writer::open(folder, &creation()).unwrap();
    append_to(&mut writer, micro);
    writer.commit().unwrap();
}

fn append_to(writer: &mut Writer, micro: &[u32]) {
    let start = writer.manifest().rows as i64;
    let time: Vec<i64> = (start..).take(micro.len()).collect();
    let channel = labels_of(&time);
    writer.begin_source();
    writer.append_with_micro(&time, &channel, micro).unwrap();
    writer.finish_source(SourceFacts::named("piece"));
}

fn labels_of(time: &[i64]) -> Vec<u16> {
    time.iter().map(|time| (time.unsigned_abs() % 5) as u16).collect()
}

/// The store has these micro times, in values of `width` bytes, and all of its checksums are right.
fn check(folder: &Path, micro: &[u32], width: usize) {
    for access in [Access::Mapped, Access::Copied] {
        let store = Store::open(folder, access).unwrap();
        assert_eq!(store.tags().len(), micro.len());
        let blocks = store.blocks().unwrap();
        for block in &blocks {
            store.check_block(block).unwrap();
        }
        for column in [store.micro(), store.unguarded_micro()] {
            let found = column.map_or(0, |column| match column {
                MicroColumn::U16(_) => 2,
                MicroColumn::U32(_) => 4,
            });
            assert_eq!(found, width);
            let of_row = |row| column.and_then(|column| column.get(row)).unwrap_or(NONE);
            assert!((0..micro.len()).map(of_row).eq(micro.iter().copied()));
        }
    }
}

fn version(folder: &Path) -> serde_json::Value {
    let text = fs::read(folder.join("manifest.json")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&text).unwrap()["version"].clone()
}

#[test]
fn micro_times_come_back_in_both_widths() {
    let rows = BLOCK_ROWS + 17;
    let narrow: Vec<u32> =
        (0..rows as u32).map(|i| if i % 3 == 0 { NONE } else { i % 65_535 }).collect();
    let mut wide = narrow.clone();
    wide[BLOCK_ROWS + 5] = NONE - 1;
    for (micro, width) in [(narrow, 2), (wide, 4)] {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), &micro);
        check(folder.path(), &micro, width);
        assert_eq!(version(folder.path()), 2);
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        let part = store.micro().unwrap().rows(4..6);
        assert_eq!((part.get(0), part.get(1)), (Some(4), Some(5)));
    }
}

#[test]
fn the_first_micro_time_comes_after_blocks_without() {
    let folder = tempfile::tempdir().unwrap();
    let mut micro = vec![NONE; 2 * BLOCK_ROWS + 30];
    append(folder.path(), &micro);
    assert_eq!(version(folder.path()), 1);
    let chain =
        Store::open(folder.path(), Access::Mapped).unwrap().mark(BLOCK_ROWS as u64).unwrap();
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    let later = [&[NONE; 10][..], &[65_534; 5]].concat();
    append_to(&mut writer, &later);
    // Readers see the rows without micro times until the commit.
    check(folder.path(), &micro, 0);
    let before = Store::open(folder.path(), Access::Mapped).unwrap();
    writer.commit().unwrap();
    assert!(before.micro().is_none());
    micro.extend(&later);
    check(folder.path(), &micro, 2);
    let names: Vec<String> = lengths(folder.path()).into_iter().map(|(name, _)| name).collect();
    let expected = ["blocks.2.idx", "channel.col", "counts.idx", "lock", "manifest.json"];
    assert_eq!(names, [&expected[..], &["micro.2.col", "time.col"]].concat());
    // Rows without micro times after that, up to the end of the block and past it.
    drop(writer);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    let time = vec![i64::from(u32::MAX); BLOCK_ROWS];
    writer.append(&time, &vec![3; BLOCK_ROWS]).unwrap();
    writer.finish_source(SourceFacts::named("without"));
    writer.commit().unwrap();
    micro.extend(vec![NONE; BLOCK_ROWS]);
    check(folder.path(), &micro, 2);
    let store = Store::open(folder.path(), Access::Mapped).unwrap();
    assert_ne!(store.mark(BLOCK_ROWS as u64).unwrap(), chain);
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let folder = tempfile::tempdir().unwrap();
    append(folder.path(), &[NONE; 16]);
    append(folder.path(), &[1, 0x0203]);
    let bytes = fs::read(folder.path().join("micro.2.col")).unwrap();
    assert_eq!(bytes[8..16], *b"\x02\0\0\0\x05\x02\x02\0");
    assert_eq!(bytes[4096..], [&[0xFF; 32][..], &[1, 0, 3, 2]].concat());
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("manifest.json")).unwrap()).unwrap();
    let file = serde_json::json!({"name": "micro.2.col", "kind": "u16", "width": 2});
    assert_eq!(manifest["files"]["micro"], file);
    // RFC 3720, B.4: 32 bytes of ones have 0x62A8AB43 as crc32c.
    let crc = crc32c::crc32c_append(0x62A8_AB43, &[1, 0, 3, 2]);
    assert_eq!(manifest["last_block"]["crc_micro"], crc);
    append(folder.path(), &[65_535]);
    let bytes = fs::read(folder.path().join("micro.3.col")).unwrap();
    let values = [&[0xFF; 64][..], &[1, 0, 0, 0, 3, 2, 0, 0, 0xFF, 0xFF, 0, 0]].concat();
    assert_eq!(bytes[4096..], values);
    assert_eq!(lengths(folder.path()).len(), 7);
}

#[test]
fn a_store_without_micro_times_is_as_it_was() {
    let (plain, none) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows = BLOCK_ROWS + 5;
    let time: Vec<i64> = (0..rows as i64).collect();
    let channel = labels_of(&time);
    write(plain.path(), &time, &channel, &[(rows, false)]);
    let mut writer = Writer::open(none.path(), &creation()).unwrap();
    // A unit of micro times that never come.
    writer.set_micro_tick("4ps".parse().unwrap()).unwrap();
    append_to(&mut writer, &vec![NONE; rows]);
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(lengths(plain.path()), lengths(none.path()));
    for (name, _) in lengths(plain.path()) {
        let [plain, none] =
            [&plain, &none].map(|folder| fs::read(folder.path().join(&name)).unwrap());
        assert!(plain == none, "{name}");
    }
}

#[test]
fn micro_times_and_wide_labels_come_at_once() {
    let folder = tempfile::tempdir().unwrap();
    append(folder.path(), &vec![NONE; BLOCK_ROWS]);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    let time = BLOCK_ROWS as i64;
    writer.append_with_micro(&[time, time + 1], &[300, 1], &[7, 70_000]).unwrap();
    writer.finish_source(SourceFacts::named("both"));
    writer.commit().unwrap();
    let micro = [&vec![NONE; BLOCK_ROWS][..], &[7, 70_000]].concat();
    check(folder.path(), &micro, 4);
    let store = Store::open(folder.path(), Access::Mapped).unwrap();
    assert_eq!(store.tags().channels.label(BLOCK_ROWS), 300);
    assert_eq!(lengths(folder.path()).len(), 7);
}

#[test]
fn the_unit_of_micro_times_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (four, eight) = ("4ps".parse().unwrap(), "8ps".parse().unwrap());
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.set_micro_tick(four).unwrap();
    append_to(&mut writer, &[1]);
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(Manifest::read(folder.path()).unwrap().unwrap().micro_tick, Some(four));
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    let refused = writer.set_micro_tick(eight);
    assert!(matches!(refused, Err(Error::MicroTick { .. })), "{refused:?}");
    writer.set_micro_tick(four).unwrap();
    drop(writer);
    // A store begun from scratch has none until they come.
    let mut writer = Writer::open_for_rebuild(folder.path(), &creation()).unwrap();
    writer.set_micro_tick(eight).unwrap();
    writer.commit().unwrap();
    assert_eq!((version(folder.path()), lengths(folder.path()).len()), (1.into(), 6));
}

#[test]
fn a_writer_that_gives_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    append_to(&mut writer, &[1]);
    writer.discard();
    // The folder was there before.
    assert_eq!(lengths(folder.path()), []);
    let made = folder.path().join("made");
    let mut writer = Writer::open(&made, &creation()).unwrap();
    append_to(&mut writer, &[1]);
    writer.discard();
    assert!(!made.exists());
    // What was committed stays.
    let mut writer = Writer::open(&made, &creation()).unwrap();
    append_to(&mut writer, &[1]);
    writer.commit().unwrap();
    drop(writer);
    let committed = lengths(&made);
    let mut writer = Writer::open(&made, &creation()).unwrap();
    append_to(&mut writer, &[1]);
    writer.discard();
    drop(Writer::open(&made, &creation()).unwrap());
    assert_eq!(lengths(&made), committed);
}

#[test]
fn a_damaged_micro_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    append(folder.path(), &vec![5; BLOCK_ROWS + 3]);
    let path = folder.path().join("micro.1.col");
    let whole = fs::read(&path).unwrap();
    let found = || -> Result<(), Error> {
        let store = Store::open(folder.path(), Access::Mapped)?;
        store.blocks()?.iter().try_for_each(|block| store.check_block(block))
    };
    found().unwrap();
    for (byte, named) in [
        (4096, "block 0 (rows 0 to 65535)"),
        (4096 + 2 * BLOCK_ROWS, "block 1 (rows 65536 to 65538)"),
        (10, "header"),
    ] {
        let mut flipped = whole.clone();
        flipped[byte] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let error = found().unwrap_err();
        assert!(error.is_damage() && error.to_string().contains(named), "{error}");
        assert!(error.to_string().contains("micro.1.col"), "{error}");
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(found(), Err(Error::Length { .. })));
    fs::write(&path, &whole).unwrap();
    found().unwrap();
    // The checksum of micro times in the index is covered by the chain.
    let blocks = folder.path().join("blocks.1.idx");
    let mut index = fs::read(&blocks).unwrap();
    index[4096 + 40] ^= 1;
    fs::write(&blocks, index).unwrap();
    assert!(found().unwrap_err().to_string().contains("the checksum of entry and counts"));
}

#[test]
#[cfg_attr(windows, ignore = "a mapped file cannot be cut")]
fn a_micro_file_cut_short_under_a_scan_is_an_error_and_the_process_lives() {
    let folder = tempfile::tempdir().unwrap();
    append(folder.path(), &vec![5; BLOCK_ROWS]);
    let store = Store::open(folder.path(), Access::Mapped).unwrap();
    let sum = |store: &Store| {
        let micro = store.micro().unwrap();
        (0..BLOCK_ROWS).map(|row| u64::from(micro.get(row).unwrap_or(0))).sum::<u64>()
    };
    assert_eq!(store.guarded(sum).unwrap(), 5 * BLOCK_ROWS as u64);
    let file = fs::File::options().write(true).open(folder.path().join("micro.1.col")).unwrap();
    file.set_len(8192).unwrap();
    let cut = store.guarded(sum).unwrap_err().to_string();
    assert!(cut.contains("cut short"), "{cut}");
}

#[test]
fn micro_times_that_were_not_committed_are_named_and_go_with_the_next_writer() {
    let folder = tempfile::tempdir().unwrap();
    append(folder.path(), &[NONE; 2]);
    let leftovers = || {
        let manifest = Manifest::read(folder.path()).unwrap().unwrap();
        let leftovers = manifest.leftovers(folder.path()).unwrap();
        leftovers.into_iter().map(|left| (left.name, left.bytes)).collect::<Vec<_>>()
    };
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    append_to(&mut writer, &[7]);
    drop(writer);
    // Header pages, and three rows of two bytes; a row of the other columns.
    let left = [("blocks.2.idx", 4096), ("channel.col", 1), ("micro.2.col", 4102), ("time.col", 8)];
    assert_eq!(leftovers(), left.map(|(name, bytes)| (name.to_owned(), bytes)));
    drop(Writer::open(folder.path(), &creation()).unwrap());
    assert_eq!(leftovers(), []);
    check(folder.path(), &[NONE; 2], 0);
    // Rows after the committed ones are cut off.
    append(folder.path(), &[7]);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    append_to(&mut writer, &[8]);
    drop(writer);
    drop(Writer::open(folder.path(), &creation()).unwrap());
    assert_eq!(leftovers(), []);
    check(folder.path(), &[NONE, NONE, 7], 2);
}

proptest! {
    #![proptest_config(random_cases(64))]
    #[test]
    fn whatever_micro_times_are_written_are_read(
        pieces in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![NONE, 0, 1, 65_534, 65_535, NONE - 1]), 0..40,
            ),
            1..6,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for piece in &pieces {
            append(folder.path(), piece);
        }
        let micro = pieces.concat();
        let max = micro.iter().filter(|&&value| value != NONE).max();
        check(folder.path(), &micro, max.map_or(0, |&max| if max < 65_535 { 2 } else { 4 }));
    }
}
