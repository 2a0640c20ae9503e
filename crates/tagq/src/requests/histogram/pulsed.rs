//! g2 of pulsed light: the counts in a window around each multiple of the period, in place of equal bins.

use std::{f64::consts::TAU, sync::Arc};

use serde::Serialize;
use tagq_query::{Binned, Bins, Histogram as Query, covariance, limit_of_none, mean_spacing};
use tagq_store::{Duration, Tick};

use super::{
    counts::{Block, HistogramCounts},
    request::{Histogram, PulsePeriod},
};
use crate::{
    cells::Cells,
    error::Error,
    figure::FigureKind,
    pulses::{Effort, Pulses},
    requests::{
        columns::{DelayCells, MIDDLE},
        context::QueryContext,
    },
    run::Run,
    table::{Column, Table, Unit},
};

/// Peaks on each side that are compared with the one at zero.
const SIDES: u32 = 10;
/// The background is taken from the middle of the time between two peaks, from one in so many parts of it.
const VALLEY: f64 = 4.0;
/// Peaks on each side, at most, with those that are left out.
const PEAKS_MAX: u32 = 100_000;
/// Differences have peaks if their phases add up to so many times what they would by chance.
const PULSED: f64 = 6.0;
/// A peak is low if it lies so many standard deviations below the mean of so many peaks on each side, and below half of it.
const LOW: f64 = 5.0;
const BESIDE: usize = 2;
/// Peaks near zero and far from it that differ by so many errors are correlated.
const DIFFERS: f64 = 4.0;

/// The peaks of a g2 of pulsed light, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peaks {
    period: f64,
    period_err: f64,
    width: f64,
    sides: u32,
    skip: u32,
    /// Whether start and stop are one channel, so that every pair is counted at both signs.
    is_same: bool,
}

/// The peaks as an answer states them.
#[derive(Debug, Serialize)]
pub(super) struct PeaksUsed {
    pub period_ticks: f64,
    pub period_err_ticks: f64,
    pub period_s: f64,
    pub peak_ticks: f64,
    pub sides: u32,
    pub skip: u32,
}

/// Bins of a period in a figure.
const BINS_OF_PERIOD: i64 = 25;
/// The largest number of bins in a figure.
const FIGURE_BINS_MAX: i64 = 1 << 14;

/// Returns equal bins over the same differences, for a figure.
pub(super) fn fine(peaks: &Bins) -> Result<Bins, tagq_query::Error> {
    let [low, high] = [peaks.edge(0), peaks.edge(peaks.count())];
    let periods = i64::try_from(peaks.count() / 4).unwrap_or(i64::MAX);
    let most = periods.saturating_mul(BINS_OF_PERIOD).min(FIGURE_BINS_MAX);
    Bins::linear(low, high, (high - low) / most + 1)
}

/// Returns the figure of peaks over the histogram of all differences. `low_peak` has the ends of one that is not at zero.
pub(super) fn figure(
    title: String,
    fine: &Binned,
    unit: Tick,
    low_peak: Option<[i64; 2]>,
) -> FigureKind {
    let low = fine.bins.edge(0);
    FigureKind::Peaks {
        title,
        unit,
        bins: [low, fine.bins.edge(1) - low],
        counts: fine.counts.clone(),
        low_peak,
    }
}

