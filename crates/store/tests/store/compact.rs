//! A store without a column of times: the files that replace it, made at once or row by row, and made times again.

use std::{fmt::Debug, fs, path::Path};

use proptest::prelude::*;
use serde_json::Value;
use tagq_sampling::random_cases;
use tagq_store::{Access, Error, Rows, SourceFacts, Store, Writer, format::HEADER_BYTES};

use crate::{BLOCK_ROWS, creation, lengths};

const STEP_ROWS: usize = 1_024;

/// Sources of pieces of times, each piece followed by a commit.
type Sources = Vec<Vec<Vec<i64>>>;

/// When the column of times is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropped {
    Never,
    /// Before the piece of this number, or after all.
    Before(usize),
}

fn append(writer: &mut Writer, times: &[i64]) {
    writer.append(times, &vec![7; times.len()]).unwrap();
}

fn write(folder: &Path, sources: &Sources, dropped: Dropped, reopens: bool) {
    let mut writer = Writer::open(folder, &creation()).unwrap();
    let mut number = 0;
    for pieces in sources {
        for (p, times) in pieces.iter().enumerate() {
            if reopens {
                drop(writer);
                writer = Writer::open(folder, &creation()).unwrap();
            }
            if dropped == Dropped::Before(number) {
                writer.drop_times().unwrap();
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
    if let Dropped::Before(from) = dropped
        && from >= number
    {
        writer.drop_times().unwrap();
        writer.commit().unwrap();
    }
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

/// The values of a file that the manifest names.
fn values(folder: &Path, key: &str) -> Vec<u8> {
    let name = manifest(folder)["files"][key]["name"].as_str().unwrap().to_owned();
    fs::read(folder.join(name)).unwrap()[HEADER_BYTES..].to_vec()
}

fn crcs(bytes: &[u8], block_bytes: usize) -> Vec<u32> {
    bytes.chunks(block_bytes).map(crc32c::crc32c).collect()
}

/// The store has exactly the files of docs/format.md for rows of these sources, as plain arithmetic says them.
fn check(folder: &Path, sources: &[Vec<i64>]) {
    let times = sources.concat();
    let manifest = manifest(folder);
    let mut gaps: Vec<u16> = Vec::new();
    let mut far: Vec<(usize, u64)> = Vec::new();
    for times in sources {
        for (row, time) in times.iter().enumerate() {
            let distance = row.checked_sub(1).map_or(0, |before| time.abs_diff(times[before]));
            let is_far = row == 0 || distance >= 65_535;
            if is_far {
                far.push((gaps.len(), distance));
            }
            gaps.push(if is_far { 65_535 } else { u16::try_from(distance).unwrap() });
        }
    }
    let is_wide = far.iter().any(|&(_, distance)| distance > u32::MAX.into());
    assert_eq!(manifest["files"]["far"]["width"], if is_wide { 8 } else { 4 });
    let far_before = |row: usize| far.partition_point(|&(far_row, _)| far_row < row);
    let encode = |distances: &[(usize, u64)]| -> Vec<u8> {
        let width = if is_wide { 8 } else { 4 };
        distances.iter().flat_map(|(_, far)| far.to_le_bytes()[..width].to_vec()).collect()
    };
    let step = |row: usize| [times[row].to_le_bytes(), (far_before(row) as u64).to_le_bytes()];
    let steps: Vec<u8> = (0..times.len()).step_by(STEP_ROWS).flat_map(step).flatten().collect();
    let gaps: Vec<u8> = gaps.iter().flat_map(|gap| gap.to_le_bytes()).collect();
    assert!(values(folder, "gap") == gaps);
    assert!(values(folder, "far") == encode(&far));
    assert!(values(folder, "steps") == steps);
    let crc_far: Vec<u32> = (0..times.len())
        .step_by(BLOCK_ROWS)
        .map(|row| crc32c::crc32c(&encode(&far[far_before(row)..far_before(row + BLOCK_ROWS)])))
        .collect();
    let crcs = [
        ("crc_gap", crcs(&gaps, 2 * BLOCK_ROWS)),
        ("crc_far", crc_far),
        ("crc_steps", crcs(&steps, 16 * BLOCK_ROWS / STEP_ROWS)),
        ("crc_time", crcs(bytemuck::cast_slice(&times), 8 * BLOCK_ROWS)),
    ];
    let full_blocks = times.len() / BLOCK_ROWS;
    let in_index =
        |block: usize| crcs[..3].iter().flat_map(move |(_, crcs)| crcs[block].to_le_bytes());
    assert!(values(folder, "gaps") == (0..full_blocks).flat_map(in_index).collect::<Vec<u8>>());
    for (key, crcs) in &crcs {
        let last = crcs.get(full_blocks).map_or(Value::Null, |&crc| crc.into());
        assert_eq!(manifest["last_block"][key], last, "{key}");
    }
    assert_eq!(manifest["far_entries"], far.len());
    assert_eq!(manifest["version"], 3);
    let files = ["channel", "blocks", "counts", "gap", "gaps", "far", "steps"];
    let mut names: Vec<&str> =
        files.iter().map(|key| manifest["files"][key]["name"].as_str().unwrap()).collect();
    names.extend(["lock", "manifest.json"]);
    names.sort_unstable();
    let found = lengths(folder);
    assert_eq!(found.iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
    for access in [Access::Mapped, Access::Copied] {
        check_times(folder, access, &times);
    }
}

fn check_times(folder: &Path, access: Access, times: &[i64]) {
    let store = Store::open(folder, access).unwrap();
    assert!(store.tags().time == times);
    for block in &store.blocks().unwrap() {
        store.check_block(block).unwrap();
    }
}

/// The two stores have the same rows and the same bytes in these files.
fn check_equal(one: &Path, other: &Path, keys: &[&str]) {
    for key in keys {
        assert!(values(one, key) == values(other, key), "{key}");
    }
    for key in ["rows", "chain", "channels", "time_first", "time_last", "count_entries"] {
        assert_eq!(manifest(one)[key], manifest(other)[key], "{key}");
    }
    for key in ["crc_time", "crc_channel", "counts", "time_min", "time_max"] {
        let [one, other] = [one, other].map(|folder| manifest(folder)["last_block"][key].clone());
        assert_eq!(one, other, "{key}");
    }
}

const REPLACING: [&str; 4] = ["gap", "gaps", "far", "steps"];
const INDEX: [&str; 3] = ["channel", "blocks", "counts"];

/// Sources that follow each other in time; distances around those where the encoding changes.
fn sources() -> impl Strategy<Value = Sources> {
    let distance = prop_oneof![
        6 => 0..9_i64,
        2 => 65_533..65_538_i64,
        2 => 0..1_i64 << 31,
        1 => (1_i64 << 32) - 2..(1 << 32) + 2,
    ];
    let piece = prop::collection::vec(distance, 0..9);
    let sources = prop::collection::vec(prop::collection::vec(piece, 1..4), 1..5);
    (-(1_i64 << 50)..1 << 50, sources).prop_map(|(mut time, mut sources)| {
        for distance in sources.iter_mut().flatten().flatten() {
            time += *distance;
            *distance = time;
        }
        sources
    })
}

proptest! {
    #![proptest_config(random_cases(60))]

    #[test]
    fn distances_are_the_same_whenever_times_are_dropped(
        sources in sources(),
        from_piece in 0..14_usize,
        reopens: bool,
    ) {
        let [first, later, plain] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        write(first.path(), &sources, Dropped::Before(0), false);
        write(later.path(), &sources, Dropped::Before(from_piece), reopens);
        write(plain.path(), &sources, Dropped::Never, false);
        let rows: Vec<Vec<i64>> = sources.iter().map(|pieces| pieces.concat()).collect();
        for folder in [&first, &later] {
            check(folder.path(), &rows);
            check_equal(folder.path(), plain.path(), &INDEX);
        }
        check_equal(first.path(), later.path(), &REPLACING);
        let mut writer = Writer::open(later.path(), &creation()).unwrap();
        writer.make_times().unwrap();
        writer.commit().unwrap();
        check_equal(later.path(), plain.path(), &[&INDEX[..], &["time"]].concat());
        check_times(later.path(), Access::Mapped, &rows.concat());
        prop_assert_eq!(&manifest(later.path())["version"], 2);
        writer.drop_gaps().unwrap();
        writer.commit().unwrap();
        prop_assert_eq!(&manifest(later.path())["version"], 1);
        prop_assert_eq!(&manifest(later.path())["far_entries"], &Value::Null);
    }
}

/// Times that are far from each other at the edges of steps and blocks, and at some others.
fn times_with_far_edges(rows: usize) -> Vec<i64> {
    let mut time = -5_000_000;
    let distance = |row: usize| match row % STEP_ROWS {
        0 | 1 | 1_023 if !row.is_multiple_of(3) => 65_535 + row as i64,
        17 => 65_534,
        at => (at % 5) as i64,
    };
    (0..rows)
        .map(|row| {
            time += distance(row);
            time
        })
        .collect()
}

#[test]
fn far_distances_at_the_edges_of_steps_and_blocks() {
    let times = times_with_far_edges(2 * BLOCK_ROWS + 2 * STEP_ROWS + 40);
    let edges =
        [0, 3, STEP_ROWS - 1, STEP_ROWS, STEP_ROWS + 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1];
    for at in edges {
        let (first, rest) = times.split_at(at);
        let sources = vec![vec![first.to_vec(), rest[..0].to_vec()], vec![rest.to_vec()]];
        let rows: Vec<Vec<i64>> = sources.iter().map(|pieces| pieces.concat()).collect();
        for dropped in [0, 1, 2, 9] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &sources, Dropped::Before(dropped), false);
            check(folder.path(), &rows);
        }
        // The same source in pieces that end at the edges.
        let mut pieces = Vec::new();
        let mut start = 0;
        for end in [at, at + 1, at + STEP_ROWS, times.len()] {
            pieces.push(times[start..end].to_vec());
            start = end;
        }
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &vec![pieces], Dropped::Before(1), true);
        check(folder.path(), std::slice::from_ref(&times));
    }
    // Full steps and blocks, with nothing after them.
    for rows in [1, STEP_ROWS, BLOCK_ROWS, 2 * BLOCK_ROWS] {
        let folder = tempfile::tempdir().unwrap();
        let sources = vec![vec![times[..rows].to_vec()]];
        write(folder.path(), &sources, Dropped::Before(9), false);
        check(folder.path(), &[times[..rows].to_vec()]);
    }
}

#[test]
fn several_sources_in_one_block() {
    let times = times_with_far_edges(3 * STEP_ROWS);
    let sources: Vec<Vec<i64>> = times.chunks(100).map(<[i64]>::to_vec).collect();
    for dropped in [0, 5, 99] {
        let folder = tempfile::tempdir().unwrap();
        let pieces = sources.iter().map(|source| vec![source.clone()]).collect();
        write(folder.path(), &pieces, Dropped::Before(dropped), false);
        check(folder.path(), &sources);
    }
}

#[test]
fn any_number_of_threads_writes_the_same_files() {
    let mut times = times_with_far_edges(20 * BLOCK_ROWS + 1_000);
    // The column of far distances widens when most rows are on their way.
    for time in &mut times[18 * BLOCK_ROWS + 50..] {
        *time += 1 << 33;
    }
    let folders = [1, 4].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), &creation()).unwrap();
        writer.set_threads(threads);
        writer.drop_times().unwrap();
        writer.begin_source();
        let mut first = Rows::new(times.clone(), vec![7; times.len()], Vec::new());
        let later = first.split_off(11 * BLOCK_ROWS + 3);
        writer.append_rows(vec![first]).unwrap();
        writer.append_rows(vec![later]).unwrap();
        writer.finish_source(SourceFacts::named("many"));
        writer.commit().unwrap();
        check(folder.path(), std::slice::from_ref(&times));
        folder
    });
    check_equal(folders[0].path(), folders[1].path(), &[&INDEX[..], &REPLACING].concat());
}

