//! The search for the delay between two channels: first coarse over the whole range and part of the run, then fine
//! around the result over the whole run. For pulsed light, whole periods are compared with each other.
//!
//! Peaks of 12 and 9 standard deviations give no delay: the second one is significant, and the first one exceeds it by
//! less than 4. Peaks of 13.1 and 9 do. Both are measured over the whole run before they are compared.

use tagq_query::{Bins, Error, Execution, Histogram, Kind as _, Mode, Recording, Scope, TimeRange};

use super::{
    counted::DifferenceCounts,
    fit::Background,
    grid::Grid,
    peak::{Peak, SIGNIFICANT, Shape, sigmas_above},
};
use crate::pulses::{Effort, Pulses};

/// Bins of a histogram: as many as fit the CPU cache together with the columns.
const BINS: i64 = 1 << 20;
/// Bins around a peak: more would not make its fit more exact.
const FINE_BINS: i64 = 1 << 12;
/// Pairs in a first scan, and in a second one, which takes some seconds on two threads.
pub(crate) const PAIRS: f64 = 1e8;
pub(crate) const PAIRS_MAX: f64 = 1e9;
/// Number of places in the run that are scanned.
const PLACES: i64 = 16;
/// A peak is at most so many seconds wide, or so many bins if that is wider: slower variations are not delays.
const WIDEST_S: f64 = 1e-6;
const WIDEST: usize = 1 << 10;
/// Maximum number of zoom steps, after which the peak is accepted as it is.
const NEARER: usize = 8;
/// A peak must exceed the second one by this many standard deviations, otherwise there are two peaks.
/// Of two equal peaks one exceeds the other by this much in one of two hundred cases.
const SURER: f64 = 4.0;
/// Maximum width of a peak in periods, for pulsed light.
const WIDEST_PERIODS: usize = 4;
/// Bins per period to locate the pulse, and bins per period to cut the histogram into periods.
const PULSE_BINS: f64 = 1_024.0;
const PERIOD_BINS: f64 = 16.0;
/// Maximum number of histograms for a range in periods.
const HISTOGRAMS: i64 = 64;
/// Number of pulses on each side that a pulse is compared with.
const BESIDE: usize = 5;
/// Pulses around one that give the background of pulses that are compared with each other.
const AROUND: i64 = 128;

/// Parameters of the search.
pub(crate) struct PeakSearch<'a> {
    pub recording: &'a Recording<'a>,
    pub start: u16,
    pub stop: u16,
    /// Maximum |Δ|, in ticks.
    pub reach: i64,
    /// Times that are used.
    pub range: TimeRange,
    /// First and last time in it.
    pub span: (i64, i64),
    /// Expected pairs by chance per tick of difference, over the whole range of times.
    pub pairs_per_tick: f64,
    /// Seconds per tick.
    pub tick_s: f64,
    /// Pairs that are scanned at most.
    pub pairs_max: f64,
    /// The steps of the differences.
    pub grid: Grid,
}

/// Result for two channels. Times are those of the stop minus those of the start, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    /// The highest peak above chance.
    pub peak: Option<Located>,
    /// The best other place.
    pub second: Option<Second>,
    /// The period of pulsed light.
    pub comb: Option<f64>,
}

/// A place that may be the peak in place of the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Second {
    /// Its middle in ticks.
    pub place: f64,
    pub sigmas: f64,
    /// By how many standard deviations the first one exceeds it.
    pub below: f64,
}

/// A peak measured over the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Located {
    pub shape: Shape,
    pub sigmas: f64,
}

impl Found {
    /// Returns the peak, unless another one is about as significant.
    pub(crate) fn delay(&self) -> Option<Located> {
        let is_far_below = |of: Second| of.sigmas <= SIGNIFICANT || of.below > SURER;
        self.peak.filter(|_| self.second.is_none_or(is_far_below))
    }
}