impl Histogram {
    /// Returns the peaks that are counted; `None` if light is not taken as pulsed.
    pub(super) fn peaks(
        &self,
        run: &Run,
        query: &Query,
        context: &QueryContext<'_>,
    ) -> Result<Option<Peaks>, Error> {
        let Some(pulsed) = &self.pulsed else { return Ok(None) };
        let tick = run.store().manifest().tick;
        let in_ticks = |duration: &Duration| -> Result<f64, Error> {
            let (numerator, denominator) = duration.fraction(tick)?;
            Ok(numerator as f64 / denominator as f64)
        };
        let (sides, skip) = (self.sides.unwrap_or(SIDES), self.skip.unwrap_or(0));
        if sides == 0 || sides.saturating_add(skip) > PEAKS_MAX {
            return Err(Error::Request(format!(
                "`sides` is at least 1, and at most {PEAKS_MAX} with `skip`"
            )));
        }
        let (period, period_err) = match (pulsed, run.pulse_period()) {
            (PulsePeriod::Stated(period), _) => (in_ticks(period)?, 0.0),
            (PulsePeriod::Sync(channel, divider), _) => {
                self.sync_period(run, context, (context.setup.channel(channel)?, *divider))?
            }
            (PulsePeriod::Auto, Some(period)) => (period, 0.0),
            (PulsePeriod::Auto, None) => {
                let found = self.found_pulses(run, query, sides + skip, context)?;
                (found.period, found.period_err)
            }
        };
        let width = self.peak.as_ref().map_or(Ok(period / 2.0), in_ticks)?;
        if period.is_nan() || period <= 0.0 {
            return Err(Error::Request("`pulsed` is a period above 0, or `auto`".into()));
        }
        if width.is_nan() || width < 1.0 {
            return Err(Error::Request(
                "`peak` is the full width of a peak, at least one tick".into(),
            ));
        }
        // A valley has a tick.
        if width > period - 2.0 * VALLEY {
            return Err(Error::Request(format!(
                "a peak of {} is too wide for the period of {}: between peaks are 8 ticks at least, for the background; \
                 `peak` W is the full width of a peak",
                in_seconds(width, width / 1e4, tick),
                in_seconds(period, period / 1e4, tick)
            )));
        }
        let is_same = query.start == query.stop;
        Ok(Some(Peaks { period, period_err, width, sides, skip, is_same }))
    }

    /// Returns the mean distance of the pulses that a channel has tags of, with the error that comes from the rounding of its first
    /// and last tag to ticks.
    fn sync_period(
        &self,
        run: &Run,
        context: &QueryContext<'_>,
        (channel, divider): (u16, u32),
    ) -> Result<(f64, f64), Error> {
        let spacing = run.count_as(self.selection.join, None, |recording| {
            Ok(context.pool.install(|| mean_spacing(recording, channel, divider)))
        })?;
        let spacing = spacing.ok_or_else(|| {
            Error::Request(format!(
                "channel {} has no two tags in a file: it is no sync; state the period: `pulsed` 12.5ns",
                context.setup.name_of(channel)
            ))
        })?;
        let pulses = spacing.denominator as f64;
        Ok((spacing.numerator as f64 / pulses, 6.0f64.sqrt().recip() / pulses))
    }

    /// Returns the pulses that the tags show.
    fn found_pulses(
        &self,
        run: &Run,
        query: &Query,
        peaks: u32,
        context: &QueryContext<'_>,
    ) -> Result<Pulses, Error> {
        let tick_s = run.store().manifest().tick.seconds();
        let ends = [query.start, query.stop];
        let find = || {
            run.count_as(self.selection.join, None, |recording| {
                let of = |reach| {
                    Pulses::find(recording, ends, tick_s, (reach, f64::INFINITY), Effort::Full)
                };
                let found = context.pool.install(|| {
                    let first = of(0)?;
                    #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
                    of((first.period * f64::from(peaks + 1)) as i64).or(Some(first))
                });
                Ok(found)
            })
        };
        let key = ("pulsed", ends, peaks, self.selection.join);
        let found = run.memo().get(&key, find)?.ok_or_else(|| {
            Error::Request(
                "no period is found in the differences of the two channels; give it: `pulsed` 12.5ns".into(),
            )
        })?;
        Ok(found)
    }
}

/// The value of a peak with its error.
#[derive(Debug, Clone, Copy, Default)]
struct Peak {
    value: Option<f64>,
    err: Option<f64>,
    limit: Option<f64>,
    background: Option<f64>,
}

/// Sums of counts and of what uncorrelated steady light would give.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    expected: f64,
}

impl Sums {
    fn ratio(self) -> f64 {
        self.count / self.expected
    }

    /// Returns the variance of the ratio, if each count has `times` the variance of a Poisson number.
    fn variance(self, times: f64) -> f64 {
        times * self.count / (self.expected * self.expected)
    }
}

/// A peak far below those beside it: its number, its pairs, and the mean of those beside it.
struct Low {
    peak: i64,
    count: f64,
    beside: f64,
}

