//! Progress and notes on stderr.
//!
//! A bar appears after 0.1 s of an ingest, 0.5 s of a query, and a line with the elapsed time after 1 s, because
//! shorter work would only flicker. Where stderr is no terminal there are notes alone, and with `--quiet` there are
//! none either. A thread of its own draws, so that a slow terminal does not delay a count.

use std::{
    cell::RefCell,
    fmt::Write,
    io::{IsTerminal as _, Write as _, stderr},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tagq::{
    Progress, escaped,
    query::{ProgressSnapshot, ScanProgress},
};

use tagq_export::report::table::quantities::counted;

use crate::{args::with_flags, signals, time_left::TimeLeft, wrapped::for_stderr};

/// Prints notes as lines. On a terminal it also shows a bar for each source, or a line for a long task.
pub(crate) struct Reporter {
    quiet: bool,
    progress: Arc<ScanProgress>,
    running: RefCell<Option<Running>>,
    /// A note that is printed after [`BEFORE_LATE`], unless the work is done.
    late: RefCell<Option<Late>>,
}

struct Running {
    bar: ProgressBar,
    stop: Sender<()>,
    drawer: thread::JoinHandle<()>,
}

/// A thread that waits to print a note, until it is stopped.
struct Late {
    stop: Sender<()>,
    thread: thread::JoinHandle<()>,
}

/// Delay before a note that work takes long.
const BEFORE_LATE: Duration = Duration::from_secs(1);
/// Delay before the bar of a job is drawn.
const BEFORE_BAR: Duration = Duration::from_millis(100);
/// Delay before the bar of a query is drawn. Most queries finish earlier.
const BEFORE_QUERY: Duration = Duration::from_millis(500);
/// Delay before a line is drawn that shows only the elapsed time.
const BEFORE_SPINNER: Duration = Duration::from_secs(1);
/// Template of a bar that counts tags.
const OF_TAGS: &str = "{msg} {wide_bar} {percent} %, {rate}, {left}";
/// Interval between two redraws.
const REDRAWN: Duration = Duration::from_millis(100);

impl Reporter {
    pub(crate) fn new(quiet: bool) -> Self {
        let (running, late) = (RefCell::new(None), RefCell::new(None));
        Self { quiet, progress: Arc::default(), running, late }
    }

    /// Shows a bar for a job over `bytes` bytes, until [`Progress::done`].
    pub(crate) fn job(&self, what: &str, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        const TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}, {left}";
        let bar = hidden(Some(bytes));
        bar.set_message(format!("{what} {}", escaped(name)));
        let read = Arc::clone(read);
        self.run(bar, TEMPLATE, BEFORE_BAR, move |bar| bar.set_position(read.load(Relaxed)));
    }

    /// Shows a bar for a job over tags, until [`Progress::done`]. `tags` holds the number of tags done and,
    /// as soon as it is known, the total.
    pub(crate) fn job_of_tags(&self, what: &str, name: &str, tags: &Arc<[AtomicU64; 2]>) {
        let bar = hidden(None);
        bar.set_message(format!("{what} {}", escaped(name)));
        let tags = Arc::clone(tags);
        self.run(bar, OF_TAGS, BEFORE_BAR, move |bar| {
            bar.set_length(tags[1].load(Relaxed));
            bar.set_position(tags[0].load(Relaxed));
        });
    }

    /// Shows a bar for queries over `tags` tags, pass by pass. Dropping the returned value removes the bar.
    pub(crate) fn counting(&self, what: &str, tags: u64) -> Waiting<'_> {
        let bar = hidden(Some(tags));
        let what = format!("{what} {}", counted(tags, "tag"));
        bar.set_message(what.clone());
        let progress = Arc::clone(&self.progress);
        let mut pass = 1;
        self.run(bar, OF_TAGS, BEFORE_QUERY, move |bar| {
            let ProgressSnapshot { passes, done, of, elapsed } = progress.snapshot();
            if passes == 0 {
                return;
            }
            if passes > pass {
                pass = passes;
                bar.set_message(format!("{what}, pass {pass}"));
            }
            bar.set_length(of);
            bar.set_position(done);
            let _ = bar.clone().with_elapsed(elapsed);
        });
        Waiting(self)
    }

    /// Shows a line with the elapsed time, for a task of unknown length. Dropping the returned value removes
    /// the line.
    pub(crate) fn waiting(&self, what: &str, tags: u64) -> Waiting<'_> {
        let bar = hidden(None);
        bar.set_message(format!("{what} {}", counted(tags, "tag")));
        self.run(bar, "{spinner} {msg}, {elapsed}", BEFORE_SPINNER, ProgressBar::tick);
        Waiting(self)
    }

    /// Prints a note as it is: its words are not options.
    pub(crate) fn say(&self, note: &str) {
        if !self.quiet {
            say(note, self.bar().as_ref());
        }
    }

    fn bar(&self) -> Option<ProgressBar> {
        self.running.borrow().as_ref().map(|running| running.bar.clone())
    }

    fn run(
        &self,
        bar: ProgressBar,
        template: &str,
        before: Duration,
        mut draw: impl FnMut(&ProgressBar) + Send + 'static,
    ) {
        if self.quiet || !stderr().is_terminal() {
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            // The rate is the mean since the start, because a scan has a constant speed.
            let rate = |state: &ProgressState, out: &mut dyn Write| {
                // A bar that cannot be drawn is not an error.
                let _ = write!(out, "{:.1} Mtags/s", per_second(state) / 1e6);
            };
            let estimate = Arc::new(Mutex::new(TimeLeft::default()));
            let left = move |state: &ProgressState, out: &mut dyn Write| {
                let mut estimate = estimate.lock().unwrap_or_else(PoisonError::into_inner);
                let of = state.len().unwrap_or(0);
                let _ = match estimate.at(state.elapsed(), state.pos(), of) {
                    Some(left) => write!(out, "{} left", HumanDuration(left)),
                    None => write!(out, "beginning"),
                };
            };
            bar.set_style(style.with_key("rate", rate).with_key("left", left));
        }
        let (stop, stopped) = channel::<()>();
        let drawn = bar.clone();
        let drawer = thread::spawn(move || {
            let is_over = |wait| stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            if is_over(before) {
                return;
            }
            // Only once: a new target does not know the line that the one before has drawn.
            drawn.set_draw_target(ProgressDrawTarget::stderr());
            draw(&drawn);
            while !is_over(REDRAWN) {
                draw(&drawn);
            }
            drawn.finish_and_clear();
        });
        *self.running.borrow_mut() = Some(Running { bar, stop, drawer });
    }
}

