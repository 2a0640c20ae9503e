//! The runs below a folder, known from their manifests alone.
//!
//! A folder with `night.tags` and its store `night.tags.tagq` is one run, `night.tags`; one more file of tags beside
//! them makes the folder a run, too. Nothing is written, and no tag is read.

use std::{
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};
use tagq_ingest::is_unchanged;
use tagq_run::{
    Error as RunError, Progress, Run, RunLocation, Setup, is_source_name, may_have_sources,
};
use tagq_store::{Manifest, Store, os::FileStamp};

use crate::{answer::RunFacts, error::Error};

/// A run below a folder.
#[derive(Debug, Clone, Serialize)]
pub struct FoundRun {
    /// Its path below the folder, `.` for the folder itself.
    pub name: String,
    /// Its path, as queries take it. Its text has `\xNN` for bytes that are not UTF-8.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// Whether its store has all tags of its sources.
    pub state: RunState,
    /// When its last source was changed last: about the end of the recording.
    pub ended: Option<Moment>,
    /// Its tags, channels and times; `None` if it has no store that can be read.
    pub facts: Option<RunFacts>,
}

/// How a store stands to its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// It has all tags of its sources, or its sources are not here.
    Ingested,
    /// Sources are new or have grown.
    NewData,
    /// There is no store.
    NotIngested,
    /// Its store cannot be read, for this reason.
    Unreadable(String),
}

/// A moment in UTC, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(DateTime<Utc>);

/// Which runs are wanted.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Runs that ended at this moment or later.
    pub since: Option<Moment>,
    /// Runs that ended before this moment.
    pub until: Option<Moment>,
    /// A pattern for the name, with `*`, `?` and `[abc]`.
    pub name: Option<glob::Pattern>,
}

impl RunState {
    /// Returns a word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ingested => "ingested",
            Self::NewData => "new data",
            Self::NotIngested => "not ingested",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

impl Serialize for RunState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl Moment {
    /// Returns the seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0.timestamp()
    }

    fn of_ns(ns: i64) -> Option<Self> {
        DateTime::from_timestamp(ns.div_euclid(1_000_000_000), 0).map(Self)
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Moment {
    type Err = String;

    /// Parses a date, or a date and a time, in UTC unless it says an offset.
    fn from_str(text: &str) -> Result<Self, String> {
        let with_offset = || DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.to_utc());
        let time = |form| NaiveDateTime::parse_from_str(text, form).ok();
        let date = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
        let of_utc = time("%Y-%m-%dT%H:%M").or_else(|| time("%Y-%m-%dT%H:%M:%S")).or_else(date);
        let moment = with_offset().or(of_utc.map(|moment| moment.and_utc()));
        moment.map(Self).ok_or_else(|| {
            format!("`{text}` is no moment; write it as 2026-11-24 or 2026-11-24T18:30, in UTC")
        })
    }
}

impl RunFilter {
    fn has(&self, run: &FoundRun) -> bool {
        let is_since = self.since.is_none_or(|since| run.ended.is_some_and(|ended| ended >= since));
        let is_until = self.until.is_none_or(|until| run.ended.is_some_and(|ended| ended < until));
        is_since && is_until && self.name.as_ref().is_none_or(|name| name.matches(&run.name))
    }
}

/// Finds the runs in a folder and in nested folders, in natural order of their names: stores, folders of sources, and
/// sources with a store of their own. Reads manifests and looks at sources, but reads no tags and writes nothing. Does not
/// follow links to folders. Nested folders that cannot be listed are left out, each with a note.
///
/// # Errors
/// [`tagq_run::Error::NoSuchPath`] and [`tagq_run::Error::Io`] if the folder itself cannot be listed.
pub fn runs(
    folder: &Path,
    wanted: &RunFilter,
    progress: &dyn Progress,
) -> Result<Vec<FoundRun>, Error> {
    if !folder.is_dir() {
        return Err(RunError::NoSuchPath { path: folder.into() }.into());
    }
    let mut paths = Vec::new();
    let mut folders = Vec::new();
    look_into(folder, &mut paths, &mut folders)?;
    while let Some(folder) = folders.pop() {
        if let Err(error) = look_into(&folder, &mut paths, &mut folders) {
            progress.note(&format!("{error}; runs in it are left out"));
        }
    }
    alphanumeric_sort::sort_path_slice(&mut paths);
    let found = paths.into_iter().map(|path| FoundRun::at(path, folder));
    Ok(found.filter(|run| wanted.has(run)).collect())
}

/// Adds the runs in a folder, and the folders to look into next.
fn look_into(
    folder: &Path,
    runs: &mut Vec<PathBuf>,
    folders: &mut Vec<PathBuf>,
) -> Result<(), Error> {
    if Store::is_at(folder) {
        runs.push(folder.into());
        return Ok(());
    }
    let io_error =
        |source| RunError::Io { path: folder.into(), action: "list this folder", source };
    let (mut sources, mut stores) = (Vec::new(), Vec::new());
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(io_error)?.collect();
    for entry in entries.map_err(io_error)? {
        let (path, kind) = (entry.path(), entry.file_type().map_err(io_error)?);
        if kind.is_dir() && Store::is_at(&path) {
            stores.push(path);
        } else if kind.is_dir() && may_have_sources(&path) {
            folders.push(path);
        } else if !kind.is_dir() && is_source_name(entry.file_name().as_encoded_bytes()) {
            sources.push(path);
        }
    }
    let of_file = |store: &PathBuf| Some(store.with_extension("")).filter(|path| path.is_file());
    let mut is_folder = !sources.is_empty();
    for store in stores {
        if store.file_name().is_some_and(|name| name == RunLocation::STORE_IN_FOLDER) {
            is_folder = true;
        } else if let Some(path) =
            of_file(&store).filter(|_| store.extension().is_some_and(|e| e == "tagq"))
        {
            sources.retain(|source| *source != path);
            is_folder &= !sources.is_empty();
            runs.push(path);
        } else {
            runs.push(store);
        }
    }
    if is_folder {
        runs.push(folder.into());
    }
    Ok(())
}

impl FoundRun {
    /// Returns the text of its path, with `\xNN` for bytes that are not UTF-8.
    pub fn path_text(&self) -> String {
        text_of(&self.path)
    }

