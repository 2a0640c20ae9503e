//! The scan of a sample: which pixel the focus is on at a pulse.
//!
//! Lines of 2 pixels of 10 pulses, then 5 pulses of the way to the next line: pulse 12 after the beginning is in pixel 1 of
//! line 0, pulse 22 in no line, pulse 25 in pixel 0 of line 1.

use crate::{
    comb::Comb,
    scan::{Pixel, Scan},
    simulation::Simulation,
};

/// A scan on the pulses of a laser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raster {
    pub(crate) scan: Scan,
    /// The first pulse of the first line.
    pub(crate) first: i64,
    /// Pulses of a line.
    pub(crate) line: i64,
    /// Pulses from the beginning of a line to that of the next one.
    pub(crate) step: i64,
    /// The pulse after the way that follows the last line.
    pub(crate) end: i64,
}

impl Raster {
    /// Returns the scan that begins one way after `start`; `None` if its pulses leave 64 bits.
    pub(crate) fn new(scan: Scan, comb: Comb, start: i64) -> Option<Self> {
        let (line, step) = scan.line_pulses()?;
        let first = comb.pulse_from(start).checked_add(step - line)?;
        let lines = i64::from(scan.lines).checked_mul(scan.frames.into())?;
        let end = first.checked_add(lines.checked_mul(step)?)?;
        Some(Self { scan, first, line, step, end })
    }

    /// Returns the pixel of a pulse; `None` between lines.
    pub(crate) fn pixel(&self, pulse: i64) -> Option<Pixel> {
        let since = u64::try_from(pulse.checked_sub(self.first)?).ok()?;
        let (step, of_line) = (self.step.unsigned_abs(), self.line.unsigned_abs());
        let (number, along) = (since / step, since % step);
        let Scan { pixels, lines, frames, dwell, two_way, sine, .. } = self.scan;
        let frame = u32::try_from(number / u64::from(lines)).ok().filter(|&of| of < frames)?;
        if along >= of_line {
            return None;
        }
        let line = u32::try_from(number % u64::from(lines)).ok()?;
        let passed = match sine {
            None => u32::try_from(along / u64::from(dwell)).ok()?,
            Some(part) => passed_by_sine(part, (along as f64 + 0.5) / of_line as f64, pixels),
        };
        let is_backwards = two_way && line % 2 == 1;
        let pixel = if is_backwards { pixels - 1 - passed } else { passed };
        Some(Pixel { frame, line, pixel })
    }
}

/// The number of pixels that are passed at `along`, from 0 to 1, of the time of a line.
fn passed_by_sine(part: f64, along: f64, pixels: u32) -> u32 {
    let angle = (2.0 * along - 1.0) * libm::asin(part);
    let place = 0.5 + libm::sin(angle) / (2.0 * part);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounding down is meant, and the cast saturates"
    )]
    let passed = (place * f64::from(pixels)) as u32;
    passed.min(pixels - 1)
}

impl Simulation {
    /// The scan on the pulses of its laser.
    pub(crate) fn raster(&self) -> Option<Raster> {
        Raster::new(self.light.scan()?, Comb::new(self.light.pulse_period()?), self.start)
    }

    /// Returns the ticks from the start to the end of the scan; `None` without a scan, or if they leave 64 bits.
    pub fn scan_duration(&self) -> Option<i64> {
        let comb = Comb::new(self.light.pulse_period()?);
        comb.time(self.raster()?.end).tick.checked_sub(self.start)
    }

    /// Returns the pixel in which a tag at this time is; `None` between lines and without a scan. With a sine the edges of
    /// pixels are those of pulses.
    pub fn pixel_at(&self, time: i64) -> Option<Pixel> {
        let comb = Comb::new(self.light.pulse_period()?);
        self.raster()?.pixel(comb.pulse_at(time))
    }

    /// Returns the mean number of photons of each species that are detected of a pixel, in all frames and on all detectors,
    /// before dead time; `None` without a scan.
    pub fn photons_expected(&self, line: u32, pixel: u32) -> Option<Vec<f64>> {
        let raster = self.raster()?;
        let begin = raster.first + i64::from(line) * raster.step;
        let is_here = |pulse: &i64| raster.pixel(*pulse).is_some_and(|at| at.pixel == pixel);
        let pulses = (begin..begin + raster.line).filter(is_here).count();
        let time = pulses as f64 * self.light.pulse_period()? * f64::from(raster.scan.frames);
        let detected: f64 = self.detectors.iter().map(|of| of.efficiency).sum();
        let expected = self.light.species().iter().map(|of| {
            let is_here = raster.scan.is_in(of.area, line, pixel);
            if is_here { of.rate * time * detected } else { 0.0 }
        });
        Some(expected.collect())
    }

    /// Returns a function that gives the number and the time of the last pulse at or before a tick; `None` for continuous
    /// light.
    pub fn pulses(&self) -> Option<impl Fn(i64) -> (i64, i64) + use<>> {
        let comb = Comb::new(self.light.pulse_period()?);
        Some(move |time| {
            let pulse = comb.pulse_at(time);
            (pulse, comb.time(pulse).tick)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Markers;

    fn scan() -> Scan {
        let markers = Markers { line: 101, line_end: 102, frame: 103 };
        Scan { pixels: 4, lines: 3, frames: 2, dwell: 5, two_way: true, sine: None, markers }
    }

    fn raster(scan: Scan) -> Raster {
        Raster::new(scan, Comb::new(10.0), 95).unwrap()
    }

    #[test]
    fn each_pulse_of_a_line_has_its_pixel() {
        // Lines of 20 pulses each 25. Pulse 10 is the first from tick 95 on, and the first line begins 5 later.
        let raster = raster(scan());
        assert_eq!((raster.first, raster.line, raster.step, raster.end), (15, 20, 25, 165));
        let at = |pulse: i64| raster.pixel(pulse).map(|of| (of.frame, of.line, of.pixel));
        assert_eq!(at(14), None);
        assert_eq!(at(15), Some((0, 0, 0)));
        assert_eq!(at(34), Some((0, 0, 3)));
        assert_eq!(at(35), None);
        // The second line runs backwards.
        assert_eq!(at(40), Some((0, 1, 3)));
        assert_eq!(at(59), Some((0, 1, 0)));
        assert_eq!(at(90), Some((1, 0, 0)));
        assert_eq!(at(159), Some((1, 2, 3)));
        assert_eq!(at(165), None);
    }

    #[test]
    fn a_sine_is_slow_at_its_ends() {
        let sine = Scan { sine: Some(1.0), dwell: 500, two_way: false, ..scan() };
        let raster = raster(sine);
        let pulses = |pixel: u32| {
            (0..2_000).filter(|&of| raster.pixel(raster.first + of).unwrap().pixel == pixel).count()
        };
        // The cosine law: x = (1 - cos(pi t)) / 2 reaches 1/4 at acos(1/2) / pi = 1/3, and 1/2 at 1/2.
        for (pixel, expected) in [(0, 667), (1, 333), (2, 333), (3, 667)] {
            assert!(pulses(pixel).abs_diff(expected) <= 1, "{pixel}: {}", pulses(pixel));
        }
    }
}
