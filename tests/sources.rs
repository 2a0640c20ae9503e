//! Sources that grow, move, change or start their counter again: the content of the store.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{
    fs::{self, File},
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use tagq::{files::encode::Encoder, store::Tag};

use crate::support::{Output, coincidences, command, counts, output, store_file, tagq};

/// Returns frames of 500 tags each, 1,000 ticks apart, alternating between channels 1 and 2, from tick
/// `start` on.
fn frames(start: i64, number: usize) -> Vec<Vec<u8>> {
    let tags: Vec<Tag> = (0..)
        .take(500 * number)
        .map(|i: i64| Tag { time: start + i * 1_000, channel: 1 + i.unsigned_abs() % 2 })
        .collect();
    tags.chunks(500)
        .map(|tags| {
            let mut encoder = Encoder::new(Vec::new());
            encoder.frame(tags.len() as u64, [tags]).unwrap();
            encoder.into_inner()
        })
        .collect()
}

fn append(path: &Path, bytes: &[u8]) {
    File::options().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn ingest(args: &[&str], run: &Path) -> Output {
    output(command().arg("ingest").args(args).arg(run))
}

/// Returns the rows in the store of `run`, as text.
fn rows(run: &Path) -> Vec<u8> {
    let output = output(command().args(["cat", "--no-ingest", "-q"]).arg(run));
    assert_eq!(output.code, 0, "{}", output.stderr);
    output.stdout
}

fn info(run: &Path) -> serde_json::Value {
    tagq(["info".as_ref(), "--no-ingest".as_ref(), run.as_os_str()]).json()
}

fn new_run(folder: &tempfile::TempDir) -> PathBuf {
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    run
}

/// Returns what another program writes for these bytes on its standard input.
fn filtered(program: &str, bytes: &[u8]) -> Vec<u8> {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(bytes).unwrap();
    input.rewind().unwrap();
    let output = Command::new(program).arg("-c").stdin(input).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Returns the rows after one ingest of the complete files.
fn direct(files: &[(&str, &[u8])]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    for (name, bytes) in files {
        fs::write(run.join(name), bytes).unwrap();
    }
    assert_eq!(ingest(&[], &run).code, 0);
    rows(&run)
}

#[test]
fn a_growing_file_is_continued_wherever_it_was_cut() {
    let frames = frames(0, 5);
    let whole = frames.concat();
    let expected = direct(&[("a.tags.zst", &whole)]);
    let first = frames[0].len();
    let second = first + frames[1].len();
    // Before, at and after frame borders, in steps that end inside frames.
    for cuts in [
        vec![first, second],
        vec![first - 1, first + 1, second - 1],
        vec![first + 3, first + 4, whole.len() - 1],
        vec![1, 20, 3_000, 3_001, 6_000],
        vec![0, second],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = new_run(&folder);
        let path = run.join("a.tags.zst");
        let mut start = 0;
        for &cut in cuts.iter().chain([&whole.len()]) {
            append(&path, &whole[start..cut]);
            start = cut;
            let answer = coincidences("--window 1us --quiet", &run);
            let complete = frames
                .iter()
                .scan(0, |end, frame| {
                    *end += frame.len();
                    Some(*end)
                })
                .filter(|&end| end <= cut)
                .count();
            assert_eq!(answer["run"]["tags"], 500 * complete, "cut at {cut} of {cuts:?}");
        }
        assert!(rows(&run) == expected, "{cuts:?}");
        let info = info(&run);
        assert_eq!(info["sources"].as_array().unwrap().len(), 1);
        assert_eq!(info["sources"][0]["torn"], serde_json::Value::Null);
    }
}

#[test]
fn a_file_without_frames_grows_too() {
    let frames = frames(7, 3);
    let plain: Vec<Vec<u8>> =
        frames.iter().map(|frame| zstd::decode_all(&frame[..]).unwrap()).collect();
    let expected = direct(&[("a.tags", &plain.concat())]);
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let path = run.join("a.tags");
    append(&path, &plain[0]);
    assert_eq!(ingest(&[], &run).code, 0);
    append(&path, &plain[1][..100]);
    let torn = ingest(&[], &run);
    assert!(torn.stderr.contains("inside message"), "{}", torn.stderr);
    append(&path, &plain[1][100..]);
    append(&path, &plain[2]);
    assert_eq!(ingest(&[], &run).code, 0);
    assert!(rows(&run) == expected);
}

#[test]
fn a_file_that_moved_is_the_same_and_one_that_was_touched_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let frames = frames(0, 3);
    fs::write(run.join("a.tags.zst"), frames[..2].concat()).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    let before = rows(&run);
    fs::rename(run.join("a.tags.zst"), run.join("night.tags.zst")).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    assert!(rows(&run) == before);
    assert_eq!(info(&run)["sources"][0]["name"], "night.tags.zst");
    // A copy has another inode and time, and grows like the same file.
    let copy = folder.path().join("copy");
    fs::copy(run.join("night.tags.zst"), &copy).unwrap();
    File::options().write(true).open(&copy).unwrap().set_modified(SystemTime::now()).unwrap();
    fs::rename(copy, run.join("night.tags.zst")).unwrap();
    let commit = info(&run)["commit"].as_u64().unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    // One commit to record its current time.
    assert_eq!(info(&run)["commit"], commit + 1);
    assert_eq!(ingest(&[], &run).code, 0);
    assert_eq!(info(&run)["commit"], commit + 1);
    append(&run.join("night.tags.zst"), &frames[2]);
    assert_eq!(ingest(&[], &run).code, 0);
    assert!(rows(&run) == direct(&[("a.tags.zst", &frames.concat())]));
}

#[test]
fn a_file_that_changed_is_refused_until_everything_is_taken_anew() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let (old, new) = (frames(0, 2).concat(), frames(5, 3).concat());
    let path = run.join("a.tags.zst");
    fs::write(&path, &old).unwrap();
    assert_eq!(ingest(&["--tick", "4ps"], &run).code, 0);
    let before = rows(&run);
    fs::write(&path, &new).unwrap();
    let refused = ingest(&[], &run);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--rebuild"), "{}", refused.stderr);
    assert!(rows(&run) == before);
    assert_eq!(ingest(&["--rebuild"], &run).code, 0);
    assert!(rows(&run) == direct(&[("a.tags.zst", &new)]));
    // A tick set by the user stays, one commit later, and no old file is left.
    let info = info(&run);
    assert_eq!((&info["tick"], &info["commit"]), (&"4000000/1".into(), &2.into()));
    let names: Vec<_> = fs::read_dir(run.join(".tagq")).unwrap().collect();
    assert_eq!(names.len(), 9, "{names:?}");
    assert_eq!(coincidences("--window 2ns", &run)["run"]["commit"], 2);
}

