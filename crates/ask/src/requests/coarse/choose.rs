//! Bins that show the structure in the differences of two channels.
//!
//! A structure up to 1,024 ticks has 64 bins of 64 ticks on each side of zero, up to 4,096 ticks; bins of 128 ticks if
//! one of 64 would have fewer than 100 pairs by chance.

use tagq_query::{Bins, Error, Execution, Histogram, Kind as _, Mode, Recording, Scope, TimeRange};

use super::scan::{Coarse, Edge, LONGEST_PART, longest, part, power_of_two};
use crate::{
    peaks::{DifferenceCounts, Grid, PAIRS, PeakSearch},
    pulses::Resolution,
};

/// Bins on either side of zero.
const ASIDE: i64 = 64;
/// A narrow peak has this part of the pairs of a structure, at least.
const PART: f64 = 0.3;
/// Bins of a peak, and bins on either side of zero, at most, if they reach to a peak that is far from zero.
const PEAK_BINS: f64 = 8.0;
const ASIDE_MAX: f64 = 1_024.0;
/// Bins on either side of zero in which a narrow peak is located.
const FINE: i64 = 1 << 11;
/// Delays of peaks are searched up to this many seconds.
const DELAYS_S: f64 = 1e-3;

/// Bins that show the structure in the differences of two channels.
pub(crate) struct Chosen {
    pub(crate) bins: Bins,
    /// `None` if all pairs are by chance.
    pub(crate) structure: Option<Structure>,
}

/// Differences at which the channels are correlated, in ticks: the first and the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Structure {
    pub low: f64,
    pub high: f64,
}

/// A peak: its middle and its width, in ticks.
#[derive(Debug, Clone, Copy)]
struct Place {
    middle: f64,
    extent: f64,
}

/// Chooses bins for the differences of two channels.
///
/// With a structure, bins reach to four times its farthest difference on both sides of zero, 64 on each side; they are twice as
/// wide if a bin would have fewer than 100 pairs by chance. They are finer if the structure is a narrow peak far from zero, and
/// only around it if it is too far. Without any structure they have 100 pairs by chance.
pub(crate) fn choose(
    recording: &Recording<'_>,
    ends: [u16; 2],
    scope: &Scope,
    tick_s: f64,
    resolution: Option<Resolution>,
) -> Result<Chosen, Error> {
    let grid = Grid::of(resolution, longest(recording, scope.range).cast_signed());
    let coarse = Coarse::look(recording, ends, &scope.delays, scope.range, &grid)?;
    let filled = coarse.filled(ASIDE);
    let Some(edge) = coarse.edge() else {
        let found = delayed(recording, ends, scope, tick_s, grid)?;
        return Ok(match found {
            Some(peak) => around_peak(&grid, peak)?,
            None => Chosen { bins: grid.centred(ASIDE, filled)?, structure: None },
        });
    };
    let extent = edge.extent;
    if edge.contrast > 0.0
        && let Some(peak) = located(recording, ends, scope, &grid, &edge)?
    {
        return around_peak(&grid, peak);
    }
    let least = (extent / 16).max(1);
    let width = filled.clamp(least, 2 * least);
    let reach = extent as f64;
    let structure = Some(Structure { low: -reach, high: reach });
    Ok(Chosen { bins: grid.centred(ASIDE, width)?, structure })
}

/// Returns bins that show a peak.
fn around_peak(grid: &Grid, peak: Place) -> Result<Chosen, Error> {
    let Place { middle, extent } = peak;
    let width = (power_of_two(extent / PEAK_BINS) / 2).max(1);
    let structure = Some(Structure { low: middle - extent / 2.0, high: middle + extent / 2.0 });
    let aside = ((middle.abs() + 4.0 * extent) / width as f64).ceil();
    #[expect(clippy::cast_possible_truncation, reason = "a difference of times")]
    let bins = if aside <= ASIDE_MAX {
        grid.centred((aside as i64).max(ASIDE), width)?
    } else {
        let moved = grid.centred(ASIDE, width)?;
        let by = grid.nearest(middle);
        Bins::linear(
            moved.edge(0) + by,
            moved.edge(moved.count()) + by,
            moved.edge(1) - moved.edge(0),
        )?
    };
    Ok(Chosen { bins, structure })
}

/// Returns the highest peak within `extent` of zero, if it is narrow.
fn located(
    recording: &Recording<'_>,
    [start, stop]: [u16; 2],
    scope: &Scope,
    grid: &Grid,
    edge: &Edge,
) -> Result<Option<Place>, Error> {
    let extent = edge.extent;
    let width = grid.ticks_of(extent / FINE);
    let bins = Bins::centred(extent, width)?;
    let low = bins.edge(0);
    let scope = Scope { channels: None, range: part(recording, scope.range), ..scope.clone() };
    let query = Histogram { start, stop, bins, mode: Mode::All, fold: None, scope };
    let counts = query.run(recording, &Execution::best())?.counts;
    let counted = DifferenceCounts { low, width, step: 1.0, counts };
    let peak = counted.highest(counted.counts.len(), |_, _| false);
    // Noise on a wide structure is no peak of its own.
    let peak = peak.filter(|peak| peak.net > PART * edge.excess).map(|peak| Place {
        middle: counted.middle(peak.at, peak.bins),
        extent: peak.bins as f64 * width as f64,
    });
    Ok(peak.filter(|peak| 2.0 * peak.extent < extent as f64))
}

/// Returns a peak of true pairs at a delay, in the scanned time.
fn delayed(
    recording: &Recording<'_>,
    ends: [u16; 2],
    scope: &Scope,
    tick_s: f64,
    grid: Grid,
) -> Result<Option<Place>, Error> {
    let range = part(recording, scope.range);
    #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
    let reach =
        ((DELAYS_S / tick_s) as i64).min((longest(recording, range) / LONGEST_PART).cast_signed());
    let search = PeakSearch::new(recording, ends, (reach, range), (tick_s, grid), PAIRS);
    let Some(search) = search.filter(|_| reach > 0) else { return Ok(None) };
    let found = search.steady()?.delay();
    let [a, b] = ends.map(|end| scope.delay_of(end));
    Ok(found.map(|found| Place {
        middle: found.shape.place + (b.saturating_sub(a)) as f64,
        extent: found.shape.extent,
    }))
}

/// Returns bins for one partner per tag, from zero to a reach that includes at least 95 % of the
/// differences.
pub(crate) fn of_neighbours(
    recording: &Recording<'_>,
    query: &Histogram,
    range: TimeRange,
    resolution: Option<Resolution>,
) -> Result<Bins, Error> {
    let grid = Grid::of(resolution, longest(recording, range).cast_signed());
    let edges: Vec<i64> =
        (0..=longest(recording, range).max(2).ilog2().min(60)).map(|k| 1 << k).collect();
    let scope = Scope { range: part(recording, range), ..query.scope.clone() };
    let bins = Bins::Edges([&[0], &edges[..]].concat());
    let binned = Histogram { bins, scope, ..query.clone() }.run(recording, &Execution::best())?;
    let all: u64 = binned.counts.iter().sum();
    // With a period all differences are below it, and all are included.
    let wanted = if query.fold.is_some() { all } else { all - all / 20 };
    let mut sum = 0;
    let end = binned.counts.iter().position(|count| {
        sum += count;
        sum >= wanted
    });
    let end = if all > 0 { end.map_or(2 * ASIDE, |at| edges[at]) } else { 2 * ASIDE };
    Bins::linear(0, end, grid.ticks_of(end / (2 * ASIDE)))
}
