//! The server over plain connections: answers, refusals, events, and its end.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod client;

use std::{
    collections::HashSet,
    fs,
    io::Read as _,
    path::Path,
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Duration,
};

use arrow_ipc::reader::StreamReader;
use serde_json::{Value, json};
use tagq::{
    Answer, OpenOptions, Progress, Question, Run, Silent, cases,
    requests::{OptionValues, QueryContext, Setup},
    store::{Creation, RunId, SourceFacts, Tick, Writer},
};
use tagq_export::report;
use tagq_plot::{Figure, Look, Picture};
use tagq_serve::{Limits, Sites, Token};

use client::{Events, Served, ask, send};

/// Makes a run of two sources, with tags of the channels 1 to 5 that have micro times.
fn make(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("run.tagq");
    let run_id = Some(RunId(*b"tagq every case!"));
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id };
    let mut writer = Writer::open(&path, &creation).unwrap();
    writer.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let mut time = 0;
    for name in ["first", "second"] {
        let (mut times, mut channels, mut micro) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..1_500_u32 {
            time += i64::from(row * 7_919 % 13);
            times.push(time);
            channels.push(1 + u16::try_from(row * row % 31 % 5).unwrap());
            micro.push(row * 37 % 60);
        }
        writer.begin_source();
        writer.append_with_micro(&times, &channels, &micro).unwrap();
        writer.finish_source(SourceFacts::named(name));
        writer.commit().unwrap();
    }
    path
}

fn open(path: &Path) -> Run {
    tagq::open(path, &OpenOptions { ingest: false, ..OpenOptions::default() }, &Silent).unwrap()
}

/// Keeps notes.
#[derive(Default)]
struct Noted(Mutex<Vec<String>>);

impl Progress for Noted {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        self.0.lock().unwrap().push(note.to_owned());
    }
}

/// Returns the answer of the library, and its notes.
fn answer(run: &Run, name: &str, options: &OptionValues) -> (Answer, Vec<String>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (setup, noted) = (Setup::default(), Noted::default());
    let context = QueryContext::new(&setup, &pool, &noted);
    let question = Question::of_options(name, options.clone()).unwrap();
    let answer = question.ask(&[(run, &context)]).unwrap();
    (answer, noted.0.into_inner().unwrap())
}

/// Returns the same as JSON.
fn counted(run: &Run, name: &str, options: &OptionValues) -> Value {
    let (answer, notes) = answer(run, name, options);
    let mut bytes = Vec::new();
    report::json::write(&[answer], &mut bytes).unwrap();
    let mut json: Value = serde_json::from_slice(&bytes).unwrap();
    json["notes"] = json!(notes);
    json
}

#[test]
fn each_kind_of_request_is_answered_as_by_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let server = Served::start(&[&path], Sites::default(), None, Limits::default());
    let run = open(&path);
    let cases = cases();
    assert!(cases.len() > 20);
    let (mut rows, mut noted) = (0, 0);
    for (name, options) in cases {
        let question = json!({"run": path.to_str(), "query": name, "options": options}).to_string();
        let answer = server.post("/api/query", &question, &[]);
        assert_eq!(answer.status, 200, "{question}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let expected = counted(&run, name, &options);
        assert_eq!(answer.json(), expected, "{question}");
        let accept = [("accept", "application/vnd.apache.arrow.stream")];
        let arrow = server.post("/api/query", &question, &accept);
        assert_eq!(arrow.header("content-type"), Some(accept[0].1));
        let notes: Value = serde_json::from_str(arrow.header("tagq-notes").unwrap()).unwrap();
        assert_eq!(notes, expected["notes"]);
        noted += notes.as_array().unwrap().len();
        if !expected["rows"].as_array().unwrap().iter().any(|row| row["count"].is_u64()) {
            continue;
        }
        let batches = StreamReader::try_new(&*arrow.body, None).unwrap().map(Result::unwrap);
        let counts = batches.flat_map(|batch| {
            let column = batch.column_by_name("count").unwrap().clone();
            let column = column.as_any().downcast_ref::<arrow_array::Int64Array>().unwrap().clone();
            (0..column.len()).map(|at| Value::from(column.value(at))).collect::<Vec<_>>()
        });
        let counts: Vec<Value> = counts.collect();
        let of_json = expected["rows"].as_array().unwrap().iter().map(|row| row["count"].clone());
        assert_eq!(counts, of_json.collect::<Vec<_>>(), "{question}");
        rows += counts.len();
    }
    assert!(rows > 100 && noted > 5, "{rows} rows, {noted} notes");
}