#[test]
fn nothing_is_rebuilt_whose_source_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    fs::write(run.join("a.tags.zst"), frames(0, 1).concat()).unwrap();
    fs::write(run.join("b.tags.zst"), frames(10_000_000, 1).concat()).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    let before = rows(&run);
    fs::remove_file(run.join("a.tags.zst")).unwrap();
    let refused = ingest(&["--rebuild"], &run);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("a.tags.zst is gone"), "{}", refused.stderr);
    assert!(rows(&run) == before);
}

#[test]
fn a_counter_that_started_anew_is_put_behind_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    fs::write(run.join("1.tags.zst"), frames(1_000_000, 2).concat()).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    let second = frames(400, 3);
    let path = run.join("2.tags.zst");
    fs::write(&path, second[..2].concat()).unwrap();
    let refused = ingest(&[], &run);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--rebase"), "{}", refused.stderr);
    assert_eq!(ingest(&["--rebase"], &run).code, 0);
    // The first file ends at 1,000,000 + 999·1,000; 1 s is 6,400,000,000 ticks.
    let begins = 1_999_000 + 6_400_000_000_i64;
    let info = info(&run);
    assert_eq!(info["sources"][1]["time_first"], begins);
    assert_eq!(info["sources"][1]["rebased"], begins - 400);
    // It grows at the same place without another --rebase.
    append(&path, &second[2]);
    assert_eq!(ingest(&[], &run).code, 0);
    let moved = frames(begins, 3).concat();
    let expected =
        direct(&[("1.tags.zst", &frames(1_000_000, 2).concat()), ("2.tags.zst", &moved)]);
    assert!(rows(&run) == expected);
}

#[test]
fn a_late_tag_stops_its_source_and_not_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let path = run.join("a.tags.zst");
    fs::write(&path, frames(0, 2).concat()).unwrap();
    let before = coincidences("--window 1us", &run);
    append(&path, &frames(998_000, 1).concat());
    for _ in 0..2 {
        let answer = output(command().args(["coincidences", "--window", "1us"]).arg(&run));
        assert_eq!(answer.json()["rows"], before["rows"]);
        assert!(answer.stderr.contains("--rebuild"), "{}", answer.stderr);
    }
    assert_eq!(ingest(&["--rebuild"], &run).code, 0);
    assert_eq!(info(&run)["tags"], 1_500);
    // The tag at 998,000 comes after the one at 999,000, and the next one is equally late.
    assert_eq!(info(&run)["sources"][0]["reordered"], 1);
    let after = counts(&coincidences("--window 1us", &run))[0].2;
    assert!(after > counts(&before)[0].2);
}

