//! The file of dead spans: the spans that are read are those that were given, in whatever steps they were committed.

use std::{fs, path::Path};

use tagq_store::{Access, Manifest, Recording, SourceFacts, Store, Writer};

use crate::creation;

type Spans = Vec<(i64, i64)>;

/// Returns so many spans, one in every ten ticks.
fn spans(count: i64) -> Spans {
    (0..count).map(|i| (10 * i + 1, 10 * i + 4)).collect()
}

fn facts(dead: &Spans) -> SourceFacts {
    let recording = Recording { dead: dead.clone(), ..Recording::default() };
    SourceFacts { recording: Some(recording), ..SourceFacts::named("a source") }
}

/// Adds a source from a time on, or goes on with the last one, and commits.
fn commit(writer: &mut Writer, is_new: bool, times: &[i64], dead: &Spans) {
    if is_new {
        writer.begin_source();
    } else {
        writer.continue_source().unwrap();
    }
    writer.append(times, &vec![1; times.len()]).unwrap();
    writer.finish_source(facts(dead));
    writer.commit().unwrap();
}

fn manifest(folder: &Path) -> Manifest {
    Manifest::read(folder).unwrap().unwrap()
}

fn check(folder: &Path, expected: &[&Spans], has_file: bool) {
    let manifest = manifest(folder);
    let found = manifest.sources.iter().map(|of| &of.facts.recording.as_ref().unwrap().dead);
    assert!(found.eq(expected.iter().copied()));
    for access in [Access::Mapped, Access::Copied] {
        let store = Store::open(folder, access).unwrap();
        assert!(store.manifest().sources == manifest.sources);
    }
    let text = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let text: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text["files"]["dead"].is_object(), has_file);
    let listed = |source: &serde_json::Value| source["recording"]["dead"].as_array().unwrap().len();
    let listed: usize = text["sources"].as_array().unwrap().iter().map(listed).sum();
    let all: usize = expected.iter().map(|spans| spans.len()).sum();
    assert_eq!(listed, if has_file { expected.len() } else { all });
    assert_eq!(text["version"], if has_file { 4 } else { 1 });
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("dead")).collect();
    names.sort();
    names
}

#[test]
fn many_spans_of_growing_sources_come_back() {
    for reopens in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let mut writer = Writer::open(at, &creation()).unwrap();
        let mut all = spans(4_097);
        commit(&mut writer, true, &[0, 1], &all);
        check(at, &[&all], false);
        let earlier = manifest(at);
        // One more, and the end of the last one moves.
        for (count, times) in [(4_098, [50_000, 50_001]), (70_000, [800_000, 900_000])] {
            if reopens {
                drop(writer);
                writer = Writer::open(at, &creation()).unwrap();
            }
            all.last_mut().unwrap().1 += 1;
            all.extend(&spans(count)[all.len()..]);
            commit(&mut writer, false, &times, &all);
            check(at, &[&all], true);
        }
        assert_eq!(names(at), ["dead.2.idx"]);
        let others = spans(9);
        commit(&mut writer, true, &[1_000_000], &others);
        check(at, &[&all, &others], true);
        commit(&mut writer, true, &[1_000_001], &Spans::new());
        let without = manifest(at);
        assert_eq!(without.sources.len(), 3);
        // A copy of the first rows lists its spans itself.
        let first = Store::open(at, Access::Copied).unwrap().first_rows(3).unwrap();
        assert!(serde_json::to_value(&first).unwrap()["files"]["dead"].is_null());
        assert!(first.sources[0].dead() == manifest(at).sources[0].dead()[..5_000]);
        for of in [&earlier, &first, &without] {
            let opened =
                Store::open_prefix(at, of, Access::Copied, &(i64::MIN..=i64::MAX)).unwrap();
            assert!(opened.manifest().sources == of.sources);
        }
    }
}

#[test]
fn spans_that_changed_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut writer = Writer::open(at, &creation()).unwrap();
    let mut all = spans(5_000);
    commit(&mut writer, true, &[0, 60_000], &all);
    assert_eq!(names(at), ["dead.1.idx"]);
    all[7].1 += 1;
    commit(&mut writer, false, &[60_001], &all);
    check(at, &[&all], true);
    assert_eq!(names(at), ["dead.2.idx"]);
    // A rebuilt store has the file if it needs it.
    drop(writer);
    let mut writer = Writer::open_for_rebuild(at, &creation()).unwrap();
    commit(&mut writer, true, &[0], &spans(3));
    let text = fs::read_to_string(at.join("manifest.json")).unwrap();
    assert!(!text.contains("dead_in_file") && names(at).is_empty());
    assert!(manifest(at).sources[0].facts.recording.as_ref().unwrap().dead == spans(3));
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut writer = Writer::open(at, &creation()).unwrap();
    commit(&mut writer, true, &[0, 60_000], &spans(5_000));
    drop(writer);
    let path = at.join("dead.1.idx");
    let bytes = fs::read(&path).unwrap();
    for byte in [0, 5, 4_096, 4_096 + 16 * 2_000 + 3, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 0x10;
        fs::write(&path, damaged).unwrap();
        let error = Store::open(at, Access::Mapped).unwrap_err();
        // Without its first bytes it is no file of a store.
        assert_eq!(error.is_damage(), byte > 7, "{byte}: {error}");
        assert!(error.to_string().contains("dead.1.idx"), "{byte}: {error}");
    }
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(Store::open(at, Access::Mapped).unwrap_err().is_damage());
    fs::remove_file(&path).unwrap();
    let error = Store::open(at, Access::Mapped).unwrap_err().to_string();
    assert!(error.contains("dead.1.idx"), "{error}");
    // Bytes of a writer that did not finish.
    fs::write(&path, [&bytes[..], &[7; 40]].concat()).unwrap();
    drop(Writer::open(at, &creation()).unwrap());
    assert_eq!(fs::read(&path).unwrap(), bytes);
}