#[test]
fn a_distance_of_more_than_32_bits_widens_the_column() {
    let mut times = times_with_far_edges(BLOCK_ROWS + 3_000);
    for at in [0, 5, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, BLOCK_ROWS + 2_000] {
        for time in &mut times[at..] {
            *time += 1 << 32;
        }
        for cut in [0, at.min(BLOCK_ROWS + 2), at, at + 1, times.len()] {
            let sources = vec![vec![times[..cut].to_vec(), times[cut..].to_vec()]];
            for dropped in [0, 1, 9] {
                let folder = tempfile::tempdir().unwrap();
                write(folder.path(), &sources, Dropped::Before(dropped), cut % 2 == 0);
                check(folder.path(), std::slice::from_ref(&times));
            }
        }
        for time in &mut times[at..] {
            *time -= 1 << 32;
        }
    }
}

#[test]
fn labels_and_micro_times_are_widened_without_times() {
    let times = times_with_far_edges(BLOCK_ROWS + 500);
    let write = |folder: &Path, drops: bool| {
        let mut writer = Writer::open(folder, &creation()).unwrap();
        if drops {
            writer.drop_times().unwrap();
        }
        writer.begin_source();
        let (first, rest) = times.split_at(BLOCK_ROWS + 3);
        append(&mut writer, first);
        let (second, third) = rest.split_at(9);
        writer.append_with_micro(second, &[300; 9], &[5; 9]).unwrap();
        let labels = vec![1; third.len()];
        writer.append_with_micro(third, &labels, &vec![70_000; third.len()]).unwrap();
        writer.finish_source(SourceFacts::named("a source"));
        writer.commit().unwrap();
    };
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    write(one.path(), true);
    write(other.path(), false);
    check_equal(one.path(), other.path(), &["channel", "micro", "blocks", "counts"]);
    let mut writer = Writer::open(one.path(), &creation()).unwrap();
    writer.make_times().unwrap();
    writer.commit().unwrap();
    check_equal(one.path(), other.path(), &["time", "blocks"]);
}

