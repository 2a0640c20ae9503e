//! Untrusted run folders, with links, pipes and devices in place of store files. Nothing outside the folder
//! is read, written or removed, and no command blocks on a pipe.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Output, coincidences, command, fixture_copy, output, tagq};

/// The files that a new store begins with: their names have no number.
const FIRST_FILES: [&str; 4] = ["time.col", "channel.col", "blocks.idx", "counts.idx"];
/// The files of a store that was committed once.
const STORE_FILES: [&str; 7] = [
    "channel.col",
    "blocks.idx",
    "counts.idx",
    "gap.1.col",
    "gaps.1.idx",
    "far.1.col",
    "steps.1.idx",
];
const PRECIOUS: &[u8] = b"the only copy of a thesis";

/// Ends a program after a minute: an alarm stays when Perl becomes that program.
const LIMITED: [&str; 2] = ["-e", "alarm 60; exec @ARGV"];

/// Runs `tagq` with a time limit, because it could block on a pipe.
fn limited(args: &str, run: &Path) -> Output {
    let mut command = Command::new("perl");
    let command = command.args(LIMITED).arg(env!("CARGO_BIN_EXE_tagq"));
    output(command.args(args.split_whitespace()).arg(run))
}

/// Runs a query that must fail with an error that contains `name` and `what`.
fn refused(run: &Path, name: &str, what: &str) {
    for args in ["coincidences --window 2ns", "coincidences --window 2ns --no-ingest"] {
        let refused = limited(args, run);
        assert_eq!(refused.code, 1, "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains(name), "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains(what), "{name}: {}", refused.stderr);
    }
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Creates a fixture run with a store, and a folder outside the run.
fn run_and_outside(folder: &Path) -> (PathBuf, PathBuf) {
    let run = fixture_copy(folder);
    coincidences("--window 2ns", &run);
    let outside = folder.join("outside");
    fs::create_dir(&outside).unwrap();
    (run, outside)
}

fn bytes_in(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn a_link_in_place_of_a_new_file_is_refused() {
    for name in FIRST_FILES.into_iter().chain(["lock", "manifest.json.new"]) {
        let folder = tempfile::tempdir().unwrap();
        let run = fixture_copy(folder.path());
        let precious = folder.path().join("precious");
        for is_there in [true, false] {
            if is_there {
                fs::write(&precious, PRECIOUS).unwrap();
            } else {
                fs::remove_file(&precious).unwrap();
            }
            drop(fs::remove_dir_all(run.join(".tagq")));
            fs::create_dir(run.join(".tagq")).unwrap();
            symlink(&precious, run.join(".tagq").join(name)).unwrap();
            let refused = limited("coincidences --window 2ns", &run);
            assert_eq!(refused.code, 1, "{name}: {}", refused.stderr);
            assert!(refused.stderr.contains("a symbolic link"), "{}", refused.stderr);
            assert!(refused.stderr.contains(&format!(".tagq/{name}:")), "{}", refused.stderr);
            assert_eq!(fs::read(&precious).ok(), is_there.then(|| PRECIOUS.to_vec()), "{name}");
        }
    }
}

#[test]
fn a_link_in_place_of_a_committed_file_is_not_followed() {
    for name in STORE_FILES.into_iter().chain(["manifest.json"]) {
        let folder = tempfile::tempdir().unwrap();
        let (run, outside) = run_and_outside(folder.path());
        let file = run.join(".tagq").join(name);
        fs::rename(&file, outside.join(name)).unwrap();
        symlink(outside.join(name), &file).unwrap();
        let before = bytes_in(&outside);
        refused(&run, &format!(".tagq/{name}"), "a symbolic link");
        // New data, so that there is something to write.
        fs::remove_file(run.join("2.tags.zst")).unwrap();
        fs::copy(run.join("1.tags.zst"), run.join("3.tags.zst")).unwrap();
        assert_ne!(limited("ingest", &run).code, 0);
        assert_ne!(limited("ingest --rebuild", &run).code, 0);
        assert!(bytes_in(&outside) == before, "{name}");
    }
}

#[test]
fn pipes_devices_and_folders_in_place_of_files_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (run, _) = run_and_outside(folder.path());
    for name in STORE_FILES.into_iter().chain(["manifest.json"]) {
        let file = run.join(".tagq").join(name);
        let aside = folder.path().join(name);
        fs::rename(&file, &aside).unwrap();
        pipe(&file);
        refused(&run, &format!(".tagq/{name}"), "a pipe");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        refused(&run, &format!(".tagq/{name}"), "a folder");
        fs::remove_dir(&file).unwrap();
        symlink("/dev/zero", &file).unwrap();
        refused(&run, &format!(".tagq/{name}"), "a symbolic link");
        fs::remove_file(&file).unwrap();
        fs::rename(aside, file).unwrap();
    }
    // Only writers open the lock.
    fs::remove_file(run.join(".tagq/lock")).unwrap();
    pipe(&run.join(".tagq/lock"));
    let ingest = limited("ingest --rebuild", &run);
    assert_eq!(ingest.code, 1, "{}", ingest.stderr);
    assert!(ingest.stderr.contains("lock: a pipe"), "{}", ingest.stderr);
}

#[test]
fn a_setup_or_a_run_file_that_is_no_plain_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let setup = run.join("tagq.toml");
    pipe(&setup);
    refused(&run, "tagq.toml", "a pipe");
    fs::remove_file(&setup).unwrap();
    symlink("/dev/zero", &setup).unwrap();
    refused(&run, "tagq.toml", "a device");
    fs::remove_file(&setup).unwrap();
    // Unreadable recorder notes do not stop an ingest.
    pipe(&run.join("1.json"));
    // A sparse file of 3 GiB.
    File::create(run.join("2.json")).unwrap().set_len(3 << 30).unwrap();
    let answer = limited("coincidences --window 2ns", &run);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("1.json cannot be read (a pipe"), "{}", answer.stderr);
    assert!(answer.stderr.contains("2.json cannot be read (3221225472 bytes"), "{}", answer.stderr);
    assert_eq!(limited("info", &run).code, 0);
}

