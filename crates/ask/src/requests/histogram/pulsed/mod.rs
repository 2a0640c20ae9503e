//! g2 of pulsed light: the pairs around each multiple of the period, in place of equal bins.
//!
//! With `sides` 10 and `skip` 1, the peaks −11 to 11 are counted, and those from 2 to 11 on each side are the
//! reference.

mod afterpulses;
mod areas;
mod found;
mod layout;
mod notes;
mod overlap;

use serde::Serialize;
use tagq_query::{Histogram as Query, mean_spacing};
use tagq_run::{RequestError, Run};
use tagq_store::{Duration, Tick};

use super::request::{Histogram, PulsePeriod};
use crate::{
    error::Error,
    pulses::{Effort, Pulses},
    requests::context::QueryContext,
};

/// Peaks on each side that are compared with the one at zero.
const SIDES: u32 = 10;
/// Peaks on each side, at most, with those that are left out.
const PEAKS_MAX: u32 = 100_000;

/// The peaks of a g2 of pulsed light, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peaks {
    period: f64,
    period_err: f64,
    width: f64,
    /// Whether the request states the width.
    is_stated: bool,
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
    /// `areas`, `fit`, or `none` if g2 is not determined.
    pub method: &'static str,
    /// The times of the first and of the last side peak.
    pub reference_s: [f64; 2],
    /// The part of their height to which equal peaks fall between each other, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valley: Option<f64>,
    /// The shape of peaks that overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<serde_json::Value>,
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
            return Err(RequestError::options(
                &["sides", "skip"],
                format!("`sides` is at least 1, and at most {PEAKS_MAX} with `skip`"),
            )
            .into());
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
            return Err(RequestError::options(
                &["pulsed"],
                "`pulsed` is a period above 0, or `auto`".into(),
            )
            .into());
        }
        if width.is_nan() || width < 1.0 {
            return Err(RequestError::options(
                &["peak"],
                "`peak` is the full width of a peak, at least one tick".into(),
            )
            .into());
        }
        // A valley has a tick.
        if width > period - layout::BETWEEN {
            return Err(RequestError::options(&["peak"], format!(
                "a peak of {} is too wide for the period of {}: between peaks are 8 ticks at least, for the background; \
                 `peak` W is the full width of a peak",
                in_seconds(width, width / 1e4, tick),
                in_seconds(period, period / 1e4, tick)
            )).into());
        }
        let is_same = query.start == query.stop;
        let is_stated = self.peak.is_some();
        Ok(Some(Peaks { period, period_err, width, is_stated, sides, skip, is_same }))
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
            RequestError::not_found("pulsed", format!(
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
            RequestError::not_found("pulsed", 
                "no period is found in the differences of the two channels; give it: `pulsed` 12.5ns".into(),
            )
        })?;
        Ok(found)
    }
}

impl Peaks {
    /// Returns the number of peaks on each side of zero.
    fn aside(&self) -> i64 {
        i64::from(self.sides) + i64::from(self.skip)
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

    /// Returns how much larger the variance of a count is than that of a Poisson number: of one channel, a count at Δ is one at −Δ, too.
    fn times(&self) -> f64 {
        if self.is_same { 2.0 } else { 1.0 }
    }

    /// Returns the times of the first and the last peak that g2 is relative to, in ticks.
    fn reference(&self) -> [f64; 2] {
        [i64::from(self.skip) + 1, self.aside()].map(|number| number as f64 * self.period)
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
