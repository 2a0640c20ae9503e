//! A server in this process, and a plain client.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::Value;
use tagq::{Follower, HOLD_BACK, OpenOptions, Silent, requests::Setup};
use tagq_serve::{Limits, ServedRun, Server, Sites, Token};

/// A running server, which ends on drop.
pub(crate) struct Served {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Served {
    pub fn start(paths: &[&Path], sites: Sites, token: Option<Token>, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let runs = paths.iter().map(|path| {
            let hold_back = HOLD_BACK.parse().unwrap();
            let mut follower = Follower::new(path, &OpenOptions::default(), hold_back).unwrap();
            assert!(follower.advance(&Silent).is_none());
            let name = path.to_str().unwrap().to_owned();
            ServedRun { name, setup: Setup::default(), follower }
        });
        let server = Server { listener, runs: runs.collect(), sites, token, limits };
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            server.run(Arc::new(Silent), &|| is_stopped.load(Ordering::Relaxed)).unwrap();
        });
        Self { address, stop, thread: Some(thread) }
    }

    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        ask(send(self.address, method, path, headers, body))
    }

    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.request("GET", path, headers, b"")
    }

    pub fn post(&self, path: &str, json: &str, headers: &[(&str, &str)]) -> Reply {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.request("POST", path, &headers, json.as_bytes())
    }

    pub fn watch(&self, questions: &Value) -> Events {
        let json = questions.to_string();
        let coded = json.bytes().map(|byte| format!("%{byte:02X}"));
        let coded = coded.collect::<Vec<_>>().concat();
        let path = format!("/api/watch?queries={coded}");
        let mut lines = BufReader::new(send(self.address, "GET", &path, &[], b""));
        let (status, headers) = head(&mut lines);
        assert_eq!(status, 200);
        Events { lines, headers }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(thread::panicking() || ended.is_ok());
    }
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
}

/// Connects and sends these bytes.
pub(crate) fn raw(to: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    // The server may refuse before it has read all.
    let _ = stream.write_all(bytes);
    stream
}

/// Sends a request; `host` may be among the headers.
pub(crate) fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> TcpStream {
    let mut head = vec![format!("{method} {path} HTTP/1.1\r\nconnection: close")];
    if headers.iter().all(|(name, _)| *name != "host") {
        head.push(format!("host: {to}"));
    }
    head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    // The body of a request with this header never comes.
    let is_half = headers.iter().any(|(name, _)| *name == "x-half");
    let len = if is_half { 100 } else { body.len() };
    head.push(format!("content-length: {len}\r\n\r\n"));
    let head = head.join("\r\n");
    raw(to, &[head.as_bytes(), body].concat())
}

/// Reads the whole answer.
pub(crate) fn ask(stream: TcpStream) -> Reply {
    let mut lines = BufReader::new(stream);
    let (status, headers) = head(&mut lines);
    let mut body = Vec::new();
    let mut take = |lines: &mut BufReader<TcpStream>, len: usize| {
        let from = body.len();
        body.resize(from + len, 0);
        lines.read_exact(&mut body[from..]).unwrap();
    };
    if find(&headers, "transfer-encoding") == Some("chunked") {
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            match usize::from_str_radix(line.trim_end(), 16).unwrap() {
                0 => break,
                len => take(&mut lines, len),
            }
            lines.read_exact(&mut [0; 2]).unwrap();
        }
    } else if let Some(len) = find(&headers, "content-length") {
        take(&mut lines, len.parse().unwrap());
    }
    Reply { status, headers, body }
}

fn head(lines: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let status = first.split(' ').nth(1).unwrap_or_else(|| panic!("`{first}`")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let line = line();
        let Some((name, value)) = line.split_once(": ") else { return (status, headers) };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
}

/// The stream of events of one reader.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
    headers: Vec<(String, String)>,
}

/// One event.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub kind: Option<String>,
    pub id: String,
    pub data: String,
}

impl Events {
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Returns the next line of the body, without the lengths of its chunks; `None` at its end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| line.trim_end().to_owned())
    }

    pub fn next(&mut self) -> Event {
        let mut event = Event::default();
        loop {
            let line = self.line().unwrap();
            match line.split_once(": ") {
                Some(("event", kind)) => event.kind = Some(kind.into()),
                Some(("id", id)) => event.id = id.into(),
                Some(("data", data)) => {
                    event.data = data.into();
                    return event;
                }
                _ => {}
            }
        }
    }

    /// Reads to the end, which the server sets.
    pub fn is_at_end(&mut self) -> bool {
        while self.line().is_some() {}
        true
    }
}
