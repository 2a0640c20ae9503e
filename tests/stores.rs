//! Runs and their stores: where they are, what is ingested, and when a query does not write.

#[cfg(unix)]
use std::os::unix::{ffi::OsStringExt as _, fs::PermissionsExt as _};
use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::Stdio,
};

use serde_json::Value;
use tagq_sampling::some_requests;

#[cfg(unix)]
use crate::support::command_as_nobody;
use crate::{
    cases,
    support::{
        Output, coincidences, command, fixture_copy, full_disk, output, root, store_file, tagq,
    },
};

fn info(run: &Path) -> Value {
    tagq(["info".as_ref(), run.as_os_str()]).json()
}

#[test]
fn a_folder_a_file_and_a_store_are_runs() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let of_folder = coincidences("--window 2ns", &run);
    assert!(run.join(".tagq/manifest.json").is_file());
    let of_store = coincidences("--window 2ns", &run.join(".tagq"));
    assert_eq!(of_folder["rows"], of_store["rows"]);
    let file = run.join("1.tags.zst");
    let of_file = coincidences("--window 2ns", &file);
    assert!(run.join("1.tags.zst.tagq/manifest.json").is_file());
    assert_eq!(of_file["run"]["sources"], 1);
    // The store next to the file is not a source of the folder.
    assert_eq!(coincidences("--window 2ns", &run)["run"]["commit"], 1);
    let elsewhere = folder.path().join("elsewhere");
    let args = format!("--window 2ns --store {}", elsewhere.display());
    assert_eq!(coincidences(&args, &run)["rows"], of_folder["rows"]);
    assert!(elsewhere.join("manifest.json").is_file());
}

#[test]
fn new_files_are_taken_in_by_the_next_query() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let second = run.join("2.tags.zst");
    let aside = folder.path().join("2.tags.zst");
    fs::rename(&second, &aside).unwrap();
    let first = coincidences("--window 2ns", &run);
    fs::rename(&aside, &second).unwrap();
    let without = coincidences("--window 2ns --no-ingest", &run);
    assert_eq!(first["rows"], without["rows"]);
    let both = coincidences("--window 2ns", &run);
    assert_eq!((&both["run"]["sources"], &both["run"]["commit"]), (&2.into(), &2.into()));
    let direct = tempfile::tempdir().unwrap();
    let at_once = coincidences("--window 2ns", &fixture_copy(direct.path()));
    assert_eq!(both["rows"], at_once["rows"]);
    // The same rows, after one commit or two.
    for key in ["gap", "far", "steps", "channel"] {
        let stores = [direct.path().join("run/.tagq"), run.join(".tagq")];
        let [at_once, one_by_one] = stores.map(|store| fs::read(store_file(&store, key)).unwrap());
        assert!(at_once[4096..] == one_by_one[4096..], "{key}");
    }
    // A source that is gone keeps its rows.
    fs::remove_file(&second).unwrap();
    assert_eq!(coincidences("--window 2ns", &run)["rows"], both["rows"]);
}

#[test]
fn a_changed_file_stops_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    coincidences("--window 2ns", &run);
    let path = run.join("1.tags.zst");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let refused = output(command().args(["coincidences", "--window", "2ns"]).arg(&run));
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("changed since it was ingested"), "{}", refused.stderr);
}

#[test]
fn files_that_overlap_in_time_stop_the_query_and_leave_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::copy(run.join("1.tags.zst"), run.join("1b.tags.zst")).unwrap();
    let refused = output(command().args(["coincidences", "--window", "2ns"]).arg(&run));
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("before the end of 1.tags.zst"), "{}", refused.stderr);
    // A part of the files would answer as the whole.
    assert!(!run.join(".tagq").exists());
    fs::remove_file(run.join("1b.tags.zst")).unwrap();
    assert_eq!(coincidences("--window 2ns", &run)["run"]["sources"], 2);
}

