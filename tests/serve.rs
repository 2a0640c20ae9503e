//! `tagq serve`, as a process: the same answers as those of the command line.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Killed, fixture_copy, interrupt, interruptible, output, root, skipped, tagq};

/// A running server.
pub(crate) struct Serve {
    pub process: Killed,
    /// Its address, as it printed it.
    url: String,
}

impl Serve {
    pub fn start(folder: &Path, args: &[&str]) -> Self {
        Self::start_with(folder, args, &[])
    }

    /// Starts one in which these variables of the environment are set.
    fn start_with(folder: &Path, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut process = interruptible();
        process.envs(environment.iter().copied());
        process.arg("serve").args(args).current_dir(folder).stdin(Stdio::null());
        process.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Killed(process.spawn().unwrap());
        let mut url = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { process, url: url.trim().to_owned() }
    }

    pub fn host(&self) -> &str {
        self.url.trim_start_matches("http://").split('/').next().unwrap()
    }

    /// Sends a request and returns the stream of its answer.
    pub fn send(&self, request: &str, body: &str) -> BufReader<TcpStream> {
        let host = self.host();
        let mut stream = TcpStream::connect(host).unwrap();
        let len = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {len}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    pub fn ask(&self, question: &Value) -> Value {
        self.post("/api/query", question)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let mut answer = String::new();
        let request = format!("POST {path}");
        self.send(&request, &body.to_string()).read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Ends it with Ctrl-C; returns what it wrote to stderr.
    pub fn stop(mut self) -> String {
        interrupt(&mut self.process.0);
        let mut notes = String::new();
        self.process.0.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
        notes
    }
}

/// Makes a run that is ingested to its end: of a file that may still grow, the newest tags are held back.
pub(crate) fn ingested(folder: &Path) {
    let run = fixture_copy(folder);
    assert_eq!(tagq(["ingest".as_ref(), run.as_os_str()]).code, 0);
}

#[test]
fn a_served_answer_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    ingested(folder.path());
    fs::write(folder.path().join("run/tagq.toml"), "[coincidences]\nwindow = \"2ns\"\n").unwrap();
    let server = Serve::start(folder.path(), &["run", "--bind", "127.0.0.1:0"]);
    let printed = |words: &[&str]| {
        let mut command = crate::support::command();
        output(command.current_dir(folder.path()).args(words).args(["run", "--json"])).json()
    };
    let question = json!({"run": "run", "query": "coincidences", "options": {"groups": [[1, 2]]}});
    let bare = |question: &Value| {
        let mut answer = server.ask(question);
        assert!(answer.as_object_mut().unwrap().remove("notes").unwrap().is_array());
        answer
    };
    let answer = bare(&question);
    assert_eq!(answer["rows"][0]["count"], 1_976);
    assert_eq!(answer, printed(&["coincidences", "1,2"]));
    let g2 = json!({"query": "g2", "options": {"start": 1, "stop": 2, "range": "20ns"}});
    assert_eq!(bare(&g2), printed(&["g2", "1,2", "--range", "20ns"]));
    // Events have the answers of the command at the same commit, and its notes.
    let questions =
        "%5B%7B%22query%22:%22rates%22,%22options%22:%7B%22last%22:%22100ms%22%7D%7D%5D";
    let mut events = server.send(&format!("GET /api/watch?queries={questions}"), "").lines();
    let data = events.find_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned));
    let event: Value = serde_json::from_str(&data.unwrap()).unwrap();
    let last = printed(&["rates", "--last", "100ms"]);
    for key in ["query", "run", "provenance", "rows", "total"] {
        assert_eq!(event["answers"][0][key], last[key], "{key}");
    }
    assert_eq!(event["schema_version"], last["schema_version"]);
    assert!(event["answers"][0]["rows"][0]["count"].as_u64().unwrap() > 0);
    let dark = json!({"query": "rates", "options": {"channels": [1, 77]}});
    let mut command = crate::support::command();
    let said = output(command.current_dir(folder.path()).args(["rates", "1,77", "run"]));
    let note = server.ask(&dark)["notes"][0].as_str().unwrap().to_owned();
    assert!(said.stderr.contains(&note) && note.contains("77"), "{note}: {}", said.stderr);
    let notes = server.stop();
    assert!(!notes.contains("error"), "{notes}");
    // The store is free again.
    assert_eq!(tagq(["ingest".as_ref(), folder.path().join("run").as_os_str()]).code, 0);
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn sums_lists_and_delays_are_those_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    ingested(folder.path());
    let later = folder.path().join("later one");
    fs::create_dir(&later).unwrap();
    fs::copy(folder.path().join("run/2.tags.zst"), later.join("2.tags.zst")).unwrap();
    assert_eq!(tagq(["ingest".as_ref(), later.as_os_str()]).code, 0);
    let server = Serve::start(folder.path(), &["run", "later one", "--bind", "127.0.0.1:0"]);
    let program = crate::support::command().get_program().to_owned();
    let pairs = json!({"window": "2ns", "groups": [[1, 2]]});
    let names = json!({"window": "2ns", "groups": [["it's", "V"]], "to": "5ms"});
    let delays = json!({"channels": [1, 2], "range": "1us"});
    let questions = [
        json!({"run": ["run", 1], "query": "coincidences", "options": pairs}),
        json!({"run": 1, "query": "coincidences", "options": pairs}),
        json!({"run": 0, "query": "coincidences", "list": true, "options": names,
               "names": {"it's": 1, "V": 2}}),
        json!({"run": "run", "query": "delays", "options": delays, "figure": {}}),
    ];
    let typed = server.post("/api/command", &json!(questions));
    for (question, typed) in questions.iter().zip(typed.as_array().unwrap()) {
        let line = typed["command"].as_str().unwrap();
        let line = line.replacen("tagq", "\"$TAGQ\"", 1) + " --json";
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("TAGQ", &program).current_dir(folder.path());
        let printed = output(&mut shell);
        assert_eq!(printed.code, 0, "{line}: {}", printed.stderr);
        let answer = server.ask(question);
        for note in answer["notes"].as_array().unwrap() {
            assert!(printed.stderr.contains(note.as_str().unwrap()), "{note}: {}", printed.stderr);
        }
        let printed = printed.json();
        let (rows, expected) = (answer["rows"].as_array(), printed["rows"].as_array());
        assert!(rows.is_some_and(|rows| !rows.is_empty()), "{answer}");
        assert_eq!(rows.map(Vec::len), expected.map(Vec::len), "{line}");
        for key in ["count", "peak_ticks", "times_ticks", "rows"] {
            let column =
                |rows: &[Value]| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
            assert_eq!(column(rows.unwrap()), column(expected.unwrap()), "{line}");
        }
        if question.get("names").is_none() {
            assert_eq!(answer["rows"], printed["rows"], "{line}");
            assert_eq!(answer["provenance"], printed["provenance"], "{line}");
        }
        let is_drawn = answer["figure"]["plot"]["chart"].is_object();
        assert_eq!(is_drawn, question.get("figure").is_some(), "{line}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn the_commands_of_the_document_work() {
    let folder = tempfile::tempdir().unwrap();
    ingested(folder.path());
    let server = Serve::start(folder.path(), &["run", "--bind", "127.0.0.1:0"]);
    let text = fs::read_to_string(root().join("docs/serve.md")).unwrap();
    let at = |code: &str| code.replace("127.0.0.1:8417", server.host());
    let block = |language: &str, word: &str| {
        let fence = format!("```{language}\n");
        let blocks = text.split(&fence).skip(1);
        let mut blocks = blocks.map(|rest| rest.split("```").next().unwrap().to_owned());
        at(&blocks.find(|block| block.contains(word)).unwrap())
    };
    if Command::new("curl").arg("--version").output().is_ok() {
        let asked = output(Command::new("bash").args(["-c", &block("sh", "curl")]));
        assert_eq!(asked.json()["rows"][0]["count"], 1_976);
    } else {
        skipped("there is no curl");
    }
    let polars = Command::new("python3").args(["-c", "import polars"]).output();
    if polars.is_ok_and(|output| output.status.success()) {
        let script = block("python", "polars") + "\nprint(g2['count'].sum() > 0, g2.columns)";
        let asked = output(Command::new("python3").args(["-c", &script]));
        assert!(asked.text().starts_with("True ['first_tick'"), "{asked:?}");
    } else {
        skipped("no python3 with Polars");
    }
}

#[test]
fn the_page_of_the_document_shows_each_answer() {
    let node = Command::new("node").arg("--version").output();
    let version = node.ok().and_then(|node| String::from_utf8(node.stdout).ok());
    let major =
        version.and_then(|text| text.trim_start_matches('v').split('.').next()?.parse().ok());
    if major.is_none_or(|major: u32| major < 20) {
        skipped("no node of version 20 or later");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    ingested(folder.path());
    let server = Serve::start(folder.path(), &["run", "--bind", "127.0.0.1:0"]);
    let text = fs::read_to_string(root().join("docs/serve.md")).unwrap();
    let example = text.split("```js\n").nth(1).unwrap().split("```").next().unwrap();
    // Functions that a browser has and node may lack.
    let browser = format!(
        "class EventSource {{
  constructor(path) {{ this.read(new URL(path, \"{}\")); }}
  async read(url) {{
    let rest = \"\";
    for await (const piece of (await fetch(url)).body.pipeThrough(new TextDecoderStream())) {{
      const events = (rest + piece).split(\"\\n\\n\");
      rest = events.pop();
      for (const event of events) {{
        const data = event.split(\"\\n\").filter((line) => line.startsWith(\"data: \"));
        if (data.length > 0) {{
          this.onmessage({{ data: data[0].slice(6) }});
          process.exit(0);
        }}
      }}
    }}
  }}
}}
",
        server.url
    );
    let shown = output(Command::new("node").args(["-e", &(browser + example)]));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let mut command = crate::support::command();
    let rates = command.current_dir(folder.path()).args(["rates", "--last", "1s", "run", "--json"]);
    let rate = output(rates).json()["total"][0]["rate_hz"].as_f64().unwrap();
    let words: Vec<f64> =
        shown.text().split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(words, [rate, 1_976.0]);
}

#[test]
fn other_computers_need_the_token_that_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let server = Serve::start(folder.path(), &["run", "--bind", "127.0.0.1:0", "--token"]);
    let token = server.url.split_once("/#token=").unwrap().1.to_owned();
    assert_eq!(token.len(), 64);
    let refused = server.ask(&json!({"query": "rates"}));
    assert!(refused["error"].as_str().unwrap().contains("token"), "{refused}");
    let mut answer = String::new();
    let allowed = format!("GET /api/run HTTP/1.1\r\nauthorization: Bearer {token}\r\nx: ");
    server.send(&allowed, "").read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let notes = server.stop();
    assert!(!notes.contains(&token), "{notes}");
    let wide = Serve::start(folder.path(), &["run", "--bind", "0.0.0.0:0"]);
    assert!(wide.url.contains("/#token="), "{}", wide.url);
}

#[test]
fn what_stops_the_ingest_of_a_run_is_said_until_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    ingested(folder.path());
    let run = folder.path().join("run");
    let files = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path());
    let source = files.filter(|path| path.is_file()).min().unwrap();
    let server = Serve::start(folder.path(), &["run", "--bind", "127.0.0.1:0"]);
    let problem = |is_wanted: &dyn Fn(&Value) -> bool| {
        for _ in 0..500 {
            let mut reply = String::new();
            server.send("GET /api/run", "").read_to_string(&mut reply).unwrap();
            let (_, body) = reply.split_once("\r\n\r\n").unwrap();
            let runs: Value = serde_json::from_str(body).unwrap();
            if is_wanted(&runs["runs"][0]["problem"]) {
                return runs["runs"][0]["problem"].clone();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("it is not said")
    };
    problem(&Value::is_null);
    let bytes = fs::read(&source).unwrap();
    let times = fs::metadata(&source).unwrap().modified().unwrap();
    fs::write(&source, &bytes[..bytes.len() / 2]).unwrap();
    let said = problem(&Value::is_string);
    let said = said.as_str().unwrap();
    assert!(said.starts_with("run") && said.ends_with("; trying again"), "{said}");
    // Rows that were ingested before are still counted.
    let answer = server
        .ask(&json!({"query": "coincidences", "options": {"window": "2ns", "groups": [[1, 2]]}}));
    assert_eq!(answer["rows"][0]["count"], 1_976);
    fs::write(&source, &bytes).unwrap();
    fs::File::options().write(true).open(&source).unwrap().set_modified(times).unwrap();
    problem(&Value::is_null);
    if cfg!(windows) {
        // A folder with open files cannot be renamed.
        return;
    }
    let aside = folder.path().join("aside");
    fs::rename(&run, &aside).unwrap();
    let said = problem(&Value::is_string);
    assert_eq!(said, "the store was removed; the answers are of its last commit");
    fs::rename(&aside, &run).unwrap();
    problem(&Value::is_null);
}

/// The browser is a script that writes the address that it shall open.
#[test]
#[cfg(target_os = "linux")]
fn the_page_is_opened_without_its_token() {
    use std::{os::unix::fs::PermissionsExt as _, time::Duration};

    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let browser = folder.path().join("xdg-open");
    fs::write(&browser, "#!/bin/sh\necho \"$1\" > \"$(dirname \"$0\")/address\"\n").unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let server = Serve::start_with(
        folder.path(),
        &["run", "--bind", "127.0.0.1:0", "--token", "--open", "--base-path", "/lab"],
        &[("PATH", &path)],
    );
    let address = folder.path().join("address");
    for _ in 0..500 {
        if fs::read_to_string(&address).is_ok_and(|text| text.ends_with('\n')) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let opened = fs::read_to_string(address).unwrap();
    assert_eq!(opened.trim(), format!("http://{}/lab/", server.host()));
    assert!(server.url.contains("#token="));
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let said = |words: &[&str], code: i32, part: &str| {
        let mut command = crate::support::command();
        let said = output(command.current_dir(folder.path()).arg("serve").args(words));
        assert_eq!(said.code, code, "{}", said.stderr);
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let free = "127.0.0.1:0";
    said(&[], 2, "RUN");
    said(&["run", "--bind", "here"], 2, "--bind");
    said(&["run", "--bind", &taken], 1, "cannot listen at");
    said(&["-", "--bind", free], 2, "standard input cannot be served");
    said(&["nowhere", "--bind", free], 1, "nowhere");
    said(&["run", "--bind", free, "--base-path", "lab"], 1, "begins with a slash");
}
