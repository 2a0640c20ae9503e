//! Runs: opening, ingesting and querying them.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicBool},
};

use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyList},
};
use rayon::ThreadPool;
use tagq::{
    Bounds, Fit, LeftOut, OpenOptions, PlannedRun, Projection, Question, RequestError, RunFacts,
    RunSetting, SettingOf, SettingScan, TagSelection, Treatment,
    query::TimeRange,
    requests::{Channel, Moment, OptionValues, QueryContext, Setup},
    store::Access,
};
use tagq_export::{TimeUnit, blurs_ticks};

use crate::{
    answer::Answer,
    errors::{self, question},
    options,
    origin::Origin,
    process::{Pool, pool_of},
    tags::{ColumnKind, PyColumn, Scan, SelectedTags},
    tuples::Tuples,
    waiting::{wait, wait_in},
};

/// An open run: its rows as of one commit.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Run {
    open: Mutex<Option<Open>>,
}

#[derive(Clone)]
struct Open {
    run: Arc<tagq::Run>,
    setup: Arc<Setup>,
    threads: usize,
    origin: Origin,
}

impl Run {
    pub fn new(
        run: tagq::Run,
        setup: Setup,
        threads: Option<usize>,
        origin: Origin,
    ) -> PyResult<Self> {
        // One a core is a number of files to read, which questions do not read again.
        let threads = tagq::store::threads(threads.unwrap_or(0));
        // Refuses a number of threads that cannot be had.
        pool_of(threads)?;
        let open = Open { run: Arc::new(run), setup: Arc::new(setup), threads, origin };
        Ok(Self { open: Mutex::new(Some(open)) })
    }

    /// Returns the open run. A fork requires the lock of the interpreter, and so does this mutex: a child never finds it
    /// locked.
    fn open(&self) -> PyResult<Open> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(errors::closed)
    }

    /// Returns the open run and its setup.
    pub fn parts(&self) -> PyResult<(Arc<tagq::Run>, Arc<Setup>)> {
        let Open { run, setup, .. } = self.open()?;
        Ok((run, setup))
    }

    pub fn origin(&self) -> PyResult<Origin> {
        Ok(self.open()?.origin)
    }

    /// Replaces the run; views that were returned earlier keep the old one.
    pub fn replace(&self, run: tagq::Run) -> PyResult<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_mut().ok_or_else(errors::closed)?.run = Arc::new(run);
        Ok(())
    }
}

#[pymethods]
impl Run {
    /// Answers the request with this name.
    fn ask(&self, py: Python<'_>, name: &str, keywords: &Bound<'_, PyDict>) -> PyResult<Answer> {
        ask_all(py, &[self.open()?], &Asks::Answer(options::question_of(name, keywords)?))
    }

    /// Answers the request with this name, and fits a model to the answer.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn fit(
        &self,
        py: Python<'_>,
        fit: (&str, Bound<'_, PyDict>),
        name: &str,
        keywords: &Bound<'_, PyDict>,
    ) -> PyResult<Answer> {
        let asks = Asks::fit(&fit, options::question_of(name, keywords)?)?;
        ask_all(py, &[self.open()?], &asks)
    }

    /// Answers the request with this name for several values of an option.
    fn scan_query(
        &self,
        py: Python<'_>,
        name: &str,
        keywords: &Bound<'_, PyDict>,
    ) -> PyResult<Answer> {
        ask_all(py, &[self.open()?], &Asks::scan(name, keywords, None)?)
    }

    /// Returns a text that names its store and its rows, for [`Run::of_text`] in another process.
    fn text(&self) -> PyResult<String> {
        let Open { run, setup, .. } = self.open()?;
        PlannedRun::of(&run, &setup).and_then(|run| run.text()).map_err(errors::of_run)
    }

    /// Opens a run with exactly the rows that a text names.
    #[staticmethod]
    fn of_text(text: &str) -> PyResult<Self> {
        let opened = PlannedRun::parse(text).and_then(|run| run.open(Access::Mapped));
        let (run, setup) = opened.map_err(errors::of_run)?;
        let origin = Origin::of_store(&run);
        Self::new(run, setup, None, origin)
    }