#[test]
fn gaps_stay_while_they_are_the_only_times() {
    let folder = tempfile::tempdir().unwrap();
    let times = times_with_far_edges(2_000);
    let sources = vec![vec![times.clone()]];
    write(folder.path(), &sources, Dropped::Before(0), false);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    let refused = writer.drop_gaps();
    assert!(matches!(refused, Err(Error::GapsNeeded { .. })), "{refused:?}");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("--times on`"), "{refused}");
    // These change nothing, and the writer goes on.
    writer.make_gaps().unwrap();
    writer.drop_times().unwrap();
    writer.commit().unwrap();
    check(folder.path(), std::slice::from_ref(&times));
    writer.make_times().unwrap();
    writer.make_times().unwrap();
    writer.commit().unwrap();
    // Dropped and made in one commit.
    writer.drop_times().unwrap();
    writer.make_times().unwrap();
    writer.drop_times().unwrap();
    writer.commit().unwrap();
    check(folder.path(), std::slice::from_ref(&times));
    drop(writer);
    let mut writer = Writer::open_for_rebuild(folder.path(), &creation()).unwrap();
    writer.begin_source();
    append(&mut writer, &times[5..]);
    writer.finish_source(SourceFacts::named("again"));
    writer.commit().unwrap();
    check(folder.path(), &[times[5..].to_vec()]);
}

