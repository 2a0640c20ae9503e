//! `tagq serve`: requests are answered over HTTP.

use std::{
    collections::HashSet,
    io::Write as _,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
};

use anyhow::Context as _;
use tagq::{FollowChange, Follower, OpenOptions, Progress};
use tagq_serve::{Limits, ServedRun, Server, Sites, Token};

use crate::{
    Usage,
    args::{ServeArgs, with_flags},
    input,
    progress::Reporter,
    queries,
    signals::{Stop, remove_at_end},
};

/// Serves until a signal ends the program; returns its exit code.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let query = &args.query;
    let (answer, unsent) = args.bytes()?;
    // Another program at this address is noticed before an ingest that may take long.
    let bind = args.bind;
    let listener = TcpListener::bind(bind).with_context(|| format!("cannot listen at {bind}"))?;
    let address = listener.local_addr()?;
    let is_open = address.ip().is_loopback() && !args.token;
    let token = if is_open { None } else { Some(Token::random()?) };
    let notes = Notes { is_quiet: query.store.quiet, noted: Mutex::default() };
    let runs = query.runs.iter().map(|path| served(args, path, &notes));
    let runs = runs.collect::<anyhow::Result<_>>()?;
    let limits = Limits {
        answer,
        unsent,
        threads: tagq::store::threads(queries::number_of(query.threads)),
        queries: args.queries,
        time: args.time_limit().map_err(tagq::Error::from)?,
        ..Limits::default()
    };
    let sites = Sites { hosts: args.allow_host.clone(), base_path: args.base_path.clone() };
    let secret = token.as_ref().map(|token| format!("#token={}", token.text()));
    let base = args.base_path.trim_end_matches('/');
    println!("http://{address}{base}/{}", secret.unwrap_or_default());
    std::io::stdout().flush()?;
    if args.open {
        show(address, base);
    }
    let stop = Stop::on_signals()?;
    let server = Server { listener, runs, sites, token, limits };
    server.run(Arc::new(notes), &|| stop.exit_code().is_some())?;
    Ok(stop.exit_code().unwrap_or_default().into())
}

/// Opens the page in the person's browser. A token is not handed over: others could read it in the list of processes, so
/// the page asks for it.
fn show(address: SocketAddr, base: &str) {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    if let Err(error) = open::that_detached(format!("http://{address}{base}/")) {
        Reporter::new(false)
            .say(&format!("no browser could be opened ({error}); open the address above"));
    }
}

/// Returns a run to serve, after the first ingest.
fn served(args: &ServeArgs, path: &Path, notes: &Notes) -> anyhow::Result<ServedRun> {
    if input::is_stdin(path) {
        return Err(Usage("standard input cannot be served; name a file or folder".into()).into());
    }
    let setup = input::setup(path, &args.setup)?;
    let options = OpenOptions { tick: setup.tick, ..queries::options(&args.query) };
    let hold_back = args.hold_back().map_err(tagq::Error::from)?;
    let mut follower = Follower::new(path, &options, hold_back)?;
    // Its errors were there before, and waiting does not help.
    match follower.advance(&Reporter::new(args.query.store.quiet)) {
        Some(FollowChange::Stopped(error)) => return Err(error.into()),
        Some(change) => notes.note(&change.to_string()),
        None => {}
    }
    Ok(ServedRun { name: path.display().to_string(), setup, follower })
}

/// Writes notes of the server to stderr, each once.
struct Notes {
    is_quiet: bool,
    noted: Mutex<HashSet<String>>,
}

impl Progress for Notes {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        /// Different notes that are written.
        const NOTES_MAX: usize = 1000;
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_quiet && noted.len() < NOTES_MAX && noted.insert(note.to_owned()) {
            Reporter::new(false).say(&with_flags(note));
        }
    }

    fn temporary(&self, path: &Path) {
        remove_at_end(path);
    }
}
