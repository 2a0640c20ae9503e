//! The bins of a histogram: as requested, or chosen from the tags of the channels.
//!
//! A `range` of 0t..1000t without `bin` has 100 bins of 10 ticks. For pulsed light a chosen bin is at most a twentieth
//! of the period, because in wider ones the number of pulses differs, which looks like dips.

use tagq_query::{Bins, Fold, Histogram as Query, Mode, Period};
use tagq_run::{Error as RunError, RequestError, Run};
use tagq_store::{Duration, Tick};

use super::request::{Histogram, PulsePeriod, Reach};
use crate::{
    error::Error,
    pulses::{Effort, Pulses, Resolution},
    requests::{
        coarse::{self, Chosen, Structure},
        context::QueryContext,
        header::in_ticks,
        limits,
    },
};

/// Bins on either side of zero if no range is requested.
const DEFAULT_BINS: i64 = 64;
/// Number of bins of a range if no bin width is requested; up to twice as many are possible.
const BINS_OF_RANGE: i128 = 100;
/// Chosen bins of a period of pulsed light, at least: in wider ones the number of pulses differs, which looks like dips.
const BINS_OF_PERIOD: f64 = 20.0;
/// Periods on either side of zero, at most, if the range is chosen.
const PERIODS_ASIDE: f64 = 25.0;
/// Periods in a range, at most, if bins are narrowed for pulsed light.
const PERIODS_OF_RANGE: f64 = 500.0;