/// Changes a byte of the values of a file.
fn flip(folder: &Path, key: &str, at: usize) {
    let name = manifest(folder)["files"][key]["name"].as_str().unwrap().to_owned();
    let mut bytes = fs::read(folder.join(&name)).unwrap();
    bytes[HEADER_BYTES + at] ^= 1;
    fs::write(folder.join(name), bytes).unwrap();
}

fn check_damage<T: Debug>(result: Result<T, Error>, named: &str) {
    let error = result.unwrap_err();
    assert!(error.is_damage() && error.to_string().contains(named), "{error}");
}

#[test]
fn damaged_times_do_not_become_the_only_ones() {
    let rows = BLOCK_ROWS + 500;
    for (at, named) in [
        (8 * 9 + 1, "of block 0 (rows 0 to 65535)"),
        (8 * (BLOCK_ROWS - 1), "of block 0 (rows 0 to 65535)"),
        (8 * (BLOCK_ROWS + 1) + 6, "of block 1 (rows 65536 to 66035)"),
        (8 * (rows - 1), "of block 1 (rows 65536 to 66035)"),
    ] {
        for has_gaps in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &vec![vec![times_with_far_edges(rows)]], Dropped::Never, false);
            let mut writer = Writer::open(folder.path(), &creation()).unwrap();
            if has_gaps {
                writer.make_gaps().unwrap();
                writer.commit().unwrap();
            }
            flip(folder.path(), "time", at);
            let before = fs::read(folder.path().join("manifest.json")).unwrap();
            check_damage(writer.drop_times(), named);
            assert!(matches!(writer.commit(), Err(Error::Poisoned { .. })));
            drop(writer);
            // The next writer finds the old commit, and nothing else.
            drop(Writer::open(folder.path(), &creation()).unwrap());
            assert_eq!(fs::read(folder.path().join("manifest.json")).unwrap(), before);
            assert_eq!(lengths(folder.path()).len(), if has_gaps { 8 } else { 6 });
        }
    }
    // Gaps that are not those of the times.
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    append(&mut writer, &times_with_far_edges(rows));
    writer.finish_source(SourceFacts::named("a source"));
    writer.make_gaps().unwrap();
    writer.commit().unwrap();
    flip(folder.path(), "gap", 20);
    check_damage(writer.drop_times(), "gap.1.col: damaged: the distances of block 0");
}