#[test]
fn each_kind_of_request_is_drawn_as_by_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let server = Served::start(&[&path], Sites::default(), None, Limits::default());
    let run = open(&path);
    let look = Look {
        title: Some("Mine".into()),
        size: Some((500.0, 300.0)),
        is_dark: true,
        ..Look::default()
    };
    let shown = json!({"title": "Mine", "size": [500, 300], "is_dark": true});
    let mut kinds = HashSet::new();
    // The figure of a search is a histogram.
    for (name, options) in tagq::requests::cases() {
        let question = json!({"query": name, "options": options, "figure": shown}).to_string();
        let (answer, _) = answer(&run, name, &options);
        let figure = Figure::of_look(&answer, &look).unwrap();
        let expected = serde_json::to_value(&figure).unwrap();
        let beside = server.post("/api/query", &question, &[]).json();
        assert_eq!(beside["figure"], expected, "{question}");
        let accept = [("accept", "application/vnd.tagq.figure+json")];
        let alone = server.post("/api/query", &question, &accept);
        assert_eq!(alone.header("content-type"), Some(accept[0].1));
        assert_eq!(alone.json(), expected);
        let svg = server.post("/api/query", &question, &[("accept", "image/svg+xml")]);
        assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
        assert_eq!(svg.body, Picture::Svg.draw(&figure, &answer).unwrap());
        kinds.extend(expected["plot"].as_object().unwrap().keys().cloned());
    }
    assert_eq!(kinds, ["chart", "bars", "matrix", "map"].map(str::to_owned).into());
    let bare = json!({"query": "rates"}).to_string();
    assert_eq!(server.post("/api/query", &bare, &[]).json().get("figure"), None);
    let svg = server.post("/api/query", &bare, &[("accept", "text/html, image/svg+xml;q=0.9")]);
    assert!(svg.text().starts_with("<?xml") && svg.text().contains("Rates"), "{}", svg.text());
    for (figure, reason) in [
        (json!({"limits": [0, 1]}), "figure: this figure has bars"),
        (json!({"titel": "x"}), "unknown field `titel`"),
        (json!({"quantity": "phase"}), "no quantity `phase`"),
        (json!({"size": [1, 1]}), "240"),
    ] {
        let question = json!({"query": "rates", "figure": figure}).to_string();
        let refused = server.post("/api/query", &question, &[]);
        assert_eq!(refused.status, 400, "{figure}");
        let error = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(reason) && !error.contains("--"), "{error}");
    }
    let nothing = json!({"query": "rates", "options": {"channels": [9]}, "figure": {}});
    assert_eq!(server.post("/api/query", &nothing.to_string(), &[]).status, 200);
}

