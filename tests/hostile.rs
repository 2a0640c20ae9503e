//! `tagq serve` with many readers, and with malicious clients.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    path::Path,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    serve::{Serve, ingested},
    support::root,
};

/// Memory of the server at most, in MiB.
const MEMORY_MAX: u64 = 160;

/// Checks the most memory that the server has had, where the system says so.
fn check_memory(server: &Serve) {
    let Ok(status) = fs::read_to_string(format!("/proc/{}/status", server.process.0.id())) else {
        return;
    };
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most = most.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024;
    assert!(most < MEMORY_MAX, "{most} MiB");
}

fn coded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

#[test]
fn two_hundred_readers_get_the_right_answers() {
    const READERS: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let record = |name: &str| {
        let new = folder.path().join("new");
        fs::copy(root().join("data/fixtures/pairs").join(name), &new).unwrap();
        fs::rename(new, run.join(name)).unwrap();
    };
    record("1.tags.zst");
    let server = Serve::start(folder.path(), &["run", "--bind", "127.0.0.1:0"]);
    // Four lists, each of fifty readers.
    let pairs = json!({"query": "coincidences", "options": {"window": "2ns", "groups": [[1, 2]]}});
    let list = |bins: usize| {
        let g2 = json!({"start": 1, "stop": 2, "range": "200ns", "bin": format!("{}ns", bins + 1)});
        coded(&json!([pairs, {"query": "g2", "options": g2, "figure": {}}]).to_string())
    };
    let reader = |number: usize| {
        let request = format!("GET /api/watch?queries={}", list(number % 4));
        server.send(&request, "")
    };
    let mut readers: Vec<_> = (0..READERS).map(reader).collect();
    thread::scope(|scope| {
        // Others ask at the same time; a busy server says so.
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let count = loop {
                        let answer = server.ask(&pairs);
                        if let Some(count) = answer["rows"][0]["count"].as_u64() {
                            break count;
                        }
                        let error = answer["error"].as_str().unwrap_or_default();
                        assert!(error.contains("busy") || error.contains("no tags"), "{answer}");
                        thread::yield_now();
                    };
                    assert!((1..=1_976).contains(&count), "{count}");
                }
            });
        }
        record("2.tags.zst");
        for reader in &mut readers {
            let mut before = 0;
            while before < 1_976 {
                let mut line = String::new();
                assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it ended at {before}");
                let Some(data) = line.strip_prefix("data: ") else { continue };
                let event: Value = serde_json::from_str(data).unwrap();
                let Some(count) = event["answers"][0]["rows"][0]["count"].as_u64() else {
                    continue;
                };
                assert!(count >= before, "{count} after {before}");
                let columns = event["columns"][1].as_array().unwrap();
                assert!(!columns.is_empty() && event["figures"][1].is_object(), "{event}");
                before = count;
            }
            assert_eq!(before, 1_976);
        }
    });
    check_memory(&server);
    let notes = server.stop();
    assert!(!notes.contains("panicked"), "{notes}");
}

/// Content of a file that no client may get.
const CANARY: &str = "canary-5e1f0c7d";