/// The command that the refusal prints is pasted.
#[test]
fn a_folder_of_files_with_one_channel_each_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let mut expected = Vec::new();
    for channel in [1_u16, 2, 7] {
        let times: Vec<i64> = (0..200).map(|k| k * 1_003 + i64::from(channel) * 5).collect();
        let lines: Vec<String> = times.iter().map(i64::to_string).collect();
        fs::write(run.join(format!("ch{channel}.csv")), lines.join("\n") + "\n").unwrap();
        expected.extend(times.iter().map(|time| (*time, channel)));
    }
    expected.sort_unstable();
    let refused = output(command().args(["rates", "--tick", "80.955ps"]).arg(&run));
    assert_eq!(refused.code, 1);
    let pasted = refused.stderr.split('`').find(|part| part.starts_with("tagq merge")).unwrap();
    let words = pasted.split(' ').skip(1);
    let merged = output(command().args(words).current_dir(folder.path()));
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    let merged = folder.path().join("merged.tagq");
    assert_eq!(info(&merged)["tick"], "80955000/1");
    let listed = output(command().args(["cat", "-q"]).arg(&merged));
    let line = |(time, channel): &(i64, u16)| format!("{channel}\t{time}\n");
    assert_eq!(listed.text(), expected.iter().map(line).collect::<String>());
}

#[test]
fn a_torn_end_is_salvaged_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let path = run.join("a.tags.zst");
    let plain: Vec<u8> =
        frames(0, 2).iter().flat_map(|frame| zstd::decode_all(&frame[..]).unwrap()).collect();
    let path = path.with_file_name("a.tags");
    // 40 bytes are two and a half tags.
    fs::write(&path, &plain[..plain.len() - 40]).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    assert_eq!(info(&run)["tags"], 500);
    let salvaged = ingest(&["--salvage"], &run);
    assert_eq!(salvaged.code, 0, "{}", salvaged.stderr);
    assert_eq!(info(&run)["tags"], 997);
    let commit = info(&run)["commit"].clone();
    assert_eq!(ingest(&["--salvage"], &run).code, 0);
    assert_eq!(info(&run)["commit"], commit);
    append(&path, &plain[plain.len() - 40..]);
    let refused = ingest(&[], &run);
    assert!(refused.code == 1 && refused.stderr.contains("--rebuild"), "{}", refused.stderr);
}

/// Frames that do not end at message borders: tags ingested after the last common border must not be ingested
/// twice when the file grows.
#[test]
fn messages_that_end_inside_a_frame_are_not_taken_twice() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let path = run.join("a.tags.zst");
    // All at one time, so that no tag is late.
    let tags = [Tag { time: 77, channel: 1 }; 500];
    let mut encoder = Encoder::new(Vec::new());
    encoder.frame(500, [&tags[..]]).unwrap();
    let message = zstd::decode_all(&encoder.into_inner()[..]).unwrap();
    let plain = message.repeat(3);
    let parts: Vec<Vec<u8>> =
        plain.chunks(message.len() + 100).map(|part| zstd::encode_all(part, 3).unwrap()).collect();
    fs::write(&path, parts[..2].concat()).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    assert_eq!(info(&run)["tags"], 1_000);
    append(&path, &parts[2..].concat());
    // Reading starts again at the last common border and skips the rows that are already stored.
    assert_eq!(ingest(&[], &run).code, 0);
    assert_eq!(info(&run)["tags"], 1_500);
}

