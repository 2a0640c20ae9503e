//! Times that are decoded equal the plain vector, however the store was opened and whichever rows are read.

use std::{fs, ops::Range, path::Path};

use proptest::prelude::*;
use tagq_sampling::random_cases;
use tagq_store::{
    Access, Channels, Error, FileBytes, Manifest, SourceFacts, Store, TimeReader, Times, Writer,
    format::HEADER_BYTES,
};

use crate::{BLOCK_ROWS, creation};

const STEP_ROWS: usize = 1_024;
const ALL: std::ops::RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn rows(&mut self, len: usize) -> Range<usize> {
        let (one, other) = (self.below(len + 1), self.below(len + 1));
        one.min(other)..one.max(other)
    }

    /// Times in order; with `is_wide` some distances have more than 32 bits.
    fn times(&mut self, rows: usize, is_wide: bool) -> Vec<i64> {
        let most_are_far = self.below(2) == 0;
        let mut time = -(self.below(1 << 30) as i64);
        let mut times = Vec::new();
        for row in 0..rows {
            let is_edge = [0, 1, STEP_ROWS - 1].contains(&(row % STEP_ROWS));
            let is_far = (is_edge || most_are_far) && self.below(3) > 0;
            time += match (is_far, self.below(9)) {
                (true, 0) if is_wide => (1 << 32) - 2 + self.below(4) as i64,
                (true, _) => 65_534 + self.below(200_000) as i64,
                (false, _) => self.below(300) as i64,
            };
            times.push(time);
        }
        times
    }

    /// Places that divide rows into sources.
    fn ends(&mut self, rows: usize) -> Vec<usize> {
        let near = [0, 1, STEP_ROWS, STEP_ROWS + 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1];
        let mut ends: Vec<usize> = (0..self.below(5))
            .map(|_| match near[self.below(near.len())] {
                near if near < rows && self.below(2) == 0 => near,
                _ => self.below(rows + 1),
            })
            .collect();
        ends.push(rows);
        ends.sort_unstable();
        ends
    }
}

/// Appends the rows up to each of these ends as a source, with a commit after each.
fn append(writer: &mut Writer, times: &[i64], ends: &[usize]) {
    let mut start = 0;
    for &end in ends {
        writer.begin_source();
        let labels: Vec<u16> = (start..end).map(label).collect();
        writer.append(&times[start..end], &labels).unwrap();
        writer.finish_source(SourceFacts::named(&format!("{start} to {end}")));
        writer.commit().unwrap();
        start = end;
    }
}

fn label(row: usize) -> u16 {
    u16::try_from(row % 7).unwrap()
}

fn compact(folder: &Path, times: &[i64], ends: &[usize]) -> Writer {
    let mut writer = Writer::open(folder, &creation()).unwrap();
    writer.drop_times().unwrap();
    append(&mut writer, times, ends);
    writer
}

/// Everything that can be read of a view equals what the plain times have.
fn check(view: Times<'_>, times: &[i64], random: &mut Random) {
    assert_eq!((view.len(), view.is_empty()), (times.len(), times.is_empty()));
    assert!(view == times);
    assert_eq!((view.first(), view.last()), (times.first().copied(), times.last().copied()));
    assert!(view.is_sorted());
    let mut buffer = Vec::new();
    let mut pieces = Vec::new();
    let mut end = 0;
    for piece in view.pieces() {
        assert_eq!(piece.start, end);
        end = piece.end;
        pieces.extend_from_slice(view.read(piece, &mut buffer));
    }
    assert!(pieces == times);
    assert_eq!(view.get(times.len()), None);
    let mut reader = TimeReader::new(view);
    let mut near = 0;
    for _ in 0..60 {
        let rows = random.rows(times.len());
        assert!(view.read(rows.clone(), &mut buffer) == &times[rows.clone()]);
        let part = view.rows(rows.clone());
        assert!(part.read(0..rows.len(), &mut buffer) == &times[rows.clone()]);
        assert_eq!(reader.get(times.len()), None);
        check_distances(part, &times[rows.clone()], random);
        let Some(&time) = times.get(random.below(times.len())) else { continue };
        let row = random.below(times.len());
        assert_eq!((view.at(row), view.get(row)), (times[row], Some(times[row])));
        assert_eq!(reader.at(row), times[row]);
        // Mostly in ascending order, as scans read.
        near = (near + random.below(900)) % times.len();
        assert_eq!(reader.get(near), Some(times[near]));
        let gap = row.checked_sub(1).map(|before| times[row] - times[before]);
        assert_eq!(view.gap(row), gap);
        for time in [time - 1, time, time + 1] {
            let expected = times.partition_point(|&of| of < time);
            assert_eq!(view.partition_point(|of| of < time), expected);
            assert_eq!(view.seek(random.below(times.len() + 2), |of| of < time), expected);
            let own = &times[rows.clone()];
            let expected = own.partition_point(|&of| of <= time);
            assert_eq!(part.partition_point(|of| of <= time), expected);
        }
    }
    let read: Vec<i64> = (0..times.len()).map(|row| reader.at(row)).collect();
    assert!(read == times);
}

