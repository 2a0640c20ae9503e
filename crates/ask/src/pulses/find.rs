//! The search for a period: from coarse to fine bins, with a line in the spectrum of each level.
//!
//! A period of 12.5 ns is found in bins of about 0.25 ns, which show periods up to 128 ns. In the next coarser bins, of
//! 8 ns, its line is at another period: an alias, which the exact differences do not have. Coarse bins decide first, so
//! that a long period is not taken for one of its harmonics.

use std::{f64::consts::TAU, sync::OnceLock};

use rayon::prelude::*;
use tagq_query::Recording;

use super::{
    resolution::Resolution,
    sample::{Effort, Half, Sample},
    spectrum::{BINS, HALF_BINS, LONGEST_PART, Spectrum},
};

/// The finest bin in seconds: single-photon detectors are not faster.
const FINEST_S: f64 = 0.25e-9;
/// Each level has bins wider by this factor than the next finer level …
const COARSER: u32 = 32;
/// … and there are this many levels: periods from 0.5 ns to 4 ms.
const LEVELS: u32 = 4;
/// The longest period of a level in its bins.
const LONGEST_PERIOD: f64 = BINS as f64 / LONGEST_PART as f64;
/// A line exceeds its surroundings by this factor. Chance gives e^−x, and there are 1.3·10⁵ places.
const LINE: f64 = 22.0;
/// The same limit in the other half of the sample, where the position of the line is already known.
const LINE_AGAIN: f64 = 14.0;
/// A line with this ratio is strong enough to decide whether it is an alias.
const ALIAS: f64 = 200.0;
/// Lines that are tried per level: aliases and grids can be higher than pulses.
const TRIES: usize = 6;
/// The highest line may be up to this multiple of the repetition rate.
const HARMONICS: usize = 64;
/// Accidentals with a smaller modulation are not reported.
const DEPTH: f64 = 0.05;

/// A period in the differences of two channels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pulses {
    /// In ticks, rarely a whole number.
    pub period: f64,
    /// The standard error of the period.
    pub period_err: f64,
    /// The position in the period, from 0 to 1, where differences are most frequent.
    pub phase: f64,
}

impl Pulses {
    /// Returns the period of the light that both channels see; `None` if the light is steady.
    ///
    /// The period is refined until it is exact enough for differences up to `reach` ticks. Periods above `longest` ticks
    /// are of no use to the caller and need not be found.
    pub(crate) fn find(
        recording: &Recording<'_>,
        channels: [u16; 2],
        tick_s: f64,
        (reach, longest): (i64, f64),
        effort: Effort,
    ) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "a finest bin is below 2^53 ticks")]
        let finest = ((FINEST_S / tick_s).round() as i64).max(1);
        let span = recording.sources.iter().filter_map(|source| source.span());
        let span = span.map(|(first, last)| last.saturating_sub(first)).max()?;
        // Found when there is a line to check.
        let resolution = OnceLock::new();
        let is_grid = |found: &Self| {
            let find = || Resolution::find(recording, channels);
            resolution
                .get_or_init(find)
                .is_some_and(|step| step.has_line(found.period, found.period_err))
        };
        let of_level = |&level: &u32| {
            let bin = finest.checked_mul(COARSER.pow(level).into())?;
            let reach = bin.checked_mul(HALF_BINS)?;
            (reach <= span / 4).then(|| line(recording, channels, bin, effort, &is_grid))?
        };
        // Coarse levels first, so that a long period is not mistaken for one of its harmonics.
        let levels: Vec<u32> = (0..LEVELS).rev().collect();
        let is_enough = |&&level: &&u32| {
            LONGEST_PERIOD * finest as f64 * f64::from(COARSER.pow(level)) >= longest
        };
        // The coarsest levels read the most. Without a line in the finer ones no period is up to `longest`.
        let (coarse, fine) = levels.split_at(levels.iter().filter(is_enough).count().max(1) - 1);
        let found = fine.par_iter().find_map_first(of_level);
        if found.is_none() && !coarse.is_empty() {
            return None;
        }
        let found = coarse.par_iter().find_map_first(of_level).or(found)?;
        Some(found.refined(recording, channels, reach, effort))
    }

    /// Refines the period with differences that become over eight times longer at each step, as long as
    /// the period is exact enough to count its multiples.
    fn refined(
        mut self,
        recording: &Recording<'_>,
        channels: [u16; 2],
        reach: i64,
        effort: Effort,
    ) -> Self {
        let mut longest = 0;
        while longest < reach && self.period_err > 0.0 {
            // After this many ticks the phase is still known to a tenth of a period.
            let known = self.period * self.period / self.period_err / 10.0;
            #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
            let next = (known as i64).min(reach).max(2 * HALF_BINS);
            if next <= longest.saturating_mul(2) {
                break;
            }
            longest = next;
            let sample = Sample::take(recording, channels, longest, Half::Both, effort);
            let Some(phased) = Phased::best(&sample, 1.0 / self.period, longest, 1) else { break };
            self = phased.pulses();
        }
        self
    }
}

