//! The light and the dark counts of a simulation as independent Poisson processes.
//!
//! Pairs at a rate of 1 and efficiencies of 0.5 and 0.4: both photons are detected at 0.2, only the first at 0.3,
//! only the second at 0.2. The two lanes of common light use the same random numbers, so that their events are pairs.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::Error;
use crate::lane::{Lane, Response};
use crate::process::{Emission, Lit, Process};
use crate::seeds::{Purpose, Seeds};
use crate::simulation::{Light, Simulation, Species};

/// Beyond this many detections per tick, whole ticks say little about when they were.
const RATE_MAX: f64 = 0.5;
/// Detections of one pulse come all at once.
const PULSE_MAX: f64 = 65_536.0;
/// Detections in flight because of jitter; a batch is some times as many (see `tags::batch_ticks`).
const JITTER_MAX: f64 = 1_048_576.0;

/// The lanes of a checked simulation that ends at `end`.
pub(crate) fn lanes(simulation: &Simulation, end: i64) -> Result<Vec<Lane>, Error> {
    let mut plan = LanePlan {
        simulation,
        end,
        seeds: Seeds::of_detectors(simulation.seed, simulation.detectors.len()),
        rates: vec![0.0; simulation.detectors.len()],
        lanes: Vec::new(),
    };
    plan.light();
    let photons: f64 = plan.rates.iter().sum();
    for index in 0..simulation.detectors.len() {
        plan.dark(index);
    }
    plan.check_rates()?;
    let pulse = photons * simulation.light.pulse_period().unwrap_or(0.0);
    if pulse > PULSE_MAX {
        return Err(Error::Pulse { found: pulse, max: PULSE_MAX });
    }
    let carry = plan.lanes.iter().map(Lane::carry).sum();
    if carry > JITTER_MAX {
        return Err(Error::Jitter { found: carry, max: JITTER_MAX });
    }
    Ok(plan.lanes)
}

struct LanePlan<'a> {
    simulation: &'a Simulation,
    end: i64,
    seeds: Vec<Seeds>,
    /// Detections per tick of each detector.
    rates: Vec<f64>,
    lanes: Vec<Lane>,
}

