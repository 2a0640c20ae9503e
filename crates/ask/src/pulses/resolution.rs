//! The resolution of recorded times: a clock that is coarser than the tick.
//!
//! If one channel has times in steps of 1,000 ticks and the other one in steps of 1,500, their differences are in steps
//! of 500. A channel with a tag in most steps is a clock, and says nothing about the resolution.

use std::f64::consts::TAU;

use tagq_query::{Recording, Source};
use tagq_store::{LabelReader, TimeReader};

/// Number of places in the run that are read, and rows in each.
const PLACES: usize = 16;
const ROWS: usize = 2_048;
/// Rows that are read per tag of the two channels: others may have other channels.
const SPARSE: usize = 16;
/// Fewer distances prove nothing.
const DISTANCES_MIN: usize = 64;
/// A step that is not a whole number of ticks is found from this many ticks on. Distances of two times differ from its
/// multiples by up to a tick, and those of two distances by up to two.
const FRACTION_MIN: i64 = 8;
const ROUNDED: f64 = 2.0;
/// Distances that are looked at first: among so many short ones times in ticks have some that are no multiples of a step.
const SHORTEST: usize = 1_024;
/// Longer steps are those of no clock, and their multiples would leave 64 bits.
const STEP_MAX: i64 = 1 << 40;
/// The largest number of steps that are a whole number of ticks together.
const STEPS_MAX: u32 = 256;

/// The differences of two channels are a constant and multiples of a step, because both times are recorded in such steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Resolution {
    /// The step in ticks, two or more, not always a whole number.
    pub step: f64,
    /// Half the uncertainty of the step; 0 for whole ticks.
    pub step_err: f64,
    /// The constant in ticks, between −step/2 and step/2: not zero if the clocks of the channels are apart by a part of a step.
    pub phase: f64,
}

impl Resolution {
    /// Finds the steps of the times of two channels, or of one; `None` if they are in ticks, or if the steps of the
    /// channels differ.
    ///
    /// Reads a bounded sample of the run.
    pub(crate) fn find(recording: &Recording<'_>, [a, b]: [u16; 2]) -> Option<Self> {
        let samples = sampled(recording, [a, b]);
        let of = |channel: u16| {
            let times = samples.iter().map(|tags| {
                tags.iter().filter(|tag| tag.1 == channel).map(|tag| tag.0).collect::<Vec<i64>>()
            });
            step(&times.collect::<Vec<_>>())
        };
        let found = of(a)?;
        if a == b {
            return Some(found);
        }
        let found = found.common(of(b)?)?;
        let (mut cosine, mut sine, mut pairs) = (0.0, 0.0, 0.0);
        for pair in samples.iter().flat_map(|tags| tags.windows(2)) {
            let ((earlier, of_earlier), (later, of_later)) = (pair[0], pair[1]);
            let apart = (later - earlier) as f64;
            if of_earlier != of_later && apart * found.step_err < found.step * found.step / 16.0 {
                let sign = if of_earlier == a { 1.0 } else { -1.0 };
                let (sin, cos) = libm::sincos(TAU * (sign * apart / found.step).fract());
                cosine += cos;
                sine += sin;
                pairs += 1.0;
            }
        }
        let phase = libm::atan2(sine, cosine) / TAU * found.step;
        // Zero to the rounding of the times.
        let is_apart = pairs > 0.0 && phase.abs() > ROUNDED / 2.0;
        Some(Self { phase: if is_apart { phase } else { 0.0 }, ..found })
    }

    /// Returns the steps of the differences of times with these two steps.
    fn common(self, other: Self) -> Option<Self> {
        if self.step_err == 0.0 && other.step_err == 0.0 {
            #[expect(clippy::cast_possible_truncation, reason = "whole ticks")]
            let whole = common_divisor(self.step as i64, other.step as i64);
            return (whole > 1).then_some(Self { step: whole as f64, ..self });
        }
        let (fine, coarse) = if self.step <= other.step { (self, other) } else { (other, self) };
        let times = (coarse.step / fine.step).round();
        fine.is(coarse.step / times, coarse.step_err / times).then_some(fine)
    }