#[test]
fn verify_names_the_block_and_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let path = run.join("a.tags.zst");
    // Three blocks of 65,536 rows and a part of a fourth.
    fs::write(&path, frames(0, 440).concat()).unwrap();
    assert_eq!(ingest(&[], &run).code, 0);
    let verify = |args: &[&str]| output(command().arg("verify").args(args).arg(&run));
    let intact = verify(&["--sources"]);
    assert_eq!(intact.code, 0, "{}", intact.stderr);
    assert!(
        intact.text().ends_with(": intact: 4 blocks, 220,000 tags; 1 source unchanged\n"),
        "{}",
        intact.text()
    );
    let gaps = store_file(&run.join(".tagq"), "gap");
    let whole = fs::read(&gaps).unwrap();
    let mut bytes = whole.clone();
    bytes[4096 + 2 * (2 * 65_536 + 5)] ^= 4;
    fs::write(&gaps, &bytes).unwrap();
    let damaged = verify(&[]);
    assert_eq!(damaged.code, 3, "{}", damaged.stderr);
    assert!(damaged.stderr.contains("block 2 (rows 131072 to 196607)"), "{}", damaged.stderr);
    fs::write(&gaps, &whole).unwrap();
    assert_eq!(verify(&[]).code, 0);
    let mut source = fs::read(&path).unwrap();
    let middle = source.len() / 2;
    source[middle] ^= 1;
    // The same length and time, as on a faulty disk.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    tagq::store::os::write_all_at(&file, &source, 0).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(verify(&[]).code, 0);
    let changed = verify(&["--sources"]);
    assert_eq!(changed.code, 3, "{}", changed.stderr);
    assert!(changed.stderr.contains("a.tags.zst"), "{}", changed.stderr);
}

#[test]
fn what_the_recorder_noted_is_shown_and_held_against_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    fs::write(run.join("20220119T123501Z_a.tags.zst"), frames(0, 2).concat()).unwrap();
    // 1,000 tags, half of them on each channel; 999,000 ticks of 156.25 ps are 156.09375 µs.
    let noted = r#"{"description": "two detectors", "timestamp": "2022-01-19T12:35:01Z",
        "duration": 31219, "singles": [{"channel_counts": [1, 500]}, {"channel_counts": [2, 501]}],
        "channel_settings": [{"channel": 1, "delay": 26, "threshold": -0.5}]}"#;
    fs::write(run.join("20220119T123501Z_a.json"), noted).unwrap();
    let answer = output(command().args(["coincidences", "--window", "1us"]).arg(&run));
    assert_eq!(answer.code, 0);
    let note = "the recorder counted 501 tags on channel 2, the source has 500";
    assert!(answer.stderr.contains(note), "{}", answer.stderr);
    assert!(!answer.stderr.contains("channel 1"), "{}", answer.stderr);
    assert!(!answer.stderr.contains("tick right"), "{}", answer.stderr);

    let recorded = &info(&run)["sources"][0]["recorded"];
    assert_eq!(recorded["duration_s"], 31_219.0 * 5e-9);
    assert_eq!(recorded["differences"][0], note);
    let table = output(command().args(["info", "--format", "table"]).arg(&run));
    let table = String::from_utf8(table.stdout).unwrap();
    let line = "channel 1: rising edge, threshold -0.5 V, delay 26 ticks (applied by the recorder)";
    assert!(table.contains(line) && table.contains("two detectors"), "{table}");
    // Notes are shown, but never applied: the counts are the same without the file.
    fs::remove_file(run.join("20220119T123501Z_a.json")).unwrap();
    assert_eq!(coincidences("--window 1us", &run)["rows"], answer.json()["rows"]);
}

