//! The committed inputs of the fuzzer, one after the other.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::{fs, panic, path::Path};

/// Each input of the target's corpus, none of which may be missing.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(target);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for path in inputs {
        let input = fs::read(&path).unwrap();
        let held = panic::catch_unwind(|| check(&input));
        assert!(held.is_ok(), "{} breaks what must hold, as said above", path.display());
    }
}

#[test]
fn bodies() {
    replay("bodies", tagq_checks::bodies);
}

#[test]
fn messages() {
    replay("messages", tagq_checks::messages);
}

#[test]
fn questions() {
    replay("questions", tagq_checks::questions);
}

#[test]
fn sources() {
    replay("sources", tagq_checks::sources);
}

#[test]
fn stores() {
    replay("stores", tagq_checks::stores);
}

#[test]
fn durations() {
    replay("durations", tagq_checks::durations);
}

#[test]
fn partials() {
    replay("partials", tagq_checks::partials);
}

#[test]
fn instruments() {
    replay("instruments", tagq_checks::instruments);
}

#[test]
fn tables() {
    replay("tables", tagq_checks::tables);
}
