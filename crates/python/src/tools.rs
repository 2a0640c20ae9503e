//! Commands that count nothing: facts, checks, files for other programs, and names.

#![expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use pyo3::{prelude::*, types::PyDict};
use tagq::{
    Alignment, Bounds, Converted, Destination, Difference, OpenOptions, ReproduceOptions, RunError,
    RunFacts, SavedAnswer, StoreChanges, TagOrigin, TagSelection, Verified,
    files::Settings,
    requests::{Setup, SetupFile},
};
use tagq_export::{
    PreferredForm, TagFormat,
    report::info::{Looked, json},
};

use crate::{
    answer::Answer, errors, options, origin::Origin, process::pool_of, run::Run, waiting::wait,
};

/// Makes a store with channels made from channels, and with the tags inside of gates. Without a path it is temporary.
#[pyfunction]
pub(crate) fn derive(
    py: Python<'_>,
    run: PyRef<'_, Run>,
    store: Option<PathBuf>,
    derived: Vec<(String, String)>,
    keywords: &Bound<'_, PyDict>,
) -> PyResult<Run> {
    let (run, setup) = run.parts()?;
    let of = options::selection(keywords)?.derivation(derived);
    let of = of.map_err(errors::of_run)?;
    let made = wait(py, None, &AtomicBool::default(), |told| {
        tagq::derive(&run, &setup, &of, store.as_deref(), told)
    })?;
    let (setup, origin) = (Setup::of_run(&made), Origin::of_store(&made));
    Run::new(made, setup, None, origin)
}

/// Makes a store of runs of the same time. The alignment is that of the second of two runs.
#[pyfunction]
pub(crate) fn merge(
    py: Python<'_>,
    first: PyRef<'_, Run>,
    others: Vec<PyRef<'_, Run>>,
    store: PathBuf,
    offset: &str,
    drift: &str,
    channels_b: i32,
) -> PyResult<Run> {
    let alignment = Alignment {
        offset: options::parse("offset", offset)?,
        drift: options::parse("drift", drift)?,
        channels: channels_b,
    };
    let (first, _) = first.parts()?;
    let others = others.iter().map(|run| run.parts()).collect::<PyResult<Vec<_>>>()?;
    let others: Vec<_> = others.iter().map(|(run, _)| (&**run, alignment.clone())).collect();
    let merged = wait(py, None, &AtomicBool::default(), |told| {
        tagq::merge(&first, &others, &store, told).map(|merged| merged.run)
    })?;
    let (setup, origin) = (Setup::of_run(&merged), Origin::of_store(&merged));
    Run::new(merged, setup, None, origin)
}

/// A difference: where, the key, and both values as JSON.
type PyDifference = (String, String, Option<String>, Option<String>);

/// Counts the answers in a file again. Returns those of today, and how they differ from those in the file.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    path: PathBuf,
    runs: Vec<PathBuf>,
    threads: Option<usize>,
) -> PyResult<(Vec<Answer>, Vec<PyDifference>)> {
    let pool = pool_of(threads.unwrap_or(0))?;
    let pool = pool.here()?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let open = OpenOptions {
        cancelled: Some(Arc::clone(&cancelled)),
        threads: threads.unwrap_or(0),
        // It was allowed when the answer was counted.
        bounds: Bounds { is_long: true, ..Bounds::default() },
        ..OpenOptions::default()
    };
    let options = ReproduceOptions { runs, open };
    let found = wait(py, None, &cancelled, |told| {
        let saved = SavedAnswer::read(&path)?;
        let found = saved.iter().map(|answer| answer.reproduce(&options, pool, told));
        found.collect::<Result<Vec<_>, _>>()
    })?;
    let text = |value: Option<serde_json::Value>| value.map(|value| value.to_string());
    let difference = |Difference { place, key, saved, now }| (place, key, text(saved), text(now));
    let (mut answers, mut differences) = (Vec::new(), Vec::new());
    for one in found {
        differences.extend(one.differences.into_iter().map(difference));
        for answer in one.answers {
            answers.push(Answer::new(answer)?);
        }
    }
    Ok((answers, differences))
}

/// Returns all that is known of a run, in the JSON of the command line. Unless `fast`, reads all tags for the shortest
/// intervals.
#[pyfunction]
pub(crate) fn info(py: Python<'_>, run: PyRef<'_, Run>, fast: bool) -> PyResult<String> {
    let (run, setup) = run.parts()?;
    let pool = pool_of(0)?;
    let pool = pool.here()?;
    let looked = wait(py, None, &AtomicBool::default(), |told| {
        let facts = RunFacts::named(&run, &setup);
        let shortest = || pool.install(|| run.shortest_intervals(tagq::Progress::scan(told)));
        let shortest = if fast { None } else { Some(shortest()?) };
        // The folder of a temporary store is removed already.
        let is_there = run.store().folder().exists();
        let store_bytes = if is_there { Some(run.store_bytes()?) } else { None };
        let leftovers = if is_there { run.leftovers()? } else { Vec::new() };
        Ok::<_, RunError>(Looked { run: (*run).clone(), facts, shortest, store_bytes, leftovers })
    })?;
    json(&[looked]).map_err(errors::of_run)
}

/// Verifies the checksums of a run. Returns the numbers of blocks, tags, sources that are the same, sources that were not
/// compared, views and cached results.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    run: PyRef<'_, Run>,
    sources: bool,
) -> PyResult<(usize, u64, usize, usize, usize, usize)> {
    let (run, _) = run.parts()?;
    let cancelled = Arc::<AtomicBool>::default();
    let stop = Some(Arc::clone(&cancelled));
    let verified = wait(py, None, &cancelled, |_| run.verify(sources, stop, &mut |_, _| ()))?;
    let Verified { blocks, rows, sources, sources_unknown, views, results } = verified;
    Ok((blocks, rows, sources, sources_unknown, views, results))
}

