//! A reader reads exactly the committed rows, however they were appended.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test says so by failing"
)]

mod compact;
mod dead;
mod gaps;
mod micro;
mod times;

use std::{fs, ops::Range, path::Path};

use proptest::prelude::*;
use tagq_sampling::random_cases;
use tagq_store::{
    Access, ChannelRows, Channels, Creation, Error, Rows, RunId, SourceFacts, Store, Tick, Writer,
};

const BLOCK_ROWS: usize = 65_536;

fn creation() -> Creation {
    Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([9; 16])) }
}

fn labels(tags: Channels<'_>) -> Vec<u16> {
    match tags {
        Channels::U8(labels) => labels.all().iter().map(|&label| label.into()).collect(),
        Channels::U16(labels) => labels.all().to_vec(),
    }
}

/// Appends `rows` in these pieces with a commit after each, and reopens the writer where requested.
fn write(folder: &Path, time: &[i64], channel: &[u16], pieces: &[(usize, bool)]) {
    let mut writer = Writer::open(folder, &creation()).unwrap();
    let mut start = 0;
    for &(len, reopen) in pieces {
        let rows: Range<usize> = start..(start + len).min(time.len());
        start = rows.end;
        writer.begin_source();
        writer.append(&time[rows.clone()], &channel[rows]).unwrap();
        writer.finish_source(SourceFacts::named("piece"));
        writer.commit().unwrap();
        if reopen {
            drop(writer);
            writer = Writer::open(folder, &creation()).unwrap();
        }
    }
}

fn check(folder: &Path, time: &[i64], channel: &[u16]) {
    for access in [Access::Mapped, Access::Copied] {
        let store = Store::open(folder, access).unwrap();
        assert_eq!(store.tags().time, time);
        assert_eq!(labels(store.tags().channels), channel);
        assert_eq!(store.manifest().rows, time.len() as u64);
        let blocks = store.blocks().unwrap();
        assert_eq!(blocks.len(), time.len().div_ceil(BLOCK_ROWS));
        for (block, rows) in blocks.iter().zip(time.chunks(BLOCK_ROWS)) {
            assert_eq!((block.time_min, block.time_max), (rows[0], rows[rows.len() - 1]));
            store.check_block(block).unwrap();
        }
        for of_channel in &store.manifest().channels {
            let ChannelRows { channel: label, rows } = *of_channel;
            assert_eq!(rows, channel.iter().filter(|&&c| c == label).count() as u64);
            let in_blocks: u64 = blocks
                .iter()
                .flat_map(|b| &b.channels)
                .filter(|c| c.channel == label)
                .map(|c| c.rows)
                .sum();
            assert_eq!(in_blocks, rows);
        }
    }
}

#[test]
fn rows_come_back_over_block_borders() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 2 * BLOCK_ROWS + 17;
    let time: Vec<i64> = (0..rows as i64).map(|i| i * 3 - 1_000).collect();
    let channel: Vec<u16> = (0..rows).map(|i| (i % 7) as u16).collect();
    write(folder.path(), &time, &channel, &[(BLOCK_ROWS - 1, true), (1, false), (rows, false)]);
    check(folder.path(), &time, &channel);
}

#[test]
fn the_bytes_do_not_depend_on_how_the_commits_fell() {
    let rows = BLOCK_ROWS + 99;
    let time: Vec<i64> = (0..rows as i64).collect();
    let channel: Vec<u16> = (0..rows).map(|i| (i % 5) as u16).collect();
    let files = |pieces: &[(usize, bool)]| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &time, &channel, pieces);
        ["time.col", "channel.col", "blocks.idx", "counts.idx"]
            .map(|name| fs::read(folder.path().join(name)).unwrap())
    };
    assert!(files(&[(rows, false)]) == files(&[(5, true), (BLOCK_ROWS, true), (rows, false)]));
}