/// Returns the highest line of one level that is the period of pulses.
fn line(
    recording: &Recording<'_>,
    channels: [u16; 2],
    bin: i64,
    effort: Effort,
    is_grid: &(dyn Fn(&Pulses) -> bool + Sync),
) -> Option<Pulses> {
    let reach = bin * HALF_BINS;
    let even = Sample::take(recording, channels, reach, Half::Even, effort);
    let first = Spectrum::of(even.histogram(bin))?;
    // Computed when there is a line to check.
    let mut other: Option<(Sample, Spectrum)> = None;
    let mut passed: Vec<usize> = Vec::new();
    for _ in 0..TRIES {
        let (highest, ratio) = first.highest(&passed);
        if ratio < LINE {
            return None;
        }
        if other.is_none() {
            let odd = Sample::take(recording, channels, reach, Half::Odd, effort);
            let spectrum = Spectrum::of(odd.histogram(bin))?;
            other = Some((even.joined(&odd), spectrum));
        }
        let (both, second) = other.as_ref()?;
        if second.ratio_near(highest) > LINE_AGAIN {
            let lowest = fundamental(&first, second, highest);
            let frequency = lowest as f64 / (BINS as f64 * bin as f64);
            let seen = first.power(lowest) + second.power(lowest);
            // A high line is visible in a part of the differences.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a ratio")]
            let part = ((ratio / ALIAS) as usize).max(1);
            if !Phased::best(both, frequency, reach, part)?.is_alias(seen) {
                let phased = Phased::best(both, frequency, reach, 1)?;
                let pulses = phased.pulses();
                if phased.depth > DEPTH && !is_grid(&pulses) {
                    return Some(pulses);
                }
            }
        }
        passed.push(highest);
    }
    None
}

/// Returns the lowest line that has the highest line as a multiple. Short pulses have harmonics as high
/// as the line itself, but none that is much higher.
fn fundamental(first: &Spectrum, second: &Spectrum, highest: usize) -> usize {
    let power = |at: usize| first.power(at) + second.power(at);
    for harmonic in (2..=HARMONICS).rev() {
        let at = (highest + harmonic / 2) / harmonic;
        if at < LONGEST_PART / 4 {
            continue;
        }
        let near = (at - 1..=at + 1).max_by(|&a, &b| power(a).total_cmp(&power(b))).unwrap_or(at);
        let is_line = first.ratio_near(near) > LINE_AGAIN && second.ratio_near(near) > LINE_AGAIN;
        if is_line && power(near) > 0.25 * power(highest) {
            return near;
        }
    }
    highest
}

/// Exact differences at the frequency that fits them best.
struct Phased {
    frequency: f64,
    frequency_err: f64,
    /// Phase of the differences, in turns.
    phase: f64,
    power: f64,
    depth: f64,
}

impl Phased {
    /// Finds the best frequency around `frequency`, per tick, within the resolution of differences up
    /// to `reach`. Takes one of `part` differences, and far fewer if there are many.
    fn best(sample: &Sample, frequency: f64, reach: i64, part: usize) -> Option<Self> {
        /// Number of pieces of the differences; within one piece the phase hardly moves.
        const PIECES: usize = 128;
        /// Steps per resolution element.
        const STEPS: i32 = 16;
        /// More differences do not increase the precision.
        const DIFFERENCES: usize = 1 << 16;
        let mut pieces = [(0.0, 0.0); PIECES];
        let (mut weights, mut squares) = (0.0, 0.0);
        let width = 2.0 * reach as f64 / PIECES as f64;
        let each = sample.differences().len().div_ceil(DIFFERENCES).max(part);
        for (difference, weight) in sample.weighted().step_by(each) {
            let turns = difference as f64 * frequency;
            let (sin, cos) = libm::sincos((turns - turns.round()) * TAU);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a piece")]
            let piece = ((difference as f64 + reach as f64) / width) as usize;
            let piece = &mut pieces[piece.min(PIECES - 1)];
            piece.0 += weight * cos;
            piece.1 += weight * sin;
            weights += weight;
            squares += weight * weight;
        }
        if weights <= 0.0 {
            return None;
        }
        let sum = |more: f64| {
            let mut sum = (0.0, 0.0);
            for (at, piece) in pieces.iter().enumerate() {
                let middle = (at as f64 + 0.5) * width - reach as f64;
                let (sin, cos) = libm::sincos(middle * more * TAU);
                sum.0 += piece.0 * cos - piece.1 * sin;
                sum.1 += piece.0 * sin + piece.1 * cos;
            }
            sum
        };
        let step = 1.0 / (2.0 * reach as f64 * f64::from(STEPS));
        let power = |more: f64| libm::hypot(sum(more).0, sum(more).1).powi(2);
        let best = (-3 * STEPS / 2..=3 * STEPS / 2)
            .map(|at| f64::from(at) * step)
            .max_by(|&a, &b| power(a).total_cmp(&power(b)))?;
        // The top of a parabola through three neighbours.
        let [before, here, after] = [-step, 0.0, step].map(|aside| power(best + aside));
        let bend = before - 2.0 * here + after;
        let best = if bend < 0.0 { best + step * (before - after) / (2.0 * bend) } else { best };
        let (cos, sin) = sum(best);
        let amplitude = libm::hypot(cos, sin);
        // Weighted differences have a standard deviation of about a third of the longest one.
        let spread = reach as f64 * 0.57;
        let noise = (squares / 2.0).sqrt() / amplitude.max(f64::MIN_POSITIVE);
        Some(Self {
            frequency: frequency + best,
            frequency_err: noise / (TAU * spread),
            phase: (libm::atan2(sin, cos) / TAU).rem_euclid(1.0),
            power: (amplitude * each as f64).powi(2),
            depth: 2.0 * amplitude / weights,
        })
    }

    /// Whether the bins had more power at this frequency than the differences themselves: bins alias.
    fn is_alias(&self, seen: f64) -> bool {
        // Two halves of amplitude a have 2·a², their sum has 4·a².
        self.power < seen
    }

    fn pulses(&self) -> Pulses {
        let period = 1.0 / self.frequency;
        Pulses { period, period_err: self.frequency_err * period * period, phase: self.phase }
    }
}