    /// Whether this is the period of the steps, or a part of it, as lines in a spectrum show it.
    pub(super) fn has_line(&self, period: f64, err: f64) -> bool {
        let parts = (self.step / period).round().max(1.0);
        self.is(parts * period, parts * err)
    }

    fn is(&self, step: f64, err: f64) -> bool {
        (step - self.step).abs() <= self.step_err + 5.0 * err + 1e-4 * self.step
    }

    /// Returns the smallest number of steps that is a whole number of ticks, and these ticks. Returns `None` if the rounding
    /// to whole ticks would add up to half a tick within `reach` ticks.
    pub(crate) fn whole(&self, reach: i64) -> Option<(i64, i64)> {
        let most = 0.5 * self.step / (reach.max(1) as f64);
        (1..=STEPS_MAX).find_map(|steps| {
            let ticks = f64::from(steps) * self.step;
            let is_whole = (ticks - ticks.round()).abs() / f64::from(steps)
                <= most.max(self.step_err).min(0.5 / f64::from(steps * 8));
            #[expect(clippy::cast_possible_truncation, reason = "steps of a clock")]
            is_whole.then_some((i64::from(steps), ticks.round() as i64))
        })
    }
}

/// Returns times and channels of two channels in places of the run, in order of time.
fn sampled(recording: &Recording<'_>, channels: [u16; 2]) -> Vec<Vec<(i64, u16)>> {
    let place = |source: &Source<'_>, from: usize| {
        let tags = source.tags;
        let (mut times, mut labels) = (TimeReader::new(tags.time), LabelReader::new(tags.channels));
        let rows = from..(from + SPARSE * ROWS).min(tags.len());
        let of_two = rows.filter_map(|row| {
            let label = labels.at(row);
            channels.contains(&label).then_some((row, label))
        });
        of_two.take(ROWS).map(|(row, label)| (times.at(row), label)).collect::<Vec<(i64, u16)>>()
    };
    let each = (recording.rows() / PLACES).max(1);
    let mut before: usize = 0;
    let mut samples = Vec::new();
    for source in &recording.sources {
        let len = source.tags.len();
        let starts =
            (before.div_ceil(each)..(before + len).div_ceil(each)).map(|at| at * each - before);
        samples.extend(starts.map(|from| place(source, from)));
        before += len;
    }
    samples
}

/// Returns the step that all distances between times in the same list are multiples of.
fn step(samples: &[Vec<i64>]) -> Option<Resolution> {
    let distances = samples.iter().flat_map(|times| times.windows(2));
    let mut distances: Vec<i64> =
        distances.map(|pair| pair[1].saturating_sub(pair[0])).filter(|&apart| apart > 0).collect();
    if distances.len() < DISTANCES_MIN {
        return None;
    }
    let common = |divisor, &apart: &i64| {
        Some(common_divisor(divisor, apart)).filter(|&divisor| divisor != 1)
    };
    if let Some(whole) = distances.iter().try_fold(0, common) {
        // Tags in each step are those of a clock.
        let single = distances.iter().filter(|&&apart| apart == whole).count();
        if 2 * single > distances.len() || whole > STEP_MAX {
            return None;
        }
        return Some(Resolution { step: whole as f64, step_err: 0.0, phase: 0.0 });
    }
    // Distances of distances are shorter, so that one of them is a single step.
    let few = distances.len().min(SHORTEST);
    distances.select_nth_unstable(few - 1);
    if values_of(&mut distances[..few]).into_iter().any(|value| value < FRACTION_MIN - 2) {
        return None;
    }
    let mut values = values_of(&mut distances);
    values.sort_unstable();
    let is_step = |shortest: i64| (FRACTION_MIN - 2..=STEP_MAX).contains(&shortest);
    let shortest = *values.first().filter(|&&shortest| is_step(shortest))?;
    let mut ends = [shortest as f64 - ROUNDED, shortest as f64 + ROUNDED];
    let mut multiples = 0;
    for value in values {
        let value = value as f64;
        let [steps, fewest] = [ends[0], ends[1]].map(|step| (value / step).round());
        if steps > fewest {
            continue;
        }
        ends = [ends[0].max((value - ROUNDED) / steps), ends[1].min((value + ROUNDED) / steps)];
        if ends[0] > ends[1] {
            return None;
        }
        multiples += 1;
    }
    let step = ends[0].midpoint(ends[1]);
    (multiples >= DISTANCES_MIN && step >= FRACTION_MIN as f64).then_some(Resolution {
        step,
        step_err: (ends[1] - ends[0]) / 2.0,
        phase: 0.0,
    })
}

