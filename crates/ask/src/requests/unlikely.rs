//! Notes on requests that hardly mean what they say: times, delays and windows outside of the run, and runs that are
//! counted twice.
//!
//! A run from tick 1,000 to 9,000 has a note if the selection begins at 9,001, but not if a channel is delayed by one
//! tick as well, because its last tag is then selected. A note never changes an answer.

use std::collections::HashMap;

use tagq_query::{Delay, TimeRange};
use tagq_run::{Run, Setup};
use tagq_store::Tick;

use super::header::in_ticks;

/// Notes delays that are longer than the longest source, because their tags then meet no other tags.
pub(super) fn delays(run: &Run, is_joined: bool, delays: &[Delay], setup: &Setup) -> Vec<String> {
    let tick = run.store().manifest().tick;
    let Some(longest) = run.longest_ticks(is_joined) else { return Vec::new() };
    let is_beyond = |delay: &&Delay| i128::from(delay.ticks).abs() > longest;
    let note = |delay: &Delay| {
        format!(
            "the delay of channel {}, {}, is longer than {}, {}: its tags meet none of other channels",
            setup.name_of(delay.channel),
            in_ticks(delay.ticks.into(), tick),
            longest_words(run, is_joined),
            tick.format(longest)
        )
    };
    delays.iter().filter(is_beyond).map(note).collect()
}

/// Notes a selection that contains no time of the run, whose tags are delayed by these delays.
pub(super) fn range(
    range: TimeRange,
    (first, last): (i64, i64),
    delays: &[Delay],
    tick: Tick,
) -> Option<String> {
    let ticks = || delays.iter().map(|delay| i128::from(delay.ticks));
    let (first, last) = (i128::from(first), i128::from(last));
    let begins = first + ticks().min().unwrap_or(0).min(0);
    let ends = last + ticks().max().unwrap_or(0).max(0);
    let since_first = |time: i128| tick.format(time - first);
    let why = match (range.from.map(i128::from), range.to.map(i128::from)) {
        (Some(from), Some(to)) if from >= to => {
            "the end of the selection is not after its start".to_owned()
        }
        (Some(from), _) if from > ends => format!(
            "the selection starts at {}, and the run ends {} after its first tag",
            since_first(from),
            since_first(last)
        ),
        (_, Some(to)) if to <= begins => {
            "the selection ends before the first tag of the run".to_owned()
        }
        _ => return None,
    };
    Some(format!("nothing is selected: {why}"))
}

/// Notes a window so wide that nearly all pairs of tags are within it.
pub(super) fn window(run: &Run, is_joined: bool, full_width: i128) -> Option<String> {
    let tick = run.store().manifest().tick;
    let longest = run.longest_ticks(is_joined).filter(|&longest| full_width > longest)?;
    Some(format!(
        "the full width of the window, {}, is longer than {}, {}: accidentals, CAR and P mean nothing; \
         leave `window` out, and a window is suggested",
        tick.format(full_width),
        longest_words(run, is_joined),
        tick.format(longest)
    ))
}

/// Notes a live time of `given_s` seconds that is shorter than the recorded one of `recorded` ticks.
pub(super) fn live_time(given_s: Option<f64>, recorded: i128, tick: Tick) -> Option<String> {
    let given_s = given_s.filter(|&given_s| given_s < tick.seconds_of(recorded))?;
    Some(format!(
        "`live_time` {given_s}s is shorter than the recorded time, {}, as if nothing was recorded in the rest \
         of it; leave `live_time` out to take the recorded time",
        tick.format(recorded)
    ))
}

/// Notes a source that two of the runs have, because a sum counts its tags twice.
pub(super) fn same_sources(runs: &[&Run]) -> Option<String> {
    let mut of_runs = HashMap::new();
    for (number, run) in runs.iter().enumerate() {
        let manifest = run.store().manifest();
        for source in manifest.sources.iter().filter(|source| source.rows > 0) {
            let facts = &source.facts;
            // A source that was not read from a file has no hashes.
            let identity = (facts.size, &facts.head_xxh3, &facts.tail_xxh3, source.rows);
            let made = facts.head_xxh3.is_empty().then_some((manifest.run_id, &facts.name));
            let earlier = *of_runs.entry((identity, made)).or_insert(number);
            if earlier != number {
                return Some(format!(
                    "{} of {} is in {}, too: its tags are counted twice; leave one of the two runs out",
                    facts.name,
                    run.path().display(),
                    runs[earlier].path().display()
                ));
            }
        }
    }
    None
}

fn longest_words(run: &Run, is_joined: bool) -> &'static str {
    match run.store().manifest().sources.len() {
        2.. if !is_joined => "the longest file of the run",
        _ => "the run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_beyond_the_run_is_noted_with_delays_taken_into_account() {
        let note = |from: Option<i64>, to: Option<i64>, delay: i64| {
            let delays = [Delay { channel: 2, ticks: delay }];
            range(TimeRange { from, to }, (1_000, 9_000), &delays, Tick::DEFAULT)
        };
        assert_eq!(note(None, None, 0), None);
        assert_eq!(note(Some(9_000), Some(9_001), 0), None);
        // 9,001 − 1,000 ticks of 156.25 ps are 1.25015625 µs; the run has 1.25 µs.
        let said = note(Some(9_001), None, 0).unwrap();
        assert!(said.contains("starts at 1.25015625") && said.contains("run ends 1.25 "), "{said}");
        // A tag of the last time is delayed to 9,001.
        assert_eq!(note(Some(9_001), None, 1), None);
        assert!(note(None, Some(1_000), 0).is_some_and(|said| said.contains("before the first")));
        assert_eq!(note(None, Some(1_000), -1), None);
        assert!(note(Some(5), Some(5), 0).is_some_and(|said| said.contains("not after its start")));
    }
}