fn check_distances(view: Times<'_>, times: &[i64], random: &mut Random) {
    let rows = random.rows(times.len());
    let of = |row: usize| match row.checked_sub(1) {
        Some(before) => u32::try_from(times[row] - times[before]).unwrap_or(u32::MAX),
        None => u32::MAX,
    };
    let expected: Vec<u32> = rows.clone().map(of).collect();
    let mut buffer = Vec::new();
    assert_eq!(view.distances(rows, &mut buffer), expected);
}

fn check_labels(store: &Store, rows: Range<usize>) {
    let Channels::U8(labels) = store.tags().channels else { panic!("narrow labels") };
    assert!(labels.all().iter().map(|&of| u16::from(of)).eq(rows.map(label)));
}

/// Opens the first rows as of `earlier`, all of them and those with some times.
fn check_prefix(folder: &Path, earlier: &Manifest, times: &[i64], random: &mut Random) {
    let rows = usize::try_from(earlier.rows).unwrap();
    let times = &times[..rows];
    let some = random.rows(rows);
    let some = times.get(some.start).copied().zip(times.get(some.end).copied());
    let ranges = [ALL].into_iter().chain(some.map(|(from, to)| from..=to));
    for range in ranges {
        for access in [Access::Mapped, Access::Copied] {
            let store = Store::open_prefix(folder, earlier, access, &range).unwrap();
            let start = times.partition_point(|time| time < range.start());
            let end = times.partition_point(|time| time <= range.end());
            assert_eq!(store.opened(), start..end);
            assert_eq!(store.manifest().rows_id(), earlier.rows_id());
            check_labels(&store, start..end);
            let guarded = store.guarded(|store| {
                check(store.tags().time, &times[start..end], random);
                assert!(store.gaps().is_none_or(|gaps| gaps.is_right(0..end - start)));
            });
            guarded.unwrap();
            assert!(store.whole_times().unwrap() == &times[start..end]);
        }
    }
}

proptest! {
    #![proptest_config(random_cases(24))]

    #[test]
    fn any_view_has_the_times(seed: u64, rows in 0..6_000_usize, is_wide: bool) {
        let random = &mut Random(seed);
        let times = random.times(rows, is_wide);
        let folder = tempfile::tempdir().unwrap();
        drop(compact(folder.path(), &times, &random.ends(rows)));
        for access in [Access::Mapped, Access::Copied] {
            let store = Store::open(folder.path(), access).unwrap();
            store.guarded(|store| check(store.tags().time, &times, random)).unwrap();
            check(store.unguarded_tags().time, &times, random);
            let part = random.rows(rows);
            check(store.tags().time.rows(part.clone()), &times[part], random);
        }
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        for _ in 0..3 {
            let first = store.first_rows(random.below(rows + 1) as u64).unwrap();
            check_prefix(folder.path(), &first, &times, random);
        }
    }
}

#[test]
fn views_of_several_blocks_have_the_times() {
    for (seed, rows) in [(3, 2 * BLOCK_ROWS + 1_500), (4, 2 * BLOCK_ROWS), (6, BLOCK_ROWS + 1)] {
        let random = &mut Random(seed);
        let times = random.times(rows, seed == 3);
        let folder = tempfile::tempdir().unwrap();
        drop(compact(folder.path(), &times, &random.ends(rows)));
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        store.guarded(|store| check(store.tags().time, &times, random)).unwrap();
        for rows in [BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, random.below(rows), rows] {
            let first = store.first_rows(rows as u64).unwrap();
            check_prefix(folder.path(), &first, &times, random);
        }
    }
}