#[test]
fn a_setup_that_is_named_may_be_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let mut shell = Command::new("sh");
    let line = "printf \"tick = '4ps'\" | perl \"$@\"";
    shell.args(["-c", line, "sh"]).args(LIMITED).arg(env!("CARGO_BIN_EXE_tagq"));
    let asked = ["info", "--format", "json", "--setup", "/dev/stdin"];
    let answer = shell.args(asked).arg(&run).output().unwrap();
    let info: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(info["tick"], "4000000/1");
}

#[test]
fn a_store_folder_that_is_a_link_is_followed_only_where_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, run.join(".tagq")).unwrap();
    refused(&run, ".tagq", "a symbolic link");
    assert!(bytes_in(&elsewhere).is_empty());
    let named = format!("--window 2ns --store {}", run.join(".tagq").display());
    let answer = coincidences(&named, &run);
    // Now the link leads to a store, and is still not followed from the run.
    refused(&run, ".tagq", "--store");
    assert_eq!(coincidences("--window 2ns", &run.join(".tagq"))["rows"], answer["rows"]);

    let source = run.join("1.tags.zst");
    symlink(&elsewhere, run.join("1.tags.zst.tagq")).unwrap();
    refused(&source, "1.tags.zst.tagq", "a symbolic link");
}

#[test]
fn a_run_that_a_link_leads_to_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let link = folder.path().join("link");
    symlink(&run, &link).unwrap();
    let by_link = coincidences("--window 2ns", &link);
    assert!(run.join(".tagq/manifest.json").is_file());
    // The same for a run whose sources are links.
    let linked = folder.path().join("linked");
    fs::create_dir(&linked).unwrap();
    for name in ["1.tags.zst", "2.tags.zst"] {
        symlink(run.join(name), linked.join(name)).unwrap();
    }
    assert_eq!(coincidences("--window 2ns", &linked)["rows"], by_link["rows"]);
    assert!(linked.join(".tagq/manifest.json").is_file());
}

#[test]
fn a_cache_that_is_left_does_not_refuse_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::create_dir_all(run.join(".tagq/cache")).unwrap();
    fs::write(run.join(".tagq/cache/0123456789abcdef"), "torn").unwrap();
    coincidences("--window 2ns", &run);
    // Other folders are still foreign.
    fs::remove_dir_all(run.join(".tagq")).unwrap();
    fs::create_dir_all(run.join(".tagq/photos")).unwrap();
    let refused = limited("coincidences --window 2ns", &run);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("it holds `photos`"), "{}", refused.stderr);
}

#[test]
fn a_file_of_another_store_is_refused_before_anything_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (run, outside) = run_and_outside(folder.path());
    // Another run, with longer columns.
    let other = outside.join("other");
    fs::create_dir(&other).unwrap();
    let tags = outside.join("other/1.tags.zst");
    let made = output(command().args(["simulate", "--duration", "1s"]).arg(&tags));
    assert_eq!(made.code, 0, "{}", made.stderr);
    coincidences("--window 2ns", &other);
    fs::remove_file(run.join("2.tags.zst")).unwrap();
    let store = run.join(".tagq");
    for name in STORE_FILES {
        let kept = bytes_in(&store);
        fs::copy(other.join(".tagq").join(name), store.join(name)).unwrap();
        // Remains of an unfinished writer, among the other files.
        for rest in STORE_FILES.into_iter().filter(|rest| *rest != name) {
            let file = File::options().write(true).open(store.join(rest)).unwrap();
            file.set_len(file.metadata().unwrap().len() + 1_000).unwrap();
        }
        let before = bytes_in(&store);
        let ingest = limited("ingest --rebuild", &run);
        assert_ne!(ingest.code, 0, "{name}");
        fs::copy(run.join("1.tags.zst"), run.join("3.tags.zst")).unwrap();
        let query = limited("ingest", &run);
        assert_eq!(query.code, 3, "{name}: {}", query.stderr);
        assert!(query.stderr.contains("the run that it belongs to"), "{}", query.stderr);
        fs::remove_file(run.join("3.tags.zst")).unwrap();
        assert!(bytes_in(&store) == before, "{name}: something was cut or written");
        for (path, bytes) in kept {
            fs::write(path, bytes).unwrap();
        }
    }
}

