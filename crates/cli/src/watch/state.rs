//! The choices of the user: the view, the row, the text that is typed.
//!
//! `w3ns` and Enter set the window to 3 ns; `+` and `-` after `w` step it at once, and a sign within a number, as in
//! 1e-9s, is part of it. This file knows no terminal and no query: a key goes in, and an action comes out.

use std::collections::HashMap;

use tagq::store::Tick;

use super::{
    change::{Change, stepped},
    keys::Key,
};

/// The choices of the user.
#[derive(Debug, Default)]
pub(super) struct State {
    pub view: View,
    /// The chosen row, of those of all answers.
    pub row: usize,
    pub prompt: Option<Prompt>,
    /// An error or a remark, until the next key.
    pub message: Option<String>,
    pub paused: bool,
    /// The highest rate of each row since peaks are held, by its key.
    pub peaks: Option<HashMap<String, f64>>,
}

/// The content of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum View {
    /// The answers.
    #[default]
    Answers,
    /// One number as large as the screen.
    Big,
    /// The keys.
    Help,
}

/// A value that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prompt {
    pub asked: AskedValue,
    pub text: String,
}

/// The value that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AskedValue {
    Width,
    /// The delay of a channel, and the step of + and −.
    Delay {
        channel: u16,
        step: String,
    },
    Groups,
    Last,
}

/// The action of the program after a key, besides drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    End,
    /// Answers at once, because the pause is over.
    Continue,
    Change(Change),
}

/// The rows, channels and tick among which keys choose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The channels of the chosen row, and those of its run.
    pub group: &'a [u16],
    pub channels: &'a [u16],
    pub tick: Tick,
}

/// The word that removes a value.
pub(super) const NONE: &str = "none";
/// The first step of a delay, unless a tick is longer.
const DELAY_STEP: &str = "1ns";

impl State {
    /// Takes a key.
    pub(super) fn key(&mut self, key: Key, choices: Choices<'_>) -> Option<Action> {
        self.message = None;
        if let Some(prompt) = self.prompt.take() {
            return self.key_of_prompt(prompt, key, choices);
        }
        match key {
            Key::Char('q') => return Some(Action::End),
            Key::Char('p' | ' ') => {
                self.paused = !self.paused;
                return (!self.paused).then_some(Action::Continue);
            }
            Key::Char('+' | '=') => return Some(Action::Change(Change::Step { is_larger: true })),
            Key::Char('-' | '_') => return Some(Action::Change(Change::Step { is_larger: false })),
            Key::Char('w') => self.ask(AskedValue::Width),
            Key::Char('g') => self.ask(AskedValue::Groups),
            Key::Char('l') => self.ask(AskedValue::Last),
            Key::Char('d') => {
                let Some(&channel) = choices.group.last().or(choices.channels.first()) else {
                    self.message = Some("the run has no channels yet".into());
                    return None;
                };
                let is_long = choices.tick.seconds() > 1e-9;
                let step = if is_long { "1t" } else { DELAY_STEP }.into();
                self.ask(AskedValue::Delay { channel, step });
            }
            Key::Char('r') => return Some(Action::Change(Change::Reset)),
            Key::Char('R') => return Some(Action::Change(Change::Whole)),
            Key::Char('h') => {
                self.peaks = if self.peaks.is_some() { None } else { Some(HashMap::new()) };
            }
            Key::Char('b') => self.show(View::Big),
            Key::Char('?') => self.show(View::Help),
            Key::Escape => self.view = View::Answers,
            Key::Up | Key::Left | Key::Before => {
                self.row = if self.row == 0 { choices.rows } else { self.row }.saturating_sub(1);
            }
            Key::Down | Key::Right | Key::Next => {
                self.row = if self.row + 1 < choices.rows { self.row + 1 } else { 0 };
            }
            Key::Char(other) => {
                self.message = Some(format!("the key {other} has no meaning; ? shows the keys"));
            }
            Key::Enter | Key::Backspace => {}
        }
        None
    }

    /// Keeps the highest of these rates, each with the key of its row, if peaks are held.
    pub(super) fn hold(&mut self, rates: impl Iterator<Item = (String, f64)>) {
        let Some(peaks) = &mut self.peaks else { return };
        for (key, rate) in rates {
            let peak = peaks.entry(key).or_insert(rate);
            *peak = peak.max(rate);
        }
    }

