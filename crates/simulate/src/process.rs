//! Poisson processes: when light is emitted.
//!
//! With pulses each 50.5 ticks, an event between 50.5 and 101 happens at 50.5. A clone gives the same events, on
//! which the lanes of two detectors rely.

use std::f64::consts::TAU;

use rand_distr::{Distribution, Exp1, StandardUniform};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::comb::Comb;
use crate::moment::Moment;
use crate::raster::Raster;
use crate::scan::Area;
use crate::simulation::Drift;

/// The events of a Poisson process, in time order. A clone gives the same events again.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    rng: Xoshiro256PlusPlus,
    /// The last event before drift, in ticks, or in pulses where there is a comb.
    position: Moment,
    /// Mean distance of events before drift, in the unit of `position`.
    mean_gap: f64,
    comb: Option<Comb>,
    /// See [`Emission::share`].
    share: Option<[f64; 2]>,
    /// See [`Emission::lit`].
    lit: Option<Lit>,
    drift: Option<Drift>,
    /// Events at or after this tick are of no interest: they need not be thinned.
    until: i64,
}

/// The parameters of a process, apart from its random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emission {
    /// Events per tick, greater than 0.
    pub(crate) rate: f64,
    pub(crate) comb: Option<f64>,
    /// A pulse has one event at most, and those of them are taken for which a number from 0 to 1 is in this range.
    pub(crate) share: Option<[f64; 2]>,
    /// The pulses that have events.
    pub(crate) lit: Option<Lit>,
    pub(crate) drift: Option<Drift>,
    /// The ticks in which all events are wanted; some before and after come with them.
    pub(crate) from: i64,
    pub(crate) until: i64,
}

/// The pulses of a scan that light an area of its sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lit {
    pub(crate) raster: Raster,
    pub(crate) area: Area,
}

impl Lit {
    fn holds(&self, pulse: i64) -> bool {
        let Self { raster, area } = self;
        raster.pixel(pulse).is_some_and(|at| raster.scan.is_in(*area, at.line, at.pixel))
    }
}

impl Process {
    pub(crate) fn new(emission: &Emission, rng: Xoshiro256PlusPlus) -> Process {
        let peak = 1.0 + emission.drift.map_or(0.0, |drift| drift.relative_amplitude);
        let comb = emission.comb.map(Comb::new);
        let unit = emission.comb.unwrap_or(1.0);
        let first = comb.map_or(emission.from, |comb| comb.pulse_before(emission.from));
        let in_unit = emission.rate * peak * unit;
        // Pulses without an event before one with a chance of `in_unit` each are fewer than an exponential number of
        // this mean: a geometric one.
        let mean_gap = match emission.share {
            Some(_) => -1.0 / libm::log1p(-in_unit.min(1.0)),
            None => 1.0 / in_unit,
        };
        Process {
            rng,
            position: Moment { tick: first, fraction: 0.0 },
            mean_gap,
            comb,
            share: emission.share,
            lit: emission.lit,
            drift: emission.drift,
            until: emission.until,
        }
    }

    /// The next event.
    #[inline]
    pub(crate) fn next(&mut self) -> Moment {
        loop {
            let step: f64 = Exp1.sample(&mut self.rng);
            self.position = match self.share {
                // The next pulse, or one after it.
                Some(_) => {
                    let position = self.position.later(1.0 + step * self.mean_gap);
                    Moment { fraction: 0.0, ..position }
                }
                None => self.position.later(step * self.mean_gap),
            };
            // All events within a period happen at its pulse: Poisson numbers for the pulses, and one draw
            // to skip any number of empty ones.
            let event = match self.comb {
                Some(comb) => comb.time(self.position.tick),
                None => self.position,
            };
            if let Some(lit) = &self.lit {
                if self.position.tick >= lit.raster.end {
                    return Moment::END;
                }
                if !lit.holds(self.position.tick) {
                    continue;
                }
            }
            if let Some(drift) = self.drift
                && event.tick < self.until
                && !drift.keeps(event, &mut self.rng)
            {
                continue;
            }
            // After the drift, so that all lanes of an emitter draw the same numbers.
            let Some([low, high]) = self.share else { return event };
            let uniform: f64 = StandardUniform.sample(&mut self.rng);
            if low <= uniform && uniform < high || event == Moment::END {
                return event;
            }
        }
    }
}

