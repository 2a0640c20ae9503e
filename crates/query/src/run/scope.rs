//! The scope of a query: the channels, their delays and the range of time.
//!
//! Channel 2 delayed by 30: its tag at 75 has the delayed time 105, which a range from 100 on holds. [`Scope::check`]
//! makes sure that no delayed time of a source, and no difference of two, leaves 64 bits.

use crate::{
    error::Error,
    run::{
        facts::{Facts, SourceFacts},
        time_range::TimeRange,
    },
};

/// Selects the tags that a query covers (docs/queries.md, section "Selection").
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// The channels in use, each once, in any order; `None` for all that have tags.
    pub channels: Option<Vec<u16>>,
    /// Ticks added to the times of some channels, each channel listed once.
    pub delays: Vec<Delay>,
    /// Delayed times, half-open. A single belongs to it by its own time, a tuple or pair by its latest tag.
    pub range: TimeRange,
}

/// Ticks added to the times of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The channel.
    pub channel: u16,
    /// Its delay in ticks; negative moves its tags earlier.
    pub ticks: i64,
}

impl Scope {
    /// Rejects two delays of one channel, and delays that move the tags of a source out of 64 bits.
    pub(crate) fn check(&self, facts: &Facts) -> Result<(), Error> {
        for (i, delay) in self.delays.iter().enumerate() {
            let same = |other: &&Delay| other.channel == delay.channel;
            let first = self.delays[..i].iter().find(same).map(|other| other.ticks);
            if let Some(first) = first.filter(|&first| first != delay.ticks) {
                let (channel, second) = (delay.channel, delay.ticks);
                return Err(Error::TwoDelays { channel, first, second });
            }
        }
        facts.iter().try_for_each(|source| self.check_times(source))
    }

    /// Checks that the span of the delayed times of a source fits in 64 bits; then so do all rows that are in
    /// order.
    fn check_times(&self, source: &SourceFacts) -> Result<(), Error> {
        let Some((first, last)) = source.span() else { return Ok(()) };
        let ticks = || self.delays.iter().map(|delay| delay.ticks);
        let smallest = ticks().min().unwrap_or(0).min(0);
        let largest = ticks().max().unwrap_or(0).max(0);
        let delay = match (first.checked_add(smallest), last.checked_add(largest)) {
            (None, _) => smallest,
            (_, None) => largest,
            (Some(begin), Some(end)) if end.checked_sub(begin).is_some() => return Ok(()),
            _ if smallest.unsigned_abs() > largest.unsigned_abs() => smallest,
            _ => largest,
        };
        Err(Error::DelayRange { delay, first, last })
    }

    /// Returns the same scope with another range of time.
    #[must_use]
    pub fn over(&self, range: TimeRange) -> Self {
        Self { range, ..self.clone() }
    }

    /// Returns the channels in use: those that are named, else all that have tags, ascending.
    pub fn in_use(&self, facts: &Facts) -> Vec<u16> {
        self.channels.clone().unwrap_or_else(|| facts.channels())
    }

    /// Groups channels by their delay: each delay in ticks, and the places of its channels in `channels`.
    pub(crate) fn by_delay(&self, channels: &[u16]) -> Vec<(i64, Vec<usize>)> {
        let mut delays: Vec<(i64, Vec<usize>)> = Vec::new();
        for (place, &channel) in channels.iter().enumerate() {
            let delay = self.delay_of(channel);
            match delays.iter_mut().find(|(known, _)| *known == delay) {
                Some((_, places)) => places.push(place),
                None => delays.push((delay, vec![place])),
            }
        }
        delays
    }

    /// Returns the delay of a channel in ticks.
    pub fn delay_of(&self, channel: u16) -> i64 {
        self.delays.iter().find(|delay| delay.channel == channel).map_or(0, |delay| delay.ticks)
    }
}