/// Returns the middle of each bin in ticks, and its count.
fn middles(fine: &Binned) -> impl Iterator<Item = (f64, f64)> {
    fine.counts.iter().enumerate().map(|(bin, &count)| {
        // A bin holds the ticks from its first edge to before the next one.
        let middle = (fine.bins.edge(bin) as f64 + fine.bins.edge(bin + 1) as f64 - 1.0) / 2.0;
        (middle, count as f64)
    })
}

impl Peaks {
    /// Notes a period that is too coarse for the last peaks.
    pub(super) fn note_period(&self, context: &QueryContext<'_>) {
        if self.period_err * self.aside() as f64 > self.period / 20.0 {
            context.progress.note(
                "the period is not known well enough for the last peaks; give it with `pulsed`, or fewer `sides`",
            );
        }
    }

    /// Notes peaks that are not at multiples of the period, and a peak other than that at zero that lies far below its neighbours, as
    /// that of a single emitter at equal times does. Returns the ends of such a
    /// peak. Peaks are where the phases of all differences in the period have their mean.
    pub(super) fn note_aside(
        &self,
        query: &Query,
        fine: &Binned,
        tick: Tick,
        context: &QueryContext<'_>,
    ) -> Option<[i64; 2]> {
        let (mut cosine, mut sine, mut pairs) = (0.0, 0.0, 0.0);
        for (middle, count) in middles(fine) {
            let (sin, cos) = libm::sincos(TAU * middle / self.period);
            cosine += count * cos;
            sine += count * sin;
            pairs += count;
        }
        let strength = libm::hypot(cosine, sine);
        let aside = libm::atan2(sine, cosine) / TAU * self.period;
        // Of light without pulses, the square of the strength has the mean `pairs`.
        if self.is_same || strength < PULSED * f64::sqrt(pairs) {
            return None;
        }
        let err = self.period / TAU * (pairs / 2.0).sqrt() / strength;
        let text = |ticks: f64| {
            let sign = if ticks < 0.0 { "-" } else { "" };
            format!("{sign}{}", in_seconds(ticks.abs(), err.max(1.0), tick).replace(' ', ""))
        };
        let stop = context.setup.name_of(query.stop);
        let delay = query.scope.delay_of(query.stop) as f64;
        if let Some(Low { peak, count, beside }) = self.low(fine, aside) {
            let at = aside + peak as f64 * self.period;
            let is_elsewhere = at.abs() >= self.period / 16.0;
            if is_elsewhere {
                context.progress.note(&format!(
                    "of all peaks, only that at {} is low, with {count} of {beside:.0} pairs: if it is the one at equal times, \
                     `delays` {stop}={} moves it to zero",
                    text(at),
                    text(delay - at)
                ));
            }
            #[expect(clippy::cast_possible_truncation, reason = "within the histogram")]
            let ends = [-0.5, 0.5].map(|half| (at + half * self.width).round() as i64);
            return is_elsewhere.then_some(ends);
        }
        if aside.abs() >= self.period / 16.0 {
            context.progress.note(&format!(
                "the peaks of the differences are {} from multiples of the period; `delays` {stop}={} moves the nearest one to \
                 zero, which may not be that of equal times",
                text(aside.abs()),
                text(delay - aside)
            ));
        }
        None
    }

    /// Returns the one peak that lies far below those beside it, if there is one. The peaks are `aside` ticks from multiples of the
    /// period.
    fn low(&self, fine: &Binned, aside: f64) -> Option<Low> {
        let first = -self.aside();
        let peaks = usize::try_from(2 * self.aside() + 1).ok()?;
        let mut counts = vec![0.0; peaks];
        for (middle, count) in middles(fine) {
            let number = ((middle - aside) / self.period).round();
            let from_peak = (middle - aside - number * self.period).abs();
            #[expect(clippy::cast_possible_truncation, reason = "a peak")]
            let at = usize::try_from(number as i64 - first).ok();
            if from_peak <= self.width / 2.0
                && let Some(sum) = at.and_then(|at| counts.get_mut(at))
            {
                *sum += count;
            }
        }
        // The last peaks may be cut off.
        let inner = BESIDE..counts.len().checked_sub(BESIDE)?;
        let mut low = inner.filter_map(|at| {
            let beside = counts[at - BESIDE..=at + BESIDE].iter().sum::<f64>() - counts[at];
            let beside = beside / (2 * BESIDE) as f64;
            let below = (beside - counts[at]) / beside.max(1.0).sqrt();
            (below > LOW && counts[at] < beside / 2.0).then_some(Low {
                peak: i64::try_from(at).unwrap_or(i64::MAX) + first,
                count: counts[at],
                beside,
            })
        });
        low.next().filter(|_| low.next().is_none())
    }

