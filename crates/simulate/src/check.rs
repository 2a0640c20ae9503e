//! The checks of single fields, before anything is planned.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::error::Error;
use crate::signal::Signal;
use crate::simulation::{Light, Simulation};

/// Start, end, delay and jitter keep this far from the ends of `i64`, so that their sums need no checks.
const TICK_MAX: i64 = 1 << 62;
const DELAY_MAX: f64 = (1_i64 << 60) as f64;
/// 12 of them fit into the time field of a key with room for a batch.
const JITTER_MAX: f64 = (1_i64 << 40) as f64;
/// A detector, or one of four signals, is named by 16 bits of a key.
const DETECTORS_MAX: usize = (1 << 16) - 4;
const SPECIES_MAX: usize = 64;

/// Checks every field on its own, and the number of detectors. Gives the end of the recording.
pub(crate) fn check(simulation: &Simulation) -> Result<i64, Error> {
    check_light(simulation)?;
    check_fluorescence(simulation)?;
    check_detectors(simulation)?;
    check_channels(simulation)?;
    let &Simulation { start, duration, .. } = simulation;
    if duration < 1 {
        return Err(Error::Field {
            field: "duration",
            found: duration as f64,
            expected: "at least 1 tick",
        });
    }
    start
        .checked_add(duration)
        .filter(|&end| start >= -TICK_MAX && end <= TICK_MAX)
        .ok_or(Error::Span { start, duration })
}

fn check_light(simulation: &Simulation) -> Result<(), Error> {
    const PERIOD: &str = "from 1 to 2^60 ticks";
    let light = &simulation.light;
    let field = |field, found, range: RangeInclusive<f64>, expected| {
        if range.contains(&found) { Ok(()) } else { Err(Error::Field { field, found, expected }) }
    };
    field("light.rate", light.rate(), 0.0..=f64::MAX, "finite and at least 0 per tick")?;
    if let Some(period) = light.pulse_period() {
        field("light.pulse_period", period, 1.0..=DELAY_MAX, PERIOD)?;
    }
    if let Light::Emitter { rate, pulse_period, lifetime } = *light {
        field("light.rate", rate * pulse_period, 0.0..=1.0, "at most one photon per pulse")?;
        field("light.lifetime", lifetime, 0.0..=JITTER_MAX / 8.0, "from 0 to 2^37 ticks")?;
        if simulation.drift.is_some() {
            return Err(Error::Field {
                field: "drift",
                found: rate,
                expected: "none with an emitter",
            });
        }
    }
    if let Some(drift) = simulation.drift {
        field("drift.relative_amplitude", drift.relative_amplitude, 0.0..=1.0, "from 0 to 1")?;
        field("drift.period", drift.period, 1.0..=DELAY_MAX, PERIOD)?;
    }
    Ok(())
}

/// Checks species, scan and clock.
fn check_fluorescence(simulation: &Simulation) -> Result<(), Error> {
    let field = |field, found, range: RangeInclusive<f64>, expected| {
        if range.contains(&found) { Ok(()) } else { Err(Error::Field { field, found, expected }) }
    };
    let light = &simulation.light;
    let species = light.species();
    for of in species {
        field("species.rate", of.rate, 0.0..=f64::MAX, "finite and at least 0 per tick")?;
        field("species.lifetime", of.lifetime, 0.0..=JITTER_MAX / 8.0, "from 0 to 2^37 ticks")?;
    }
    if matches!(light, Light::Fluorescence { .. }) {
        let species = species.len() as f64;
        field("species", species, 1.0..=SPECIES_MAX as f64, "1 to 64 species")?;
    }
    if let Some(scan) = light.scan() {
        let sides = [
            ("scan.pixels", scan.pixels),
            ("scan.lines", scan.lines),
            ("scan.frames", scan.frames),
            ("scan.dwell", scan.dwell),
        ];
        for (name, side) in sides {
            field(name, side.into(), 1.0..=f64::from(u32::MAX), "at least 1")?;
        }
        field("scan.sine", scan.sine.unwrap_or(1.0), f64::MIN_POSITIVE..=1.0, "above 0, up to 1")?;
        if simulation.scan_duration().is_none() {
            let found = f64::from(scan.lines) * f64::from(scan.frames);
            let expected = "fewer lines, or shorter ones, for times of 64 bits";
            return Err(Error::Field { field: "scan", found, expected });
        }
    }
    if let Some(clock) = simulation.clock {
        field("clock.divider", clock.divider.into(), 1.0..=f64::from(u32::MAX), "at least 1")?;
        if light.pulse_period().is_none() {
            let expected = "none without light.pulse_period: only pulsed light has a clock";
            return Err(Error::Field { field: "clock", found: clock.channel as f64, expected });
        }
    }
    Ok(())
}

fn check_detectors(simulation: &Simulation) -> Result<(), Error> {
    let found = simulation.detectors.len();
    let (works, light, expected) = match simulation.light {
        _ if found > DETECTORS_MAX => (false, "a simulation", "at most 65,532"),
        Light::Pairs { beam_splitter: false, .. } => (
            found > 0 && found.is_multiple_of(2),
            "a pair source without beam splitter",
            "an even number, 2 or more",
        ),
        Light::Pairs { beam_splitter: true, .. } => (
            found == 3,
            "a pair source with beam splitter",
            "exactly 3 (the herald and the two outputs)",
        ),
        Light::Coherent { beam_splitter: false, .. } => (found > 0, "coherent light", "1 or more"),
        Light::Coherent { beam_splitter: true, .. } => {
            (found > 1, "coherent light with beam splitter", "2 or more")
        }
        Light::Emitter { .. } => (found > 0, "an emitter", "1 or more"),
        Light::Fluorescence { .. } => (found > 0, "fluorescence", "1 or more"),
    };
    if !works {
        return Err(Error::Detectors { light, found, expected });
    }
    for (index, detector) in simulation.detectors.iter().enumerate() {
        let field = |field, found, range: RangeInclusive<f64>, expected| {
            if range.contains(&found) {
                return Ok(());
            }
            Err(Error::DetectorField {
                detector: index,
                channel: detector.channel,
                field,
                found,
                expected,
            })
        };
        field("efficiency", detector.efficiency, 0.0..=1.0, "from 0 to 1")?;
        field("dark_rate", detector.dark_rate, 0.0..=f64::MAX, "finite and at least 0 per tick")?;
        field("jitter", detector.jitter, 0.0..=JITTER_MAX, "from 0 to 2^40 ticks")?;
        field("delay", detector.delay, -DELAY_MAX..=DELAY_MAX, "from -2^60 to 2^60 ticks")?;
        field("dead_time", detector.dead_time as f64, 0.0..=f64::MAX, "at least 0 ticks")?;
    }
    Ok(())
}

fn check_channels(simulation: &Simulation) -> Result<(), Error> {
    let mut seen = HashMap::new();
    for (second, detector) in simulation.detectors.iter().enumerate() {
        if let Some(first) = seen.insert(detector.channel, second) {
            return Err(Error::DuplicateChannel { channel: detector.channel, first, second });
        }
    }
    for (channel, signal) in Signal::channels(simulation) {
        if seen.insert(channel, usize::MAX).is_some() {
            return Err(Error::SignalChannel { channel, signal });
        }
    }
    Ok(())
}