#[test]
fn several_files_make_one_run_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let store = folder.path().join("night.tagq");
    let made = output(
        command()
            .args(["ingest", "--tick", "4ps", "--store"])
            .arg(&store)
            .args([run.join("2.tags.zst"), run.join("1.tags.zst")]),
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let info = info(&store);
    assert_eq!((&info["tick"], &info["tick_assumed"]), (&"4000000/1".into(), &false.into()));
    assert_eq!(info["sources"].as_array().unwrap().len(), 2);
    assert!(info["sources"][0]["name"].as_str().unwrap().ends_with("run/1.tags.zst"));
}

#[test]
fn a_tick_given_to_a_query_is_not_kept_and_one_given_to_ingest_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    assert_eq!(coincidences("--window 2ns", &run)["query"]["window_ticks"], 12);
    // 2 ns / 4 ps, and then 2 ns / 156.25 ps again.
    let given = coincidences("--window 2ns --tick 4ps", &run);
    assert_eq!(given["query"]["window_ticks"], 500);
    assert_eq!(given["run"]["tick_assumed"], false);
    let without = coincidences("--window 2ns", &run);
    assert_eq!(
        (&without["query"]["window_ticks"], &without["run"]["tick_assumed"]),
        (&12.into(), &true.into())
    );
    // An ingest keeps it.
    assert_eq!(output(command().args(["ingest", "--tick", "4ps"]).arg(&run)).code, 0);
    assert_eq!(coincidences("--window 2ns", &run)["query"]["window_ticks"], 500);
    let other =
        output(command().args(["coincidences", "--window", "2ns", "--tick", "5ps"]).arg(&run));
    assert_eq!(other.json()["query"]["window_ticks"], 400);
    assert!(
        other.stderr.contains("tick 5 ps in place of 4 ps, for this query alone"),
        "{}",
        other.stderr
    );
    assert!(other.stderr.contains("`tagq set --tick 5ps "), "{}", other.stderr);
    assert_eq!(coincidences("--window 2ns", &run)["query"]["window_ticks"], 500);
    let kept = output(command().args(["ingest", "--tick", "5ps"]).arg(&run));
    assert_eq!(kept.code, 2, "{}", kept.stderr);
    assert!(kept.stderr.contains("tagq set"), "{}", kept.stderr);
    assert_eq!(output(command().arg("set").arg(&run).args(["--tick", "1/3ps"])).code, 0);
    let third = coincidences("--window 2ns", &run);
    // 2000 ps in thirds.
    assert_eq!(third["query"]["window_ticks"], 6_000);
    assert_eq!(third["run"]["tick"], "1000000/3");
}

#[test]
fn while_another_writes_a_query_answers_from_the_last_commit_and_an_ingest_exits_4() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let second = run.join("2.tags.zst");
    let aside = folder.path().join("2.tags.zst");
    fs::rename(&second, &aside).unwrap();
    let first = coincidences("--window 2ns", &run);
    fs::rename(&aside, &second).unwrap();
    let lock = File::open(run.join(".tagq/lock")).unwrap();
    lock.lock().unwrap();
    let query = output(command().args(["coincidences", "--window", "2ns"]).arg(&run));
    assert_eq!(query.json()["rows"], first["rows"]);
    assert!(query.stderr.contains("left out: 2.tags.zst"), "{}", query.stderr);
    let ingest = output(command().arg("ingest").arg(&run));
    assert_eq!(ingest.code, 4, "{}", ingest.stderr);
    // A process that another test is about to start may hold a copy of the descriptor.
    let unlocked = lock.unlock();
    // Wine unlocks it and gives an error.
    assert!(cfg!(windows) || unlocked.is_ok());
    assert_eq!(coincidences("--window 2ns", &run)["run"]["sources"], 2);
}