    /// Returns the number of peaks on each side of zero.
    fn aside(&self) -> i64 {
        i64::from(self.sides) + i64::from(self.skip)
    }

    /// Returns the bins of all differences: a valley, the time from there to a peak, the peak, the time to the next valley, and so
    /// on.
    pub(super) fn bins(&self) -> Result<Bins, Error> {
        let mut edges = Vec::new();
        let mut add = |middle: f64, width: f64| {
            for (time, after) in
                [((middle - width / 2.0).ceil(), 0), ((middle + width / 2.0).floor(), 1)]
            {
                if time.abs() >= (1_i64 << 62) as f64 {
                    return Err(Error::Request(
                        "the last peak is beyond 2^62 ticks; take fewer `sides`".into(),
                    ));
                }
                #[expect(clippy::cast_possible_truncation, reason = "checked")]
                edges.push(time as i64 + after);
            }
            Ok(())
        };
        let valley = (self.period - self.width) / VALLEY;
        for peak in -self.aside()..=self.aside() {
            let middle = peak as f64 * self.period;
            add(middle - self.period / 2.0, valley)?;
            add(middle, self.width)?;
        }
        add((self.aside() as f64 + 0.5) * self.period, valley)?;
        let bins = Bins::Edges(edges);
        bins.check()?;
        Ok(bins)
    }

    /// Returns the bin of a peak, counted from the first one.
    fn bin(peak: usize) -> usize {
        4 * peak + 2
    }

    /// Returns how many periods a peak is from zero.
    fn number(&self, peak: usize) -> i64 {
        i64::try_from(peak).unwrap_or(i64::MAX) - self.aside()
    }

    /// Whether g2 is relative to this peak.
    fn is_side(&self, peak: usize) -> bool {
        self.number(peak).unsigned_abs() > self.skip.into()
    }

    fn count(&self) -> usize {
        usize::try_from(2 * self.aside() + 1).unwrap_or(usize::MAX)
    }

    /// Returns the sums over the side peaks and over the valleys.
    fn references(&self, counts: &[f64], expected: &[Option<f64>]) -> [Sums; 2] {
        let mut references = [Sums::default(); 2];
        for (bin, (&count, &expected)) in counts.iter().zip(expected).enumerate() {
            let Some(expected) = expected.filter(|&expected| expected > 0.0) else { continue };
            let of = match bin % 4 {
                0 => 1,
                2 if self.is_side(bin / 4) => 0,
                _ => continue,
            };
            references[of].count += count;
            references[of].expected += expected;
        }
        references
    }