#[test]
fn the_runs_and_kinds_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let server = Served::start(&[&path, &empty], Sites::default(), None, Limits::default());
    let runs = server.get("/api/run", &[]).json();
    let [first, second] = &runs["runs"].as_array().unwrap()[..] else { panic!("{runs}") };
    assert_eq!(first["facts"]["tags"], 3_000);
    assert_eq!((&first["index"], &first["name"]), (&json!(0), &json!(path.to_str())));
    assert!(first["age_s"].as_f64().unwrap() >= 0.0);
    assert_eq!((&second["index"], &second["facts"]), (&json!(1), &Value::Null));
    let early = server.post("/api/query", r#"{"run": 1, "query": "rates"}"#, &[]);
    assert_eq!((early.status, early.header("retry-after")), (503, Some("1")));
    let kinds = server.get("/api/kinds", &[]).json();
    let kinds = kinds["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), tagq::QUERY_TYPES.len());
    for (kind, of) in kinds.iter().zip(tagq::QUERY_TYPES) {
        assert_eq!((&kind["name"], &kind["schema"]), (&json!(of.name), &of.schema()));
        let options = kind["options"].as_array().unwrap();
        assert_eq!(options.len(), of.options().count());
        for option in options {
            let name = option["name"].as_str().unwrap();
            assert_eq!(kind["schema"]["properties"][name]["description"], option["help"]);
        }
    }
    let described = server.get("/api/openapi.json", &[]).json();
    for path in ["/api/run", "/api/info", "/api/kinds", "/api/query", "/api/command", "/api/watch"]
    {
        assert!(described["paths"][path].is_object(), "{path}");
    }
    let info = server.get("/api/info", &[]).json();
    assert_eq!((&info["tags"], info["sources"].as_array().unwrap().len()), (&json!(3_000), 2));
    let none = [info.get("store"), info.get("leftovers")];
    assert_eq!(none, [None, None]);
    for (path, status) in [("1", 503), ("2", 404), ("-1", 404), ("x", 404)] {
        assert_eq!(server.get(&format!("/api/info?run={path}"), &[]).status, status, "{path}");
    }
}

#[test]
fn the_page_is_there_and_loads_nothing_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let token = Token::random().unwrap();
    let sites = Sites { base_path: "/lab".into(), ..Sites::default() };
    let server = Served::start(&[&path], sites, Some(token), Limits::default());
    for (path, kind) in [
        ("/lab/", "text/html; charset=utf-8"),
        ("/lab/page.js", "text/javascript; charset=utf-8"),
        ("/lab/page.css", "text/css; charset=utf-8"),
        ("/lab/icon.svg", "image/svg+xml"),
    ] {
        let file = server.get(path, &[]);
        assert_eq!((file.status, file.header("content-type")), (200, Some(kind)), "{path}");
        let text = file.text().replace("http://www.w3.org/", "");
        assert!(!text.contains("http://") && !text.contains("https://"), "{path}");
        let policy = file.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'; script-src 'self'"), "{policy}");
    }
    let text = server.get("/lab/", &[]).text();
    assert!(text.contains("\"page.js\"") && text.contains("\"page.css\""), "{text}");
    assert_eq!(server.get("/lab/api/info", &[]).status, 401);
}

/// A status, and the method, path and headers that lead to it.
type WrongRequest<'a> = (u16, &'a str, &'a str, &'a [(&'a str, &'a str)]);

