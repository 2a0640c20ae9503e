//! The list of runs in a folder.

#[cfg(unix)]
use std::os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _};
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use serde_json::Value;

#[cfg(unix)]
use crate::support::command_as_nobody;
use crate::support::{Place, fixture_copy, output};

/// 2026-11-15 in UTC.
const DAY: u64 = 20_772 * 86_400;

/// A folder with four runs: a folder of sources with a new source, a source with its own store, a store whose source is gone,
/// and a folder that was never ingested. Each ended a day after the one before.
fn lab() -> Place {
    let lab = Place::new();
    let fixture = fixture_copy(&lab.path(""));
    let copy = |from: &str, to: &str, day: u64| {
        let to = lab.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture.join(from), &to).unwrap();
        let ended = SystemTime::UNIX_EPOCH + Duration::from_secs(DAY + day * 86_400);
        fs::File::options().write(true).open(&to).unwrap().set_modified(ended).unwrap();
    };
    copy("1.tags.zst", "lab/bell/1.tags.zst", 0);
    copy("1.tags.zst", "lab/raw/night/x.tags.zst", 1);
    copy("1.tags.zst", "gone.tags.zst", 2);
    copy("2.tags.zst", "lab/bell2/2.tags.zst", 3);
    for ingest in ["lab/bell", "lab/raw/night/x.tags.zst", "--store lab/raw/old.tagq gone.tags.zst"]
    {
        lab.done(&format!("ingest --tick 156.25ps {ingest}"));
    }
    lab.done("name lab/bell 1=alice");
    fs::remove_file(lab.path("gone.tags.zst")).unwrap();
    copy("2.tags.zst", "lab/bell/2.tags.zst", 0);
    // Neither hidden folders nor links to folders are looked into.
    fs::create_dir(lab.path("lab/.git")).unwrap();
    fs::copy(fixture.join("1.tags.zst"), lab.path("lab/.git/1.tags.zst")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&fixture, lab.path("lab/linked")).unwrap();
    lab
}

/// Returns the names that are listed, and their states.
fn listed(lab: &Place, line: &str) -> Vec<(String, String)> {
    let listed = lab.done(&format!("runs lab {line} --format json")).json();
    // Paths have the separators of the system.
    let text = |value: &Value| value.as_str().unwrap().replace('\\', "/");
    let runs = listed["runs"].as_array().unwrap().iter();
    runs.map(|run| (text(&run["name"]), text(&run["state"]))).collect()
}

#[test]
fn runs_are_found_with_what_their_manifests_say() {
    let lab = lab();
    let expected = [
        ("bell", "new data"),
        ("bell2", "not ingested"),
        ("raw/night/x.tags.zst", "ingested"),
        ("raw/old.tagq", "ingested"),
    ];
    let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
    assert_eq!(listed(&lab, ""), expected);
    let all = lab.done("runs lab --format json").json();
    let [bell, bell2, ..] = &all["runs"].as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!(bell["facts"]["channels"][0]["name"], "alice");
    assert_eq!(
        bell["facts"]["tags"],
        lab.done("rates lab/raw/old.tagq --format json").json()["run"]["tags"]
    );
    assert_eq!((&bell2["facts"], &bell2["ended"]), (&Value::Null, &"2026-11-18T00:00:00Z".into()));
    // Nothing was ingested, and nothing was written.
    assert!(!lab.path("lab/bell2/.tagq").exists());
    let table = lab.done("runs lab --format table");
    assert!(table.text().contains("alice,2,3,4") && table.text().contains("2026-11-15 00:00:00"));
    let csv = lab.done("runs lab --format csv");
    let csv = csv.text().replace('\\', "/");
    assert!(csv.contains("\nbell2,lab/bell2,not ingested,2026-11-18T00:00:00Z,,,,,,,\n"));
    // The folder itself may be a run.
    assert_eq!(lab.done("runs lab/bell --paths").text().replace('\\', "/"), "lab/bell\n");
    assert_eq!(lab.tagq("runs absent").code, 1);
}

#[test]
fn runs_are_chosen_by_date_and_name() {
    let lab = lab();
    let names = |line: &str| -> Vec<String> {
        listed(&lab, line).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names("--since 2026-11-17"), ["bell2", "raw/old.tagq"]);
    assert_eq!(names("--until 2026-11-17T00:00"), ["bell", "raw/night/x.tags.zst"]);
    assert_eq!(
        names("--since 2026-11-16 --until 2026-11-18"),
        ["raw/night/x.tags.zst", "raw/old.tagq"]
    );
    assert_eq!(names("--name bell*"), ["bell", "bell2"]);
    assert_eq!(names("--name nothing"), Vec::<String>::new());
    let paths = lab.done("runs lab --name bell? --paths");
    assert_eq!(paths.text().replace('\\', "/"), "lab/bell2\n");
    assert_eq!(lab.tagq("runs lab --since yesterday").code, 2);
}

#[test]
fn a_damaged_store_is_listed_with_its_fault() {
    let lab = lab();
    let manifest = lab.path("lab/bell/.tagq/manifest.json");
    let text = fs::read(&manifest).unwrap();
    fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    assert_eq!(listed(&lab, "--name bell"), [("bell".to_owned(), "unreadable".to_owned())]);
    assert!(lab.done("runs lab --format table").text().contains("manifest.json: damaged"));
    assert!(Path::new(&manifest).exists());
}

#[test]
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), ignore = "a name that is not UTF-8")]
fn what_cannot_be_read_or_shown_is_named_and_the_others_are_listed() {
    let lab = lab();
    let before = listed(&lab, "");
    let strange = lab.path("lab").join(OsStr::from_bytes(b"odd \xff\xc3\xb6"));
    fs::create_dir(&strange).unwrap();
    fs::copy(lab.path("lab/bell2/2.tags.zst"), strange.join("1.tags.zst")).unwrap();
    // A folder whose path is longer than the 4,096 bytes of PATH_MAX: 25 names of 200 bytes, made one in the other.
    let deep = "mkdir lab/deep && cd lab/deep && for i in $(seq 25); do mkdir $1 && cd -P $1; done";
    let mut bash = Command::new("bash");
    bash.args(["-c", deep, "bash", &"d".repeat(200)]).current_dir(lab.path("")).status().unwrap();
    let locked = lab.path("lab/locked");
    fs::create_dir(&locked).unwrap();
    for (folder, mode) in [(&lab.path(""), 0o755), (&locked, 0o000)] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    // In the words of the C library.
    let is_long = std::io::Error::from(rustix::io::Errno::NAMETOOLONG).to_string();
    for format in ["json", "csv", "table"] {
        let listed = format!("runs lab --format {format}");
        let mut command = command_as_nobody();
        let listed = output(command.args(listed.split_whitespace()).current_dir(lab.path("")));
        assert_eq!(listed.code, 0, "{}", listed.stderr);
        for note in ["lab/locked: cannot list this folder: Permission denied", &is_long] {
            assert!(listed.stderr.contains(note), "{format}, {note}: {}", listed.stderr);
        }
        let name = if format == "json" { "odd \\\\xff\u{f6}" } else { "odd \\xff\u{f6}" };
        assert!(listed.text().contains(name), "{}", listed.text());
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    let listed = listed(&lab, "");
    assert_eq!(listed.len(), before.len() + 1, "{listed:?}");
    assert!(before.iter().all(|run| listed.contains(run)), "{listed:?}");
    // The paths are as the file system has them.
    let paths = lab.done("runs lab --paths").stdout;
    assert!(paths.split(|&byte| byte == b'\n').any(|path| path == b"lab/odd \xff\xc3\xb6"));
}
