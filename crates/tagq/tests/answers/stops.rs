//! Every query asks often enough whether to stop, and then stops.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use tagq::{
    Caching, Destination, OpenOptions, Progress, Question, Run, RunError, Silent, TagOrigin,
    TagSelection, cases, convert, files, open,
    query::ScanProgress,
    requests::{QueryContext, Setup},
    store::{Creation, SourceFacts, Tick, Writer},
};

/// Tags of the run.
const TAGS: i64 = 8_000;
/// Tags and pairs of a query for each time it asks, on average, at most.
const WORK_MAX: f64 = 8e3;

static POOL: LazyLock<rayon::ThreadPool> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());

/// Makes a run of five channels with micro times.
fn make(store: &Path) {
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
    let mut writer = Writer::open(store, &creation).unwrap();
    writer.make_gaps().unwrap();
    writer.begin_source();
    writer.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let times: Vec<i64> = (0..TAGS).map(|at| at * 5 + at * at % 7).collect();
    let labels: Vec<u16> =
        (0..TAGS).map(|at| [1, 2, 3, 4, 5][(at * at % 11 % 5) as usize]).collect();
    let micro: Vec<u32> = (0..100).cycle().step_by(7).take(times.len()).collect();
    writer.append_with_micro(&times, &labels, &micro).unwrap();
    writer.finish_source(SourceFacts::named("by hand"));
    writer.commit().unwrap();
}

/// Opens the run; what is looked for once in a run is looked for again.
fn opened(store: &Path) -> Run {
    open(store, &OpenOptions { caching: Caching::Off, ..OpenOptions::default() }, &Silent).unwrap()
}

/// Stops a query at some time that it asks.
struct Stopping(ScanProgress);

impl Progress for Stopping {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, _: &str) {}

    fn scan(&self) -> Option<&ScanProgress> {
        Some(&self.0)
    }
}

#[test]
fn writing_and_verifying_end_when_they_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    make(&store);
    let run = opened(&store);
    let out = folder.path().join("out.tags.zst");
    let to = Destination { path: &out, force: false, reads: &[] };
    let form = files::write::Form::of_name(&out).unwrap();
    for by_file in [false, true] {
        let cancelled = Arc::new(AtomicBool::new(false));
        let settings =
            files::Settings { cancelled: Some(Arc::clone(&cancelled)), ..Default::default() };
        let text = folder.path().join("in.tsv");
        fs::write(&text, "1\t5\n".repeat(1_000)).unwrap();
        let selection = TagSelection::default();
        let tags = if by_file { TagOrigin::File(&text) } else { TagOrigin::Run(&run, &selection) };
        cancelled.store(by_file, Relaxed);
        let mut done = |_, _| cancelled.store(true, Relaxed);
        let tick = Some(Tick::DEFAULT);
        let converted = convert(tags, (&form, &to), &settings, tick, &Silent, &mut done);
        assert!(converted.unwrap_err().is_cancelled(), "{by_file}");
        assert!(!out.exists());
    }
    let cancelled = Arc::new(AtomicBool::new(false));
    let verified =
        run.verify(true, Some(Arc::clone(&cancelled)), &mut |_, _| cancelled.store(true, Relaxed));
    assert!(verified.unwrap_err().is_cancelled());
}

#[test]
fn every_case_of_every_query_asks_whether_to_stop_and_then_stops() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    make(&store);
    let setup = Setup::default();
    for (query, options) in cases() {
        let question = Question::of_options(query, options.clone()).unwrap();
        let ask = |stop_at: u64| {
            let run = opened(&store);
            let progress = Stopping(ScanProgress::that_stops_at(stop_at));
            let context = QueryContext::new(&setup, &POOL, &progress);
            let answer = question.ask(&[(&run, &context)]);
            (answer, progress.0.asks())
        };
        let (answer, asks) = ask(u64::MAX);
        let whole = answer.unwrap();
        assert!(asks > 0, "{query} {options:?}");
        let context = QueryContext::new(&setup, &POOL, &Silent);
        let work = question.request().map_or(0.0, |request| {
            let plan = request.explain(&opened(&store), &context).unwrap().plan;
            plan.rows_taken as f64 + plan.pairs.unwrap() as f64
        });
        let each = work / asks as f64;
        assert!(each < WORK_MAX, "{query} {options:?}: {each} tags and pairs for each of {asks}");
        for at in [1, asks.div_ceil(2)] {
            let is_right = match ask(at).0 {
                // Only notes were looked for.
                Ok(answer) => at > 1 && query == "coincidences" && answer.rows == whole.rows,
                Err(error) => error.run().is_some_and(RunError::is_cancelled),
            };
            assert!(is_right, "{query} {options:?} at {at} of {asks}");
        }
    }
}
