//! The search for the delay between two channels: coarse over the whole range and some of the run, then
//! fine around what was found, over all of it.

use tagq_query::{Bins, Error, Execution, Histogram, Mode, Recording, Scope, TimeRange};

use super::peak::{Counted, Peak, SIGNIFICANT, Shape, sigmas_above};

/// Bins of a histogram: what fits a cache beside the columns.
const BINS: i64 = 1 << 20;
/// Pairs that a first look takes, and how many times more a second one does, some seconds of two threads.
const PAIRS: f64 = 1e8;
const MORE: f64 = 10.0;
/// A run is looked at in so many places.
const PLACES: i64 = 16;
/// No peak is taken to be wider than so many bins: what varies slower is no delay.
const WIDEST: usize = 1 << 10;
/// Looks from ever nearer, after which a peak is as it is.
const NEARER: usize = 8;
/// Side peaks are looked for up to here, and with this many of them they are a comb.
const SIDES: i32 = 5;
/// How near a comb's peaks are looked for, in bins.
const NEAR: i64 = 1 << 17;

/// What is searched.
pub(super) struct Search<'a> {
    pub recording: &'a Recording<'a>,
    pub start: u16,
    pub stop: u16,
    /// |Δ| up to here, in ticks.
    pub reach: i64,
    /// Which times.
    pub range: TimeRange,
    /// First and last time in it.
    pub span: (i64, i64),
    /// Pairs a tick of difference that chance gives over all of it.
    pub pairs_per_tick: f64,
}

/// What was found between two channels. Times are those of the stop minus those of the start, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub shape: Shape,
    pub sigmas: f64,
    /// The best place elsewhere: its middle, and how sure.
    pub second: Option<(f64, f64)>,
    /// The distance of peaks that stand around it on both sides.
    pub comb: Option<f64>,
    /// Whether it is higher than those.
    pub is_highest: bool,
}