    /// Returns the same run as another one, which is updated and closed by itself.
    fn copy(&self) -> PyResult<Self> {
        Ok(Self { open: Mutex::new(Some(self.open()?)) })
    }

    /// Lists the tags of each coincidence, as Arrow.
    fn tuples(&self, py: Python<'_>, keywords: &Bound<'_, PyDict>) -> PyResult<Tuples> {
        let question = options::question_of("coincidences", keywords)?;
        let Open { run, setup, threads, .. } = self.open()?;
        Tuples::new(py, run, setup, threads, question)
    }

    /// Returns the times, for `numpy.asarray`.
    fn time(&self) -> PyResult<PyColumn> {
        Ok(PyColumn::new(self.open()?.run.shared_store(), ColumnKind::Time))
    }

    /// Returns the channels, for `numpy.asarray`.
    fn channel(&self) -> PyResult<PyColumn> {
        Ok(PyColumn::new(self.open()?.run.shared_store(), ColumnKind::Channel))
    }

    /// Returns the micro times as they are stored, for `numpy.asarray`.
    fn micro(&self) -> PyResult<Option<PyColumn>> {
        let store = self.open()?.run.shared_store();
        Ok(store.micro().is_some().then(|| PyColumn::new(store, ColumnKind::Micro)))
    }

    /// Returns the unit of micro times in the format of `tagq.open`.
    fn micro_tick(&self) -> PyResult<Option<String>> {
        let run = self.open()?.run;
        Ok(run.store().manifest().micro_tick.map(tagq::store::Tick::exact))
    }

    /// Returns for each time the first row at it or later: `times` and the result are the bytes of 64-bit numbers.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn lookup<'py>(&self, py: Python<'py>, times: PyBackedBytes) -> PyResult<Bound<'py, PyBytes>> {
        let run = self.open()?.run;
        let rows = py.detach(|| {
            let (times, _) = times.as_chunks();
            let times: Vec<i64> = times.iter().map(|&time| i64::from_ne_bytes(time)).collect();
            run.lookup(&times)
        });
        let rows = rows.map_err(errors::of_run)?;
        let bytes: Vec<u8> = rows.into_iter().flat_map(u64::to_ne_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the recorded time of a moment such as "1s" or "@123t", in ticks.
    fn tick_of(&self, moment: &str) -> PyResult<i64> {
        let run = self.open()?.run;
        let moment: Moment = moment.parse().map_err(question)?;
        moment.tick_of(&run).map_err(|e| question(e.to_string()))
    }

    /// Returns the selected tags, as Arrow.
    fn tags(&self, py: Python<'_>, keywords: &Bound<'_, PyDict>) -> PyResult<SelectedTags> {
        let Open { run, setup, .. } = self.open()?;
        let scope = options::selection(keywords)?.scope(&run, &setup);
        let scope = scope.map_err(errors::of_run)?;
        let selection = TagSelection {
            range: scope.range,
            channels: scope.channels,
            names: setup.names.clone(),
            first: None,
            time_unit: options::text(keywords, "time_unit")?,
            columns: Projection::default(),
            left_out: LeftOut::default(),
        };
        if blurs_ticks(&run, &selection).map_err(errors::of_export)? {
            let column = selection.time_unit.map_or("time", TimeUnit::column);
            let note = format!(
                "floats in {column} do not always say which tick it was, because the run is too long for \
                 its tick; the times in ticks are exact"
            );
            errors::warn(py, &[note])?;
        }
        Ok(SelectedTags::new(run, selection))
    }

    /// Scans times `from <= t < to` in ticks among the first tags, with these columns.
    #[pyo3(signature = (from_ticks, to_ticks, channels, first, time, channel, micro))]
    #[expect(clippy::too_many_arguments, reason = "named where it is called")]
    fn scan(
        &self,
        py: Python<'_>,
        from_ticks: Option<i64>,
        to_ticks: Option<i64>,
        channels: Option<Vec<u16>>,
        first: Option<usize>,
        time: bool,
        channel: bool,
        micro: bool,
    ) -> PyResult<Scan> {
        let run = self.open()?.run;
        let selection = TagSelection {
            range: TimeRange { from: from_ticks, to: to_ticks },
            channels,
            names: Vec::new(),
            first,
            columns: Projection { time, channel, micro },
            time_unit: None,
            left_out: LeftOut::default(),
        };
        py.detach(|| Scan::new(&run, &selection)).map_err(errors::of_export)
    }

    /// Returns the facts about the run, as JSON.
    fn facts(&self) -> PyResult<String> {
        let Open { run, setup, .. } = self.open()?;
        let facts = RunFacts::named(&run, &setup);
        serde_json::to_string(&facts).map_err(errors::of_run)
    }

    /// Returns the number of bits of a channel label.
    fn channel_bits(&self) -> PyResult<u32> {
        Ok(match self.open()?.run.store().tags().channels {
            tagq::store::Channels::U8(_) => 8,
            tagq::store::Channels::U16(_) => 16,
        })
    }

    /// Returns the number of bits of a micro time, or `None` if the run has none.
    fn micro_bits(&self) -> PyResult<Option<u32>> {
        Ok(self.open()?.run.store().micro().map(|micro| match micro {
            tagq::store::MicroColumn::U16(_) => 16,
            tagq::store::MicroColumn::U32(_) => 32,
        }))
    }

    /// Returns the first and last time in ticks.
    fn span(&self) -> PyResult<Option<(i64, i64)>> {
        let run = self.open()?.run;
        let manifest = run.store().manifest();
        Ok(manifest.time_first.zip(manifest.time_last))
    }

    /// Returns the tick in the format of `tagq.open`.
    fn tick(&self) -> PyResult<String> {
        Ok(self.open()?.run.store().manifest().tick.exact())
    }

    /// Returns the tick for a reader, who needs no more than four digits.
    fn tick_shown(&self) -> PyResult<String> {
        Ok(self.open()?.run.store().manifest().tick.to_string())
    }

    /// Returns the folder of the store.
    fn store(&self) -> PyResult<PathBuf> {
        Ok(self.open()?.run.store().folder().into())
    }

    /// Returns the names of the sources.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let run = self.open()?.run;
        PyList::new(py, run.store().manifest().sources.iter().map(|source| &source.facts.name))
    }

