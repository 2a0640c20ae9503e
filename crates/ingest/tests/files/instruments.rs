//! Files of instruments: read, grown and real.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tagq_ingest::{Error, Settings, SourcePart, ingest, read_tags};
use tagq_store::{Access, Creation, RunId, SourceFacts, Store, Tag, Writer};
use tempfile::TempDir;

/// Returns all tags of a file.
pub fn read_all(path: &Path, settings: &Settings) -> Result<Vec<Tag>, Error> {
    let mut all = Vec::new();
    read_tags(path, settings, |tags| {
        all.extend_from_slice(tags);
        Ok(())
    })?;
    Ok(all)
}

/// Which records belong one period of the counter earlier: each has the overflows before it and its counter, `None` for
/// one without and for a blank one. docs/sources.md states the rule.
pub fn early(records: &[(i128, Option<i128>)], period: i128) -> Vec<bool> {
    let is_above = |one: i128, other: i128| one > other + period / 2;
    let mut early = vec![false; records.len()];
    let mut begun = None;
    for (at, &(overflows, counter)) in records.iter().enumerate() {
        if overflows > 0 {
            begun = Some(at);
        }
        let (Some(begun), Some(counter), true) = (begun, counter, overflows == 0) else { continue };
        let near = at.saturating_sub(8);
        let counters: Vec<(usize, i128)> =
            (begun.max(near)..at).filter_map(|at| Some((at, records[at].1?))).collect();
        let others = counters.iter().rposition(|&(_, other)| !is_above(other, counter));
        let run = others.map_or(0, |other| other + 1);
        let Some(&(_, first)) = counters.get(run) else { continue };
        let is_certain = match others {
            Some(other) => is_above(first, counters[other].1),
            None => begun >= near,
        };
        counters[run..].iter().filter(|_| is_certain).for_each(|&(at, _)| early[at] = true);
    }
    early
}

/// A file that was ingested.
pub struct Stored {
    pub _folder: TempDir,
    pub path: PathBuf,
    /// Time and label of each row.
    pub rows: Vec<(i64, u64)>,
    pub facts: SourceFacts,
}

/// Ingests a file that grows by seven bytes at a time from its first `begin` bytes on, as a process each, with
/// tags held back and without; both give the same.
pub fn grown_record_by_record(
    whole: &[u8],
    begin: usize,
    name: &str,
    settings: &Settings,
) -> Stored {
    let [first, second] = [Some(40_000_000), None].map(|hold_back| {
        let folder = tempfile::tempdir().unwrap();
        let (path, store) = (folder.path().join(name), folder.path().join("a.tagq"));
        for end in (begin..=whole.len()).step_by(7).chain([whole.len()]) {
            fs::write(&path, &whole[..end]).unwrap();
            let mut writer = writer(&store);
            let part = match writer.last_source() {
                Some(_) => SourcePart::Rest,
                None => SourcePart::Whole { rebase: None },
            };
            let hold_back = hold_back.filter(|_| end < whole.len());
            let settings = Settings { hold_back, ..settings.clone() };
            ingest(&path, name, part, &settings, &mut writer).unwrap();
            writer.commit().unwrap();
        }
        let opened = Store::open(&store, Access::Mapped).unwrap();
        let rows = rows(&opened);
        let facts = opened.manifest().sources[0].facts.clone();
        Stored { _folder: folder, path, rows, facts }
    });
    assert_eq!(first.rows, second.rows);
    assert_eq!(first.facts.recording, second.facts.recording);
    second
}

/// Returns time and label of tags in order of time.
pub fn in_order(tags: &[Tag]) -> Vec<(i64, u64)> {
    let mut rows: Vec<(i64, u64)> = tags.iter().map(|tag| (tag.time, tag.channel)).collect();
    rows.sort_by_key(|&(time, _)| time);
    rows
}

/// Returns a recording of a real instrument, which is not in the repository.
pub fn real_file(name: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("TAGQ_REAL_DATA")?);
    Some(folder.join("instruments").join(name)).filter(|path| path.exists())
}

/// Ingests what is new of a file, and returns time and label of all rows.
pub fn ingested_again(stored: &Stored, settings: &Settings) -> Vec<(i64, u64)> {
    let store = stored.path.with_file_name("a.tagq");
    let mut writer = writer(&store);
    ingest(&stored.path, &stored.facts.name, SourcePart::Rest, settings, &mut writer).unwrap();
    writer.commit().unwrap();
    rows(&Store::open(&store, Access::Mapped).unwrap())
}

fn writer(store: &Path) -> Writer {
    let tick = "1ps".parse().unwrap();
    let creation = Creation { tick, tick_assumed: false, run_id: Some(RunId([4; 16])) };
    Writer::open(store, &creation).unwrap()
}

fn rows(store: &Store) -> Vec<(i64, u64)> {
    let tags = store.tags();
    let label = |row| tags.channels.label(row).into();
    (0..tags.time.len()).map(|row| (tags.time.at(row), label(row))).collect()
}

/// Ingests a file of these bytes at once.
pub fn stored(bytes: &[u8], name: &str, settings: &Settings) -> Result<Stored, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let opened = store_of(&path, folder.path(), settings)?;
    let facts = opened.manifest().sources[0].facts.clone();
    Ok(Stored { _folder: folder, path, rows: rows(&opened), facts })
}

/// Returns the facts and the micro times of the file at `path`, ingested elsewhere.
pub fn ingested(path: &Path) -> (SourceFacts, Vec<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let opened = store_of(path, folder.path(), &Settings::default()).unwrap();
    let micro = opened.micro().unwrap();
    let micro = (0..opened.tags().len()).map(|row| micro.get(row).unwrap()).collect();
    (opened.manifest().sources[0].facts.clone(), micro)
}

/// Ingests what is new of the file at `path` into the store beside it.
pub fn ingested_on(path: &Path, settings: &Settings) -> Store {
    let store = path.with_file_name("a.tagq");
    let mut writer = writer(&store);
    let part = match writer.last_source() {
        Some(_) => SourcePart::Rest,
        None => SourcePart::Whole { rebase: None },
    };
    ingest(path, "a", part, settings, &mut writer).unwrap();
    writer.commit().unwrap();
    Store::open(&store, Access::Mapped).unwrap()
}

/// Ingests the file at `path` into a store beside it.
pub fn stored_beside(path: &Path) -> Result<Store, Error> {
    store_of(path, path.parent().unwrap(), &Settings::default())
}

fn store_of(path: &Path, folder: &Path, settings: &Settings) -> Result<Store, Error> {
    let store = folder.join("a.tagq");
    let mut writer = writer(&store);
    ingest(path, "a", SourcePart::Whole { rebase: None }, settings, &mut writer)?;
    writer.commit().unwrap();
    Ok(Store::open(&store, Access::Mapped).unwrap())
}
