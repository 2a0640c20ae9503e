//! The surroundings of a watch: the screen, the keys, signals and notes.
//!
//! Keys change the query of the chosen row. Their changes are collected and made before the next answer, never while
//! one is counted. A note is shown once, however often the same answer repeats it; a note about a file that stops and
//! goes on is shown each time.

use std::{
    cell::RefCell,
    collections::HashSet,
    io::{self, Write as _},
    ops::ControlFlow,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::{Duration, Instant},
};

use tagq::{
    Answer, FollowChange, Progress, Waiter,
    requests::OptionValues,
    store::{Tick, os::Keyboard},
};

use crate::{
    args::{KEYS, PlotArgs, with_flags},
    progress::Reporter,
    report,
    signals::{Stop, remove_at_end},
    wrapped::broken,
};

use super::{
    change::{Change, InEffect},
    keys::{Key, keys},
    parts::{Parts, Watched, WatchedQuery},
    recent::{CountAt, Recent},
    rows::{WatchedRow, rows},
    screen::Screen,
    state::{Action, Choices, State, View},
    status::Status,
    view::{Drawn, paused, prompt_line},
};

/// Time without an answer after which a note says why.
const PATIENCE: Duration = Duration::from_millis(500);

/// Lines of a terminal that has room for the last minutes.
const HEIGHT_OF_RECENT: u16 = 12;

/// The terminal or file to which answers and notes are written.
pub(super) struct Host<'a> {
    runs: &'a [Watched],
    pub queries: Vec<WatchedQuery>,
    pub screen: Screen,
    pub stop: Stop,
    keyboard: Option<Keyboard>,
    pub state: State,
    recent: Recent,
    shown: Option<ShownAnswers>,
    /// Changes of queries that are to be made, each with the number of its query.
    changes: Vec<(usize, Change)>,
    /// The time of the data that was drawn last, and the size of the terminal.
    drawn: (Option<u64>, (u16, u16)),
    /// The time at which waiting for the first answer began.
    waiting: Option<Instant>,
    /// Notes that are not shown yet.
    new: RefCell<Vec<String>>,
    /// Notes that are not repeated.
    said: RefCell<HashSet<String>>,
}

/// The answers on the screen.
struct ShownAnswers {
    answers: Vec<Answer>,
    /// The query of each answer.
    queries: Vec<usize>,
    rows: Vec<WatchedRow>,
    status: Status,
    at: Instant,
}

/// Why the wait for new data is over.
pub(super) enum Wake {
    End(anyhow::Result<ExitCode>),
    /// A key asks for an answer.
    Key,
}

impl<'a> Host<'a> {
    pub(super) fn new(
        parts: &'a Parts,
        queries: Vec<WatchedQuery>,
        notes: Vec<String>,
    ) -> io::Result<Self> {
        let screen = Screen::new(parts.format);
        let keyboard = if screen.is_terminal() { Keyboard::open() } else { None };
        Ok(Self {
            runs: &parts.runs,
            queries,
            screen,
            stop: Stop::on_signals()?,
            keyboard,
            state: State::default(),
            recent: Recent::default(),
            shown: None,
            changes: Vec::new(),
            drawn: (None, (0, 0)),
            waiting: Some(Instant::now()),
            new: RefCell::new(notes),
            said: RefCell::default(),
        })
    }

    /// Shows a note at the next chance, once.
    pub(super) fn say(&self, note: String) {
        if self.said.borrow_mut().insert(note.clone()) {
            self.new.borrow_mut().push(note);
        }
    }

    /// Ends the wait for the first answer.
    pub(super) fn answered(&mut self) {
        self.waiting = None;
    }

    /// Shows new answers on a screen, each with the number of its query.
    pub(super) fn show(
        &mut self,
        answers: Vec<Answer>,
        queries: Vec<usize>,
        status: Status,
    ) -> io::Result<()> {
        let at = Instant::now();
        let rows = if self.keyboard.is_some() { rows(&answers, &queries) } else { Vec::new() };
        for row in &rows {
            let Some(count) = row.count else { continue };
            let live_s = answers[row.answer].run.live_s;
            self.recent.add(&row.key, CountAt { at, count, live_s });
        }
        let recent = &self.recent;
        self.state.hold(rows.iter().filter_map(|row| {
            let rate = if row.is_last { row.rate } else { recent.newest(&row.key) };
            Some((row.key.clone(), rate?))
        }));
        self.state.row = self.state.row.min(rows.len().saturating_sub(1));
        self.shown = Some(ShownAnswers { answers, queries, rows, status, at });
        self.show_notes()?;
        self.draw(at)
    }

