//! Changed sources, and files that are not sources: what is detected, and the error messages.

#[cfg(unix)]
use std::os::unix::{ffi::OsStrExt as _, fs::symlink};
use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tagq::store::{
    Creation, Tick, Writer,
    os::{mtime_ns, read_exact_at, write_all_at},
};

use crate::support::{Output, command, fixture_copy, output, root, skipped, tagq};

fn ask(run: &Path) -> Output {
    output(command().args(["coincidences", "--window", "2ns", "-q"]).arg(run))
}

fn info(run: &Path) -> serde_json::Value {
    tagq(["info".as_ref(), "--no-ingest".as_ref(), run.as_os_str()]).json()
}

fn verify(run: &Path) -> Output {
    output(command().args(["verify", "--sources"]).arg(run))
}

/// Writes a file of about 400 KB in frames without checksums, so that only its bytes reveal a change.
fn long_file(path: &Path) {
    let made = tagq([
        "simulate",
        "-q",
        "--frames",
        "9",
        "--rate",
        "50kHz",
        "--duration",
        "1s",
        "--seed",
        "7",
        path.to_str().unwrap(),
    ]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(fs::metadata(path).unwrap().len() > 200_000);
}

/// Moves the modification time of a file by one second.
fn touch(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.set_modified(time + Duration::from_secs(1)).unwrap();
}

/// Flips a bit in the middle of a file, more than 64 KiB from both ends.
fn change_in_the_middle(path: &Path) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    let mut byte = [0];
    read_exact_at(&file, &mut byte, middle).unwrap();
    write_all_at(&file, &[byte[0] ^ 1], middle).unwrap();
    touch(path);
}

#[test]
fn a_source_that_changed_in_the_middle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let path = run.join("a.tags.zst");
    long_file(&path);
    assert_eq!(ask(&run).code, 0);
    change_in_the_middle(&path);
    let refused = ask(&run);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    for word in ["a.tags.zst", "the same length, other bytes", "--rebuild"] {
        assert!(refused.stderr.contains(word), "no `{word}` in {}", refused.stderr);
    }
    // With the original bytes it is unchanged again.
    change_in_the_middle(&path);
    assert_eq!(ask(&run).code, 0);
}

#[test]
fn a_source_that_was_touched_is_compared_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tags.zst");
    long_file(&path);
    assert_eq!(ask(&path).code, 0);
    touch(&path);
    assert_eq!(ask(&path).code, 0);
    // Its new time is recorded in a separate commit, so that the file is not read again.
    assert_eq!(info(&path)["commit"], 2);
    assert_eq!(ask(&path).code, 0);
    assert_eq!(info(&path)["commit"], 2);
    // Another tagq holds the store: nothing is recorded, and the answer is the same.
    touch(&path);
    let lock = File::open(folder.path().join("a.tags.zst.tagq/lock")).unwrap();
    lock.lock().unwrap();
    let answer = ask(&path);
    assert_eq!((answer.code, &*answer.stderr), (0, ""));
    drop(lock);
    assert_eq!(info(&path)["commit"], 2);
    assert_eq!(ask(&path).code, 0);
    assert_eq!(info(&path)["commit"], 3);
    // Copied under another name, with another time: also in one commit.
    let copy = folder.path().join("run/b.tags.zst");
    fs::create_dir(folder.path().join("run")).unwrap();
    fs::copy(&path, &copy).unwrap();
    assert_eq!(ask(&folder.path().join("run")).code, 0);
    fs::rename(&copy, copy.with_file_name("c.tags.zst")).unwrap();
    touch(&copy.with_file_name("c.tags.zst"));
    for _ in 0..2 {
        assert_eq!(ask(&folder.path().join("run")).code, 0);
        let info = info(&folder.path().join("run"));
        assert_eq!(
            (&info["commit"], &info["sources"][0]["name"]),
            (&2.into(), &"c.tags.zst".into())
        );
    }
}