impl<'a> PeakSearch<'a> {
    /// Creates a search up to `reach` ticks of the differences of two channels in the times of `range`, by at most
    /// `pairs_max` pairs; `None` without tags. A tick has `tick_s` seconds.
    pub fn new(
        recording: &'a Recording<'a>,
        [start, stop]: [u16; 2],
        (reach, range): (i64, TimeRange),
        (tick_s, grid): (f64, Grid),
        pairs_max: f64,
    ) -> Option<Self> {
        let spans = recording.sources.iter().filter_map(|source| source.span());
        let (first, last) = spans.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))?;
        let span =
            (range.from.unwrap_or(first).max(first), range.to.map_or(last, |to| to.min(last)));
        let facts = recording.facts();
        let live =
            facts.iter().map(|of| of.live().ticks_in(TimeRange::default()) as f64).sum::<f64>();
        let tags = |channel| facts.iter().map(|of| of.singles_of(channel)).sum::<u64>() as f64;
        // For the part of the run that is scanned, assuming constant rates.
        let part = span.1.saturating_sub(span.0) as f64 / last.saturating_sub(first).max(1) as f64;
        let pairs_per_tick = tags(start) * tags(stop) * part / live.max(1.0);
        Some(Self {
            recording,
            start,
            stop,
            reach,
            range,
            span,
            pairs_per_tick,
            tick_s,
            pairs_max,
            grid,
        })
    }

    /// Returns the highest peak and the second best place; both are `None` if there is only chance.
    pub(crate) fn run(&self) -> Result<Found, Error> {
        let channels = [self.start, self.stop];
        let periods = (self.reach, f64::INFINITY);
        match Pulses::find(self.recording, channels, self.tick_s, periods, Effort::Full) {
            None => self.steady(),
            Some(pulses) => self.pulsed(&pulses),
        }
    }

    pub(crate) fn steady(&self) -> Result<Found, Error> {
        let mut found = Found { peak: None, second: None, comb: None };
        let grid = self.grid;
        let aside = grid.steps_in(self.reach);
        let width = grid.width(2 * aside + 1, BINS);
        // Equally many bins on both sides of the one at zero.
        let low =
            -(aside.saturating_sub((width - 1) / 2).max(0) + width - 1) / width * width - width / 2;
        let high = low + (1 - 2 * (low + width / 2) / width) * width;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bins")]
        let widest = (WIDEST_S / self.tick_s / grid.step / width as f64) as usize;
        let widest = widest.max(WIDEST);
        let coarse = self.looked(widest, &|part| self.counted(&grid, [low, high], width, part))?;
        let Some((coarse, peak)) = coarse else { return Ok(found) };
        let first = self.fine(&grid, &coarse, &peak)?;
        found.peak = Some(first).filter(|first| first.sigmas > SIGNIFICANT);
        let aside = 3.0 * first.shape.extent.max(2.0 * coarse.width as f64 * grid.step);
        let near = |at: usize, bins: usize| {
            let reach = bins as f64 * coarse.width as f64 * grid.step / 2.0;
            (coarse.middle(at, bins) * grid.step - first.shape.place).abs() < aside + reach
        };
        let second = coarse.highest(widest, near);
        // Both are judged alike: over the whole run.
        let second = match second {
            Some(second) if second.sigmas > SIGNIFICANT => {
                let located = self.fine(&grid, &coarse, &second)?;
                Some((located.shape.place, located.sigmas))
            }
            other => other
                .map(|second| (coarse.middle(second.at, second.bins) * grid.step, second.sigmas)),
        };
        found.second =
            second.map(|(place, sigmas)| Second { place, sigmas, below: first.sigmas - sigmas });
        Ok(found)
    }

    /// Searches pulsed light by comparing pulses with each other.
    pub(crate) fn pulsed(&self, pulses: &Pulses) -> Result<Found, Error> {
        let mut found = Found { peak: None, second: None, comb: Some(pulses.period) };
        let all = self.numbers(pulses);
        let periods = self.looked(WIDEST_PERIODS, &|part| self.periods(pulses, all, part))?;
        let Some((periods, peak)) = periods else { return Ok(found) };
        let held = &periods.counts[peak.at..peak.at + peak.bins];
        let highest = held.iter().enumerate().max_by_key(|(_, count)| **count);
        let highest = peak.at + highest.map_or(0, |(at, _)| at);
        let number = |at: usize| periods.low + i64::try_from(at).unwrap_or(0);
        let first = self.pulse(pulses, number(highest))?;
        found.peak = Some(first).filter(|first| first.sigmas > SIGNIFICANT);
        // Any other pulse, also one beside the first: of a few equal ones, none is the delay.
        if let Some(second) = highest_but(&periods.counts, highest) {
            let place = pulses.period * (pulses.phase + number(second) as f64);
            let [of_first, of_second] =
                [self.height(pulses, number(highest))?, self.height(pulses, number(second))?];
            let (sigmas, below) = (of_second.sigmas(), of_first.above(&of_second));
            found.second = Some(Second { place, sigmas, below });
        }
        Ok(found)
    }

    /// Returns the highest place of a histogram over as much of the run as it takes to exceed chance,
    /// or over the largest part that is scanned.
    fn looked(
        &self,
        widest: usize,
        count: &dyn Fn(f64) -> Result<DifferenceCounts, Error>,
    ) -> Result<Option<(DifferenceCounts, Peak)>, Error> {
        let all = self.pairs_per_tick * 2.0 * self.reach as f64;
        let mut pairs = PAIRS;
        loop {
            let part = (pairs / all.max(1.0)).min(1.0);
            let coarse = count(part)?;
            let peak = coarse.highest(widest, |_, _| false);
            if let Some(peak) = peak.filter(|peak| peak.sigmas > SIGNIFICANT) {
                return Ok(Some((coarse, peak)));
            }
            if part >= 1.0 || pairs >= self.pairs_max {
                return Ok(None);
            }
            pairs = self.pairs_max;
        }
    }

    /// Measures the peak over the whole run, in increasingly fine bins.
    fn fine(&self, grid: &Grid, coarse: &DifferenceCounts, peak: &Peak) -> Result<Located, Error> {
        let (mut peak, mut counted) = (*peak, coarse.clone());
        for _ in 0..NEARER {
            let middle = counted.middle(peak.at, peak.bins);
            let steps = i64::try_from(peak.bins).unwrap_or(i64::MAX).saturating_mul(counted.width);
            // Twice the width on both sides, to measure the background.
            let aside = steps.saturating_mul(3).max(16);
            #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
            let middle = middle.round() as i64;
            let width = grid.width(2 * aside, FINE_BINS);
            let (low, high) = (middle.saturating_sub(aside), middle.saturating_add(aside + 1));
            let high = low + (high - low + width - 1) / width * width;
            let finer = self.counted(grid, [low, high], width, 1.0)?;
            let widest = finer.counts.len() / 3;
            let Some(found) = finer.highest(widest.max(1), |_, _| false) else {
                (counted, peak) = counted.around(&peak, FINE_BINS);
                break;
            };
            let is_finest = finer.width >= counted.width;
            (peak, counted) = (found, finer);
            // A narrow peak in a coarse bin needs one more zoom step.
            if is_finest || counted.width == 1 && peak.bins * 12 >= counted.counts.len() {
                break;
            }
        }
        let background = Background::Flat(counted.beside(&peak));
        Ok(Located { shape: counted.shape(&peak, background), sigmas: peak.sigmas })
    }

    /// Returns the first and the last period within reach, limited by the maximum number of histograms.
    fn numbers(&self, pulses: &Pulses) -> [i64; 2] {
        let step = BINS.saturating_mul(period_bin(pulses));
        let reach = self.reach.min(step.saturating_mul(HISTOGRAMS / 2));
        #[expect(clippy::cast_possible_truncation, reason = "whole periods")]
        let farthest = ((reach as f64 / pulses.period - 0.5 - pulses.phase).floor() as i64).max(0);
        [-farthest, farthest]
    }

    /// Returns the pairs per period, cut where pulses are weakest. Period 0 is at the phase of the
    /// pulses.
    fn periods(
        &self,
        pulses: &Pulses,
        [first, last]: [i64; 2],
        part: f64,
    ) -> Result<DifferenceCounts, Error> {
        let width = period_bin(pulses);
        let edge = |number: i64| (number as f64 - 0.5 + pulses.phase) * pulses.period;
        #[expect(clippy::cast_possible_truncation, reason = "a difference of times")]
        let [begin, end] = [edge(first).floor() as i64, edge(last + 1).ceil() as i64];
        let mut sums: Vec<u64> = vec![0];
        let mut low = begin;
        while low < end {
            let high = low.saturating_add(BINS.saturating_mul(width)).min(end);
            // The last bin may extend past the end.
            let high = low + (high - low + width - 1) / width * width;
            let counted = self.counts(&Bins::linear(low, high, width)?, part)?;
            let mut sum = sums.last().copied().unwrap_or(0);
            sums.extend(counted.iter().map(|count| {
                sum += count;
                sum
            }));
            low = high;
        }
        // Counts up to an edge between two bins, assuming that a bin is flat.
        let before = |edge: f64| {
            let at = ((edge - begin as f64 + 0.5) / width as f64).max(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bin")]
            let bin = (at as usize).min(sums.len() - 1);
            let next = sums[(bin + 1).min(sums.len() - 1)];
            let share = (at - bin as f64).min(1.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pairs")]
            let held = (share * (next - sums[bin]) as f64).round() as u64;
            sums[bin] + held
        };
        let counts = (first..=last).map(|number| before(edge(number + 1)) - before(edge(number)));
        Ok(DifferenceCounts { low: first, width: 1, step: 1.0, counts: counts.collect() })
    }

    /// Measures a period over the whole run.
    fn height(&self, pulses: &Pulses, number: i64) -> Result<Height, Error> {
        let aside = AROUND / 2;
        let ends = [number.saturating_sub(aside), number.saturating_add(aside)];
        let periods = self.periods(pulses, ends, 1.0)?;
        let count = periods.counts[periods.counts.len() / 2];
        Ok(Height { count, background: periods.background() })
    }

    /// Measures one pulse over the whole run, above those on both sides of it.
    fn pulse(&self, pulses: &Pulses, number: i64) -> Result<Located, Error> {
        let period = pulses.period;
        #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
        let middle = ((number as f64 + pulses.phase) * period).round() as i64;
        #[expect(clippy::cast_possible_truncation, reason = "a period is below 2^53 ticks")]
        let width = ((period / PULSE_BINS) as i64).max(1);
        let bins_of = |periods: f64| {
            let bins = periods * period / width as f64;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bins")]
            let bins = bins.round() as usize;
            bins
        };
        let (half, aside) = (bins_of(0.5), bins_of(BESIDE as f64 + 0.5) + 1);
        let ticks = i64::try_from(aside).unwrap_or(i64::MAX).saturating_mul(width);
        let low = middle.saturating_sub(ticks);
        let bins = Bins::linear(low, low.saturating_add(2 * ticks + width), width)?;
        let counts = self.counts(&bins, 1.0)?;
        let places = aside - half..=aside + half;
        // At the same phase, in the neighbouring periods.
        let mean = |at: usize| {
            let of = |number: usize| {
                let shift = bins_of(number as f64);
                counts[at - shift] + counts[(at + shift).min(2 * aside)]
            };
            (1..=BESIDE).map(of).sum::<u64>() as f64 / (2 * BESIDE) as f64
        };
        let form: Vec<f64> = places.clone().map(mean).collect();
        let counts = counts[places].to_vec();
        let (on, off) = (counts.iter().sum::<u64>(), form.iter().sum::<f64>());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pairs")]
        let beside = (off * (2 * BESIDE) as f64).round() as u64;
        let low = low + i64::try_from(aside - half).unwrap_or(0) * width;
        let counted = DifferenceCounts { low, width, step: 1.0, counts };
        let sigmas =
            if on as f64 > off { sigmas_above(on, beside, 0.5 / BESIDE as f64) } else { 0.0 };
        let peak = counted.above(&form);
        let background = Background::Beside(&form, 2 * BESIDE);
        Ok(Located { shape: counted.shape(&peak, background), sigmas })
    }

    /// Returns a histogram of this fraction of the run, in bins of `width` steps.
    fn counted(
        &self,
        grid: &Grid,
        [low, high]: [i64; 2],
        width: i64,
        part: f64,
    ) -> Result<DifferenceCounts, Error> {
        let counts = self.counts(&grid.bins(low, high, width)?, part)?;
        let counts = grid.added(low, high, width, counts);
        Ok(DifferenceCounts { low, width, step: grid.step, counts })
    }

    /// Counts this fraction of the run, taken in several places.
    fn counts(&self, bins: &Bins, part: f64) -> Result<Vec<u64>, Error> {
        let mut total: Option<Vec<u64>> = None;
        for range in self.places(part) {
            let scope = Scope { channels: None, delays: Vec::new(), range };
            let (start, stop, mode) = (self.start, self.stop, Mode::All);
            let query = Histogram { start, stop, bins: bins.clone(), mode, fold: None, scope };
            let binned = query.run(self.recording, &Execution::best())?;
            match &mut total {
                None => total = Some(binned.counts),
                Some(total) => {
                    total.iter_mut().zip(binned.counts).for_each(|(all, more)| *all += more);
                }
            }
        }
        Ok(total.unwrap_or_default())
    }

    fn places(&self, part: f64) -> Vec<TimeRange> {
        if part >= 1.0 {
            return vec![self.range];
        }
        let (first, last) = self.span;
        let each = i128::from(last) - i128::from(first);
        let each = each / i128::from(PLACES);
        #[expect(clippy::cast_possible_truncation, reason = "a part of the run")]
        let length = ((each as f64 * part) as i64).max(1);
        let place = |n: i64| {
            let from = i128::from(first) + each * i128::from(n);
            // Between two times of the run.
            let from = i64::try_from(from).unwrap_or(last);
            TimeRange { from: Some(from), to: Some(from.saturating_add(length)) }
        };
        (0..PLACES).map(place).collect()
    }
}

/// The pairs of a period, and the mean of the periods around it that are no peaks.
struct Height {
    count: u64,
    background: f64,
}

impl Height {
    fn sigmas(&self) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pairs")]
        let beside = (self.background * AROUND as f64).round() as u64;
        let is_above = self.count as f64 > self.background;
        if is_above { sigmas_above(self.count, beside, 1.0 / AROUND as f64) } else { 0.0 }
    }

    /// Returns by how much the significance of its count exceeds that of another one.
    fn above(&self, other: &Self) -> f64 {
        let [own, others] = [self, other].map(|of| of.count as f64);
        let apart = (own - self.background) - (others - other.background);
        // The significance of each has a variance of one.
        apart / own.midpoint(others).max(1.0).sqrt()
    }
}

/// Returns the width of the bins that are added up to periods.
fn period_bin(pulses: &Pulses) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a period is below 2^53 ticks")]
    let width = (pulses.period / PERIOD_BINS) as i64;
    width.max(1)
}

/// Returns the period, other than `one`, that is the highest above those around it.
fn highest_but(counts: &[u64], one: usize) -> Option<usize> {
    let around = usize::try_from(AROUND).unwrap_or(usize::MAX);
    let heights = counts.chunks(around).flat_map(|counts| {
        let background =
            DifferenceCounts { low: 0, width: 1, step: 1.0, counts: counts.to_vec() }.background();
        counts.iter().map(move |&count| count as f64 - background)
    });
    let others = heights.enumerate().filter(|&(at, _)| at != one);
    others.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
}