impl Drift {
    /// Returns whether an event of the process at its highest rate also happens at the rate of this moment.
    fn keeps(self, event: Moment, rng: &mut Xoshiro256PlusPlus) -> bool {
        let uniform: f64 = StandardUniform.sample(rng);
        let level = uniform * (1.0 + self.relative_amplitude) - 1.0;
        // The first comparison spares most sines of a small drift.
        level < -self.relative_amplitude || level < self.relative_amplitude * self.sine(event)
    }

    fn sine(self, event: Moment) -> f64 {
        let turns = (event.tick as f64 + event.fraction) / self.period;
        libm::sin(TAU * (turns - libm::floor(turns)))
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    fn process(emission: &Emission) -> Process {
        Process::new(emission, Xoshiro256PlusPlus::seed_from_u64(1))
    }

    const STEADY: Emission = Emission {
        rate: 0.01,
        comb: None,
        share: None,
        lit: None,
        drift: None,
        from: 0,
        until: i64::MAX,
    };

    #[test]
    fn gaps_are_exponential() {
        let mut process = process(&STEADY);
        let times: Vec<f64> = (0..100_000)
            .map(|_| process.next())
            .map(|event| event.tick as f64 + event.fraction)
            .collect();
        // Mean 100, error 100 / sqrt(n) = 0.32. Longer than 300: exp(-3) = 0.0498, error 0.0007.
        let long = times.windows(2).filter(|pair| pair[1] - pair[0] > 300.0).count();
        assert!((times[99_999] / 1e5 - 100.0).abs() < 1.6);
        assert!((long as f64 / 99_999.0 - 0.0498).abs() < 0.0035);
    }

    #[test]
    fn pulses_hold_poisson_numbers() {
        let mut process = process(&Emission { comb: Some(50.5), ..STEADY });
        let mut numbers = vec![0_usize; 100_000];
        loop {
            let event = process.next();
            let time = event.tick as f64 + event.fraction;
            let pulse = (time / 50.5).round();
            assert!((time - pulse * 50.5).abs() < 1e-6);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small whole number"
            )]
            let Some(number) = numbers.get_mut(pulse as usize) else {
                break;
            };
            *number += 1;
        }
        // Mean 0.505 a pulse: P(0) = exp(-0.505) = 0.60351, P(1) = 0.30477, P(2) = 0.07695, P(3) = 0.01295.
        for (number, expected) in [0.603_51, 0.304_77, 0.076_95, 0.012_95].into_iter().enumerate() {
            let found = numbers.iter().filter(|&&found| found == number).count() as f64 / 1e5;
            let error = (expected * (1.0 - expected) / 1e5_f64).sqrt();
            assert!(
                (found - expected).abs() < 5.0 * error,
                "{number}: {found}, expected {expected} +- {error}"
            );
        }
    }

    #[test]
    fn full_drift_is_dark_in_its_trough() {
        let drift = Some(Drift { relative_amplitude: 1.0, period: 1e6 });
        let mut process = process(&Emission { drift, ..STEADY });
        let mut eighths = [0_u32; 8];
        loop {
            let event = process.next();
            if event.tick >= 10_000_000 {
                break;
            }
            eighths[usize::try_from(event.tick % 1_000_000 / 125_000).unwrap()] += 1;
        }
        // Mean of 1 + sin over an eighth: 1 + 8 (cos a - cos b) / 2 pi = 1.3729 and 1.9003 (rising and highest),
        // 0.6271 and 0.0997 (falling and lowest); times 0.01 * 125,000 * 10 periods = 12,500.
        let shares =
            [1.372_92, 1.900_32, 1.900_32, 1.372_92, 0.627_08, 0.099_68, 0.099_68, 0.627_08];
        for (found, share) in eighths.into_iter().zip(shares) {
            let expected = 12_500.0 * share;
            assert!(
                (f64::from(found) - expected).abs() < 5.0 * f64::sqrt(expected),
                "{found}, expected {expected}"
            );
        }
    }

    #[test]
    fn vanishing_rates_end_at_once() {
        let mut process = process(&Emission { rate: 1e-300, from: -1_000_000_000_000, ..STEADY });
        assert_eq!(process.next(), Moment::END);
        assert_eq!(process.next(), Moment::END);
    }
}