#[test]
fn wrong_requests_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let secret = folder.path().join("secret.tags");
    fs::write(&secret, "secret").unwrap();
    let sites = Sites { hosts: vec!["lab.example.org".into()], base_path: String::new() };
    let server = Served::start(&[&path, &path], sites, None, Limits::default());
    let of = |json: &str| server.post("/api/query", json, &[]);
    let fine = r#"{"run": 0, "query": "rates"}"#;
    assert_eq!(of(fine).status, 200);
    let wrong: [(u16, &str, &str); 11] = [
        (400, "rates", "JSON"),
        (400, r#"{"run": 0}"#, "query"),
        (400, r#"{"query": "rates"}"#, "`run` is missing"),
        (404, r#"{"run": 2, "query": "rates"}"#, "none of the served runs"),
        (404, r#"{"run": "/etc/passwd", "query": "rates"}"#, "none of the served runs"),
        (400, r#"{"run": 0, "query": "ingest"}"#, "is none of coincidences"),
        (400, r#"{"run": 0, "query": "rates", "options": {"windo": "2ns"}}"#, "no option `windo`"),
        (400, r#"{"run": 0, "query": "rates", "options": {"channels": ["Alice"]}}"#, "Alice"),
        (400, r#"{"run": 0, "query": "rates", "path": "/etc"}"#, "unknown field `path`"),
        (
            400,
            r#"{"run": 0, "query": "image", "options": {"line": "1", "lifetime": "exp", "irf": "/etc/passwd"}}"#,
            "opens no file that a query names",
        ),
        (
            400,
            r#"{"run": 0, "query": "image", "options": {"line": "1", "mask": "auto"}}"#,
            "opens no file that a query names",
        ),
    ];
    for (status, json, reason) in wrong {
        let answer = of(json);
        assert_eq!(answer.status, status, "{json}: {}", answer.text());
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(reason), "{json}: {error}");
    }
    let name = json!({"run": secret.to_str(), "query": "rates"}).to_string();
    assert_eq!(of(&name).status, 404);
    assert!(!folder.path().join("secret.tags.tagq").exists(), "it was not ingested");
    let large = format!(r#"{{"run": 0, "query": "{}"}}"#, "x".repeat(70_000));
    assert_eq!(of(&large).status, 413);
    let json = [("content-type", "application/json")];
    let requests: [WrongRequest<'_>; 12] = [
        (405, "GET", "/api/query", &[]),
        (405, "POST", "/api/run", &json),
        (404, "GET", "/api/../../etc/passwd", &[]),
        (404, "GET", "/etc/passwd", &[]),
        (415, "POST", "/api/query", &[("content-type", "text/plain")]),
        (403, "GET", "/api/run", &[("host", "evil.example.org")]),
        (403, "GET", "/", &[("host", "evil.example.org:8417")]),
        (403, "GET", "/api/run", &[("host", "10.1.2.3")]),
        (403, "GET", "/api/run", &[("origin", "http://evil.example.org")]),
        (403, "GET", "/api/run", &[("origin", "null")]),
        (403, "GET", "/api/run", &[("sec-fetch-site", "cross-site")]),
        (400, "GET", "/api/watch", &[]),
    ];
    for (status, method, path, headers) in requests {
        let answer = server.request(method, path, headers, fine.as_bytes());
        assert_eq!(answer.status, status, "{method} {path} {headers:?}");
        assert!(answer.json()["error"].is_string());
    }
    let by_get = server.get("/api/query", &[]).json();
    assert!(by_get["error"].as_str().unwrap().contains("sent by POST to /api/query"), "{by_get}");
    let own = format!("http://localhost:{}", server.address.port());
    for host in ["localhost", "lab.example.org", "127.0.0.1:99", "[::1]:8417"] {
        assert_eq!(server.get("/api/run", &[("host", host)]).status, 200, "{host}");
    }
    let host = own.trim_start_matches("http://");
    assert_eq!(server.get("/api/run", &[("host", host), ("origin", &own)]).status, 200);
    for answer in [server.get("/", &[]), of(fine), of("x"), server.get("/none", &[])] {
        assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
}

#[test]
fn a_token_is_needed_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let token = Token::random().unwrap();
    let secret = token.text().to_owned();
    let sites = Sites { base_path: "/lab/".into(), ..Sites::default() };
    let server = Served::start(&[&path], sites, Some(token), Limits::default());
    let status = |headers: &[(&str, &str)]| server.get("/lab/api/run", headers).status;
    assert_eq!(server.get("/lab/", &[]).status, 200);
    assert_eq!(server.get("/api/run", &[]).status, 401);
    assert_eq!(status(&[]), 401);
    assert_eq!(status(&[("authorization", &format!("Bearer {}0", &secret[1..]))]), 401);
    assert_eq!(status(&[("authorization", &format!("Basic {secret}"))]), 401);
    assert_eq!(status(&[("authorization", &format!("Bearer {secret}"))]), 200);
    assert_eq!(server.get(&format!("/lab/api/run?token={secret}"), &[]).status, 401);
    let login =
        |token: &str| server.post("/lab/api/login", &json!({"token": token}).to_string(), &[]);
    let wrong = login("0");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let cookie = login(&secret).header("set-cookie").unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/lab/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(status(&[("cookie", &format!("a=b; {cookie}"))]), 200);
    assert_eq!(status(&[("cookie", &format!("other{cookie}"))]), 401);
}

#[test]
fn a_busy_server_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let limits = Limits { queries: 0, streams: 0, ..Limits::default() };
    let server = Served::start(&[&path], Sites::default(), None, limits);
    let busy = server.post("/api/query", r#"{"query": "rates"}"#, &[]);
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    assert_eq!(
        server
            .get("/api/watch?queries=[{\"query\":\"rates\"}]".replace('"', "%22").as_str(), &[])
            .status,
        503
    );
    assert_eq!(server.get("/api/run", &[]).status, 200, "what counts nothing is answered");
}

#[test]
fn a_query_ends_with_its_reader_and_after_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.tagq");
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
    let mut writer = Writer::open(&path, &creation).unwrap();
    let times: Vec<i64> = (0..3_000_000).collect();
    let channels: Vec<u16> = times.iter().map(|time| 1 + u16::from(time % 2 == 0)).collect();
    writer.begin_source();
    writer.append(&times, &channels).unwrap();
    writer.finish_source(SourceFacts::named("a"));
    writer.commit().unwrap();
    // 1.5 million times 1.5 million differences: hours.
    let options = json!({"start": 1, "stop": 2, "range": "3000000t", "bin": "10000t"});
    let long = json!({"query": "histogram", "options": options}).to_string();
    let short = r#"{"query": "rates"}"#;
    let limits = Limits { queries: 1, time: Duration::from_mins(50), ..Limits::default() };
    let server = Served::start(&[&path], Sites::default(), None, limits);
    let headers = [("content-type", "application/json")];
    let reader = send(server.address, "POST", "/api/query", &headers, long.as_bytes());
    while server.post("/api/query", short, &[]).status != 503 {}
    drop(reader);
    while server.post("/api/query", short, &[]).status != 200 {}
    drop(server);
    let limits = Limits { time: Duration::from_millis(20), ..Limits::default() };
    let server = Served::start(&[&path], Sites::default(), None, limits);
    let late = server.post("/api/query", &long, &[]);
    assert_eq!(late.status, 504, "{}", late.text());
}

#[test]
fn events_have_the_answers_at_each_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    fs::create_dir(&path).unwrap();
    let record = |name: &str| {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fixtures/pairs");
        fs::copy(from.join(name), folder.path().join("new")).unwrap();
        fs::rename(folder.path().join("new"), path.join(name)).unwrap();
    };
    let server = Served::start(&[&path], Sites::default(), None, Limits::default());
    let rates = json!({"channels": [1, 2], "last": "10ms"});
    let pairs = json!({"window": "2ns", "groups": [[1, 2]]});
    let questions = json!([
        {"query": "coincidences", "options": pairs},
        {"run": 0, "query": "rates", "options": rates},
    ]);
    let mut readers: Vec<Events> = (0..3).map(|_| server.watch(&questions)).collect();
    for (name, tags) in [("1.tags.zst", None), ("2.tags.zst", Some(()))] {
        record(name);
        let mut ids = Vec::new();
        for reader in &mut readers {
            let run = loop {
                let event = reader.next();
                let update: Value = serde_json::from_str(&event.data).unwrap();
                let answers = update["answers"].as_array().unwrap();
                assert_eq!(answers.len(), 2);
                if answers[0].is_null() {
                    // Before the first commit.
                    continue;
                }
                let run = open(&path);
                let is_all =
                    run.store().manifest().sources.len() == 1 + usize::from(tags.is_some());
                let is_now = answers[0]["run"]["commit"] == run.store().manifest().commit;
                if is_all && is_now {
                    break (run, answers.clone(), event.id);
                }
            };
            let (run, answers, id) = run;
            ids.push(id);
            let expected = counted(&run, "coincidences", pairs.as_object().unwrap());
            assert!(expected["rows"][0]["count"].as_u64().unwrap() > 0);
            let mut expected = [expected, counted(&run, "rates", rates.as_object().unwrap())];
            for (answer, expected) in answers.iter().zip(&mut expected) {
                let expected = expected.as_object_mut().unwrap();
                expected.remove("notes");
                expected.remove("schema_version");
                assert_eq!(answer, &Value::from(expected.clone()));
            }
        }
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(readers[0].header(name), Some(value));
    }
    // The end of the server ends all streams.
    drop(server);
    assert!(readers.iter_mut().all(Events::is_at_end));
}

#[test]
fn names_of_a_question_are_those_of_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let server = Served::start(&[&path], Sites::default(), None, Limits::default());
    let options = |groups: Value| json!({"window": "20t", "groups": groups});
    let named = json!({
        "query": "coincidences",
        "options": options(json!([["H", "V"]])),
        "names": {"H": 1, "V": 2},
        "figure": {},
    });
    let answer = server.post("/api/query", &named.to_string(), &[]).json();
    let plain = json!({"query": "coincidences", "options": options(json!([[1, 2]]))});
    let expected = server.post("/api/query", &plain.to_string(), &[]).json();
    assert!(expected["rows"][0]["count"].as_u64().unwrap() > 0);
    assert_eq!(answer["rows"][0]["count"], expected["rows"][0]["count"]);
    assert_eq!(answer["rows"][0]["names"], json!(["H", "V"]), "{}", answer["rows"][0]);
    assert!(answer["figure"].to_string().contains("H,V"), "{}", answer["figure"]);
    // No question names the channels of another one.
    let other = json!({"query": "coincidences", "options": options(json!([["H", "V"]]))});
    assert_eq!(server.post("/api/query", &other.to_string(), &[]).status, 400);
    for (names, reason) in [
        (json!({"H": 1, "V": 1}), "two names"),
        (json!({"1": 1}), "cannot be a name"),
        (json!({"H": 70_000}), "70000"),
        ((0..1_025).map(|of| (format!("n{of}"), json!(of))).collect(), "1024 names at most"),
    ] {
        let question = json!({"query": "rates", "names": names}).to_string();
        let refused = server.post("/api/query", &question, &[]);
        let error = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(refused.status == 400 && error.contains(reason), "{error}");
    }
    let typed = server.post("/api/command", &json!([named, plain]).to_string(), &[]).json();
    let path = path.to_str().unwrap();
    let pair = if cfg!(windows) { "\"1,2\"" } else { "1,2" };
    let expected = json!({
        "command": format!("tagq coincidences {pair} --window 20t {path}"),
        "python": format!("tagq.open({}).coincidences([(1, 2)], window=\"20t\")", json!(path)),
    });
    assert_eq!(typed, json!([expected, expected]));
    assert_eq!(server.post("/api/command", &named.to_string(), &[]).json(), expected);
    let wrong = json!({"query": "rates", "options": {"windo": 1}}).to_string();
    assert_eq!(server.post("/api/command", &wrong, &[]).status, 400);
}

#[test]
fn sums_lists_and_delays_are_answered_where_they_have_a_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let other = make(&other);
    let limits = Limits { answer: 1 << 20, ..Limits::default() };
    let server = Served::start(&[&path, &other], Sites::default(), None, limits);
    let options = json!({"window": "20t", "groups": [[1, 2]]});
    let sum = json!({"run": [0, other.to_str()], "query": "coincidences", "options": options});
    let of = |run: u32| {
        let question = json!({"run": run, "query": "coincidences", "options": options});
        let answer = server.post("/api/query", &question.to_string(), &[]).json();
        answer["rows"][0]["count"].as_u64().unwrap()
    };
    let answer = server.post("/api/query", &sum.to_string(), &[]).json();
    assert_eq!(answer["rows"][0]["count"], of(0) + of(1), "{answer}");
    assert_eq!(answer["provenance"]["runs"].as_array().unwrap().len(), 2);
    let delays = json!({"run": 0, "query": "delays", "options": {"channels": [1, 2]}});
    let mut events = server.watch(&json!([sum, delays]));
    let event: Value = serde_json::from_str(&events.next().data).unwrap();
    assert_eq!(event["answers"][0]["rows"], answer["rows"]);
    assert_eq!(event["answers"][1]["query"]["kind"], "delays", "{event}");
    let list = |more: &[(&str, Value)]| {
        let mut question =
            json!({"run": 0, "query": "coincidences", "options": options, "list": true});
        for (key, value) in more {
            question[key] = value.clone();
        }
        question
    };
    let listed = server.post("/api/query", &list(&[]).to_string(), &[]);
    assert_eq!(listed.json()["rows"].as_array().unwrap().len() as u64, of(0));
    let accept = [("accept", "application/vnd.apache.arrow.stream")];
    let arrow = server.post("/api/query", &list(&[]).to_string(), &accept);
    let batches = StreamReader::try_new(&*arrow.body, None).unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().num_rows() as u64).sum::<u64>(), of(0));
    assert_eq!(arrow.header("tagq-notes"), Some("[]"));
    let wrong: [(Value, &str); 10] = [
        (list(&[("run", json!([0, 1]))]), "of one run"),
        (list(&[("figure", json!({}))]), "no figure"),
        (list(&[("query", json!("rates")), ("options", json!({}))]), "only coincidences"),
        (list(&[("query", json!("delays")), ("options", json!({}))]), "has no list"),
        (list(&[("options", json!({"window": "1s"}))]), "larger than 1 MiB"),
        (json!({"run": [0, 0], "query": "rates"}), "named twice"),
        (json!({"run": [], "query": "rates"}), "empty list"),
        (json!({"run": [0, 1], "query": "delays"}), "one run"),
        (json!({"run": 0, "query": "delays", "options": {"bin": "1ns"}}), "no option `bin`"),
        (json!({"run": 0, "query": "delays", "figure": {}}), "figure: "),
    ];
    for (question, reason) in wrong {
        let refused = server.post("/api/query", &question.to_string(), &[]);
        assert_eq!(refused.status, 400, "{question}: {}", refused.text());
        assert!(refused.text().contains(reason), "{question}: {}", refused.text());
    }
    let bins = json!({"start": 1, "stop": 2, "range": "150000t", "bin": "1t"});
    let many = json!({"run": 0, "query": "histogram", "options": bins}).to_string();
    let refused = server.post("/api/query", &many, &[]);
    assert!(
        refused.status == 400 && refused.text().contains("larger than 1 MiB"),
        "{}",
        refused.text()
    );
    let coded = "%5B%7B%22run%22:0,%22query%22:%22coincidences%22,%22list%22:true%7D%5D";
    assert_eq!(server.get(&format!("/api/watch?queries={coded}"), &[]).status, 400);
}

#[test]
fn questions_of_a_stream_are_answered_each_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let server = Served::start(&[&path, &empty], Sites::default(), None, Limits::default());
    let mut events = server.watch(&json!([
        {"run": 0, "query": "rates", "options": {"channels": ["Alice"]}},
        {"run": 0, "query": "rates", "options": {"channels": [1, 9]}, "figure": {}},
        {"run": 1, "query": "rates"},
        {"run": 0, "query": "rates", "options": {"windo": "2ns"}},
        {"run": 0, "query": "rates", "figure": {"limits": [0, 1]}},
    ]));
    let event: Value = serde_json::from_str(&events.next().data).unwrap();
    let list = |key: &str| event[key].as_array().unwrap().clone();
    let is_null = |list: Vec<Value>| list.iter().map(Value::is_null).collect::<Vec<_>>();
    assert_eq!(is_null(list("answers")), [true, false, true, true, false]);
    assert_eq!(is_null(list("errors")), [false, true, false, false, true]);
    assert_eq!(is_null(list("figures")), [true, false, true, true, true]);
    assert_eq!(is_null(list("ages_s")), [false, false, true, false, false]);
    for (at, reason) in [(0, "Alice"), (2, "has no tags yet"), (3, "no option `windo`")] {
        assert!(list("errors")[at].as_str().unwrap().contains(reason), "{event}");
    }
    let notes = list("notes");
    assert!(notes[1][0].as_str().unwrap().contains("channel 9 has no tags"), "{event}");
    assert!(notes[4][0].as_str().unwrap().contains("bars"), "{event}");
    assert_eq!((&notes[0], &notes[2]), (&json!([]), &json!([])));
    let age = list("ages_s")[1].as_f64().unwrap();
    assert!(age >= 0.0, "{age}");
    // A figure is in place of its rows.
    let has_rows = |at: usize| list("answers")[at].get("rows").is_some();
    assert_eq!([1, 4].map(has_rows), [false, true]);
    assert_eq!(list("columns")[1], json!(["rate_hz"]));
    let figure = &list("figures")[1];
    assert_eq!(figure["plot"]["bars"]["bars"].as_array().unwrap().len(), 2, "{figure}");
    // A list that is no list of questions is no stream.
    let status = |json: &str| server.get(&format!("/api/watch?queries={json}"), &[]).status;
    assert_eq!(status("%5B%5D"), 400);
    assert_eq!(status("%5B%7B%7D%5D"), 400);
    assert_eq!(status("%5B%7B%22query%22:%22none%22,%22run%22:0%7D%5D"), 400);
    assert_eq!(status("%5B%7B%22query%22:%22rates%22,%22run%22:7%7D%5D"), 404);
}

