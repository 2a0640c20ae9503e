//! What is told on stderr while something takes long.

use std::{
    cell::RefCell,
    fmt::Write,
    io::{IsTerminal as _, Write as _, stderr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tagq::Progress;

use crate::{report::thousands, signals};

/// Notes as lines, and on a terminal a bar for each source, or a line that says what takes so long.
pub(crate) struct Reporter {
    quiet: bool,
    running: RefCell<Option<Running>>,
}

struct Running {
    bar: ProgressBar,
    stop: Sender<()>,
    drawer: thread::JoinHandle<()>,
}

/// A bar is drawn when its job takes longer.
const BEFORE_BAR: Duration = Duration::from_millis(100);
/// What says no more than how long it takes is drawn later.
const BEFORE_SPINNER: Duration = Duration::from_secs(1);
/// How often what is drawn is drawn again.
const REDRAWN: Duration = Duration::from_millis(100);

impl Reporter {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, running: RefCell::new(None) }
    }

    /// A bar for something that goes over `bytes` bytes, until [`Progress::done`].
    pub(crate) fn job(&self, what: &str, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        const TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
        let bar = ProgressBar::new(bytes);
        bar.set_message(format!("{what} {name}"));
        let read = Arc::clone(read);
        self.run(bar, TEMPLATE, BEFORE_BAR, move |bar| bar.set_position(read.load(Relaxed)));
    }

    /// A bar for something that goes over tags, until [`Progress::done`]. `tags` are those done, and how
    /// many there are once that is known.
    pub(crate) fn job_of_tags(&self, what: &str, name: &str, tags: &Arc<[AtomicU64; 2]>) {
        const TEMPLATE: &str = "{msg} {wide_bar} {percent} %, {rate}, {eta} left";
        let bar = ProgressBar::new(0);
        bar.set_message(format!("{what} {name}"));
        let tags = Arc::clone(tags);
        self.run(bar, TEMPLATE, BEFORE_BAR, move |bar| {
            bar.set_length(tags[1].load(Relaxed));
            bar.set_position(tags[0].load(Relaxed));
        });
    }

    /// A line for something of which only the time is known that it takes; gone with what is returned.
    pub(crate) fn waiting(&self, what: &str, tags: u64) -> Waiting<'_> {
        let bar = ProgressBar::new_spinner();
        bar.set_message(format!("{what} {} tags", thousands(tags)));
        self.run(bar, "{spinner} {msg}, {elapsed}", BEFORE_SPINNER, ProgressBar::tick);
        Waiting(self)
    }

    fn run(
        &self,
        bar: ProgressBar,
        template: &str,
        before: Duration,
        draw: impl Fn(&ProgressBar) + Send + 'static,
    ) {
        if self.quiet || !stderr().is_terminal() {
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            let rate = |state: &ProgressState, out: &mut dyn Write| {
                // A line that cannot be drawn stops nothing.
                let _ = write!(out, "{:.2} Mtags/s", state.per_sec() / 1e6);
            };
            bar.set_style(style.with_key("rate", rate));
        }
        let (stop, stopped) = channel::<()>();
        let drawn = bar.clone();
        let drawer = thread::spawn(move || {
            let mut wait = before;
            while stopped.recv_timeout(wait).is_err() {
                draw(&drawn);
                wait = REDRAWN;
            }
            drawn.finish_and_clear();
        });
        *self.running.borrow_mut() = Some(Running { bar, stop, drawer });
    }
}

/// While this is there, a person is told that something takes long.
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
        if let Some(Running { stop, drawer, .. }) = self.running.borrow_mut().take() {
            // A drawer that is gone needs no word.
            let _ = stop.send(());
            let _ = drawer.join();
        }
    }

    fn temporary(&self, path: &Path) {
        signals::remove_at_end(path);
    }

    fn note(&self, note: &str) {
        if self.quiet {
            return;
        }
        let say = || {
            let style = anstyle::AnsiColor::Yellow.on_default();
            // A note that nobody can read stops nothing.
            let _ = writeln!(anstream::stderr(), "{style}note:{style:#} {note}");
        };
        match &*self.running.borrow() {
            Some(running) => running.bar.suspend(say),
            None => say(),
        }
    }
}
