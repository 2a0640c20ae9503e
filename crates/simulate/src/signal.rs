//! Tags without chance: the clock of the laser and the markers of a scan.
//!
//! Each 4th pulse of a period of 12.5 ticks, from pulse 8 on: ticks 100, 150, 200.

use crate::{comb::Comb, raster::Raster, simulation::Simulation};

/// A tag at each so many pulses.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// The number of its output.
    pub(crate) output: u16,
    comb: Comb,
    /// The pulse of the next tag.
    pulse: i64,
    /// Pulses from one tag to the next.
    step: i64,
    /// A pulse before which its last tag is.
    end: i64,
    /// Tags per tick.
    pub(crate) rate: f64,
}

/// The pulses of a signal: first, distance, and the one before which they end.
type Pulses = (i64, i64, i64);

impl Signal {
    /// Returns the channels of the signals of a simulation, and what each is.
    pub(crate) fn channels(simulation: &Simulation) -> Vec<(u64, &'static str)> {
        let clock = simulation.clock.map(|of| (of.channel, "the clock"));
        let markers = simulation.light.scan().map(|scan| scan.markers);
        let markers = markers.map(|of| {
            [(of.frame, "the frames"), (of.line, "the lines"), (of.line_end, "the ends of lines")]
        });
        clock.into_iter().chain(markers.into_iter().flatten()).collect()
    }

    /// Returns the signals of a checked simulation, in the order of [`Signal::channels`], with outputs from `first` on.
    pub(crate) fn all(simulation: &Simulation, first: usize) -> Vec<Self> {
        let Some(period) = simulation.light.pulse_period() else { return Vec::new() };
        let comb = Comb::new(period);
        let clock = simulation.clock.map(|of| {
            let divider = i64::from(of.divider);
            // Pulses are counted from tick 0, also those of a clock with a divider.
            let first = comb.pulse_from(simulation.start);
            let first = first.saturating_add((-first).rem_euclid(divider));
            (first, divider, i64::MAX)
        });
        let markers = simulation.raster().map(|raster| markers(&raster));
        let pulses = clock.into_iter().chain(markers.into_iter().flatten());
        let signal = |(output, (pulse, step, end)): (usize, Pulses)| {
            let rate = 1.0 / (step as f64 * period);
            let output = u16::try_from(output).ok()?;
            Some(Self { output, comb, pulse, step, end, rate })
        };
        (first..).zip(pulses).filter_map(signal).collect()
    }

    /// The tick of the next tag; the last tick if there is none.
    pub(crate) fn next(&self) -> i64 {
        if self.pulse < self.end { self.comb.time(self.pulse).tick } else { i64::MAX }
    }

    /// Calls `tag` with the ticks of further tags before `until`.
    pub(crate) fn before(&mut self, until: i64, mut tag: impl FnMut(i64)) {
        loop {
            let next = self.next();
            if next >= until {
                return;
            }
            tag(next);
            self.pulse = self.pulse.saturating_add(self.step);
        }
    }
}

/// The pulses of the markers of frames, of lines, and of ends of lines.
fn markers(raster: &Raster) -> [Pulses; 3] {
    let &Raster { scan, first, line, step, end } = raster;
    // No overflow: the end of the scan is a pulse.
    [(first, step * i64::from(scan.lines), end), (first, step, end), (first + line, step, end)]
}
