//! Light of known truth, written as simply as possible and independent of the simulator.

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
    /// Coherence time of thermal light in ticks: the intensity of the emitters is constant for this time and
    /// exponentially distributed.
    pub coherence: Option<f64>,
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
}

/// Times and channels, in order of time.
pub(crate) type Tags = (Vec<i64>, Vec<u16>);

impl Light {
    pub(crate) fn tags(&self, seed: u64) -> Tags {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut tags: Vec<(i64, u16)> = Vec::new();
        let mut push = |time: f64, channel: u16| {
            if (0.0..self.duration).contains(&time) {
                #[expect(clippy::cast_possible_truncation, reason = "inside the duration")]
                tags.push((time.floor() as i64, channel));
            }
        };
        for emitter in &self.emitters {
            for (from, to, factor) in self.cells(&mut rng) {
                let mut time = from;
                loop {
                    let step: f64 = Exp1.sample(&mut rng);
                    time += step / (emitter.rate * factor);
                    if time >= to {
                        break;
                    }
                    let at = self.period.map_or(time, |period| (time / period).floor() * period);
                    let chosen: f64 = StandardUniform.sample(&mut rng);
                    for (i, &(channel, efficiency)) in emitter.arms.iter().enumerate() {
                        let arms = emitter.arms.len() as f64;
                        let is_hit = !emitter.splits
                            || (i as f64..i as f64 + 1.0).contains(&(chosen * arms));
                        let detected: f64 = StandardUniform.sample(&mut rng);
                        let jitter: f64 = StandardNormal.sample(&mut rng);
                        if is_hit && detected < efficiency {
                            push(at + 0.5 + jitter * emitter.jitter, channel);
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
                push(time, channel);
            }
        }
        tags.sort_unstable();
        tags.into_iter().unzip()
    }

    /// Returns intervals of constant intensity, and the intensity of each.
    fn cells(&self, rng: &mut Xoshiro256PlusPlus) -> Vec<(f64, f64, f64)> {
        let Some(coherence) = self.coherence else { return vec![(0.0, self.duration, 1.0)] };
        let mut cells = Vec::new();
        let mut from = 0.0;
        while from < self.duration {
            let to = f64::min(from + coherence, self.duration);
            cells.push((from, to, Exp1.sample(rng)));
            from = to;
        }
        cells
    }
}
