//! Light of known truth, written as simply as possible and independent of the simulator.

use std::collections::BTreeMap;

use rand_distr::{Distribution as _, Exp1, StandardNormal, StandardUniform};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng as _};

/// Light on the detectors. Rates are events per tick.
#[derive(Clone, Default)]
pub(crate) struct Light {
    /// Duration of the recording in ticks.
    pub duration: f64,
    /// Sources of photons that are detected together.
    pub emitters: Vec<Emitter>,
    /// Uncorrelated tags of a channel.
    pub background: Vec<(u16, f64)>,
    /// Interval between light pulses in ticks, if the light is pulsed.
    pub period: Option<f64>,
    /// Coherence time of thermal light in ticks: the intensity of the emitters is exponentially distributed, and constant for times
    /// that are so, too, with this mean. g2 is 1 + exp(−t/T).
    pub coherence: Option<f64>,
    /// Period of the dead spans of the instrument and how long each is, in ticks; one begins each period.
    pub dead: Option<(f64, f64)>,
    /// Mean times for which the emitters are bright and dark, in ticks.
    pub blinking: Option<(f64, f64)>,
    /// After a tag, a detector has none for this time in ticks.
    pub dead_time: f64,
    /// The probability of a further tag, and the mean time after which it comes, in ticks.
    pub afterpulses: Option<(f64, f64)>,
    /// The rate at the end of the recording divided by that at its beginning, if it changes linearly.
    pub rise: Option<f64>,
}

/// Events, each with a photon on every arm.
#[derive(Clone)]
pub(crate) struct Emitter {
    /// Events per tick.
    pub rate: f64,
    /// Channel and efficiency of each arm.
    pub arms: Vec<(u16, f64)>,
    /// Whether each event has only one arm in place of all, with equal probabilities.
    pub splits: bool,
    /// Standard deviation of the time of each photon, in ticks.
    pub jitter: f64,
    /// Mean time from the pulse or the event to the photon, in ticks.
    pub lifetime: f64,
    /// Whether it emits at most once in a pulse.
    pub is_single: bool,
}

/// Times and channels, in order of time.
pub(crate) type Tags = (Vec<i64>, Vec<u16>);

impl Light {
    /// Returns the spans in which nothing is recorded.
    pub(crate) fn dead_spans(&self) -> Vec<(i64, i64)> {
        let Some((period, long)) = self.dead else { return Vec::new() };
        let mut spans = Vec::new();
        let mut begins = 0.0;
        while begins < self.duration {
            #[expect(clippy::cast_possible_truncation, reason = "inside the duration")]
            spans.push((begins as i64, (begins + long) as i64));
            begins += period;
        }
        spans
    }

    pub(crate) fn tags(&self, seed: u64) -> Tags {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut tags: Vec<(i64, u16)> = Vec::new();
        let is_recorded = |time: f64| {
            let is_dead = self.dead.is_some_and(|(period, long)| time % period < long);
            (0.0..self.duration).contains(&time) && !is_dead
        };
        let mut push = |time: f64, channel: u16| {
            if is_recorded(time) {
                #[expect(clippy::cast_possible_truncation, reason = "inside the duration")]
                tags.push((time.floor() as i64, channel));
            }
        };
        for emitter in &self.emitters {
            let mut last = f64::NEG_INFINITY;
            let cells = self.cells(&mut rng).into_iter().filter(|(_, _, factor)| *factor > 0.0);
            for (from, to, factor) in cells {
                let mut time = from;
                loop {
                    let step: f64 = Exp1.sample(&mut rng);
                    time += step / (emitter.rate * factor);
                    if time >= to {
                        break;
                    }
                    let at = self.period.map_or(time, |period| (time / period).floor() * period);
                    if emitter.is_single && at.total_cmp(&last).is_eq() {
                        continue;
                    }
                    last = at;
                    let chosen: f64 = StandardUniform.sample(&mut rng);
                    for (i, &(channel, efficiency)) in emitter.arms.iter().enumerate() {
                        let arms = emitter.arms.len() as f64;
                        let is_hit = !emitter.splits
                            || (i as f64..i as f64 + 1.0).contains(&(chosen * arms));
                        let detected: f64 = StandardUniform.sample(&mut rng);
                        let jitter: f64 = StandardNormal.sample(&mut rng);
                        let decay: f64 = Exp1.sample(&mut rng);
                        let after = emitter.lifetime.mul_add(decay, jitter * emitter.jitter);
                        if is_hit && detected < efficiency {
                            push(at + 0.5 + after, channel);
                        }
                    }
                }
            }
        }
        for &(channel, rate) in &self.background {
            let mut time = 0.0;
            while time < self.duration {
                let step: f64 = Exp1.sample(&mut rng);
                time += step / rate;
                // Tags are left out at random where the rate is below its highest.
                let is_kept = self.rise.is_none_or(|rise| {
                    let kept: f64 = StandardUniform.sample(&mut rng);
                    let relative = 1.0 / rise + (1.0 - 1.0 / rise) * time / self.duration;
                    kept < relative
                });
                if is_kept {
                    push(time, channel);
                }
            }
        }
        if let Some((probability, mean)) = self.afterpulses {
            let after = |(time, channel): (i64, u16)| {
                let (comes, later): (f64, f64) =
                    (StandardUniform.sample(&mut rng), Exp1.sample(&mut rng));
                #[expect(clippy::cast_possible_truncation, reason = "inside the duration")]
                (comes < probability).then_some((time + (later * mean) as i64, channel))
            };
            let more: Vec<(i64, u16)> = tags.clone().into_iter().filter_map(after).collect();
            tags.extend(more);
        }
        tags.sort_unstable();
        let mut last = BTreeMap::new();
        tags.retain(|&(time, channel)| {
            let is_ready =
                last.get(&channel).is_none_or(|last| (time - last) as f64 >= self.dead_time);
            if is_ready {
                last.insert(channel, time);
            }
            is_ready
        });
        tags.into_iter().unzip()
    }

    /// Returns intervals of constant intensity, and the intensity of each.
    fn cells(&self, rng: &mut Xoshiro256PlusPlus) -> Vec<(f64, f64, f64)> {
        if let Some(means) = self.blinking {
            let (mut cells, mut from, mut is_bright) = (Vec::new(), 0.0, true);
            while from < self.duration {
                let length: f64 = Exp1.sample(rng);
                let mean = if is_bright { means.0 } else { means.1 };
                let to = f64::min(mean.mul_add(length, from), self.duration);
                cells.push((from, to, if is_bright { 1.0 } else { 0.0 }));
                (from, is_bright) = (to, !is_bright);
            }
            return cells;
        }
        let Some(coherence) = self.coherence else { return vec![(0.0, self.duration, 1.0)] };
        let mut cells = Vec::new();
        let mut from = 0.0;
        while from < self.duration {
            let length: f64 = Exp1.sample(rng);
            let to = f64::min(coherence.mul_add(length, from), self.duration);
            cells.push((from, to, Exp1.sample(rng)));
            from = to;
        }
        cells
    }
}