/// Writes selected tags to a file, in the format that its name selects. Returns the number of tags.
#[pyfunction]
pub(crate) fn export(
    py: Python<'_>,
    run: PyRef<'_, Run>,
    path: PathBuf,
    keywords: &Bound<'_, PyDict>,
    replace: bool,
) -> PyResult<u64> {
    let (run, setup) = run.parts()?;
    let format = format_of(&path, PreferredForm::Tables)?;
    // Times are written as they were recorded.
    let setup = Setup { delays: Vec::new(), ..(*setup).clone() };
    let scope = options::selection(keywords)?.scope(&run, &setup);
    let scope = scope.map_err(errors::of_run)?;
    let selection = TagSelection {
        range: scope.range,
        channels: scope.channels,
        names: setup.names,
        time_unit: options::text(keywords, "time_unit")?,
        ..TagSelection::default()
    };
    let reads = [run.path().to_path_buf(), run.store().folder().to_path_buf()];
    let cancelled = Arc::<AtomicBool>::default();
    let settings = Settings { cancelled: Some(Arc::clone(&cancelled)), ..Settings::default() };
    let converted = wait(py, None, &cancelled, |told| {
        let to = Destination { path: &path, force: replace, reads: &reads };
        let of = TagOrigin::Run(&run, &selection);
        tagq::convert(of, (format.form(), &to), &settings, None, told, &mut |_, _| ())
    })?;
    // Floats that do not say which tick it was are told by the caller's `time_unit`.
    told_of(py, &path, converted)
}

/// Converts a file or a run to a file in another format. Returns the number of tags.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "named where it is called")]
pub(crate) fn convert(
    py: Python<'_>,
    from: PathBuf,
    out: PathBuf,
    tick: Option<&str>,
    source_format: Option<&str>,
    columns: Option<&str>,
    salvage: bool,
    replace: bool,
) -> PyResult<u64> {
    let tick = tick.map(|tick| options::parse("tick", tick)).transpose()?;
    let cancelled = Arc::<AtomicBool>::default();
    let settings = Settings {
        format: source_format.map(|name| options::parse("source_format", name)).transpose()?,
        columns: columns.map(|names| options::parse("columns", names)).transpose()?,
        tick,
        salvage,
        cancelled: Some(Arc::clone(&cancelled)),
        ..Settings::default()
    };
    let format = format_of(&out, PreferredForm::Files)?;
    let converted = wait(py, None, &cancelled, |told| {
        let convert = |tags: TagOrigin<'_>, reads: &[PathBuf]| {
            let to = Destination { path: &out, force: replace, reads };
            tagq::convert(tags, (format.form(), &to), &settings, tick, told, &mut |_, _| ())
        };
        if !from.is_dir() {
            return convert(TagOrigin::File(&from), std::slice::from_ref(&from));
        }
        let (format, columns) = (settings.format, settings.columns.clone());
        let cancelled = Some(Arc::clone(&cancelled));
        let options =
            OpenOptions { tick_here: tick, format, columns, cancelled, ..OpenOptions::default() };
        let run = tagq::open(&from, &options, told)?;
        let reads = [run.path().to_path_buf(), run.store().folder().to_path_buf()];
        convert(TagOrigin::Run(&run, &TagSelection::of_intact(&run, salvage)?), &reads)
    })?;
    told_of(py, &out, converted)
}

/// Returns the form that the name of a file means.
fn format_of(path: &Path, layout: PreferredForm) -> PyResult<TagFormat> {
    TagFormat::of_name(path, layout)
        .ok_or_else(|| errors::of_run(RunError::NoForm { path: path.into() }))
}

/// Warns of what the file does not hold. Returns the number of tags.
fn told_of(py: Python<'_>, out: &Path, converted: Converted) -> PyResult<u64> {
    let lost = converted.lost.join(", ");
    let mut notes: Vec<String> = converted.remarks;
    notes.extend(converted.torn.map(|torn| format!("{torn}; the tags before it are written")));
    if !lost.is_empty() {
        notes.push(format!("{} does not hold {lost}", out.display()));
    }
    errors::warn(py, &notes)?;
    Ok(converted.tags)
}

/// Names channels in the setup of the run at a path; removes a name that is `None`. Returns all names.
#[pyfunction]
pub(crate) fn name(
    path: PathBuf,
    names: Vec<(u16, Option<String>)>,
) -> PyResult<Vec<(u16, String)>> {
    let named = || {
        if !path.exists() {
            return Err(RunError::NoSuchPath { path: path.clone() });
        }
        let place: &Path = &Setup::place(&path);
        let mut file = SetupFile::open(place)?;
        for (channel, name) in &names {
            file.set_name(*channel, name.as_deref())?;
        }
        if !names.is_empty() {
            file.save(&tagq::Silent)?;
        }
        Ok(SetupFile::open(place)?.setup().names.clone())
    };
    named().map_err(errors::of_run)
}

/// Changes the tick of a store, or makes or drops its columns of times and gaps.
#[pyfunction]
pub(crate) fn set(
    py: Python<'_>,
    path: PathBuf,
    store: Option<PathBuf>,
    tick: Option<&str>,
    times: Option<bool>,
    gaps: Option<bool>,
) -> PyResult<()> {
    let tick = tick.map(|tick| options::parse("tick", tick)).transpose()?;
    let changes = StoreChanges { tick, times, gaps };
    let change = || {
        tagq::change_store(&path, store.as_deref(), changes, &tagq::Silent)?;
        tick.map_or(Ok(()), |tick| SetupFile::replace_tick(&path, tick, &tagq::Silent))
    };
    py.detach(change).map_err(errors::of_run)
}