#[test]
#[cfg(unix)]
fn a_query_needs_no_write_access_once_something_is_ingested() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let as_nobody = |args: &[&str]| output(command_as_nobody().args(args).arg(&run));
    for path in [folder.path(), &run] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
    }
    let none = as_nobody(&["coincidences", "--window", "2ns"]);
    assert_eq!(none.code, 1, "{}", none.stderr);
    assert!(none.stderr.contains("--store"), "{}", none.stderr);
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    let whole = coincidences("--window 2ns", &run);
    fs::set_permissions(&run, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(run.join(".tagq"), fs::Permissions::from_mode(0o555)).unwrap();
    let answer = as_nobody(&["coincidences", "--window", "2ns"]);
    assert_eq!(answer.json()["rows"], whole["rows"]);
    // A --tick given here applies only to this answer.
    let with_tick = as_nobody(&["coincidences", "--window", "2ns", "--tick", "4ps"]);
    assert_eq!(with_tick.json()["query"]["window_ticks"], 500, "{}", with_tick.stderr);
    for path in [folder.path(), &run, &run.join(".tagq")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert_eq!(info(&run)["tick_assumed"], true);
}

/// A word with brackets is a name, also where the program itself expands patterns because the shell does not.
#[test]
fn a_name_with_brackets_is_no_pattern() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        let from = root().join("data/fixtures/pairs").join(from);
        fs::copy(from, folder.path().join(to)).unwrap();
    };
    copy("1.tags.zst", "run1.tags.zst");
    copy("2.tags.zst", "run[1].tags.zst");
    let asked = |name: &str| tagq(["rates".as_ref(), folder.path().join(name).as_os_str()]).json();
    let (one, other) = (asked("run1.tags.zst"), asked("run[1].tags.zst"));
    assert_ne!(one["rows"], other["rows"]);
    assert!(other["run"]["path"].as_str().unwrap().contains("run[1]"), "{other}");
    if cfg!(windows) {
        assert_eq!(asked("run?.tags.zst")["rows"], one["rows"]);
    }
}

#[test]
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), ignore = "a name that is not UTF-8")]
fn names_may_be_anything() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let strange = std::ffi::OsString::from_vec(b"new\nline \xff \".tags.zst".to_vec());
    fs::rename(run.join("1.tags.zst"), run.join(&strange)).unwrap();
    let expected = coincidences("--window 2ns", &run);
    assert_eq!(expected["run"]["sources"], 2);
    assert_eq!(coincidences("--window 2ns", &run)["run"]["commit"], 1);
    let alone = coincidences("--window 2ns", &run.join(&strange));
    assert_eq!(alone["run"]["tags"], 9_543);
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn a_reader_that_has_seen_enough_is_no_error_and_a_full_disk_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let mut child = command()
        .arg("cat")
        .arg(&run)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let closed = child.wait_with_output().unwrap();
    assert_eq!(closed.status.code(), Some(0));
    for args in [&["cat"][..], &["coincidences", "--window", "2ns"]] {
        let Some(full) = full_disk() else { return };
        let refused = command().args(args).arg(&run).stdout(full).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn a_torn_tail_is_left_out_with_a_note_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let path = run.join("2.tags.zst");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    for _ in 0..2 {
        let answer = output(command().args(["coincidences", "--window", "2ns"]).arg(&run));
        // 9,543 tags and three of four frames of the second file.
        let tags = answer.json()["run"]["tags"].as_u64().unwrap();
        assert!((15_000..18_500).contains(&tags), "{tags}");
        assert!(answer.stderr.contains("frame 4 begins at byte"), "{}", answer.stderr);
    }
    assert!(info(&run)["sources"][1]["torn"].as_str().unwrap().contains("not complete"));
}

#[test]
fn a_plain_file_cut_inside_a_message_keeps_the_messages_before() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let plain = folder.path().join("2.tags");
    let mut decoder =
        zstd::stream::Decoder::new(File::open(run.join("2.tags.zst")).unwrap()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).unwrap();
    fs::write(&plain, &bytes).unwrap();
    let whole = coincidences("--window 2ns", &plain);
    assert_eq!(whole["rows"], coincidences("--window 2ns", &run.join("2.tags.zst"))["rows"]);
    let cut = folder.path().join("cut.tags");
    File::create(&cut).unwrap().write_all(&bytes[..bytes.len() - 8]).unwrap();
    let answer = output(command().args(["coincidences", "--window", "2ns"]).arg(&cut));
    let tags = answer.json()["run"]["tags"].as_u64().unwrap();
    assert!((6_000..9_000).contains(&tags), "{tags}");
    assert!(answer.stderr.contains("inside message 4"), "{}", answer.stderr);
}

