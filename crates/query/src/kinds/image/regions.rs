//! Regions of an image: pixels with the same label, which are counted together.
//!
//! Two lines of three pixels with the labels 0 7 7 and 3 3 7 have the regions 3, with two pixels, and 7, with three.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::error::Error;

/// The place of a row that is no photon, or of a pixel that is in no region.
pub(super) const NO_PIXEL: u32 = u32::MAX;

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

    /// Returns the places of the pixels, line by line.
    pub(super) fn lines(&self, pixels: usize) -> impl Iterator<Item = &[u32]> {
        self.places.chunks(pixels.max(1))
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
