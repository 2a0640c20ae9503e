//! Bodies of requests to the server: each is answered or refused.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::Value;
use tagq::{
    Follower, HOLD_BACK, OpenOptions, Silent,
    requests::Setup,
    store::{Creation, SourceFacts, Tick, Writer, os},
};
use tagq_serve::{Answerer, Limits, ServedRun};

/// Forms of answers.
const FORMS: [&str; 4] = [
    "application/json",
    "application/vnd.apache.arrow.stream",
    "application/vnd.tagq.figure+json",
    "image/svg+xml",
];

static ASKED: AtomicU64 = AtomicU64::new(0);

/// Two runs of five channels, with names.
static ANSWERER: LazyLock<Answerer> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let path = folder.path().join(name);
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
        let mut writer = Writer::open(&path, &creation).unwrap();
        let times: Vec<i64> = (0..600).map(|row| row * 7_919 % 13 + row * 13).collect();
        let channels: Vec<u16> = (0..600_u16).map(|row| 1 + row % 31 * row % 31 % 5).collect();
        writer.begin_source();
        writer.append(&times, &channels).unwrap();
        writer.finish_source(SourceFacts::named("a"));
        writer.commit().unwrap();
        let hold_back = HOLD_BACK.parse().unwrap();
        let mut follower = Follower::new(&path, &OpenOptions::default(), hold_back).unwrap();
        assert!(follower.advance(&Silent).is_none());
        let setup = Setup { names: vec![(1, "Alice".into())], ..Setup::default() };
        ServedRun { name: name.into(), setup, follower }
    };
    let runs = vec![run("a.tagq"), run("b.tagq")];
    // Whole answers are in memory here.
    let (time, answer) = (Duration::from_secs(2), 16 << 20);
    let limits = Limits { threads: 1, time, answer, ..Limits::default() };
    let answerer = Answerer::new(runs, &limits).unwrap();
    // The stores stay mapped.
    drop(folder);
    for run in 0..2 {
        let rates = format!("{{\"run\": {run}, \"query\": \"rates\"}}");
        assert_eq!(answerer.answer(rates.as_bytes(), FORMS[0])[0].0, 200);
    }
    answerer
});

/// A body of a request, after one byte for the form of the answer, is answered in this form or refused with a reason, and
/// names no file.
///
/// # Panics
/// When it does not.
pub fn bodies(input: &[u8]) {
    let Some((&form, body)) = input.split_first() else { return };
    let form = FORMS[usize::from(form) % FORMS.len()];
    if ASKED.fetch_add(1, Relaxed).is_multiple_of(256) {
        // The server does, too.
        os::return_memory();
    }
    for (status, answer) in ANSWERER.answer(body, form) {
        if status == 200 {
            assert!(!answer.is_empty());
            continue;
        }
        let refusal: Value = serde_json::from_slice(&answer).unwrap();
        assert!(refusal["error"].as_str().is_some_and(|reason| !reason.is_empty()), "{refusal}");
        // The run is not damaged, so no error is one of the server.
        assert!([400, 404, 503, 504].contains(&status), "{status}: {refusal}");
    }
}