impl Histogram {
    /// Returns the options that are chosen from the tags of the channels, or from the other one of the
    /// two options.
    pub(super) fn chosen(&self) -> &'static [&'static str] {
        match (&self.bin, &self.range) {
            _ if matches!(self.pulsed, Some(PulsePeriod::Auto | PulsePeriod::Sync(..))) => {
                &["pulsed"]
            }
            _ if self.pulsed.is_some() => &[],
            _ if self.log.is_some() || self.mode == Mode::Grid => &[],
            (None, None) => &["bin", "range"],
            (None, Some(_)) => &["bin"],
            (Some(_), None) => &["range"],
            (Some(_), Some(_)) => &[],
        }
    }

    /// Takes the bins that were chosen for a saved answer, from its `query`.
    pub fn state_bins(&self, query: &serde_json::Value) {
        self.kept.state(query);
    }

    /// Adds to the error a suggestion in place of too many bins.
    pub(super) fn too_many(&self, error: Error, tick: Tick) -> Error {
        let Some(&RunError::Query(tagq_query::Error::Bins { bins, .. })) = error.run() else {
            return error;
        };
        let Ok(width) = self.bin.as_ref().map_or(Ok(1), |bin| bin.ticks(tick, self.exact_bins))
        else {
            return error;
        };
        limits::check(bins, "bins", self.bin_bytes(), |most| instead(bins, width, most, tick))
            .err()
            .unwrap_or(error)
    }

    pub(super) fn bins(
        &self,
        run: &Run,
        query: &Query,
        context: &QueryContext<'_>,
    ) -> Result<Bins, Error> {
        let tick = run.store().manifest().tick;
        let width = self.bin.as_ref().map_or(Ok(1), |bin| bin.ticks(tick, self.exact_bins))?;
        if let Some(per_decade) = self.log {
            let Some(Reach::Between(low, high)) = &self.range else {
                return Err(RequestError::options(
                    &["log", "range"],
                    "`log` wants a range with both ends above zero: `range` 1ns..1ms".into(),
                )
                .into());
            };
            if self.bin.is_some() {
                return Err(RequestError::options(
                    &["log", "bin"],
                    "`log` makes its own bins; leave `bin` out".into(),
                )
                .into());
            }
            return Ok(Bins::logarithmic(low.floor(tick)?, high.ceil(tick)?, per_decade)?);
        }
        if self.mode == Mode::Grid
            && let None | Some(Reach::Around(_)) = self.range
        {
            return self.cells(width, tick, context);
        }
        let has_partner = matches!(self.mode, Mode::Next | Mode::Last);
        // About a hundred bins over the given range.
        let wide = |ticks: i128| match self.bin {
            Some(_) => width,
            None => i64::try_from(ticks / BINS_OF_RANGE).unwrap_or(i64::MAX).max(1),
        };
        // Known without a search.
        let period = match query.fold {
            Some(Fold::Period(Period { numerator, denominator })) => {
                i64::try_from(numerator.div_ceil(denominator.max(1))).ok()
            }
            Some(Fold::SyncDivider(_)) => None,
            None => run.sync_period(query.start),
        };
        if self.range.is_none()
            && let Some(period) = period
        {
            return Ok(Bins::linear(0, period, wide(period.into()))?);
        }
        match &self.range {
            None if self.bin.is_none() => {
                let pulses = self.pulses(run, query, f64::INFINITY, context)?;
                self.choose(run, query, pulses.as_ref(), context)
            }
            None if has_partner => {
                Ok(Bins::linear(0, (2 * DEFAULT_BINS).saturating_mul(width), width)?)
            }
            None => Ok(Bins::centred(DEFAULT_BINS.saturating_mul(width), width)?),
            Some(reach) => {
                let mut shown = Ok(None);
                let width_of = |ticks: i128| {
                    let width = wide(ticks);
                    if self.bin.is_none() && period.is_none() && width > 1 {
                        // Pulses of a longer period are shown by these bins.
                        let longest = BINS_OF_PERIOD * (width as f64 + 1.0);
                        let pulses = self.pulses(run, query, longest, context);
                        shown = pulses.map(|pulses| finer(width, ticks, pulses?));
                    }
                    shown.as_ref().ok().and_then(Option::as_ref).map_or(width, |&(width, _)| width)
                };
                let bins = reach.bins(width_of, tick, context)?;
                if let Some((width, pulses)) = shown? {
                    context.progress.note(&format!(
                        "bins of {} are chosen, because the light is pulsed, period {}; `bin` sets others",
                        in_ticks(width.into(), tick),
                        pulses.in_seconds(1.0, tick.seconds())
                    ));
                }
                Ok(bins)
            }
        }
    }

    /// Returns the pulses of the light that both channels see, of periods up to `longest` ticks.
    fn pulses(
        &self,
        run: &Run,
        query: &Query,
        longest: f64,
        context: &QueryContext<'_>,
    ) -> Result<Option<Pulses>, Error> {
        let tick_s = run.store().manifest().tick.seconds();
        let ends = [query.start, query.stop];
        let found = run.count_as(self.selection.join, None, |recording| {
            let find = || Pulses::find(recording, ends, tick_s, (0, longest), Effort::Small);
            Ok(context.pool.install(find))
        });
        Ok(found?)
    }

    /// Chooses bins that show the structure in the tags of the channels.
    fn choose(
        &self,
        run: &Run,
        query: &Query,
        pulses: Option<&Pulses>,
        context: &QueryContext<'_>,
    ) -> Result<Bins, Error> {
        let tick = run.store().manifest().tick;
        let scope = &query.scope;
        let ends = [query.start, query.stop];
        let resolution = Resolution::of(run, ends);
        let chosen = run.count_as(self.selection.join, None, |recording| {
            context.pool.install(|| match self.mode {
                Mode::Next | Mode::Last => {
                    let bins = coarse::of_neighbours(recording, query, scope.range, resolution)?;
                    Ok(Chosen { bins, structure: None })
                }
                _ => coarse::choose(recording, ends, scope, tick.seconds(), resolution),
            })
        })?;
        let chosen = match pulses {
            Some(pulses) => {
                let structure = Structure { low: -pulses.period / 8.0, high: pulses.period / 8.0 };
                let bins = on_periods(&chosen.bins, pulses.period)?;
                Chosen { bins, structure: Some(structure) }
            }
            None => chosen,
        };
        let bins = self.kept.of(run.path(), chosen);
        let width = bins.edge(1) - bins.edge(0);
        let [low, high] = [0, bins.count()].map(|k| tick.format(bins.edge(k).into()));
        let pulsed = pulses.map_or(String::new(), |pulses| {
            format!(", pulsed light of period {}", pulses.in_seconds(1.0, tick.seconds()))
        });
        let steps = resolution
            .map_or(String::new(), |steps| format!(", times in steps of {}", steps.format(tick)));
        context.progress.note(&format!(
            "bins of {} from {low} to {high} are chosen by what the channels hold{pulsed}{steps}; `bin` and \
             `range` set others",
            in_ticks(width.into(), tick)
        ));
        Ok(bins)
    }

    /// Returns equally many bins on either side of the one at zero. The query counts one more than the
    /// number of requested bins.
    fn cells(&self, width: i64, tick: Tick, context: &QueryContext<'_>) -> Result<Bins, Error> {
        let reach = match &self.range {
            Some(Reach::Around(reach)) => not_negative(reach, tick)?,
            _ => DEFAULT_BINS.saturating_mul(width),
        };
        let cells = (i128::from(reach) + i128::from(width) - 1) / i128::from(width).max(1);
        let aside = cells.max(1) * i128::from(width);
        let Ok(aside) = i64::try_from(aside) else {
            return Err(tagq_query::Error::EmptyRange { low: -reach, high: reach }.into());
        };
        if aside != reach {
            context.progress.note(&format!(
                "the range is widened to whole cells: {} to {}",
                tick.format((-aside).into()),
                tick.format(aside.into())
            ));
        }
        Ok(Bins::linear(-aside, aside, width)?)
    }

    pub(super) fn fold(&self, tick: Tick) -> Result<Option<Fold>, Error> {
        match (&self.period, self.sync_divider) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(RequestError::options(
                &["period", "sync_divider"],
                "`period` and `sync_divider` say the same in two ways; give one".into(),
            )
            .into()),
            (None, Some(divider)) => Ok(Some(Fold::SyncDivider(divider))),
            (Some(period), None) => {
                let (numerator, denominator) = period.fraction(tick)?;
                let fits = u64::try_from(numerator).ok().zip(u64::try_from(denominator).ok());
                let Some((numerator, denominator)) = fits.filter(|&(ticks, _)| ticks > 0) else {
                    let text = period.asked();
                    return Err(RequestError::options(
                        &["period"],
                        format!("`{text}` cannot be a period"),
                    )
                    .into());
                };
                Ok(Some(Fold::Period(Period { numerator, denominator })))
            }
        }
    }
}