#[test]
fn a_source_that_grew_is_verified_to_the_last_byte_that_was_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tags.zst");
    long_file(&folder.path().join("whole.tags.zst"));
    let whole = fs::read(folder.path().join("whole.tags.zst")).unwrap();
    for part in 1..=5 {
        fs::write(&path, &whole[..whole.len() * part / 5]).unwrap();
        assert_eq!(ask(&path).code, 0);
    }
    assert!(info(&path)["commit"].as_u64().unwrap() > 1);
    let intact = verify(&path);
    assert!(intact.text().ends_with("; 1 source unchanged\n"), "{}", intact.text());
    // The torn end of a growing file is not ingested and not compared.
    change_in_the_middle(&path);
    let changed = verify(&path);
    assert_eq!(changed.code, 3, "{}", changed.stderr);
    assert!(changed.stderr.contains("a.tags.zst: damaged"), "{}", changed.stderr);
}

/// A file name that is not UTF-8, and a name equal to the escaped text of those bytes.
#[test]
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), ignore = "a name that is not UTF-8")]
fn no_two_files_have_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let fixture = root().join("data/fixtures/pairs");
    let names: [&[u8]; 3] = [b"\xff.tags.zst", br"\xff.tags.zst", br"\\xff.tags.zst"];
    for (i, name) in names.into_iter().enumerate() {
        let path = run.join(OsStr::from_bytes(name));
        if i == 2 {
            // Empty files have no bytes to compare.
            fs::write(path, "").unwrap();
        } else {
            fs::copy(fixture.join(format!("{}.tags.zst", i + 1)), path).unwrap();
        }
    }
    let first = ask(&run);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let second = ask(&run);
    assert_eq!((second.code, &second.stdout), (0, &first.stdout), "{}", second.stderr);
    let info = info(&run);
    let names: Vec<&str> =
        info["sources"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, [r"\xff.tags.zst", r"\\xff.tags.zst", r"\\\\xff.tags.zst"]);
    let verified = verify(&run);
    assert!(verified.text().ends_with("; 3 sources unchanged\n"), "{}", verified.text());
    assert_eq!(output(command().args(["ingest", "--rebuild", "-q"]).arg(&run)).code, 0);
}

#[test]
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), ignore = "a file that gives an I/O error")]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = ask(&run).stdout;
    // A folder inside is never a source, whatever its name.
    fs::create_dir(run.join("3.tags.zst")).unwrap();
    assert_eq!(ask(&run).stdout, expected);
    let odd = |name: &str, words: &[&str]| {
        let path = run.join(name);
        for named in [&run, &path] {
            let refused = ask(named);
            assert_eq!(refused.code, 1, "{name}: {}", refused.stderr);
            for word in words {
                assert!(refused.stderr.contains(word), "{name}: no `{word}` in {}", refused.stderr);
            }
        }
        assert!(!run.join(format!("{name}.tagq")).exists(), "{name}");
        fs::remove_file(path).unwrap();
    };
    symlink("loop.tags.zst", run.join("loop.tags.zst")).unwrap();
    // In the words of the C library.
    let is_loop = std::io::Error::from(rustix::io::Errno::LOOP).to_string();
    odd("loop.tags.zst", &["loop.tags.zst", &is_loop]);
    let mkfifo = |name: &str| Command::new("mkfifo").arg(run.join(name)).status();
    if mkfifo("pipe.tags.zst").is_ok_and(|status| status.success()) {
        odd("pipe.tags.zst", &["pipe.tags.zst", "pipe"]);
        // Next to a source, where a recorder writes its notes.
        assert!(mkfifo("1.json").unwrap().success());
        let noted = output(command().args(["ingest", "--rebuild"]).arg(&run));
        assert!(
            noted.code == 0 && noted.stderr.contains("1.json cannot be read (a pipe"),
            "{}",
            noted.stderr
        );
        fs::remove_file(run.join("1.json")).unwrap();
    } else {
        skipped("no mkfifo");
    }
    symlink("/dev/zero", run.join("zero.tags.zst")).unwrap();
    odd("zero.tags.zst", &["zero.tags.zst", "device"]);
    // An unreadable disk: the name looks like a file, and reading it gives an I/O error.
    symlink("/proc/self/mem", run.join("mem.tags.zst")).unwrap();
    odd("mem.tags.zst", &["mem.tags.zst", "cannot read", "os error 5"]);
    let answer = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    assert_eq!(answer(&ask(&run).stdout)["rows"], answer(&expected)["rows"]);
}