/// Makes and drops columns of a store: the arguments of `tagq set`, and the columns that the store has then.
const CHANGES: [(&str, &[&str]); 7] = [
    ("--times off", &["channel", "micro", "gap", "far", "steps"]),
    ("--times on", &["time", "channel", "micro", "gap"]),
    ("--times on --gaps off", &["time", "channel", "micro"]),
    ("--times off --gaps on", &["channel", "micro", "gap", "far", "steps"]),
    ("--gaps on", &["channel", "micro", "gap", "far", "steps"]),
    ("--times on --gaps off", &["time", "channel", "micro"]),
    ("--gaps on", &["time", "channel", "micro", "gap"]),
];

fn set(changes: &str, run: &Path) -> Output {
    output(command().arg("set").args(changes.split(' ')).arg(run))
}

#[test]
fn no_answer_depends_on_the_columns_of_times_and_gaps() {
    let folder = tempfile::tempdir().unwrap();
    cases::make(folder.path());
    let run = folder.path().join("run.tagq");
    let ask = |cache: &[&str]| -> Vec<(Value, Value)> {
        let answers = some_requests(tagq::cases()).into_iter().map(|(name, options)| {
            let words = cases::words(name, &options);
            let asked = output(command().args(&words).args(cache).arg("--json").arg(&run));
            assert_eq!(asked.code, 0, "{words:?}: {}", asked.stderr);
            let answer = asked.json();
            // The rows that were counted, by their chain.
            (answer["rows"].clone(), answer["provenance"].clone())
        });
        answers.collect()
    };
    let before = ask(&["--no-cache"]);
    for (changes, columns) in CHANGES {
        let changed = set(changes, &run);
        assert_eq!(changed.code, 0, "{changes}: {}", changed.stderr);
        assert_eq!(info(&run)["columns"], serde_json::json!(columns), "{changes}");
        let verified = output(command().args(["verify", "-q"]).arg(&run));
        assert_eq!(verified.code, 0, "{changes}: {}", verified.stderr);
    }
    for changes in ["--times off", "--times on"] {
        assert_eq!(set(changes, &run).code, 0);
        assert!(ask(&["--no-cache"]) == before, "{changes}");
    }
    assert_eq!(set("--times off", &run).code, 0);
    assert!(ask(&[]) == before);
}

#[test]
fn a_change_of_columns_says_their_bytes_and_refuses_contradictions() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let ingested = output(command().args(["ingest", "-q"]).arg(&run));
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    // 8 bytes for each of 19,350 tags.
    let made = set("--times on", &run);
    assert_eq!((made.code, made.text()), (0, ""));
    assert!(made.stderr.contains("writes 154.8 kB of new columns"), "{}", made.stderr);
    let sizes = made.stderr.lines().last().unwrap();
    assert!(sizes.contains(" kB before, ") && sizes.ends_with(" kB now"), "{sizes}");
    // Nothing to do, nothing to say.
    let again = set("--times on", &run);
    assert_eq!((again.code, &*again.stderr), (0, ""));
    // At most 4 bytes for each tag.
    let dropped = set("--times off", &run);
    assert!(dropped.stderr.contains("writes up to 77.4 kB"), "{}", dropped.stderr);
    let refused = set("--times off --gaps off", &run);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let refused = set("--gaps off", &run);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("--times on"), "{}", refused.stderr);
    // Damaged times are not replaced by what they give, and damaged gaps give no times.
    for (layout, key, other) in
        [("--times on", "time", "--times off"), ("--times off", "gap", "--times on")]
    {
        assert_eq!(set(layout, &run).code, 0);
        let file = store_file(&run.join(".tagq"), key);
        let whole = fs::read(&file).unwrap();
        let mut bytes = whole.clone();
        bytes[4096 + 1_000] ^= 1;
        fs::write(&file, bytes).unwrap();
        let refused = set(other, &run);
        assert_eq!(refused.code, 3, "{other}: {}", refused.stderr);
        assert!(file.exists(), "{other}");
        fs::write(&file, &whole).unwrap();
        let verified = output(command().args(["verify", "-q"]).arg(&run));
        assert_eq!(verified.code, 0, "{other}: {}", verified.stderr);
    }
}

