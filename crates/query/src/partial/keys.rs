//! The common parts of the keys of all kinds (docs/partials.md).
//!
//! Channels 3 and 1 in use, channel 3 delayed by 5 ticks: `of channels 1,3` and `; 3 delayed 5`. Queries with equal
//! keys have equal counts in every range; order, duplicates and delays of 0 do not matter.

use crate::run::scope::Scope;

/// Returns the key part for the channels in use.
pub(crate) fn channels(scope: &Scope) -> String {
    // No `..` here: a new field must be added here or below. The range is not part of a key.
    let Scope { channels, delays: _, range: _ } = scope;
    channels.as_ref().map_or("of all channels".to_owned(), |channels| {
        let mut channels = channels.clone();
        channels.sort_unstable();
        channels.dedup();
        format!("of channels {}", numbers(&channels))
    })
}

/// Returns the key part for the nonzero delays of the channels `touched`, or of all channels.
pub(crate) fn delays(scope: &Scope, touched: Option<&[u16]>) -> String {
    let is_touched = |channel: &u16| touched.is_none_or(|touched| touched.contains(channel));
    let delays = scope.delays.iter().filter(|delay| delay.ticks != 0);
    let mut delays: Vec<(u16, i64)> = delays.map(|delay| (delay.channel, delay.ticks)).collect();
    delays.retain(|(channel, _)| is_touched(channel));
    delays.sort_unstable();
    delays.dedup();
    let words = delays.iter().map(|(channel, ticks)| format!("; {channel} delayed {ticks}"));
    words.collect::<Vec<_>>().concat()
}

/// Formats channels as a comma-separated list.
pub(crate) fn numbers(channels: &[u16]) -> String {
    let numbers: Vec<String> = channels.iter().map(u16::to_string).collect();
    numbers.join(",")
}
