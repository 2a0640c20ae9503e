//! The reference for images: frames and lines from markers, and the pixel of each photon.

use super::{
    image_repair::{MarkerTimes, repaired},
    scope::{delayed, is_within},
};
use crate::kinds::{Markers, Raster};

/// Where a photon is in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImagePlace {
    /// In a pixel.
    Pixel {
        /// The number of its frame in the run.
        frame: usize,
        /// The row of the image: the number of its line in the frame, without those that are left out.
        line: u64,
        /// The pixel of the line.
        pixel: u64,
    },
    /// In a line after the last one of a frame.
    Beyond,
    /// In a line or a frame that is left out.
    Skipped,
    /// In no line.
    Outside,
}

/// A line, or the beginning of one that has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLine {
    /// The number of its frame in the run.
    pub frame: usize,
    /// Its number in the frame.
    pub number: u64,
    /// The delayed time at which it begins.
    pub start: i128,
    /// The delayed time at which it has ended.
    pub end: Option<i128>,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageFrame {
    /// The delayed time of its marker, else of its first line.
    pub begin: i128,
    /// How many lines begin in it.
    pub lines: u64,
}

/// Returns the delayed times of a channel, in order.
fn times_of(
    tags: &[(i64, u16, Option<u32>)],
    channel: Option<u16>,
    delays: &[(u16, i64)],
) -> Vec<i128> {
    let mut times = Vec::new();
    for &(time, of, _) in tags {
        if Some(of) == channel {
            times.push(delayed(time, of, delays));
        }
    }
    times.sort_unstable();
    times
}

/// Returns the markers of a source, repaired if that is asked for.
///
/// `tags` holds the (time, channel, micro time) of every tag, `delays` the (channel, ticks) of the delayed channels.
pub fn image_markers(
    tags: &[(i64, u16, Option<u32>)],
    markers: Markers,
    raster: Raster,
    delays: &[(u16, i64)],
) -> MarkerTimes {
    let found = MarkerTimes {
        starts: times_of(tags, Some(markers.line), delays),
        ends: times_of(tags, markers.line_end, delays),
        frames: times_of(tags, markers.frame, delays),
        ..MarkerTimes::default()
    };
    if markers.is_repaired { repaired(&found, markers, raster) } else { found }
}

/// Returns the frames of a source. The arguments are those of [`image_markers`].
pub fn image_frames(
    tags: &[(i64, u16, Option<u32>)],
    markers: Markers,
    raster: Raster,
    delays: &[(u16, i64)],
) -> Vec<ImageFrame> {
    let MarkerTimes { starts, frames: begins, .. } = image_markers(tags, markers, raster, delays);
    if markers.frame.is_none() {
        let of_frame =
            |starts: &[i128]| ImageFrame { begin: starts[0], lines: starts.len() as u64 };
        let lines = raster.lines as usize + raster.first_line as usize;
        return starts.chunks(lines).map(of_frame).collect();
    }
    let mut frames = Vec::new();
    // Lines before the first marker are a frame of their own.
    let is_early = |start: &&i128| begins.first().is_none_or(|first| *start < first);
    if let Some(&begin) = starts.first().filter(is_early) {
        frames.push(ImageFrame { begin, lines: starts.iter().filter(is_early).count() as u64 });
    }
    for (at, &begin) in begins.iter().enumerate() {
        let next = begins.get(at + 1);
        let is_in = |start: &&i128| begin <= **start && next.is_none_or(|next| *start < next);
        let lines = starts.iter().filter(is_in).count() as u64;
        // After the last marker there is a frame if a line begins.
        if lines > 0 || next.is_some() {
            frames.push(ImageFrame { begin, lines });
        }
    }
    frames
}

/// Returns the lines of each source. The arguments are those of [`image_markers`], for each source.
pub fn image_lines(
    sources: &[Vec<(i64, u16, Option<u32>)>],
    markers: Markers,
    raster: Raster,
    delays: &[(u16, i64)],
) -> Vec<Vec<ImageLine>> {
    let mut all = Vec::new();
    let mut frames_before = 0;
    for tags in sources {
        let MarkerTimes { starts, ends, frames: frame_markers, .. } =
            image_markers(tags, markers, raster, delays);
        let mut lines = Vec::new();
        let mut at = 0;
        let frames = image_frames(tags, markers, raster, delays);
        for (frame, of_frame) in frames.iter().enumerate() {
            for number in 0..of_frame.lines {
                let start = starts[at];
                at += 1;
                let next = starts.get(at).copied();
                let end = if markers.line_end.is_some() {
                    let end = ends.iter().copied().find(|&end| end > start);
                    end.filter(|&end| next.is_none_or(|next| end <= next))
                } else {
                    let frame = frame_markers.iter().copied().find(|&frame| frame > start);
                    // An end that was put in is that of the last line.
                    let last = ends.iter().copied().find(|&end| end > start);
                    next.into_iter().chain(frame).chain(last).min().filter(|&end| end > start)
                };
                lines.push(ImageLine { frame: frames_before + frame, number, start, end });
            }
        }
        frames_before += frames.len();
        all.push(lines);
    }
    all
}