#[test]
fn a_label_above_255_widens_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 2 * BLOCK_ROWS + 1_000;
    let time: Vec<i64> = (0..rows as i64).collect();
    let channel: Vec<u16> =
        (0..rows).map(|i| if i == BLOCK_ROWS + 700 { 256 } else { (i % 256) as u16 }).collect();
    let before = BLOCK_ROWS + 500;
    write(folder.path(), &time[..before], &channel[..before], &[(before, false)]);
    let narrow = Store::open(folder.path(), Access::Mapped).unwrap();
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    writer.append(&time[before..], &channel[before..]).unwrap();
    writer.finish_source(SourceFacts::named("wide"));
    // Before the commit readers see the narrow column; after it, an old snapshot still does.
    check(folder.path(), &time[..before], &channel[..before]);
    writer.commit().unwrap();
    check(folder.path(), &time, &channel);
    assert_eq!(labels(narrow.tags().channels), channel[..before]);
    // Where a file that is mapped cannot be removed, the next writer removes it.
    drop((writer, narrow));
    drop(Writer::open(folder.path(), &creation()).unwrap());
    assert!(!folder.path().join("channel.col").exists());

    // Wide from the first row, or widened later: the same columns.
    let direct = tempfile::tempdir().unwrap();
    write(direct.path(), &time, &channel, &[(rows, false)]);
    for (name, other) in [("channel.2.col", "channel.1.col"), ("blocks.2.idx", "blocks.1.idx")] {
        let name = fs::read(folder.path().join(name)).unwrap();
        assert!(name == fs::read(direct.path().join(other)).unwrap());
    }
}

#[test]
fn what_was_not_committed_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[1, 2], &[3, 3], &[(2, false)]);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    writer.append(&vec![5; 70_000], &vec![300; 70_000]).unwrap();
    drop(writer);
    check(folder.path(), &[1, 2], &[3, 3]);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    assert!(!folder.path().join("channel.2.col").exists());
    writer.begin_source();
    writer.append(&[2, 4], &[1, 3]).unwrap();
    writer.finish_source(SourceFacts::named("second"));
    writer.commit().unwrap();
    check(folder.path(), &[1, 2, 2, 4], &[3, 3, 1, 3]);
    assert_eq!(fs::metadata(folder.path().join("time.col")).unwrap().len(), 4096 + 4 * 8);
}

#[test]
fn one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::open(folder.path(), &creation()).unwrap();
    let second = Writer::open(folder.path(), &creation());
    assert!(matches!(second, Err(Error::Busy { .. })), "{second:?}");
    drop(writer);
    Writer::open(folder.path(), &creation()).unwrap();
}

#[test]
fn rows_out_of_order_and_spans_too_long_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    writer.append(&[-5, 7], &[1, 2]).unwrap();
    let unsorted = writer.append(&[8, 6], &[1, 1]);
    assert!(matches!(unsorted, Err(Error::Unsorted { row: 3, time: 6, after: 8 })), "{unsorted:?}");
    let before = writer.append(&[6], &[1]);
    assert!(matches!(before, Err(Error::Unsorted { row: 2, time: 6, after: 7 })), "{before:?}");
    // i64::MAX - (-5) is 2^63 + 4.
    let span = writer.append(&[i64::MAX], &[1]);
    assert!(matches!(span, Err(Error::Span { .. })), "{span:?}");
    writer.append(&[i64::MAX - 5], &[1]).unwrap();
    writer.finish_source(SourceFacts::named("s"));
    writer.commit().unwrap();
    check(folder.path(), &[-5, 7, i64::MAX - 5], &[1, 2, 1]);
}

#[test]
fn rows_written_here_and_on_other_threads_are_in_their_order() {
    let (time, channel): (Vec<i64>, Vec<u16>) =
        (0..25 * BLOCK_ROWS as i64).map(|i| (i / 2, u16::try_from(i % 9).unwrap())).unzip();
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), &creation()).unwrap();
        writer.set_threads(threads);
        writer.begin_source();
        let mut start = 0_usize;
        // The long ones are written by other threads while the calling one goes on.
        for len in [10 * BLOCK_ROWS + 5, 700, 12 * BLOCK_ROWS, 0, 1, 50_000, usize::MAX] {
            let rows = start..start.saturating_add(len).min(time.len());
            start = rows.end;
            let (time, channel) = (&time[rows.clone()], &channel[rows]);
            if len == 700 {
                writer.append(time, channel).unwrap();
            } else {
                let rows = Rows::new(time.to_vec(), channel.to_vec(), Vec::new());
                writer.append_rows(vec![rows]).unwrap();
            }
        }
        writer.finish_source(SourceFacts::named("s"));
        writer.commit().unwrap();
        check(folder.path(), &time, &channel);
    }
}