/// An earlier manifest stays of use when the columns changed since.
#[test]
fn earlier_manifests_name_the_same_rows_of_other_columns() {
    let rows = BLOCK_ROWS + 3_000;
    let random = &mut Random(8);
    let mut times = random.times(rows, false);
    let at = BLOCK_ROWS + 2_000;
    // The column of far distances becomes wider after the earlier manifests were taken.
    times[at..].iter_mut().for_each(|time| *time += 1 << 33);
    let ends = [3_000, BLOCK_ROWS + 1_000];
    let folder = tempfile::tempdir().unwrap();
    let mut writer = compact(folder.path(), &times, &ends);
    let manifests = |folder: &Path, rows: &[usize]| -> Vec<Manifest> {
        let store = Store::open(folder, Access::Mapped).unwrap();
        rows.iter().map(|&rows| store.first_rows(rows as u64).unwrap()).collect()
    };
    let cuts = [0, 1, 2_999, 3_000, 3_001, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 999];
    let mut earlier = manifests(folder.path(), &cuts);
    earlier.extend(manifests(folder.path(), &[BLOCK_ROWS + 1_000]));
    let all = |earlier: &[Manifest], random: &mut Random| {
        for earlier in earlier {
            check_prefix(folder.path(), earlier, &times, random);
        }
    };
    all(&earlier, random);
    // Wider.
    writer.continue_source().unwrap();
    writer
        .append(
            &times[BLOCK_ROWS + 1_000..],
            &(BLOCK_ROWS + 1_000..rows).map(label).collect::<Vec<_>>(),
        )
        .unwrap();
    writer.finish_source(SourceFacts::named("continued"));
    writer.commit().unwrap();
    all(&earlier, random);
    earlier.extend(manifests(folder.path(), &[at, at + 1, rows - 1, rows]));
    // With times, with times alone, and without times again.
    writer.make_times().unwrap();
    writer.commit().unwrap();
    all(&earlier, random);
    earlier.extend(manifests(folder.path(), &[at, 5]));
    writer.drop_gaps().unwrap();
    writer.commit().unwrap();
    all(&earlier, random);
    earlier.extend(manifests(folder.path(), &[at, 5]));
    writer.drop_times().unwrap();
    writer.commit().unwrap();
    all(&earlier, random);
}

/// A copy of a store with these bytes of its files and zeros in all others.
fn sparse(folder: &Path, to: &Path, bytes: &[FileBytes]) {
    fs::create_dir(to).unwrap();
    fs::copy(folder.join("manifest.json"), to.join("manifest.json")).unwrap();
    for of in bytes {
        let path = to.join(&of.name);
        let file =
            fs::File::options().create(true).write(true).truncate(false).open(&path).unwrap();
        if file.metadata().unwrap().len() < of.len {
            file.set_len(of.len).unwrap();
        }
        let whole = fs::read(folder.join(&of.name)).unwrap();
        let range = of.bytes.start as usize..of.bytes.end as usize;
        assert!(of.bytes.end <= of.len && range.end <= whole.len(), "{of:?}");
        tagq_store::os::write_all_at(&file, &whole[range], of.bytes.start).unwrap();
    }
}

#[test]
fn a_copy_of_the_needed_bytes_has_the_rows() {
    let random = &mut Random(11);
    let rows = 4 * BLOCK_ROWS + 2_500;
    for is_wide in [false, true] {
        let times = random.times(rows, is_wide);
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        fs::create_dir(&store).unwrap();
        drop(compact(&store, &times, &random.ends(rows)));
        let whole = Store::open(&store, Access::Mapped).unwrap();
        let cuts = [rows, rows - 1, 4 * BLOCK_ROWS, 3 * BLOCK_ROWS + 77, BLOCK_ROWS / 2];
        for (i, of) in cuts.into_iter().enumerate() {
            let earlier = whole.first_rows(of as u64).unwrap();
            for j in 0..6 {
                let some = random.rows(of - 1);
                let (from, to) = (times[some.start], times[some.end]);
                let mut bytes = FileBytes::of_index(&store, &earlier).unwrap();
                bytes.extend(FileBytes::of_rows(&store, &earlier, &(from..=to)).unwrap());
                let copy = folder.path().join(format!("copy {is_wide} {i} {j}"));
                sparse(&store, &copy, &bytes);
                let opened =
                    Store::open_prefix(&copy, &earlier, Access::Copied, &(from..=to)).unwrap();
                let start = times[..of].partition_point(|&time| time < from);
                let end = times[..of].partition_point(|&time| time <= to);
                assert_eq!(opened.opened(), start..end);
                let check = |store: &Store| check(store.tags().time, &times[start..end], random);
                opened.guarded(check).unwrap();
                check_labels(&opened, start..end);
                fs::remove_dir_all(copy).unwrap();
            }
        }
    }
}

