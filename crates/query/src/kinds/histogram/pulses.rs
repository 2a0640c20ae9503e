//! Starts that are sync pulses without tags: their times are computed for each stop.
//!
//! Pulses at 100, 112, 125 and 137, a stop at 130: mode `last` counts Δ = 130 − 125 = 5. The pulses of a source begin
//! with the last one at or before its first tag.

use rayon::prelude::*;
use tagq_store::TimeReader;

use super::query::{Channel, Histogram, Mode};
use crate::{
    run::{
        pulses::Pulses,
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        plan::ReadPlan,
        route::{BUFFER_ROWS, Route},
        singles::rows_in,
    },
};

/// Divides a recording into the sources whose starts are tags and those whose starts are pulses.
pub(super) fn divide<'a>(histogram: &Histogram, recording: &Recording<'a>) -> [Recording<'a>; 2] {
    [false, true].map(|are_pulses| {
        recording.of_sources(|source| source.pulses_of(histogram.start).is_some() == are_pulses)
    })
}

/// Counts the stops of sources whose starts are pulses, and the stops in no bin.
pub(super) fn count(
    histogram: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
) -> (Vec<u64>, u64) {
    let mut sum = (vec![0_u64; histogram.bins.count()], 0);
    for source in &recording.sources {
        let Some(pulses) = source.pulses_of(histogram.start) else { continue };
        let stops = Stops { histogram, source, pulses, ends: histogram.ends() };
        let (begin, end) = stops.rows();
        let starts: Vec<usize> = (begin..end).step_by(BUFFER_ROWS).collect();
        let pieces =
            recording.pass(histogram.scope.range).over(end - begin).in_pieces(starts.len());
        let of_task = |mut task: (Vec<u64>, u64), &start: &usize| {
            // Rows skipped here never reach a result: cancellation is checked after the pass.
            if pieces.begin().is_ok() {
                let rows = start..end.min(start + BUFFER_ROWS);
                if source.is_in_order(execution.simd, rows.clone()) {
                    let mut times = TimeReader::new(source.tags.time);
                    let labels = source.tags.channels.read(rows.clone());
                    let is_stop = |&row: &usize| labels.label(row - start) == stops.ends[1].label;
                    rows.filter(is_stop).for_each(|row| stops.add(row, &mut times, &mut task));
                }
            }
            task
        };
        let empty = || (vec![0; histogram.bins.count()], 0);
        let (counts, dropped) = starts.par_iter().fold(empty, of_task).reduce(empty, added);
        sum = added(sum, (counts, dropped));
    }
    sum
}

/// Adds the rows that [`count`] reads.
pub(super) fn plan(histogram: &Histogram, recording: &Recording<'_>, plan: &mut ReadPlan) {
    plan.read(recording, |source| {
        source.pulses_of(histogram.start).map(|pulses| {
            let stops = Stops { histogram, source, pulses, ends: histogram.ends() };
            let (begin, end) = stops.rows();
            (Route::SyncPulses, begin..end)
        })
    });
}

/// Returns the number of pulses in the range of the query.
pub(super) fn singles(histogram: &Histogram, pulses: &Pulses) -> u64 {
    let delay = i128::from(histogram.ends()[0].delay);
    let TimeRange { from, to } = histogram.scope.range;
    let edge = |edge: Option<i64>, open: i64| i128::from(edge.unwrap_or(open)) - delay;
    // Beyond every delayed time.
    let from = if from.is_none() { i128::MIN / 2 } else { edge(from, 0) };
    let to = if to.is_none() { i128::MAX / 2 } else { edge(to, 0) };
    let within = pulses.between(from, to);
    u64::try_from(within.end() - within.start() + 1).unwrap_or(0)
}

fn added(mut sum: (Vec<u64>, u64), more: (Vec<u64>, u64)) -> (Vec<u64>, u64) {
    sum.0.iter_mut().zip(more.0).for_each(|(sum, more)| *sum += more);
    (sum.0, sum.1 + more.1)
}

/// The stops of one source.
struct Stops<'a> {
    histogram: &'a Histogram,
    source: &'a Source<'a>,
    pulses: Pulses,
    ends: [Channel; 2],
}

impl Stops<'_> {
    /// Returns the first row and the row after the last one that can be a stop of a selected pair.
    fn rows(&self) -> (usize, usize) {
        let (bins, range) = (&self.histogram.bins, self.histogram.scope.range);
        // A pair is selected by its later tag: a stop can lie before the range.
        let before = if self.histogram.mode == Mode::Last { 0 } else { bins.edge(0).min(0) };
        let from = range.from.map(|from| from.saturating_add(before));
        let rows = rows_in(self.source, self.ends[1].delay, TimeRange { from, to: range.to });
        (rows.start, rows.end.max(rows.start))
    }

    /// Adds the pairs of the row of a stop.
    fn add(&self, row: usize, times: &mut TimeReader<'_>, (counts, dropped): &mut (Vec<u64>, u64)) {
        let Self { histogram, pulses, ends: [start, stop], .. } = self;
        let bins = &histogram.bins;
        let time = i128::from(times.at(row)) + i128::from(stop.delay);
        let difference =
            |number: i128| time - i128::from(pulses.time(number)) - i128::from(start.delay);
        let mut add = |difference: i128| {
            let bin =
                i64::try_from(difference).ok().and_then(|difference| bins.holding(difference));
            let count = bin.and_then(|bin| counts.get_mut(bin));
            count.map(|count| *count += 1).is_some()
        };
        // As the pulses were recorded.
        let undelayed = time - i128::from(start.delay);
        if histogram.mode == Mode::Last {
            let number = pulses.at_or_before(undelayed);
            if !(pulses.is_pulse(number) && add(difference(number))) {
                *dropped += 1;
            }
            return;
        }
        let [low, high] = [0, bins.count()].map(|edge| i128::from(bins.edge(edge)));
        for number in pulses.between(undelayed - high + 1, undelayed - low + 1) {
            let difference = difference(number);
            let later = i64::try_from(time - difference.min(0));
            if later.is_ok_and(|later| histogram.scope.range.contains(later)) {
                add(difference);
            }
        }
    }
}