    /// Makes the changes that keys asked for, where the run of a query ends at `end`. Returns the options before, each
    /// with the number of its query.
    pub(super) fn change(
        &mut self,
        end: impl Fn(&WatchedQuery) -> Option<i64>,
    ) -> Vec<(usize, OptionValues)> {
        let mut before = Vec::new();
        for (query, change) in std::mem::take(&mut self.changes) {
            let end = end(&self.queries[query]);
            let changed = self.in_effect(query, end).and_then(|now| now.changed(&change));
            let replaced = changed.and_then(|options| {
                let replaced = self.queries[query].question.replace(options);
                replaced.map_err(|error| error.to_string())
            });
            match replaced {
                Ok(options) => {
                    before.push((query, options));
                    // After a reset the counts begin at zero, and the rates stay those of the same tags.
                    self.recent.restart();
                    if !change.keeps_rates() {
                        self.recent.forget(&format!("{query}/"));
                        self.state.forget(&format!("{query}/"));
                    }
                }
                Err(error) => self.state.message = Some(with_flags(&error)),
            }
        }
        before
    }

    /// Takes changes back, because of this error.
    pub(super) fn undo(
        &mut self,
        before: Vec<(usize, OptionValues)>,
        error: String,
    ) -> io::Result<()> {
        for (query, options) in before.into_iter().rev() {
            // These options were in effect before, so that they are valid.
            let _ = self.queries[query].question.replace(options);
        }
        self.state.message = Some(error);
        self.draw(Instant::now())
    }

    /// Whether keys have asked for changes that are not made.
    pub(super) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Writes new notes to stderr, above the answers.
    pub(super) fn show_notes(&mut self) -> io::Result<()> {
        let new = std::mem::take(self.new.get_mut());
        let is_quiet = self.runs.iter().all(|run| run.quiet);
        if new.is_empty() || is_quiet {
            return Ok(());
        }
        self.screen.clear()?;
        let reporter = Reporter::new(false);
        for note in &new {
            reporter.say(note);
        }
        anstream::stderr().flush()?;
        // The answers are drawn again even if no others come.
        self.drawn.1 = (0, 0);
        Ok(())
    }

    /// Takes the keyboard, if there is one. Returns whether another program had it, which may have written on the screen.
    fn take_keyboard(&mut self) -> io::Result<bool> {
        let Some(keyboard) = &mut self.keyboard else { return Ok(false) };
        let is_taken = keyboard.take()?;
        if is_taken {
            self.screen.forget();
        }
        Ok(is_taken)
    }

