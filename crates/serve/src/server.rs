//! The server: connections, and its end.
//!
//! At its end it accepts no more connections, open ones have one second to finish, and the queries of those that are
//! left are cancelled. The thread that follows the runs is joined, so that no commit is cut.

use std::{
    net::TcpListener,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, http::Request};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tagq::{Progress, store::os};
use tokio::{
    net::TcpStream,
    runtime,
    sync::{Semaphore, watch},
    task, time,
};

use crate::{
    access::{Access, LocalAddress, Sites},
    budget::Budget,
    counting::{Counting, Limits},
    error::Error,
    live::Live,
    routes::{Shared, router},
    runs::{Runs, ServedRun},
    timed::TimedStream,
    token::Token,
};

/// Time in which the head of a request must arrive.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of the head of a request at most.
const HEAD_MAX: usize = 128 << 10;
/// Time between two looks whether the server is to end.
const PAUSE: Duration = Duration::from_millis(50);
/// Time between two returns of memory to the system.
const RETURN_TIME: Duration = Duration::from_secs(5);
/// Time that connections have to end.
const END_TIME: Duration = Duration::from_secs(1);

/// A server that is ready to run.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub listener: TcpListener,
    /// The runs that clients can ask, and no others.
    pub runs: Vec<ServedRun>,
    /// The names by which it is reached.
    pub sites: Sites,
    /// The secret that clients need, if they do.
    pub token: Option<Token>,
    /// Limits of the work that clients can cause.
    pub limits: Limits,
}

impl Server {
    /// Follows the runs and answers until `stop` returns true. `progress` receives notes of the ingest and of answers that
    /// failed.
    ///
    /// # Errors
    /// [`Error::BasePath`], and errors of starting threads and of listening.
    pub fn run(
        self,
        progress: Arc<dyn Progress + Send + Sync>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let Self { listener, runs, sites, token, limits } = self;
        let base = sites.base()?.to_owned();
        let counting = Arc::new(Counting::new(&limits)?);
        let cookie = format!("tagq-{}", listener.local_addr()?.port());
        let access = Access { hosts: sites.hosts, token, cookie, base };
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            // Each connection may have an answer that is written on a thread, beside those that count.
            .max_blocking_threads(
                limits.connections.saturating_add(limits.queries).saturating_add(64),
            )
            .build()?;
        listener.set_nonblocking(true)?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (runs, thread) = Runs::follow(runs, &is_stopped, Arc::clone(&progress))?;
        let runs = Arc::new(runs);
        let budgets = counting.budgets().map(Budget::clone);
        let live = Arc::new(Live::new(&runs, &counting, limits.streams, &progress));
        let app = router(Arc::new(Shared { access, runs, counting, live, progress }));
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (ending, _) = watch::channel(());
            tokio::select! {
                () = accept(&listener, &app, &limits, &ending) => {}
                () = return_memory(&budgets) => {}
                () = until(stop) => {}
            }
            drop(listener);
            is_stopped.store(true, Ordering::Relaxed);
            ending.send_replace(());
            // All connections are done when no one waits for the end any more.
            let _ = time::timeout(END_TIME, ending.closed()).await;
            Ok(())
        });
        is_stopped.store(true, Ordering::Relaxed);
        // Connections that are left are dropped, which cancels their queries.
        runtime.shutdown_timeout(END_TIME);
        let _ = thread.join();
        served
    }
}

/// Returns when `stop` returns true.
async fn until(stop: &dyn Fn() -> bool) {
    while !stop() {
        time::sleep(PAUSE).await;
    }
}

/// Returns memory to the system from time to time, if answers were sent in between.
async fn return_memory(budgets: &[Budget; 2]) {
    loop {
        time::sleep(RETURN_TIME).await;
        let [answers, events] = budgets.each_ref().map(Budget::has_freed);
        if answers || events {
            let _ = task::spawn_blocking(os::return_memory).await;
        }
    }
}

/// Accepts connections, a set number at a time.
async fn accept(
    listener: &tokio::net::TcpListener,
    app: &Router,
    limits: &Limits,
    ending: &watch::Sender<()>,
) {
    let turns = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, for example: that may be over soon.
            time::sleep(PAUSE).await;
            continue;
        };
        let (app, ending, write_time) = (app.clone(), ending.subscribe(), limits.write_time);
        tokio::spawn(async move {
            let _turn = turn;
            answer(stream, write_time, app, ending).await;
        });
    }
}

/// Answers the requests of one connection. If the client leaves, the query that it waits for is cancelled. If it reads
/// nothing, the connection is closed after `write_time`.
async fn answer(
    stream: TcpStream,
    write_time: Duration,
    app: Router,
    mut ending: watch::Receiver<()>,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Events are small and must not wait for the next one. If this is refused, they only come later.
    let _ = stream.set_nodelay(true);
    let app = TowerToHyperService::new(app);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(LocalAddress(local));
        app.call(request)
    });
    let stream = TimedStream::new(stream, write_time);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_MAX);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let is_ending = tokio::select! {
        _ = connection.as_mut() => false,
        _ = ending.changed() => true,
    };
    if is_ending {
        connection.as_mut().graceful_shutdown();
        let _ = time::timeout(END_TIME, connection).await;
    }
}