/// With few file descriptors a query gives the answer or an error that says so, and never panics.
#[test]
#[cfg_attr(windows, ignore = "a shell limits files")]
fn too_few_descriptors_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = ask(&run).stdout;
    let (mut refused, mut answered) = (0, 0);
    for limit in 4..40 {
        fs::remove_dir_all(run.join(".tagq")).unwrap_or_default();
        let limited = output(
            Command::new("sh")
                .arg("-c")
                .arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\""))
                .arg(env!("CARGO_BIN_EXE_tagq"))
                .args(["coincidences", "--window", "2ns", "-q", "--threads", "2"])
                .arg(&run),
        );
        match limited.code {
            0 => {
                assert_eq!(limited.stdout, expected, "{limit}");
                answered += 1;
            }
            // The system reports a program that cannot be loaded.
            127 => {}
            _ => {
                assert_eq!(limited.code, 1, "{limit}: {}", limited.stderr);
                let is_named = limited.stderr.contains("os error 24");
                assert!(is_named && !limited.stderr.contains("panicked"), "{}", limited.stderr);
                refused += 1;
            }
        }
        // Incomplete work is cleaned up or continued.
        if limit % 8 == 0 {
            assert_eq!(ask(&run).stdout, expected, "{limit}");
        }
    }
    assert!(refused > 3 && answered > 3, "{refused} refused, {answered} answered");
}

#[test]
fn files_of_other_programs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let here = |name: &str| folder.path().join(name);
    let refused = |path: &Path, words: &[&str]| {
        for args in [&["coincidences", "--window", "2ns"][..], &["cat"]] {
            let refused = output(command().args(args).arg(path));
            assert_eq!(refused.code, 1, "{}: {}", path.display(), refused.stderr);
            for word in words {
                assert!(refused.stderr.contains(word), "no `{word}` in {}", refused.stderr);
            }
        }
    };
    for (start, words) in [
        (&b"PQHISTO\x001.0.00\0\0"[..], &["histogram of PicoQuant", "counts and no tags"][..]),
        (b"SITT\x01\0\0\0", &["Time Tagger", "ttbin"]),
        (b"PK\x03\x04\x14\0\0\0", &["ZIP", "unzip -p"]),
        (b"\x04\x22\x4d\x18d@\xa7", &["lz4 -dc"]),
    ] {
        let path = here("other.tags");
        fs::write(&path, start).unwrap();
        refused(&path, words);
        // Compressed files are recognised by their decompressed content.
        fs::write(&path, zstd::encode_all(start, 3).unwrap()).unwrap();
        refused(&path, &[words, &["in Zstandard frames"]].concat());
        assert!(!here("other.tags.tagq").exists());
    }
    // Tables, in which a footer says where the columns stand.
    for (name, words) in [("a.parquet", "a Parquet file"), ("a.arrow", "an Arrow file")] {
        let made = output(command().args(["export", "-q", "-o"]).arg(here(name)).arg(&run));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let packed = here("packed.zst");
        fs::write(&packed, zstd::encode_all(&fs::read(here(name)).unwrap()[..], 3).unwrap())
            .unwrap();
        refused(&packed, &[words, "in Zstandard frames", "zstd -dc"]);
    }
}

