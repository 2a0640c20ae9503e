//! Tests that a request asks a ledger that counts nothing the same questions as one that counts rows.
//!
//! The parts of a plan are counted before the sum is known. If a question depended on a count, the sum of the parts
//! would lack its answer.

use tagq_query::{
    CountQuestion, Counter, Counts, Dry, Error as QueryError, Execution, Facts, Pass, Recording,
    Scan, TimeRange,
};
use tagq_run::{Error as RunError, Run, Silent};
use tagq_store::{Creation, RunId, SourceFacts, Store, Tick, Writer};

use super::{Request, cases, context::QueryContext};
use crate::{error::Error, provenance::Provenance, requests::Setup};

/// Counts the rows, and lists what is asked.
#[derive(Debug)]
struct Logged<'a>(Scan<'a>, Dry);

impl Counter for Logged<'_> {
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, QueryError> {
        self.1.counts(asked)?;
        self.0.counts(asked)
    }

    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, counts: &mut [u64]) {
        self.1.tags(source, channels, range, counts);
        self.0.tags(source, channels, range, counts);
    }

    fn pass(&self, range: TimeRange, is_silent: bool) -> Pass<'_> {
        self.0.pass(range, is_silent)
    }

    fn recording(&self) -> Option<&Recording<'_>> {
        self.0.recording()
    }

    fn check(&self) -> Result<(), QueryError> {
        self.0.check()
    }
}

/// Makes a store of two sources, with tags of the channels 1 to 5 that have micro times.
fn made(folder: &std::path::Path) -> Run {
    let run_id = Some(RunId(*b"tagq every ask!!"));
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id };
    let mut writer = Writer::open(folder, &creation).unwrap();
    writer.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let mut time = 0;
    for name in ["first", "second"] {
        let row = |row: u32| {
            time += i64::from(row * 7_919 % 13);
            (time, (1 + u16::try_from(row * row % 31 % 5).unwrap(), row * 37 % 60))
        };
        let (times, rest): (Vec<i64>, Vec<(u16, u32)>) = (0..1_500).map(row).unzip();
        let (channels, micro): (Vec<u16>, Vec<u32>) = rest.into_iter().unzip();
        writer.begin_source();
        writer.append_with_micro(&times, &channels, &micro).unwrap();
        writer.finish_source(SourceFacts::named(name));
        writer.commit().unwrap();
    }
    let store = Store::open(folder, tagq_store::Access::Mapped).unwrap();
    Run::with_store(folder, store, None)
}

/// A request is stated as it was asked, in the types and the order of the table of options.
#[test]
fn what_is_stated_is_the_same_request() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(&folder.path().join("run.tagq"));
    let setup = Setup::default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let context = QueryContext::new(&setup, &pool, &Silent);
    for (name, mut options) in cases() {
        options.insert("from".into(), "@-7t".into());
        options.insert("join".into(), true.into());
        options.insert("delays".into(), serde_json::json!([["2", "-4.0625ns"]]));
        let request = Request::of_options(name, options).unwrap();
        let Ok(answer) = request.ask(&run, &context) else { continue };
        let Provenance { query, options, together, runs, .. } = answer.provenance;
        assert_eq!((&*query, together, runs.len()), (name, None, 1));
        assert_eq!(options["from"], "@-7t");
        let again = Request::of_options(&query, options.clone()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{request:?}"), "{name} {options:?}");
    }
}

#[test]
fn what_is_asked_does_not_depend_on_counts() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(&folder.path().join("run.tagq"));
    let setup = Setup::default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let context = QueryContext::new(&setup, &pool, &Silent);
    let runs = [(&run, &context)];
    let (mut asked_of_all, all) = (0, TimeRange::default());
    for (name, options) in cases() {
        let request = Request::of_options(name, options.clone()).unwrap();
        let is_joined = request.selection().join;
        let bins = match request.check_parts(&runs, &runs) {
            // It depends on the whole run.
            Err(Error::Run(RunError::Query(QueryError::NoPartial)))
                if options.contains_key("sync_divider") =>
            {
                continue;
            }
            bins => bins.unwrap(),
        };
        let dry = Dry::new(run.facts(is_joined));
        request.count_part(&runs, bins.as_ref(), (0, &dry)).unwrap();
        let logged = run.count_as(is_joined, None, |recording| {
            let scan = Scan::new(recording, &Execution::best());
            let logged = Logged(scan, Dry::new(recording.facts()));
            request.count_part(&runs, bins.as_ref(), (0, &logged)).unwrap();
            Ok(logged.1.asked_in(&all, u32::MAX))
        });
        let asked = dry.asked_in(&all, u32::MAX);
        assert_eq!(logged.unwrap(), asked, "{name} {options:?}");
        asked_of_all += asked.lines().filter(|line| line.contains("Question")).count();
    }
    assert!(asked_of_all > 500, "{asked_of_all} questions");
}