#[test]
fn a_client_that_never_reads_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    // One connection at a time: the next one is answered when the first is closed.
    let write_time = Duration::from_millis(200);
    let limits = Limits { connections: 1, write_time, ..Limits::default() };
    let server = Served::start(&[&path], Sites::default(), None, limits);
    // Of each answer and event more than all buffers of a connection hold.
    let options = json!({"start": 1, "stop": 2, "range": "60000t", "bin": "1t"});
    let question = json!({"query": "histogram", "options": options});
    let json = [("content-type", "application/json")];
    let body = question.to_string();
    let list = json!([question]).to_string();
    let list = list.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>();
    let stream = format!("/api/watch?queries={}", list.concat());
    for request in [("POST", "/api/query", &json[..], &body), ("GET", &stream, &[], &String::new())]
    {
        let (method, path, headers, body) = request;
        let unread = send(server.address, method, path, headers, body.as_bytes());
        assert_eq!(server.get("/api/run", &[]).status, 200);
        drop(unread);
    }
}

/// Returns a histogram of so many bins: its JSON has about 100 bytes a bin.
fn histogram(bins: u32) -> Value {
    let range = format!("{}t", bins / 2);
    json!({"query": "histogram", "options": {"start": 1, "stop": 2, "range": range, "bin": "1t"}})
}

