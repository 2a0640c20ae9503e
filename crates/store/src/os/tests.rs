//! The same tests for every system.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    thread,
};

use super::{DirEntry, EntryKind, Open, system};

#[test]
fn threads_read_and_write_at_places_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
    thread::scope(|scope| {
        for of in 0..4_u8 {
            let file = &file;
            scope.spawn(move || {
                for at in (u64::from(of)..4_000).step_by(4) {
                    assert_eq!(system::write_at(file, &[of; 3], 3 * at).unwrap(), 3);
                }
            });
        }
    });
    assert_eq!(file.metadata().unwrap().len(), 12_000);
    let mut bytes = [9; 6];
    assert_eq!(system::read_at(&file, &mut bytes, 3 * 4_001 - 6).unwrap(), 3);
    assert_eq!(bytes, [3, 3, 3, 9, 9, 9]);
    assert_eq!(system::read_at(&file, &mut bytes, 3 * 18).unwrap(), 6);
    assert_eq!(bytes, [2, 2, 2, 3, 3, 3]);
}

#[test]
fn entries_are_opened_by_their_names_and_links_are_not_followed() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(around.path().join("outside"), "secret").unwrap();
    let dir = system::Dir::open(&folder).unwrap();
    dir.open_entry("new", Open::New).unwrap().write_all(b"abc").unwrap();
    let taken = dir.open_entry("new", Open::New).unwrap_err();
    let is_taken = [io::ErrorKind::AlreadyExists, io::ErrorKind::InvalidInput];
    assert!(is_taken.contains(&taken.kind()) || taken.raw_os_error().is_some());
    let gone = dir.open_entry("gone", Open::Write).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    dir.open_entry("made", Open::OrCreate).unwrap();
    dir.make_folder("inner").unwrap();
    dir.open_folder("inner").unwrap();
    assert!(dir.open_folder("new").is_err());
    dir.rename("new", "made").unwrap();
    let mut text = String::new();
    let mut file = dir.open_entry("made", Open::Read).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "abc");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside", folder.join("link")).unwrap();
        assert_eq!(dir.kind_of("link").unwrap(), EntryKind::LINK);
        for how in [Open::Read, Open::Write, Open::OrCreate, Open::New] {
            assert!(dir.open_entry("link", how).is_err(), "{how:?}");
        }
        assert!(dir.open_folder("link").is_err());
        dir.remove("link").unwrap();
        assert!(around.path().join("outside").exists());
    }
    let mut entries = dir.entries(&|name| name != "unwanted").unwrap();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let seen = |of: &DirEntry| (of.name.clone(), of.kind);
    let seen: Vec<(String, EntryKind)> = entries.iter().map(seen).collect();
    assert_eq!(seen, [("inner".into(), EntryKind::FOLDER), ("made".into(), EntryKind::FILE)]);
    assert_eq!(entries[1].len, 3);
    // On Windows a name may go only when its file is closed.
    drop(file);
    dir.remove("made").unwrap();
    dir.sync().unwrap();
    assert!(!folder.join("made").exists());
    assert!(system::Dir::open(&around.path().join("outside")).is_err());
}

#[test]
fn files_are_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "a").unwrap();
    assert!(system::are_same(&a, &folder.path().join(".").join("a")));
    assert!(!system::are_same(&a, &b) && !system::are_same(&a, &folder.path().join("none")));
    #[cfg(unix)]
    {
        // Nobody writes to the pipe, and nothing waits for it.
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(system::are_same(&pipe, &pipe) && !system::are_same(&a, &pipe));
    }
    let metadata = fs::metadata(&a).unwrap();
    assert_eq!(system::kind_of(&metadata), EntryKind::FILE);
    let file = File::open(&a).unwrap();
    let times = fs::FileTimes::new();
    let set = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_500);
    OpenOptions::new().write(true).open(&a).unwrap().set_times(times.set_modified(set)).unwrap();
    assert_eq!(system::mtime_ns(&file.metadata().unwrap()), 1_500_000_000);
    assert!(!system::is_removed(&file).unwrap());
    assert_eq!(system::path_of_name(b"a/b".to_vec()), Some("a/b".into()));
    assert!(system::open_at_once(&a).is_ok());
}

#[test]
fn a_new_name_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["file", "other"] {
        fs::write(at(name), name).unwrap();
    }
    for name in ["folder", "full"] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("inside"), name).unwrap();
    }
    for (from, to) in [("file", "other"), ("file", "full"), ("folder", "file"), ("folder", "full")]
    {
        let refused = system::rename_new(&at(from), &at(to)).unwrap_err();
        let is_taken = [
            io::ErrorKind::AlreadyExists,
            io::ErrorKind::DirectoryNotEmpty,
            io::ErrorKind::NotADirectory,
        ];
        assert!(is_taken.contains(&refused.kind()), "{from} to {to}: {refused}");
    }
    assert_eq!(fs::read(at("other")).unwrap(), b"other");
    assert_eq!(fs::read(at("full").join("inside")).unwrap(), b"full");
    // Longer than programs on Windows could name.
    let deep = at(&"d".repeat(120)).join("e".repeat(120));
    fs::create_dir_all(&deep).unwrap();
    system::rename_new(&at("file"), &deep.join("f".repeat(60))).unwrap();
    system::rename_new(&at("folder"), &deep.join("g".repeat(60))).unwrap();
    assert_eq!(fs::read(deep.join("f".repeat(60))).unwrap(), b"file");
    assert_eq!(fs::read(deep.join("g".repeat(60)).join("inside")).unwrap(), b"folder");
    assert!(!at("file").exists() && !at("folder").exists());
}

#[test]
fn names_that_lead_to_devices_and_servers_are_not_followed() {
    let names = [r"\\.\PhysicalDrive0", "//server/share/a.ptu", r"\\?\UNC\server\share\a.ptu"];
    for name in names {
        let path = system::path_of_name(name.as_bytes().to_vec());
        // Elsewhere these are names like others.
        assert_eq!(path.is_none(), cfg!(windows), "{name}");
    }
    assert!(system::path_of_name(br"C:/run/a.ptu".to_vec()).is_some());
    assert!(system::path_of_name(br"\\?\C:\run\a.ptu".to_vec()).is_some());
}

#[test]
fn a_file_is_set_aside_and_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut aside = system::SetAside::create_in(folder.path()).unwrap();
    aside.file().write_all(b"tags").unwrap();
    assert_eq!(fs::read(aside.path()).unwrap(), b"tags");
    drop(aside);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