impl Search<'_> {
    /// The highest peak and what stands beside it; nothing where there is only chance.
    pub(super) fn run(&self) -> Result<Option<Found>, Error> {
        let all = self.pairs_per_tick * 2.0 * self.reach as f64;
        let mut pairs = PAIRS;
        let (coarse, peak) = loop {
            let part = (pairs / all.max(1.0)).min(1.0);
            let width = (2 * self.reach + 1).div_euclid(BINS) + 1;
            let coarse = self.counted(&Bins::centred(self.reach, width)?, part)?;
            let peak = coarse.highest(WIDEST, |_, _| false);
            if let Some(peak) = peak.filter(|peak| peak.sigmas > SIGNIFICANT) {
                break (coarse, peak);
            }
            if part >= 1.0 || pairs > PAIRS {
                return Ok(None);
            }
            pairs *= MORE;
        };
        let (shape, sigmas) = self.fine(&coarse, &peak)?;
        let second = second(&coarse, &shape);
        let (comb, is_highest) = match self.comb(&shape)? {
            Some((period, is_highest)) => (Some(period), is_highest),
            None => match comb(&coarse, &shape) {
                Some((period, is_highest)) => (Some(period), is_highest),
                None => (None, true),
            },
        };
        Ok(Some(Found { shape, sigmas, second, comb, is_highest }))
    }

    /// The peak over all of the run, in ever finer bins.
    fn fine(&self, coarse: &Counted, peak: &Peak) -> Result<(Shape, f64), Error> {
        let (mut peak, mut counted) = (*peak, coarse.clone());
        for _ in 0..NEARER {
            let middle = counted.middle(peak.at, peak.bins);
            let ticks = i64::try_from(peak.bins).unwrap_or(i64::MAX).saturating_mul(counted.width);
            // Twice as far on both sides as it is wide, for what chance gives.
            let aside = ticks.saturating_mul(3).max(16);
            #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
            let middle = middle.round() as i64;
            let width = (2 * aside).div_euclid(BINS) + 1;
            let (low, high) = (middle.saturating_sub(aside), middle.saturating_add(aside + 1));
            let finer = self.counted(&Bins::linear(low, high, width)?, 1.0)?;
            let widest = finer.counts.len() / 3;
            let Some(found) = finer.highest(widest.max(1), |_, _| false) else {
                break;
            };
            let is_finest = width == 1 && finer.width >= counted.width;
            (peak, counted) = (found, finer);
            // A narrow peak in a coarse bin is looked at once more from near by.
            if is_finest || counted.width == 1 && peak.bins * 12 >= counted.counts.len() {
                break;
            }
        }
        let beside = counted.beside(&peak);
        Ok((counted.shape(&peak, beside), peak.sigmas))
    }

    /// The distance of the peaks of a comb around the peak, up to some thousand ticks.
    fn comb(&self, shape: &Shape) -> Result<Option<(f64, bool)>, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
        let middle = shape.top.round() as i64;
        let near = NEAR.min(self.reach);
        let bins = Bins::linear(middle.saturating_sub(near), middle.saturating_add(near + 1), 1)?;
        let part = (PAIRS / (self.pairs_per_tick * 2.0 * near as f64).max(1.0)).min(1.0);
        Ok(comb(&self.counted(&bins, part)?, shape))
    }

    /// A histogram of this part of the run, taken in several places.
    fn counted(&self, bins: &Bins, part: f64) -> Result<Counted, Error> {
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
        let (low, width) = (bins.edge(0), bins.edge(1) - bins.edge(0));
        Ok(Counted { low, width, counts: total.unwrap_or_default() })
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

/// The best place away from the peak.
fn second(counted: &Counted, shape: &Shape) -> Option<(f64, f64)> {
    let aside = 3.0 * shape.width.max(2.0 * counted.width as f64);
    let near = |at: usize, bins: usize| {
        let reach = bins as f64 * counted.width as f64 / 2.0;
        (counted.middle(at, bins) - shape.top).abs() < aside + reach
    };
    let second = counted.highest(WIDEST, near)?;
    Some((counted.middle(second.at, second.bins), second.sigmas))
}

/// The distance at which peaks stand on both sides of the peak, again and again, and whether it is higher
/// than they are.
fn comb(counted: &Counted, shape: &Shape) -> Option<(f64, bool)> {
    let width = counted.width as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few bins")]
    let bins = (shape.width / width).round() as usize | 1;
    // Between the peaks there is less than their mean.
    let background = counted.background();
    let sigmas = |middle: f64| counted.sigmas_at(middle, bins, background);
    // The nearest place on the right that is no part of the peak itself and as high as one.
    let end = counted.middle(counted.counts.len() - 1, 1);
    let mut aside = (2.5 * shape.width).max(3.0 * width);
    let mut first = None;
    while shape.top + f64::from(SIDES) * aside < end {
        let here = sigmas(shape.top + aside);
        if here > SIGNIFICANT {
            first = Some(aside);
            break;
        }
        aside += width;
    }
    let first = first?;
    // Its top, within a width.
    let steps = (2.0 * shape.width / width).ceil().max(1.0);
    let better = |from: f64, reach: f64, number: f64| {
        let mut best = (from, 0.0);
        let mut aside = from;
        while aside <= from + reach {
            let here = sigmas(shape.top + aside * number) + sigmas(shape.top - aside * number);
            if here > best.1 {
                best = (aside, here);
            }
            aside += width / number / 2.0;
        }
        best.0
    };
    let mut period = better(first, steps * width, 1.0);
    // The farther the peak, the finer the period.
    let mut number = 2.0;
    while shape.top + 2.0 * number * period < end && number < 512.0 {
        let reach = 1.5 * shape.width.max(width) / number;
        period = better(period - reach, 2.0 * reach, number);
        number *= 2.0;
    }
    let is_there = |number: i32| sigmas(shape.top + f64::from(number) * period) > SIGNIFICANT / 2.0;
    let sides: Vec<i32> = (-SIDES..=SIDES).filter(|&n| n != 0).collect();
    let between = |n: i32| sigmas(shape.top + (f64::from(n) + 0.5) * period);
    let there = sides.iter().filter(|&&n| is_there(n)).count();
    let valleys = sides.iter().filter(|&&n| between(n) > SIGNIFICANT / 2.0).count();
    if there + 1 < sides.len() || valleys * 2 > sides.len() {
        return None;
    }
    let count = |number: i32| {
        let held = counted.held(shape.top + f64::from(number) * period, bins);
        held.unwrap_or(0)
    };
    let beside: u64 = sides.iter().map(|&number| count(number)).sum();
    let is_highest = sigmas_above(count(0), beside, 1.0 / sides.len() as f64) > SIGNIFICANT;
    Some((period, is_highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Peaks of three ticks each `period` ticks, the middle one `more` times as high.
    fn peaks(period: usize, more: u64) -> Counted {
        let reach = 100 * period + period / 2;
        let mut counts = vec![0; 2 * reach + 1];
        for (at, count) in counts.iter_mut().enumerate() {
            let aside = at.abs_diff(reach);
            let height = if aside <= 1 { more } else { 1 };
            *count = match (aside + 1) % period {
                1 => 500 * height,
                0 | 2 => 200 * height,
                _ => 0,
            };
        }
        Counted { low: -i64::try_from(reach).unwrap(), width: 1, counts }
    }

    #[test]
    fn a_comb_has_its_period_and_is_above_itself_or_not() {
        let shape =
            Shape { top: 0.0, top_err: 0.5, centre: 0.0, centre_err: 0.1, width: 2.0, net: 900.0 };
        for (more, is_highest) in [(1, false), (3, true)] {
            let (period, highest) = comb(&peaks(80, more), &shape).unwrap();
            assert!((period - 80.0).abs() < 0.05, "{period}");
            assert_eq!(highest, is_highest);
        }
        // One peak alone.
        let mut lone = peaks(80, 1);
        let middle = lone.counts.len() / 2;
        for (at, count) in lone.counts.iter_mut().enumerate() {
            *count = if at.abs_diff(middle) > 2 { 5 } else { *count };
        }
        assert_eq!(comb(&lone, &shape), None);
    }
}