/// Returns how many markers in a range are not as expected: ends outside of a line, and frame markers inside of one.
pub fn image_faults(
    sources: &[Vec<(i64, u16, Option<u32>)>],
    markers: Markers,
    raster: Raster,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> (u64, u64) {
    let (mut ends_outside, mut frames_inside) = (0, 0);
    if markers.line_end.is_none() {
        return (0, 0);
    }
    for (tags, lines) in sources.iter().zip(image_lines(sources, markers, raster, delays)) {
        let MarkerTimes { ends, frames, .. } = image_markers(tags, markers, raster, delays);
        let count = |times: &mut dyn Iterator<Item = i128>| {
            times.filter(|&time| is_within(time, from, to)).count() as u64
        };
        // Each line has at most one end; the others are outside.
        ends_outside += count(&mut ends.iter().copied());
        ends_outside -= count(&mut lines.iter().filter_map(|line| line.end));
        for frame in frames {
            let last = lines.iter().rfind(|line| line.start < frame);
            let is_open =
                last.is_some_and(|line| !ends.iter().any(|&end| line.start < end && end <= frame));
            frames_inside += u64::from(is_open && is_within(frame, from, to));
        }
    }
    (ends_outside, frames_inside)
}

/// Returns the place of each photon in a range, with its channel and its micro time. Photons are the tags of the channels `photons`.
pub fn image(
    sources: &[Vec<(i64, u16, Option<u32>)>],
    photons: &[u16],
    markers: Markers,
    raster: Raster,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<(ImagePlace, u16, Option<u32>)> {
    let mut places = Vec::new();
    let lines = image_lines(sources, markers, raster, delays);
    for (tags, lines) in sources.iter().zip(lines) {
        for &(time, channel, micro) in tags {
            let time = delayed(time, channel, delays);
            if !photons.contains(&channel) || !is_within(time, from, to) {
                continue;
            }
            let mut place = ImagePlace::Outside;
            for ImageLine { frame, number, start, end } in &lines {
                let Some(end) = end.filter(|&end| *start <= time && time < end) else { continue };
                let skipped = u64::from(raster.first_line);
                place = ImagePlace::Beyond;
                if *number < skipped || *frame < raster.first_frame as usize {
                    place = ImagePlace::Skipped;
                } else if number - skipped < u64::from(raster.lines) {
                    let pixel = image_pixel(time - start, end - start, *number, raster);
                    place = ImagePlace::Pixel { frame: *frame, line: number - skipped, pixel };
                }
            }
            places.push((place, channel, micro));
        }
    }
    places
}

/// Returns how many ticks in a range lines spent in each pixel. The arguments are those of [`image`].
pub fn image_dwell(
    sources: &[Vec<(i64, u16, Option<u32>)>],
    markers: Markers,
    raster: Raster,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<(ImagePlace, u64)> {
    let mut dwell = Vec::new();
    for ImageLine { frame, number, start, end } in
        image_lines(sources, markers, raster, delays).concat()
    {
        let Some(line) = number.checked_sub(raster.first_line.into()) else { continue };
        let is_in = line < u64::from(raster.lines) && frame >= raster.first_frame as usize;
        let Some(end) = end.filter(|_| is_in) else { continue };
        let mut ticks = vec![0; raster.pixels as usize];
        for time in (start..end).filter(|&time| is_within(time, from, to)) {
            let pixel = image_pixel(time - start, end - start, number, raster);
            ticks[usize::try_from(pixel).unwrap_or(usize::MAX)] += 1;
        }
        let place = |pixel| ImagePlace::Pixel { frame, line, pixel };
        dwell.extend((0..).map(place).zip(ticks));
    }
    dwell
}

/// Returns the pixel from the left of a tick of a line.
fn image_pixel(tick: i128, length: i128, number: u64, raster: Raster) -> u64 {
    let pixel = pixel_at(tick, length, raster);
    let is_backward = raster.is_two_way && number % 2 == 1;
    if is_backward { u64::from(raster.pixels) - 1 - pixel } else { pixel }
}

/// Returns the pixel of a tick of a line of `length` ticks.
fn pixel_at(tick: i128, length: i128, raster: Raster) -> u64 {
    let mut pixel = 0;
    for k in 1..raster.pixels {
        let is_reached = match raster.sine {
            None => tick * i128::from(raster.pixels) >= i128::from(k) * length,
            Some(sine) => {
                let part = f64::from(sine.thousandths) / 1_000.0;
                let amplitude = if sine.is_of_period {
                    libm::sin(part * std::f64::consts::FRAC_PI_2)
                } else {
                    part
                };
                let place = (2.0 * f64::from(k) / f64::from(raster.pixels) - 1.0) * amplitude;
                let part = 0.5 + libm::asin(place) / (2.0 * libm::asin(amplitude));
                // An edge that is whole but for the rounding of doubles is that tick.
                tick as f64 >= (part - 8.0 * f64::EPSILON) * length as f64
            }
        };
        if is_reached {
            pixel = u64::from(k);
        }
    }
    pixel
}