#[test]
fn a_store_is_not_made_among_strangers() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "x").unwrap();
    let refused = Writer::open(folder.path(), &creation()).unwrap_err().to_string();
    assert!(refused.contains("thesis.tex"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_tick_is_assumed_until_a_person_gives_it() {
    let folder = tempfile::tempdir().unwrap();
    let (four, five) = ("4ps".parse().unwrap(), "5ps".parse().unwrap());
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.set_tick(four, false).unwrap();
    writer.commit().unwrap();
    let refused = writer.set_tick(five, false).unwrap_err().to_string();
    assert!(refused.contains("set to 4 ps") && refused.contains("--tick 5ps"), "{refused}");
    let mut store = Store::open(folder.path(), Access::Mapped).unwrap();
    assert_eq!((store.manifest().tick, store.manifest().tick_assumed), (four, false));
    assert!(store.use_tick(five, false).is_err());
    writer.set_tick(five, true).unwrap();
    writer.commit().unwrap();
    assert_eq!(Store::open(folder.path(), Access::Copied).unwrap().manifest().tick, five);
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let rows = BLOCK_ROWS + 3;
    let time: Vec<i64> = (0..rows as i64).collect();
    let channel: Vec<u16> = (0..rows).map(|i| (i % 2) as u16).collect();
    write(folder.path(), &time, &channel, &[(rows, false)]);
    let all = |folder: &Path| -> Result<(), Error> {
        let store = Store::open(folder, Access::Copied)?;
        store.blocks()?.iter().try_for_each(|block| store.check_block(block))
    };
    all(folder.path()).unwrap();
    for name in ["time.col", "channel.col", "blocks.idx", "counts.idx", "manifest.json"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        // The long columns in steps, the small files everywhere after their header pages (another test flips
        // every bit of those).
        let step = if whole.len() > 10_000 { 40_009 } else { 1 };
        let start = if name == "manifest.json" { 0 } else { 4095 };
        for byte in (start..whole.len()).step_by(step) {
            let mut flipped = whole.clone();
            flipped[byte] ^= 1 << (byte % 8);
            fs::write(&path, &flipped).unwrap();
            let found = all(folder.path());
            assert!(
                found.as_ref().is_err_and(|e| e.is_damage() || name == "manifest.json"),
                "{name}, byte {byte}: {found:?}"
            );
        }
        for len in [0, 100, 4095, whole.len() - 1] {
            fs::write(&path, &whole[..len.min(whole.len() - 1)]).unwrap();
            assert!(all(folder.path()).is_err(), "{name}, {len} bytes");
        }
        fs::write(&path, &whole).unwrap();
    }
    all(folder.path()).unwrap();
}

#[test]
#[cfg_attr(windows, ignore = "a mapped file cannot be cut")]
fn a_column_cut_short_under_a_scan_is_an_error_and_the_process_lives() {
    let rows = 3 * BLOCK_ROWS;
    let time: Vec<i64> = (0..rows as i64).collect();
    let channel: Vec<u16> = vec![1; rows];
    for name in ["time.col", "channel.col"] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &time, &channel, &[(rows, false)]);
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        let sum = |store: &Store| {
            let Channels::U8(labels) = store.tags().channels else { panic!("narrow") };
            let labels: i64 = labels.all().iter().map(|&label| i64::from(label)).sum();
            store.tags().time.to_vec().iter().sum::<i64>() + labels
        };
        let whole = store.guarded(sum).unwrap();
        assert_eq!(whole, time.iter().sum::<i64>() + rows as i64);
        let copied = Store::open(folder.path(), Access::Copied).unwrap();
        let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
        file.set_len(8192).unwrap();
        let cut = store.guarded(sum).unwrap_err().to_string();
        assert!(cut.contains("cut short"), "{cut}");
        // The zeros in that place are never used as times.
        assert!(store.guarded(sum).is_err());
        assert_eq!(copied.guarded(sum).unwrap(), whole);
    }
}