#[test]
fn an_opened_store_keeps_its_rows_while_others_are_appended() {
    let random = &mut Random(5);
    let rows = 2 * BLOCK_ROWS + 700;
    let mut times = random.times(rows, false);
    let ends = [BLOCK_ROWS - 900, BLOCK_ROWS + 40, BLOCK_ROWS + 2_000, rows];
    // The last source makes far distances wider, which replaces their file.
    times[BLOCK_ROWS + 2_050..].iter_mut().for_each(|time| *time += 1 << 34);
    let folder = tempfile::tempdir().unwrap();
    let mut writer = compact(folder.path(), &times, &[]);
    let mut opened = Vec::new();
    let mut start = 0;
    for end in ends {
        writer.begin_source();
        writer.append(&times[start..end], &(start..end).map(label).collect::<Vec<_>>()).unwrap();
        writer.finish_source(SourceFacts::named("grows"));
        let check_all = |opened: &[(usize, Store)], random: &mut Random| {
            for (rows, store) in opened {
                let check = |store: &Store| check(store.tags().time, &times[..*rows], random);
                store.guarded(check).unwrap();
                check_labels(store, 0..*rows);
            }
        };
        // Rows without a commit, then with one.
        check_all(&opened, random);
        writer.commit().unwrap();
        check_all(&opened, random);
        opened.extend(
            [Access::Mapped, Access::Copied]
                .map(|access| (end, Store::open(folder.path(), access).unwrap())),
        );
        start = end;
    }
    writer.make_times().unwrap();
    writer.commit().unwrap();
    for (rows, store) in &opened {
        assert!(store.whole_times().unwrap() == &times[..*rows]);
    }
}

#[test]
fn all_times_have_one_place() {
    let random = &mut Random(2);
    let times = random.times(BLOCK_ROWS + 2_000, false);
    let folder = tempfile::tempdir().unwrap();
    drop(compact(folder.path(), &times, &[1_500, times.len()]));
    for access in [Access::Mapped, Access::Copied] {
        let store = Store::open(folder.path(), access).unwrap();
        assert!(store.decoded_times().is_none());
        let address = || store.whole_times().unwrap().as_ptr() as usize;
        let all = std::thread::scope(|scope| {
            let all = [(); 3].map(|()| scope.spawn(address));
            all.map(|thread| thread.join().unwrap())
        });
        assert_eq!(all, [address(); 3]);
        let whole = store.whole_times().unwrap();
        assert!(whole == times);
        assert_eq!(store.decoded_times().map(<[i64]>::as_ptr), Some(whole.as_ptr()));
    }
}

/// Replaces a file by its first bytes, and by one in which a page holds zeros.
fn damage(folder: &Path, key: &str) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let manifest = Manifest::read(folder).unwrap().unwrap();
    let text = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let at = text.find(&format!("\"{key}.")).unwrap() + 1;
    let name: String = text[at..].chars().take_while(|&of| of != '"').collect();
    assert!(manifest.rows > 0);
    let whole = fs::read(folder.join(&name)).unwrap();
    let mut lost = whole.clone();
    let page = HEADER_BYTES..lost.len().min(2 * HEADER_BYTES);
    lost[page].fill(0);
    vec![(name, whole, lost)]
}

