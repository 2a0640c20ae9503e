//! Bringing a store up to date with its sources: unchanged ones cost a look, new ones are taken in
//! order of time.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tagq_ingest::{Settings, first_time, is_unchanged};
use tagq_store::{Error as StoreError, Manifest, Writer};

use crate::{Error, Options, Place, Progress, run::open_writer};

/// Commits are not made more often than this, so that thousands of small files cost no thousands
/// of waits for the disk.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// A file that is not in the store yet.
struct New {
    path: PathBuf,
    name: String,
    /// Nothing when it has no tags.
    begins: Option<i64>,
}

/// Takes all new sources into the store of `place`, one commit after the other.
pub(crate) fn bring_up_to_date(
    place: &Place,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let committed = committed(place)?;
    let tick_is_new = committed
        .as_ref()
        .is_some_and(|m| options.tick.is_some_and(|tick| m.tick_assumed || m.tick != tick));
    if new_sources(place, sources, committed.as_ref())?.is_empty()
        && committed.is_some()
        && !tick_is_new
    {
        return Ok(());
    }
    // Messages known to be torn, and how many complete ones their files have before them.
    let mut torn = HashMap::new();
    loop {
        match take_new_sources(place, sources, options, progress, &torn) {
            Err(Error::Files(tagq_ingest::Error::TornMessage { path, message }))
                if !torn.contains_key(&path) =>
            {
                torn.insert(path, message - 1);
            }
            result => return result,
        }
    }
}

/// Sets an assumed tick of a store to the one given.
pub(crate) fn confirm_tick(place: &Place, options: &Options) -> Result<(), Error> {
    let Some(tick) = options.tick else { return Ok(()) };
    let Some(manifest) = committed(place)? else { return Ok(()) };
    if !manifest.tick_assumed && manifest.tick == tick {
        return Ok(());
    }
    let mut writer = open_writer(place, options)?;
    writer.set_tick(tick, false)?;
    Ok(writer.commit()?)
}

/// The names of the sources that the last commit does not hold.
pub(crate) fn left_out(place: &Place) -> Result<Vec<String>, Error> {
    let committed = committed(place)?;
    let known: HashSet<&str> = committed.iter().flat_map(names).collect();
    let sources = place.sources.iter().flatten().map(|source| place.name_of(source));
    Ok(sources.filter(|name| !known.contains(name.as_str())).collect())
}

fn take_new_sources(
    place: &Place,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    torn: &HashMap<PathBuf, u64>,
) -> Result<(), Error> {
    let mut writer = open_writer(place, options)?;
    // What another process committed before the lock was ours is not new any more.
    let is_first = writer.manifest().commit == 0;
    let new = new_sources(place, sources, Some(writer.manifest()))?;
    let mut changed = is_first;
    if let Some(tick) = options.tick.filter(|_| !is_first) {
        changed |= writer.manifest().tick_assumed || writer.manifest().tick != tick;
        writer.set_tick(tick, false)?;
    }
    let mut last_commit = Instant::now();
    for (i, source) in new.iter().enumerate() {
        if let Err(error) = take(place, source, &mut writer, progress, torn) {
            // What was appended of this source goes, and with it those since the last commit: they
            // are complete, and taken again.
            writer.discard();
            let before: Vec<PathBuf> = new[..i].iter().map(|new| new.path.clone()).collect();
            if changed && !before.is_empty() {
                take_new_sources(place, &before, options, progress, torn)?;
            }
            return Err(error);
        }
        changed = true;
        if last_commit.elapsed() >= COMMIT_INTERVAL {
            writer.commit()?;
            last_commit = Instant::now();
            changed = false;
        }
    }
    if changed { Ok(writer.commit()?) } else { Ok(()) }
}

fn take(
    place: &Place,
    source: &New,
    writer: &mut Writer,
    progress: &dyn Progress,
    torn: &HashMap<PathBuf, u64>,
) -> Result<(), Error> {
    if let Some(begins) = source.begins {
        check_after(place, source, begins, writer)?;
    }
    let read = Arc::new(AtomicU64::new(0));
    let bytes = fs::metadata(&source.path).map_or(0, |metadata| metadata.len());
    progress.source(&source.name, bytes, &read);
    let settings =
        Settings { messages_max: torn.get(&source.path).copied(), bytes_read: Some(read) };
    let result = tagq_ingest::ingest(&source.path, &source.name, &settings, writer);
    progress.done();
    if let Err(tagq_ingest::Error::Store(StoreError::Unsorted { time, .. })) = result {
        // The first tag of the file was late enough, another one was not.
        check_after(place, source, time, writer)?;
    }
    result?;
    Ok(())
}

fn check_after(place: &Place, source: &New, begins: i64, writer: &Writer) -> Result<(), Error> {
    match writer.span() {
        Some((_, ends)) if begins < ends => {
            let folder = source.path.parent().unwrap_or(Path::new("."));
            let before = writer.last_source().unwrap_or("the source before it");
            Err(Error::Overlap {
                path: source.path.clone(),
                folder: folder.into(),
                store: place.store.clone(),
                begins,
                ends,
                before: before.into(),
            })
        }
        _ => Ok(()),
    }
}

/// The sources that the store does not hold, in the order they belong in it.
fn new_sources(
    place: &Place,
    sources: &[PathBuf],
    committed: Option<&Manifest>,
) -> Result<Vec<New>, Error> {
    let known: HashMap<&str, &tagq_store::Source> = committed
        .iter()
        .flat_map(|manifest| &manifest.sources)
        .map(|source| (source.facts.name.as_str(), source))
        .collect();
    let mut new = Vec::new();
    for path in sources {
        let name = place.name_of(path);
        match known.get(name.as_str()) {
            Some(source) => check_unchanged(place, path, &source.facts)?,
            None => new.push(New { path: path.clone(), name, begins: first_time(path)? }),
        }
    }
    // Stable, so that sources that begin together stay in natural order; those without tags last.
    new.sort_by_key(|source| (source.begins.is_none(), source.begins));
    Ok(new)
}

fn check_unchanged(
    place: &Place,
    path: &Path,
    facts: &tagq_store::SourceFacts,
) -> Result<(), Error> {
    let metadata = fs::metadata(path).map_err(|source| Error::Io {
        path: path.into(),
        action: "look at it",
        source,
    })?;
    if is_unchanged(facts, &metadata) {
        return Ok(());
    }
    let what = if metadata.len() == facts.size {
        format!("{} bytes as before, but written or moved since", facts.size)
    } else {
        format!("{} bytes then, {} now", facts.size, metadata.len())
    };
    Err(Error::Changed { path: path.into(), store: place.store.clone(), what })
}

fn committed(place: &Place) -> Result<Option<Manifest>, Error> {
    Ok(Manifest::read(&place.store)?)
}

fn names(manifest: &Manifest) -> impl Iterator<Item = &str> {
    manifest.sources.iter().map(|source| source.facts.name.as_str())
}