/// Returns bins over whole periods of pulsed light in place of others.
fn on_periods(bins: &Bins, period: f64) -> Result<Bins, tagq_query::Error> {
    let (low, high) = (bins.edge(0), bins.edge(bins.count()));
    let width = bins.edge(1) - low;
    let widest = (period / BINS_OF_PERIOD).floor().max(1.0);
    let whole = |periods: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "as long as the bins, or a period")]
        let ticks = (periods * period).round() as i64;
        ticks.max(1)
    };
    #[expect(clippy::cast_possible_truncation, reason = "a part of a period")]
    let at_most = |finest: f64| width.max(finest.ceil() as i64).min(widest as i64);
    let periods = high as f64 / period;
    if low < 0 {
        let periods = periods.round().clamp(1.0, PERIODS_ASIDE);
        let finest = periods * period / (PERIODS_ASIDE * BINS_OF_PERIOD);
        return Bins::centred(whole(periods), at_most(finest));
    }
    if periods > PERIODS_OF_RANGE {
        return Ok(bins.clone());
    }
    Bins::linear(0, whole(periods.ceil()), at_most(1.0))
}

/// Returns the width of a bin that shows these pulses over a range of so many ticks, if `width` does not.
fn finer(width: i64, ticks: i128, pulses: Pulses) -> Option<(i64, Pulses)> {
    if ticks as f64 / pulses.period > PERIODS_OF_RANGE {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a part of a period")]
    let widest = (pulses.period / BINS_OF_PERIOD).floor().max(1.0) as i64;
    (widest < width).then_some((widest, pulses))
}

impl Reach {
    /// Returns bins that cover the range, and notes if they are wider than it. `width_of` returns the width
    /// of a bin for a range of this many ticks.
    pub(crate) fn bins(
        &self,
        width_of: impl FnOnce(i128) -> i64,
        tick: Tick,
        context: &QueryContext<'_>,
    ) -> Result<Bins, Error> {
        match self {
            Self::Around(reach) => {
                let ticks = not_negative(reach, tick)?;
                let bins = Bins::centred(ticks, width_of(2 * i128::from(ticks)))?;
                note_widened([-ticks, ticks], &bins, tick, context, 1);
                Ok(bins)
            }
            Self::Between(low, high) => {
                let (low, high) = (low.floor(tick)?, high.ceil(tick)?);
                let bins = Bins::linear(low, high, width_of(i128::from(high) - i128::from(low)))?;
                note_widened([low, high], &bins, tick, context, 0);
                Ok(bins)
            }
        }
    }
}

/// Returns how far a range reaches on both sides of zero.
fn not_negative(reach: &Duration, tick: Tick) -> Result<i64, Error> {
    let ticks = reach.ceil(tick)?;
    if ticks < 0 {
        let text = reach.asked();
        return Err(RequestError::options(
            &["range"],
            format!("`{text}` is negative; `range` D reaches as far on both sides of zero"),
        )
        .into());
    }
    Ok(ticks)
}

/// Notes that a range was widened to whole bins.
fn note_widened(asked: [i64; 2], bins: &Bins, tick: Tick, context: &QueryContext<'_>, slack: i64) {
    let used = [bins.edge(0), bins.edge(bins.count())];
    let width = bins.edge(1) - bins.edge(0);
    // The middle bin of a two-sided range causes half a bin of widening by itself.
    let allowed = slack * width;
    if (asked[0] - used[0]).abs() > allowed || (used[1] - asked[1]).abs() > allowed {
        context.progress.note(&format!(
            "the range is widened to whole bins: {} to {}",
            tick.format(used[0].into()),
            tick.format(used[1].into())
        ));
    }
}

/// Suggests an alternative to this many bins of a width.
pub(super) fn instead(bins: u128, width: i64, most: u64, tick: Tick) -> String {
    let times = bins / u128::from(most.max(1)) + 1;
    let width = i64::try_from(times).unwrap_or(i64::MAX).saturating_mul(width.max(1));
    format!("`bin` {} would work, or a range shorter by as much", limits::wider(width, tick))
}
