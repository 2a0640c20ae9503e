//! The time that lines spend in regions.
//!
//! A line of 300 ticks and three pixels with the labels 0 7 7 has 200 ticks in the region 7, those from 100 on.

use super::{
    Image, Regions,
    lines::{Line, LinePlace, SourceLines},
    pixels::{LinePixels, SineEdges},
    regions::NO_PIXEL,
};
use crate::run::time_range::TimeRange;

/// Pixels of a line beside each other that are in one region.
struct RegionRun {
    place: usize,
    /// The first pixel, and the first one after them.
    from: u32,
    to: u32,
}

/// Returns the ticks in a range that lines spent in each region, frame by frame if these are apart.
pub(super) fn dwell(
    image: &Image,
    regions: &Regions,
    scans: &[SourceLines],
    range: TimeRange,
) -> Vec<u64> {
    let side = image.raster.pixels as usize;
    let runs: Vec<Vec<RegionRun>> = regions.lines(side).map(runs_of).collect();
    let sine = SineEdges::of(&image.raster);
    let mut pixels: Option<(u64, LinePixels)> = None;
    let mut ticks = vec![0_u64; image.dwells()];
    for line in scans.iter().flat_map(|scan| &scan.lines) {
        let LinePlace::Row(row) = line.place(&image.raster) else { continue };
        let Some(runs) = runs.get(row) else { continue };
        let first = if image.is_apart { line.frame * regions.labels().len() } else { 0 };
        // Frames are no more than the facts allow, unless the rows are damaged.
        let Some(ticks) = ticks.get_mut(first..first + regions.labels().len()) else { continue };
        let length = line.start.abs_diff(line.end);
        let (_, pixels) = match pixels.take() {
            Some(known) if known.0 == length => pixels.insert(known),
            _ => pixels.insert((length, LinePixels::of(&image.raster, sine.as_ref(), length))),
        };
        let is_backward = image.raster.is_two_way && !line.number.is_multiple_of(2);
        for &RegionRun { place, from, to } in runs {
            let [from, to] = if is_backward {
                [image.raster.pixels - to, image.raster.pixels - from]
            } else {
                [from, to]
            };
            let edges = [from, to].map(|of| pixels.edge(of, image.raster.pixels, length));
            ticks[place] += ticks_in(line, edges, range);
        }
    }
    ticks
}

fn runs_of(line: &[u32]) -> Vec<RegionRun> {
    let mut runs: Vec<RegionRun> = Vec::new();
    for (pixel, &place) in (0_u32..).zip(line) {
        let place = place as usize;
        match runs.last_mut() {
            Some(last) if last.place == place && last.to == pixel => last.to = pixel + 1,
            _ => runs.push(RegionRun { place, from: pixel, to: pixel + 1 }),
        }
    }
    runs.retain(|run| run.place != NO_PIXEL as usize);
    runs
}

/// Returns how many ticks of a line, between two of them, are in a range.
fn ticks_in(line: &Line, [from, to]: [u64; 2], range: TimeRange) -> u64 {
    let at = |tick: u64| line.start.saturating_add_unsigned(tick);
    let from = range.from.map_or(at(from), |begin| begin.max(at(from)));
    let to = range.to.map_or(at(to), |end| end.min(at(to)));
    if from < to { from.abs_diff(to) } else { 0 }
}