    fn at(path: PathBuf, below: &Path) -> Self {
        let name = match path.strip_prefix(below) {
            Ok(way) if way.as_os_str().is_empty() => ".".into(),
            Ok(way) => text_of(way),
            Err(_) => text_of(&path),
        };
        let unreadable = |error: Error| (RunState::Unreadable(error.to_string()), None, None);
        let (state, ended, facts) = look_at(&path).unwrap_or_else(unreadable);
        Self { name, path, state, ended, facts }
    }
}

/// Returns a path as text, with `\xNN` for bytes that are not UTF-8.
fn text_of(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&chunk.invalid().escape_ascii().to_string());
    }
    text
}

fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text_of(path))
}

type Seen = (RunState, Option<Moment>, Option<RunFacts>);

fn look_at(path: &Path) -> Result<Seen, Error> {
    let location = RunLocation::find(path, None, false)?;
    let sources = location.sources.iter().flatten();
    let mut ended = sources.filter_map(|path| modified(path).ok()).max();
    let Some(manifest) = Manifest::read(&location.store)? else {
        return Ok((RunState::NotIngested, ended.and_then(Moment::of_ns), None));
    };
    let files = location.files();
    let is_here = |name: &str| files.contains_key(name);
    let is_taken = |source: &tagq_store::Source| match files.get(&source.facts.name) {
        Some(path) => {
            FileStamp::of_path(path).is_ok_and(|stamp| is_unchanged(&source.facts, stamp))
        }
        None => true,
    };
    let known = |name: &str| manifest.sources.iter().any(|source| source.facts.name == name);
    let has_new = location.sources.iter().flatten().any(|path| !known(&location.name_of(path)));
    let is_complete = manifest.sources.iter().all(is_taken) && !has_new;
    let state = if is_complete { RunState::Ingested } else { RunState::NewData };
    // Of a source that is not here, the manifest knows when it was changed.
    let gone = manifest.sources.iter().filter(|source| !is_here(&source.facts.name));
    ended = ended.max(gone.map(|source| source.facts.mtime_ns).filter(|&ns| ns > 0).max());
    let setup = Setup::of(path, None).unwrap_or_else(|_| Setup::of_sources(path));
    let run = Run::with_store(path, Store::without_rows(manifest), None);
    let facts = RunFacts::named(&run, &setup);
    Ok((state, ended.and_then(Moment::of_ns), Some(facts)))
}

/// Returns when a file was changed last, in nanoseconds since 1970.
fn modified(path: &Path) -> io::Result<i64> {
    Ok(tagq_store::os::mtime_ns(&fs::metadata(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_of_utc_unless_they_say_more() {
        let seconds = |text: &str| text.parse::<Moment>().map(Moment::seconds);
        // 1,794,700,800 s are 20,772 days.
        assert_eq!(seconds("2026-11-15"), Ok(20_772 * 86_400));
        assert_eq!(seconds("2026-11-15T01:00"), Ok(20_772 * 86_400 + 3_600));
        assert_eq!(seconds("2026-11-15T01:00:05+01:00"), Ok(20_772 * 86_400 + 5));
        assert!(seconds("yesterday").is_err());
        assert_eq!("2026-11-15".parse::<Moment>().unwrap().to_string(), "2026-11-15T00:00:00Z");
    }
}
