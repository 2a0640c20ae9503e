//! Fluorescence as a user states it: lifetimes, the scan of a sample, and what a file says of both.
//!
//! `0.4ns=0.3,3ns=0.7` is a decay of two lifetimes, of which the first has 30 % of the photons.

use std::str::FromStr;

use tagq_simulate::{Area, Light, Markers, Scan, Simulation, Species};
use tagq_store::{
    Duration, Recording, ScanFacts, SyncPulses, Tag, Tick, format::MICRO_NONE, units::Frequency,
};

use crate::error::{Error, RequestError};

/// The channels of the markers: those of the markers 1 to 3 of a PicoQuant file.
const MARKERS: Markers = Markers { line: 101, line_end: 102, frame: 103 };
/// The label of a sync that is not recorded.
const SYNC: u16 = 0;

/// A lifetime, and the part of the photons that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct LifetimePart {
    /// The lifetime.
    pub lifetime: Duration,
    /// The weight of its photons among those of all lifetimes.
    pub part: f64,
}

impl FromStr for LifetimePart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (lifetime, part) = text.split_once('=').unwrap_or((text, "1"));
        let is_weight = |part: &f64| part.is_finite() && *part > 0.0;
        let part = part.trim().parse().ok().filter(is_weight).ok_or_else(|| {
            format!("`{part}` is no part of the photons; write a number above 0, as 3ns=0.7")
        })?;
        let lifetime =
            lifetime.trim().parse().map_err(|e: <Duration as FromStr>::Err| e.to_string())?;
        Ok(Self { lifetime, part })
    }
}

/// The size of a scan: `64x48` are 64 pixels and 48 lines, `64x48x3` three frames of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanSize {
    /// Pixels of a line.
    pub pixels: u32,
    /// Lines of a frame.
    pub lines: u32,
    /// Frames.
    pub frames: u32,
}

impl FromStr for ScanSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides: Option<Vec<u32>> =
            text.split('x').map(|side| side.trim().parse().ok()).collect();
        match sides.as_deref() {
            Some(&[pixels, lines]) => Ok(Self { pixels, lines, frames: 1 }),
            Some(&[pixels, lines, frames]) => Ok(Self { pixels, lines, frames }),
            _ => Err(format!(
                "`{text}` is no size of a scan; write pixels, lines and frames as 64x64x5"
            )),
        }
    }
}

/// Options of fluorescence and of its scan.
#[derive(Debug, Clone)]
pub struct FluorescenceOptions {
    /// Lifetimes; of a scan those around the disc. None for other light.
    pub lifetimes: Vec<LifetimePart>,
    /// The size of the scan.
    pub scan: Option<ScanSize>,
    /// Time of a pixel, rounded to whole pulses.
    pub dwell: Duration,
    /// Whether lines of odd numbers run backwards.
    pub two_way: bool,
    /// Percent of the amplitude of a sine that a line covers.
    pub sine: Option<f64>,
    /// Lifetimes in the disc; those of `lifetimes` if it is empty.
    pub disc: Vec<LifetimePart>,
    /// Photons per second on each detector in the disc; the rate of the rest by default.
    pub disc_rate: Option<Frequency>,
}

impl FluorescenceOptions {
    /// Returns the light of this rate per tick; `None` if no lifetime is given.
    ///
    /// # Errors
    /// Options of a scan without one or without lifetimes, light without pulses, and durations out of range.
    pub(crate) fn light(
        &self,
        rate: f64,
        pulse_period: Option<f64>,
        tick: Tick,
    ) -> Result<Option<Light>, Error> {
        let refuse =
            |options: &[&str], why: &str| Err(RequestError::options(options, why.into()).into());
        let of_scan = self.two_way || self.sine.is_some() || !self.disc.is_empty();
        if self.scan.is_none() && (of_scan || self.disc_rate.is_some()) {
            return refuse(
                &["two_way", "sine", "disc", "disc_rate", "scan"],
                "`two_way`, `sine`, `disc` and `disc_rate` are for a `scan`",
            );
        }
        if self.lifetimes.is_empty() {
            return match self.scan {
                None => Ok(None),
                Some(_) => refuse(
                    &["scan", "fluorescence"],
                    "a scan needs the lifetimes of `fluorescence`",
                ),
            };
        }
        let missing = || RequestError::missing("pulsed", ": fluorescence is excited by pulses");
        let pulse_period = pulse_period.ok_or_else(missing)?;
        let scan = self.scan.map(|size| self.scan(size, pulse_period, tick)).transpose()?;
        let species = if scan.is_none() {
            species(&self.lifetimes, rate, Area::Everywhere, tick)?
        } else {
            let disc = if self.disc.is_empty() { &self.lifetimes } else { &self.disc };
            let disc_rate = self.disc_rate.map_or(rate, |rate| rate.per_tick(tick));
            let mut species = species(&self.lifetimes, rate, Area::Background, tick)?;
            species.extend(self::species(disc, disc_rate, Area::Disc, tick)?);
            species
        };
        Ok(Some(Light::Fluorescence { species, pulse_period, scan }))
    }