/// Outside a guarded scan the signal has its usual effect.
#[test]
#[cfg(unix)]
fn an_unguarded_read_of_a_missing_page_ends_the_process() {
    const CHILD: &str = "TAGQ_TEST_UNGUARDED";
    const VIEW: &str = "TAGQ_TEST_VIEW";
    if let Some(folder) = std::env::var_os(CHILD) {
        let store = Store::open(Path::new(&folder), Access::Mapped).unwrap();
        store.guarded(|_| ()).unwrap();
        let file =
            fs::File::options().write(true).open(Path::new(&folder).join("time.col")).unwrap();
        file.set_len(4096).unwrap();
        if std::env::var_os(VIEW).is_some() {
            // Also while the same rows are scanned, and after the scan reached the missing page.
            let seen = store.guarded(|store| {
                let zeros = store.tags().time.to_vec().iter().sum::<i64>();
                println!("scanned {zeros}");
                store.unguarded_tags().time.to_vec().iter().sum::<i64>()
            });
            println!("{seen:?}");
        }
        println!("{}", store.tags().time.to_vec().iter().sum::<i64>());
        return;
    }
    for is_view in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let rows = BLOCK_ROWS;
        let time: Vec<i64> = (0..rows as i64).collect();
        write(folder.path(), &time, &vec![1; rows], &[(rows, false)]);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "an_unguarded_read_of_a_missing_page_ends_the_process"]);
        child.arg("--nocapture").env(CHILD, folder.path());
        if is_view {
            child.env(VIEW, "1");
        }
        let child = child.output().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&child.status);
        assert_eq!(signal, Some(libc::SIGBUS), "{child:?}");
        let text = String::from_utf8(child.stdout).unwrap();
        assert_eq!(text.contains("scanned 0"), is_view, "{text}");
    }
}

proptest! {
    #![proptest_config(random_cases(64))]
    #[test]
    fn whatever_is_written_is_read(
        mut time in prop::collection::vec(-(1_i64 << 62)..1 << 62, 1..300),
        labels in prop::collection::vec(prop::sample::select(vec![0, 1, 255, 256, 65_535]), 300),
        pieces in prop::collection::vec((0_usize..120, any::<bool>()), 1..6),
    ) {
        time.sort_unstable();
        let written: usize = pieces.iter().map(|(len, _)| len).sum();
        let rows = written.min(time.len());
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &time, &labels[..time.len()], &pieces);
        check(folder.path(), &time[..rows], &labels[..rows]);
    }
}

/// Returns the files of a store with their lengths.
fn lengths(folder: &Path) -> Vec<(String, u64)> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())
    };
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(file).collect();
    files.sort();
    files
}

#[test]
fn nothing_is_cut_before_every_file_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let (store, other) = (folder.path().join("store"), folder.path().join("other"));
    write(&store, &[1, 2], &[3, 3], &[(2, false)]);
    write(&other, &[1, 2], &[3, 3], &[(2, false)]);
    // Rows without a commit, and files that no commit names.
    let grow = |name: &str| {
        let file = fs::File::options().write(true).open(store.join(name)).unwrap();
        file.set_len(file.metadata().unwrap().len() + 800).unwrap();
    };
    let names = ["time.col", "channel.col", "blocks.idx", "counts.idx"];
    names.into_iter().for_each(grow);
    fs::write(store.join("time.7.col"), [7; 50]).unwrap();
    let before = lengths(&store);
    for name in names {
        let own = fs::read(store.join(name)).unwrap();
        // A changed byte of the run id, with a matching checksum.
        let mut foreign = own.clone();
        foreign[20] ^= 1;
        let crc = crc32c::crc32c(&foreign[..4092]);
        foreign[4092..4096].copy_from_slice(&crc.to_le_bytes());
        for bytes in [&foreign[..], &own[..4095], b"something else"] {
            fs::write(store.join(name), bytes).unwrap();
            let found = lengths(&store);
            Writer::open(&store, &creation()).expect_err(name);
            assert_eq!(lengths(&store), found, "{name}");
        }
        fs::write(store.join(name), own).unwrap();
    }
    assert_eq!(lengths(&store), before);
    drop(Writer::open(&store, &creation()).unwrap());
    assert_eq!(lengths(&store), lengths(&other));
}

#[test]
fn what_a_writer_left_is_named_and_goes_with_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[1, 2], &[3, 3], &[(2, false)]);
    let leftovers = || {
        let manifest = tagq_store::Manifest::read(folder.path()).unwrap().unwrap();
        let leftovers = manifest.leftovers(folder.path()).unwrap();
        leftovers.into_iter().map(|left| (left.name, left.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(leftovers(), []);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    // Wide labels: one header page each, and in the wide column two rows of one and two of the other.
    writer.append(&[5, 6], &[300, 300]).unwrap();
    let left = [("blocks.2.idx", 4096), ("channel.2.col", 4096 + 4 * 2), ("time.col", 2 * 8)];
    let left = left.map(|(name, bytes)| (name.to_owned(), bytes));
    assert_eq!(leftovers(), left);
    drop(writer);
    assert_eq!(leftovers(), left);
    drop(Writer::open(folder.path(), &creation()).unwrap());
    assert_eq!(leftovers(), []);
}