    /// Forgets the peaks of the rows whose key begins with `query`, because they are of another query now.
    pub(super) fn forget(&mut self, query: &str) {
        self.peaks.iter_mut().for_each(|peaks| peaks.retain(|key, _| !key.starts_with(query)));
    }

    fn ask(&mut self, asked: AskedValue) {
        self.prompt = Some(Prompt { asked, text: String::new() });
    }

    fn show(&mut self, view: View) {
        self.view = if self.view == view { View::Answers } else { view };
    }

    fn key_of_prompt(
        &mut self,
        mut prompt: Prompt,
        key: Key,
        choices: Choices<'_>,
    ) -> Option<Action> {
        let is_typed = !prompt.text.is_empty();
        let change = match (key, &mut prompt.asked) {
            (Key::Escape, _) => return None,
            (Key::Enter, _) if !is_typed => return None,
            (Key::Enter, asked) => {
                let text = if prompt.text.trim() == NONE { "" } else { prompt.text.trim() };
                return Some(Action::Change(match asked {
                    AskedValue::Width => Change::Width(text.into()),
                    AskedValue::Groups => Change::Groups(text.into()),
                    AskedValue::Last => Change::Last(text.into()),
                    AskedValue::Delay { channel, .. } if !text.contains('=') => {
                        Change::Delay(format!("{channel}={text}"))
                    }
                    AskedValue::Delay { .. } => Change::Delay(text.into()),
                }));
            }
            (Key::Backspace, _) => {
                prompt.text.pop();
                None
            }
            (Key::Char('+') | Key::Up, AskedValue::Width) if !is_typed => {
                Some(Change::Step { is_larger: true })
            }
            (Key::Char('-') | Key::Down, AskedValue::Width) if !is_typed => {
                Some(Change::Step { is_larger: false })
            }
            (Key::Char(sign @ ('+' | '-')), AskedValue::Delay { channel, step }) if !is_typed => {
                let ticks =
                    step.parse::<tagq::store::Duration>().ok()?.nearest(choices.tick).ok()?;
                let ticks = ticks.max(1);
                Some(Change::DelayBy(*channel, if sign == '+' { ticks } else { -ticks }))
            }
            (Key::Left | Key::Right, AskedValue::Delay { step, .. }) => {
                match stepped(step, key == Key::Right, choices.tick) {
                    Ok(next) => *step = next,
                    Err(error) => self.message = Some(error),
                }
                None
            }
            (Key::Up | Key::Before, AskedValue::Delay { channel, .. }) => {
                *channel = next_of(choices.channels.iter().rev(), *channel);
                None
            }
            (Key::Down | Key::Next, AskedValue::Delay { channel, .. }) => {
                *channel = next_of(choices.channels.iter(), *channel);
                None
            }
            (Key::Char(typed), _) => {
                prompt.text.push(typed);
                None
            }
            (Key::Next | Key::Before | Key::Up | Key::Down | Key::Left | Key::Right, _) => None,
        };
        self.prompt = Some(prompt);
        change.map(Action::Change)
    }
}