#[test]
fn lost_pages_are_errors_of_whatever_reads_them() {
    let random = &mut Random(9);
    let times = random.times(3 * BLOCK_ROWS, false);
    let folder = tempfile::tempdir().unwrap();
    drop(compact(folder.path(), &times, &[times.len()]));
    for key in ["gap", "far", "steps"] {
        for (name, whole, lost) in damage(folder.path(), key) {
            fs::write(folder.path().join(&name), lost).unwrap();
            for access in [Access::Mapped, Access::Copied] {
                let store = Store::open(folder.path(), access).unwrap();
                let error = store.guarded(|store| store.tags().time.to_vec()).unwrap_err();
                assert!(error.is_damage() && error.to_string().contains(&name), "{error}");
                let error = store.whole_times().unwrap_err();
                assert!(error.is_damage(), "{error}");
                assert!(store.decoded_times().is_none());
                // Rows of other blocks are right.
                let rows = 2 * BLOCK_ROWS + 5..3 * BLOCK_ROWS;
                let read = |store: &Store| store.tags().time.rows(rows.clone()).to_vec();
                if key == "gap" {
                    assert!(store.guarded(read).unwrap() == times[rows.clone()]);
                }
            }
            fs::write(folder.path().join(&name), whole).unwrap();
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "a mapped file cannot be cut")]
fn a_file_of_distances_cut_short_under_a_scan_is_an_error_and_the_process_lives() {
    let random = &mut Random(10);
    let times = random.times(6 * BLOCK_ROWS, false);
    for key in ["gap", "far", "steps", "channel"] {
        let folder = tempfile::tempdir().unwrap();
        drop(compact(folder.path(), &times, &[times.len()]));
        let open = || Store::open(folder.path(), Access::Mapped).unwrap();
        let [whole, scanned, read, searched] = [open(), open(), open(), open()];
        let copied = Store::open(folder.path(), Access::Copied).unwrap();
        let name = damage(folder.path(), key).remove(0).0;
        let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
        // While the scan runs, after it read the first rows.
        let cut = |store: &Store| {
            let time = store.tags().time;
            let mut reader = TimeReader::new(time);
            let mut sum = reader.at(9);
            file.set_len(4_096).unwrap();
            let labels = (0..time.len()).map(|row| i64::from(store.tags().channels.label(row)));
            sum = sum.wrapping_add(labels.sum::<i64>());
            (0..time.len()).fold(sum, |sum, row| sum.wrapping_add(reader.at(row)))
        };
        let is_named = |result: Result<i64, Error>| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("cut short"), "{key}: {error}");
        };
        is_named(scanned.guarded(cut));
        is_named(scanned.guarded(cut));
        let reads = |store: &Store| {
            let tags = store.tags();
            let mut buffer = Vec::new();
            let times = tags.time.read(BLOCK_ROWS + 9..5 * BLOCK_ROWS, &mut buffer);
            let of_labels = i64::from(tags.channels.label(3 * BLOCK_ROWS));
            times.iter().fold(of_labels, |sum, time| sum.wrapping_add(*time))
        };
        is_named(read.guarded(reads));
        let searches = |store: &Store| {
            let tags = store.tags();
            let row = tags.time.partition_point(|time| time < times[4 * BLOCK_ROWS + 500]);
            let _ = tags.time.at(3 * BLOCK_ROWS + 77);
            row as i64 + i64::from(tags.channels.label(3 * BLOCK_ROWS))
        };
        is_named(searched.guarded(searches));
        if key == "channel" {
            assert!(whole.whole_times().unwrap() == times);
        } else {
            is_named(whole.whole_times().map(|times| times[0]));
            assert!(whole.decoded_times().is_none());
        }
        assert!(copied.whole_times().unwrap() == times);
    }
}

/// The last block as of an earlier commit has no checksums of its own in the files of the store.
#[test]
fn damage_of_the_last_rows_of_an_earlier_commit_is_refused() {
    let random = &mut Random(12);
    let (rows, of) = (BLOCK_ROWS + 12_000, BLOCK_ROWS + 9_000);
    let times = random.times(rows, false);
    let folder = tempfile::tempdir().unwrap();
    drop(compact(folder.path(), &times, &[BLOCK_ROWS + 5_000, rows]));
    let earlier =
        Store::open(folder.path(), Access::Mapped).unwrap().first_rows(of as u64).unwrap();
    let step = |step: usize| BLOCK_ROWS / STEP_ROWS + step;
    let row = |row: usize| 2 * (BLOCK_ROWS + row);
    let is_far = |row: &usize| *row == 0 || times[*row] - times[*row - 1] >= 65_535;
    let is_first = |row: &usize| *row == BLOCK_ROWS + 5_000;
    let far = (0..of).filter(|row| is_first(row) || is_far(row)).count() - 1;
    for (key, places) in [
        ("steps", [0, 1, 3, 8].map(|of| 16 * step(of))),
        ("steps", [0, 1, 3, 8].map(|of| 16 * step(of) + 8)),
        ("gap", [0, 1, STEP_ROWS, 8 * STEP_ROWS].map(row)),
        ("gap", [4_999, 5_000, 5_001, 8_999].map(row)),
        ("far", [0, 1, 2, 40].map(|before| 4 * (far - before))),
    ] {
        let (name, whole, _) = damage(folder.path(), key).remove(0);
        for place in places {
            let mut bytes = whole.clone();
            bytes[HEADER_BYTES + place] ^= 1;
            fs::write(folder.path().join(&name), bytes).unwrap();
            for access in [Access::Mapped, Access::Copied] {
                let read = |store: &Store| {
                    let mut reader = TimeReader::new(store.tags().time);
                    // Wrong ones are remembered.
                    let _ = store.gaps().map(|gaps| gaps.is_right(0..of));
                    (0..of).map(|row| reader.at(row)).collect::<Vec<i64>>()
                };
                let opened = Store::open_prefix(folder.path(), &earlier, access, &ALL);
                let found = opened.and_then(|store| store.guarded(read));
                assert!(found.is_err(), "{name}, byte {place}");
            }
        }
        fs::write(folder.path().join(&name), whole).unwrap();
    }
}
