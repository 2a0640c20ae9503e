//! Regions of an image: pixels with the same label, which are counted together.
//!
//! Two lines of three pixels with the labels 0 7 7 and 3 3 7 have the regions 3, with two pixels, and 7, with three.
//! A line of 300 ticks has 200 of them in the region 7 if it is the first one, and 100 if it is the second one.

use std::{collections::BTreeSet, fmt, sync::Arc};

use super::{
    Image,
    lines::{Line, LinePlace, SourceLines},
    pixels::{LinePixels, SineEdges},
    walk::NO_PIXEL,
};
use crate::{error::Error, run::time_range::TimeRange};

/// The largest number of regions of an image.
pub const REGIONS_MAX: usize = 65_535;

/// The regions of an image, by the labels of its pixels. Copies share the labels.
#[derive(Clone, PartialEq, Eq)]
pub struct Regions {
    labels: Arc<[u32]>,
    pixels: Arc<[u64]>,
    /// For each pixel, line by line, the number of its region, or [`NO_PIXEL`].
    places: Arc<[u32]>,
}

impl Regions {
    /// Makes regions of the label of each pixel, line by line; 0 is outside of all regions.
    ///
    /// # Errors
    /// [`Error::Regions`] if there is no label but 0, or more than [`REGIONS_MAX`].
    pub fn new(mut of_pixels: Vec<u32>) -> Result<Self, Error> {
        let mut labels = BTreeSet::new();
        let mut last = 0;
        for &label in &of_pixels {
            // Neighbours have the same label more often than not.
            if label != last && label != 0 && labels.insert(label) && labels.len() > REGIONS_MAX {
                return Err(Error::Regions);
            }
            last = label;
        }
        let labels: Vec<u32> = labels.into_iter().collect();
        if labels.is_empty() {
            return Err(Error::Regions);
        }
        let mut pixels = vec![0; labels.len()];
        let mut known = (0, NO_PIXEL);
        for label in &mut of_pixels {
            if *label != known.0 {
                #[expect(clippy::cast_possible_truncation, reason = "at most `REGIONS_MAX`")]
                let place = labels.binary_search(label).map_or(NO_PIXEL, |at| at as u32);
                known = (*label, place);
            }
            *label = known.1;
            if let Some(pixels) = pixels.get_mut(known.1 as usize) {
                *pixels += 1;
            }
        }
        Ok(Self { labels: labels.into(), pixels: pixels.into(), places: of_pixels.into() })
    }

    /// Returns the labels, in ascending order.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Returns the number of pixels of each label.
    pub fn pixels(&self) -> &[u64] {
        &self.pixels
    }

    /// Returns the number of the region of a pixel, if it is in one; pixels are numbered line by line.
    pub fn region(&self, pixel: usize) -> Option<usize> {
        self.places.get(pixel).filter(|&&place| place != NO_PIXEL).map(|&place| place as usize)
    }

    /// Whether there is a label for each pixel of an image of so many.
    pub(super) fn is_of(&self, pixels: usize) -> bool {
        self.places.len() == pixels
    }

    /// Returns the places of the pixels of a line, from left to right.
    pub(super) fn line(&self, number: usize, pixels: usize) -> &[u32] {
        self.places.get(number * pixels..(number + 1) * pixels).unwrap_or_default()
    }

    /// Returns a hash of the labels of all pixels, in hexadecimal digits, which tells masks apart (FNV-1a of words of 32 bits,
    /// from two starts).
    pub fn digest(&self) -> String {
        let hash = |mut hash: u64| {
            let labels = self
                .places
                .iter()
                .map(|&place| self.labels.get(place as usize).copied().unwrap_or_default());
            for label in labels {
                hash = (hash ^ u64::from(label)).wrapping_mul(0x0000_0100_0000_01b3);
                hash ^= hash >> 29;
            }
            hash
        };
        let [one, other] = [0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15].map(hash);
        format!("{one:016x}{other:016x}")
    }
}

impl fmt::Debug for Regions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Regions").field("labels", &self.labels).finish_non_exhaustive()
    }
}

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
    let runs: Vec<Vec<RegionRun>> = regions.places.chunks(side).map(runs_of).collect();
    let sine = SineEdges::of(&image.raster);
    let mut pixels: Option<(u64, LinePixels)> = None;
    let mut ticks = vec![0_u64; image.dwells()];
    for line in scans.iter().flat_map(|scan| &scan.lines) {
        let LinePlace::Row(row) = line.place(&image.raster) else { continue };
        let Some(runs) = runs.get(row) else { continue };
        let first = if image.is_apart { line.frame * regions.labels.len() } else { 0 };
        // Frames are no more than the facts allow, unless the rows are damaged.
        let Some(ticks) = ticks.get_mut(first..first + regions.labels.len()) else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_numbered_in_ascending_order() {
        let regions = Regions::new(vec![0, 7, 7, 3, 3, 7]).unwrap();
        assert_eq!(regions.labels(), [3, 7]);
        assert_eq!(regions.pixels(), [2, 3]);
        let of: Vec<_> = (0..7).map(|pixel| regions.region(pixel)).collect();
        assert_eq!(of, [None, Some(1), Some(1), Some(0), Some(0), Some(1), None]);
        assert_eq!(regions.line(1, 3), [0, 0, 1]);
        assert!(regions.line(2, 3).is_empty());
    }

    #[test]
    fn no_region_and_too_many_are_refused() {
        assert_eq!(Regions::new(vec![0; 4]), Err(Error::Regions));
        assert_eq!(Regions::new(Vec::new()), Err(Error::Regions));
        let many: Vec<u32> = (1..=65_535).rev().collect();
        assert_eq!(Regions::new(many.clone()).unwrap().labels().len(), REGIONS_MAX);
        assert_eq!(Regions::new([many, vec![u32::MAX]].concat()), Err(Error::Regions));
    }

    #[test]
    fn digests_tell_labels_and_their_places() {
        let key = |labels: &[u32]| Regions::new(labels.to_vec()).unwrap().digest();
        let all =
            [key(&[1, 2, 0]), key(&[1, 0, 2]), key(&[2, 1, 0]), key(&[1, 3, 0]), key(&[1, 1, 0])];
        let mut distinct = all.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len(), "{all:?}");
        assert_eq!(key(&[1, 2, 0]), key(&[1, 2, 0]));
    }
}
