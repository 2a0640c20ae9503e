//! What is told on stderr while something takes long.

use std::{
    cell::RefCell,
    collections::HashSet,
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

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tagq::{
    Progress, escaped,
    query::{Course, Progressed},
};

use crate::{report::thousands, signals};

/// Notes as lines, and on a terminal a bar for each source, or a line that says what takes so long.
pub(crate) struct Reporter {
    quiet: bool,
    said: RefCell<HashSet<String>>,
    course: Arc<Course>,
    running: RefCell<Option<Running>>,
}

struct Running {
    bar: ProgressBar,
    stop: Sender<()>,
    drawer: thread::JoinHandle<()>,
}

/// A bar is drawn when its job takes longer.
const BEFORE_BAR: Duration = Duration::from_millis(100);
/// Most queries are answered before anything would have been read of a bar.
const BEFORE_QUERY: Duration = Duration::from_millis(500);
/// What says no more than how long it takes is drawn later.
const BEFORE_SPINNER: Duration = Duration::from_secs(1);
/// Of something that goes over tags.
const OF_TAGS: &str = "{msg} {wide_bar} {percent} %, {rate}, {left}";
/// How often what is drawn is drawn again.
const REDRAWN: Duration = Duration::from_millis(100);

impl Reporter {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            said: RefCell::default(),
            course: Arc::default(),
            running: RefCell::new(None),
        }
    }

    /// A bar for something that goes over `bytes` bytes, until [`Progress::done`].
    pub(crate) fn job(&self, what: &str, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        const TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}, {left}";
        let bar = hidden(Some(bytes));
        bar.set_message(format!("{what} {}", escaped(name)));
        let read = Arc::clone(read);
        self.run(bar, TEMPLATE, BEFORE_BAR, move |bar| bar.set_position(read.load(Relaxed)));
    }

    /// A bar for something that goes over tags, until [`Progress::done`]. `tags` are those done, and how
    /// many there are once that is known.
    pub(crate) fn job_of_tags(&self, what: &str, name: &str, tags: &Arc<[AtomicU64; 2]>) {
        let bar = hidden(None);
        bar.set_message(format!("{what} {}", escaped(name)));
        let tags = Arc::clone(tags);
        self.run(bar, OF_TAGS, BEFORE_BAR, move |bar| {
            bar.set_length(tags[1].load(Relaxed));
            bar.set_position(tags[0].load(Relaxed));
        });
    }

    /// A bar for queries over so many tags, pass by pass; gone with what is returned.
    pub(crate) fn counting(&self, what: &str, tags: u64) -> Waiting<'_> {
        let bar = hidden(Some(tags));
        let what = format!("{what} {} tags", thousands(tags));
        bar.set_message(what.clone());
        let course = Arc::clone(&self.course);
        let mut pass = 1;
        self.run(bar, OF_TAGS, BEFORE_QUERY, move |bar| {
            let Progressed { passes, done, of, elapsed } = course.progressed();
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

    /// A line for something of which only the time is known that it takes; gone with what is returned.
    pub(crate) fn waiting(&self, what: &str, tags: u64) -> Waiting<'_> {
        let bar = hidden(None);
        bar.set_message(format!("{what} {} tags", thousands(tags)));
        self.run(bar, "{spinner} {msg}, {elapsed}", BEFORE_SPINNER, ProgressBar::tick);
        Waiting(self)
    }

    /// Notes what is the same for many runs once.
    pub(crate) fn note_once(&self, note: &str) {
        if self.said.borrow_mut().insert(note.into()) {
            self.note(note);
        }
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
            // Means since the bar began: a scan has one speed.
            let rate = |state: &ProgressState, out: &mut dyn Write| {
                // A line that cannot be drawn stops nothing.
                let _ = write!(out, "{:.1} Mtags/s", per_second(state) / 1e6);
            };
            let left = |state: &ProgressState, out: &mut dyn Write| {
                let rest = state.len().unwrap_or(0).saturating_sub(state.pos()) as f64;
                let left = Duration::try_from_secs_f64((rest / per_second(state)).ceil());
                let _ = match left {
                    Ok(left) => write!(out, "{} left", HumanDuration(left)),
                    Err(_) => write!(out, "beginning"),
                };
            };
            bar.set_style(style.with_key("rate", rate).with_key("left", left));
        }
        let (stop, stopped) = channel::<()>();
        let drawn = bar.clone();
        let drawer = thread::spawn(move || {
            let mut wait = before;
            while stopped.recv_timeout(wait).is_err() {
                draw(&drawn);
                drawn.set_draw_target(ProgressDrawTarget::stderr());
                wait = REDRAWN;
            }
            drawn.finish_and_clear();
        });
        *self.running.borrow_mut() = Some(Running { bar, stop, drawer });
    }
}

/// A bar that is drawn by nobody yet.
fn hidden(length: Option<u64>) -> ProgressBar {
    ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden())
}

/// What was done of it each second so far.
fn per_second(state: &ProgressState) -> f64 {
    state.pos() as f64 / state.elapsed().as_secs_f64()
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

    fn course(&self) -> Option<&Course> {
        Some(&self.course)
    }

    fn temporary(&self, path: &Path) {
        signals::remove_at_end(path);
    }

    fn note(&self, note: &str) {
        if self.quiet {
            return;
        }
        let say = || {
            let style = anstyle::AnsiColor::Yellow.on_default().bold();
            // A note that nobody can read stops nothing.
            let _ = writeln!(anstream::stderr(), "{style}note:{style:#} {}", escaped(note));
        };
        match &*self.running.borrow() {
            Some(running) => running.bar.suspend(say),
            None => say(),
        }
    }
}
