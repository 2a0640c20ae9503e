//! The shortest interval of each channel: the smallest time between two of its tags.
//!
//! A detector is dead for a while after each hit, so the shortest interval is a bound on its dead time. A
//! much shorter interval shows ringing, or a tag that was recorded twice.
//!
//! Channel 1 at 0, 7 and 9: 2 ticks. The rows are cut into tasks; the interval from the last tag of one task to the
//! first of the next counts, too.

use std::ops::Range;

use rayon::prelude::*;
use tagq_store::{Channels, RowValues, Tags, Times};

use crate::{
    error::Error,
    run::{recording::Recording, time_range::TimeRange},
    scan::morsels::Execution,
};

/// Rows of a task: few enough to share them among threads, many compared with the tables of labels.
const ROWS: usize = 1 << 20;
/// Rows whose order is checked before they are walked over: they stay in a core's nearest cache.
const LOOKED_AT: usize = 1 << 9;

/// The smallest difference of two tags of one channel and one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortestInterval {
    /// The channel.
    pub channel: u16,
    /// The interval in ticks; `None` if no source has two tags of the channel.
    pub ticks: Option<u64>,
}

/// State of one channel after a range of rows.
#[derive(Debug, Clone, Copy)]
struct Seen {
    first: i64,
    last: i64,
    least: Option<u64>,
    any: bool,
}

impl Seen {
    const NOTHING: Self = Self { first: 0, last: 0, least: None, any: false };

    /// Combines this state with the state of the rows after it.
    fn and(self, later: Self) -> Self {
        if !self.any || !later.any {
            return if self.any { self } else { later };
        }
        let between = Some(later.first.wrapping_sub(self.last).cast_unsigned());
        let least = [self.least, between, later.least].into_iter().flatten().min();
        Self { first: self.first, last: later.last, least, any: true }
    }
}

/// Returns the shortest interval of each channel that has tags, ascending by label, from times as recorded.
/// Reads all rows, on the threads of the rayon pool it is called in. Definition: docs/runs.md, section
/// "What `tagq info` says".
///
/// # Errors
/// Returns [`Error::Cancelled`] after cancellation.
pub fn shortest_intervals(
    recording: &Recording<'_>,
    execution: &Execution,
) -> Result<Vec<ShortestInterval>, Error> {
    let pass = recording.pass(TimeRange::default());
    let channels = recording.channels();
    let mut shortest: Vec<ShortestInterval> =
        channels.iter().map(|&channel| ShortestInterval { channel, ticks: None }).collect();
    for source in &recording.sources {
        let len = source.tags.len();
        let step = execution.rows_per_morsel(source.tags.time, 0, ROWS);
        let starts: Vec<usize> = (0..len).step_by(step).collect();
        let pieces = pass.over(source.tags.len()).in_pieces(starts.len());
        let seen = |&start: &usize| {
            // Rows skipped here never reach a result: cancellation is checked after the pass.
            let end = if pieces.begin().is_ok() { len.min(start + step) } else { start };
            let look = |rows: Range<usize>| {
                // Includes the row before them.
                let first = (start + rows.start).saturating_sub(1);
                source.is_in_order(execution.simd, first..start + rows.end);
            };
            seen_in(source.tags.rows(start..end), &channels, look)
        };
        let pieces: Vec<Vec<Seen>> = starts.par_iter().map(seen).collect();
        for (at, shortest) in shortest.iter_mut().enumerate() {
            let of_channel = pieces.iter().map(|piece| piece[at]);
            let least = of_channel.fold(Seen::NOTHING, Seen::and).least;
            shortest.ticks = [shortest.ticks, least].into_iter().flatten().min();
        }
    }
    recording.check_pass()?;
    Ok(shortest)
}

/// Returns the state of each channel after a range of rows. All of the rows are passed to `look`.
fn seen_in(tags: Tags<'_>, channels: &[u16], look: impl Fn(Range<usize>)) -> Vec<Seen> {
    match tags.channels {
        Channels::U8(labels) => walk::<u8, 256>(tags.time, labels, channels, look),
        Channels::U16(labels) => walk::<u16, 65_536>(tags.time, labels, channels, look),
    }
}