#[test]
fn queries_run_while_columns_are_made_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = coincidences("--window 2ns", &run)["rows"].clone();
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            for times in ["on", "off"].repeat(10) {
                let changed = set(&format!("--times {times}"), &run);
                assert_eq!(changed.code, 0, "{}", changed.stderr);
            }
        });
        while !changing.is_finished() {
            let rows = coincidences("--window 2ns --no-cache --no-ingest", &run)["rows"].clone();
            assert_eq!(rows, expected);
        }
    });
}

/// If damage disturbs the order of rows, no answer is correct, but the query must end.
#[test]
fn rows_out_of_order_are_damage_and_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    assert_eq!(output(command().args(["ingest", "-q", "--no-gaps"]).arg(&run)).code, 0);
    let column = run.join(".tagq/time.col");
    let whole = fs::read(&column).unwrap();
    for (row, time) in [(40, i64::MAX), (9_000, i64::MIN), (77, -1), (18_000, 0), (5, i64::MAX / 2)]
    {
        let mut bytes = whole.clone();
        bytes[4096 + 8 * row..][..8].copy_from_slice(&time.to_le_bytes());
        fs::write(&column, bytes).unwrap();
        for query in [
            "coincidences --window 2ns",
            "coincidences --window 1ms",
            "coincidences --window 1us --group 1,2,3 --delay 2=5us",
            "coincidences --window 1us --group 1,2 --rule once --veto 3",
            "coincidences --window 1us --rule cluster",
            "coincidences --window 13t --rule grid",
            "coincidences --window 1us --rule herald --choose 3",
            "histogram --start 1 --stop 2 --g2",
            "histogram --start 1 --stop 2 --range 1ms --bin 1us",
            "histogram --start 1 --stop 2 --mode next --range 0t..100t",
            "rates --bin 10ms",
        ] {
            let args = query.split(' ').chain(["--no-ingest"]);
            let asked = output(command().args(args).arg(&run));
            // Rates read few times.
            let codes = if query.starts_with("rates") { &[0, 3][..] } else { &[3] };
            assert!(codes.contains(&asked.code), "{row}: {query}: {}", asked.stderr);
            assert!(!asked.stderr.contains("panicked"), "{query}: {}", asked.stderr);
            assert!(asked.code == 0 || asked.stderr.contains("time.col"), "{}", asked.stderr);
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn an_ingest_that_fails_leaves_no_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let store = folder.path().join("new.tagq");
    let source = run.join("1.tags.zst");
    let ingest = || {
        // Files of at most 8 KiB, as on a full disk.
        let script = "ulimit -f 8; exec \"$@\"";
        let mut command = std::process::Command::new("bash");
        command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_tagq"), "ingest", "--store"]);
        output(command.arg(&store).arg(&source))
    };
    let full = ingest();
    assert_eq!(full.code, 1, "{}", full.stderr);
    assert!(full.stderr.contains("File too large"), "{}", full.stderr);
    assert!(!store.exists());
    // A folder of the user stays, without the files of the store.
    fs::create_dir(&store).unwrap();
    assert_eq!(ingest().code, 1);
    assert_eq!(fs::read_dir(&store).unwrap().count(), 0);
    fs::remove_dir(&store).unwrap();
    let args = ["ingest".as_ref(), "--store".as_ref(), store.as_os_str(), source.as_os_str()];
    assert_eq!(tagq(args).code, 0);
}