impl LanePlan<'_> {
    fn light(&mut self) {
        let detectors = &self.simulation.detectors;
        let efficiency = |index: usize| detectors[index].efficiency;
        let count = detectors.len();
        match self.simulation.light {
            Light::Coherent { rate, beam_splitter, .. } => {
                let share = if beam_splitter { rate / count as f64 } else { rate };
                for index in 0..count {
                    self.alone(index, share * efficiency(index));
                }
            }
            Light::Pairs { rate, beam_splitter: false, .. } => {
                for a in (0..count).step_by(2) {
                    let b = a + 1;
                    self.alone(a, rate * efficiency(a) * (1.0 - efficiency(b)));
                    self.alone(b, rate * efficiency(b) * (1.0 - efficiency(a)));
                    self.together(a, b, rate * efficiency(a) * efficiency(b));
                }
            }
            Light::Pairs { rate, beam_splitter: true, .. } => {
                let missed = 1.0 - f64::midpoint(efficiency(1), efficiency(2));
                self.alone(0, rate * efficiency(0) * missed);
                for output in [1, 2] {
                    let rate = rate / 2.0 * efficiency(output);
                    self.alone(output, rate * (1.0 - efficiency(0)));
                    self.together(0, output, rate * efficiency(0));
                }
            }
            Light::Emitter { rate, .. } => self.emitter(rate / count as f64),
            Light::Fluorescence { ref species, .. } => {
                for index in 0..count {
                    for (number, of) in species.iter().enumerate() {
                        self.fluorescence(index, number, of);
                    }
                }
            }
        }
    }

    /// The light of a species on one detector.
    fn fluorescence(&mut self, index: usize, number: usize, of: &Species) {
        let detector = &self.simulation.detectors[index];
        let response = Response::new(detector.delay, detector.jitter, of.lifetime);
        let lit = self.simulation.raster().map(|raster| Lit { raster, area: of.area });
        let emission = Emission { lit, ..self.emission(of.rate * detector.efficiency, response) };
        let (rng, jitter_rng) = self.seeds[index].of_species(number);
        self.push(index, &emission, response, rng, jitter_rng);
    }

    /// Light of which a pulse has one photon at most, at `rate` for each detector before its efficiency.
    fn emitter(&mut self, rate: f64) {
        let detectors = &self.simulation.detectors;
        let responses: Vec<Response> = (0..detectors.len()).map(|at| self.response(at)).collect();
        let rates: Vec<f64> = detectors.iter().map(|of| rate * of.efficiency).collect();
        let sum: f64 = rates.iter().sum();
        let ticks = || responses.iter().map(|of| of.delay.tick);
        let apart = ticks().max().unwrap_or(0).abs_diff(ticks().min().unwrap_or(0));
        let reach = responses.iter().map(|of| of.reach).max().unwrap_or(0);
        let is_apart = apart > self.simulation.duration.saturating_add(2 * reach).unsigned_abs();
        let all = responses.iter().map(|&of| self.emission(sum, of));
        let Some(all) = all.reduce(|one, other| Emission {
            from: one.from.min(other.from),
            until: one.until.max(other.until),
            ..one
        }) else {
            return;
        };
        let mut low = 0.0;
        for (index, (&response, rate)) in responses.iter().zip(rates).enumerate() {
            // The last one ends at 1, whatever the sums are rounded to.
            let is_last = index + 1 == responses.len();
            let high = if is_last { 1.0 } else { low + rate / sum };
            let seeds = &self.seeds[index];
            let jitter_rng = seeds.rng(Purpose::AloneJitter);
            // No pulse has photons of two detectors in the recording if their delays are that far apart.
            let (emission, rng) = if is_apart {
                let share = Some([0.0, 1.0]);
                (
                    Emission { rate, share, ..self.emission(rate, response) },
                    seeds.rng(Purpose::Alone),
                )
            } else {
                let share = Some([low, high]);
                (Emission { share, ..all }, self.seeds[0].rng(Purpose::Together))
            };
            low = high;
            if rate > 0.0 {
                self.rates[index] += rate - emission.rate;
                self.push(index, &emission, response, rng, jitter_rng);
            }
        }
    }

    /// Light that only detector `index` detects, at `rate`.
    fn alone(&mut self, index: usize, rate: f64) {
        let seeds = &self.seeds[index];
        let (rng, jitter_rng) = (seeds.rng(Purpose::Alone), seeds.rng(Purpose::AloneJitter));
        self.one_lane(index, rate, rng, jitter_rng);
    }

    /// Light that detectors `a` and `b` both detect, at `rate`.
    fn together(&mut self, a: usize, b: usize, rate: f64) {
        let seeds = &self.seeds[b];
        let (a_jitter_rng, b_jitter_rng) =
            (seeds.rng(Purpose::EarlierJitter), seeds.rng(Purpose::LaterJitter));
        let (a_response, b_response) = (self.response(a), self.response(b));
        let apart = a_response.delay.tick.abs_diff(b_response.delay.tick);
        let recorded = self.simulation.duration.saturating_add(a_response.reach + b_response.reach);
        if apart > recorded.unsigned_abs() {
            // No pair has both its photons in the recording, and walking from one detector's light to the
            // other's could take for ever.
            let (a_rng, b_rng) = (seeds.rng(Purpose::EarlierApart), seeds.rng(Purpose::LaterApart));
            self.one_lane(a, rate, a_rng, a_jitter_rng);
            self.one_lane(b, rate, b_rng, b_jitter_rng);
            return;
        }
        let rng = seeds.rng(Purpose::Together);
        let (a_emission, b_emission) =
            (self.emission(rate, a_response), self.emission(rate, b_response));
        let emission = Emission {
            from: a_emission.from.min(b_emission.from),
            until: a_emission.until.max(b_emission.until),
            ..a_emission
        };
        self.push(a, &emission, a_response, rng.clone(), a_jitter_rng);
        self.push(b, &emission, b_response, rng, b_jitter_rng);
    }

    /// Light at `rate` that shows on detector `index` only.
    fn one_lane(
        &mut self,
        index: usize,
        rate: f64,
        rng: Xoshiro256PlusPlus,
        jitter_rng: Xoshiro256PlusPlus,
    ) {
        let light = &self.simulation.light;
        // Moving the events of a steady Poisson process at random gives the same process: nothing to do.
        let steady = light.pulse_period().is_none() && self.simulation.drift.is_none();
        let response = if steady { Response::NONE } else { self.response(index) };
        self.push(index, &self.emission(rate, response), response, rng, jitter_rng);
    }

    fn dark(&mut self, index: usize) {
        let rate = self.simulation.detectors[index].dark_rate;
        let emission = Emission { comb: None, drift: None, ..self.emission(rate, Response::NONE) };
        let rng = self.seeds[index].rng(Purpose::Dark);
        // Without jitter its random numbers are not used.
        self.push(index, &emission, Response::NONE, rng.clone(), rng);
    }

    fn response(&self, index: usize) -> Response {
        let detector = &self.simulation.detectors[index];
        let lifetime = match self.simulation.light {
            Light::Emitter { lifetime, .. } => lifetime,
            Light::Pairs { .. } | Light::Coherent { .. } | Light::Fluorescence { .. } => 0.0,
        };
        Response::new(detector.delay, detector.jitter, lifetime)
    }

    /// Light at `rate`, for as long as it can reach the recording through `response`.
    fn emission(&self, rate: f64, response: Response) -> Emission {
        Emission {
            rate,
            comb: self.simulation.light.pulse_period(),
            share: None,
            lit: None,
            drift: self.simulation.drift,
            from: self.simulation.start - response.delay.tick - response.reach,
            until: self.end - response.delay.tick + response.reach,
        }
    }

    fn push(
        &mut self,
        index: usize,
        emission: &Emission,
        response: Response,
        rng: Xoshiro256PlusPlus,
        jitter_rng: Xoshiro256PlusPlus,
    ) {
        self.rates[index] += emission.rate;
        // The check has bounded the number of detectors.
        if let (Ok(detector), true) = (u16::try_from(index), emission.rate > 0.0) {
            let process = Process::new(emission, rng);
            self.lanes.push(Lane::new(emission.rate, detector, process, response, jitter_rng));
        }
    }

    fn check_rates(&self) -> Result<(), Error> {
        match self.rates.iter().position(|&rate| rate > RATE_MAX) {
            None => Ok(()),
            Some(detector) => Err(Error::Rate {
                detector,
                channel: self.simulation.detectors[detector].channel,
                found: self.rates[detector],
                max: RATE_MAX,
            }),
        }
    }
}