    /// Returns g2 of each peak (docs/queries.md, section "Pulsed light"), with errors of Poisson counts.
    fn values(&self, counts: &[f64], expected: &[Option<f64>]) -> Vec<Peak> {
        let [sides, valleys] = self.references(counts, expected);
        let has_all = sides.expected > 0.0 && valleys.expected > 0.0;
        let (side, background) = (sides.ratio(), valleys.ratio());
        let height = side - background;
        // Of one channel, a count at Δ is one at −Δ, too.
        let times = if self.is_same { 2.0 } else { 1.0 };
        let of = |peak: usize| {
            let bin = Self::bin(peak);
            let Some(of_peak) = expected[bin].filter(|&e| e > 0.0 && has_all) else {
                return Peak::default();
            };
            let own = Sums { count: counts[bin], expected: of_peak };
            let background = Some(background * of_peak);
            if height.is_nan() || height <= 0.0 {
                return Peak { background, ..Peak::default() };
            }
            let g2 = (own.ratio() - valleys.ratio()) / height;
            // A side peak of two channels is a part of the sum.
            let counted = Sums { count: own.count.max(1.0), ..own };
            let of_itself = if self.number(peak) == 0 { times } else { 1.0 };
            let shared = if self.is_side(peak) {
                times * own.count / (own.expected * sides.expected)
            } else {
                0.0
            };
            let variance = counted.variance(of_itself) + g2 * g2 * sides.variance(times)
                - 2.0 * g2 * shared
                + (1.0 - g2) * (1.0 - g2) * valleys.variance(times);
            Peak {
                value: Some(g2),
                // A peak with most of the counts of all is compared with itself.
                err: (!self.is_side(peak) || 2.0 * own.count <= sides.count)
                    .then(|| variance.max(0.0).sqrt() / height),
                limit: (own.count == 0.0).then(|| of_itself * limit_of_none(of_peak * height)),
                background,
            }
        };
        (0..self.count()).map(of).collect()
    }

    /// Returns how much larger the peaks next to zero are than those far from it, if by more than chance.
    fn bunching(&self, counts: &[f64], expected: &[Option<f64>]) -> Option<f64> {
        let [_, valleys] = self.references(counts, expected);
        let half = i64::from(self.skip) + i64::from(self.sides.div_ceil(2));
        let mut halves = [Sums::default(); 2];
        for peak in (0..self.count()).filter(|&peak| self.is_side(peak)) {
            let Some(of_peak) = expected[Self::bin(peak)].filter(|&e| e > 0.0) else { continue };
            let sums = &mut halves[usize::from(self.number(peak).abs() > half)];
            sums.count += counts[Self::bin(peak)];
            sums.expected += of_peak;
        }
        let [near, far] = halves;
        let times = if self.is_same { 2.0 } else { 1.0 };
        let err = (near.variance(times) + far.variance(times)).sqrt();
        let is_other = (near.ratio() - far.ratio()).abs() > DIFFERS * err;
        let ratio = (near.ratio() - valleys.ratio()) / (far.ratio() - valleys.ratio());
        Some(ratio).filter(|ratio| is_other && ratio.is_finite() && *ratio > 0.0)
    }

    /// Returns a row for each peak, with errors by formula or from blocks, and the text of g2(0).
    pub(super) fn rows(
        self,
        tallied: HistogramCounts,
        tick: Tick,
        context: &QueryContext<'_>,
        is_elsewhere: bool,
    ) -> (Table, String) {
        let HistogramCounts { binned, expected, blocks, .. } = tallied;
        let expected = expected.unwrap_or_else(|| vec![None; binned.counts.len()]);
        let counts: Vec<f64> = binned.counts.iter().map(|&count| count as f64).collect();
        let mut values = self.values(&counts, &expected);
        if !blocks.is_empty() {
            let without = |block: &Block| {
                let left = binned.counts.iter().zip(&block.counts);
                let left: Vec<f64> = left.map(|(all, of)| all.saturating_sub(*of) as f64).collect();
                Some(self.values(&left, block.expected_without.as_deref()?))
            };
            let left_out: Vec<Vec<Peak>> = blocks.iter().filter_map(without).collect();
            for (peak, value) in values.iter_mut().enumerate() {
                let of: Option<Vec<f64>> = left_out.iter().map(|of| of[peak].value).collect();
                let err = of.filter(|of| of.len() > 1).map(|of| covariance(&of, &of).sqrt());
                // Blocks of a peak without any count do not differ.
                let is_none = binned.counts[Self::bin(peak)] == 0;
                let larger = || value.err.zip(err).map(|(one, other)| one.max(other)).or(value.err);
                value.err = if is_none { larger() } else { err.or(value.err) };
            }
        }
        // The one low peak is no bunching of the others.
        if let Some(ratio) = self.bunching(&counts, &expected).filter(|_| !is_elsewhere) {
            let cause = if ratio > 1.0 {
                "the light is correlated over several pulses, as by blinking"
            } else {
                "something prevents pairs there, as the dead time of a detector does"
            };
            context.progress.note(&format!(
                "the peaks next to zero are {ratio:.3} times those further away: {cause}; `skip` N leaves the first N \
                 peaks on each side out of the reference"
            ));
        }
        let zero = values[self.count() / 2];
        let text = match (zero.value, zero.err, zero.limit) {
            (Some(_), _, Some(limit)) => format!("g2(0) < {limit:.4} (95 %)"),
            (Some(value), Some(err), None) => format!("g2(0) = {value:.4} \u{b1} {err:.4}"),
            (Some(value), None, None) => format!("g2(0) = {value:.4}"),
            (None, ..) if zero.background.is_none() => {
                "g2(0) is not defined: no pairs are expected there".into()
            }
            (None, ..) => "g2(0) is not defined: the side peaks do not exceed what is between them; are the peaks at \
                           multiples of the period?"
                .into(),
        };
        (self.table(&Arc::new(binned.bins), Arc::new(binned.counts), values, tick), text)
    }