/// Sources in nested folders: names, growth, new folders, and links that lead around in a circle.
#[test]
#[cfg(unix)]
fn nested_folders_belong_to_a_run_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = new_run(&folder);
    let frames = frames(0, 4);
    let expected = direct(&[("a.tags.zst", &frames.concat())]);
    let names = |run: &Path| -> Vec<String> {
        let sources = info(run)["sources"].as_array().unwrap().clone();
        sources.iter().map(|source| source["name"].as_str().unwrap().to_owned()).collect()
    };
    let recursive = |command_args: &[&str]| {
        let answer = output(command().args(command_args).arg("--recursive").arg(&run));
        assert_eq!(answer.code, 0, "{command_args:?}: {}", answer.stderr);
        answer
    };
    for nested in ["day 1/morning", "day 10"] {
        fs::create_dir_all(run.join(nested)).unwrap();
    }
    symlink(&run, run.join("day 1/loop")).unwrap();
    append(&run.join("day 1/morning/1.tags.zst"), &frames[0]);
    append(&run.join("day 10/2.tags.zst"), &frames[1]);
    append(&run.join("day 10/2.tags.zst"), &frames[2][..20]);
    let flat = ingest(&[], &run);
    assert!(flat.code == 1 && flat.stderr.contains("no tags in this folder"), "{}", flat.stderr);
    assert!(recursive(&["ingest"]).stderr.contains("frame 2 begins at byte"));
    assert_eq!(names(&run), ["day 1/morning/1.tags.zst", "day 10/2.tags.zst"]);
    assert_eq!(info(&run)["tags"], 1_000);

    // A source grows, and there is another folder.
    append(&run.join("day 10/2.tags.zst"), &frames[2][20..]);
    let answer = recursive(&["coincidences", "--window", "1us", "--format", "json"]).json();
    assert_eq!(answer["run"]["tags"], 1_500);
    fs::create_dir(run.join("day 11")).unwrap();
    append(&run.join("day 11/3.tags.zst"), &frames[3]);
    recursive(&["ingest"]);
    assert!(rows(&run) == expected);
    let verified = recursive(&["verify", "--sources"]);
    assert!(verified.text().contains("; 3 sources unchanged\n"), "{}", verified.text());
    recursive(&["ingest", "--rebuild"]);
    assert!(rows(&run) == expected);
    // Without the option the rows stay.
    assert_eq!(ingest(&[], &run).code, 0);
    assert_eq!(info(&run)["tags"], 2_000);

    // A file that is written there would be a source, too.
    for args in [&["export", "-o"][..], &["coincidences", "--window", "1us", "-o"]] {
        let refused = |name: &str| output(command().args(args).arg(run.join(name)).arg(&run));
        let answer = refused("day 1/morning/out.csv");
        assert!(answer.stderr.contains("would be one of its sources"), "{}", answer.stderr);
        fs::create_dir_all(run.join(".hidden/folder")).unwrap();
        let answer = refused(".hidden/folder/out.csv");
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        fs::remove_dir_all(run.join(".hidden")).unwrap();
    }
    let converted = output(command().arg("convert").arg(&run).arg(run.join("day 10/a.csv")));
    assert!(converted.stderr.contains("would be one of its sources"), "{}", converted.stderr);

    // A source that moves to another folder is the same one.
    fs::rename(run.join("day 11/3.tags.zst"), run.join("day 1/3.tags.zst")).unwrap();
    recursive(&["ingest"]);
    assert_eq!(names(&run)[2], "day 1/3.tags.zst");
    assert!(rows(&run) == expected);
}

#[test]
#[cfg_attr(windows, ignore = "programs of Unix")]
fn files_of_other_compressors_grow_and_are_salvaged() {
    let frames = frames(0, 6);
    let plain: Vec<Vec<u8>> =
        frames.iter().map(|frame| zstd::decode_all(&frame[..]).unwrap()).collect();
    let expected = direct(&[("a.tags", &plain.concat())]);
    for (program, suffix, name) in
        [("gzip", "gz", "gzip member"), ("xz", "xz", "xz stream"), ("bzip2", "bz2", "bzip2 stream")]
    {
        let folder = tempfile::tempdir().unwrap();
        let run = new_run(&folder);
        let path = run.join(format!("a.tags.{suffix}"));
        let first = filtered(program, &plain[..2].concat());
        let second = filtered(program, &plain[2..].concat());
        append(&path, &first);
        append(&path, &second[..second.len() / 2]);
        let torn = ingest(&[], &run);
        let note = format!("the last {name} begins at byte {} and is not complete", first.len());
        assert!(torn.code == 0 && torn.stderr.contains(&note), "{}", torn.stderr);
        assert_eq!(info(&run)["tags"], 1_000);
        let converted = output(command().args(["cat", "-q"]).arg(&path));
        assert_eq!(converted.text().lines().count(), 1_000, "{}", converted.stderr);
        // A copy is salvaged.
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        assert_eq!(ingest(&["--salvage", "-q"], &copy).code, 0);
        let salvaged = rows(&folder.path().join("copy.tagq"));
        assert!(salvaged.len() > rows(&run).len() || program == "bzip2", "{program}");
        assert!(expected.starts_with(&salvaged), "{program}");

        append(&path, &second[second.len() / 2..]);
        assert_eq!(ingest(&[], &run).code, 0);
        assert!(rows(&run) == expected, "{program}");
        assert_eq!(info(&run)["sources"][0]["torn"], serde_json::Value::Null);
        let verified = output(command().args(["verify", "--sources"]).arg(&run));
        assert_eq!(verified.code, 0, "{}", verified.stderr);
        let input = File::open(&path).unwrap();
        let piped = command().args(["cat", "-q", "-"]).stdin(input).output().unwrap();
        assert!(piped.stdout == expected, "{program}");

        fs::write(&path, [&first[..], b"end of the recording"].concat()).unwrap();
        let refused = ingest(&["--rebuild"], &run);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("text that begins \"end \""), "{}", refused.stderr);
    }
}

