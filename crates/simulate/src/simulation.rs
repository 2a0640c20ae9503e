//! The light, the detectors and the recording to simulate.

use crate::scan::{Area, Scan};

/// A recording to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The light that falls on the detectors.
    pub light: Light,
    /// The detectors, in the order in which [`Light`] names them; at equal times their tags come in this order.
    pub detectors: Vec<Detector>,
    /// A slow change of the light's rate; dark counts do not drift.
    pub drift: Option<Drift>,
    /// A channel with the pulses of the laser; the light must be pulsed.
    pub clock: Option<Clock>,
    /// The tick at which the recording starts. Pulses and drift are fixed to tick 0, not to this one.
    pub start: i64,
    /// How long the recording lasts, in ticks, at least 1: tags have `start <= time < start + duration`.
    pub duration: i64,
    /// Equal simulations with equal seeds give equal tags, on every platform.
    ///
    /// Each source and each detector draws from its own part of the random sequence, so that dark rates and
    /// dead times can be changed without moving the light.
    pub seed: u64,
}

/// The pulses of a laser, recorded as a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The label of its tags.
    pub channel: u64,
    /// Each so many pulses have a tag, counted from tick 0; at least 1.
    pub divider: u32,
}

/// One detector, recorded as one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Detector {
    /// The label of its tags, different for each detector.
    pub channel: u64,
    /// The chance that a photon is detected, 0 to 1.
    pub efficiency: f64,
    /// Dark counts per tick.
    pub dark_rate: f64,
    /// Standard deviation of the Gaussian jitter, in ticks, redrawn beyond 6 of them; 0 for none.
    pub jitter: f64,
    /// Added to the time of each detected photon, in ticks; it may be negative or a fraction.
    pub delay: f64,
    /// A detection less than this many ticks after the channel's last recorded one is lost, and does not
    /// prolong the dead time (non-paralysable). 0 for none.
    pub dead_time: i64,
}

/// The light that falls on the detectors.
///
/// Rates are per tick and before the detectors' efficiency. Of pairs and coherent light: with `pulse_period`, in ticks, at least 1 and
/// not necessarily whole, light is emitted only at its multiples (counted from tick 0), as a Poisson number of mean
/// `rate * pulse_period` in each pulse; without it, at any time.
#[derive(Clone, Debug, PartialEq)]
pub enum Light {
    /// Photon pairs, as from parametric down-conversion into many modes.
    Pairs {
        /// Pairs per tick, of each source.
        rate: f64,
        /// Ticks between pulses; `None` for continuous light.
        pulse_period: Option<f64>,
        /// Without it, detectors 0 and 1 share a source, 2 and 3 another one, and so on: each gets one
        /// photon of each pair. With it there are exactly three detectors and one source: the first photon goes
        /// to detector 0, the herald, the second to detector 1 or 2 with equal chances.
        beam_splitter: bool,
    },
    /// Coherent light, as from a laser.
    Coherent {
        /// Photons per tick: for each detector, or with `beam_splitter` for all of them together.
        rate: f64,
        /// Ticks between pulses; `None` for continuous light.
        pulse_period: Option<f64>,
        /// Without it, each detector sees its own beam. With it, one beam is shared evenly and at random between
        /// all detectors, two or more.
        beam_splitter: bool,
    },
    /// One quantum emitter that each pulse excites at most once: a pulse has no photon or one, which goes to one of the
    /// detectors with equal chances.
    Emitter {
        /// Photons per tick, of all detectors together; at most one per pulse.
        rate: f64,
        /// Ticks between pulses, at least 1.
        pulse_period: f64,
        /// Mean time from the pulse to the photon, in ticks, exponentially distributed; redrawn beyond 40 of them.
        lifetime: f64,
    },
    /// Fluorescence of many molecules after the pulses of a laser: a Poisson number of photons of each species after each
    /// pulse. Each detector sees its own light.
    Fluorescence {
        /// The species of molecules, 1 to 64. A decay of two lifetimes is that of two species in one place.
        species: Vec<Species>,
        /// Ticks between pulses, at least 1.
        pulse_period: f64,
        /// The scan of a sample; without it the light falls on all species all the time.
        scan: Option<Scan>,
    },
}

/// Molecules with one lifetime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Species {
    /// Photons per tick on each detector while the laser is on the species.
    pub rate: f64,
    /// Mean time from the pulse to the photon, in ticks, exponentially distributed; redrawn beyond 40 of them.
    pub lifetime: f64,
    /// Where in the sample it is, if that is scanned.
    pub area: Area,
}

impl Light {
    /// Photons or pairs per tick; of fluorescence those of all species on one detector.
    pub fn rate(&self) -> f64 {
        match self {
            Light::Pairs { rate, .. }
            | Light::Coherent { rate, .. }
            | Light::Emitter { rate, .. } => *rate,
            Light::Fluorescence { species, .. } => species.iter().map(|of| of.rate).sum(),
        }
    }

    pub(crate) fn species(&self) -> &[Species] {
        match self {
            Light::Fluorescence { species, .. } => species,
            Light::Pairs { .. } | Light::Coherent { .. } | Light::Emitter { .. } => &[],
        }
    }

    /// The scan of a sample.
    pub fn scan(&self) -> Option<Scan> {
        match self {
            Light::Fluorescence { scan, .. } => *scan,
            Light::Pairs { .. } | Light::Coherent { .. } | Light::Emitter { .. } => None,
        }
    }

    pub(crate) fn pulse_period(&self) -> Option<f64> {
        match *self {
            Light::Pairs { pulse_period, .. } | Light::Coherent { pulse_period, .. } => {
                pulse_period
            }
            Light::Emitter { pulse_period, .. } | Light::Fluorescence { pulse_period, .. } => {
                Some(pulse_period)
            }
        }
    }
}

/// A slow change of the light's rate: at tick `t` it is
/// `rate * (1 + relative_amplitude * sin(2 pi t / period))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// 0 to 1.
    pub relative_amplitude: f64,
    /// In ticks, at least 1.
    pub period: f64,
}
