//! Histograms from sync pulses that are not tags, compared with those of a run in which every pulse is a tag.

use std::{
    cell::RefCell,
    fs,
    sync::{Arc, atomic::AtomicU64},
};

use proptest::prelude::*;
use serde_json::json;
use tagq::{
    Answer, NewStore, OpenOptions, Progress, Run, Silent,
    query::ScanProgress,
    requests::{QueryContext, Request, Setup},
};
use tagq_sampling::random_cases;

/// A file of mode T3, and a period of its pulses that is no whole number of its ticks of 25 ps.
const RECORDED: &[u8] = include_bytes!("../../../../data/fixtures/picoquant/t3.ptu");
const RATE_HZ: i32 = 39_000_001;

/// Returns the run of a file of mode T3, and the same tags with a tag of channel 0 for each pulse.
fn runs() -> [Run; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ptu");
    let mut bytes = RECORDED.to_vec();
    let mut put = |name: &str, value: [u8; 8]| {
        let at = bytes.windows(name.len()).position(|part| part == name.as_bytes()).unwrap() + 40;
        bytes[at..at + 8].copy_from_slice(&value);
    };
    put("TTResult_SyncRate", i64::from(RATE_HZ).to_le_bytes());
    put("MeasDesc_GlobalResolution", (1.0 / f64::from(RATE_HZ)).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let run = tagq::open(&path, &OpenOptions::default(), &Silent).unwrap();
    let tags = run.store().tags();
    let mut rows: Vec<(i64, u16)> = tags
        .time
        .to_vec()
        .into_iter()
        .enumerate()
        .map(|(row, time)| (time, tags.channels.label(row)))
        .collect();
    let [first, last] = [rows[0].0, rows[rows.len() - 1].0];
    // Pulses from the latest one at or before the first tag.
    let pulse = |n: i64| n * 40_000_000_000 / i64::from(RATE_HZ);
    let pulses = (0..).map(pulse).take_while(|&time| time <= last);
    let pulses: Vec<i64> = pulses.collect();
    let begin = pulses.iter().rposition(|&time| time <= first).unwrap();
    rows.extend(pulses[begin..].iter().map(|&time| (time, 0)));
    rows.sort_unstable();
    let mut store = NewStore::create(None, Some(run.store().manifest().tick)).unwrap();
    let (times, channels): (Vec<i64>, Vec<u16>) = rows.into_iter().unzip();
    store.append(&times, &channels).unwrap();
    [run, store.finish("made", &OpenOptions::default()).unwrap()]
}

fn asked(run: &Run, options: &serde_json::Value) -> Result<Answer, String> {
    told(run, "histogram", options, &Silent)
}

fn told(
    run: &Run,
    query: &str,
    options: &serde_json::Value,
    progress: &dyn Progress,
) -> Result<Answer, String> {
    let request = Request::of_options(query, options.as_object().unwrap().clone());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &pool, progress);
    let answer = request.unwrap().sum(&[(run, &context)]);
    answer.map_err(|error| error.to_string())
}

/// Keeps the notes, and counts the passes over the tags.
#[derive(Default)]
struct Told {
    notes: RefCell<Vec<String>>,
    scan: ScanProgress,
}

impl Progress for Told {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, note: &str) {
        self.notes.borrow_mut().push(note.into());
    }
    fn scan(&self) -> Option<&ScanProgress> {
        Some(&self.scan)
    }
}

#[test]
fn pulses_count_as_if_each_was_a_tag() {
    let [run, every] = runs();
    let mut runner = proptest::test_runner::TestRunner::new(random_cases(150));
    // Edges of the selection lie near tags.
    let times = run.store().tags().time.to_vec();
    let edge =
        || (prop::sample::select(times.clone()), -3_000..3_000_i64).prop_map(|(at, by)| at + by);
    let cases = (
        prop::sample::select(vec!["all", "last"]),
        (-3_000..3_000_i64, 1..60_i64, 1..100_i64),
        (-5_000..5_000_i64, -5_000..5_000_i64),
        prop::option::weighted(0.8, (edge(), edge())),
    );
    runner
        .run(&cases, |(mode, (low, width, bins), (of_start, of_stop), range)| {
            let mut options = json!({
                "start": 0, "stop": 1, "mode": mode, "bin": format!("{width}t"),
                "range": format!("{low}t..{}t", low + width * bins),
                "delays": [["0", format!("{of_start}t")], ["1", format!("{of_stop}t")]],
            });
            if let Some((from, to)) = range {
                options["from"] = format!("@{}t", from.min(to)).into();
                options["to"] = format!("@{}t", from.max(to) + 1).into();
            }
            let [found, expected] = [&run, &every].map(|run| asked(run, &options).unwrap());
            let rows = |answer: &Answer| answer.rows.get("count").unwrap().cells.clone();
            prop_assert_eq!(rows(&found), rows(&expected));
            for key in ["singles", "dropped"] {
                prop_assert_eq!(&found.query[key], &expected.query[key]);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_default_range_is_one_period_and_what_needs_tags_is_refused() {
    let [run, _] = runs();
    let answer = asked(&run, &json!({"start": 0, "stop": 2, "bin": "1t"})).unwrap();
    assert_eq!(answer.query["range_ticks"], json!([0, 1_026]));
    for options in [
        json!({"start": 0, "stop": 1, "mode": "next"}),
        json!({"start": 0, "stop": 1, "mode": "last", "period": "25ns"}),
        json!({"start": 0, "stop": 1, "g2": true}),
        json!({"start": 1, "stop": 0, "range": "5ns"}),
    ] {
        let error = asked(&run, &options).unwrap_err();
        assert!(error.contains("not recorded as tags"), "{options}: {error}");
    }
}

#[test]
fn what_is_refused_is_refused_before_counting() {
    let [run, _] = runs();
    for (query, options) in [
        ("g2", json!({"start": 0, "stop": 1, "range": "20us"})),
        ("histogram", json!({"start": 1, "stop": 2, "mode": "next", "g2": true, "range": "20us"})),
    ] {
        let progress = Told::default();
        let error = told(&run, query, &options, &progress).unwrap_err();
        assert!(error.contains("without g2") || error.contains("g2 is defined"), "{error}");
        assert_eq!(progress.scan.snapshot().passes, 0, "{options}");
    }
    let progress = Told::default();
    told(&run, "histogram", &json!({"start": 1, "stop": 2, "range": "20us"}), &progress).unwrap();
    assert_eq!(progress.scan.snapshot().passes, 1);
}

#[test]
fn pulses_that_are_no_tags_are_in_no_coincidence_and_a_note_says_it() {
    let [run, every] = runs();
    let notes = |run: &Run, query, options| {
        let progress = Told::default();
        told(run, query, &options, &progress).unwrap();
        progress.notes.into_inner().join("; ")
    };
    let pair = json!({"groups": [[0, 1]], "window": "1ns"});
    let said = notes(&run, "coincidences", pair.clone());
    assert!(said.contains("channel 0 has no tags") && said.contains("sync pulses"), "{said}");
    assert!(!notes(&every, "coincidences", pair).contains("sync pulses"));
    assert!(notes(&run, "rates", json!({"channels": [0, 1]})).contains("sync pulses"));
    assert_eq!(notes(&run, "histogram", json!({"start": 0, "stop": 1, "bin": "1t"})), "");
}
