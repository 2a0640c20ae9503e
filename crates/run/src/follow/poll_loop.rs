//! The loop that follows runs: polls, pauses and new commits.
//!
//! All runs are polled before each pause, which is the longest that one of them asks for.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use super::follower::{FollowChange, Follower};
use crate::{Run, progress::Progress};

/// The surroundings of a [`FollowLoop`]: receives notes, waits between polls, and ends the loop.
pub trait Waiter: Progress {
    /// The reason to end the loop.
    type End;

    /// Waits before the next poll, or ends the loop. `rows` is the number of rows of the runs that are
    /// ingested here.
    fn pause(&mut self, pause: Duration, rows: u64) -> ControlFlow<Self::End>;

    /// Receives a change in the health of the run with this number.
    fn changed(&self, _run: usize, change: &FollowChange) {
        self.note(&change.to_string());
    }

    /// Returns the current time.
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// Runs that are followed together.
#[derive(Debug)]
pub struct FollowLoop {
    followers: Vec<Follower>,
    interval: Option<Duration>,
    /// When new commits were returned last.
    returned: Option<Instant>,
}

impl FollowLoop {
    /// Follows these runs. New commits are returned at most once per `interval`; without it, they are
    /// only ingested.
    pub fn new(followers: Vec<Follower>, interval: Option<Duration>) -> Self {
        Self { followers, interval, returned: None }
    }

    /// Polls and ingests until a run has a new commit, or until the waiter ends the loop.
    pub fn wait<W: Waiter>(&mut self, waiter: &mut W) -> ControlFlow<W::End> {
        loop {
            let now = waiter.now();
            for (run, follower) in self.followers.iter_mut().enumerate() {
                if let Some(change) = follower.advance_at(now, waiter) {
                    waiter.changed(run, &change);
                }
            }
            let is_due = self.interval.is_some_and(|interval| {
                self.returned.is_none_or(|returned| now - returned >= interval)
            });
            if is_due && self.refresh(waiter) {
                self.returned = Some(now);
                return ControlFlow::Continue(());
            }
            let pause = self.followers.iter().map(Follower::pause).max().unwrap_or_default();
            waiter.pause(pause, self.followers.iter().map(Follower::rows).sum())?;
        }
    }

    /// Opens the runs at their last commits; returns whether one of them is new.
    pub fn refresh(&mut self, progress: &dyn Progress) -> bool {
        let are_new = self.followers.iter_mut().map(|follower| follower.refresh(progress));
        are_new.filter(|is_new| *is_new).count() > 0
    }

    /// Iterates over the runs that have a commit, each at the one that was opened last.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.followers.iter().filter_map(|follower| follower.run.as_ref())
    }

    /// Returns a run at the commit that was opened last; `None` before the first commit.
    pub fn run(&self, number: usize) -> Option<&Run> {
        self.followers[number].run.as_ref()
    }
}