#[test]
fn long_answers_are_written_as_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let server = Served::start(&[&path], Sites::default(), None, Limits::default());
    let question = histogram(300_000);
    let options = serde_json::from_value(question["options"].clone()).unwrap();
    let of_library = counted(&open(&path), "histogram", &options);
    let long = server.post("/api/query", &question.to_string(), &[]);
    assert!(long.body.len() > 20 << 20, "{}", long.body.len());
    assert_eq!((long.status, long.header("content-length")), (200, None));
    assert!(long.json()["rows"] == of_library["rows"]);
    let accept = [("accept", "application/vnd.apache.arrow.stream")];
    let arrow = server.post("/api/query", &question.to_string(), &accept);
    let batches = StreamReader::try_new(&*arrow.body, None).unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 300_001);
    let short = server.post("/api/query", &histogram(10).to_string(), &[]);
    assert_eq!(short.header("content-length"), Some(&*short.body.len().to_string()));
}

#[test]
fn answers_that_nobody_reads_fill_no_more_than_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    // The table of this histogram has 4.6 MiB, and the text of its event more than five.
    let limits = Limits { answer: 5 << 20, unsent: 16 << 20, ..Limits::default() };
    let server = Served::start(&[&path], Sites::default(), None, limits);
    let question = histogram(60_000);
    let body = question.to_string();
    let headers = [("content-type", "application/json")];
    let unread = || {
        let stream = send(server.address, "POST", "/api/query", &headers, body.as_bytes());
        let mut first = [0; 12];
        (&stream).read_exact(&mut first).unwrap();
        (stream, String::from_utf8_lossy(&first).into_owned())
    };
    let all: Vec<_> = (0..4).map(|_| unread()).collect();
    let answered = all.iter().filter(|(_, head)| head == "HTTP/1.1 200").count();
    assert_eq!(answered, 3, "{all:?}");
    let refused = server.post("/api/query", &body, &[]);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    // Events have their own budget. An answer that is too large for it is left out of the event.
    let event = next(&mut server.watch(&json!([question, {"query": "rates"}])));
    assert!(event["errors"][0].as_str().unwrap().contains("larger than 5 MiB"), "{event}");
    assert_eq!(event["errors"][1], Value::Null);
    assert!(event["answers"][1]["rows"].is_array(), "{event}");
    drop(all);
    let is_answered = |_| server.post("/api/query", &body, &[]).status == 200;
    assert!((0..10_000).any(is_answered));
}

