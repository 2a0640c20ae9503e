//! What is told on stderr while a store is brought up to date.

use std::{
    cell::RefCell,
    io::{IsTerminal as _, Write as _, stderr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use tagq::Progress;

use crate::signals;

/// Notes as lines, and a bar for each source on a terminal.
pub(crate) struct Reporter {
    quiet: bool,
    bar: RefCell<Option<Running>>,
}

struct Running {
    stop: Sender<()>,
    drawer: thread::JoinHandle<()>,
}

impl Reporter {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: RefCell::new(None) }
    }
}

impl Reporter {
    /// A bar for something that goes over `bytes` bytes, until [`Progress::done`].
    pub(crate) fn job(&self, what: &str, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        if self.quiet || !stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::new(bytes);
        let template = "{msg} {bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(format!("{what} {name}"));
        let read = Arc::clone(read);
        let (stop, stopped) = channel::<()>();
        let drawer = thread::spawn(move || {
            // Small files are done before the first line is drawn.
            while stopped.recv_timeout(Duration::from_millis(100)).is_err() {
                bar.set_position(read.load(Ordering::Relaxed));
            }
            bar.finish_and_clear();
        });
        *self.bar.borrow_mut() = Some(Running { stop, drawer });
    }
}

impl Progress for Reporter {
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        self.job("ingesting", name, bytes, read);
    }

    fn done(&self) {
        if let Some(Running { stop, drawer }) = self.bar.borrow_mut().take() {
            // A drawer that is gone needs no word.
            let _ = stop.send(());
            let _ = drawer.join();
        }
    }

    fn temporary(&self, path: &Path) {
        signals::remove_at_end(path);
    }

    fn note(&self, note: &str) {
        if !self.quiet {
            let style = anstyle::AnsiColor::Yellow.on_default();
            // A note that nobody can read stops nothing.
            let _ = writeln!(anstream::stderr(), "{style}note:{style:#} {note}");
        }
    }
}