/// Returns the distances and their distances, without those of rounded times. Sorts the distances.
fn values_of(distances: &mut [i64]) -> Vec<i64> {
    distances.sort_unstable();
    let mut values: Vec<i64> = distances.windows(2).map(|pair| pair[1] - pair[0]).collect();
    values.extend(&*distances);
    #[expect(clippy::cast_possible_truncation, reason = "a few ticks")]
    values.retain(|&value| value > ROUNDED as i64);
    values
}

fn common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns times with distances of up to 1,000,000 ticks, each multiple of `step` rounded down.
    fn times(step: f64) -> Vec<i64> {
        let mut at = 0.0;
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            at += ((state >> 40) as f64 / 16.0 / step).floor();
            #[expect(clippy::cast_possible_truncation, reason = "a test's numbers")]
            let time = (at * step).floor() as i64;
            time
        };
        std::iter::repeat_with(next).take(4_096).collect()
    }

    #[test]
    fn steps_are_found_whole_or_not_and_ticks_are_none() {
        for exact in [2.0, 5.0, 1_000.0, 156.25, 17.3, 9_696.969_697, 3_333.333_333] {
            let found = step(&[times(exact)]).unwrap_or_else(|| panic!("no step of {exact}"));
            let off = (found.step - exact).abs();
            assert!(off <= found.step_err && off < 1e-3 * exact, "{exact}: {found:?}");
        }
        assert_eq!(step(&[times(1.0)]), None);
        assert_eq!(step(&[(0..4_096).map(|n| 100 * n).collect()]), None, "a clock");
        assert_eq!(step(&[times(1.5)]), None);
        assert_eq!(step(&[times(1_000.0)[..60].to_vec()]), None, "too few");
        let far: Vec<i64> = (0..4_096).map(|n| (n + n % 3) << 50).collect();
        assert_eq!(step(&[far]), None, "too long");
        let mut jittered = times(1_000.0);
        for (number, time) in jittered.iter_mut().enumerate() {
            *time += i64::try_from(number * 7 % 5).unwrap();
        }
        assert_eq!(step(&[jittered]), None, "pulses with jitter are no steps");
    }

    #[test]
    fn whole_ticks_hold_a_few_steps() {
        let of = |step: f64, step_err: f64| Resolution { step, step_err, phase: 0.0 };
        assert_eq!(of(1_000.0, 0.0).whole(1 << 40), Some((1, 1_000)));
        assert_eq!(of(156.25, 1e-7).whole(1 << 30), Some((4, 625)));
        assert_eq!(of(3_333.333_333_3, 1e-9).whole(1 << 30), Some((3, 10_000)));
        let common = |a: Resolution, b| a.common(b).map(|found| found.step);
        assert_eq!(common(of(1_000.0, 0.0), of(1_500.0, 0.0)), Some(500.0));
        assert_eq!(common(of(1_000.0, 0.0), of(1_001.0, 0.0)), None);
        assert_eq!(common(of(312.5, 1e-6), of(156.25, 1e-6)), Some(156.25));
        assert_eq!(common(of(312.5, 1e-6), of(200.0, 0.0)), None);
        assert_eq!(of(std::f64::consts::PI * 100.0, 0.0).whole(1 << 40), None);
    }
}