/// Returns how often a file is opened while `run` runs.
#[cfg(target_os = "linux")]
fn opens_during(path: &Path, run: impl FnOnce()) -> usize {
    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};

    let events = init(CreateFlags::NONBLOCK).unwrap();
    // Each reading stands between two openings, because equal events that follow each other come as one.
    add_watch(&events, path, WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
    run();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(events, &mut buffer);
    let events = std::iter::from_fn(|| Some(reader.next().ok()?.events()));
    events.filter(|events| events.contains(ReadFlags::OPEN)).count()
}

/// Once to compare it with the store, and once to ingest it.
#[test]
#[cfg(target_os = "linux")]
fn a_file_is_opened_twice_to_ingest_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t2.ptu");
    fs::copy(crate::support::root().join("data/fixtures/picoquant/t2.ptu"), &path).unwrap();
    let ingest = || assert_eq!(ingest(&["-q"], &path).code, 0);
    assert_eq!(opens_during(&path, ingest), 2);
    assert_eq!(opens_during(&path, ingest), 0);
    // The counter overflows once more.
    append(&path, &0xfe00_0001_u32.to_le_bytes());
    assert_eq!(opens_during(&path, ingest), 2);
}

/// Returns a recording that began so many days after 1899-12-30, by a tag after the first 16 bytes of its header.
fn recorded_at(days: f64) -> Vec<u8> {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fixtures/picoquant/t2.ptu");
    let bytes = fs::read(fixture).unwrap();
    let mut tag = [0; 48];
    tag[..17].copy_from_slice(b"File_CreatingTime");
    tag[32..36].fill(0xff);
    tag[36..40].copy_from_slice(&0x2100_0008_u32.to_le_bytes());
    tag[40..].copy_from_slice(&days.to_le_bytes());
    [&bytes[..16], &tag, &bytes[16..]].concat()
}

#[test]
fn counters_that_begin_again_are_in_the_order_of_their_dates() {
    let folder = tempfile::tempdir().unwrap();
    // Noon of 2026-11-28, and minutes later.
    let at = |minutes: f64| recorded_at(46_354.5 + minutes / 1_440.0);
    for (name, minutes) in [("first.ptu", 28.0), ("last.ptu", 14.0), ("middle.ptu", 0.0)] {
        fs::write(folder.path().join(name), at(minutes)).unwrap();
    }
    let ingest = |args: &[&str]| {
        let files = ["--store", "all", "first.ptu", "last.ptu", "middle.ptu"];
        let ingest = ["ingest"].iter().chain(args).chain(&files);
        output(command().current_dir(folder.path()).args(ingest))
    };
    let refused = ingest(&[]);
    assert_eq!(refused.code, 1);
    let pasted = "`tagq ingest --rebase --store all first.ptu last.ptu middle.ptu`";
    assert!(refused.stderr.contains(pasted), "{}", refused.stderr);
    assert!(!folder.path().join("all").exists(), "a part of the files is no answer");
    let taken = ingest(&["--rebase"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    let order = "that of the dates in their headers: middle.ptu, last.ptu, first.ptu";
    assert!(taken.stderr.contains(order), "{}", taken.stderr);
    let store = info(&folder.path().join("all"));
    let sources = store["sources"].as_array().unwrap();
    let names: Vec<&str> = sources.iter().filter_map(|of| of["name"].as_str()).collect();
    assert_eq!(names, ["middle.ptu", "last.ptu", "first.ptu"]);
    // Without a date in all headers the order is the given one.
    fs::remove_dir_all(folder.path().join("all")).unwrap();
    fs::write(folder.path().join("last.ptu"), recorded_at(f64::NAN)).unwrap();
    let taken = ingest(&["--rebase"]);
    let order =
        "that in which they were given, because not all headers have a date: first.ptu, last.ptu";
    assert!(taken.stderr.contains(order), "{}", taken.stderr);
}

#[test]
fn a_bad_file_among_those_of_a_new_store_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("1.csv"), "1,10\n2,20\n").unwrap();
    fs::write(folder.path().join("2.csv"), "1,30\n2,40\nbad\n").unwrap();
    let files = ["ingest", "--tick", "1ps", "--store", "all", "1.csv", "2.csv"];
    let refused = output(command().current_dir(folder.path()).args(files));
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(!folder.path().join("all").exists());
}