/// Uses tables of `N` entries, one for each possible label of type `L`.
fn walk<L: Copy + Into<usize>, const N: usize>(
    times: Times<'_>,
    labels: RowValues<'_, L>,
    channels: &[u16],
    look: impl Fn(Range<usize>),
) -> Vec<Seen> {
    let mut places = vec![(0, u64::MAX); N];
    let mut seen = vec![Seen::NOTHING; N];
    // The length is known to the compiler, so no label is out of bounds.
    let (near, rare) = (&mut places[..N], &mut seen[..N]);
    let mut buffer = Vec::new();
    for first in (0..times.len()).step_by(LOOKED_AT) {
        let rows = first..times.len().min(first + LOOKED_AT);
        look(rows.clone());
        let times = times.read(rows.clone(), &mut buffer);
        for (&time, &label) in times.iter().zip(labels.read(rows)) {
            let (last, least) = &mut near[label.into()];
            // Decreasing times are recorded separately; any difference of two times fits in 64 unsigned bits.
            let apart = time.wrapping_sub(*last).cast_unsigned();
            *last = time;
            if apart <= *least {
                let seen = &mut rare[label.into()];
                // The first tag has no predecessor, whatever the table holds.
                if seen.any {
                    *least = apart;
                    seen.least = Some(apart);
                } else {
                    (seen.first, seen.any) = (time, true);
                }
            }
        }
    }
    let of = |&channel: &u16| {
        let at = usize::from(channel);
        Seen { last: places[at].0, ..seen[at] }
    };
    channels.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{kernels::simd::Simd, oracle};

    fn of(time: &[i64], channels: Channels<'_>, morsel_rows: usize) -> Vec<(u16, Option<u64>)> {
        let recording = Recording::from_tags(Tags { time: time.into(), channels });
        let execution = Execution { simd: Simd::best(), morsel_rows: Some(morsel_rows) };
        let shortest = shortest_intervals(&recording, &execution).unwrap();
        shortest.iter().map(|of| (of.channel, of.ticks)).collect()
    }

    #[test]
    fn the_whole_of_time_is_an_interval() {
        let time = [i64::MIN, i64::MIN, -1, i64::MAX, i64::MAX];
        let expected = [(3, Some(u64::MAX)), (4, Some(0)), (5, None)];
        for rows in 1..6 {
            assert_eq!(of(&time, Channels::U8((&[3, 4, 5, 3, 4]).into()), rows)[0], expected[0]);
            assert_eq!(
                of(&[7, 7, 9], Channels::U16((&[4, 4, 500]).into()), rows),
                [expected[1], (500, None)]
            );
        }
        assert_eq!(of(&[], Channels::U8((&[]).into()), 1), []);
        assert_eq!(of(&[i64::MAX; 2], Channels::U8((&[9, 9]).into()), 1), [(9, Some(0))]);
    }

    proptest! {
        #[test]
        fn it_is_that_of_the_oracle(
            mut tags in prop::collection::vec((-40_i64..40, 0_u16..4), 0..60),
            rows in 1_usize..8,
            wide in any::<bool>(),
        ) {
            tags.sort_by_key(|&(time, _)| time);
            let add = if wide { 300 } else { 0 };
            let tags: Vec<(i64, u16)> = tags.into_iter().map(|(t, c)| (t * 1_000, c + add)).collect();
            let time: Vec<i64> = tags.iter().map(|&(time, _)| time).collect();
            let labels: Vec<u16> = tags.iter().map(|&(_, label)| label).collect();
            let narrow: Vec<u8> = labels.iter().map(|&label| label.to_le_bytes()[0]).collect();
            let channels = if wide { Channels::U16((&labels).into()) } else { Channels::U8((&narrow).into()) };
            for (channel, ticks) in of(&time, channels, rows) {
                let expected = oracle::shortest_interval(std::slice::from_ref(&tags), channel);
                prop_assert_eq!(ticks.map(i128::from), expected);
            }
        }
    }
}