/// Returns the files below a folder with their contents, except those of stores.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("run/.tagq") {
            continue;
        }
        let name = path.display().to_string();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(name, Vec::new());
        } else {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

/// A request as it is sent, and whether the client waits for an answer.
type Hostile = (Vec<u8>, bool);

/// Returns a request with this head and body.
fn request(line: &str, headers: &str, body: &str) -> Hostile {
    let len = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {len}\r\n{headers}\r\n");
    ([head.as_bytes(), body.as_bytes()].concat(), true)
}

/// Returns the hostile request with this number.
fn hostile(number: usize, host: &str, folder: &Path) -> Hostile {
    let (kind, step) = (number % 14, number / 14);
    let own = format!("host: {host}\r\n");
    let of_json = format!("{own}content-type: application/json\r\n");
    let pick = |of: &[&str]| of[step % of.len()].to_owned();
    let canary = folder.join("canary.txt").display().to_string();
    let post = |body: &str| request("POST /api/query", &of_json, body);
    match kind {
        0 => {
            let up = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "....//", "%00/", "./../"];
            let path = pick(&up).repeat(1 + step % 9);
            let base = pick(&["/", "/api/", "/api/run/", "/login.js/", "", "http://localhost/"]);
            request(&format!("GET {base}{path}canary.txt"), &own, "")
        }
        1 => {
            let run =
                pick(&[&canary, "../canary.txt", "run/../canary.txt", "canary.txt", "", "\0", "-"]);
            post(&json!({"run": run, "query": "rates"}).to_string())
        }
        2 => {
            let wrong = pick(&[
                "evil.example.org",
                "127.0.0.1.evil.example.org",
                "a@127.0.0.1",
                "",
                "[::2]",
            ]);
            request("GET /api/run", &format!("host: {wrong}\r\n"), "")
        }
        3 => {
            let origin =
                pick(&["http://evil.example.org", "null", "file://", "http://127.0.0.1:1"]);
            let line = pick(&["GET /api/run", "POST /api/query", "GET /api/watch?queries=[]"]);
            request(&line, &format!("{of_json}origin: {origin}\r\n"), r#"{"query": "rates"}"#)
        }
        4 => {
            let method =
                pick(&["PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "OPTIONS", "G\0T", "get"]);
            request(&format!("{method} /api/query"), &of_json, r#"{"query": "rates"}"#)
        }
        5 => match step % 3 {
            0 => request("GET /api/run?x=%0d%0ax-injected:%201%0d%0a", &own, ""),
            1 => post(
                &json!({"run": "a\r\nx-injected: 1\r\n\r\n", "query": "b\r\nx-injected: 1"})
                    .to_string(),
            ),
            _ => request("GET /api/run", &format!("{own}x-a: 1\n x-injected: 1\nx-b: \0\r\n"), ""),
        },
        6 => {
            let mut state = u32::try_from(number).unwrap();
            let byte = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            ((0..=step * 7).map(byte).chain(*b"\r\n\r\n").collect(), true)
        }
        9 => match step % 3 {
            0 => request("GET /api/run", &format!("{own}x: {}\r\n", "y".repeat(300_000)), ""),
            1 => request("GET /api/run", &(own + &"x: y\r\n".repeat(2_000)), ""),
            _ => request(&format!("GET /{}", "a".repeat(200_000)), &own, ""),
        },
        10 => match step % 4 {
            0 => post(&" ".repeat(200_000)),
            1 => {
                let head = "POST /api/query HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n";
                (format!("{head}{of_json}\r\n").into_bytes(), true)
            }
            2 => {
                let head = "POST /api/query HTTP/1.1\r\ntransfer-encoding: chunked\r\n";
                (format!("{head}{of_json}\r\nfffffffffffffffff\r\nx").into_bytes(), true)
            }
            _ => {
                let head =
                    "POST /api/query HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 500\r\n";
                (format!("{head}{of_json}\r\n{{}}   ").into_bytes(), true)
            }
        },
        11 => {
            let half =
                pick(&["", "G", "GET /api/run HTTP/1.1\r\nhost:", "POST /api/query HTTP/1.1\r\n"]);
            (half.into_bytes(), false)
        }
        12 => {
            let head =
                format!("POST /api/query HTTP/1.1\r\n{of_json}content-length: 1000\r\n\r\n{{");
            (head.into_bytes(), false)
        }
        _ => post(&hostile_body(kind, step)),
    }
}

/// Returns the body of a hostile query.
fn hostile_body(kind: usize, step: usize) -> String {
    match kind {
        7 => {
            let opens = ["[", "{\"run\":", "{\"options\":{\"a\":", "[{\"figure\":"];
            let open = opens[step % opens.len()];
            open.repeat(60_000 / open.len())
        }
        8 => {
            let many = |item: Value| Value::from(vec![item; 3_000]);
            let options = match step % 3 {
                0 => json!({"window": "2ns", "groups": many(json!([1, 2]))}),
                1 => json!({"window": "2ns", "groups": [many(json!(1))]}),
                _ => json!({"window": "2ns", "channels": many(json!(65_535))}),
            };
            json!({"query": "coincidences", "options": options}).to_string()
        }
        _ => {
            let options = match step % 4 {
                0 => json!({"start": 1, "stop": 2, "range": "9e9s", "bin": "1t"}),
                1 => json!({"start": 1, "stop": 2, "range": "-1s..1s", "bin": "1t"}),
                2 => json!({"start": "it's", "stop": "$(reboot)", "range": "1e400s"}),
                _ => json!({"start": -1, "stop": 1e300, "log": 4_294_967_295_u32}),
            };
            json!({"query": "histogram", "options": options}).to_string()
        }
    }
}

#[test]
fn a_thousand_hostile_requests_get_nothing_and_break_nothing() {
    const REQUESTS: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    ingested(folder.path());
    fs::write(folder.path().join("canary.txt"), CANARY).unwrap();
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::write(folder.path().join("other/1.tags"), CANARY).unwrap();
    let before = tree(folder.path());
    let args = ["run", "--bind", "127.0.0.1:0", "--time-limit", "1s"];
    let server = Serve::start(folder.path(), &args);
    let pairs = json!({"query": "coincidences", "options": {"window": "2ns", "groups": [[1, 2]]}});
    let is_right = || server.ask(&pairs)["rows"][0]["count"] == 1_976;
    assert!(is_right());
    let (mut open, mut answered) = (Vec::new(), 0);
    for number in 0..REQUESTS {
        let (bytes, waits) = hostile(number, server.host(), folder.path());
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // The server may refuse before it has read all.
        let _ = stream.write_all(&bytes);
        if !waits {
            open.push(stream);
            continue;
        }
        if [6, 10].contains(&(number % 14)) {
            // These may have no end that the server could see.
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        let reply = String::from_utf8_lossy(&reply);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        assert!(!reply.contains(CANARY), "{shown}");
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_default();
        assert!(!head.to_lowercase().contains("\nx-injected"), "{shown}: {head}");
        if !head.is_empty() {
            answered += 1;
            let is_page = number % 14 == 0 && head.starts_with("HTTP/1.1 200");
            assert!(
                is_page || !head.starts_with("HTTP/1.1 200") || number % 14 >= 5,
                "{shown}: {head}"
            );
            assert!(
                !body.contains(&*folder.path().to_string_lossy()) || number % 14 == 1,
                "{body}"
            );
        }
        if number % 100 == 0 {
            assert!(is_right(), "after {shown}");
        }
    }
    assert!(answered > REQUESTS / 2, "{answered}");
    assert!(is_right());
    drop(open);
    assert!(is_right());
    check_memory(&server);
    let notes = server.stop();
    assert!(!notes.contains("panicked"), "{notes}");
    assert_eq!(tree(folder.path()), before);
}