    /// Draws the answers and the state of the runs.
    fn draw(&mut self, now: Instant) -> io::Result<()> {
        self.take_keyboard()?;
        let Some(of) = &self.shown else { return Ok(()) };
        let (height, width) = self.screen.size();
        let (answers, rows) = (&of.answers, &of.rows);
        let (recent, state) = (&self.recent, &self.state);
        let drawn = Drawn { answers, rows, recent, state, now, width: width.into() };
        let mut foot = Vec::new();
        if self.keyboard.is_some() {
            if height >= HEIGHT_OF_RECENT {
                foot.extend(drawn.recent());
            }
            let below = [self.command(), self.prompt(), state.message.clone()];
            let whole = |text: &String| broken(&text.replace('\n', " "), 0, width.into());
            let below = below.iter().flatten().map(whole);
            foot.extend(below.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()));
        }
        foot.push(self.status_line(of, now));
        let plots: Vec<Option<&PlotArgs>> =
            of.queries.iter().map(|&query| self.queries[query].plot.as_ref()).collect();
        let body = match state.view {
            View::Help => KEYS.to_owned(),
            View::Big => drawn.big(usize::from(height).saturating_sub(foot.len() + 1)),
            View::Answers => report::shown(&drawn.marked(), &plots, foot.len()),
        };
        self.drawn = (self.clock(now), (height, width));
        self.screen.show(&body, &foot)
    }

    /// Draws on a terminal that no new data come, or that it has another size.
    fn draw_age(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if !self.screen.is_terminal() || self.drawn == (self.clock(now), self.screen.size()) {
            return Ok(());
        }
        self.draw(now)
    }

    /// Returns a number that changes whenever the screen does because of the time.
    fn clock(&self, now: Instant) -> Option<u64> {
        let of = self.shown.as_ref()?;
        let paused = self.state.paused.then(|| now.saturating_duration_since(of.at).as_secs());
        paused.or_else(|| of.status.age(now))
    }

    fn status_line(&self, of: &ShownAnswers, now: Instant) -> String {
        let end = if self.keyboard.is_some() { "? shows the keys" } else { "Ctrl-C ends" };
        if self.state.paused {
            return format!("{}; {end}", paused(now.saturating_duration_since(of.at)));
        }
        of.status.line(now, end)
    }

    /// Returns the line with the command of the query of the chosen row, if keys have changed it.
    fn command(&self) -> Option<String> {
        let watched = &self.queries[self.query()];
        let question = &watched.question;
        let runs: Vec<&Path> = watched.runs.iter().map(|&run| &*self.runs[run].path).collect();
        (question.options != question.first).then(|| question.command(&runs))
    }

    /// Returns the line of the value that is typed.
    fn prompt(&self) -> Option<String> {
        let prompt = self.state.prompt.as_ref()?;
        Some(match self.in_effect(self.query(), None) {
            Ok(now) => prompt_line(prompt, &now),
            Err(error) => error,
        })
    }

    /// Returns the query that keys change: that of the chosen row.
    fn query(&self) -> usize {
        let chosen = self.shown.as_ref().and_then(|of| of.rows.get(self.state.row));
        chosen.map_or(0, |row| row.query)
    }

    /// Returns a query as it is counted, with the last time of its run. The error is for the user.
    fn in_effect(&self, query: usize, end: Option<i64>) -> Result<InEffect<'_>, String> {
        let no_answer = || "there is no answer yet".to_owned();
        let of = self.shown.as_ref().ok_or_else(no_answer)?;
        let at = of.queries.iter().position(|&other| other == query).ok_or_else(no_answer)?;
        let watched = &self.queries[query];
        let question = &watched.question;
        let answer = &of.answers[at];
        Ok(InEffect {
            of: question.of(),
            first: &question.first,
            options: &question.options,
            answer,
            setup: &self.runs[watched.runs[0]].setup,
            end,
            tick: Tick::from_fraction(&answer.run.tick).map_err(|error| error.to_string())?,
        })
    }

    /// Waits for a key.
    fn wait_for_keys(&mut self, pause: Duration) -> io::Result<Option<Wake>> {
        let is_taken = self.take_keyboard()?;
        let Some(keyboard) = &mut self.keyboard else {
            thread::sleep(pause);
            return Ok(None);
        };
        let Ok(bytes) = keyboard.read(if is_taken { Duration::ZERO } else { pause }) else {
            // The terminal is gone, and its signal ends the program.
            thread::sleep(pause);
            return Ok(None);
        };
        let (pressed, mut wake) = (keys(&bytes), None);
        for &key in &pressed {
            match self.choose(key) {
                Some(Action::End) => return Ok(Some(Wake::End(Ok(Stop::INTERRUPTED.into())))),
                Some(Action::Continue) => wake = Some(Wake::Key),
                Some(Action::Change(change)) => {
                    self.changes.push((self.query(), change));
                    wake = Some(Wake::Key);
                }
                None => {}
            }
        }
        if is_taken || !pressed.is_empty() {
            self.draw(Instant::now())?;
        }
        Ok(wake)
    }

    fn choose(&mut self, key: Key) -> Option<Action> {
        let (mut rows, mut group, mut channels, mut tick) = (0, &[][..], Vec::new(), Tick::DEFAULT);
        if let Some(of) = &self.shown {
            rows = of.rows.len();
            if let Some(row) = of.rows.get(self.state.row) {
                let run = &of.answers[row.answer].run;
                group = &row.group;
                channels = run.channels.iter().map(|of| of.channel).collect();
                tick = Tick::from_fraction(&run.tick).unwrap_or(tick);
            }
        }
        self.state.key(key, Choices { rows, group, channels: &channels, tick })
    }
}

impl Progress for Host<'_> {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        self.say(with_flags(note));
    }

    fn temporary(&self, path: &Path) {
        remove_at_end(path);
    }
}

impl Waiter for Host<'_> {
    type End = Wake;

    fn changed(&self, _: usize, change: &FollowChange) {
        // The same change may come again.
        self.new.borrow_mut().push(change.to_string());
    }

    fn pause(&mut self, pause: Duration, _: u64) -> ControlFlow<Wake> {
        if let Some(code) = self.stop.exit_code() {
            return ControlFlow::Break(Wake::End(Ok(code.into())));
        }
        if self.waiting.is_some_and(|since| since.elapsed() >= PATIENCE) {
            for watched in self.runs {
                self.note(&format!("{}: waiting for the first tags", watched.path.display()));
            }
        }
        let shown = self.show_notes().and_then(|()| self.draw_age());
        match shown.and_then(|()| self.wait_for_keys(pause)) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(wake)) => ControlFlow::Break(wake),
            Err(error) => ControlFlow::Break(Wake::End(Err(error.into()))),
        }
    }
}
