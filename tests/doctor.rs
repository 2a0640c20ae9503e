//! `tagq doctor`: the facts that an issue needs, and no secrets.

use crate::support::{command, output, skipped, tagq};

#[test]
fn it_shows_what_an_issue_needs_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let mut ask = command();
    ask.arg("doctor").current_dir(folder.path());
    ask.env("USER", "zebra-user").env("TAGQ_TOKEN", "zebra-token").env("TERM", "dumb");
    let said = output(&mut ask);
    assert_eq!((said.code, &*said.stderr), (0, ""));
    let facts = said.text().lines().filter(|line| !line.starts_with("! "));
    let names: Vec<&str> = facts.filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    let expected = [
        "tagq",
        "stores",
        "system",
        "processor",
        "memory",
        "folder",
        "temporary files",
        "terminal",
        "environment",
    ];
    assert_eq!(names, expected, "{}", said.text());
    let version = format!("tagq: {}, ", env!("CARGO_PKG_VERSION"));
    for part in [&*version, " free of ", " available of ", "TERM=dumb", "TAGQ_TOKEN is set"] {
        assert!(said.text().contains(part), "{part}: {}", said.text());
    }
    assert!(!said.text().contains("zebra"), "{}", said.text());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Files in memory, and those on a network, are not those of the disk around them.
#[test]
fn the_file_system_is_that_of_the_folder() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = "/dev/shm";
    if !mounts.contains(&format!(" {folder} tmpfs ")) {
        return skipped("no folder is in memory");
    }
    let said = tagq(["doctor", folder]);
    assert!(said.text().contains("\nfolder: tmpfs, "), "{folder}: {}", said.text());
}

#[test]
fn a_path_that_is_not_there_is_an_error() {
    let said = tagq(["doctor", "nowhere"]);
    assert_ne!(said.code, 0);
    assert!(said.stderr.contains("nowhere"), "{}", said.stderr);
}