    fn scan(&self, size: ScanSize, pulse_period: f64, tick: Tick) -> Result<Scan, Error> {
        let pulses = (self.dwell.ticks(tick)? / pulse_period).round();
        let dwell = (1.0..f64::from(u32::MAX)).contains(&pulses).then_some(pulses);
        let dwell = dwell.ok_or_else(|| {
            RequestError::options(
                &["dwell"],
                "a pixel has a pulse of the laser at least, and 2^32 at most".into(),
            )
        })?;
        let ScanSize { pixels, lines, frames } = size;
        let (two_way, sine) = (self.two_way, self.sine.map(|percent| percent / 100.0));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 32 bits")]
        let dwell = dwell as u32;
        Ok(Scan { pixels, lines, frames, dwell, two_way, sine, markers: MARKERS })
    }
}

/// Returns the species of these lifetimes with this rate together.
fn species(
    lifetimes: &[LifetimePart],
    rate: f64,
    area: Area,
    tick: Tick,
) -> Result<Vec<Species>, Error> {
    let all: f64 = lifetimes.iter().map(|of| of.part).sum();
    let species = |of: &LifetimePart| {
        let lifetime = of.lifetime.ticks(tick)?;
        Ok(Species { rate: rate * of.part / all, lifetime, area })
    };
    lifetimes.iter().map(species).collect()
}

/// Returns what a file says of a simulation besides its tags: the scan, the names of markers, and pulses of which every one
/// is known.
pub(crate) fn recording(light: &Light, format: &str, pulses: Option<Tick>) -> Recording {
    let scan = light.scan();
    let name = |label: u64| format!("marker{}", label - 100);
    let facts = scan.map(|scan| ScanFacts {
        line: Some(name(scan.markers.line)),
        line_end: Some(name(scan.markers.line_end)),
        frame: Some(name(scan.markers.frame)),
        pixels: Some(scan.pixels),
        lines: Some(scan.lines),
        is_two_way: Some(scan.two_way),
        sine_percent: scan.sine.map(|part| part * 100.0),
        ..ScanFacts::default()
    });
    let names = facts.iter().flat_map(|_| (101..=103).map(|label| (label, name(label.into()))));
    Recording {
        format: format.into(),
        channel_names: names.collect(),
        facts: facts.map_or(Vec::new(), |facts| facts.to_facts()),
        pulses: pulses.map(|period| SyncPulses { channel: SYNC, period }),
        ..Recording::default()
    }
}

/// Gives tags the micro times that an instrument would: those after the last pulse.
pub(crate) struct MicroTimes<P> {
    /// Gives the number and the time of the last pulse at or before a tick.
    pulses: P,
    /// Ticks of a period as a fraction.
    period: (i128, i128),
    markers: Option<Markers>,
    tags: Vec<Tag>,
    micro: Vec<u32>,
}

/// Returns the micro times of a simulation whose pulses have this period.
pub(crate) fn micro_times(
    simulation: &Simulation,
    period: (i128, i128),
) -> Option<MicroTimes<impl Fn(i64) -> (i64, i64) + use<>>> {
    let markers = simulation.light.scan().map(|scan| scan.markers);
    let pulses = simulation.pulses()?;
    Some(MicroTimes { pulses, period, markers, tags: Vec::new(), micro: Vec::new() })
}

impl<P: Fn(i64) -> (i64, i64)> MicroTimes<P> {
    /// Returns tags and their micro times. A file counts pulses with the exact period, the simulation with the nearest
    /// float: where that moves a pulse by a tick, the tags after it are moved, too.
    pub(crate) fn of(&mut self, tags: &[Tag]) -> (&[Tag], &[u32]) {
        self.tags.clear();
        self.micro.clear();
        let (numer, denom) = self.period;
        for &Tag { time, channel } in tags {
            let (pulse, at) = (self.pulses)(time);
            let exact = numer.checked_mul(pulse.into()).map(|ticks| ticks.div_euclid(denom));
            let exact = exact.and_then(|ticks| i64::try_from(ticks).ok()).unwrap_or(at);
            let is_marker = self.markers.is_some_and(|Markers { line, line_end, frame }| {
                [line, line_end, frame].contains(&channel)
            });
            let after = time - at;
            let micro =
                if is_marker { MICRO_NONE } else { u32::try_from(after).unwrap_or(MICRO_NONE) };
            self.tags.push(Tag { time: exact + after, channel });
            self.micro.push(micro);
        }
        (&self.tags, &self.micro)
    }
}