    /// Returns the label of a named channel.
    fn number_of(&self, name: &Bound<'_, PyAny>) -> PyResult<u16> {
        let channel: Channel = options::channel("channel", name)?;
        self.open()?.setup.channel(&channel).map_err(errors::of_run)
    }

    /// Ingests new data; returns whether the commit is another one now.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let Open { run, origin, .. } = self.open()?;
        let newer = origin.open_again(py)?;
        let commit = |run: &tagq::Run| run.store().manifest().commit;
        let is_new = commit(&newer) != commit(&run);
        self.replace(newer)?;
        Ok(is_new)
    }

    fn is_closed(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Releases the run. Views that were returned earlier keep its columns.
    fn close(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A question that a run is asked again and again. It is settled by the rows of the first time, and keeps the bins that it
/// chose.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Repeated(Arc<Settling>);

struct Settling {
    asked: Question,
    settled: OnceLock<Question>,
}

#[pymethods]
impl Repeated {
    #[new]
    fn new(name: &str, keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        let asked = options::question_of(name, keywords)?;
        Ok(Self(Arc::new(Settling { asked, settled: OnceLock::new() })))
    }

    /// Asks a run.
    fn ask(&self, py: Python<'_>, run: &Run) -> PyResult<Answer> {
        ask_all(py, &[run.open()?], &Asks::Again(Arc::clone(&self.0)))
    }
}

/// A question or a fit that runs are asked.
enum Asks {
    Answer(Question),
    Again(Arc<Settling>),
    /// A fit of the answer.
    Fit(Box<Fit>, Question),
    /// A scan of the query with this name and these options, with the setting of each run.
    Scan(String, OptionValues, Option<Setting>),
}

/// The setting of runs: where it is read from, or its name and values.
#[derive(FromPyObject)]
pub(crate) enum Setting {
    Pattern(String),
    Values((String, Vec<f64>)),
}

impl Setting {
    fn setting<'a>(
        &self,
        paths: impl Iterator<Item = &'a Path>,
    ) -> Result<RunSetting, tagq::Error> {
        match self {
            Self::Pattern(text) => {
                text.parse::<SettingOf>().map_err(RequestError::Invalid)?.of(paths)
            }
            Self::Values((name, values)) => {
                Ok(RunSetting { name: name.clone(), values: values.clone() })
            }
        }
    }
}

impl Asks {
    fn fit(fit: &(&str, Bound<'_, PyDict>), question: Question) -> PyResult<Self> {
        Ok(Self::Fit(Box::new(options::fit(fit.0, &fit.1)?), question))
    }

    fn scan(name: &str, keywords: &Bound<'_, PyDict>, setting: Option<Setting>) -> PyResult<Self> {
        let options = options::named(name, keywords)?;
        // Invalid options are named as keywords.
        options::first_of(name, &options)?;
        Ok(Self::Scan(name.into(), options, setting))
    }
}

/// Asks runs without the lock of the interpreter, until Ctrl-C; several runs as one.
fn ask_all(py: Python<'_>, runs: &[Open], asks: &Asks) -> PyResult<Answer> {
    let pools: Vec<Pool> =
        runs.iter().map(|open| pool_of(open.threads)).collect::<PyResult<_>>()?;
    let pools: Vec<&ThreadPool> = pools.iter().map(Pool::here).collect::<PyResult<_>>()?;
    let first = pool_of(runs.first().map_or(0, |open| open.threads))?;
    let answer = wait_in(py, first.here()?, |told| {
        let contexts = runs.iter().zip(&pools);
        let contexts =
            contexts.map(|(Open { setup, .. }, pool)| QueryContext::new(setup, pool, told));
        let contexts: Vec<QueryContext<'_>> = contexts.collect();
        let runs: Vec<(&tagq::Run, &QueryContext<'_>)> =
            runs.iter().map(|open| &*open.run).zip(&contexts).collect();
        match asks {
            Asks::Answer(question) => Ok(question.settled(&runs)?.ask(&runs)?),
            Asks::Again(of) => {
                let settled = if let Some(settled) = of.settled.get() {
                    settled
                } else {
                    let settled = of.asked.settled(&runs)?;
                    of.settled.get_or_init(|| settled)
                };
                Ok(settled.ask(&runs)?)
            }
            Asks::Fit(fit, question) => fit.ask(question, &runs),
            Asks::Scan(name, options, setting) => {
                let paths = runs.iter().map(|(run, _)| run.path());
                let setting = setting.as_ref().map(|of| of.setting(paths)).transpose()?;
                SettingScan::of_options(name, options.clone(), setting)?.ask(&runs)
            }
        }
    });
    Answer::new(answer?)
}

/// Answers a request for several runs as one.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
pub(crate) fn ask_sum(
    py: Python<'_>,
    runs: Vec<PyRef<'_, Run>>,
    name: &str,
    keywords: &Bound<'_, PyDict>,
) -> PyResult<Answer> {
    let runs: Vec<Open> = runs.iter().map(|run| run.open()).collect::<PyResult<_>>()?;
    ask_all(py, &runs, &Asks::Answer(options::question_of(name, keywords)?))
}

/// Answers a request for several values of an option, or for runs that differ in a setting.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
#[pyo3(signature = (runs, name, keywords, setting = None))]
pub(crate) fn scan_sum(
    py: Python<'_>,
    runs: Vec<PyRef<'_, Run>>,
    name: &str,
    keywords: &Bound<'_, PyDict>,
    setting: Option<Setting>,
) -> PyResult<Answer> {
    let runs: Vec<Open> = runs.iter().map(|run| run.open()).collect::<PyResult<_>>()?;
    ask_all(py, &runs, &Asks::scan(name, keywords, setting)?)
}

/// Answers a request for several runs as one, and fits a model to the answer.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
pub(crate) fn fit_sum(
    py: Python<'_>,
    runs: Vec<PyRef<'_, Run>>,
    fit: (&str, Bound<'_, PyDict>),
    name: &str,
    keywords: &Bound<'_, PyDict>,
) -> PyResult<Answer> {
    let runs: Vec<Open> = runs.iter().map(|run| run.open()).collect::<PyResult<_>>()?;
    ask_all(py, &runs, &Asks::fit(&fit, options::question_of(name, keywords)?)?)
}

/// Options for opening a run, as text.
#[expect(clippy::struct_excessive_bools, reason = "they are the keywords of a function")]
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    store: Option<PathBuf>,
    recursive: bool,
    tick: Option<String>,
    source_format: Option<String>,
    columns: Option<String>,
    io: String,
    ingest: bool,
    rebuild: bool,
    rebase: bool,
    salvage: bool,
    times: bool,
    gaps: bool,
    setup: Option<PathBuf>,
    no_setup: bool,
    threads: Option<usize>,
    view_factor: u32,
    long: bool,
    progress: Option<Py<PyAny>>,
}

impl Opening {
    /// Returns the setup of the run at a path.
    fn setup(&self, path: &Path) -> PyResult<Setup> {
        let setup = if self.no_setup {
            Ok(Setup::of_sources(path))
        } else {
            Setup::of(path, self.setup.as_deref())
        };
        setup.map_err(errors::of_run)
    }

    fn options(&self, setup: &Setup) -> PyResult<OpenOptions> {
        let tick = self.tick.as_deref().map(|tick| options::parse("tick", tick)).transpose()?;
        let columns = self.columns.as_deref().map(|names| options::parse("columns", names));
        let format = self.source_format.as_deref();
        let format = format.map(|name| options::parse("source_format", name)).transpose()?;
        let access = match &*self.io {
            "map" => Access::Mapped,
            "read" => Access::Copied,
            other => return Err(question(format!("io: `{other}` is none of map, read"))),
        };
        Ok(OpenOptions {
            store: self.store.clone(),
            recursive: self.recursive,
            tick: setup.tick,
            tick_here: tick,
            ingest: self.ingest,
            treatment: Treatment {
                rebuild: self.rebuild,
                rebase: self.rebase,
                salvage: self.salvage,
            },
            access,
            format,
            columns: columns.transpose()?,
            cancelled: Some(Arc::new(AtomicBool::new(false))),
            threads: self.threads.unwrap_or(0),
            bounds: Bounds { view_factor: self.view_factor, is_long: self.long },
            gaps: self.gaps,
            times: self.times,
            ..OpenOptions::default()
        })
    }
}

/// Opens a run for queries.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf, opening: Opening) -> PyResult<Run> {
    let setup = opening.setup(&path)?;
    let opened = opening.options(&setup)?;
    let cancelled = opened.cancelled.clone().unwrap_or_default();
    let run =
        wait(py, opening.progress.as_ref(), &cancelled, |told| tagq::open(&path, &opened, told))?;
    let origin = Origin { path, options: opened };
    Run::new(run, setup, opening.threads, origin)
}

/// Ingests sources into a store, and opens it.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
pub(crate) fn ingest(py: Python<'_>, paths: Vec<PathBuf>, opening: Opening) -> PyResult<Run> {
    // The first source that has a setup with a tick states the tick of the run.
    let setups = paths.iter().map(|path| opening.setup(path)).collect::<PyResult<Vec<_>>>()?;
    let options = opening.options(&Setup::default())?;
    let tick = options.tick_here.or_else(|| setups.iter().find_map(|setup| setup.tick));
    let options = OpenOptions { tick, tick_here: None, ..options };
    let cancelled = options.cancelled.clone().unwrap_or_default();
    let run = wait(py, opening.progress.as_ref(), &cancelled, |told| {
        match (&paths[..], &options.store) {
            ([path], None) => tagq::ingest(path, &options, told),
            (paths, Some(store)) => tagq::ingest_sources(paths, None, store, &options, told),
            (_, None) => Err(RequestError::Invalid(
                "several sources want a store to be named, as store=\"night.tagq\"".into(),
            )
            .into()),
        }
    })?;
    let origin = match &paths[..] {
        [path] if options.store.is_none() => Origin {
            path: path.clone(),
            options: OpenOptions { treatment: Treatment::default(), ..options },
        },
        _ => Origin::of_store(&run),
    };
    let setup = opening.setup(&origin.path)?;
    Run::new(run, setup, opening.threads, origin)
}
