//! The recording of a run, taken from all its sources, as one source: for files and runs that are made of it.
//!
//! If sources have the times 0 to 100 and 150 to 200, the time between them becomes dead time, because nothing was
//! recorded in it.

use std::{
    collections::HashSet,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tagq_ingest::RunFile;
use tagq_store::{Recording, Source, SyncPulses};

use crate::{Run, destination::Destination, error::Error, new_file::NewFile, progress::Progress};

/// The recording of a run, and the facts for which one source has no place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Names of channels, facts that all sources share, counts of records that were left out, sync pulses, and the
    /// times without a record: those of each source and those between two.
    pub recording: Recording,
    /// The facts that are lost, in words.
    pub lost: Vec<&'static str>,
}

impl Recorded {
    /// Returns what the sources of `run` say.
    pub fn of(run: &Run) -> Self {
        let sources = &run.store().manifest().sources;
        let recordings = || sources.iter().filter_map(|source| source.facts.recording.as_ref());
        let mut recording = Recording { pulses: pulses(sources), ..Recording::default() };
        let mut named = HashSet::new();
        for of in recordings() {
            for (channel, name) in &of.channel_names {
                if named.insert(*channel) {
                    recording.channel_names.push((*channel, name.clone()));
                }
            }
            for (what, count) in &of.left_out {
                match recording.left_out.iter_mut().find(|(other, _)| other == what) {
                    Some((_, sum)) => *sum += count,
                    None => recording.left_out.push((what.clone(), *count)),
                }
            }
        }
        let all = || recordings().flat_map(|of| &of.facts);
        let is_shared = |fact: &(String, String)| {
            recordings().count() == sources.len() && recordings().all(|of| of.facts.contains(fact))
        };
        let first = recordings().next().map(|of| of.facts.clone()).unwrap_or_default();
        recording.facts = first.into_iter().filter(is_shared).collect();
        let lost = [
            ("the facts in which its sources differ", all().any(|fact| !is_shared(fact))),
            (
                "the sync pulses",
                recording.pulses.is_none() && recordings().any(|of| of.pulses.is_some()),
            ),
        ];
        for span in dead(sources) {
            recording.add_dead(span);
        }
        let lost = lost.into_iter().filter_map(|(what, is_lost)| is_lost.then_some(what));
        Self { recording, lost: lost.collect() }
    }
}

/// Returns the pulses of the sources, if all have the same and their times were not moved.
fn pulses(sources: &[Source]) -> Option<SyncPulses> {
    let of = |source: &Source| {
        let is_moved = source.facts.rebased.unwrap_or(0) != 0;
        source.facts.recording.as_ref()?.pulses.filter(|_| !is_moved)
    };
    let first = sources.first().and_then(of);
    first.filter(|_| sources.iter().all(|source| of(source) == first))
}

/// Returns the times in which no source recorded, in order.
pub(crate) fn dead(sources: &[Source]) -> impl Iterator<Item = (i64, i64)> {
    let mut end: Option<i64> = None;
    sources.iter().flat_map(move |source| {
        let between = end.zip(source.time_first).filter(|(end, first)| end < first);
        end = source.time_last.or(end);
        between.into_iter().chain(source.dead())
    })
}

/// Writes the run file beside the file that is or will be at `out`, and returns its path; `None` if another file has
/// its name, or if no reader would look for it. One that describes nothing only replaces an older one.
///
/// # Errors
/// [`Error::Io`].
pub fn write_run_file(
    out: &Path,
    run_file: &RunFile,
    progress: &dyn Progress,
) -> Result<Option<PathBuf>, Error> {
    let Some(place) = RunFile::place(out) else { return Ok(None) };
    let is_free = fs::symlink_metadata(&place).is_err();
    let is_empty = run_file.is_empty();
    let Some(text) = run_file.text().filter(|_| !(is_free && is_empty)) else { return Ok(None) };
    if !is_free && !RunFile::is_at(&place) {
        return Ok(None);
    }
    let to = Destination { path: &place, force: true, reads: &[] };
    let fresh = NewFile::create(&to, progress)?;
    let mut file = fresh.file()?;
    let failed = |source: io::Error| Error::Io { path: place.clone(), action: "write", source };
    file.write_all(text.as_bytes()).map_err(failed)?;
    fresh.keep(&file)?;
    Ok(Some(place).filter(|_| !is_empty))
}