    fn table(
        self,
        bins: &Arc<Bins>,
        counts: Arc<Vec<u64>>,
        values: Vec<Peak>,
        tick: Tick,
    ) -> Table {
        let rows = self.count();
        let values = Arc::new(values);
        let cells = |of: fn(Peak) -> Option<f64>| {
            let values = Arc::clone(&values);
            Cells::made(rows, move |peak| of(values[peak]))
        };
        let DelayCells { low, width, middle } = DelayCells::of(rows, bins, Self::bin, tick);
        let times = if self.is_same { 2.0 } else { 1.0 };
        let err = {
            let counts = Arc::clone(&counts);
            move |peak| {
                let times = if self.number(peak) == 0 { times } else { 1.0 };
                Some((times * counts[Self::bin(peak)].max(1) as f64).sqrt())
            }
        };
        let table = Table::default()
            .with(Column::integers("peak", Cells::made(rows, move |peak| self.number(peak))).key())
            .with(Column::integers("first_tick", low).heading("from (ticks)").if_room(1))
            .with(Column::integers("width_ticks", width).heading("ticks").hidden())
            .with(
                Column::floats("delay_s", middle)
                    .heading("delay")
                    .about(MIDDLE)
                    .unit(Unit::Seconds),
            )
            .with(
                Column::counts("count", Cells::made(rows, move |peak| counts[Self::bin(peak)]))
                    .err("count_err")
                    .compared(),
            )
            .with(Column::floats("count_err", Cells::made(rows, err)).hidden())
            .with(Column::floats("background", cells(|of| of.background)).if_room(1))
            .with(Column::floats("g2", cells(|of| of.value)).err("g2_err"))
            .with(Column::floats("g2_err", cells(|of| of.err)).hidden())
            .with(
                Column::flags("side", Cells::made(rows, move |peak| self.is_side(peak))).hidden(),
            );
        if values.iter().any(|of| of.limit.is_some()) {
            return table.with(
                Column::floats("g2_max", cells(|of| of.limit)).heading("g2 (95 %) <").if_room(0),
            );
        }
        table
    }

    /// Returns the peaks as the answer states them.
    pub(super) fn used(&self, tick: Tick) -> PeaksUsed {
        PeaksUsed {
            period_ticks: self.period,
            period_err_ticks: self.period_err,
            period_s: self.period * tick.seconds(),
            peak_ticks: self.width,
            sides: self.sides,
            skip: self.skip,
        }
    }

    /// Returns them as words of the header.
    pub(super) fn words(&self, tick: Tick) -> String {
        let skipped = if self.skip > 0 {
            format!(", without the first {}", self.skip)
        } else {
            String::new()
        };
        format!(
            "peaks of {} each {}, {} on each side{skipped}",
            in_seconds(self.width, self.period_err, tick),
            in_seconds(self.period, self.period_err, tick),
            self.sides
        )
    }
}

/// Formats a time of so many ticks with the digits that are known.
fn in_seconds(ticks: f64, err: f64, tick: Tick) -> String {
    Pulses { period: ticks, period_err: err, phase: 0.0 }.in_seconds(1.0, tick.seconds())
}