/// An untrusted store can contain any source names. A query on the store alone opens no source, and creates,
/// changes or reads nothing next to one.
#[test]
fn a_store_alone_reads_none_of_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    let (home, away) = (folder.path().join("home"), folder.path().join("away"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&away).unwrap();
    let (source, store) = (away.join("20220119T123501Z_a.tags.zst"), home.join("night.tagq"));
    fs::copy(root().join("data/fixtures/pairs/1.tags.zst"), &source).unwrap();
    // Ingested with its full path, with a recorder's note next to it.
    fs::write(away.join("20220119T123501Z_a.json"), r#"{"description": "a secret"}"#).unwrap();
    let made = output(command().args(["ingest", "-q", "--store"]).arg(&store).arg(&source));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let before = listing(&away);
    let all = output(command().args(["info", "-q"]).arg(&store));
    assert!(!all.text().contains("secret"), "{}", all.text());
    assert_eq!(ask(&store).code, 0);
    // If the user names the source, its note is read.
    let named = output(command().args(["info", "-q", "--store"]).arg(&store).arg(&source));
    assert!(named.text().contains("secret"), "{}{}", named.text(), named.stderr);
    assert_eq!(listing(&away), before);
}

fn listing(folder: &Path) -> Vec<(PathBuf, u64, i64)> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            (entry.path(), metadata.len(), mtime_ns(&metadata))
        })
        .collect();
    names.sort();
    names
}

/// The manifest says where the files are that were ingested by `--store`.
#[test]
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), ignore = "a name that is not UTF-8")]
fn the_sources_of_a_store_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let (away, store) = (here("away"), here("home/night.tagq"));
    fs::create_dir_all(here("home")).unwrap();
    fs::create_dir(&away).unwrap();
    // Beside the store and elsewhere; one has a backslash, one is not UTF-8.
    let sources = [here("home/a\\b.tags.zst"), away.join(OsStr::from_bytes(b"\xff.tags.zst"))];
    for (number, source) in sources.iter().enumerate() {
        fs::copy(root().join(format!("data/fixtures/pairs/{}.tags.zst", number + 1)), source)
            .unwrap();
    }
    let made = output(command().args(["ingest", "-q", "--store"]).arg(&store).args(&sources));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let verified = verify(&store);
    assert!(verified.text().ends_with("; 2 sources unchanged\n"), "{}", verified.text());
    change_in_the_middle(&sources[1]);
    let changed = verify(&store);
    assert_eq!(changed.code, 3, "{}", changed.stderr);
    fs::remove_file(&sources[1]).unwrap();
    let verified = verify(&store);
    assert!(
        verified.text().contains("; 1 source unchanged, 1 not compared"),
        "{}",
        verified.text()
    );
}

/// Older versions did not escape backslashes in names.
#[test]
#[cfg_attr(windows, ignore = "a backslash is no letter of a name")]
fn names_of_older_stores_find_their_sources() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let fixture = root().join("data/fixtures/pairs/1.tags.zst");
    fs::copy(fixture, run.join(r"a\b.tags.zst")).unwrap();
    // Without any byte to recognise it by.
    fs::write(run.join(r"c\d.tags.zst"), "").unwrap();
    let expected = ask(&run).stdout;
    let store = run.join(".tagq");
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let rename = |names: [(&str, &str); 2]| {
        let mut writer = Writer::open(&store, &creation).unwrap();
        for (from, to) in names {
            writer.rename_source(from, to);
        }
        writer.commit().unwrap();
    };
    rename([(r"a\\b.tags.zst", r"a\b.tags.zst"), (r"c\\d.tags.zst", r"c\d.tags.zst")]);
    let verified = verify(&run);
    assert!(verified.text().ends_with("; 2 sources unchanged\n"), "{}", verified.text());
    assert_eq!(output(command().args(["ingest", "--rebuild", "-q"]).arg(&run)).code, 0);
    rename([(r"a\\b.tags.zst", r"a\b.tags.zst"), (r"c\\d.tags.zst", r"c\d.tags.zst")]);
    let answer = ask(&run);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    let rows = |answer: &[u8]| serde_json::from_slice::<serde_json::Value>(answer).unwrap();
    assert_eq!(rows(&answer.stdout)["rows"], rows(&expected)["rows"]);
    let info = info(&run);
    let names: Vec<&str> =
        info["sources"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, [r"a\\b.tags.zst", r"c\\d.tags.zst"]);
}