#[test]
fn a_linked_setup_is_written_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let setup = folder.path().join("bench.toml");
    fs::write(&setup, "# of all runs\n[channels]\n3 = 'Alice'\n").unwrap();
    symlink(&setup, run.join("tagq.toml")).unwrap();
    let named = tagq(["name".as_ref(), run.as_os_str(), "15=Bob".as_ref()]);
    assert_eq!(named.code, 0, "{}", named.stderr);
    let text = fs::read_to_string(&setup).unwrap();
    assert!(text.starts_with("# of all runs") && text.contains("15 = \"Bob\""), "{text}");
    assert!(run.join("tagq.toml").is_symlink());
}

#[test]
fn what_a_killed_tagq_left_is_named_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let (run, _) = run_and_outside(folder.path());
    let store = run.join(".tagq");
    // Files as left by a killed rebuild, append and export.
    fs::write(store.join("time.9.col"), [7; 5_000]).unwrap();
    let column = File::options().write(true).open(store.join("channel.col")).unwrap();
    column.set_len(column.metadata().unwrap().len() + 77).unwrap();
    fs::write(run.join(".tagq-aB3xyz.part"), [7; 300]).unwrap();
    let is_debris = |name: &str| store.join(name).exists() || run.join(name).exists();
    let info = limited("info --no-ingest --format json", &run).json();
    let left = |path: PathBuf, bytes: u64| serde_json::json!({"path": path, "bytes": bytes});
    assert_eq!(
        info["leftovers"],
        serde_json::json!([
            left(store.join("channel.col"), 77),
            left(store.join("time.9.col"), 5_000),
            left(run.join(".tagq-aB3xyz.part"), 300),
        ])
    );
    let verify = limited("verify", &run);
    assert_eq!(verify.code, 0, "{}", verify.stderr);
    for said in ["5,000 bytes in", "time.9.col", "77 bytes in", ".tagq-aB3xyz.part"] {
        assert!(verify.stderr.contains(said), "{said}: {}", verify.stderr);
    }
    assert!(limited("info --no-ingest --format table", &run).text().contains("left over"));
    // Cleanup happens even without new data.
    assert_eq!(limited("ingest", &run).code, 0);
    assert!(!is_debris("time.9.col"));
    let out = run.join("answer.json");
    let query = format!("coincidences --window 2ns --output {}", out.display());
    assert_eq!(limited(&query, &run).code, 0);
    assert!(!is_debris(".tagq-aB3xyz.part"));
    let info = limited("info --format json", &run).json();
    assert_eq!(info["leftovers"], serde_json::json!([]));
    assert!(!limited("info --format table", &run).text().contains("left over"));
}

#[test]
fn a_manifest_from_somebody_else_leads_to_no_file_outside() {
    let folder = tempfile::tempdir().unwrap();
    let (run, outside) = run_and_outside(folder.path());
    let manifest = run.join(".tagq/manifest.json");
    let forge = |from: &str, to: &str| {
        let text = fs::read_to_string(&manifest).unwrap();
        let body = text.split_once("  \"crc32c\"").unwrap().0.replace(from, to);
        assert!(body.contains(to));
        let crc = crc32c::crc32c(body.as_bytes());
        fs::write(&manifest, format!("{body}  \"crc32c\": \"{crc:08x}\"\n}}\n")).unwrap();
    };
    let before = fs::read_to_string(&manifest).unwrap();
    fs::rename(run.join(".tagq/channel.col"), outside.join("channel.col")).unwrap();
    for name in
        ["../../outside/channel.col", "/etc/passwd", "lock", "manifest.json", "channel..col"]
    {
        forge("\"name\":\"channel.col\"", &format!("\"name\":\"{name}\""));
        let refused = limited("coincidences --window 2ns --no-ingest", &run);
        assert_eq!(refused.code, 3, "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains("a file name"), "{name}: {}", refused.stderr);
        fs::write(&manifest, &before).unwrap();
    }
    fs::rename(outside.join("channel.col"), run.join(".tagq/channel.col")).unwrap();
    // Recorder notes are read only next to a source, not through a link.
    fs::write(outside.join("1.json"), r#"{"description": "not for you"}"#).unwrap();
    forge("\"name\":\"1.tags.zst\"", "\"name\":\"../outside/1.tags.zst\"");
    let info = limited("info --no-ingest", &run);
    assert_eq!(info.code, 0, "{}", info.stderr);
    assert!(!info.text().contains("not for you"));
}
