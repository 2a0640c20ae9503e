//! The scan of a sample, and what lies where in it.
//!
//! In an image of 40 x 20 pixels, the disc has a radius of 6 pixels around the middle.

/// A scan of a sample: a disc on a background.
///
/// The disc lies in the middle of the image; its diameter is three fifths of the shorter side. It is made of whole pixels. The
/// laser is off between lines, which takes a quarter of the time of a line. All markers are at pulses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan {
    /// Pixels of a line, at least 1.
    pub pixels: u32,
    /// Lines of a frame, at least 1.
    pub lines: u32,
    /// Frames, at least 1.
    pub frames: u32,
    /// Pulses in a pixel, at least 1; with `sine` their mean.
    pub dwell: u32,
    /// Whether lines of odd numbers run backwards.
    pub two_way: bool,
    /// The mirror moves as a sine, of whose amplitude a line covers this part, above 0 and at most 1.
    pub sine: Option<f64>,
    /// The channels of the markers.
    pub markers: Markers,
}

/// The channels of the markers of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markers {
    /// Beginnings of lines.
    pub line: u64,
    /// Ends of lines.
    pub line_end: u64,
    /// Beginnings of frames, at those of their first lines.
    pub frame: u64,
}

/// Where in a sample something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// In every pixel.
    Everywhere,
    /// In the pixels of the disc.
    Disc,
    /// In the pixels around the disc.
    Background,
}

/// A pixel of a frame, each counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pixel {
    /// The frame.
    pub frame: u32,
    /// The line.
    pub line: u32,
    /// The pixel in its line, from left to right.
    pub pixel: u32,
}

impl Scan {
    /// Whether a pixel belongs to the disc.
    pub fn is_in_disc(&self, line: u32, pixel: u32) -> bool {
        // In halves of a pixel from the middle: a radius of 3/5 of the side.
        let from_middle = |at: u32, side: u32| (2 * i128::from(at) + 1 - i128::from(side)).pow(2);
        let side = i128::from(self.pixels.min(self.lines));
        let away = from_middle(pixel, self.pixels) + from_middle(line, self.lines);
        25 * away <= 9 * side.pow(2)
    }

    /// Whether a pixel belongs to an area.
    pub fn is_in(&self, area: Area, line: u32, pixel: u32) -> bool {
        match area {
            Area::Everywhere => true,
            Area::Disc => self.is_in_disc(line, pixel),
            Area::Background => !self.is_in_disc(line, pixel),
        }
    }

    /// Pulses of a line, and of a line with the way to the next one; `None` if they are too many for 64 bits.
    pub(crate) fn line_pulses(&self) -> Option<(i64, i64)> {
        let line = i64::from(self.pixels).checked_mul(self.dwell.into())?;
        Some((line, line.checked_add((line / 4).max(1))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disc_is_round_and_in_the_middle() {
        let markers = Markers { line: 101, line_end: 102, frame: 103 };
        let (pixels, lines, two_way) = (40, 20, false);
        let scan = Scan { pixels, lines, frames: 1, dwell: 5, two_way, sine: None, markers };
        let disc: Vec<(u32, u32)> = (0..20)
            .flat_map(|line| (0..40).map(move |pixel| (line, pixel)))
            .filter(|&(line, pixel)| scan.is_in_disc(line, pixel))
            .collect();
        // A radius of 6 pixels: pi * 36 = 113.
        assert!(disc.len().abs_diff(113) < 8, "{}", disc.len());
        assert!(disc.iter().all(|&(line, pixel)| disc.contains(&(19 - line, 39 - pixel))));
    }
}