/// Prints a note, above the bar if there is one.
fn say(note: &str, bar: Option<&ProgressBar>) {
    let say = || {
        let style = anstyle::AnsiColor::Yellow.on_default().bold();
        // A note that cannot be printed is not an error.
        let note = for_stderr(&escaped(note), "note: ".len());
        let _ = writeln!(anstream::stderr(), "{style}note:{style:#} {note}");
    };
    match bar {
        Some(bar) => bar.suspend(say),
        None => say(),
    }
}

/// Returns a bar that is not drawn yet.
fn hidden(length: Option<u64>) -> ProgressBar {
    ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden())
}

/// Returns the mean progress per second so far.
fn per_second(state: &ProgressState) -> f64 {
    state.pos() as f64 / state.elapsed().as_secs_f64()
}

/// Shows progress until it is dropped.
pub(crate) struct Waiting<'a>(&'a Reporter);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl Progress for Reporter {
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        self.job("ingesting", name, bytes, read);
    }

    fn done(&self) {
        if let Some(Late { stop, thread }) = self.late.borrow_mut().take() {
            drop(stop);
            let _ = thread.join();
        }
        if let Some(Running { stop, drawer, .. }) = self.running.borrow_mut().take() {
            // The drawing thread may have ended already.
            let _ = stop.send(());
            let _ = drawer.join();
        }
    }

    fn scan(&self) -> Option<&ScanProgress> {
        Some(&self.progress)
    }

    fn temporary(&self, path: &Path) {
        signals::remove_at_end(path);
    }

    fn note(&self, note: &str) {
        self.say(&with_flags(note));
    }

    /// Prints the note after a second, because an answer may be cached.
    fn note_long(&self, note: &str) {
        if self.quiet {
            return;
        }
        let (note, bar) = (with_flags(note) + "; Ctrl-C ends it", self.bar());
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || {
            if stopped.recv_timeout(BEFORE_LATE) == Err(RecvTimeoutError::Timeout) {
                say(&note, bar.as_ref());
            }
        });
        *self.late.borrow_mut() = Some(Late { stop, thread });
    }
}