/// Returns the channel after this one, the first after the last.
fn next_of<'a>(channels: impl Iterator<Item = &'a u16> + Clone, channel: u16) -> u16 {
    let mut after = channels.clone().skip_while(|of| **of != channel).skip(1).chain(channels);
    after.next().copied().unwrap_or(channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: Choices<'_> =
        Choices { rows: 3, group: &[1, 2], channels: &[1, 2, 4], tick: Tick::DEFAULT };

    /// Returns what the program does after these keys.
    fn actions(state: &mut State, typed: &[Key]) -> Vec<Action> {
        typed.iter().filter_map(|&key| state.key(key, CHOICES)).collect()
    }

    fn typed(text: &str) -> Vec<Key> {
        text.chars().map(|c| if c == '\n' { Key::Enter } else { Key::Char(c) }).collect()
    }

    #[test]
    fn a_value_is_typed_or_stepped() {
        let mut state = State::default();
        let mut after = |text: &str| actions(&mut state, &typed(text));
        let width = |text: &str| Action::Change(Change::Width(text.into()));
        let step = |is_larger| Action::Change(Change::Step { is_larger });
        assert_eq!(after("w3ns\n"), [width("3ns")]);
        assert_eq!(after("+-"), [step(true), step(false)]);
        // The value stays open for steps, and a sign in a number is part of it.
        assert_eq!(after("w++1e-9s\n"), [step(true), step(true), width("1e-9s")]);
        assert_eq!(after("w\n"), []);
        assert_eq!(after("g1,2 1,2,4\n"), [Action::Change(Change::Groups("1,2 1,2,4".into()))]);
        assert_eq!(after("gnone\n"), [Action::Change(Change::Groups(String::new()))]);
        assert_eq!(after("l1s\n"), [Action::Change(Change::Last("1s".into()))]);
        assert_eq!(after("rR"), [Action::Change(Change::Reset), Action::Change(Change::Whole)]);
        assert_eq!(after("q"), [Action::End]);
        assert_eq!(after("z"), []);
        assert!(state.message.as_ref().is_some_and(|text| text.contains("the key z")));
        let keys = [typed("w3"), vec![Key::Backspace], typed("5ns"), vec![Key::Escape]].concat();
        assert_eq!(actions(&mut state, &keys), []);
        assert_eq!((&state.prompt, &state.message), (&None, &None));
    }

    #[test]
    fn a_delay_is_that_of_a_channel_in_steps() {
        let mut state = State::default();
        let by = |channel, ticks| Action::Change(Change::DelayBy(channel, ticks));
        // The last channel of the row; 1 ns is 6.4 ticks, 2 ns are 12.8.
        assert_eq!(actions(&mut state, &typed("d+-")), [by(2, 6), by(2, -6)]);
        let keys =
            [Key::Right, Key::Char('+'), Key::Down, Key::Char('+'), Key::Next, Key::Char('-')];
        assert_eq!(actions(&mut state, &keys), [by(2, 13), by(4, 13), by(1, -13)]);
        assert_eq!(actions(&mut state, &[Key::Up, Key::Char('+')]), [by(4, 13)]);
        let delay = |text: &str| Action::Change(Change::Delay(text.into()));
        assert_eq!(actions(&mut state, &typed("7ns\n")), [delay("4=7ns")]);
        assert_eq!(actions(&mut state, &typed("d1=-4ns\n")), [delay("1=-4ns")]);
    }

    #[test]
    fn rows_are_chosen_in_a_circle() {
        let mut state = State::default();
        let mut row_after = |key| {
            state.key(key, CHOICES);
            state.row
        };
        let rows = [Key::Up, Key::Down, Key::Next, Key::Before, Key::Down, Key::Down, Key::Down];
        assert_eq!(rows.map(&mut row_after), [2, 0, 1, 0, 1, 2, 0]);
        assert_eq!(state.key(Key::Up, Choices { rows: 0, ..CHOICES }), None);
        assert_eq!(state.row, 0);
    }

    #[test]
    fn a_pause_ends_with_an_answer() {
        let mut state = State::default();
        assert_eq!(actions(&mut state, &typed("p")), []);
        assert!(state.paused);
        assert_eq!(actions(&mut state, &typed(" ")), [Action::Continue]);
        assert!(!state.paused);
    }

    #[test]
    fn peaks_are_held_until_they_are_not() {
        let mut state = State::default();
        let hold = |state: &mut State, rate| state.hold([("0/1,2".to_owned(), rate)].into_iter());
        let peak = |state: &State| state.peaks.as_ref().and_then(|of| of.get("0/1,2").copied());
        hold(&mut state, 9.0);
        assert_eq!(peak(&state), None);
        state.key(Key::Char('h'), CHOICES);
        for rate in [5.0, 7.0, 6.0] {
            hold(&mut state, rate);
        }
        assert_eq!(peak(&state), Some(7.0));
        state.forget("1/");
        assert_eq!(peak(&state), Some(7.0));
        state.forget("0/");
        assert_eq!(peak(&state), None);
        state.key(Key::Char('h'), CHOICES);
        assert_eq!(state.peaks, None);
    }
}