fn next(events: &mut Events) -> Value {
    serde_json::from_str(&events.next().data).unwrap()
}

#[test]
fn events_for_which_there_is_no_memory_are_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    // A table of 2.3 MiB, a text of as much, and the other table: one event fits, and no second one.
    let limits = Limits { answer: 3 << 20, unsent: 7 << 20, ..Limits::default() };
    let server = Served::start(&[&path], Sites::default(), None, limits);
    let rates = json!({"query": "rates"});
    let mut one = server.watch(&json!([histogram(30_000), rates]));
    let event = next(&mut one);
    assert_eq!(event["errors"], json!([null, null]));
    let mut other = server.watch(&json!([histogram(30_002), rates]));
    let event = next(&mut other);
    assert!(event["errors"][0].as_str().unwrap().contains("busy"), "{}", event["errors"]);
    assert_eq!(event["errors"][1], Value::Null);
    // Answers do not wait for events.
    assert_eq!(server.post("/api/query", &histogram(30_000).to_string(), &[]).status, 200);
    drop(one);
    let is_whole = |_| next(&mut other)["errors"] == json!([null, null]);
    assert!((0..10).any(is_whole));
}

#[test]
fn slow_and_broken_requests_leave_the_server_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let server = Served::start(&[&path], Sites::default(), None, Limits::default());
    let json = ("content-type", "application/json");
    let half = send(server.address, "POST", "/api/query", &[json, ("x-half", "1")], b"");
    for broken in
        ["", "GET", "\r\n\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0", "POST / HTTP/1.1\r\n"]
    {
        drop(client::raw(server.address, broken.as_bytes()));
    }
    for broken in
        ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nhost: localhost\r\nhost: evil\r\n\r\n"]
    {
        let answer = ask(client::raw(server.address, broken.as_bytes()));
        assert_eq!(answer.status, 403, "{broken}");
    }
    assert_eq!(server.get("/api/run", &[]).status, 200);
    drop(half);
}
