//! The column of gaps: what its values are, made at once or row by row, and found when it is damaged.

use std::{fs, path::Path};

use proptest::prelude::*;
use tagq_sampling::random_cases;
use tagq_store::{Access, SourceFacts, Store, Writer};

use crate::{BLOCK_ROWS, creation};

/// Sources of pieces of times, each piece followed by a commit.
type Sources = Vec<Vec<Vec<i64>>>;

fn expected(sources: &Sources) -> Vec<u16> {
    let of_source = |pieces: &Vec<Vec<i64>>| {
        let times = pieces.concat();
        let gap = move |row: usize| match row.checked_sub(1) {
            Some(before) => u16::try_from(times[row] - times[before]).unwrap_or(u16::MAX),
            None => u16::MAX,
        };
        (0..pieces.concat().len()).map(gap).collect::<Vec<u16>>()
    };
    sources.iter().flat_map(of_source).collect()
}

fn append(writer: &mut Writer, times: &[i64]) {
    writer.append(times, &vec![7; times.len()]).unwrap();
}

/// Makes the store, with the gaps from the piece of this number on.
fn write(folder: &Path, sources: &Sources, from_piece: Option<usize>, reopens: bool) {
    let mut writer = Writer::open(folder, &creation()).unwrap();
    let mut number = 0;
    for pieces in sources {
        for (p, times) in pieces.iter().enumerate() {
            if reopens {
                drop(writer);
                writer = Writer::open(folder, &creation()).unwrap();
            }
            if from_piece == Some(number) {
                writer.make_gaps().unwrap();
            }
            number += 1;
            if p == 0 {
                writer.begin_source();
            } else {
                writer.continue_source().unwrap();
            }
            append(&mut writer, times);
            writer.finish_source(SourceFacts::named("a source"));
            writer.commit().unwrap();
        }
    }
    if from_piece.is_some_and(|from| from >= number) {
        writer.make_gaps().unwrap();
        writer.commit().unwrap();
    }
}

fn check(folder: &Path, gaps: Option<&[u16]>) {
    for access in [Access::Mapped, Access::Copied] {
        let store = Store::open(folder, access).unwrap();
        assert_eq!(store.gaps().map(|gaps| gaps.all()), gaps);
        for block in &store.blocks().unwrap() {
            store.check_block(block).unwrap();
        }
    }
}

fn file(folder: &Path, start: &str, end: &str) -> Vec<u8> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = names.filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(start) && name.ends_with(end)
    });
    let path = found.next().unwrap();
    assert!(found.next().is_none());
    fs::read(path).unwrap()
}

/// Sources that follow each other in time; gaps around the largest one that is stored.
fn sources() -> impl Strategy<Value = Sources> {
    let gap = prop_oneof![4 => 0..9_i64, 2 => 65_533..65_538_i64, 1 => 0..1_i64 << 40];
    let piece = prop::collection::vec(gap, 0..9);
    let sources = prop::collection::vec(prop::collection::vec(piece, 1..4), 1..5);
    (-(1_i64 << 50)..1 << 50, sources).prop_map(|(mut time, mut sources)| {
        for gap in sources.iter_mut().flatten().flatten() {
            time += *gap;
            *gap = time;
        }
        sources
    })
}

proptest! {
    #![proptest_config(random_cases(60))]

    #[test]
    fn gaps_are_the_same_whenever_they_are_made(
        sources in sources(),
        from_piece in 0..14_usize,
        reopens: bool,
    ) {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        write(folders[0].path(), &sources, Some(0), false);
        write(folders[1].path(), &sources, Some(from_piece), reopens);
        let gaps = expected(&sources);
        for folder in &folders {
            check(folder.path(), Some(&gaps));
        }
        for (start, end) in [("gap.", ".col"), ("gaps.", ".idx")] {
            let [one, other] = [0, 1].map(|i| file(folders[i].path(), start, end));
            prop_assert!(one == other, "{}", start);
        }
        // The chain, and with it every cached answer, does not depend on them.
        let without = tempfile::tempdir().unwrap();
        write(without.path(), &sources, None, false);
        check(without.path(), None);
        prop_assert!(file(without.path(), "blocks", ".idx") == file(folders[0].path(), "blocks", ".idx"));
        let mut writer = Writer::open(folders[1].path(), &creation()).unwrap();
        writer.drop_gaps().unwrap();
        writer.commit().unwrap();
        check(folders[1].path(), None);
        let mut names = fs::read_dir(folders[1].path()).unwrap().map(|entry| entry.unwrap().file_name());
        let are_gone = names.all(|name| !name.to_str().unwrap().starts_with("gap"));
        prop_assert!(are_gone);
        let text = fs::read_to_string(folders[1].path().join("manifest.json")).unwrap();
        let has_version_1 = text.contains("\"version\": 1");
        prop_assert!(has_version_1);
    }
}

#[test]
fn full_blocks_have_checksums_of_their_gaps() {
    let times: Vec<i64> =
        (0..2 * BLOCK_ROWS as i64 + 40).map(|row| row * row % 70_000 + 70_000 * row).collect();
    for at in [0, 3, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1] {
        let (first, rest) = times.split_at(at);
        let sources = vec![vec![first.to_vec(), times[at..at].to_vec()], vec![rest.to_vec()]];
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        write(one.path(), &sources, Some(0), false);
        write(other.path(), &sources, Some(9), false);
        for folder in [&one, &other] {
            check(folder.path(), Some(&expected(&sources)));
            assert_eq!(file(folder.path(), "gaps.", ".idx").len(), 4096 + 2 * 4);
        }
    }
}

#[test]
fn damaged_gaps_are_found() {
    let sources = vec![vec![(0..BLOCK_ROWS as i64 + 10).map(|row| 5 * row).collect()]];
    for (file, at, named) in [
        ("gap.1.col", 4096 + 2, "gap.1.col: damaged: the checksum of block 0"),
        ("gap.1.col", 4096 + 2 * BLOCK_ROWS + 3, "gap.1.col: damaged: the checksum of block 1"),
        ("gaps.1.idx", 4096, "gap.1.col: damaged: the checksum of block 0"),
        ("gap.1.col", 12, "the kind of file"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &sources, Some(0), false);
        let path = folder.path().join(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        if at < 4096 {
            let crc = crc32c::crc32c(&bytes[..4092]);
            bytes[4092..4096].copy_from_slice(&crc.to_le_bytes());
        }
        fs::write(&path, bytes).unwrap();
        let found = Store::open(folder.path(), Access::Mapped).and_then(|store| {
            store.blocks()?.iter().try_for_each(|block| store.check_block(block))
        });
        let found = found.unwrap_err().to_string();
        assert!(found.contains(named), "{found}");
    }
    // Gaps of other times, with right checksums.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &sources, Some(0), false);
    let mut gaps = fs::read(folder.path().join("gap.1.col")).unwrap();
    gaps[4096 + 2] ^= 1;
    let crc = crc32c::crc32c(&gaps[4096..][..2 * BLOCK_ROWS]);
    fs::write(folder.path().join("gap.1.col"), &gaps).unwrap();
    let mut index = fs::read(folder.path().join("gaps.1.idx")).unwrap();
    index[4096..].copy_from_slice(&crc.to_le_bytes());
    fs::write(folder.path().join("gaps.1.idx"), index).unwrap();
    let store = Store::open(folder.path(), Access::Mapped).unwrap();
    let found = store.check_block(&store.blocks().unwrap()[0]).unwrap_err().to_string();
    assert!(found.contains("the gaps of block 0"), "{found}");
}