#[test]
fn damaged_distances_become_no_times() {
    let times = times_with_far_edges(BLOCK_ROWS + 500);
    for (key, at) in [("gap", 5), ("gap", 2 * BLOCK_ROWS + 9), ("far", 4 * 3), ("far", 4 * 110)] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &vec![vec![times.clone()]], Dropped::Before(0), false);
        flip(folder.path(), key, at);
        let mut writer = Writer::open(folder.path(), &creation()).unwrap();
        check_damage(writer.make_times(), "of block");
    }
    // Times do not depend on steps, which are made again.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &vec![vec![times.clone()]], Dropped::Before(0), false);
    flip(folder.path(), "steps", 16 * 7);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.make_times().unwrap();
    writer.drop_times().unwrap();
    writer.commit().unwrap();
    check(folder.path(), std::slice::from_ref(&times));
    // Damaged far distances get no new checksums when their column widens.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &vec![vec![times.clone()]], Dropped::Before(0), false);
    flip(folder.path(), "far", 4 * 3);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    writer.begin_source();
    let last = times[times.len() - 1];
    let appended = writer.append(&[last, last + (1 << 40)], &[1, 1]);
    check_damage(appended, "far.1.col: damaged: the checksum of block 0");
}

#[test]
fn readers_find_the_old_files_until_the_commit() {
    let folder = tempfile::tempdir().unwrap();
    let times = times_with_far_edges(3_000);
    write(folder.path(), &vec![vec![times.clone()]], Dropped::Before(0), false);
    let mut writer = Writer::open(folder.path(), &creation()).unwrap();
    let old = ["gap", "gaps", "far", "steps"].map(|key| values(folder.path(), key));
    writer.begin_source();
    let last = times[times.len() - 1];
    append(&mut writer, &[last + (1 << 40)]);
    writer.finish_source(SourceFacts::named("later"));
    writer.begin_source();
    append(&mut writer, &[last + (1 << 40), last + (1 << 41)]);
    writer.finish_source(SourceFacts::named("widens"));
    let found = ["gap", "gaps", "far", "steps"].map(|key| values(folder.path(), key));
    for (old, found) in old.iter().zip(found) {
        assert!(found.starts_with(old));
    }
    writer.commit().unwrap();
    let later = [vec![last + (1 << 40)], vec![last + (1 << 40), last + (1 << 41)]];
    check(folder.path(), &[&[times][..], &later].concat());
}
